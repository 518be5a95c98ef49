#include "stellwerk/check/finding.hpp"

namespace stellwerk::check {

std::string Names::chunk(ChunkId id) const {
  const Chunk& chunk = problem_.chunks[id];
  return "chunk " + std::to_string(id.value) + " (of " + node(chunk.owner) + ", job '" +
         problem_.jobs[chunk.job.index()].name + "')";
}

std::string Names::send(const Send& send) const {
  return chunk(send.chunk) + " over " + link(send.links.front()) + " at " +
         to_exact_string(send.start);
}

}  // namespace stellwerk::check
