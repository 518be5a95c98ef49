// Planning on line: jobs arrive, links change, and what to send is decided as time goes on, from what
// is known by then.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/core/event.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// Who gets a link that several sends want.
enum class OnlineMethod : std::uint8_t {
  list,  ///< the most urgent one by a key that is fixed when its job arrives; others are interrupted
  rounds,  ///< likewise; keys are chosen anew every round, by trying several ways on what is there
  fair,    ///< all of them, at max-min fair rates: what happens without a planner
};

/// What makes a job urgent.
enum class OnlineKeys : std::uint8_t {
  smith,  ///< little time alone for its weight; for the weighted flow
  edf,    ///< an early start and little time alone; for the largest slowdown
};

struct OnlineOptions {
  OnlineMethod method = OnlineMethod::list;
  OnlineKeys keys = OnlineKeys::smith;
  Time round{100'000'000};  ///< rounds: how long one is; positive
  Relays relays = Relays::all;
  std::uint64_t seed = 1;
};

/// What happens, in order of time.
struct OnlineInput {
  enum class Kind : std::uint8_t {
    change,     ///< of a link or a GPU
    arrival,    ///< of a job; it starts at `at` or later
    departure,  ///< of a job
    tick,       ///< nothing but time has passed
    end,        ///< nothing will happen any more: everything is decided to its end
  };
  Kind kind = Kind::tick;
  Time at;
  Event change;      ///< `at` of it is ignored
  Job job;           ///< arrival
  std::string name;  ///< departure
};

/// What has been decided between two inputs. Jobs are numbered in the order of their arrivals, their
/// chunks as make_chunks does, sends from 0 on.
struct OnlineIncrement {
  std::int64_t number = 0;  ///< of the input, from 1 on
  Time at;                  ///< of the input
  struct Begun {
    std::int64_t number;
    std::int32_t job;
    Send send;  ///< with links of the network
  };
  std::vector<Begun> sends;
  /// A send from before ends early: no more than its first `bytes` are moved; none: it is not made.
  struct Cut {
    std::int64_t number;
    Bytes bytes;
  };
  std::vector<Cut> cuts;
  struct Finished {
    std::int32_t job;
    Time at;
  };
  std::vector<Finished> finished;
  /// A job for which something cannot be as it is wanted, and why.
  struct Trouble {
    std::int32_t job;
    std::string why;
  };
  std::vector<Trouble> waiting;  ///< until the network changes
  std::vector<Trouble> dropped;  ///< for good: as if they left at `at`
};

/// All decisions follow from the inputs so far, and none of them is taken back but by cuts. Same
/// inputs, same increments.
class OnlinePlanner {
 public:
  /// Throws Error(unsolved) if nodes have limits that sends on line cannot keep.
  OnlinePlanner(Topology topology, const OnlineOptions& options);
  ~OnlinePlanner();

  /// What has been decided before `input.at`, and what the input changes of that. Throws
  /// Error(unreadable_input), with nothing changed, if the input does not fit: out of order, a job
  /// that is not valid or has the name of another, and the like.
  OnlineIncrement apply(const OnlineInput& input);

  const Topology& topology() const;
  /// Jobs that have arrived, with the starts that they got.
  const std::vector<Job>& jobs() const;
  /// How long each of them takes by itself, on the network as it was then; 0: that is not known.
  const std::vector<Time>& alone_times() const;

 private:
  class Planning;
  std::unique_ptr<Planning> planning_;
};

/// Puts increments together to a plan with events, so that it can be judged.
class OnlineRecord {
 public:
  explicit OnlineRecord(Topology topology, Relays relays = Relays::all);

  /// Throws Error(verification_failed) if the increment contradicts those before it or the input.
  void add(const OnlineInput& input, const OnlineIncrement& increment);

  /// Everything so far, without a result.
  EventfulPlan plan() const;
  /// What is wrong with the finishes that were told, beside those of the sends; empty: nothing.
  std::string wrong_finish(const std::vector<Time>& job_finish) const;
  const std::vector<OnlineIncrement::Finished>& finished() const { return finished_; }
  std::size_t cuts() const { return cuts_; }

 private:
  void leave(std::size_t job, Time at);

  Topology topology_;
  Relays relays_;
  std::int64_t inputs_ = 0;
  std::vector<char> left_;  // by job
  std::vector<Job> jobs_;
  std::vector<Event> events_;
  std::vector<std::pair<std::int32_t, Send>> sends_;  // with the job's number
  std::vector<OnlineIncrement::Finished> finished_;
  std::size_t cuts_ = 0;
};

}  // namespace stellwerk
