// What this process has used so far.
#pragma once

#include <cstdint>

namespace stellwerk {

/// CPU time of all threads of this process, in seconds.
double cpu_seconds();
/// Largest resident set so far, in bytes.
std::int64_t peak_resident_bytes();
/// Resident set now, in bytes (0 where the system does not tell).
std::int64_t resident_bytes();

}  // namespace stellwerk
