# Language, warnings, and what makes builds faster. Presets choose optimisation and sanitizers.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON) # for clang-tidy and editors

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()
# An assertion that fails is a bug that would otherwise become a wrong plan: they stay on.
string(REGEX REPLACE "[/-]DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Any std::stable_sort of libstdc++ 12 draws this warning from clang 19.
  add_compile_options(-Wno-deprecated-declarations)
endif()

set(STELLWERK_SANITIZE "" CACHE STRING "Sanitizers to build with, for example address,undefined")
if(STELLWERK_SANITIZE)
  add_compile_options(-fsanitize=${STELLWERK_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${STELLWERK_SANITIZE})
endif()

find_program(STELLWERK_CCACHE ccache)
if(STELLWERK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${STELLWERK_CCACHE})
endif()

include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=mold STELLWERK_HAVE_MOLD)
if(STELLWERK_HAVE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# With clang a whole build from nothing takes a third less with it; a build of what changed is better served by ccache,
# which shares no object that was compiled this way. With g++ 12 mapping a header of 110 MB again and again costs what
# is gained, and it then warns of what is in the standard library.
option(STELLWERK_PRECOMPILE "Precompile the standard headers that most files include" OFF)

# stellwerk_precompile(TARGET HEADER...): for TARGET, the standard headers and HEADER.
function(stellwerk_precompile target)
  if(STELLWERK_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <cmath> <cstdint> <functional> <limits> <map> <memory> <numeric>
      <optional> <queue> <set> <span> <string> <string_view> <tuple> <utility> <vector> ${ARGN})
  endif()
endfunction()
