# Finds HiGHS 1.10 or newer: highs_FOUND, and the target highs::highs.
#
# The version is read from its header, because 1.10 exports no version file. scripts/setup asks
# through this file, too, so that it accepts exactly what the build accepts.

# A HiGHS that scripts/setup built is here.
if(DEFINED ENV{STELLWERK_DEPS})
  set(stellwerk_deps $ENV{STELLWERK_DEPS})
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(stellwerk_deps $ENV{XDG_CACHE_HOME}/stellwerk)
else()
  set(stellwerk_deps $ENV{HOME}/.cache/stellwerk)
endif()
file(GLOB stellwerk_built_highs ${stellwerk_deps}/highs-*/.complete)
foreach(marker IN LISTS stellwerk_built_highs)
  cmake_path(GET marker PARENT_PATH prefix)
  list(APPEND CMAKE_PREFIX_PATH ${prefix})
endforeach()

find_package(highs CONFIG QUIET)
if(highs_FOUND)
  get_target_property(stellwerk_highs_include highs::highs INTERFACE_INCLUDE_DIRECTORIES)
  find_file(STELLWERK_HCONFIG HConfig.h PATHS ${stellwerk_highs_include} NO_CACHE NO_DEFAULT_PATH)
  set(highs_version 0)
  if(STELLWERK_HCONFIG)
    file(STRINGS ${STELLWERK_HCONFIG} lines REGEX "HIGHS_VERSION_(MAJOR|MINOR)")
    if("${lines}" MATCHES "MAJOR ([0-9]+).*MINOR ([0-9]+)")
      set(highs_version ${CMAKE_MATCH_1}.${CMAKE_MATCH_2})
    endif()
  endif()
  if(highs_version VERSION_LESS 1.10)
    message(STATUS "HiGHS ${highs_version} in ${highs_DIR} is older than 1.10")
    set(highs_FOUND FALSE)
  endif()
endif()
