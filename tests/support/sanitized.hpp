// Sanitizers make code ten times slower; random tests then take fewer instances.
#pragma once

namespace stellwerk::testing {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

/// `usual`, or `sanitized` under a sanitizer.
template <class Count>
constexpr Count rounds(Count usual, Count sanitized) {
  return kSanitized ? sanitized : usual;
}

}  // namespace stellwerk::testing
