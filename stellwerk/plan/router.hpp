// Best ways between nodes, found one by one: for planners that need few of the many hops of a large
// fabric.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stellwerk/core/links_hash.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/plan/routes.hpp"

namespace stellwerk {

/// Which of several equally good ways is taken. Over the same GPUs, ways through different switches
/// always take turns.
enum class Ties : std::uint8_t {
  one_tree,  ///< over GPUs all ways from one source form a tree: good for chunks that many want
  spread,    ///< ways over different GPUs take turns, too: good for chunks that go to one place
};

/// Ways for chunks of one job and of about one size.
class Router {
 public:
  /// `problem` must outlive it. Chunks of `bytes` decide between latency and bandwidth.
  Router(const Problem& problem, JobId job, Bytes bytes, Ties ties = Ties::one_tree);

  /// Least sum of latencies and transmission times, every hop store-and-forward; Time::max() if no
  /// way leads there.
  Time distance(NodeId from, NodeId to);
  bool reaches(NodeId from, NodeId to) { return distance(from, to) != Time::max(); }

  /// The hops of a best way, in order; none if `to` is `from`. Different pairs of nodes and different
  /// `salt`s may take different ones of several.
  /// The span is good until the next call. Precondition: reaches(from, to).
  std::span<const HopId> way(NodeId from, NodeId to, std::uint32_t salt = 0);

  /// How many salts may give different ways: from 0 to this. Precondition: reaches(from, to).
  std::uint32_t salts(NodeId from, NodeId to);

  /// The reference stays good.
  const Hop& hop(HopId id) const { return hops_[id.index()]; }

 private:
  /// A place that data can be in: at a storing node (band 0), or at a switch, having come over links
  /// of which the narrowest is bands_[band].
  using State = std::uint32_t;
  static constexpr State kNone = 0xffffffffU;

  /// Everything that one node reaches.
  struct Tree {
    std::vector<std::int64_t> distance;  ///< ps, by state; at a switch only what has been sent
    std::vector<std::uint32_t> link;     ///< by state: of one of the best ways, the last link
    std::vector<State> before;           ///< and the state that it comes from
    std::vector<State> left;             ///< by state: the storing node that this way last left
    std::vector<std::uint32_t> links;    ///< by state: how many links this way has
    std::vector<char> several;           ///< by state: there are other best ways, too
  };
  struct Step {
    std::uint32_t link;
    State before;
  };

  State state(NodeId node, std::size_t band) const {
    return static_cast<State>(node.index() * bands_.size() + band);
  }
  NodeId node_of(State s) const { return NodeId(s / bands_.size()); }
  std::size_t band_of(State s) const { return s % bands_.size(); }
  /// The bandwidth that is left of `have` after `link`, which may be capped at either end.
  Bandwidth over(const Link& link, Bandwidth have) const;
  std::size_t band(Bandwidth bandwidth) const;
  /// The state after `link` and the time to get there; kNone where it may not lead.
  std::pair<State, std::int64_t> step(State from, const Link& link) const;
  const Tree& tree(NodeId from);
  Tree find(NodeId from) const;
  std::vector<Step> steps_into(const Tree& tree, State at) const;
  HopId intern(std::vector<LinkId> links);
  struct Way {
    std::uint32_t begin, end;  // in way_hops_
    bool unique;
  };
  const Way& find_way(NodeId from, NodeId to, std::uint32_t salt);
  /// Backwards through the tree, one of the best ways.
  Way read(NodeId from, NodeId to, std::uint32_t salt);

  const Problem& problem_;
  const JobId job_;
  const Bytes bytes_;
  const Ties ties_;
  std::vector<char> forwards_;        // by node
  std::vector<char> wanted_;          // by node: a rank
  std::vector<Bandwidth> bands_;      // widest first
  std::vector<std::size_t> band_at_;  // by link: of its bandwidth
  std::int64_t cheapest_ = 0;         // least transmission time of a hop

  std::unordered_map<std::int32_t, std::unique_ptr<Tree>> trees_;
  std::deque<std::int32_t> order_;  // of their making: the oldest make room
  std::size_t most_trees_ = 1;
  std::unordered_map<std::uint64_t, Way> ways_;
  std::vector<HopId> way_hops_;
  std::deque<Hop> hops_;
  std::unordered_map<std::vector<LinkId>, HopId, LinksHash> known_hops_;
};

/// Routers of all jobs: chunks of nearly equal size share one.
class Routers {
 public:
  explicit Routers(const Problem& problem, Ties ties = Ties::one_tree)
      : problem_(problem), ties_(ties) {}
  Router& of(const Chunk& chunk) { return of(chunk.job, chunk.bytes); }
  Router& of(JobId job, Bytes bytes);

 private:
  const Problem& problem_;
  const Ties ties_;
  std::map<std::pair<JobId, int>, std::unique_ptr<Router>> routers_;
};

}  // namespace stellwerk
