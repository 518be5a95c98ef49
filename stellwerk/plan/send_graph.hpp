// The sends of several jobs as one graph: who waits for whom, which links each takes and when, with
// no times of its own. What overlays and the joint planner schedule.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// Why sends on this topology cannot be scheduled as such a graph (limits of nodes other than link
/// bandwidths); empty if they can.
std::string graph_objection(const Topology& topology);

/// The union of plans that were made for each job alone. Starts are kept as an order only.
class SendGraph {
 public:
  using TaskId = std::int32_t;

  /// A send of a whole chunk; or several that only make sense at the same time: partners that tell
  /// each other their partial sums (Op::share).
  struct Task {
    JobId job;
    Bytes bytes;
    Bandwidth full;     ///< the most that all its links allow
    Time duration;      ///< of all bytes at that rate
    Time alone_start;   ///< in the job's own plan, counted from the job's release
    Time last_arrival;  ///< after the last byte has left: until it is at the farthest leaf
    Time slack;  ///< how much later than at this task's offset another may use one of its links
  };
  /// A link that a task takes: from `offset` after its start on.
  struct Use {
    LinkId link;
    Time offset;
  };
  /// The task that waits, and for how long after the last byte has left (arrival at the leaf where
  /// it is needed).
  struct Successor {
    Time lag;
    TaskId task;
  };

  /// Keeps a reference to the problem. `alone[j]` are the sends of job j, whole chunks, valid by
  /// themselves if the job were released at 0. Throws Error(verification_failed) if a send has
  /// nothing to send, Error(unsolved) if sums are shared in a way that has no such graph.
  SendGraph(const Problem& problem, const std::vector<Schedule>& alone);

  const Problem& problem() const { return *problem_; }
  std::size_t size() const { return tasks_.size(); }
  std::size_t links() const { return problem_->topology.links().size(); }
  /// Job by job; within a job by start alone, and after all that it waits for.
  const Task& task(TaskId id) const { return tasks_[index(id)]; }
  TaskId first_of(JobId job) const { return first_of_job_[job.index()]; }
  TaskId end_of(JobId job) const { return first_of_job_[job.index() + 1]; }

  std::span<const Use> uses(TaskId id) const { return group(uses_, first_use_, id); }
  /// By lag.
  std::span<const Successor> after_arrival(TaskId id) const {
    return group(after_arrival_, first_after_arrival_, id);
  }
  /// Tasks that may not start before this one has.
  std::span<const TaskId> after_start(TaskId id) const {
    return group(after_start_, first_after_start_, id);
  }
  /// How many tasks it waits for, starts and arrivals.
  std::int32_t waits(TaskId id) const { return waits_[index(id)]; }
  /// Not before this, whatever it waits for: the release of its data.
  Time ready(TaskId id) const { return ready_[index(id)]; }

  /// For each use of the task: the next task of the same job on that link in the job's own order, or
  /// -1.
  std::span<const TaskId> next_on_link(TaskId id) const {
    return group(next_on_link_, first_use_, id);
  }
  /// On how many of its links another task of the job comes before it.
  std::int32_t links_behind(TaskId id) const { return links_behind_[index(id)]; }

  /// The longest chain of waits from the start of each task to the end of its job, at full rates.
  std::vector<Time> tails() const;

  /// Sends that move [offset, offset + bytes) of the task's chunk.
  void append_piece(TaskId id, Time start, Bandwidth rate, Bytes offset, Bytes bytes,
                    Schedule& schedule) const;

 private:
  static std::size_t index(TaskId id) { return static_cast<std::size_t>(id); }
  template <class T>
  static std::span<const T> group(const std::vector<T>& values,
                                  const std::vector<std::uint32_t>& first, TaskId id) {
    return std::span(values).subspan(first[index(id)], first[index(id) + 1] - first[index(id)]);
  }
  struct Draft;
  void add_job(JobId job, const Schedule& sends, Draft& draft);
  void link_tasks(const Draft& draft);
  void order_links();

  const Problem* problem_;
  std::vector<Task> tasks_;
  std::vector<TaskId> first_of_job_;
  std::vector<Send> sends_;  // templates, task by task
  std::vector<std::uint32_t> first_send_;
  std::vector<Use> uses_;
  std::vector<std::uint32_t> first_use_;
  std::vector<Successor> after_arrival_;
  std::vector<TaskId> after_start_;
  std::vector<std::uint32_t> first_after_arrival_, first_after_start_;
  std::vector<std::int32_t> waits_, links_behind_;
  std::vector<Time> ready_;
  std::vector<TaskId> next_on_link_;
};

/// A part of a task, as scheduled.
struct TaskPiece {
  SendGraph::TaskId task = 0;
  Time start;
  Bandwidth rate;
  Bytes offset;
  Bytes bytes;
};

/// What a scheduler made of a graph.
struct GraphSchedule {
  std::vector<TaskPiece> pieces;
  std::vector<Time> job_finish;  ///< last arrival of each job's tasks; its release if it has none
  bool complete = false;         ///< false: stopped
};

Schedule sends_of(const SendGraph& graph, const GraphSchedule& schedule);

}  // namespace stellwerk
