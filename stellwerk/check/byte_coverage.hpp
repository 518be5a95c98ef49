// Which bytes of a chunk have arrived: a union of ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

#include "stellwerk/base/units.hpp"

namespace stellwerk {

class ByteCoverage {
 public:
  /// Nothing of a chunk of `total` bytes yet.
  explicit ByteCoverage(Bytes total) : missing_(total.value) {}

  /// Adds [offset, offset + bytes); true if any of it was new. Amortised O(log n).
  bool add(Bytes offset, Bytes bytes) {
    std::int64_t begin = offset.value;
    std::int64_t end = begin + bytes.value;
    const std::int64_t before = missing_;
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin()) {
      const auto previous = std::prev(it);
      if (previous->second >= begin) it = previous;
    }
    missing_ -= end - begin;
    while (it != ranges_.end() && it->first <= end) {
      // What both hold was counted twice.
      missing_ +=
          std::max<std::int64_t>(0, std::min(end, it->second) - std::max(offset.value, it->first));
      if (it->first < begin) begin = it->first;
      if (it->second > end) {
        end = it->second;
      }
      it = ranges_.erase(it);
    }
    ranges_.emplace(begin, end);
    return missing_ < before;
  }

  bool complete() const { return missing_ <= 0; }

 private:
  std::int64_t missing_;
  std::map<std::int64_t, std::int64_t> ranges_;  // begin -> end, disjoint, not touching
};

}  // namespace stellwerk
