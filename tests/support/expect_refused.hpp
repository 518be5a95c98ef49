// What a reader must turn down.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "stellwerk/base/error.hpp"

namespace stellwerk::testing {

/// `read` throws an Error whose message contains `part`.
template <class Read>
void expect_refused(const Read& read, const std::string& part) {
  try {
    read();
    FAIL() << "accepted; wanted: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace stellwerk::testing
