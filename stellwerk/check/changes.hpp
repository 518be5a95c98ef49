// The verifier's own reading of a plan's events: what each link carries at most and when, which
// nodes lose their stores, which jobs leave.
//
// The rest of the verifier asks three kinds of questions. Is a send that was under way at an event
// lost (flights.cpp)? What may a link carry at an instant (limits.cpp)? What does a node still have
// (holds.cpp)? Without events there is nothing to ask, and nothing here is looked at.
//
// Cost: O(events x links of a node). Held to its word by changes_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "stellwerk/check/finding.hpp"
#include "stellwerk/core/event.hpp"

namespace stellwerk::check {

class Changes {
 public:
  /// Both must outlive this object.
  Changes(const Problem& problem, const std::vector<Event>& events)
      : problem_(problem), events_(events) {}

  /// wrong_event, unless the events are in order and name what exists; then answers the questions
  /// below.
  Judgement build();

  bool none() const { return events_.empty(); }

  /// The first instant in (after, before) at which the link fails, by itself or with one of its
  /// ends.
  std::optional<std::int64_t> failure(LinkId link, std::int64_t after, std::int64_t before) const;
  /// The first instant in (after, before) at which the node is lost.
  std::optional<std::int64_t> loss(NodeId node, std::int64_t after, std::int64_t before) const;

  /// When the node is lost, ascending; empty for most.
  std::span<const std::int64_t> losses(NodeId node) const;
  /// All nodes that are lost at some time, ascending.
  const std::vector<NodeId>& ever_lost() const { return ever_lost_; }
  bool lost_at_end(NodeId node) const;

  /// When the job leaves.
  std::optional<std::int64_t> leaves(JobId job) const;

  /// What the link can carry at some time at most, and at an instant, bytes/s; 0: it is down.
  std::int64_t most(LinkId link) const;
  std::int64_t bandwidth(LinkId link, std::int64_t instant) const;

  /// A time during which a link can carry less than at some other time.
  struct Shortage {
    LinkId link;
    std::int64_t begin;
    std::int64_t end;
    std::int64_t missing;  ///< bytes/s, below most(link)
  };
  const std::vector<Shortage>& shortages() const { return shortages_; }

 private:
  struct Step {
    std::int64_t at;
    std::int64_t bandwidth;  // from then on; 0: down
  };
  /// What events have said of a link by itself.
  struct LinkState {
    bool down = false;
    std::int64_t bandwidth = 0;
  };

  Judgement check(std::size_t number) const;
  void apply(const Event& event);
  void note(LinkId link, std::int64_t at);
  void find_shortages();

  const Problem& problem_;
  const std::vector<Event>& events_;
  std::map<LinkId, std::vector<Step>> steps_;
  std::map<LinkId, LinkState> links_;
  std::map<NodeId, std::vector<std::int64_t>> losses_;
  std::map<NodeId, bool> is_lost_;
  std::vector<NodeId> ever_lost_;
  std::map<JobId, std::int64_t> leaves_;
  std::vector<Shortage> shortages_;
};

}  // namespace stellwerk::check
