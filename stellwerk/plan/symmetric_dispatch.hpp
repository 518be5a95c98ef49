// Non-delay list scheduling: whenever resources are free, the most urgent task that can start does.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "stellwerk/plan/symmetric_network.hpp"
#include "stellwerk/plan/symmetric_timeline.hpp"

namespace stellwerk::symmetric {

/// Chooses among tasks that are ready, by the earliest start, then by priority. Tasks of one shape
/// compete for the same resources, so that one search for a start serves all of them.
class Dispatcher {
 public:
  /// `timelines` are claimed; all must outlive it. `priority` by task; smaller goes first.
  Dispatcher(const std::vector<Shape>& shapes, const std::vector<std::int64_t>& priority,
             std::vector<ClaimTimeline>& timelines);

  /// The task can start from `ready` on.
  void add(int task, std::size_t shape, std::int64_t ready);

  struct Choice {
    int task;  ///< -1: none is left
    std::size_t shape;
    std::int64_t start;
  };
  /// Takes the next task, and claims what it needs.
  Choice next();

 private:
  using Entry = std::pair<std::int64_t, int>;
  struct Group {
    std::vector<Entry> pending;    ///< heap by ready time: tasks that may not be ready at `start`
    std::vector<Entry> available;  ///< heap by priority: tasks that are
    std::int64_t from = 0;         ///< nothing fits in [from, start)
    std::int64_t start = 0;
    std::uint64_t stamp = 0;  ///< of the newest candidate
  };
  struct Candidate {
    std::int64_t start;
    std::int64_t priority;
    std::size_t shape;
    std::uint64_t stamp;

    friend bool operator>(const Candidate& a, const Candidate& b) {
      if (a.start != b.start) return a.start > b.start;
      if (a.priority != b.priority) return a.priority > b.priority;
      return a.shape > b.shape;
    }
  };
  void search(std::size_t shape, std::int64_t from);
  void push(std::size_t shape);

  const std::vector<Shape>& shapes_;
  const std::vector<std::int64_t>& priority_;
  std::vector<ClaimTimeline>& timelines_;
  std::vector<std::int64_t> ready_;  // by task
  std::vector<Group> groups_;        // by shape
  std::vector<Candidate> candidates_;
};

/// The earliest start >= from at which all uses fit.
std::int64_t earliest_start(const Shape& shape, const std::vector<ClaimTimeline>& timelines,
                            std::int64_t from);
void claim(const Shape& shape, std::vector<ClaimTimeline>& timelines, std::int64_t start);

}  // namespace stellwerk::symmetric
