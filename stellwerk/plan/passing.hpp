// Which nodes a planner may lead a chunk through, and whether there is room where it passes.
#pragma once

#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// May `node` forward a chunk of `job` that it neither owns nor wants? It must be allowed to
/// (Problem::may_forward), and its transit buffer must have room for the chunk.
inline bool may_pass(const Problem& problem, NodeId node, JobId job, Bytes bytes) {
  const auto& buffer = problem.topology.node(node).buffer;
  return (!buffer || *buffer >= bytes) && problem.may_forward(node, job);
}

/// Does any node limit the data in transit?
inline bool has_buffer_limits(const Topology& topology) {
  for (const Node& node : topology.nodes()) {
    if (node.buffer) return true;
  }
  return false;
}

/// Do the sends, with their starts, keep all transit buffers? A chunk fills one from its first byte
/// in to the end of its last send out. Planners that do not plan for buffers ask before they offer
/// a plan; the verifier has its own code.
bool keeps_buffers(const Problem& problem, const Schedule& sends);

/// The same sends with each chunk's moved behind those of the chunk before it: never two chunks in
/// one buffer. The last resort. Precondition: `sends` is causal.
Schedule one_chunk_after_the_other(const Problem& problem, Schedule sends);

}  // namespace stellwerk
