// Where a chunk that spreads can go next: for each holder and lane, nodes that do not have it yet.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/plan/symmetric_lanes.hpp"

namespace stellwerk::symmetric {

/// Finds open nodes by walking down the states of the lanes; links that lead to nothing open are
/// dropped on the way, so that finding all nodes one by one costs no more than all links together,
/// a few times. Among open nodes those are preferred that no holder reaches over a cheaper lane: a
/// slow link between boxes then carries a chunk to a box that does not have it.
class Frontier {
 public:
  Frontier(const Quotient& quotient, const Lanes& lanes);

  /// The order in which nodes are found.
  void shuffle(Rng& rng);
  /// A new chunk: nobody offers anything. `closed`: by node, those that need not be found.
  void reset(std::vector<char> closed);

  bool closed(NodeId node) const { return closed_[node.index()] != 0; }
  void close(NodeId node) { closed_[node.index()] = 1; }
  /// From now on `holder` has the chunk and could send it over the lane at this cost.
  void offer(NodeId holder, const Lane& lane, double cost);

  /// One open node: the links to it; false if there is none. A node that is offered for less than
  /// `cheap` is taken only when there is no other; not even then if `strict`.
  bool find(NodeId holder, const Lane& lane, double cheap, bool strict, std::vector<LinkId>& links);
  /// As many open nodes as the lane's switches can copy to at once, at most `most`: a tree.
  bool find_all(NodeId holder, const Lane& lane, std::size_t most, std::vector<LinkId>& links);

 private:
  struct State {
    std::size_t first = 0;  ///< in links_: first those not known to be offered for less (fresh),
    int count = 0;          ///< then the others (alive), then those that lead to nothing open
    int alive = 0;
    int fresh = 0;
    double cost = 0;  ///< least of the offers
  };
  struct Place {
    std::size_t port;
    int suffix;
  };
  State& state(const Place& at) { return states_[lanes_.state(at.port, at.suffix)]; }
  Place next(const Place& at, LinkId link) const;
  void offer(const Place& at, double cost);
  double least_offer(NodeId node) const;
  bool descend(const Place& at, double cheap, bool fresh_only, std::vector<LinkId>& links);
  bool fallback(const Place& at, double cheap, std::vector<LinkId>& links);
  std::size_t collect(const Place& at, std::size_t most, std::vector<LinkId>& links);
  void drop(State& s, int child);
  void demote(State& s, int child);
  bool passed(NodeId node, const std::vector<LinkId>& links) const;

  const Quotient& quotient_;
  const Lanes& lanes_;
  std::vector<State> states_;
  std::vector<LinkId> links_;
  std::vector<char> closed_;
};

}  // namespace stellwerk::symmetric
