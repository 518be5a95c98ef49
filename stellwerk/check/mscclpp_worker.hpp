// A thread block of an MSCCL++ plan while it runs: where it is, and what its threads know.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "stellwerk/check/mscclpp_wiring.hpp"

namespace stellwerk::check {

/// A step of a block as it comes: those of pipelines once for every unit.
struct MscclppTurn {
  const MscclppStep* step = nullptr;
  int number = 0;  ///< of the step in the file
  int unit = -1;   ///< of a pipeline
};

/// `units`: of a chunk, for pipelines.
std::vector<MscclppTurn> mscclpp_turns(const MscclppBlock& block, int units);

struct MscclppWorker {
  std::uint32_t actor = 0;
  std::vector<MscclppTurn> turns;
  std::size_t at = 0;                  ///< next turn
  std::uint32_t events = 0;            ///< turns done, in all calls
  MscclppKnowledge all;                ///< what all threads know
  std::vector<MscclppKnowledge> some;  ///< what single ones have learnt from signals since
  MscclppKnowledge others;             ///< what any has learnt from packets since
  MscclppShared at_begin;
  bool arrived = false;  ///< at a barrier
  /// Which thread has used a channel since they last met: kind, channel, waits or not.
  std::map<std::tuple<std::size_t, int, bool>, std::size_t> threads;

  bool done() const { return at == turns.size(); }

  /// A call begins: all threads know `knows`.
  void begin(const MscclppKnowledge& knows, const MscclppShared& shared);
  /// All threads meet: what one has done or learnt, all know.
  void meet();
  /// What is known once the block is done.
  MscclppKnowledge at_end() const;
  /// What thread k learns.
  MscclppKnowledge& thread(std::size_t k);
  /// What a signal of thread k tells: all that was done before the threads last met, and what it has learnt itself.
  MscclppShared told(std::size_t k) const;
  /// Thread k uses a channel; false if another one has since they last met.
  bool take(std::size_t kind, int channel, bool waits, std::size_t k);
};

}  // namespace stellwerk::check
