// One planner on one chunk count: from a stated problem to a judged plan.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/plan/planner.hpp"
#include "stellwerk/plan/portfolio.hpp"
#include "stellwerk/plan/problem_family.hpp"

namespace stellwerk {

/// A planner on a chunk count.
struct Attempt {
  const PlannerRow* planner = nullptr;
  int chunks = 1;
  double share = 1;        ///< of the time that is left
  bool quick = false;      ///< PlanOptions::quick
  std::uint64_t salt = 0;  ///< of the seed, for another try at the same
};

/// What an attempt brought.
struct Candidate {
  std::optional<Plan> plan;  ///< judged valid, and better than the incumbent
  int chunks = 1;            ///< of the attempt
  Time length;  ///< by which plans are compared; also of sends that were no better; 0: none
  Time least;   ///< what the same ways take at least, whatever the chunks; of baselines
  Limit limit = Limit::none;          ///< that the planner met
  bool more_chunks = false;           ///< no plan, but there may be one on more chunks
  std::optional<EpochRecord> proven;  ///< what an epoch planner knows about these chunks
  std::vector<std::string> notes;     ///< why there is no plan
};

/// The best that one planner made, whether or not another had a better plan.
struct Reached {
  Time length = Time::max();
  int chunks = 0;
};

/// The best plan so far.
struct Incumbent {
  std::shared_ptr<Plan> plan;
  Time length = Time::max();
  int chunks = 0;
};

/// Makes attempts at one request; several threads may do so at once.
class AttemptRunner {
 public:
  /// Keeps references. With `compressed` plans by representatives, and bounds, stay as they are;
  /// otherwise such plans are written out. States the problem with one chunk a block, of which
  /// prove_bound() proves the bound that all attempts share.
  AttemptRunner(const PortfolioRequest& request, ProblemFamily& family, bool compressed,
                const StopCondition& stop, Progress* progress, const Judge& judge);

  const Problem& coarse() const { return *coarse_; }
  void prove_bound();
  const Bound& bound() const { return bound_; }
  /// Of plans with that many chunks.
  Bound chunked_bound(int chunks);
  bool within_target(Time length) const;

  /// The limit that the attempt would meet, judged by its size and by earlier ones of the same
  /// planner.
  Limit limit_ahead(const Attempt& attempt, const StopCondition& stop);
  /// Deliveries of the plan.
  double size(const Attempt& attempt) const;

  /// The attempt, unless the bound says that it cannot beat `best`.
  Candidate run(const Attempt& attempt, const Incumbent& best, const StopCondition& stop);
  /// The plan of a problem without any chunk.
  Candidate nothing_to_do() const;

 private:
  /// Sends that meet the demand, and when.
  struct Timed {
    Schedule sends;
    std::vector<Time> job_finish;
    Time length;
  };

  struct Pace {
    double size = 1;     ///< deliveries of the attempt
    double seconds = 0;  ///< it took for each of them
  };

  bool compressed(const Attempt& attempt) const;
  double cost(const Attempt& attempt);
  void remember_pace(const Attempt& attempt, double seconds);
  Candidate plan_with(const Attempt& attempt, const Problem& problem, const Bound& chunked,
                      const Incumbent& best, const StopCondition& stop);
  /// Is there time to judge that many sends, and to re-time them?
  bool time_to_judge(std::size_t sends, bool retime) const;
  Timed time(const Problem& posed, Schedule sends, bool baseline) const;
  Candidate offer(std::string_view planner, const Problem& problem, Timed timed,
                  const PlannerOutcome& outcome, const Bound& chunked) const;

  const PortfolioRequest& request_;
  ProblemFamily& family_;
  bool compressed_;
  const StopCondition& stop_;
  Progress* progress_;
  const Judge& judge_;
  std::shared_ptr<const Problem> coarse_;
  Bound bound_;
  PlannerMemory memory_;
  std::mutex bounds_mutex_, pace_mutex_;
  std::map<int, Bound> chunked_;           // by chunk count
  std::map<std::string_view, Pace> pace_;  // by planner
};

}  // namespace stellwerk
