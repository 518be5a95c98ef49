// Which bytes of a chunk have arrived: a set of byte ranges that grows until it is everything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace stellwerk::check {

/// The union of half-open byte ranges. Ranges may overlap and repeat; adding k ranges in any order
/// costs O(k log k) in total, since every range is absorbed at most once.
class ByteCover {
 public:
  void add(std::int64_t begin, std::int64_t end) {
    auto next = ranges_.upper_bound(begin);
    if (next != ranges_.begin()) {
      const auto previous = std::prev(next);
      if (previous->second >= begin) {
        begin = previous->first;
        end = std::max(end, previous->second);
        ranges_.erase(previous);
      }
    }
    while (next != ranges_.end() && next->first <= end) {
      end = std::max(end, next->second);
      next = ranges_.erase(next);
    }
    ranges_.emplace(begin, end);
  }

  /// Is every byte of [0, size) there?
  bool covers(std::int64_t size) const {
    return !ranges_.empty() && ranges_.begin()->first <= 0 && ranges_.begin()->second >= size;
  }

  void clear() { ranges_.clear(); }

 private:
  std::map<std::int64_t, std::int64_t> ranges_;  // begin -> end; disjoint, not touching
};

}  // namespace stellwerk::check
