// SHA-256 (FIPS 180-4): a short name for a long text.
#pragma once

#include <string>
#include <string_view>

namespace stellwerk {

/// 64 hexadecimal digits.
std::string sha256(std::string_view text);

}  // namespace stellwerk
