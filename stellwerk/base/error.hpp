// The one exception type. Bad input is an Error; an outcome (infeasible, limit hit) is a value; a bug is an assertion.
#pragma once

#include <stdexcept>
#include <string>

namespace stellwerk {

/// What went wrong, and the exit status of the command line that reports it.
enum class ErrorCode {
  verification_failed = 1,  ///< a plan breaks a rule of the model
  usage = 2,                ///< the command line
  unreadable_input = 3,     ///< a file is unreadable, malformed or contradicts itself
  unsolved = 4,  ///< well-formed, but no plan: disconnected, unsupported, or a limit came first
  internal = 5,  ///< a bug
};

/// An error for the user. The message is one line; it names the file, the place and the remedy.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace stellwerk
