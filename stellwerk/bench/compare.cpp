#include "stellwerk/bench/compare.hpp"

namespace stellwerk {

std::vector<MeasuredCase> compare_cases(const Case& common, const std::vector<Bytes>& sizes,
                                        const std::vector<std::string>& planners) {
  std::vector<MeasuredCase> rows;
  for (const Bytes size : sizes) {
    for (const std::string& planner : planners) {
      Case what = common;
      what.size = size;
      what.planner = planner == "auto" ? "" : planner;
      rows.push_back({what, {}});
    }
  }
  return rows;
}

const std::vector<Column<MeasuredCase>>& compare_columns() {
  using Row = MeasuredCase;
  static const std::vector<Column<Row>> columns = [] {
    const auto shown = [](std::string heading, std::function<std::string(const Row&)> text) {
      return Column<Row>{std::move(heading), "", std::move(text), nullptr};
    };
    std::vector<Column<Row>> result = {
        shown("size", [](const Row& r) { return to_string(r.what.size); }),
        shown("planner", [](const Row& r) { return planner_label(r.what); }),
        shown("transfer time",
              [](const Row& r) {
                return r.result.planned ? to_string(r.result.transfer_time) : std::string("-");
              }),
        shown("gap", [](const Row& r) { return gap_text(r.result); }),
        shown("algbw", [](const Row& r) { return rate_text(r.result.algbw); }),
        shown("busbw", [](const Row& r) { return rate_text(r.result.busbw); }),
        shown("output buffer",
              [](const Row& r) {
                return r.result.output_bytes ? to_string(*r.result.output_bytes) : std::string("-");
              }),
        shown("solver time",
              [](const Row& r) {
                return r.result.planned ? seconds_text(r.result.solver_time_s) : std::string("-");
              }),
        shown("chunks a block",
              [](const Row& r) {
                return r.result.planned ? std::to_string(r.result.chunks_per_block)
                                        : std::string("-");
              }),
        shown("note",
              [](const Row& r) {
                // Of the portfolio it is worth knowing whose plan it chose.
                const bool chosen = r.what.planner.empty() && r.result.planned;
                const std::string whose = chosen ? "by " + r.result.planner : "";
                return whose + (whose.empty() || r.result.note.empty() ? "" : "; ") + r.result.note;
              }),
    };
    const std::vector<Column<Row>> plain = plain_columns();
    result.insert(result.end(), plain.begin(), plain.end());
    return result;
  }();
  return columns;
}

}  // namespace stellwerk
