// From when on each node holds one chunk: what causality and the finish are judged by.
//
// A chunk of data is easy, because nobody ever loses it: a node holds it from the earliest instant
// at which all its bytes have arrived, whatever happens later. Sends last at least 1 ps, so times
// strictly increase along the sends that brought a chunk to a node, and it is enough to compare
// every send's start with the earliest time at its source: no circle of nodes can vouch for each
// other.
//
// A sum is a story: sets of contributors move, merge and are copied, and whether a send is right
// depends on what its source has at that instant. So the sends of the chunk are replayed in order
// of time with the set of every node that is touched. At one instant, copies arrive first, then
// partial sums are merged, then sends start: those that leave the sender's set as it is before
// those that take it away. (A send may start at the instant at which what it needs arrives. A copy
// and a partial sum that arrive together are refused as a partial sum that comes after a copy is.)
//
// Events (changes.hpp): what is lost never arrives. A node that is lost has nothing any more; what it
// holds of data then comes in *spells*, from an arrival to a loss. When a reduce reaches nobody, its
// senders get back what they had given away, unless they are lost themselves. At one instant this
// comes after arrivals and before starts. Pieces on either side of the failure of one of their links
// are different moves, and a failure excuses a move that is not complete.
//
// Cost: data O(k) for k whole sends, O(k log k) with byte ranges; sums O(k log k + k n / 64) for n
// contributors. Memory: that of one chunk's sends. Held to its word by verify_test.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "stellwerk/check/byte_cover.hpp"
#include "stellwerk/check/flights.hpp"

namespace stellwerk::check {

/// Judges the sends of one chunk after the other; reuses its memory.
class Holds {
 public:
  Holds(const Problem& problem, const Flights& flights);

  /// Replays the sends of `chunk` (`sends` in ascending order): not_held and merged_twice, and for
  /// sums malformed_send when byte ranges do not make up whole sends.
  Judgement judge(ChunkId chunk, std::span<const std::uint32_t> sends);

  /// Of the chunk judged last: since when `node` holds it (the full sum), to the end of the plan.
  std::optional<std::int64_t> since(NodeId node) const;

  /// Of the chunk judged last, why `node` does not hold it: "it gets 3 of 8 contributors".
  std::string lacking(NodeId node) const;

 private:
  static constexpr std::int64_t kNever = INT64_MAX;

  /// What a node has of the chunk that is judged; meaningful if `chunk` is that chunk.
  struct State {
    ChunkId chunk;
    std::int64_t since = kNever;  // holds all of it since
    std::uint32_t slot = 0;       // sums: position of its set in sets_
    std::int32_t size = 0;        // sums: contributors in its set
    std::int32_t cover = -1;      // sums: position in covers_, if a copy has arrived in part
  };

  /// A byte range that arrives.
  struct Piece {
    NodeId node;
    std::int64_t at;
    std::int64_t begin;
    std::int64_t end;
  };

  /// A time during which a node that is lost at some time holds a chunk of data.
  struct Spell {
    NodeId node;
    std::int64_t since;
    std::int64_t until;
  };

  /// A reduce or share as a whole: one send, or the pieces that make it up.
  struct Move {
    std::uint32_t first;  // positions in members_
    std::uint32_t last;
    Op op;
    std::int64_t excuse = kNever;  // not all of its pieces are there because of an event then
  };

  /// In the order in which they count at one instant.
  enum class Step : std::uint8_t {
    copy_arrives,
    merge,
    loss,
    recovery,
    copy_starts,
    share_starts,
    reduce_starts,
  };
  struct Event {
    std::int64_t at;
    Step step;
    NodeId node;
    std::uint32_t item;  // of a copy: the send; else: position in moves_
  };

  State& state(NodeId node);
  const State* known(NodeId node) const;

  Judgement judge_data(std::span<const std::uint32_t> sends);
  void find_spells();
  bool holds_at(NodeId node, std::int64_t instant) const;
  bool ever_lost(NodeId node) const { return !flights_.changes().losses(node).empty(); }
  Judgement judge_sum(std::span<const std::uint32_t> sends);
  Judgement gather_moves(std::span<const std::uint32_t> sends);
  std::int64_t end_of_pieces(std::uint32_t first_piece) const;
  void add_move_events();
  void add_losses();
  void lose(NodeId node);
  Judgement recover(const Event& event);
  Judgement apply(const Event& event);
  Judgement copy_starts(const Event& event);
  void copy_arrives(const Event& event);
  Judgement move_starts(const Event& event);
  Judgement merge(const Event& event);
  void becomes_full(State& state, std::int64_t at);
  Judgement not_held(std::uint32_t send, const std::string& why) const;
  /// Adds `from` to `to`; `where` is the place for the message when they have a contributor in
  /// common.
  Judgement unite(std::span<std::uint64_t> to, std::span<const std::uint64_t> from,
                  const Event& event, const std::string& where) const;

  std::span<std::uint64_t> node_set(const State& state) {
    return std::span(sets_).subspan(state.slot * words_, words_);
  }
  std::span<std::uint64_t> move_set(std::uint32_t move) {
    return std::span(in_flight_).subspan(move * words_, words_);
  }
  std::int32_t contributors() const {
    return static_cast<std::int32_t>(problem_.chunks[chunk_].contributors.size());
  }

  const Problem& problem_;
  const Flights& flights_;
  Names names_;
  ChunkId chunk_;  // the one that is judged
  IdVector<NodeId, State> states_;
  std::vector<Piece> pieces_;
  std::vector<Spell> spells_;  // by node

  // Sums.
  std::size_t words_ = 0;                 // of a set
  std::vector<std::uint64_t> sets_;       // of nodes, by State::slot
  std::vector<std::uint64_t> in_flight_;  // of moves, by position
  std::vector<std::uint32_t> members_;    // sends of moves, move by move
  std::vector<Move> moves_;
  std::vector<Event> events_;
  std::vector<ByteCover> covers_;  // copies that have arrived in part, by State::cover
  /// What the senders of moves that are lost had given away, by move and sender.
  std::map<std::pair<std::uint32_t, NodeId>, std::vector<std::uint64_t>> shadows_;
};

}  // namespace stellwerk::check
