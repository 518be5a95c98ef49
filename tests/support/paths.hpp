// Where the tests find the checkout and the tool; the values are made by CMake.
#pragma once

namespace stellwerk::testing {

extern const char* const kSourceDir;
extern const char* const kToolPath;

}  // namespace stellwerk::testing
