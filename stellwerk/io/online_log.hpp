// The log of planning on line: what has been decided survives the process (docs/online.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stellwerk {

/// One event that has been decided.
struct OnlineLogEntry {
  std::int64_t number = 0;  ///< from 1 on
  std::string event;        ///< its line
  std::string increment;    ///< SHA-256 of the line that was decided
};

/// A file to which entries are appended, each of them on the disk before `append` returns. One process
/// has it at a time.
class OnlineLog {
 public:
  /// Opens the log, or begins one with `header`, a line that says what the decisions depend on. A last
  /// line that was cut short is dropped, in the file, too. Throws Error(unreadable_input): a file that
  /// is no log, has another header, is damaged before its last line, or is used by another process.
  OnlineLog(const std::string& path, const std::string& header);
  OnlineLog(const OnlineLog&) = delete;
  OnlineLog& operator=(const OnlineLog&) = delete;
  ~OnlineLog();

  const std::vector<OnlineLogEntry>& entries() const { return entries_; }

  /// Throws Error(unreadable_input) if it cannot be written; then nothing may be told of it.
  void append(OnlineLogEntry entry);

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void write_line(const std::string& line);

  std::string path_;
  int file_ = -1;
  std::vector<OnlineLogEntry> entries_;
};

/// A file of lines that are only ever appended; one that was cut short is dropped.
class LineFile {
 public:
  /// Throws Error(unreadable_input).
  explicit LineFile(const std::string& path);
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  ~LineFile();

  std::int64_t lines() const { return lines_; }
  const std::string& last() const { return last_; }  ///< empty if there is none
  void append(std::string_view line);

 private:
  std::string path_;
  int file_ = -1;
  std::int64_t lines_ = 0;
  std::string last_;
};

}  // namespace stellwerk
