// A line is complete when its end of line is there: lines are written with one call each, the end last,
// so a process that is killed leaves at most one torn line, and that at the end. A log that reaches the
// disk only in part after a power failure can also end in zeros: a last line that does not parse is
// dropped as well.
#include "stellwerk/io/online_log.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/json.hpp"

namespace stellwerk {
namespace {

[[noreturn]] void fail_at(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::unreadable_input, path + ": " + what);
}

std::string reason() { return std::strerror(errno); }

int open_to_append(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) fail_at(path, "cannot be written: " + reason());
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    ::close(file);
    fail_at(path, "is in use by another process: end that first, or name another file");
  }
  return file;
}

void write_whole(int file, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail_at(path, "cannot be written: " + reason());
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void truncate_to(int file, const std::string& path, std::size_t size) {
  if (::ftruncate(file, static_cast<off_t>(size)) != 0) {
    fail_at(path, "its last line is cut short and cannot be dropped: " + reason());
  }
}

/// The name of a new file is in its folder, which has to reach the disk, too.
void sync_folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int file = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  ::fsync(file);
  ::close(file);
}

/// Whether `text` is what a crash can leave of a line that begins with `begin`: a part of it, then zeros.
bool is_torn(std::string_view text, std::string_view begin) {
  const std::string_view written = text.substr(0, text.find_last_not_of('\0') + 1);
  const std::size_t common = std::min(written.size(), begin.size());
  return written.substr(0, common) == begin.substr(0, common);
}

OnlineLogEntry entry_at(std::string_view line, const std::string& label) {
  const json::Document document(line, label);
  const json::Place root(document);
  root.expect_keys({"number", "event", "increment"});
  OnlineLogEntry entry;
  const json::Place number = root.at("number");
  entry.number = number.integer();
  entry.event = root.at("event").text();
  entry.increment = root.at("increment").text();
  return entry;
}

std::string text_of(const OnlineLogEntry& entry) {
  return "{\"number\": " + std::to_string(entry.number) +
         ", \"event\": " + json::quote(entry.event) +
         ", \"increment\": " + json::quote(entry.increment) + "}";
}

}  // namespace

OnlineLog::OnlineLog(const std::string& path, const std::string& header)
    : path_(path), file_(open_to_append(path)) {
  try {
    const std::string text = read_file(path);
    std::size_t at = 0;
    for (std::int64_t number = 0;; ++number) {
      const std::size_t end = text.find('\n', at);
      if (end == std::string::npos) break;
      const std::string_view line = std::string_view(text).substr(at, end - at);
      if (number == 0) {
        if (line != header) {
          fail("is not a log of this network, version and options: its first line is " +
               std::string(line.substr(0, 200)) + "; give what it was begun with, or another file");
        }
      } else {
        const std::string label = path + ", line " + std::to_string(number + 1);
        try {
          OnlineLogEntry entry = entry_at(line, label);
          if (entry.number != number) {
            fail_at(label, "is of event " + std::to_string(entry.number) + ", not " +
                               std::to_string(number) + ": the log is damaged");
          }
          entries_.push_back(std::move(entry));
        } catch (const Error&) {
          if (end + 1 < text.size()) throw;
          break;  // the last one: cut short
        }
      }
      at = end + 1;
    }
    // Without one whole line: nothing yet, a first line cut short, or somebody else's file, which must not be lost.
    if (at == 0 && !is_torn(text, header)) {
      fail("is not a log of this command: give another file, or remove this one");
    }
    if (at < text.size()) truncate_to(file_, path, at);
    if (at == 0) {
      write_line(header);
      sync_folder(path);
    }
  } catch (...) {
    ::close(file_);
    throw;
  }
}

OnlineLog::~OnlineLog() { ::close(file_); }

void OnlineLog::fail(const std::string& what) const { fail_at(path_, what); }

void OnlineLog::write_line(const std::string& line) {
  write_whole(file_, path_, line + "\n");
  if (::fsync(file_) != 0) fail("cannot be brought to the disk: " + reason());
}

void OnlineLog::append(OnlineLogEntry entry) {
  write_line(text_of(entry));
  entries_.push_back(std::move(entry));
}

LineFile::LineFile(const std::string& path) : path_(path), file_(open_to_append(path)) {
  try {
    const std::string text = read_file(path);
    std::size_t at = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', at)) {
      ++lines_;
      last_ = text.substr(at, end - at);
      at = end + 1;
    }
    constexpr std::string_view kLineBegins = "{\"number\": ";
    if (at < text.size() && !is_torn(std::string_view(text).substr(at), kLineBegins)) {
      fail_at(path, "does not end with an increment: give another file, or remove this one");
    }
    if (at < text.size()) truncate_to(file_, path, at);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

LineFile::~LineFile() { ::close(file_); }

void LineFile::append(std::string_view line) {
  write_whole(file_, path_, std::string(line) + "\n");
  ++lines_;
}

}  // namespace stellwerk
