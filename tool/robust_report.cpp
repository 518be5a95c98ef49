#include "tool/robust_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tool/table.hpp"

namespace stellwerk::tool {

std::string trials_table(const RobustChoice& choice) {
  constexpr std::size_t kMostRows = 10;
  std::vector<std::size_t> order(choice.trials.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (a == choice.chosen || b == choice.chosen) return a == choice.chosen && b != choice.chosen;
    return choice.trials[a].spread.p50 < choice.trials[b].spread.p50;
  });
  Table table;
  table.add({"candidate", "chunks", "promised", "p50", "p99", "worst", "runs", ""});
  std::size_t rows = 0;
  for (const std::size_t i : order) {
    const Trial& trial = choice.trials[i];
    // The plan that promises the least is shown even if it fares badly.
    if (++rows > kMostRows && i != 0) continue;
    const std::string note = i == choice.chosen ? "chosen" : i == 0 ? "promises least" : "";
    table.add({trial.planner, std::to_string(trial.chunks), to_string(trial.promised),
               to_string(trial.spread.p50), to_string(trial.spread.p99),
               to_string(trial.spread.worst), std::to_string(trial.runs), note});
  }
  std::string text = table.text();
  if (order.size() > kMostRows) {
    text += fmt::format("{} candidates in all\n", order.size());
  }
  return text;
}

}  // namespace stellwerk::tool
