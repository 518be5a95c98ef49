// Time partitioning.
//
// Problem: the MILP of a whole plan is too large. Idea: cut time into rounds of a few epochs. Each
// round's MILP starts from what every node holds and what is still on the links, and maximises
// progress: deliveries, earlier ones worth more, plus gamma / (1 + distance) for a copy that comes
// nearer to a destination that wants it. Chunks still in flight at the end of a round are carried
// into the next; demands that are met leave. When the rest fits into one round, it is solved for
// its shortest horizon. A greedy completion on the grid is every round's starting solution, and
// finishes the plan if the time runs out, so that a plan always comes out where every demand can be
// reached. Between rounds the state is all that counts: capacities may change, links fail, jobs
// arrive (the on-line planner). Guarantee: valid and complete; never shorter than the optimum of
// the grid. Paper: Liu et al., SIGCOMM 2024, section 5. Held to its word by: plan/rounds_test.cpp,
// tests/conformance.
#include "stellwerk/plan/rounds.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "stellwerk/plan/epoch_model.hpp"
#include "stellwerk/plan/passing.hpp"
#include "stellwerk/plan/reversal.hpp"

namespace stellwerk {
namespace {

/// A round with more entry variables than this takes minutes.
constexpr std::int64_t kColumnsPerRound = 12000;
constexpr int kMostRoundEpochs = 64;
/// A round of the shortest useful length whose model is larger than this is left to the greedy completion.
constexpr std::int64_t kMostColumns = 400'000;
constexpr int kMostEpochs = 20'000;

class Rounds {
 public:
  Rounds(const Problem& problem, const EpochGrid& grid, const PlanOptions& options,
         PlannerContext& context)
      : problem_(problem),
        grid_(grid),
        options_(options),
        context_(context),
        state_(initial_state(problem, grid)) {
    for (const LinkId link : problem.topology.link_ids()) {
      for (const Chunk& chunk : problem.chunks)
        tail_ = std::max(tail_, grid.transit(link, chunk.bytes));
    }
    const bool switches =
        std::any_of(problem.topology.nodes().begin(), problem.topology.nodes().end(),
                    [](const Node& node) { return !node.stores(); });
    if (switches) tail_ *= 2;
    epochs_ = options.round_epochs > 0 ? options.round_epochs : comfortable_round();
  }

  /// All entries, in epochs from the beginning; empty when some demand cannot be reached.
  std::vector<EpochEntry> run() {
    while (open()) {
      const int left = least_horizon(problem_, grid_, state_);
      if (left >= kNever) return {};
      std::vector<EpochEntry> greedy = greedy_on_grid(problem_, grid_, state_);
      if (context_.stop.should_stop()) {
        record(greedy);
        return all_;
      }
      if (left <= epochs_ && finish(left, greedy)) return all_;
      const std::vector<EpochEntry> entries = round(left, greedy);
      if (entries.empty() && state_.in_flight.empty() && waiting() == 0) {
        // Nothing useful fits into a round: a longer one will do, or the greedy completion.
        if (epochs_ >= kMostRoundEpochs) {
          record(greedy);
          return all_;
        }
        epochs_ *= 2;
        continue;
      }
      record(entries);
      state_ = advance(problem_, grid_, state_, entries, epochs_);
      now_ += epochs_;
    }
    return all_;
  }

  int rounds() const { return rounds_; }
  int round_epochs() const { return epochs_; }

 private:
  bool open() const {
    return std::any_of(state_.wanted.begin(), state_.wanted.end(),
                       [](const auto& wanted) { return !wanted.empty(); });
  }
  /// Epochs until the next chunk becomes available that is not yet (releases, arrivals).
  int waiting() const {
    int longest = 0;
    for (const auto& holders : state_.holders) {
      for (const EpochHolder& holder : holders) longest = std::max(longest, holder.epoch);
    }
    return longest;
  }

  int comfortable_round() const {
    int epochs = 2;
    while (epochs < kMostRoundEpochs && columns(epochs + 1) <= kColumnsPerRound) ++epochs;
    return std::max(epochs, std::min(2 * tail_, kMostRoundEpochs));
  }
  std::int64_t columns(int epochs) const {
    return static_cast<std::int64_t>(problem_.chunks.size()) *
           static_cast<std::int64_t>(problem_.topology.links().size()) * epochs;
  }

  void record(const std::vector<EpochEntry>& entries) {
    for (EpochEntry entry : entries) {
      entry.epoch += now_;
      all_.push_back(entry);
    }
  }

  lp::SolveOptions solve_options(double seconds) const {
    lp::SolveOptions result;
    result.stop = context_.stop.within(seconds);
    result.threads = options_.threads;
    result.relative_gap = 0.005;
    return result;
  }

  std::vector<EpochEntry> round(int left, const std::vector<EpochEntry>& greedy) {
    ++rounds_;
    if (columns(epochs_ + tail_) > kMostColumns) return first_sends(greedy);
    EpochModelOptions model_options;
    model_options.objective = EpochModelOptions::Objective::progress;
    model_options.all_demands = false;
    model_options.last_entry = epochs_ - 1;
    const EpochModel model(problem_, grid_, state_, epochs_ + tail_, model_options);
    const double remaining_rounds = std::max(1.0, static_cast<double>(left) / epochs_ + 0.5);
    lp::SolveOptions options = solve_options(context_.stop.seconds_left() / remaining_rounds);
    // The greedy completion as far as it fits; whole hops only, since half a way through a switch
    // is none.
    options.hint = model.values(first_sends(greedy));
    context_.report("rounds, epoch " + std::to_string(now_) + ", at least " + std::to_string(left) +
                    " to go");
    const lp::Solution solution = lp::solve(model.model(), options);
    return solution.has_values() ? model.entries(solution.values) : first_sends(greedy);
  }

  /// Entries of sends that leave a storing node within the round, with what follows at switches.
  std::vector<EpochEntry> first_sends(const std::vector<EpochEntry>& entries) const {
    std::vector<EpochEntry> result;
    std::set<std::tuple<ChunkId, NodeId, int>> through;  // at a switch, in an epoch
    std::vector<EpochEntry> ordered = entries;
    std::stable_sort(ordered.begin(), ordered.end(), [&](const EpochEntry& a, const EpochEntry& b) {
      const auto key = [&](const EpochEntry& e) {
        return std::pair(e.epoch, !problem_.topology.stores(problem_.topology.link(e.link).from));
      };
      return key(a) < key(b);
    });
    for (const EpochEntry& entry : ordered) {
      const Link& link = problem_.topology.link(entry.link);
      const bool first = problem_.topology.stores(link.from);
      if (first ? entry.epoch >= epochs_ : !through.contains({entry.chunk, link.from, entry.epoch}))
        continue;
      result.push_back(entry);
      if (!problem_.topology.stores(link.to)) {
        through.emplace(entry.chunk, link.to, entry.epoch + grid_.latency(entry.link));
      }
    }
    return result;
  }

  /// Solves the rest for its shortest horizon within a round; true when done.
  bool finish(int left, const std::vector<EpochEntry>& greedy) {
    for (int horizon = left; horizon <= epochs_ && !context_.stop.should_stop(); ++horizon) {
      if (completion_epoch(problem_, grid_, state_, greedy) <= horizon) {
        record(greedy);
        return true;
      }
      if (count_entries(problem_, grid_, state_, horizon) > kMostColumns) return false;
      const EpochModel model(problem_, grid_, state_, horizon, {});
      if (!model.reachable()) continue;
      context_.report("rounds, the last " + std::to_string(horizon) + " epochs");
      const lp::Solution solution =
          lp::solve(model.model(), solve_options(context_.stop.seconds_left() / 3));
      if (!solution.has_values()) continue;
      record(model.entries(solution.values));
      return true;
    }
    return false;
  }

  const Problem& problem_;
  const EpochGrid& grid_;
  const PlanOptions& options_;
  PlannerContext& context_;
  EpochState state_;
  int epochs_ = 1;
  int tail_ = 1;
  int now_ = 0;
  int rounds_ = 0;
  std::vector<EpochEntry> all_;
};

struct Part {
  bool solved = false;
  Schedule sends;  ///< may be empty when nothing is wanted
  EpochRecord epoch;
  std::string message = "some demand cannot be reached on the grid";  ///< why it is not solved
};

Part solve_part(const Problem& problem, const PlanOptions& options, PlannerContext& context) {
  Part part;
  if (problem.chunks.empty()) {
    part.solved = true;
    return part;
  }
  EpochChoice choice = options.epoch;
  if (choice.kind == EpochChoice::Kind::automatic) choice.kind = EpochChoice::Kind::slowest;
  const EpochGrid grid(problem, epoch_duration(problem, choice));
  const EpochState start = initial_state(problem, grid);
  part.epoch = {grid.duration(), 0, least_horizon(problem, grid, start)};
  if (part.epoch.proven_epochs > kMostEpochs && part.epoch.proven_epochs < kNever) {
    part.message = "a plan takes at least " + std::to_string(part.epoch.proven_epochs) +
                   " epochs of " + to_string(grid.duration()) + ": choose longer epochs";
    return part;
  }
  const std::vector<EpochEntry> entries = rounds_on_grid(problem, grid, options, context);
  const int epochs = completion_epoch(problem, grid, start, entries);
  part.solved = epochs < kNever;
  if (!part.solved) return part;
  part.epoch.epochs = epochs;
  part.sends = entries_to_plan(problem, grid, start, entries, context.stop);
  return part;
}

}  // namespace

std::vector<EpochEntry> rounds_on_grid(const Problem& problem, const EpochGrid& grid,
                                       const PlanOptions& options, PlannerContext& context) {
  return Rounds(problem, grid, options, context).run();
}

PlannerOutcome plan_rounds(const Problem& problem, const PlanOptions& options,
                           PlannerContext& context) {
  PlannerOutcome outcome;
  if (has_buffer_limits(problem.topology) || !options.store) {
    outcome.termination.reason = Termination::Reason::unsupported;
    outcome.message = options.store ? "rounds do not model transit buffers: use milp or search"
                                    : "rounds store at relays: drop --no-store or use milp";
    return outcome;
  }
  bool solved = false;
  if (!has_reductions(problem)) {
    Part part = solve_part(problem, options, context);
    solved = part.solved;
    outcome.sends = std::move(part.sends);
    outcome.epoch = part.epoch;
    outcome.message = part.message;
  } else {
    const ReductionSplit split = split_reductions(problem);
    const bool both = !split.collect.chunks.empty() && !split.spread.chunks.empty();
    PlannerContext half = context;
    if (both) half.stop = context.stop.within(context.stop.seconds_left() / 2);
    const Part collect = solve_part(split.collect, options, half);
    half.stop = context.stop;
    const Part spread = solve_part(split.spread, options, half);
    solved = collect.solved && spread.solved;
    outcome.message = collect.solved ? spread.message : collect.message;
    if (solved)
      outcome.sends = join_and_polish(problem, split, collect.sends, spread.sends, context.stop);
    if (!both) outcome.epoch = split.spread.chunks.empty() ? collect.epoch : spread.epoch;
  }
  outcome.termination = {solved ? Termination::Reason::feasible : Termination::Reason::no_solution,
                         context.stop.reached()};
  if (solved) outcome.message.clear();
  return outcome;
}

}  // namespace stellwerk
