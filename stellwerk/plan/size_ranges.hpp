// Which of several plans to use for which sizes: a program is good for many sizes, and every further one costs a file.
#pragma once

#include <cstddef>
#include <vector>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// When the plan's program finishes if its chunks are of another size: the order of its sends and their dependencies stay. The
/// same as with all bandwidths divided by the ratio of the sizes. Precondition: not compressed; size positive.
Time finish_at_size(const Plan& plan, Bytes size);

/// Sizes first .. last use candidate `plan`.
struct SizeRange {
  std::size_t plan = 0, first = 0, last = 0;
  friend bool operator==(const SizeRange&, const SizeRange&) = default;
};

/// Fewest ranges that cover all sizes so that no size takes more than (1 + slack) times its best candidate. times[plan][size];
/// greedy from the smallest size, which is optimal for intervals. Ties: the plan that is faster over its range.
std::vector<SizeRange> fewest_ranges(const std::vector<std::vector<Time>>& times, double slack);

}  // namespace stellwerk
