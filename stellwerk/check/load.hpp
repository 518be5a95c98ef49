// Does the load on anything ever exceed its limit? Links (rates against bandwidth), nodes (rates
// against injection and ejection, bytes against the transit buffer) and switches (multicast groups
// in progress) are all the same question: half-open windows [begin, end) with an amount each, and a
// limit on the sum of the amounts at every instant.
//
// Windows are sorted by begin and swept once per resource; a window that begins at the instant at
// which another ends does not meet it. O(k log k) in all. Windows are gathered for as many
// resources at a time as fit a fixed number of windows, so that memory stays small beside the
// schedule.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stellwerk/base/wide.hpp"

namespace stellwerk::check {

/// Something that is in use during [begin, end).
struct Load {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t amount;
};

/// The first instant at which a limit is exceeded, and by what sum.
struct Overload {
  std::size_t resource = 0;
  std::int64_t instant = 0;
  Int128 sum = 0;
};

/// The first overload of one resource. Reorders `loads`.
std::optional<Overload> first_overload(std::span<Load> loads, std::int64_t limit);

/// No limit.
inline constexpr std::int64_t kUnlimited = -1;

/// The first overload of the first overloaded resource. `limits` has one entry a resource, or
/// kUnlimited. `visit(use)` must call use(resource, Load) for every window, the same ones each
/// time.
template <class Visit>
std::optional<Overload> first_overload(std::span<const std::int64_t> limits, const Visit& visit,
                                       std::size_t batch = std::size_t{1} << 23) {
  const std::size_t resources = limits.size();
  std::vector<std::size_t> begin(resources + 1,
                                 0);  // windows of resource r: begin[r] .. begin[r+1]
  visit([&](std::size_t resource, const Load&) {
    if (limits[resource] != kUnlimited) ++begin[resource + 1];
  });
  for (std::size_t r = 0; r < resources; ++r) begin[r + 1] += begin[r];

  std::vector<Load> loads;
  std::vector<std::size_t> next;
  for (std::size_t first = 0; first < resources;) {
    // The next resources whose windows fit into one batch; at least one.
    std::size_t last = first + 1;
    while (last < resources && begin[last + 1] - begin[first] <= batch) ++last;
    const std::size_t base = begin[first];
    if (begin[last] > base) {
      loads.resize(begin[last] - base);
      next.assign(begin.begin() + static_cast<std::ptrdiff_t>(first),
                  begin.begin() + static_cast<std::ptrdiff_t>(last));
      visit([&](std::size_t resource, const Load& load) {
        if (resource < first || resource >= last || limits[resource] == kUnlimited) return;
        loads[next[resource - first]++ - base] = load;
      });
      for (std::size_t r = first; r < last; ++r) {
        const auto own = std::span(loads).subspan(begin[r] - base, begin[r + 1] - begin[r]);
        if (auto overload = first_overload(own, limits[r])) {
          overload->resource = r;
          return overload;
        }
      }
    }
    first = last;
  }
  return std::nullopt;
}

}  // namespace stellwerk::check
