// The adapter to HiGHS: the one file that includes its header.
//
// What this file shields the rest from (HiGHS 1.10 and newer):
//  - Empty models, crossed bounds and fractional bounds of integer variables are decided here;
//  HiGHS treats them as
//    errors or warnings, depending on the version.
//  - The number of threads belongs to the process: the first call decides, later calls use the
//  same.
//  - Limits: HiGHS gets the seconds that are left, and a callback polls the stop condition. Inside
//  one LP of a MIP and in
//    the first-order method only the time limit acts.
//  - "Optimal" within tolerances is not enough for integers: they are rounded and the point is
//  checked against the rows;
//    should the rounding break a row, the integers are fixed and the continuous rest is solved
//    again.
//  - The callback is a generic lambda, because the types of its arguments have changed names
//  between versions.
#include <Highs.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>

#include "stellwerk/base/error.hpp"
#include "stellwerk/lp/model.hpp"
#include "stellwerk/lp/names.hpp"

namespace stellwerk::lp {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kRowTolerance = 1e-6;
constexpr double kIntegerTolerance = 1e-6;
constexpr auto kPollInterval = std::chrono::milliseconds(5);
constexpr auto kProgressInterval = std::chrono::milliseconds(200);
// What StopCondition::seconds_left returns without a deadline is at least this.
constexpr double kNoDeadline = 1e8;

int process_threads(int wanted) {
  static std::once_flag once;
  static int threads = 1;
  std::call_once(once, [wanted] { threads = std::max(1, wanted); });
  return threads;
}

std::unique_ptr<Highs> quiet_highs() {
  auto highs = std::make_unique<Highs>();
  highs->setOptionValue("output_flag", false);
  highs->setOptionValue("log_to_console", false);
  return highs;
}

// The bounds of one variable as the solver shall see them: integers at integers.
struct Range {
  double lower;
  double upper;
};

Range effective_range(const Model& model, std::size_t i, bool integer) {
  Range range{model.lower()[i], model.upper()[i]};
  if (integer) {
    range.lower = std::ceil(range.lower - kIntegerTolerance);
    range.upper = std::floor(range.upper + kIntegerTolerance);
  }
  return range;
}

bool crossed(double lower, double upper) {
  return lower > upper || lower == kInfinity || upper == -kInfinity;
}

double objective_of(const Model& model, const std::vector<double>& values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += model.cost()[i] * values[i];
  return sum;
}

// Is the point within all bounds and rows? The tolerance is relative to the size of what is added
// up.
bool satisfies(const Model& model, const std::vector<double>& values, bool relax) {
  if (values.size() != model.variables()) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Range range = effective_range(model, i, model.integer()[i] && !relax);
    const double slack = kRowTolerance * (1 + std::abs(values[i]));
    if (!(values[i] >= range.lower - slack && values[i] <= range.upper + slack)) return false;
    if (model.integer()[i] && !relax &&
        std::abs(values[i] - std::round(values[i])) > kIntegerTolerance) {
      return false;
    }
  }
  for (std::size_t row = 0; row < model.rows(); ++row) {
    double sum = 0;
    double size = 1;
    for (auto k = static_cast<std::size_t>(model.row_begin()[row]);
         k < static_cast<std::size_t>(model.row_begin()[row + 1]); ++k) {
      const double term = model.values()[k] * values[static_cast<std::size_t>(model.columns()[k])];
      sum += term;
      size += std::abs(term);
    }
    const double slack = kRowTolerance * size;
    if (sum < model.row_lower()[row] - slack || sum > model.row_upper()[row] + slack) return false;
  }
  return true;
}

void refuse_not_a_number(const Model& model) {
  const auto check = [](std::span<const double> numbers, const char* what) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (std::isnan(numbers[i])) {
        throw Error(ErrorCode::internal, std::string("lp model: ") + what + " " +
                                             std::to_string(i) + " is not a number");
      }
    }
  };
  check(model.lower(), "lower bound");
  check(model.upper(), "upper bound");
  check(model.cost(), "cost");
  check(model.row_lower(), "row lower bound");
  check(model.row_upper(), "row upper bound");
  check(model.values(), "coefficient");
}

// A model that needs no solver: something is crossed, or there are no rows. Nothing: it does need
// one.
std::optional<Solution> trivial(const Model& model, bool relax) {
  Solution solution;
  solution.status = Status::infeasible;
  for (std::size_t i = 0; i < model.variables(); ++i) {
    const Range range = effective_range(model, i, model.integer()[i] && !relax);
    if (crossed(range.lower, range.upper)) return solution;
  }
  for (std::size_t row = 0; row < model.rows(); ++row) {
    if (crossed(model.row_lower()[row], model.row_upper()[row])) return solution;
    // A row without terms says 0.
    if (model.row_begin()[row] == model.row_begin()[row + 1] &&
        (model.row_lower()[row] > kRowTolerance || model.row_upper()[row] < -kRowTolerance)) {
      return solution;
    }
  }
  if (model.nonzeros() > 0) return std::nullopt;

  solution.values.resize(model.variables());
  for (std::size_t i = 0; i < model.variables(); ++i) {
    const Range range = effective_range(model, i, model.integer()[i] && !relax);
    const double cost = model.sense == Sense::minimise ? model.cost()[i] : -model.cost()[i];
    double value = std::clamp(0.0, range.lower, range.upper);
    if (cost > 0) value = range.lower;
    if (cost < 0) value = range.upper;
    if (std::isinf(value)) {
      solution.status = Status::unbounded;
      solution.values.clear();
      return solution;
    }
    solution.values[i] = value;
  }
  solution.status = Status::optimal;
  if (relax || model.integers() == 0) solution.row_duals.assign(model.rows(), 0.0);
  solution.objective = solution.bound = objective_of(model, solution.values);
  return solution;
}

// The solver always minimises: 1.10's interior point method without crossover returns the duals of
// a maximisation with the wrong sign.
double sign_of(const Model& model) { return model.sense == Sense::minimise ? 1 : -1; }

HighsLp to_highs(const Model& model, bool relax) {
  HighsLp lp;
  lp.num_col_ = static_cast<HighsInt>(model.variables());
  lp.num_row_ = static_cast<HighsInt>(model.rows());
  lp.sense_ = ObjSense::kMinimize;
  lp.col_cost_.assign(model.cost().begin(), model.cost().end());
  for (double& cost : lp.col_cost_) cost *= sign_of(model);
  lp.col_lower_.resize(model.variables());
  lp.col_upper_.resize(model.variables());
  const bool has_integers = !relax && model.integers() > 0;
  if (has_integers) lp.integrality_.assign(model.variables(), HighsVarType::kContinuous);
  for (std::size_t i = 0; i < model.variables(); ++i) {
    const bool integer = has_integers && model.integer()[i];
    const Range range = effective_range(model, i, integer);
    lp.col_lower_[i] = range.lower;
    lp.col_upper_[i] = range.upper;
    if (integer) lp.integrality_[i] = HighsVarType::kInteger;
  }
  lp.row_lower_.assign(model.row_lower().begin(), model.row_lower().end());
  lp.row_upper_.assign(model.row_upper().begin(), model.row_upper().end());
  lp.a_matrix_.format_ = MatrixFormat::kRowwise;
  lp.a_matrix_.num_col_ = lp.num_col_;
  lp.a_matrix_.num_row_ = lp.num_row_;
  lp.a_matrix_.start_.assign(model.row_begin().begin(), model.row_begin().end());
  lp.a_matrix_.index_.assign(model.columns().begin(), model.columns().end());
  lp.a_matrix_.value_.assign(model.values().begin(), model.values().end());
  return lp;
}

void pass(Highs& highs, HighsLp lp) {
  if (highs.passModel(std::move(lp)) == HighsStatus::kError) {
    throw Error(ErrorCode::internal, "HiGHS refuses the model");
  }
}

void set_options(Highs& highs, const SolveOptions& options, bool continuous) {
  const int threads = process_threads(options.threads);
  highs.setOptionValue("threads", threads);
  highs.setOptionValue("parallel", threads > 1 ? "choose" : "off");
  highs.setOptionValue("random_seed", 0);
  highs.setOptionValue("mip_rel_gap", std::max(0.0, options.relative_gap));
  const double left = options.stop.seconds_left();
  if (left < kNoDeadline) highs.setOptionValue("time_limit", left);
  if (!continuous) return;  // with integers, a solver named here would be used for the LP alone
  switch (options.method) {
    case Method::automatic:
      break;
    case Method::simplex:
      highs.setOptionValue("solver", "simplex");
      break;
    case Method::interior_point:
      highs.setOptionValue("solver", "ipm");
      highs.setOptionValue("run_crossover", "on");
      break;
    case Method::interior_point_no_crossover:
      highs.setOptionValue("solver", "ipm");
      highs.setOptionValue("run_crossover", "off");
      break;
    case Method::first_order:
      highs.setOptionValue("solver", "pdlp");
      break;
  }
}

// Polls the stop condition and reports progress from inside the solver.
struct Watch {
  const SolveOptions& options;
  double sign;  ///< of the objective
  Limit limit = Limit::none;
  Clock::time_point next_poll{};
  Clock::time_point next_progress{};

  void install(Highs& highs) {
    highs.setCallback([this](int type, const std::string& /*message*/, const auto* out, auto* in,
                             void* /*data*/) {
      const auto now = Clock::now();
      if (now >= next_poll) {
        next_poll = now + kPollInterval;
        if (limit == Limit::none) limit = options.stop.reached();
      }
      if (limit != Limit::none) in->user_interrupt = true;
      if (type == kCallbackMipInterrupt && options.on_progress && now >= next_progress) {
        next_progress = now + kProgressInterval;
        const double incumbent = out->mip_primal_bound;
        options.on_progress(std::abs(incumbent) < kHighsInf ? sign * incumbent : std::nan(""),
                            sign * out->mip_dual_bound);
      }
    });
    highs.startCallback(kCallbackSimplexInterrupt);
    highs.startCallback(kCallbackIpmInterrupt);
    highs.startCallback(kCallbackMipInterrupt);
  }
};

struct RawOutcome {
  HighsModelStatus status = HighsModelStatus::kNotset;
  Limit limit = Limit::none;
};

RawOutcome run(Highs& highs, const SolveOptions& options, double sign) {
  Watch watch{options, sign};
  watch.install(highs);
  const HighsStatus returned = highs.run();
  RawOutcome outcome{highs.getModelStatus(), watch.limit};
  if (outcome.status == HighsModelStatus::kTimeLimit) outcome.limit = Limit::time;
  const bool no_answer = outcome.status == HighsModelStatus::kNotset ||
                         outcome.status == HighsModelStatus::kModelError ||
                         outcome.status == HighsModelStatus::kLoadError;
  if (returned == HighsStatus::kError && no_answer) {
    throw Error(ErrorCode::internal,
                "HiGHS refuses the model: " + highs.modelStatusToString(outcome.status));
  }
  return outcome;
}

// Unbounded or infeasible? Feasible without an objective means unbounded.
Status tell_apart(const Model& model, const SolveOptions& options) {
  auto highs = quiet_highs();
  HighsLp lp = to_highs(model, options.relax);
  std::fill(lp.col_cost_.begin(), lp.col_cost_.end(), 0.0);
  const bool continuous = lp.integrality_.empty();
  pass(*highs, std::move(lp));
  SolveOptions plain;
  plain.stop = options.stop;
  plain.threads = options.threads;
  set_options(*highs, plain, continuous);
  const RawOutcome outcome = run(*highs, plain, 1);
  if (outcome.status == HighsModelStatus::kOptimal) return Status::unbounded;
  if (outcome.status == HighsModelStatus::kInfeasible) return Status::infeasible;
  return Status::no_solution;
}

// Rounds the integers; where that breaks a row, fixes them and solves the rest. False: no valid
// point comes of it.
bool round_integers(const Model& model, const SolveOptions& options, std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Range range = effective_range(model, i, model.integer()[i]);
    if (model.integer()[i]) values[i] = std::round(values[i]);
    values[i] = std::clamp(values[i], range.lower, range.upper) + 0.0;  // no negative zero
  }
  if (satisfies(model, values, false)) return true;
  if (model.integers() == model.variables()) return false;
  HighsLp lp = to_highs(model, true);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (model.integer()[i]) lp.col_lower_[i] = lp.col_upper_[i] = values[i];
  }
  auto highs = quiet_highs();
  pass(*highs, std::move(lp));
  SolveOptions plain;
  plain.stop = options.stop;
  plain.threads = options.threads;
  set_options(*highs, plain, true);
  if (run(*highs, plain, 1).status != HighsModelStatus::kOptimal) return false;
  const std::vector<double>& polished = highs->getSolution().col_value;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!model.integer()[i]) values[i] = polished[i];
  }
  return satisfies(model, values, false);
}

double worst_bound(const Model& model) {
  return model.sense == Sense::minimise ? -kInfinity : kInfinity;
}

}  // namespace

Solution solve(const Model& model, const SolveOptions& options) {
  refuse_not_a_number(model);
  const bool continuous = options.relax || model.integers() == 0;
  if (!options.hint.empty() && options.hint.size() != model.variables()) {
    throw Error(ErrorCode::internal, "lp hint: " + std::to_string(options.hint.size()) +
                                         " values for " + std::to_string(model.variables()) +
                                         " variables");
  }
  if (auto solution = trivial(model, options.relax)) return *std::move(solution);

  Solution solution;
  solution.bound = worst_bound(model);
  const auto fall_back_on_hint = [&] {
    if (options.hint.empty() || continuous) return;
    std::vector<double> values = options.hint;
    if (!satisfies(model, values, false) || !round_integers(model, options, values)) return;
    solution.status = Status::feasible;
    solution.values = std::move(values);
    solution.objective = objective_of(model, solution.values);
  };
  solution.limit = options.stop.reached();
  if (solution.limit != Limit::none) {
    fall_back_on_hint();
    return solution;
  }

  auto highs = quiet_highs();
  pass(*highs, to_highs(model, options.relax));
  set_options(*highs, options, continuous);
  if (!options.hint.empty() && !continuous) {
    HighsSolution hint;
    hint.col_value = options.hint;
    hint.value_valid = true;
    highs->setSolution(hint);
  }
  const RawOutcome outcome = run(*highs, options, sign_of(model));
  solution.limit = outcome.limit;

  bool optimal = false;
  switch (outcome.status) {
    case HighsModelStatus::kOptimal:
    case HighsModelStatus::kModelEmpty:
      optimal = true;
      solution.limit = Limit::none;
      break;
    case HighsModelStatus::kInfeasible:
      solution.status = Status::infeasible;
      solution.limit = Limit::none;
      return solution;
    case HighsModelStatus::kUnbounded:
      solution.status = Status::unbounded;
      solution.limit = Limit::none;
      return solution;
    case HighsModelStatus::kUnboundedOrInfeasible:
      solution.status = tell_apart(model, options);
      solution.limit =
          solution.status == Status::no_solution ? options.stop.reached() : Limit::none;
      return solution;
    default:
      break;
  }

  const HighsInfo& info = highs->getInfo();
  const HighsSolution& found = highs->getSolution();
  if (!continuous && !std::isnan(info.mip_dual_bound)) {
    solution.bound = sign_of(model) * info.mip_dual_bound;
  }
  if (found.value_valid && found.col_value.size() == model.variables() &&
      info.primal_solution_status == kSolutionStatusFeasible) {
    std::vector<double> values = found.col_value;
    const bool valid = continuous ? true : round_integers(model, options, values);
    if (valid) {
      solution.status = optimal ? Status::optimal : Status::feasible;
      solution.objective = objective_of(model, values);
      solution.values = std::move(values);
      if (continuous && optimal) solution.bound = solution.objective;
    }
  }
  if (solution.has_values() && continuous && optimal && found.dual_valid &&
      options.method != Method::first_order) {
    solution.row_duals = found.row_dual;
    for (double& dual : solution.row_duals) dual *= sign_of(model);
  }
  if (!solution.has_values()) fall_back_on_hint();
  return solution;
}

void write_model(const Model& model, const std::string& path) {
  if (!path.ends_with(".mps") && !path.ends_with(".lp")) {
    throw Error(ErrorCode::usage, path + ": the format follows the ending; use .mps or .lp");
  }
  HighsLp lp = to_highs(model, false);
  if (model.sense == Sense::maximise) {
    lp.sense_ = ObjSense::kMaximize;
    lp.col_cost_.assign(model.cost().begin(), model.cost().end());
  }
  ExportNames names = export_names(model);
  lp.col_names_ = std::move(names.variables);
  lp.row_names_ = std::move(names.rows);
  auto highs = quiet_highs();
  pass(*highs, std::move(lp));
  if (highs->writeModel(path) == HighsStatus::kError) {
    throw Error(ErrorCode::unreadable_input,
                path + ": cannot be written; check that the folder exists and is writable");
  }
}

Model read_model(const std::string& path) {
  auto highs = quiet_highs();
  if (highs->readModel(path) == HighsStatus::kError) {
    throw Error(ErrorCode::unreadable_input,
                path + ": cannot be read as a model; use a readable .mps or .lp file");
  }
  const HighsLp& lp = highs->getLp();
  Model model;
  model.sense = lp.sense_ == ObjSense::kMinimize ? Sense::minimise : Sense::maximise;
  for (std::size_t i = 0; i < static_cast<std::size_t>(lp.num_col_); ++i) {
    const bool integer = !lp.integrality_.empty() && lp.integrality_[i] == HighsVarType::kInteger;
    model.add_variable(lp.col_lower_[i], lp.col_upper_[i], lp.col_cost_[i], integer,
                       i < lp.col_names_.size() ? lp.col_names_[i] : "");
  }
  std::vector<std::vector<Term>> rows(static_cast<std::size_t>(lp.num_row_));
  const bool by_column = lp.a_matrix_.isColwise();
  const auto vectors = static_cast<std::size_t>(by_column ? lp.num_col_ : lp.num_row_);
  for (std::size_t v = 0; v < vectors; ++v) {
    for (auto k = static_cast<std::size_t>(lp.a_matrix_.start_[v]);
         k < static_cast<std::size_t>(lp.a_matrix_.start_[v + 1]); ++k) {
      const auto other = static_cast<std::size_t>(lp.a_matrix_.index_[k]);
      const std::size_t row = by_column ? other : v;
      rows[row].push_back({static_cast<Variable>(by_column ? v : other), lp.a_matrix_.value_[k]});
    }
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    model.add_row(lp.row_lower_[row], lp.row_upper_[row], rows[row],
                  row < lp.row_names_.size() ? lp.row_names_[row] : "");
  }
  return model;
}

}  // namespace stellwerk::lp
