// Sends of jobs that come and go, as they are being made on a network that changes: what all ways of
// sharing links on line have in common. Who may send when, and how fast, is up to derived classes
// (live_list.hpp, live_fair.hpp).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "stellwerk/plan/send_graph.hpp"

namespace stellwerk {

/// How urgent a task is; the least first.
using TaskKey = std::pair<std::int64_t, std::int64_t>;

/// By task.
using TaskKeys = std::shared_ptr<const std::vector<TaskKey>>;

/// One job's sends, with a graph of their own, and how its numbers are to be read. Never changes once
/// it runs.
struct LiveJob {
  Problem problem;  ///< what `graph` refers to
  std::optional<SendGraph> graph;
  std::vector<LinkId> link;      ///< by link of the graph: its number in the network
  Time zero;                     ///< when the graph's clock starts
  std::vector<Time> not_before;  ///< by task, on the graph's clock; may be empty

  /// A task that has moved some of its bytes already; it waits for nothing.
  struct Begun {
    SendGraph::TaskId task;
    Bytes moved;
    std::size_t source;  ///< its number among those that were told to have begun
  };
  std::vector<Begun> begun;
};

/// The clock of a network and all tasks on it.
class LiveTasks {
 public:
  using TaskId = SendGraph::TaskId;
  /// A task: the number that `add` gave to its job, and its own.
  struct Ref {
    std::int32_t slot = -1;
    TaskId task = -1;
    friend auto operator<=>(const Ref&, const Ref&) = default;
  };

  /// Who is told what is decided, as it is decided.
  class Listener {
   public:
    virtual ~Listener() = default;
    /// From `start` on the task moves these bytes, to the end of them unless it is cut.
    virtual void began(Ref task, Time start, Bandwidth rate, Bytes offset, Bytes bytes) = 0;
    /// What the task began last has moved this much (perhaps nothing), and no more of it.
    virtual void cut(Ref task, Bytes moved) = 0;
  };

  explicit LiveTasks(IdVector<LinkId, Bandwidth> bandwidth);
  virtual ~LiveTasks() = default;

  /// May be null. Must outlive this object.
  void set_listener(Listener* listener) { listener_ = listener; }

  /// From now on the job's tasks are there.
  std::int32_t add(std::shared_ptr<const LiveJob> job, TaskKeys keys);
  /// And no more; what they have begun is cut.
  void remove(std::int32_t slot);

  /// Lets everything happen up to `until`: of what happens at that instant, sends end and arrive, but
  /// none starts.
  void advance(Time until);
  /// Lets everything happen that still can.
  void drain();
  Time now() const { return now_; }
  Bandwidth bandwidth(LinkId link) const { return bandwidth_[link]; }

  /// The same network and tasks, to try something on; it tells nobody.
  virtual std::unique_ptr<LiveTasks> clone() const = 0;
  /// From now on other tasks may be the most urgent ones. `keys`: by slot; null: they stay.
  void set_keys(const std::vector<TaskKeys>& keys);

  /// Zero: it is down. Whoever uses the link must be interrupted by the caller, and what has not yet
  /// entered it taken back.
  void set_bandwidth(LinkId link, Bandwidth bandwidth);
  /// Cuts what a task has begun, if it is sending.
  void interrupt(Ref task);
  /// The last bytes of a task have not been moved after all. Precondition: it is not sending, and
  /// none of its arrivals has happened.
  void take_back(Ref task, Bytes bytes);

  const LiveJob& job(std::int32_t slot) const { return *jobs_[index(slot)].live; }
  bool is_sending(Ref task) const { return state(task).sending; }
  bool is_done(Ref task) const { return state(task).done; }
  Bytes moved(Ref task) const;
  /// When the last byte of a task that is done has left.
  Time ended(Ref task) const { return state(task).since; }
  std::size_t size(std::int32_t slot) const { return jobs_[index(slot)].state.size(); }
  bool is_done(std::int32_t slot) const;
  /// Of a job that is done: the last arrival.
  Time finish(std::int32_t slot) const;

 protected:
  LiveTasks(const LiveTasks&) = default;
  struct State {
    std::int32_t blocked = 0;  ///< by how many tasks, and its release
    std::int32_t version = 0;  ///< of its end or arrivals
    bool sending = false;
    bool started = false;
    bool done = false;
    Bytes rest;
    Time since;  ///< sending: from when on; done: when it ended
    Bandwidth rate;
  };

  // What derived classes say.
  virtual void added(std::int32_t slot) = 0;
  virtual void became_ready(Ref task) = 0;  ///< nothing holds it back but links
  virtual void ended_task(Ref task) = 0;    ///< its last byte is leaving; still `sending`
  virtual void left(
      Ref task) = 0;  ///< the job is removed; called for ready tasks that are not done
  virtual void released(Ref task) = 0;  ///< it has just been interrupted
  virtual void changed(LinkId link) = 0;
  virtual void keys_changed() = 0;
  virtual void decide() = 0;             ///< who sends from now on
  virtual bool keeps_order() const = 0;  ///< a job's sends pass links in the order of its own plan

  // What derived classes use.
  State& state(Ref task) { return jobs_[index(task.slot)].state[index(task.task)]; }
  const State& state(Ref task) const { return jobs_[index(task.slot)].state[index(task.task)]; }
  const TaskKey& key(Ref task) const { return (*jobs_[index(task.slot)].keys)[index(task.task)]; }
  LinkId link(const LiveJob& job, const SendGraph::Use& use) const {
    return job.link[use.link.index()];
  }
  std::size_t links() const { return bandwidth_.size(); }
  /// The most that all its links allow now.
  Bandwidth full_rate(Ref task) const;
  void begin(Ref task, Time start, Bandwidth rate);
  /// Ends what it began; how much it has moved by now counts.
  void close(Ref task);
  static std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

 private:
  struct Happening {
    enum class Kind : std::uint8_t { ended, arrived, released };
    Time at;
    Kind kind;
    Ref task;
    std::int32_t version;
    std::uint32_t position;  ///< arrived: in after_arrival
    bool operator>(const Happening& other) const;
  };
  struct JobState {
    std::shared_ptr<const LiveJob> live;  // null: removed
    TaskKeys keys;
    std::vector<State> state;
    std::size_t done = 0;
  };

  void apply(const Happening& happening);
  void unblock(Ref task);
  void arrive(const Happening& happening);
  /// Some of its bytes have left for good: whoever must not start before it may do so.
  void has_started(Ref task);
  void push_arrival(Ref task, std::size_t position);
  void end(Ref task);

  Listener* listener_ = nullptr;
  IdVector<LinkId, Bandwidth> bandwidth_;
  std::vector<JobState> jobs_;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> happenings_;
  Time now_;
  bool pending_ = false;  // something has happened at now_ after which nobody has decided
};

}  // namespace stellwerk
