// Runs the tool as a process, in a folder of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace stellwerk::tests {

struct Outcome {
  int status = -1;  ///< exit status; 128 + signal if it was killed
  std::string out;
  std::string err;
};

/// A temporary folder, removed at the end; the tool runs in it, so that messages do not depend on
/// its name.
class Sandbox {
 public:
  Sandbox();
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  void write(const std::string& name, const std::string& contents) const;
  std::string read(const std::string& name) const;
  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
  /// Everything in the folder but what the sandbox itself keeps there, sorted.
  std::vector<std::string> files() const;

  Outcome run(const std::vector<std::string>& arguments) const;
  /// Splits at blanks; no quoting.
  Outcome run(const std::string& arguments) const;

  /// Starts and does not wait.
  pid_t start(const std::vector<std::string>& arguments) const;
  /// Waits for the last started process, and reads what it printed.
  Outcome wait(pid_t process) const;

 private:
  std::filesystem::path folder_;
};

std::vector<std::string> split(const std::string& text);

}  // namespace stellwerk::tests
