#include "tool/output_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "stellwerk/base/error.hpp"

namespace stellwerk::tool {

void check_writable(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::unreadable_input, path + ": cannot be written: " + why);
  };
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) refuse("it is a folder");
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) return;  // a device or pipe
  const fs::path parent =
      fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  if (access(parent.c_str(), W_OK | X_OK) != 0) refuse(std::strerror(errno));
}

}  // namespace stellwerk::tool
