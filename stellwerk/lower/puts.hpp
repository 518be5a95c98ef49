// What every rank does with every chunk where data are put straight into the memory of others: one-sided runtimes. Nobody receives; whoever
// needs what was put waits for a signal.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "stellwerk/lower/buffers.hpp"
#include "stellwerk/lower/transfers.hpp"

namespace stellwerk::lower {

struct Action {
  enum class Kind : std::uint8_t {
    await,   ///< until `peer` has put the next chunk and said so
    reduce,  ///< `target` = sum of `sources`
    copy,    ///< `target` = `sources[0]`
    put,     ///< `target` at `peer` = `sources[0]`, and say so
  };
  Kind kind = Kind::copy;
  std::int64_t time = 0;      ///< in ps; negative: before anybody may put
  int peer = -1;              ///< rank, of await and put
  std::size_t transfer = 0;   ///< of await and put
  std::int64_t put_time = 0;  ///< of await: the time of the put
  std::vector<Place> sources;
  Place target;

  /// The order of a rank's actions: time; at one instant waits, then local work, then puts.
  friend bool operator<(const Action& a, const Action& b) {
    return std::tuple(a.time, phase(a.kind), a.transfer) <
           std::tuple(b.time, phase(b.kind), b.transfer);
  }

 private:
  static int phase(Kind kind) { return kind == Kind::await ? 0 : kind == Kind::put ? 2 : 1; }
};

/// Chunks that share places at some rank, and what every rank does with them, in order. Groups have no place in common.
struct ActionGroup {
  std::map<int, std::vector<Action>> of_rank;
};

struct Puts {
  std::vector<ActionGroup> groups;  ///< by when they begin
  std::vector<int> scratch;         ///< chunks, one a rank
};

/// Every place is written by one rank only, and by another only before it is ever used; so a put never has to wait for its
/// receiver, but for the receiver's having begun the call. Precondition: every transfer takes time.
Puts puts(const Problem& problem, const std::vector<Transfer>& transfers, const Buffers& buffers);

}  // namespace stellwerk::lower
