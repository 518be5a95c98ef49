#include "stellwerk/bench/cells.hpp"

#include <fmt/core.h>

#include <cmath>

namespace stellwerk {

std::string planner_label(const Case& what) { return what.planner.empty() ? "auto" : what.planner; }

std::string time_text(const std::optional<Time>& time) { return time ? to_string(*time) : "-"; }

std::string gap_text(const Measurement& measurement) {
  if (!measurement.planned || !measurement.gap) return "-";
  const double percents = 100 * *measurement.gap;
  return percents == 0 ? "0%" : fmt::format("{:.{}f}%", percents, percents < 0.1 ? 3 : 2);
}

std::string rate_text(const std::optional<double>& bytes_per_second) {
  return bytes_per_second ? to_string(Bandwidth{std::llround(*bytes_per_second)}) : "-";
}

std::string seconds_text(double seconds) { return fmt::format("{:.2f} s", seconds); }

std::string ratio_text(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.4f}", *ratio) : "-";
}

std::string number(double value) { return fmt::format("{}", value); }
std::string number(const std::optional<double>& value) { return value ? number(*value) : ""; }

std::vector<Column<MeasuredCase>> plain_columns() {
  using Row = MeasuredCase;
  const auto plain = [](std::string key, std::function<std::string(const Row&)> value) {
    return Column<Row>{"", std::move(key), nullptr, std::move(value)};
  };
  const auto planned = [](const Row& row, std::string text) {
    return row.result.planned ? std::move(text) : std::string();
  };
  return {
      plain("topology", [](const Row& r) { return r.what.topology; }),
      plain("gpus", [](const Row& r) { return std::to_string(r.result.gpus); }),
      plain("collective", [](const Row& r) { return std::string(to_string(r.what.collective)); }),
      plain("size_bytes", [](const Row& r) { return std::to_string(r.what.size.value); }),
      plain("planner", [](const Row& r) { return planner_label(r.what); }),
      plain("transfer_time_ps",
            [planned](const Row& r) {
              return planned(r, std::to_string(r.result.transfer_time.ps));
            }),
      plain("bound_ps",
            [](const Row& r) {
              return r.result.bound ? std::to_string(r.result.bound->ps) : std::string();
            }),
      plain("bound_kind", [](const Row& r) { return r.result.bound_kind; }),
      plain("gap", [](const Row& r) { return number(r.result.gap); }),
      plain("algbw_bytes_per_s", [](const Row& r) { return number(r.result.algbw); }),
      plain("busbw_bytes_per_s", [](const Row& r) { return number(r.result.busbw); }),
      plain("output_bytes",
            [](const Row& r) {
              return r.result.output_bytes ? std::to_string(r.result.output_bytes->value)
                                           : std::string();
            }),
      plain("solver_time_s",
            [planned](const Row& r) { return planned(r, number(r.result.solver_time_s)); }),
      plain("cpu_s", [](const Row& r) { return number(r.result.core_seconds); }),
      plain("peak_memory_bytes",
            [](const Row& r) { return std::to_string(r.result.peak_rss_bytes); }),
      plain("chunks_per_block",
            [planned](const Row& r) {
              return planned(r, std::to_string(r.result.chunks_per_block));
            }),
      plain("sends",
            [planned](const Row& r) { return planned(r, std::to_string(r.result.sends)); }),
      plain("symmetry",
            [planned](const Row& r) { return planned(r, std::to_string(r.result.symmetry)); }),
      plain("plan_of", [](const Row& r) { return r.result.planner; }),
      plain("note", [](const Row& r) { return r.result.note; }),
  };
}

}  // namespace stellwerk
