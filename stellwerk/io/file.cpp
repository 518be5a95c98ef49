#include "stellwerk/io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::unreadable_input, one_line(path) + ": " + what);
}

[[noreturn]] void refuse_errno(const std::string& path, const std::string& what) {
  refuse(path, what + ": " + std::strerror(errno));
}

bool compressed(const std::string& path) { return path.ends_with(".zst"); }

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }
  /// Closes; false if that failed (errno says why).
  bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

constexpr std::size_t kPiece = std::size_t{1} << 18;
/// Contents that may be the result of any compression.
constexpr std::int64_t kSmall = std::int64_t{64} << 20;

/// Calls `take` with one piece of the file after another.
template <class Take>
void read_pieces(const std::string& path, Take take) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) refuse_errno(path, "cannot be opened");
  std::vector<char> piece(kPiece);
  for (;;) {
    const ssize_t count = ::read(file.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse_errno(path, "cannot be read");
    if (count == 0) return;
    take(std::string_view(piece.data(), static_cast<std::size_t>(count)));
  }
}

void append(const std::string& path, std::string& contents, std::string_view piece,
            std::int64_t max_bytes) {
  if (static_cast<std::int64_t>(contents.size() + piece.size()) > max_bytes) {
    refuse(path, "the contents are larger than " + std::to_string(max_bytes) +
                     " bytes, which is more than is read");
  }
  contents += piece;
}

std::string read_compressed(const std::string& path, std::int64_t max_bytes) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(),
                                                                          &ZSTD_freeDStream);
  std::string contents;
  std::vector<char> piece(ZSTD_DStreamOutSize());
  std::size_t expected = 1;  // what the stream still wants; 0 at the end of a frame
  std::int64_t packed = 0;   // bytes of the file so far
  read_pieces(path, [&](std::string_view bytes) {
    packed += static_cast<std::int64_t>(bytes.size());
    const std::int64_t most = std::max(kSmall, packed * kMaxExpansion);
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    bool more = in.size > 0;
    while (more) {
      ZSTD_outBuffer out{piece.data(), piece.size(), 0};
      expected = ZSTD_decompressStream(stream.get(), &out, &in);
      if (ZSTD_isError(expected) != 0) {
        refuse(path, std::string("is not valid zstd data (") + ZSTD_getErrorName(expected) +
                         "): if it is not compressed, rename it without .zst");
      }
      append(path, contents, {piece.data(), out.pos}, max_bytes);
      if (static_cast<std::int64_t>(contents.size()) > most) {
        refuse(path, "unpacks to more than " + std::to_string(kMaxExpansion) +
                         " times its size: if it is meant, unpack it (zstd -d) and name that file");
      }
      // A full piece may hide more output; but at the end of a frame there is none.
      more = in.pos < in.size || (out.pos == out.size && expected != 0);
    }
  });
  if (expected != 0) refuse(path, "the zstd data end too early: the file is cut off");
  return contents;
}

std::string compress(std::string_view contents) {
  std::string result(ZSTD_compressBound(contents.size()), '\0');
  const std::size_t size = ZSTD_compress(result.data(), result.size(), contents.data(),
                                         contents.size(), ZSTD_CLEVEL_DEFAULT);
  if (ZSTD_isError(size) != 0)
    throw Error(ErrorCode::internal, "zstd: " + std::string(ZSTD_getErrorName(size)));
  result.resize(size);
  return result;
}

bool write_all(int file, std::string_view contents) {
  while (!contents.empty()) {
    const ssize_t count = ::write(file, contents.data(), contents.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    contents.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// A file in the making: removed unless it was put in its place.
class Draft {
 public:
  explicit Draft(const std::string& target) {
    const std::filesystem::path path(target);
    for (int i = 0; i < 100; ++i) {
      const std::string name = "." + path.filename().string() + "." + std::to_string(::getpid()) +
                               "." + std::to_string(i) + ".tmp";
      draft_ = (path.parent_path() / name).string();
      // Mode 0666 less the user's mask, as for any new file.
      file_ = ::open(draft_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file_ >= 0 || errno != EEXIST) return;
    }
  }
  ~Draft() {
    const int saved = errno;
    if (file_ >= 0) ::close(file_);
    if (!draft_.empty() && created_) ::unlink(draft_.c_str());
    errno = saved;
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  bool created() { return created_ = file_ >= 0; }
  bool fill(std::string_view contents) {
    if (!write_all(file_, contents) || ::fsync(file_) != 0) return false;
    return ::close(std::exchange(file_, -1)) == 0;
  }
  bool replace(const std::string& target) {
    struct stat old{};
    if (::stat(target.c_str(), &old) == 0) ::chmod(draft_.c_str(), old.st_mode & 07777);
    if (::rename(draft_.c_str(), target.c_str()) != 0) return false;
    created_ = false;
    return true;
  }

 private:
  std::string draft_;
  int file_ = -1;
  bool created_ = false;
};

/// So that the new name survives a crash; where folders cannot be synced, the system decides.
void sync_folder(const std::string& target) {
  const std::filesystem::path folder = std::filesystem::path(target).parent_path();
  const Descriptor file(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.get() >= 0) ::fsync(file.get());
}

/// One file on its way: all of it is on the disk before it gets its name.
class Output {
 public:
  /// Writes the draft. Through a symbolic link: what it points to is replaced, not the link.
  explicit Output(const FileContents& file)
      : path_(file.path), target_(file.path), contents_(file.contents) {
    if (compressed(path_)) {
      packed_ = compress(contents_);
      contents_ = packed_;
    }
    if (char* real = ::realpath(path_.c_str(), nullptr)) {
      target_ = real;
      std::free(real);
    }
    struct stat old{};
    if (::stat(target_.c_str(), &old) == 0 && !S_ISREG(old.st_mode)) {
      if (S_ISDIR(old.st_mode)) refuse(path_, "is a folder: name a file in it");
      return;  // a device or a pipe
    }
    draft_.emplace(target_);
    if (!draft_->created() || !draft_->fill(contents_)) refuse_errno(path_, "cannot be written");
  }

  void finish() {
    if (!draft_) {
      Descriptor device(::open(target_.c_str(), O_WRONLY | O_CLOEXEC));
      if (device.get() < 0 || !write_all(device.get(), contents_) || !device.close())
        refuse_errno(path_, "cannot be written");
      return;
    }
    if (!draft_->replace(target_)) refuse_errno(path_, "cannot be written");
    sync_folder(target_);
  }

 private:
  std::string path_, target_, packed_;
  std::string_view contents_;
  std::optional<Draft> draft_;
};

}  // namespace

std::string read_file(const std::string& path, std::int64_t max_bytes) {
  if (compressed(path)) return read_compressed(path, max_bytes);
  std::string contents;
  std::error_code unknown;  // of pipes, say
  const std::uintmax_t size = std::filesystem::file_size(path, unknown);
  if (!unknown) contents.reserve(std::min(size, static_cast<std::uintmax_t>(max_bytes)));
  read_pieces(path, [&](std::string_view piece) { append(path, contents, piece, max_bytes); });
  return contents;
}

void write_file(const std::string& path, std::string_view contents) {
  write_files({{path, contents}});
}

void write_files(const std::vector<FileContents>& files) {
  std::vector<std::unique_ptr<Output>> outputs;
  for (const FileContents& file : files) outputs.push_back(std::make_unique<Output>(file));
  for (const auto& output : outputs) output->finish();
}

}  // namespace stellwerk
