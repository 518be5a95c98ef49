// Results that are kept whatever happens to the run.
#pragma once

#include <fstream>
#include <string>

namespace stellwerk {

/// Lines go to "PATH.partial" as they come; at the end PATH takes their place.
class ResultsFile {
 public:
  /// Throws Error(unreadable_input) naming the file if it cannot be written.
  ResultsFile(std::string path, const std::string& header);

  void add(const std::string& line);
  /// Writes the whole contents, whole or not at all, and removes the partial file.
  void finish(const std::string& contents);

  const std::string& path() const { return path_; }
  const std::string& partial_path() const { return partial_path_; }

 private:
  std::string path_, partial_path_;
  std::ofstream partial_;
};

}  // namespace stellwerk
