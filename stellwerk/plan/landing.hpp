// How the sends of a plan with events end: what arrives where and when, what is lost, and what every
// node then holds.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/check/send_shapes.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"
#include "stellwerk/plan/network_state.hpp"

namespace stellwerk {

/// The fate of every send. Times in ps.
class Landing {
 public:
  static constexpr std::int64_t kNever = INT64_MAX;

  /// `state`: after all events. Keeps references to nothing.
  Landing(const Problem& problem, const Schedule& sends, const NetworkState& state);

  const SendShapes& shapes() const { return shapes_; }

  /// When the last byte reaches a leaf (an event of `shapes()`); kNever: it is lost on the way.
  std::int64_t arrival(std::size_t send, std::int32_t leaf) const {
    return lost(send, leaf) != kNever ? kNever : start_[send] + shapes_.offset(leaf);
  }
  /// When what goes to a leaf, or all that passes a link, is lost; kNever: it is not.
  std::int64_t lost(std::size_t send, std::int32_t event) const {
    const std::int32_t at = first_fate_[send];
    return at < 0 ? kNever
                  : fates_[static_cast<std::size_t>(at + event - shapes_.links(send).first)];
  }
  /// When a link of a send (an event of `shapes()`) is entered, and when it is free of it again.
  std::int64_t begin(std::size_t send, std::int32_t link) const {
    return start_[send] + shapes_.offset(link);
  }
  std::int64_t end(std::size_t send, std::int32_t link) const;
  /// When the send has left all links and reached all leaves.
  std::int64_t over(std::size_t send) const { return start_[send] + shapes_.last_arrival(send); }

 private:
  void find_fate(const Problem& problem, const Send& send, std::size_t number,
                 const NetworkState& state);

  SendShapes shapes_;
  std::vector<std::int64_t> start_;
  std::vector<std::int32_t> first_fate_;  // by send: where its events begin in fates_; -1: all well
  std::vector<std::int64_t> fates_;       // when lost
};

/// From when on a node holds a chunk, or a part of a sum. `at` may lie ahead.
struct Holding {
  NodeId node;
  Time at;
};

/// What becomes of one chunk when all sends have landed and none follows.
struct ChunkState {
  std::vector<Holding> holders;  ///< of all of it (the full sum), ascending by node
  /// A sum without holders: disjoint parts that make it up as far as it exists, ascending by node.
  std::vector<Holding> parts;
  std::vector<NodeId> missing;  ///< a sum without holders: contributors that are in none of `parts`
  bool gone = false;            ///< ... and one of them is nowhere else
  /// A sum: nodes with parts that count elsewhere already (shares leave such), and when the last of
  /// it is in. They cannot take in any part, and no copy before that.
  std::vector<Holding> surplus;
};

/// The state of every chunk. Shares can leave parts that overlap: of these, disjoint ones are
/// chosen, large ones first. `choice`: 0, or another number for another choice.
IdVector<ChunkId, ChunkState> land(const Problem& problem, const Schedule& sends,
                                   const Landing& landing, const NetworkState& state,
                                   std::uint64_t choice = 0);

}  // namespace stellwerk
