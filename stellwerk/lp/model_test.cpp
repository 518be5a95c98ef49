#include "stellwerk/lp/model.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/rng.hpp"

namespace stellwerk::lp {
namespace {

Row add(Model& model, double lower, double upper, std::vector<Term> terms, std::string name = "") {
  return model.add_row(lower, upper, terms, std::move(name));
}

// max 3x + 5y, x <= 4, 2y <= 12, 3x + 2y <= 18: the textbook's x = 2, y = 6, 36, prices 0, 1.5, 1.
Model textbook() {
  Model model;
  model.sense = Sense::maximise;
  const Variable x = model.add_variable(0, kInfinity, 3, false, "x");
  const Variable y = model.add_variable(0, kInfinity, 5, false, "y");
  add(model, -kInfinity, 4, {{x, 1}});
  add(model, -kInfinity, 12, {{y, 2}});
  add(model, -kInfinity, 18, {{x, 3}, {y, 2}});
  return model;
}

// A knapsack whose relaxation is fractional, and its optimum by brute force.
Model knapsack(std::size_t items, std::uint64_t seed, double& best) {
  Rng rng(seed);
  std::vector<std::int64_t> weight, value;
  std::int64_t room = 0;
  for (std::size_t i = 0; i < items; ++i) {
    weight.push_back(rng.between(5, 40));
    value.push_back(rng.between(5, 40));
    room += weight.back();
  }
  room /= 2;
  Model model;
  model.sense = Sense::maximise;
  std::vector<Term> terms;
  for (std::size_t i = 0; i < items; ++i) {
    terms.push_back(
        {model.add_binary(static_cast<double>(value[i])), static_cast<double>(weight[i])});
  }
  model.add_row(-kInfinity, static_cast<double>(room), terms);
  std::int64_t most = 0;
  for (std::size_t set = 0; set < (std::size_t{1} << items); ++set) {
    std::int64_t w = 0, v = 0;
    for (std::size_t i = 0; i < items; ++i) {
      if (set >> i & 1) {
        w += weight[i];
        v += value[i];
      }
    }
    if (w <= room) most = std::max(most, v);
  }
  best = static_cast<double>(most);
  return model;
}

// Market split (Cornuejols, Dawande): tiny, and far too hard to finish: what limits are tested on.
Model market_split(int rows, int columns) {
  Rng rng(7);
  Model model;
  std::vector<Variable> x;
  for (int j = 0; j < columns; ++j) x.push_back(model.add_binary());
  for (int i = 0; i < rows; ++i) {
    std::vector<Term> terms;
    double sum = 0;
    for (const Variable v : x) {
      const auto a = static_cast<double>(rng.between(0, 99));
      terms.push_back({v, a});
      sum += a;
    }
    terms.push_back({model.add_variable(0, kInfinity, 1), 1});
    terms.push_back({model.add_variable(0, kInfinity, 1), -1});
    const double half = std::floor(sum / 2);
    model.add_row(half, half, terms);
  }
  return model;
}

struct TemporaryFile {
  explicit TemporaryFile(const std::string& name)
      : path((std::filesystem::temp_directory_path() /
              (std::to_string(::testing::UnitTest::GetInstance()->random_seed()) + "-" +
               std::to_string(std::chrono::steady_clock::now().time_since_epoch().count()) + name))
                 .string()) {}
  ~TemporaryFile() { std::filesystem::remove(path); }
  void write(const std::string& text) const { std::ofstream(path) << text; }
  std::string path;
};

class EveryMethod : public ::testing::TestWithParam<Method> {};

TEST_P(EveryMethod, SolvesTheTextbookLp) {
  SolveOptions options;
  options.method = GetParam();
  const Solution solution = solve(textbook(), options);
  EXPECT_EQ(solution.status, Status::optimal);
  EXPECT_EQ(solution.limit, Limit::none);
  EXPECT_NEAR(solution.objective, 36, 1e-2);
  ASSERT_TRUE(solution.has_values());
  EXPECT_NEAR(solution.values[0], 2, 1e-2);
  EXPECT_NEAR(solution.values[1], 6, 1e-2);
  if (GetParam() == Method::first_order) {
    EXPECT_TRUE(solution.row_duals.empty());
  } else {
    ASSERT_EQ(solution.row_duals.size(), 3u);
    EXPECT_NEAR(solution.row_duals[0], 0, 1e-4);
    EXPECT_NEAR(solution.row_duals[1], 1.5, 1e-4);
    EXPECT_NEAR(solution.row_duals[2], 1, 1e-4);
  }
}

TEST_P(EveryMethod, ReportsInfeasible) {
  Model model;
  const Variable x = model.add_variable(0, 10, 1);
  const Variable y = model.add_variable(0, 10, 1);
  add(model, 5, kInfinity, {{x, 1}, {y, 1}});
  add(model, -kInfinity, 3, {{x, 1}, {y, 2}});
  add(model, 1, kInfinity, {{y, 1}, {x, -1}});
  SolveOptions options;
  options.method = GetParam();
  EXPECT_EQ(solve(model, options).status, Status::infeasible);
}

TEST_P(EveryMethod, NeverPrints) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  SolveOptions options;
  options.method = GetParam();
  solve(textbook(), options);
  double best = 0;
  solve(knapsack(10, 3, best), options);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

INSTANTIATE_TEST_SUITE_P(Lp, EveryMethod,
                         ::testing::Values(Method::automatic, Method::simplex,
                                           Method::interior_point,
                                           Method::interior_point_no_crossover,
                                           Method::first_order));

TEST(Lp, DualsOfMinimisationAreThePriceOfTheRightHandSide) {
  // min 2x + 3y with x + y >= 10, x <= 6: x = 6, y = 4. One more unit of demand costs 3, one more
  // of x saves 1.
  Model model;
  const Variable x = model.add_variable(0, kInfinity, 2);
  const Variable y = model.add_variable(0, kInfinity, 3);
  add(model, 10, kInfinity, {{x, 1}, {y, 1}});
  add(model, -kInfinity, 6, {{x, 1}});
  const Solution solution = solve(model);
  EXPECT_NEAR(solution.objective, 24, 1e-6);
  EXPECT_NEAR(solution.bound, 24, 1e-6);
  ASSERT_EQ(solution.row_duals.size(), 2u);
  EXPECT_NEAR(solution.row_duals[0], 3, 1e-6);
  EXPECT_NEAR(solution.row_duals[1], -1, 1e-6);
}

TEST(Lp, ReportsUnbounded) {
  Model model;
  model.sense = Sense::maximise;
  const Variable x = model.add_variable(0, kInfinity, 1);
  const Variable y = model.add_variable(0, kInfinity, 0);
  add(model, -kInfinity, 1, {{x, 1}, {y, -1}});
  EXPECT_EQ(solve(model).status, Status::unbounded);
}

TEST(Lp, ReportsUnboundedIntegers) {
  Model model;
  model.sense = Sense::maximise;
  const Variable x = model.add_variable(0, kInfinity, 1, true);
  const Variable y = model.add_variable(0, kInfinity, 0, true);
  add(model, -kInfinity, 1, {{x, 1}, {y, -1}});
  EXPECT_EQ(solve(model).status, Status::unbounded);
}

TEST(Lp, SumsRepeatedTerms) {
  Model model;
  model.sense = Sense::maximise;
  const Variable x = model.add_variable(0, kInfinity, 1);
  const Variable y = model.add_variable(0, 1, 3);
  add(model, -kInfinity, 12, {{y, 2}, {x, 1}, {y, 4}, {x, 2}});
  EXPECT_EQ(model.nonzeros(), 2u);
  EXPECT_NEAR(solve(model).objective, 5, 1e-6);  // 3x + 6y <= 12: y = 1, x = 2
}

TEST(Mip, MatchesBruteForceOnKnapsacks) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    double best = 0;
    const Model model = knapsack(12, seed, best);
    const Solution solution = solve(model);
    ASSERT_EQ(solution.status, Status::optimal) << seed;
    EXPECT_EQ(solution.objective, best) << seed;
    EXPECT_NEAR(solution.bound, best, 1e-6) << seed;
    EXPECT_TRUE(solution.row_duals.empty());
    for (const double value : solution.values) EXPECT_TRUE(value == 0 || value == 1);
    SolveOptions relaxed;
    relaxed.relax = true;
    EXPECT_GE(solve(model, relaxed).objective, best - 1e-6);
  }
}

TEST(Mip, MixesIntegersAndContinuous) {
  // min 10n + y, y >= 7.5 - 3n: n = 0: 7.5; n = 1: 14.5. With y <= 2 instead: n = 2, y = 1.5.
  Model model;
  const Variable n = model.add_variable(0, 100, 10, true);
  const Variable y = model.add_variable(0, kInfinity, 1);
  add(model, 7.5, kInfinity, {{n, 3}, {y, 1}});
  EXPECT_NEAR(solve(model).objective, 7.5, 1e-6);
  model.set_bounds(y, 0, 2);
  const Solution solution = solve(model);
  EXPECT_EQ(solution.values[0], 2);
  EXPECT_NEAR(solution.objective, 21.5, 1e-6);
}

TEST(Mip, RoundsFractionalBounds) {
  Model model;
  model.sense = Sense::maximise;
  const Variable x = model.add_variable(0.5, 3.7, 1, true);
  const Variable y = model.add_variable(-2.5, 2.5, 1, true);
  add(model, -kInfinity, 100, {{x, 1}, {y, 1}});
  const Solution solution = solve(model);
  EXPECT_EQ(solution.values[0], 3);
  EXPECT_EQ(solution.values[1], 2);
  model.set_bounds(x, 0.2, 0.8);  // no integer between
  EXPECT_EQ(solve(model).status, Status::infeasible);
  SolveOptions relaxed;
  relaxed.relax = true;
  EXPECT_NEAR(solve(model, relaxed).objective, 3.3, 1e-6);
}

TEST(Mip, StopsAtTheGap) {
  double best = 0;
  const Model model = knapsack(16, 5, best);
  SolveOptions options;
  options.relative_gap = 0.5;
  const Solution solution = solve(model, options);
  EXPECT_EQ(solution.status, Status::optimal);
  EXPECT_GE(solution.objective * 1.5 + 1e-6, solution.bound);
  EXPECT_GE(solution.bound + 1e-6, best);
  EXPECT_LE(solution.objective, best);
}

TEST(Trivial, EmptyModels) {
  EXPECT_EQ(solve(Model()).status, Status::optimal);
  Model model;
  add(model, -1, 1, {});
  EXPECT_EQ(solve(model).status, Status::optimal);
  add(model, 1, 2, {});
  EXPECT_EQ(solve(model).status, Status::infeasible);

  Model no_rows;
  no_rows.add_variable(-3, 5, 2);
  no_rows.add_variable(-3, 5, -1);
  no_rows.add_variable(1.5, 5, 0, true);
  const Solution solution = solve(no_rows);
  EXPECT_EQ(solution.status, Status::optimal);
  EXPECT_EQ(solution.values, (std::vector<double>{-3, 5, 2}));
  EXPECT_EQ(solution.objective, -11);
  no_rows.add_variable(0, kInfinity, -1);
  EXPECT_EQ(solve(no_rows).status, Status::unbounded);
}

TEST(Trivial, CrossedBoundsAreInfeasible) {
  Model model = textbook();
  model.set_bounds(0, 3, 2);
  EXPECT_EQ(solve(model).status, Status::infeasible);
  model.set_bounds(0, 0, 5);
  EXPECT_EQ(solve(model).status, Status::optimal);
  model.set_row_bounds(1, 4, 3);
  EXPECT_EQ(solve(model).status, Status::infeasible);
}

TEST(Trivial, RefusesNotANumber) {
  Model model = textbook();
  model.set_cost(0, std::nan(""));
  EXPECT_THROW(solve(model), Error);
}

TEST(Limits, TimeZero) {
  SolveOptions options;
  options.stop = StopCondition(0);
  const Solution solution = solve(textbook(), options);
  EXPECT_EQ(solution.status, Status::no_solution);
  EXPECT_EQ(solution.limit, Limit::time);
  EXPECT_FALSE(solution.has_values());
}

TEST(Limits, TimeZeroReturnsAValidHintOnly) {
  double best = 0;
  const Model model = knapsack(10, 1, best);
  SolveOptions options;
  options.stop = StopCondition(0);
  options.hint.assign(10, 0.0);
  options.hint[3] = 1;
  Solution solution = solve(model, options);
  EXPECT_EQ(solution.status, Status::feasible);
  EXPECT_EQ(solution.limit, Limit::time);
  EXPECT_EQ(solution.values, options.hint);
  options.hint.assign(10, 1.0);  // too heavy
  solution = solve(model, options);
  EXPECT_EQ(solution.status, Status::no_solution);
  options.hint.pop_back();
  EXPECT_THROW(solve(model, options), Error);
}

TEST(Limits, TimeStopsAHardModelWithASolution) {
  SolveOptions options;
  options.stop = StopCondition(0.5);
  int reports = 0;
  options.on_progress = [&](double, double) { ++reports; };
  const auto start = std::chrono::steady_clock::now();
  const Solution solution = solve(market_split(5, 40), options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(solution.limit, Limit::time);
  EXPECT_EQ(solution.status, Status::feasible);
  EXPECT_GE(solution.objective, solution.bound - 1e-6);
  EXPECT_LT(took.count(), 20);
  EXPECT_GT(reports, 0);
}

TEST(Limits, MemoryInterruptsInsideTheSolver) {
  SolveOptions options;
  options.stop = StopCondition(60, 1);  // one byte: reached at the first poll
  EXPECT_EQ(solve(market_split(5, 40), options).limit, Limit::memory);
}

// Interruption cannot be undone in a process, so it happens in a child.
TEST(LimitsDeathTest, InterruptIsReported) {
  const auto interrupted_solve = [] {
    std::thread later([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      StopCondition::interrupt_now();
    });
    const Solution solution = solve(market_split(5, 40));
    later.join();
    std::_Exit(solution.limit == Limit::interrupt && solution.status == Status::feasible ? 0 : 1);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(interrupted_solve(), ::testing::ExitedWithCode(0), "");
}

TEST(Hint, IsUsed) {
  // The hint is optimal; the solver must not return worse even when stopped at once after taking
  // it.
  double best = 0;
  const Model model = knapsack(14, 9, best);
  const Solution first = solve(model);
  SolveOptions options;
  options.hint = first.values;
  const Solution second = solve(model, options);
  EXPECT_EQ(second.status, Status::optimal);
  EXPECT_EQ(second.objective, best);
}

TEST(Files, ExportedModelsCarryNamesAndRefuseOtherEndings) {
  Model model;
  model.sense = Sense::maximise;
  const Variable n = model.add_variable(0, 9, 1, true, "ship[1,2]");
  const Variable y = model.add_variable(0, kInfinity, 1);
  add(model, -kInfinity, 10.5, {{n, 2}, {y, 1}}, "room");
  for (const std::string ending : {".mps", ".lp"}) {
    const TemporaryFile file("model" + ending);
    write_model(model, file.path);
    std::ifstream in(file.path);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    EXPECT_NE(text.find("ship_1_2_"), std::string::npos) << ending;
    EXPECT_NE(text.find("x1"), std::string::npos) << ending;
    EXPECT_NE(text.find("room"), std::string::npos) << ending;
  }
  EXPECT_THROW(write_model(model, "model.txt"), Error);
  EXPECT_THROW(write_model(model, "/nonexistent-folder/model.mps"), Error);
}

TEST(Files, ExportedModelsReadBackTheSame) {
  for (const std::string ending : {".mps", ".lp"}) {
    double best = 0;
    Model model = knapsack(12, 4, best);
    const Variable y = model.add_variable(-2, kInfinity, 0.5);
    add(model, 1, 3, {{y, 1}, {0, -1}}, "ranged");
    add(model, 2, 2, {{y, 1}}, "fixed");
    const TemporaryFile file("model" + ending);
    write_model(model, file.path);
    const Model copy = read_model(file.path);
    EXPECT_EQ(copy.sense, model.sense) << ending;
    ASSERT_EQ(copy.variables(), model.variables()) << ending;
    if (ending == ".mps") {  // .lp writes a row with two sides as two rows
      EXPECT_EQ(copy.rows(), model.rows());
      EXPECT_EQ(copy.nonzeros(), model.nonzeros());
    }
    EXPECT_EQ(copy.integers(), model.integers()) << ending;
    EXPECT_EQ(solve(copy).objective, solve(model).objective) << ending;
  }
  EXPECT_THROW(read_model("/nonexistent.mps"), Error);
}

TEST(Files, ReadsSolutionsOfHighsCbcAndScip) {
  Model model;
  model.add_variable(0, 9, 1, true, "ship[1,2]");
  model.add_variable(0, kInfinity, 1);
  model.add_variable(0, kInfinity, 1, false, "e9");
  const std::vector<double> expected{4, 2.5, 0};
  {
    const TemporaryFile file("highs.sol");
    file.write(
        "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 6.5\n# Columns 3\n"
        "ship_1_2_ 4\nx1 2.5\nv_e9 0\n# Rows 1\nc0 10.5\n\n# Dual solution values\nFeasible\n"
        "# Columns 3\nship_1_2_ 7\nx1 7\nv_e9 7\n# Rows 1\nc0 1\n");
    EXPECT_EQ(read_solution(model, file.path), expected);
  }
  {
    const TemporaryFile file("cbc.sol");
    file.write(
        "Optimal - objective value 6.50000000\n      0 ship_1_2_   4   0\n      1 x1   2.5   "
        "-0.1\n");
    EXPECT_EQ(read_solution(model, file.path), expected);
  }
  {
    const TemporaryFile file("scip.sol");
    file.write(
        "solution status: optimal\nobjective value:   6.5\nship_1_2_      4 \t(obj:1)\nx1  "
        "2.5\t(obj:1)\n");
    EXPECT_EQ(read_solution(model, file.path), expected);
  }
  {
    const TemporaryFile file("bad.sol");
    file.write("objective value: 1\nx1 many\n");
    try {
      read_solution(model, file.path);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unreadable_input);
      EXPECT_NE(std::string(error.what()).find("bad.sol:2"), std::string::npos);
    }
  }
  EXPECT_THROW(read_solution(model, "/nonexistent.sol"), Error);
}

}  // namespace
}  // namespace stellwerk::lp
