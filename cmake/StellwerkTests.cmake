include(GoogleTest)

# stellwerk_add_tests(NAME SOURCE...): a GoogleTest binary whose test cases ctest lists one by one.
# Its code may ask tests/support/paths.hpp for the checkout and for the built command line tool: a
# file of its own, so that the other objects are the same in every checkout and can be cached.
# Tests are compiled once and run once, so they are optimised less than the library: with
# sanitizers that takes a third of the time.
function(stellwerk_add_tests name)
  set(paths ${PROJECT_BINARY_DIR}/generated/tests/paths.cpp)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/test_paths.cpp.in ${paths} @ONLY)
  add_executable(${name} ${ARGN} ${paths})
  target_link_libraries(${name} PRIVATE stellwerk nlohmann_json::nlohmann_json rapidcheck
                                        GTest::gmock GTest::gtest_main)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Debug>:-O0>)
  if(name STREQUAL "tests_cli") # the others do not run the tool
    if(TARGET stellwerk_tool)
      add_dependencies(${name} stellwerk_tool)
    endif()
  else()
    stellwerk_precompile(${name} <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  set(prefix "")
  if(name MATCHES "^tests_(.*)")
    set(prefix "${CMAKE_MATCH_1}/")
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${prefix}" DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300 LABELS ${name})
endfunction()
