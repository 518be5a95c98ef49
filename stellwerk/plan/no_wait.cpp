// No-wait scheduling: what leaves an origin together with all that follows from it is one rigid block, placed at the
// first instant at which all of its windows are free. Blocks are placed in the order of their nominal starts.
// Held to its word by: plan/no_wait_test.cpp.
#include "stellwerk/plan/no_wait.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "stellwerk/plan/reservations.hpp"

namespace stellwerk {
namespace {

/// Sends with starts relative to that of the first.
struct Block {
  Time nominal;
  Time ready;
  std::vector<Send> sends;
};

/// Splits the sends of one chunk (in order of start) into blocks.
std::vector<Block> blocks_of(const Topology& topology, const Chunk& chunk,
                             const std::vector<Send>& sends) {
  std::vector<Block> blocks;
  std::map<NodeId, std::pair<std::size_t, Time>> reached;  // by which block, when within it
  for (const Send& send : sends) {
    const NodeId from = topology.link(send.links.front()).from;
    Send relative = send;
    std::size_t block = blocks.size();
    const auto& origins = chunk.origins;
    if (std::find(origins.begin(), origins.end(), from) != origins.end()) {
      blocks.push_back({send.start, chunk.ready, {}});
      relative.start = Time{0};
    } else {
      const auto arrival = reached.find(from);
      if (arrival == reached.end()) continue;  // not causal in this order: it never could be sent
      std::tie(block, relative.start) = arrival->second;
    }
    const SendTiming times = timing(topology, relative);
    for (std::size_t i = 0; i < times.leaves.size(); ++i) {
      reached.emplace(times.leaves[i], std::pair(block, relative.start + times.arrival[i]));
    }
    blocks[block].sends.push_back(std::move(relative));
  }
  return blocks;
}

/// Everything a block occupies; nothing when it is in its own way.
std::optional<Footprint> footprint_of(const Topology& topology, const Block& block) {
  Reservations alone(topology);
  Footprint whole;
  for (const Send& send : block.sends) {
    const Footprint part = alone.footprint(send);
    if (!alone.fits(part, send.start)) return std::nullopt;
    alone.add(part, send.start);
    for (Occupation item : part) {
      item.offset += send.start;
      whole.push_back(item);
    }
  }
  return whole;
}

}  // namespace

std::optional<Schedule> without_waiting(const Problem& problem, const Schedule& sends) {
  const Topology& topology = problem.topology;
  Schedule ordered = sends;
  sort_sends(topology, ordered);
  IdVector<ChunkId, std::vector<Send>> by_chunk(problem.chunks.size());
  for (const Send& send : ordered) by_chunk[send.chunk].push_back(send);
  std::vector<Block> blocks;
  for (const ChunkId id : problem.chunk_ids()) {
    for (Block& block : blocks_of(topology, problem.chunks[id], by_chunk[id])) {
      blocks.push_back(std::move(block));
    }
  }
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const Block& a, const Block& b) { return a.nominal < b.nominal; });
  Reservations reservations(topology);
  Schedule result;
  for (const Block& block : blocks) {
    const std::optional<Footprint> footprint = footprint_of(topology, block);
    if (!footprint) return std::nullopt;
    const Time start = reservations.earliest(*footprint, block.ready);
    reservations.add(*footprint, start);
    for (Send send : block.sends) {
      send.start += start;
      result.push_back(std::move(send));
    }
  }
  if (result.size() != sends.size()) return std::nullopt;
  sort_sends(topology, result);
  return result;
}

}  // namespace stellwerk
