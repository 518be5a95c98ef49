// What travels between nodes in a program's history, hop by hop: sends without times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/check/history.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk::lower {

/// One hop of one chunk.
struct Move {
  /// Stands for what the sender has from the start, in `parts`.
  static constexpr std::int32_t kOwn = -1;

  ChunkId chunk;
  NodeId from, to;
  std::vector<LinkId> links;
  bool whole = true;                ///< the chunk, or its full sum
  Op op = Op::copy;                 ///< of partial sums: see order_moves
  std::vector<std::int32_t> parts;  ///< ascending: the moves that brought it to the sender
  check::History::Step step;        ///< of the program
  bool begins = true;               ///< first hop of a transfer
};

struct Moves {
  std::vector<Move> list;  ///< in the order in which the program was run
  /// What nodes have in the end because somebody wants it, of sums: moves, or kOwn.
  std::map<std::pair<ChunkId, NodeId>, std::vector<std::int32_t>> kept;
  std::size_t forwarded = 0;  ///< transfers of several hops
  std::size_t left_out = 0;   ///< transfers that are no moves, since nothing depends on them
};

/// Which chunk of the problem a rank's piece of input is, or part of; nothing for what never has to leave it.
using ChunkOfPiece = std::function<std::optional<ChunkId>(int rank, int piece)>;

/// The moves of a program that is right. With `waste`, also transfers on which nothing depends, where they bring a chunk or a full sum. Throws
/// Error(unreadable_input) that begins with `file`: GPUs that nothing joins, and operations of switches.
Moves moves_of(const check::History& history, const Problem& problem, const ChunkOfPiece& chunk_of,
               bool waste, const std::string& file);

/// A round for every move, as early as it can be, and as late as it can be while the last round stays.
struct Rounds {
  std::vector<std::int64_t> early, late;
};

/// Says of every partial sum whether the sender keeps it, and gives every move a round, so that moves of one round may begin together and
/// end before the next begins: what each sender then has is what the program sent. Throws Error(unreadable_input) that begins with `file` where
/// no such order is, with the step.
Rounds order_moves(const Problem& problem, Moves& moves, const std::string& file);

}  // namespace stellwerk::lower
