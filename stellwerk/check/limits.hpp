// Everything that has a limit at every instant: links, injection and ejection, transit buffers,
// multicast groups.
//
// What counts where is in docs/model.md, "Limits"; load.hpp does the sweeping.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stellwerk/check/flights.hpp"
#include "stellwerk/check/quotient.hpp"

namespace stellwerk::check {

/// The sends of every chunk, in ascending order.
class ByChunk {
 public:
  explicit ByChunk(const Problem& problem, const Schedule& sends);
  std::span<const std::uint32_t> operator[](ChunkId chunk) const {
    return std::span(sends_).subspan(begin_[chunk.index()],
                                     begin_[chunk.index() + 1] - begin_[chunk.index()]);
  }

 private:
  std::vector<std::uint32_t> begin_, sends_;
};

// What is judged is `flights` with all their images under `quotient`.

/// link_capacity: the rates on a link against its bandwidth.
Judgement judge_links(const Problem& problem, const Flights& flights, const Quotient& quotient);

/// node_capacity: injection and ejection.
Judgement judge_nodes(const Problem& problem, const Flights& flights, const Quotient& quotient);

/// buffer: bytes of chunks in transit.
Judgement judge_buffers(const Problem& problem, const Flights& flights, const ByChunk& by_chunk,
                        const Quotient& quotient);

/// groups: multicast sends in progress at a switch.
Judgement judge_groups(const Problem& problem, const Flights& flights, const Quotient& quotient);

}  // namespace stellwerk::check
