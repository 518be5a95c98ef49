#include "stellwerk/bench/random_suite.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "stellwerk/bench/random_problem.hpp"

namespace stellwerk {
namespace {

std::string demand_of(const std::vector<Job>& jobs) {
  std::string text;
  for (const Job& job : jobs) {
    text +=
        fmt::format("{}{} of {} over {} GPUs", text.empty() ? "" : ", ", to_string(job.collective),
                    to_string(effective_size(job)), job.ranks.size());
  }
  return text;
}

/// How far above the bound; infinite without a plan.
double gap_of(const RandomRow& row) {
  const Measurement& m = row.measured.result;
  return m.planned && m.gap ? *m.gap : HUGE_VAL;
}

std::string percents(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.2f}%", 100 * *ratio) : "-";
}

}  // namespace

std::vector<RandomRow> random_rows(const Case& common, std::uint64_t first, std::uint64_t count) {
  std::vector<RandomRow> rows;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const RandomProblem problem = random_problem(seed);
    RandomRow row;
    Case& what = row.measured.what;
    what = common;
    what.topology = problem.topology;
    what.collective = problem.jobs.front().collective;
    what.size = effective_size(problem.jobs.front());
    what.random = seed;
    what.rival = true;
    row.demand = demand_of(problem.jobs);
    rows.push_back(std::move(row));
  }
  return rows;
}

bool above_baseline(const RandomRow& row) {
  const Measurement& m = row.measured.result;
  return m.rival_time && (!m.planned || m.transfer_time > *m.rival_time);
}

std::vector<RandomRow> worst(std::vector<RandomRow> rows, std::size_t count) {
  std::sort(rows.begin(), rows.end(), [](const RandomRow& a, const RandomRow& b) {
    const double left = gap_of(a), right = gap_of(b);
    return left != right ? left > right : a.measured.what.random < b.measured.what.random;
  });
  rows.resize(std::min(rows.size(), count));
  return rows;
}

RandomSummary summarise(const std::vector<RandomRow>& rows) {
  RandomSummary summary;
  summary.problems = rows.size();
  std::vector<double> gaps;
  double log_gain = 0;
  std::size_t gains = 0;
  for (const RandomRow& row : rows) {
    const Measurement& m = row.measured.result;
    if (above_baseline(row)) ++summary.above_baseline;
    if (!m.planned) continue;
    ++summary.plans;
    if (m.gap) gaps.push_back(*m.gap);
    if (m.gap && *m.gap == 0) ++summary.optimal;
    if (m.rival_time && m.transfer_time > Time{0}) {
      log_gain += std::log(m.rival_time->seconds() / m.transfer_time.seconds());
      ++gains;
    }
  }
  std::sort(gaps.begin(), gaps.end());
  if (!gaps.empty()) {
    summary.median_gap = gaps[(gaps.size() - 1) / 2];
    summary.ninetieth_gap = gaps[(gaps.size() - 1) * 9 / 10];
    summary.largest_gap = gaps.back();
  }
  if (gains > 0) summary.gain = std::exp(log_gain / static_cast<double>(gains));
  return summary;
}

const std::vector<Column<RandomRow>>& random_columns() {
  using Row = RandomRow;
  static const std::vector<Column<Row>> columns = [] {
    const auto number_of = [](const Row& r) {
      return std::to_string(r.measured.what.random.value_or(0));
    };
    std::vector<Column<Row>> result = {
        {"problem", "problem", number_of, nullptr},
        {"network", "", [](const Row& r) { return r.measured.what.topology; }, nullptr},
        {"demand", "demand", [](const Row& r) { return r.demand; }, nullptr},
        {"transfer time", "",
         [](const Row& r) {
           const Measurement& m = r.measured.result;
           return m.planned ? to_string(m.transfer_time) : "-: " + m.note;
         },
         nullptr},
        {"bound", "",
         [](const Row& r) {
           const Measurement& m = r.measured.result;
           return time_text(m.bound) + (m.bound ? " (" + m.bound_kind + ")" : "");
         },
         nullptr},
        {"gap", "", [](const Row& r) { return gap_text(r.measured.result); }, nullptr},
        {"solver time", "",
         [](const Row& r) { return seconds_text(r.measured.result.solver_time_s); }, nullptr},
        {"plan of", "", [](const Row& r) { return r.measured.result.planner; }, nullptr},
        {"best baseline", "baseline_time_ps",
         [](const Row& r) {
           const Measurement& m = r.measured.result;
           return m.rival_time ? to_string(*m.rival_time) + ", " + m.rival +
                                     (above_baseline(r) ? ": better" : "")
                               : std::string("-");
         },
         [](const Row& r) {
           const Measurement& m = r.measured.result;
           return m.rival_time ? std::to_string(m.rival_time->ps) : std::string();
         }},
        {"", "baseline", nullptr, [](const Row& r) { return r.measured.result.rival; }},
    };
    const std::vector<Column<Row>> plain = lifted(plain_columns(), &Row::measured);
    result.insert(result.end(), plain.begin(), plain.end());
    return result;
  }();
  return columns;
}

const std::vector<Column<RandomSummary>>& random_summary_columns() {
  using Row = RandomSummary;
  static const std::vector<Column<Row>> columns = {
      {"problems", "problems", [](const Row& r) { return std::to_string(r.problems); }, nullptr},
      {"plans", "plans", [](const Row& r) { return std::to_string(r.plans); }, nullptr},
      {"above a baseline", "above_baseline",
       [](const Row& r) { return std::to_string(r.above_baseline); }, nullptr},
      {"at the bound", "optimal", [](const Row& r) { return std::to_string(r.optimal); }, nullptr},
      {"median gap", "median_gap", [](const Row& r) { return percents(r.median_gap); }, nullptr},
      {"90% are below", "ninetieth_gap", [](const Row& r) { return percents(r.ninetieth_gap); },
       nullptr},
      {"largest gap", "largest_gap", [](const Row& r) { return percents(r.largest_gap); }, nullptr},
      {"best baseline / ours (geometric mean)", "gain",
       [](const Row& r) { return ratio_text(r.gain); }, nullptr},
  };
  return columns;
}

}  // namespace stellwerk
