#include "stellwerk/plan/size_ranges.hpp"

#include <algorithm>
#include <cassert>

#include "stellwerk/base/wide.hpp"
#include "stellwerk/check/simulate.hpp"

namespace stellwerk {

namespace {

/// value * numerator / denominator, at least 1, and not more than a chunk of any size notices.
Bandwidth scaled(Bandwidth value, Bytes numerator, Bytes denominator) {
  const Int128 result =
      static_cast<Int128>(value.bytes_per_second) * numerator.value / denominator.value;
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  return {static_cast<std::int64_t>(std::clamp<Int128>(result, 1, kMost))};
}

}  // namespace

Time finish_at_size(const Plan& plan, Bytes size) {
  const Topology& own = plan.problem.topology;
  const Bytes planned = plan.problem.jobs.front().size;
  IdVector<LinkId, Link> links = own.links();
  for (Link& link : links) link.bandwidth = scaled(link.bandwidth, planned, size);
  Topology network(own.name(), own.note(), own.nodes(), std::move(links));
  if (size >= planned) return simulate(plan.problem, plan.sends, {&network}).transfer_time;
  // A replay slows sends down where links are slower, but keeps rates where they are faster: raise those, too.
  Problem faster = plan.problem;
  faster.topology = std::move(network);
  Schedule sends = plan.sends;
  for (Send& send : sends) send.rate = scaled(send.rate, planned, size);
  return simulate(faster, sends).transfer_time;
}

std::vector<SizeRange> fewest_ranges(const std::vector<std::vector<Time>>& times, double slack) {
  assert(!times.empty());
  const std::size_t sizes = times.front().size();
  std::vector<Time> best(sizes, Time::max());
  for (const auto& row : times) {
    for (std::size_t s = 0; s < sizes; ++s) best[s] = std::min(best[s], row[s]);
  }
  const auto good = [&](std::size_t plan, std::size_t s) {
    return static_cast<double>(times[plan][s].ps) <= static_cast<double>(best[s].ps) * (1 + slack);
  };
  std::vector<SizeRange> result;
  for (std::size_t first = 0; first < sizes;) {
    SizeRange widest{0, first, first};
    double least = 0;
    bool found = false;
    for (std::size_t plan = 0; plan < times.size(); ++plan) {
      std::size_t end = first;
      double excess = 0;
      for (; end < sizes && good(plan, end); ++end)
        excess += static_cast<double>(times[plan][end].ps) /
                  static_cast<double>(std::max<std::int64_t>(1, best[end].ps));
      if (end == first) continue;
      const double mean = excess / static_cast<double>(end - first);
      if (!found || end - 1 > widest.last || (end - 1 == widest.last && mean < least)) {
        widest = {plan, first, end - 1};
        least = mean;
        found = true;
      }
    }
    result.push_back(widest);
    first = widest.last + 1;
  }
  return result;
}

}  // namespace stellwerk
