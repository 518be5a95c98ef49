// Least solutions of difference constraints: longest paths.
//
// Problem. Given x[to] >= x[from] + lag and x >= lower, find the least x (it exists unless a cycle
// has positive lag).
//
// Idea. (1) Variables are settled in topological order as long as there is one: O(E), and the whole
// answer for most schedules. What is left lies on or behind cycles (of non-positive lag: partial
// sums that must not overtake each other). (2) With a known solution z, the slack y = z - x obeys
// y[to] <= y[from] + (z[to] - z[from] - lag), whose constants are not negative: the largest y are
// shortest distances, found by Dijkstra's algorithm, and x <= z by construction. This is Johnson's
// reweighting (J. ACM 24, 1977) with z as the potential. (3) Without one, a worklist in rounds
// (Bellman and Ford); a variable that rises more than kRises times means a positive cycle, or one
// so slow that the caller had better resolve it in another way.
//
// Test: difference_constraints_test.cpp compares with plain Bellman-Ford on random graphs.
#include "stellwerk/check/difference_constraints.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace stellwerk {
namespace {

constexpr int kRises = 200;

class Solver {
 public:
  Solver(const std::vector<std::int64_t>& lower, const std::vector<DifferenceArc>& arcs)
      : x_(lower),
        first_(lower.size() + 1, 0),
        entering_(lower.size(), 0),
        heads_(arcs.size()),
        lags_(arcs.size()) {
    for (const DifferenceArc& arc : arcs) {
      ++first_[index(arc.from) + 1];
      ++entering_[index(arc.to)];
    }
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (const DifferenceArc& arc : arcs) {
      const std::size_t at = next[index(arc.from)]++;
      heads_[at] = arc.to;
      lags_[at] = arc.lag;
    }
  }

  std::optional<std::vector<std::int64_t>> solve(const std::vector<std::int64_t>& known) {
    if (settle_in_order() == x_.size()) return std::move(x_);
    if (!known.empty() && satisfies(known)) {
      from_known(known);
      return std::move(x_);
    }
    if (!raise_until_stable()) return std::nullopt;
    return std::move(x_);
  }

 private:
  static std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

  std::int64_t through(std::size_t from, std::size_t arc) const {
    return x_[from] == kNoLowerBound ? kNoLowerBound : x_[from] + lags_[arc];
  }

  /// Settles what is not on or behind a cycle; how many that were.
  std::size_t settle_in_order() {
    std::vector<std::int32_t> ready;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (entering_[i] == 0) ready.push_back(static_cast<std::int32_t>(i));
    }
    std::size_t settled = 0;
    while (!ready.empty()) {
      const std::size_t from = index(ready.back());
      ready.pop_back();
      ++settled;
      for (std::size_t arc = first_[from]; arc < first_[from + 1]; ++arc) {
        const std::size_t to = index(heads_[arc]);
        x_[to] = std::max(x_[to], through(from, arc));
        if (--entering_[to] == 0) ready.push_back(heads_[arc]);
      }
    }
    return settled;
  }

  bool satisfies(const std::vector<std::int64_t>& known) const {
    for (std::size_t from = 0; from < x_.size(); ++from) {
      if (known[from] < x_[from]) return false;
      for (std::size_t arc = first_[from]; arc < first_[from + 1]; ++arc) {
        if (known[index(heads_[arc])] < known[from] + lags_[arc]) return false;
      }
    }
    return true;
  }

  /// Shortest distances of slack among the variables that are left.
  void from_known(const std::vector<std::int64_t>& known) {
    using Entry = std::pair<std::int64_t, std::int32_t>;
    std::vector<Entry> initial;
    std::vector<std::int64_t> slack(x_.size(), INT64_MAX);
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (entering_[i] == 0 || x_[i] == kNoLowerBound) continue;
      slack[i] = known[i] - x_[i];
      initial.emplace_back(slack[i], static_cast<std::int32_t>(i));
    }
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue(std::greater<>(),
                                                                         std::move(initial));
    while (!queue.empty()) {
      const auto [distance, number] = queue.top();
      queue.pop();
      const std::size_t from = index(number);
      if (distance > slack[from]) continue;
      x_[from] = known[from] - distance;
      for (std::size_t arc = first_[from]; arc < first_[from + 1]; ++arc) {
        const std::size_t to = index(heads_[arc]);
        const std::int64_t via = distance + (known[to] - known[from] - lags_[arc]);
        if (via >= slack[to]) continue;
        slack[to] = via;
        queue.emplace(via, heads_[arc]);
      }
    }
  }

  bool raise_until_stable() {
    std::vector<std::int32_t> work, next;
    std::vector<int> rises(x_.size(), 0);
    std::vector<char> queued(x_.size(), 0);
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (entering_[i] > 0) work.push_back(static_cast<std::int32_t>(i));
    }
    std::sort(work.begin(), work.end(), [&](std::int32_t a, std::int32_t b) {
      return std::pair(x_[index(a)], a) < std::pair(x_[index(b)], b);
    });
    while (!work.empty()) {
      next.clear();
      for (const std::int32_t number : work) {
        const std::size_t from = index(number);
        queued[from] = 0;
        for (std::size_t arc = first_[from]; arc < first_[from + 1]; ++arc) {
          const std::size_t to = index(heads_[arc]);
          const std::int64_t value = through(from, arc);
          if (value <= x_[to]) continue;
          x_[to] = value;
          if (++rises[to] > kRises) return false;
          if (queued[to] == 0) {
            queued[to] = 1;
            next.push_back(heads_[arc]);
          }
        }
      }
      std::swap(work, next);
    }
    return true;
  }

  std::vector<std::int64_t> x_;
  std::vector<std::size_t> first_;
  std::vector<std::int32_t> entering_;
  std::vector<std::int32_t> heads_;
  std::vector<std::int64_t> lags_;
};

}  // namespace

std::optional<std::vector<std::int64_t>> least_solution(const std::vector<std::int64_t>& lower,
                                                        const std::vector<DifferenceArc>& arcs,
                                                        const std::vector<std::int64_t>& known) {
  return Solver(lower, arcs).solve(known);
}

}  // namespace stellwerk
