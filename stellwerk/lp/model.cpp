#include "stellwerk/lp/model.hpp"

#include <algorithm>
#include <cassert>

namespace stellwerk::lp {

Variable Model::add_variable(double lower, double upper, double cost, bool integer,
                             std::string name) {
  lower_.push_back(lower);
  upper_.push_back(upper);
  cost_.push_back(cost);
  integer_.push_back(integer);
  variable_names_.push_back(std::move(name));
  return static_cast<Variable>(lower_.size() - 1);
}

Row Model::add_row(double lower, double upper, std::span<const Term> terms, std::string name) {
  const std::size_t begin = columns_.size();
  for (const Term& term : terms) {
    assert(term.variable >= 0 && static_cast<std::size_t>(term.variable) < variables());
    columns_.push_back(term.variable);
    values_.push_back(term.coefficient);
  }
  // Solvers refuse a column that appears twice in a row: sort, then sum the repetitions.
  const auto row_columns = std::span(columns_).subspan(begin);
  if (!std::is_sorted(row_columns.begin(), row_columns.end(), std::less_equal<>())) {
    std::vector<Term> sorted(terms.begin(), terms.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Term& a, const Term& b) { return a.variable < b.variable; });
    columns_.resize(begin);
    values_.resize(begin);
    for (const Term& term : sorted) {
      if (columns_.size() > begin && columns_.back() == term.variable) {
        values_.back() += term.coefficient;
      } else {
        columns_.push_back(term.variable);
        values_.push_back(term.coefficient);
      }
    }
  }
  row_begin_.push_back(static_cast<int>(columns_.size()));
  row_lower_.push_back(lower);
  row_upper_.push_back(upper);
  row_names_.push_back(std::move(name));
  return static_cast<Row>(row_lower_.size() - 1);
}

void Model::set_bounds(Variable variable, double lower, double upper) {
  lower_[static_cast<std::size_t>(variable)] = lower;
  upper_[static_cast<std::size_t>(variable)] = upper;
}

void Model::set_cost(Variable variable, double cost) {
  cost_[static_cast<std::size_t>(variable)] = cost;
}

void Model::set_row_bounds(Row row, double lower, double upper) {
  row_lower_[static_cast<std::size_t>(row)] = lower;
  row_upper_[static_cast<std::size_t>(row)] = upper;
}

std::size_t Model::integers() const {
  return static_cast<std::size_t>(std::count(integer_.begin(), integer_.end(), true));
}

const char* to_string(Status status) {
  switch (status) {
    case Status::optimal:
      return "optimal";
    case Status::feasible:
      return "feasible";
    case Status::infeasible:
      return "infeasible";
    case Status::unbounded:
      return "unbounded";
    case Status::no_solution:
      return "no solution";
  }
  return "no solution";
}

}  // namespace stellwerk::lp
