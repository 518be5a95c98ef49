// The only way to a solver: a sparse linear model, options, and a solution. The solver is HiGHS;
// highs.cpp is the one file that knows it.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/base/stop.hpp"

namespace stellwerk::lp {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum class Sense { minimise, maximise };

/// A column index / a row index of a Model.
using Variable = int;
using Row = int;

struct Term {
  Variable variable;
  double coefficient;
};

/// min or max c x  subject to  row_lower <= A x <= row_upper, lower <= x <= upper, some x integer.
class Model {
 public:
  Sense sense = Sense::minimise;

  /// Names are optional; they appear in exported models only.
  Variable add_variable(double lower, double upper, double cost, bool integer = false,
                        std::string name = "");
  Variable add_binary(double cost = 0, std::string name = "") {
    return add_variable(0, 1, cost, true, std::move(name));
  }
  /// Terms of one variable are summed. Use -kInfinity / kInfinity for one-sided rows.
  Row add_row(double lower, double upper, std::span<const Term> terms, std::string name = "");

  void set_bounds(Variable variable, double lower, double upper);
  void set_cost(Variable variable, double cost);
  void set_row_bounds(Row row, double lower, double upper);

  std::size_t variables() const { return lower_.size(); }
  std::size_t rows() const { return row_lower_.size(); }
  std::size_t integers() const;
  std::size_t nonzeros() const { return values_.size(); }

  // Read access for the adapter: rows are stored one after the other.
  std::span<const double> lower() const { return lower_; }
  std::span<const double> upper() const { return upper_; }
  std::span<const double> cost() const { return cost_; }
  const std::vector<bool>& integer() const { return integer_; }
  std::span<const double> row_lower() const { return row_lower_; }
  std::span<const double> row_upper() const { return row_upper_; }
  std::span<const int> row_begin() const { return row_begin_; }
  std::span<const int> columns() const { return columns_; }
  std::span<const double> values() const { return values_; }
  std::span<const std::string> variable_names() const { return variable_names_; }
  std::span<const std::string> row_names() const { return row_names_; }

 private:
  std::vector<double> lower_, upper_, cost_;
  std::vector<bool> integer_;
  std::vector<double> row_lower_, row_upper_;
  std::vector<int> row_begin_{0};
  std::vector<int> columns_;
  std::vector<double> values_;
  std::vector<std::string> variable_names_, row_names_;
};

enum class Method {
  automatic,  ///< what the solver prefers
  simplex,
  interior_point,  ///< with crossover
  interior_point_no_crossover,
  first_order,  ///< pdlp: inexact; confirm what matters
};

struct SolveOptions {
  StopCondition stop;
  double relative_gap = 0;  ///< integer models: stop when the incumbent is this close to the bound
  int threads = 1;          ///< process-global in HiGHS: the first call decides
  Method method = Method::automatic;
  bool relax = false;        ///< treat every variable as continuous
  std::vector<double> hint;  ///< a complete integer starting solution; empty: none
  /// Called now and then with (incumbent objective or NaN, proven bound).
  std::function<void(double, double)> on_progress;
};

enum class Status {
  optimal,   ///< within the gap, proven
  feasible,  ///< stopped by a limit, with a solution
  infeasible,
  unbounded,
  no_solution,  ///< stopped by a limit before any solution
};

const char* to_string(Status status);

struct Solution {
  Status status = Status::no_solution;
  Limit limit = Limit::none;
  std::vector<double> values;  ///< one a variable; empty without a solution
  /// Continuous models solved by simplex or ipm, else empty: by how much the objective grows when
  /// the side of the row that is tight grows by one.
  std::vector<double> row_duals;
  double objective = 0;
  double bound = 0;  ///< proven by the solver (dual bound)

  bool has_values() const { return !values.empty(); }
};

/// Deterministic for equal input unless a limit strikes. Integer variables come back rounded to
/// integers, and the rounded point is checked against the rows. Throws Error(internal) when the
/// solver refuses the model.
Solution solve(const Model& model, const SolveOptions& options = {});

/// Writes the model for other solvers; the format follows the ending, .mps or .lp. Throws
/// Error(usage) otherwise, Error(unreadable_input) when the file cannot be written.
void write_model(const Model& model, const std::string& path);

/// Reads an .mps or .lp file; a constant in the objective is dropped. Throws
/// Error(unreadable_input) naming the file.
Model read_model(const std::string& path);

/// Reads a solution file as HiGHS, CBC or SCIP write it ("name value" lines among others);
/// variables that are not named are 0. Throws Error(unreadable_input) naming file and line.
std::vector<double> read_solution(const Model& model, const std::string& path);

}  // namespace stellwerk::lp
