// What tells thread blocks of an MSCCL++ plan apart in time: signals on channels, and semaphores of a GPU.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/check/mscclpp_memory.hpp"

namespace stellwerk::check {

using MscclppShared = std::shared_ptr<const MscclppKnowledge>;

struct MscclppSignal {
  MscclppShared knows;     ///< what its sender knew
  MscclppShared at_begin;  ///< what it knew when the call began
  bool relaxed = false;
};

class MscclppWiring {
 public:
  explicit MscclppWiring(const MscclppProgram& program);

  /// Signals that wait on a channel of the GPU. `kind`: 0 memory, 1 port.
  std::deque<MscclppSignal>& inbox(int gpu, std::size_t kind, int channel);

  /// Where a signal on a channel of the GPU goes: the k-th channel from A to B leads to the k-th from B to A. Null if there is none.
  std::deque<MscclppSignal>* other_end(int gpu, std::size_t kind, int channel);

  /// One entry for each time it can be acquired; null for those of the beginning.
  std::deque<MscclppShared>& semaphore(int gpu, int number);

  /// What the next call would find.
  std::optional<std::string> left_over() const;

 private:
  const MscclppProgram& program_;
  std::array<std::map<std::pair<int, int>, std::vector<int>>, 2> ends_;  ///< channels of a pair
  std::array<std::vector<std::vector<std::deque<MscclppSignal>>>, 2> signals_;  ///< GPU, channel
  std::vector<std::vector<std::deque<MscclppShared>>> semaphores_;
};

}  // namespace stellwerk::check
