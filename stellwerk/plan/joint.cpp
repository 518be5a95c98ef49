// Joint planning of several jobs.
//
// Problem. Jobs with releases and weights share links. Every job has a good plan alone; put them
// together such that the makespan, the weighted sum of completions or the largest slowdown is small.
//
// Idea. The trees of the alone plans stay, only time is shared: a graph of sends (send_graph.hpp) is
// list-scheduled with interruptions (keyed_schedule.hpp). What matters is who goes first on a link,
// and one number a job says it: its deadline d. A send's key is d - (the longest chain from its
// start to the end of its job): how long it can wait if the job is to meet d. Rules give deadlines:
//  - EDF: release + lambda * time alone, for several lambdas; optimal for slowdowns on one machine
//    if lambda is the least feasible one (Horn 1974);
//  - Smith: one job after the other by time alone / weight (Smith 1956), newcomers interrupt;
//  - tail: the same deadline for all: the longest rest first, for the makespan.
// Then a search disturbs deadlines, those of the jobs that decide the value more often, and keeps
// what is no worse. Interruption is what counts for weighted sums and slowdowns (5 to 160% against
// whole sends in experiments), so searches interrupt; rules are tried both ways.
// Further candidates: the FIFO and the fair overlay, jobs one after the other, and (makespan, small)
// the insertion of all chunks' trees around each other by the planner `search`. If alone plans lead
// over the GPUs of others, all of it is tried with plans that do not, too: borrowed NICs are no gain
// when their owners are busy.
//
// Guarantee. Never worse than the overlays, since they are candidates and their pieces are plans;
// re-timing at the end makes no send later. Rules use arrivals of the past only (but for
// `sequential`), so they would do on line. Cost: a candidate is a run of the list scheduler; how
// many follows from the number of sends, not from the clock, so runs can be repeated.
// Test: joint_test.cpp. Figures: docs/benchmarks.md.
#include "stellwerk/plan/joint.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/wide.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/plan/finish_times.hpp"
#include "stellwerk/plan/keyed_schedule.hpp"
#include "stellwerk/plan/overlay.hpp"
#include "stellwerk/plan/search.hpp"
#include "stellwerk/plan/send_graph.hpp"

namespace stellwerk {
namespace {

/// Tasks that all rules, and all steps of the search, schedule in sum.
constexpr std::size_t kRuleTasks = 600'000;
constexpr std::size_t kSearchTasks = 500'000;
constexpr int kSearchSteps = 250;
/// Sends up to which the result is re-timed.
constexpr std::size_t kMostRetimed = 60'000;
/// Up to which all trees are inserted anew.
constexpr std::size_t kMostInserted = 50'000;  // chunks times links

/// A deadline a job.
using Deadlines = std::vector<std::int64_t>;

/// Smaller is better: the objective, then the weighted sum of completions.
using Value = std::pair<std::int64_t, Int128>;

class JointSearch {
 public:
  JointSearch(const Problem& problem, const AlonePlans& alone, const JointOptions& options,
              PlannerContext& context)
      : problem_(problem), alone_(alone), options_(options), context_(context) {
    for (const AlonePlan& plan : alone.best) length_.push_back(std::max(plan.length, Time{1}));
    add_graph(alone.best);
    const bool all_members = std::all_of(alone.members.begin(), alone.members.end(),
                                         [](const AlonePlan& plan) { return !plan.sends.empty(); });
    if (alone.relays_help && all_members) add_graph(alone.members);
  }

  JointPlan run() {
    overlays();
    sequential();
    rules();
    if (!options_.quick) search();
    insertion();
    return finish();
  }

 private:
  struct Graph {
    std::unique_ptr<SendGraph> sends;
    std::vector<std::int64_t> tails;
  };
  struct Best {
    Value value;
    std::string name;
    std::vector<Time> job_finish;
    const Graph* graph = nullptr;  ///< of the pieces; null: `sends` are complete
    std::vector<TaskPiece> pieces;
    Schedule sends;
  };
  /// The best deadlines so far, where the search begins.
  struct Start {
    Value value;
    const Graph* graph = nullptr;
    Deadlines deadlines;
    std::vector<Time> job_finish;
  };

  void add_graph(const std::vector<AlonePlan>& plans) {
    std::vector<Schedule> schedules;
    for (const AlonePlan& plan : plans) schedules.push_back(plan.sends);
    Graph graph{std::make_unique<SendGraph>(problem_, schedules), {}};
    for (const Time tail : graph.sends->tails()) graph.tails.push_back(tail.ps);
    graphs_.push_back(std::move(graph));
  }

  std::size_t tasks() const { return std::max<std::size_t>(1, graphs_.front().sends->size()); }
  bool stopped() const { return best_ && context_.stop.should_stop(); }

  Value value_of(const std::vector<Time>& finish) const {
    Int128 weighted = 0;
    for (std::size_t j = 0; j < finish.size(); ++j) {
      weighted += Int128{problem_.jobs[j].weight} * finish[j].ps;
    }
    return {objective_value(options_.objective, problem_.jobs, finish, length_), weighted};
  }

  void offer(const std::string& name, const Graph* graph, std::vector<TaskPiece> pieces,
             Schedule sends, std::vector<Time> finish) {
    const Value value = value_of(finish);
    const auto known = std::find_if(tried_.begin(), tried_.end(),
                                    [&](const JointCandidate& c) { return c.name == name; });
    if (known == tried_.end()) {
      tried_.push_back({name, value.first});
    } else {
      known->value = std::min(known->value, value.first);
    }
    if (best_ && value >= best_->value) return;
    best_ = Best{value, name, std::move(finish), graph, std::move(pieces), std::move(sends)};
    if (options_.objective == Objective::makespan) {
      context_.report("joint, " + name, Time{value.first});
    }
  }

  void overlays() {
    for (const Graph& graph : graphs_) {
      GraphSchedule fifo = overlay_fifo(*graph.sends, context_.stop);
      if (fifo.complete) offer("fifo", &graph, std::move(fifo.pieces), {}, fifo.job_finish);
      if (!options_.fair) continue;
      GraphSchedule fair = overlay_fair(*graph.sends, context_.stop);
      if (fair.complete) offer("fair", &graph, std::move(fair.pieces), {}, fair.job_finish);
    }
  }

  /// Jobs one after the other: by release, and by time alone / weight.
  void sequential() {
    if (tasks() > kMostRetimed) return;
    std::vector<Time> own;
    for (std::size_t j = 0; j < length_.size(); ++j) own.push_back(length_of(j));
    for (const bool smith : {false, true}) {
      if (stopped()) return;
      std::vector<std::size_t> order(length_.size());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return smith ? smith_before(a, b) : problem_.jobs[a].start < problem_.jobs[b].start;
      });
      Schedule sends;
      std::vector<Time> finish(length_.size());
      Time free;
      for (const std::size_t j : order) {
        const Time start = std::max(free, problem_.jobs[j].start);
        for (Send send : alone_.best[j].sends) {
          send.start += start;
          sends.push_back(std::move(send));
        }
        free = finish[j] = start + own[j];
      }
      offer("sequential", nullptr, {}, std::move(sends), std::move(finish));
    }
  }

  /// How long the sends of a job's plan take, as planned.
  Time length_of(std::size_t job) const {
    Time last;
    for (const Send& send : alone_.best[job].sends) {
      const SendTiming when = timing(problem_.topology, send);
      for (const Time arrival : when.arrival) last = std::max(last, send.start + arrival);
    }
    return last;
  }

  bool smith_before(std::size_t a, std::size_t b) const {
    return Int128{length_[a].ps} * problem_.jobs[b].weight <
           Int128{length_[b].ps} * problem_.jobs[a].weight;
  }

  // --- Rules ---

  Deadlines edf(std::int64_t tenths) const {
    Deadlines result;
    for (std::size_t j = 0; j < length_.size(); ++j) {
      result.push_back(problem_.jobs[j].start.ps + length_[j].ps / 10 * tenths);
    }
    return result;
  }

  /// So far apart that a job's sends come before all of the next.
  Deadlines smith() const {
    std::vector<std::size_t> order(length_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return smith_before(a, b); });
    std::int64_t longest = 1;
    for (const Graph& graph : graphs_) {
      for (const std::int64_t tail : graph.tails) longest = std::max(longest, tail);
    }
    Deadlines result(length_.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
      result[order[k]] = static_cast<std::int64_t>(k + 1) * longest;
    }
    return result;
  }

  void rules() {
    struct Rule {
      std::string name;
      Deadlines deadlines;
    };
    std::vector<Rule> rules;
    const auto add_edf = [&](std::initializer_list<int> tenths) {
      for (const int t : tenths) {
        rules.push_back({"edf " + std::to_string(t / 10) + "." + std::to_string(t % 10), edf(t)});
      }
    };
    switch (options_.objective) {
      case Objective::makespan:
        rules.push_back({"tail", Deadlines(length_.size(), 0)});
        add_edf({10, 12, 16, 22, 5, 2, 32, 50});
        break;
      case Objective::weighted:
        add_edf({12});
        rules.push_back({"smith", smith()});
        add_edf({16, 22, 10, 32, 50});
        break;
      case Objective::slowdown:
        add_edf({12, 16, 20, 14, 26, 32, 10, 50});
        rules.push_back({"smith", smith()});
        break;
    }
    std::size_t work = 0;
    for (const Rule& rule : rules) {
      for (const Graph& graph : graphs_) {
        for (const bool interrupt : {true, false}) {
          // Where there are many sends, only what has proved best.
          if (!interrupt && tasks() > kMostRetimed) continue;
          if (work > kRuleTasks || stopped()) return;
          work += tasks();
          try_deadlines(rule.name + (interrupt ? "" : ", whole"), graph, rule.deadlines, interrupt);
        }
      }
    }
  }

  /// Schedules by deadlines; true if the search should go on from there.
  bool try_deadlines(const std::string& name, const Graph& graph, const Deadlines& deadlines,
                     bool interrupt) {
    std::vector<std::int64_t> keys(graph.tails.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const JobId job = graph.sends->task(static_cast<SendGraph::TaskId>(i)).job;
      keys[i] = deadlines[job.index()] - graph.tails[i];
    }
    GraphSchedule schedule =
        keyed_schedule(*graph.sends, {ranks_of(keys), interrupt, false}, context_.stop);
    if (!schedule.complete) return false;
    const Value value = value_of(schedule.job_finish);
    const bool better = interrupt && (start_.graph == nullptr || value <= start_.value);
    if (better) start_ = {value, &graph, deadlines, schedule.job_finish};
    offer(name, &graph, std::move(schedule.pieces), {}, std::move(schedule.job_finish));
    return better;
  }

  // --- Search ---

  /// The job that decides the value, as things stand.
  std::size_t critical(const std::vector<Time>& finish) const {
    std::size_t worst = 0;
    const auto badness = [&](std::size_t j) {
      return options_.objective == Objective::slowdown
                 ? slowdown_of(problem_.jobs[j], finish[j], length_[j], true)
                 : finish[j].ps;
    };
    for (std::size_t j = 1; j < finish.size(); ++j) {
      if (badness(j) > badness(worst)) worst = j;
    }
    return worst;
  }

  void search() {
    if (start_.graph == nullptr) return;
    Rng rng(options_.seed);
    const std::size_t jobs = length_.size();
    const int steps = static_cast<int>(std::min<std::size_t>(kSearchSteps, kSearchTasks / tasks()));
    for (int step = 0; step < steps && !stopped(); ++step) {
      Deadlines next = start_.deadlines;
      const bool decisive = options_.objective != Objective::weighted && rng.below(2) == 0;
      const std::size_t job = decisive ? critical(start_.job_finish) : rng.below(jobs);
      const std::size_t other = rng.below(jobs);
      const std::int64_t length = length_[job].ps;
      switch (rng.below(4)) {
        case 0:
          std::swap(next[job], next[other]);
          break;
        case 1:  // just before another job
          next[job] = next[other] - 1 - rng.between(0, length);
          break;
        case 2:
          next[job] -= rng.between(1, length);
          break;
        default:
          next[job] += rng.between(1, length);
          break;
      }
      const Graph& graph = graphs_.size() > 1 && rng.below(8) == 0
                               ? graphs_[rng.below(graphs_.size())]
                               : *start_.graph;
      try_deadlines("search", graph, next, true);
    }
  }

  /// All chunks' trees anew, around each other.
  void insertion() {
    const std::size_t size = problem_.chunks.size() * problem_.topology.links().size();
    if (options_.objective != Objective::makespan || size > kMostInserted || stopped()) return;
    PlanOptions options;
    options.quick = true;
    options.seed = options_.seed;
    PlannerContext own;
    own.stop = context_.stop.within(context_.stop.seconds_left() / 2);
    own.rng = Rng(options_.seed);
    own.bound = context_.bound;
    PlannerOutcome outcome = plan_search(problem_, options, own);
    if (!outcome.has_plan()) return;
    std::vector<Time> finish = finish_times(problem_, outcome.sends);
    offer("insertion", nullptr, {}, std::move(outcome.sends), std::move(finish));
  }

  JointPlan finish() {
    JointPlan result;
    result.tasks = tasks();
    result.tried = std::move(tried_);
    if (!best_) return result;
    result.winner = best_->name;
    if (best_->graph != nullptr) {
      GraphSchedule schedule;
      schedule.pieces = std::move(best_->pieces);
      result.sends = sends_of(*best_->graph->sends, schedule);
    } else {
      result.sends = std::move(best_->sends);
    }
    if (result.sends.size() <= kMostRetimed && !stopped()) {
      result.sends = simulate(problem_, result.sends).sends;
    }
    sort_sends(problem_.topology, result.sends);
    result.job_finish = finish_times(problem_, result.sends);
    result.value = value_of(result.job_finish).first;
    return result;
  }

  const Problem& problem_;
  const AlonePlans& alone_;
  const JointOptions& options_;
  PlannerContext& context_;
  std::vector<Time> length_;  // of each job's plan alone
  std::vector<Graph> graphs_;
  std::optional<Best> best_;
  Start start_;
  std::vector<JointCandidate> tried_;
};

}  // namespace

JointPlan plan_jobs(const Problem& problem, const AlonePlans& alone, const JointOptions& options,
                    PlannerContext& context) {
  return JointSearch(problem, alone, options, context).run();
}

PlannerOutcome plan_joint(const Problem& problem, const PlanOptions& options,
                          PlannerContext& context) {
  PlannerOutcome outcome;
  outcome.termination.reason = Termination::Reason::unsupported;
  outcome.message = graph_objection(problem.topology);
  if (!outcome.message.empty()) return outcome;
  try {
    const AlonePlans alone = plan_alone(problem, options, context);
    JointOptions joint;
    joint.objective = options.objective;
    joint.seed = options.seed;
    joint.quick = options.quick;
    JointPlan plan = plan_jobs(problem, alone, joint, context);
    if (plan.winner.empty()) {
      outcome.termination = {Termination::Reason::no_solution, context.stop.reached()};
      outcome.message = "a limit came before the first schedule of all jobs";
      return outcome;
    }
    outcome.sends = std::move(plan.sends);
    outcome.termination = {Termination::Reason::feasible, context.stop.reached()};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsolved) throw;
    outcome.message = error.what();
  }
  return outcome;
}

}  // namespace stellwerk
