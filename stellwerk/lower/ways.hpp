// From GPU to GPU over the links of a network: for transfers that say no more than their ends.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "stellwerk/core/problem.hpp"
#include "stellwerk/plan/router.hpp"

namespace stellwerk::lower {

/// One hop's links after the other's: hops end at GPUs, what a hop passes through are switches.
using Way = std::vector<std::vector<LinkId>>;

class Ways {
 public:
  /// `problem` must outlive it.
  explicit Ways(const Problem& problem) : problem_(problem), routers_(problem) {}

  /// The links that join the two; if there are none, the ways of fewest links through switches only. Where none of them leads there, or a chunk or full sum (`whole`) is faster over
  /// other GPUs, the best ways over these (plan/router.hpp). At most kMostWays; empty if nothing joins the two.
  const std::vector<Way>& between(NodeId from, NodeId to, const Chunk& chunk, bool whole);

  /// That of them on whose links the least has been sent so far; the chunk is added to it. Precondition: there is one.
  const Way& take(NodeId from, NodeId to, const Chunk& chunk, bool whole);

 private:
  static constexpr std::size_t kMostWays = 16;
  std::vector<Way> through_switches(NodeId from, NodeId to) const;

  const Problem& problem_;
  Routers routers_;
  std::map<std::tuple<NodeId, NodeId, bool>, std::vector<Way>> known_;
  IdVector<LinkId, Time> busy_;
};

}  // namespace stellwerk::lower
