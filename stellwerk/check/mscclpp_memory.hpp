// The memory of all GPUs while an MSCCL++ plan runs: what every unit of every chunk holds, and who has touched it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "stellwerk/check/history.hpp"
#include "stellwerk/check/mscclpp_program.hpp"
#include "stellwerk/check/mscclpp_run.hpp"

namespace stellwerk::check {

/// Something that one actor did: a thread block, a port's proxy, or the caller between two calls.
struct MscclppEvent {
  std::uint32_t actor = 0, index = 0;
  friend auto operator<=>(const MscclppEvent&, const MscclppEvent&) = default;
};

/// What is certainly done: of some actors all events up to one, and single events besides.
class MscclppKnowledge {
 public:
  bool covers(const MscclppEvent& event) const;
  /// The first `count` events of the actor.
  void learn(std::uint32_t actor, std::uint32_t count);
  void learn(const MscclppEvent& event);
  void join(const MscclppKnowledge& other);

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> counts_;  ///< by actor
  std::vector<MscclppEvent> single_;                             ///< ascending
};

/// How an event touched a place: threads share the work by distance from where the operation begins.
struct MscclppTouch {
  MscclppEvent event{UINT32_MAX, 0};  ///< no actor: nobody has
  std::uint32_t distance = 0;         ///< units
  std::uint8_t stride = 0;            ///< which way of sharing
};

struct MscclppCell {
  /// Addends, sorted; nothing if nobody wrote.
  std::shared_ptr<const std::vector<std::uint32_t>> value;
  History::Id id = History::kNothing;  ///< of what it holds
  MscclppTouch writer;
  std::vector<MscclppTouch> readers;  ///< since then
  // If it holds a packet: of which call, and what its writer knew.
  std::uint32_t packet_of = 0;
  std::shared_ptr<const MscclppKnowledge> packet;
};

class MscclppMemory {
 public:
  /// Chunks are cut into as many units as pipelines and groups of thread blocks ask for.
  explicit MscclppMemory(const MscclppProgram& program);

  int units() const { return units_; }
  int calls() const { return program_.double_scratch ? 3 : 1; }

  /// Unit `unit` of what begins at chunk `offset`, counted through all its chunks; `call` from 1.
  MscclppCell& at(int gpu, char buffer, int offset, int unit, int call);

  /// The caller prepares a call: input is there, output is not, and both were touched by `event`.
  void prepare(int gpu, const MscclppEvent& event, History* history);

  /// The places that the caller touches between calls.
  std::pair<MscclppCell*, MscclppCell*> caller_cells(int gpu);

  /// What the unit of an output chunk must hold after the call; null for anything.
  std::shared_ptr<const std::vector<std::uint32_t>> promised(int gpu, int chunk, int unit) const;

  /// "chunk 3 of GPU 1 + ..."
  std::string text(const std::vector<std::uint32_t>* value) const;

  /// "s[3]"
  std::string place(int gpu, const MscclppCell& cell) const;

 private:
  std::uint32_t addend(int gpu, int chunk, int unit) const {
    return static_cast<std::uint32_t>((gpu * sizes_.input + chunk) * units_ + unit);
  }
  std::size_t shared_chunks() const;  ///< of input and output together

  const MscclppProgram& program_;
  MscclppSizes sizes_;
  int units_ = 1;
  std::vector<int> scratch_units_;  ///< that a chunk of scratch holds, one a GPU
  std::vector<std::vector<MscclppCell>>
      cells_;  ///< input, output (or one for both), scratch, second half of scratch
};

}  // namespace stellwerk::check
