// Where and when every send is on the network: the verifier's own reading of the cut-through rule.
//
// A send is a tree of links. With two exceptions nothing but the single links of that tree matters
// to the rules: link e is used during [begin(e), begin(e) + duration), a tail that stores data is a
// source that starts at begin(e), and a head that stores data is a receiver whose last byte is in
// at begin(e) + latency(e) + duration. So the tree is checked once, and everything after that works
// on a flat list of link uses. (The exceptions: groups at multicast switches, collected on the way,
// and the parts of in-trees, which reductions.cpp puts together again.)
//
// Two shapes are trees. An out-tree has one source and one link out of it; every other link leaves
// a switch that an earlier link enters. An in-tree has several sources, each with one link out;
// every switch on the way has one link out, listed after the links that enter it; the last link
// enters the destination. All parts meet at each switch at the same instant: with remaining(e) the
// latency from the tail of e to the destination, link e begins at start + max remaining -
// remaining(e).
//
// Events (changes.hpp) can cut a send short. What is on its way to a leaf is lost when a link of
// the way to it fails before the last byte has passed that link, or the leaf itself is lost before
// the last byte is in; the links that lead to nothing but lost leaves are free from then on. The
// parts of an in-tree are lost together.
//
// Cost: O(links of all sends). Memory: 16 bytes a link use and 12 a send; with events 8 more a use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stellwerk/check/changes.hpp"
#include "stellwerk/check/finding.hpp"

namespace stellwerk::check {

/// Every instant of a plan lies before this one (26 days), so that sums of times cannot overflow.
inline constexpr std::int64_t kHorizon = std::int64_t{1} << 61;

/// One link of one send.
struct Use {
  std::int64_t begin;  ///< when the first byte enters the link, in ps
  LinkId link;
  std::uint32_t send;
};

/// A send that branches at a switch with a limit on multicast groups.
struct Group {
  std::int64_t begin;
  NodeId node;
  std::uint32_t send;
};

class Flights {
 public:
  /// All three must outlive this object; `changes` is built.
  Flights(const Problem& problem, const Schedule& sends, const Changes& changes)
      : problem_(problem), sends_(sends), changes_(changes) {}

  /// Checks the shape of every send, then answers the questions below.
  Judgement build();

  std::size_t sends() const { return sends_.size(); }
  const Send& send(std::uint32_t id) const { return sends_[id]; }
  std::int64_t duration(std::uint32_t send) const { return durations_[send]; }
  std::span<const Use> uses() const { return uses_; }
  std::span<const Use> uses(std::uint32_t send) const {
    return uses().subspan(first_use_[send], first_use_[send + 1] - first_use_[send]);
  }
  std::span<const Group> groups() const { return groups_; }

  /// When the first / last byte of a use reaches the head of its link.
  std::int64_t first_in(const Use& use) const {
    return use.begin + problem_.topology.link(use.link).latency.ps;
  }
  std::int64_t last_in(const Use& use) const { return first_in(use) + durations_[use.send]; }

  static constexpr std::int64_t kNever = INT64_MAX;
  /// When all that the use carries has been lost; kNever where something of it arrives.
  std::int64_t lost_at(const Use& use) const {
    return lost_.empty() ? kNever : lost_[static_cast<std::size_t>(&use - uses_.data())];
  }
  bool arrives(const Use& use) const { return lost_at(use) == kNever; }
  /// When the link is free of it again: after its last byte, or when it is lost. Not after begin
  /// for what was lost before.
  std::int64_t end(const Use& use) const {
    const std::int64_t end = use.begin + durations_[use.send];
    return end < lost_at(use) ? end : (lost_at(use) < use.begin ? use.begin : lost_at(use));
  }
  const Changes& changes() const { return changes_; }

 private:
  /// What the walk along one send knows of a node; valid if `send` is the send that is walked.
  struct Mark {
    std::uint32_t send = UINT32_MAX;
    std::int32_t in = 0;   // links of the tree that enter it
    std::int32_t out = 0;  // and leave it
    std::int64_t at = 0;   // when the first byte is there; in-trees: latency to the destination
  };

  Judgement check_numbers(std::uint32_t id);
  Judgement lay(std::uint32_t id);
  Judgement lay_out_tree(std::uint32_t id);
  Judgement lay_in_tree(std::uint32_t id);
  void find_losses(std::uint32_t id);
  Judgement check_receiver(std::uint32_t id, NodeId node) const;
  Judgement malformed(std::uint32_t id, const std::string& what) const;
  Mark& mark(std::uint32_t id, NodeId node);
  bool reached(std::uint32_t id, NodeId node) const { return marks_[node].send == id; }

  const Problem& problem_;
  const Schedule& sends_;
  const Changes& changes_;
  std::vector<std::int64_t> durations_;
  std::vector<std::uint32_t> first_use_;
  std::vector<Use> uses_;
  std::vector<std::int64_t> lost_;  // by use; empty without events
  std::vector<Group> groups_;
  std::vector<std::vector<bool>> members_;  // [job][node]; empty when every node may forward
  IdVector<NodeId, Mark> marks_;
};

}  // namespace stellwerk::check
