// What a planner is: a function from a problem to sends, with declared capabilities, in a visible table.
#pragma once

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stellwerk/base/progress.hpp"
#include "stellwerk/base/rng.hpp"
#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// How an epoch-based planner chooses its grid.
struct EpochChoice {
  enum class Kind : std::uint8_t { automatic, fastest, slowest, multiple, explicit_time };
  Kind kind = Kind::automatic;
  double multiple = 1;  ///< of the fastest link's chunk time
  Time duration;        ///< explicit
};

/// Options that planners share. A planner ignores what it has no use for.
struct PlanOptions {
  EpochChoice epoch;
  double gap = 0.01;  ///< stop when transfer time <= (1 + gap) * bound
  std::uint64_t seed = 1;
  int threads = 1;
  Objective objective = Objective::makespan;  ///< of several jobs; joint
  bool quick = false;                         ///< search: construction passes only
  bool copy = true;   ///< false: no node sends a chunk on more than once (milp, lp)
  bool store = true;  ///< false: a forwarding node sends on at once or never (milp)
  bool weighted_objective =
      false;                  ///< milp: the paper's sum over deliveries of weight / (epoch + 1)
  int round_epochs = 0;       ///< rounds: epochs a round; 0: chosen
  std::string write_model;    ///< milp, lp: path of the exported model; empty: none
  std::string read_solution;  ///< milp: path of a solution file to start from; empty: none
};

/// What planners keep from one attempt at a request for later ones, on other chunk counts. May be
/// used by several threads at once.
class PlannerMemory {
 public:
  /// Null if there is none of this name and type.
  template <class T>
  std::shared_ptr<const T> recall(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(name);
    if (found == kept_.end()) return nullptr;
    const auto* value = std::any_cast<std::shared_ptr<const T>>(&found->second);
    return value == nullptr ? nullptr : *value;
  }
  template <class T>
  void keep(const std::string& name, std::shared_ptr<const T> value) {
    const std::lock_guard lock(mutex_);
    kept_[name] = std::move(value);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::any> kept_;
};

/// What a planner is handed besides the problem.
struct PlannerContext {
  StopCondition stop;
  Progress* progress = nullptr;  ///< may be null
  Rng rng{1};
  PlannerMemory* memory = nullptr;  ///< may be null
  std::optional<Bound> bound;       ///< for any chunking
  std::optional<Bound> bound_chunked;
  const Schedule* incumbent =
      nullptr;  ///< a valid plan of the same problem, to warm-start from; may be null

  void report(const std::string& stage, std::optional<Time> incumbent_time = {}) const {
    if (progress != nullptr) {
      progress->report({stage, incumbent_time, bound ? std::optional(bound->value) : std::nullopt});
    }
  }
};

/// From here on more effort is not asked for: half the gap target (so that nobody is stopped just
/// short of a better plan), or the bound for these chunks. Zero where no bound is known.
Time target_time(const PlanOptions& options, const PlannerContext& context);

struct PlannerOutcome {
  Schedule sends;  ///< re-timed, unless there are very many; empty without a plan
  Termination termination;
  std::string message;  ///< why there is no plan, or what limits the one there is; may be empty
  std::optional<EpochRecord> epoch;
  bool more_chunks = false;  ///< without a plan: there may be one of more chunks

  bool has_plan() const {
    return termination.reason == Termination::Reason::optimal ||
           termination.reason == Termination::Reason::feasible;
  }
};

using PlanFunction = PlannerOutcome (*)(const Problem&, const PlanOptions&, PlannerContext&);

/// What a planner is good for; the portfolio runs each kind in a stage of its own.
enum class PlannerKind : std::uint8_t {
  baseline,      ///< what others do today
  construction,  ///< makes one plan, without a search
  improvement,   ///< looks for better plans as long as there is time
  exact,         ///< may prove optimality (of its discretised model)
};

std::string_view to_string(PlannerKind kind);

struct PlannerRow {
  std::string_view name;
  std::string_view summary;
  PlannerKind kind;
  bool reductions;  ///< handles reduction chunks
  bool copies;      ///< handles chunks with several destinations
  bool compressed;  ///< plans representatives for all their images (Problem::symmetry)
  PlanFunction plan;
  bool objectives = false;  ///< plans for other objectives than the makespan
};

/// All planners; the order is the order in which the portfolio tries them.
std::span<const PlannerRow> planners();

/// Throws Error(usage) that lists the names.
const PlannerRow& find_planner(std::string_view name);

}  // namespace stellwerk
