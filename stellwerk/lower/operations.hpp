// What every rank does, in an order in which it may do it: sends, receives and local work on places of its buffers, with what each has
// to wait for.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "stellwerk/lower/buffers.hpp"
#include "stellwerk/lower/transfers.hpp"

namespace stellwerk::lower {

struct Operation {
  enum class Kind : std::uint8_t {
    send,            ///< sends `source`
    receive,         ///< `target` = what arrives
    receive_reduce,  ///< `target` = `source` + what arrives
    reduce,          ///< `target` = `target` + `source`
    copy,            ///< `target` = `source`
  };
  Kind kind = Kind::copy;
  int peer = -1;             ///< rank at the other end, of sends and receives
  std::size_t transfer = 0;  ///< which transfer, of sends and receives
  Place source, target;
  /// Place in the order of all operations of all ranks: time, then local work before transfers, then the transfer. Both ends of a
  /// transfer have the same key.
  std::tuple<std::int64_t, int, std::size_t> key;
  /// Operations of the same rank, by position, that must be done first; ascending. Not reduced.
  std::vector<std::size_t> after;

  bool sends() const { return kind == Kind::send; }
  bool receives() const { return kind == Kind::receive || kind == Kind::receive_reduce; }
};

struct RankOperations {
  std::vector<Operation> operations;  ///< by key
  int scratch = 0;                    ///< chunks of scratch
};

/// One list a rank. If every rank does its operations in this order (or in any that keeps `after` and the order on each
/// connection by key), the outcome is the plan's, and no two ranks ever wait for each other in a circle, even where a sender
/// waits for its receiver: whoever has the smallest key of all that is left can go on.
std::vector<RankOperations> operations(const Problem& problem,
                                       const std::vector<Transfer>& transfers,
                                       const Buffers& buffers);

}  // namespace stellwerk::lower
