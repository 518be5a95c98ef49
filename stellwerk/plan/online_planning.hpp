// The workings of OnlinePlanner: jobs that are under way, the network now, what is to be told next. In
// three parts: inputs and what is told (online.cpp), the network when it changes (online_changes.cpp), who
// is urgent (online_keys.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/plan/alone_plans.hpp"
#include "stellwerk/plan/live_tasks.hpp"
#include "stellwerk/plan/online.hpp"
#include "stellwerk/plan/online_job.hpp"

namespace stellwerk {

class OnlinePlanner::Planning : private LiveTasks::Listener {
 public:
  Planning(Topology topology, const OnlineOptions& options);

  OnlineIncrement apply(const OnlineInput& input);

  const Topology& topology() const { return topology_; }
  const std::vector<Job>& jobs() const { return all_jobs_; }
  const std::vector<Time>& alone_times() const { return alone_; }

 private:
  using TaskId = SendGraph::TaskId;

  // --- Inputs -------------------------------------------------------------------------------------

  void check(const OnlineInput& input) const;

  std::optional<std::int32_t> active_by_name(const std::string& name) const;

  void arrive(Job job);

  /// By itself, on what there is of the network.
  void plan_first(std::int32_t number);

  void leave(std::int32_t number);

  void drop(std::int32_t number, const std::string& why);

  void wait(std::int32_t number, const std::string& why);

  void end();

  // --- The network --------------------------------------------------------------------------------

  Bandwidth bandwidth_now(LinkId id) const;

  /// What new jobs are planned on.
  void note_network();

  void change(Event event);

  bool uses(const LiveJob& live, TaskId task, const std::set<LinkId>& links) const;

  void interrupt_users(const OnlineJob& own, const std::set<LinkId>& slower,
                       const std::set<LinkId>& dead, const std::set<LinkId>& faster);

  /// Does the job lose something by links that are dead now, or has it yet to use them?
  bool is_hit(const OnlineJob& own, const std::set<LinkId>& dead) const;

  /// Has some of the send yet to enter one of the links?
  bool is_on(const Send& send, const std::set<LinkId>& links) const;

  /// Takes what has not entered links that are slower now from what was sent; true: the job has to be
  /// planned again, as somebody counts on it already.
  bool take_back(OnlineJob& own, const std::set<LinkId>& slower);

  /// The rest of a piece that no task has any more is to be sent again.
  void leave_orphan(OnlineJob& own, const OnlinePiece& piece) const;

  /// Some leaves have all of a piece already: the branches to them stay as they are.
  void keep_branches(OnlineJob& own, std::size_t p, const std::set<LinkId>& slower, Bytes kept);

  // --- Jobs in the middle ---------------------------------------------------------------------------

  void stop(OnlineJob& own);

  /// What is left of the job is planned anew.
  void plan_rest_of(std::int32_t number);

  void run(std::int32_t number, std::shared_ptr<const LiveJob> live);

  static Time longest_chain(const LiveJob& live);

  /// `work`: how long what is left takes alone.
  static TaskKeys keys_of(const OnlineJob& own, const LiveJob& live, OnlineKeys rule, Time work,
                          int tenths = 30);

  // --- Time -----------------------------------------------------------------------------------------

  void advance(Time until);

  /// The keys of the round that begins: the best of several ways, if nothing else were to arrive.
  void choose_keys();

  /// The part of the time alone that the bytes to be moved are of all.
  Time work_left(const OnlineJob& own) const;

  // --- What is told ---------------------------------------------------------------------------------

  void began(LiveTasks::Ref task, Time start, Bandwidth rate, Bytes offset, Bytes bytes) override;

  void cut(LiveTasks::Ref task, Bytes moved) override;

  void add_piece(OnlineJob& own, OnlinePiece piece);

  /// No more than the first `bytes` of a piece.
  void shrink(OnlinePiece& piece, Bytes bytes);

  void tell();

  /// Jobs that are done by then.
  void find_finished(Time by);

  /// Jobs of which nothing is on its way any more.
  void forget();

  bool has_landed(const OnlinePiece& piece) const;

  /// Nobody is there for whom it matters when something failed.
  void forget_failures();

  const Topology topology_;
  const OnlineOptions options_;
  std::unique_ptr<LiveTasks> tasks_;
  Problem bare_;  // the network without jobs, to check events
  Time clock_;
  bool ended_ = false;
  Time next_round_;
  // The network now.
  OnlineNetwork network_;
  IdVector<LinkId, char> down_;
  IdVector<NodeId, char> lost_;
  Topology current_;
  std::vector<LinkId> current_link_;  // of its links: the network's
  // Jobs.
  std::vector<Job> all_jobs_;
  std::vector<Time> alone_;  // times
  std::set<std::string> names_;
  std::map<std::int32_t, OnlineJob> active_;
  std::vector<std::int32_t> job_of_slot_;
  AloneCache cache_;
  // What is to be told.
  OnlineIncrement increment_;
  std::vector<std::pair<std::int32_t, std::size_t>> fresh_;  // pieces, with their jobs
  std::map<std::int64_t, Bytes> cuts_;
  std::int64_t inputs_ = 0;
  std::int64_t sends_ = 0;
};

}  // namespace stellwerk
