// Whole files in and out. A name that ends in ".zst" means zstd-compressed contents.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stellwerk {

/// Larger contents (after decompression) are refused: 4 GiB.
inline constexpr std::int64_t kMaxFileBytes = std::int64_t{4} << 30;

/// So are compressed ones that unpack to more than kMaxExpansion times their size, beyond 64 MiB: plans unpack to some hundred
/// times theirs, a packed hole to ten thousand.
inline constexpr std::int64_t kMaxExpansion = 2000;

/// The contents of `path`. Throws Error(unreadable_input) naming the file and the reason.
std::string read_file(const std::string& path, std::int64_t max_bytes = kMaxFileBytes);

/// Writes all of `contents` or nothing: into a new file in the same folder, which then takes the
/// place of `path`. Devices and pipes are written to directly. Throws Error(unreadable_input)
/// naming the file and the reason, and leaves nothing behind.
void write_file(const std::string& path, std::string_view contents);

struct FileContents {
  std::string path;
  std::string_view contents;
};

/// The same for several files that belong together: none gets its name before all are written.
void write_files(const std::vector<FileContents>& files);

}  // namespace stellwerk
