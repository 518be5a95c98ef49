// A job on line: what it has sent so far, and what is left of it when something happens.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stellwerk/core/event.hpp"
#include "stellwerk/plan/live_tasks.hpp"

namespace stellwerk {

/// What a task has moved, or is about to, in one go.
struct OnlinePiece {
  SendGraph::TaskId task = -1;  ///< of the graph that the job had then; -1: of an earlier graph
  std::int64_t number = -1;     ///< of its first send; -1: nobody has been told yet
  std::vector<Send> sends;      ///< several: partners; all with one range of bytes
};

/// A task that has begun and can go on: its sends, as whole chunks, and how much it has moved.
struct OnlineBegun {
  std::vector<Send> sends;
  Bytes moved;
};

struct OnlineJob {
  Problem base;             ///< the network as it was at first, the job and its chunks
  std::int32_t number = 0;  ///< in the order of arrivals
  std::int32_t slot = -1;   ///< of its tasks; -1: it has none
  std::vector<OnlinePiece> pieces;
  std::vector<std::size_t> last_piece;  ///< by task of the slot: the last one that it began
  std::vector<OnlineBegun> orphans;     ///< of earlier graphs, with bytes that were taken back
  Time alone;                           ///< how long it takes by itself
  Time landed;             ///< when the last of what was on its way at the last disturbance is in
  bool disturbed = false;  ///< it has been planned again
  std::string waits_for;   ///< why it cannot be planned now; empty: it can
  bool left = false;
  bool finished = false;

  const Job& job() const { return base.jobs.front(); }
};

/// The network now, for jobs that are cut in the middle.
struct OnlineNetwork {
  IdVector<LinkId, Bandwidth> own;  ///< of links, apart from what is down
  std::vector<Event> failures;  ///< links and nodes that went down or came up; never a bandwidth
};

/// What is left of a job.
struct OnlineRest {
  std::shared_ptr<LiveJob> live;  ///< without keys; null: no task is left
  Time landed;                    ///< of what had been sent before: the last wanted arrival
  std::string lost;               ///< why the job cannot be finished at all
  std::string objection;  ///< why it cannot be planned as things are; `live` then has what it has
                          ///< begun
};

/// A new plan for what is left of the job at `at`, beside tasks that go on. Precondition: nothing of
/// the job is being sent.
OnlineRest plan_online_rest(const OnlineJob& job, const std::vector<OnlineBegun>& begun,
                            const OnlineNetwork& network, Time at, std::uint64_t seed);

/// When the last delivery that the job wants is in, of what it has sent. Precondition: all is in.
Time online_finish(const OnlineJob& job, const OnlineNetwork& network, Time at);

}  // namespace stellwerk
