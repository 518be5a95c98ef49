# The libraries Stellwerk builds on. scripts/setup installs them all.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(RapidJSON REQUIRED) # headers only
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(sqlite REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(jemalloc REQUIRED IMPORTED_TARGET jemalloc)
find_package(pugixml REQUIRED)
include(StellwerkHighs)
if(NOT highs_FOUND)
  message(FATAL_ERROR "HiGHS 1.10 or newer is missing: run scripts/setup")
endif()

# Only for spreading benchmarks over machines; done without where there is none.
option(STELLWERK_MPI "Use MPI if it is installed" ON)
if(STELLWERK_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
endif()

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
