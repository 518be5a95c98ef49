#include "stellwerk/bound/least.hpp"

#include <algorithm>

#include "stellwerk/graph/shortest_paths.hpp"

namespace stellwerk::bound {

std::optional<Time> least(std::vector<Gate> gates, Int128 amount) {
  std::erase_if(gates,
                [](const Gate& g) { return g.weight <= 0 || g.opens >= graph::kUnreachable; });
  std::sort(gates.begin(), gates.end(),
            [](const Gate& a, const Gate& b) { return a.opens < b.opens; });
  // With the first k gates open, sum w * (T - t) >= need solves to T >= (need + sum w t) / sum w;
  // the first k for which the next gate is not open by then is right.
  const Int128 need = amount * 1'000'000'000'000;
  Int128 rate = 0, head_start = 0;
  for (std::size_t k = 0; k < gates.size(); ++k) {
    rate += gates[k].weight;
    head_start += gates[k].weight * gates[k].opens;
    const Int128 time = (need + head_start + rate - 1) / rate;
    if (k + 1 == gates.size() || time <= gates[k + 1].opens) {
      if (time >= graph::kUnreachable) return std::nullopt;
      return Time{static_cast<std::int64_t>(time)};
    }
  }
  return std::nullopt;
}

}  // namespace stellwerk::bound
