include(GoogleTest)

# stellwerk_add_tests(NAME SOURCE...): a GoogleTest binary whose test cases ctest lists one by one.
# Its code may use the macros STELLWERK_SOURCE_DIR (for data files) and STELLWERK_TOOL (the path of
# the built command line tool).
function(stellwerk_add_tests name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE stellwerk nlohmann_json::nlohmann_json rapidcheck
                                        GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE STELLWERK_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             STELLWERK_TOOL="${STELLWERK_TOOL}")
  if(TARGET stellwerk_tool)
    add_dependencies(${name} stellwerk_tool)
  endif()
  set(prefix "")
  if(name MATCHES "^tests_(.*)")
    set(prefix "${CMAKE_MATCH_1}/")
  endif()
  gtest_discover_tests(${name} TEST_PREFIX "${prefix}" DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 300 LABELS ${name})
endfunction()
