#include "stellwerk/bench/measurement.hpp"

#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/resources.hpp"
#include "stellwerk/bench/random_problem.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/core/metrics.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/plan/planner.hpp"
#include "stellwerk/plan/portfolio.hpp"

namespace stellwerk {
namespace {

void record(const Plan& plan, Measurement& result) {
  const RecordedMetrics metrics = derive_metrics(plan);
  result.planned = true;
  result.transfer_time = plan.result.transfer_time;
  if (plan.result.bound) {
    result.bound = plan.result.bound->value;
    result.bound_kind = to_string(plan.result.bound->certificate.kind);
  }
  result.gap = metrics.gap;
  result.algbw = metrics.total.algbw;
  result.busbw = metrics.total.busbw;
  result.output_bytes = metrics.total.output_bytes;
  result.chunks_per_block = metrics.chunks_per_block.value_or(0);
  result.sends = static_cast<std::int64_t>(plan.sends.size());
  if (!plan.problem.symmetry.trivial()) {
    const Problem& problem = plan.problem;
    result.symmetry =
        find_orbits(problem.topology, problem.symmetry, problem.jobs.front().ranks).order;
  }
  result.planner = plan.result.planner;
  result.solver_time_s = plan.result.solver_time_s;
  result.core_seconds = plan.result.core_seconds;
  const Termination& termination = plan.result.termination;
  if (termination.limit != Limit::none)
    result.note = std::string(to_string(termination.limit)) + " limit";
}

PortfolioRequest request_of(const Case& what) {
  PortfolioRequest request;
  request.topology = load_topology(what.topology);
  if (what.random) {
    request.jobs = random_problem(*what.random).jobs;
  } else {
    Job job;
    job.name = to_string(what.collective);
    job.collective = what.collective;
    job.ranks = request.topology.gpus();
    job.size = what.size;
    job.auto_chunks = what.chunks == 0;
    if (what.chunks > 0) job.chunks = what.chunks;
    request.jobs.push_back(std::move(job));
  }
  request.planner = what.planner;
  request.options.gap = what.gap;
  request.options.seed = what.seed;
  request.options.threads = what.threads;
  return request;
}

Plan planned(PortfolioRequest request, const Case& what) {
  return make_plan(std::move(request), StopCondition(what.limit_s, what.memory_limit_bytes),
                   nullptr, judge);
}

/// Is it about the problem, and not about the input?
bool is_result(const Error& error) {
  return error.code() == ErrorCode::unsolved || error.code() == ErrorCode::internal;
}

/// The best of all baselines, each with the time limit of the case.
void find_rival(const PortfolioRequest& request, const Case& what, Measurement& result) {
  for (const PlannerRow& row : planners()) {
    if (row.kind != PlannerKind::baseline) continue;
    PortfolioRequest its = request;
    its.planner = row.name;
    try {
      const Time time = planned(std::move(its), what).result.transfer_time;
      if (result.rival_time && time >= *result.rival_time) continue;
      result.rival_time = time;
      result.rival = row.name;
    } catch (const Error& error) {
      if (!is_result(error)) throw;
    }
  }
}

constexpr char kSeparator = '\x1f';

/// Writes and reads the fields of a measurement in one order.
class Fields {
 public:
  Fields() = default;
  explicit Fields(std::string_view line) : reading_(true) {
    for (std::size_t begin = 0; begin <= line.size();) {
      const std::size_t end = std::min(line.find(kSeparator, begin), line.size());
      read_.emplace_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  void operator()(std::string& value) {
    if (reading_) {
      value = next();
      return;
    }
    std::string text = value;
    for (char& c : text) {
      if (c == kSeparator || c == '\n') c = ' ';
    }
    write(text);
  }
  void operator()(std::int64_t& value) {
    if (!reading_) return write(std::to_string(value));
    parse(next(), value);
  }
  void operator()(double& value) {
    if (!reading_) {
      char text[40];
      std::snprintf(text, sizeof text, "%.17g", value);
      return write(text);
    }
    parse(next(), value);
  }
  void operator()(bool& value) {
    std::int64_t number = value ? 1 : 0;
    (*this)(number);
    value = number != 0;
  }
  void operator()(Time& value) { (*this)(value.ps); }
  void operator()(Bytes& value) { (*this)(value.value); }
  template <class T>
  void operator()(std::optional<T>& value) {
    bool there = value.has_value();
    (*this)(there);
    if (!there) {
      value.reset();
      return;
    }
    if (!value) value.emplace();
    (*this)(*value);
  }

  const std::string& text() const { return written_; }
  bool all_read() const { return at_ == read_.size(); }

 private:
  [[noreturn]] static void refuse() {
    throw Error(ErrorCode::internal, "a measurement from another process is damaged");
  }
  std::string next() {
    if (at_ == read_.size()) refuse();
    return read_[at_++];
  }
  template <class T>
  static void parse(const std::string& text, T& value) {
    const char* end = text.data() + text.size();
    const auto [position, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc{} || position != end) refuse();
  }
  void write(const std::string& text) {
    if (!first_) written_ += kSeparator;
    first_ = false;
    written_ += text;
  }

  bool reading_ = false;
  bool first_ = true;
  std::string written_;
  std::vector<std::string> read_;
  std::size_t at_ = 0;
};

void visit(Fields& fields, Measurement& m) {
  fields(m.planned);
  fields(m.note);
  fields(m.transfer_time);
  fields(m.bound);
  fields(m.bound_kind);
  fields(m.gap);
  fields(m.algbw);
  fields(m.busbw);
  fields(m.output_bytes);
  fields(m.gpus);
  fields(m.chunks_per_block);
  fields(m.sends);
  fields(m.symmetry);
  fields(m.planner);
  fields(m.rival);
  fields(m.rival_time);
  fields(m.solver_time_s);
  fields(m.core_seconds);
  fields(m.peak_rss_bytes);
}

}  // namespace

Measurement measure(const Case& what) {
  Measurement result;
  const PortfolioRequest request = request_of(what);
  result.gpus = static_cast<std::int64_t>(request.topology.gpus().size());
  const double cpu = cpu_seconds();
  try {
    const Plan plan = planned(request, what);
    if (const auto complaint = judge(plan)) {
      result.note = "invalid plan: " + *complaint;
    } else {
      record(plan, result);
    }
  } catch (const Error& error) {
    if (!is_result(error)) throw;
    result.note = error.what();
    result.core_seconds = cpu_seconds() - cpu;
  }
  if (what.rival) find_rival(request, what, result);
  result.peak_rss_bytes = peak_resident_bytes();
  return result;
}

std::string to_line(const Measurement& measurement) {
  Measurement copy = measurement;
  Fields fields;
  visit(fields, copy);
  return fields.text();
}

Measurement measurement_from_line(const std::string& line) {
  Fields fields(line);
  Measurement result;
  visit(fields, result);
  if (!fields.all_read()) {
    throw Error(ErrorCode::internal, "a measurement from another process is damaged");
  }
  return result;
}

}  // namespace stellwerk
