#include "stellwerk/bench/results_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/file.hpp"

namespace stellwerk {

ResultsFile::ResultsFile(std::string path, const std::string& header)
    : path_(std::move(path)), partial_path_(path_ + ".partial"), partial_(partial_path_) {
  add(header);
}

void ResultsFile::add(const std::string& line) {
  partial_ << line << std::flush;
  if (!partial_) {
    throw Error(ErrorCode::unreadable_input,
                partial_path_ + ": cannot be written: " + std::strerror(errno));
  }
}

void ResultsFile::finish(const std::string& contents) {
  write_file(path_, contents);
  partial_.close();
  std::error_code ignored;
  std::filesystem::remove(partial_path_, ignored);
}

}  // namespace stellwerk
