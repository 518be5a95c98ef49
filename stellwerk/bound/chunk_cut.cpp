// Problem: chunks that move whole take more than their share of the bandwidth: the last chunk that
// enters a set has still to be stored and forwarded to the farthest GPU, a link lets whole chunks
// through one after the other and cannot start before its tail has one. Idea: each entry link has
// slots, the k-th of them over at a time that the releases of the chunks at its tail, its bandwidth
// and the way that remains dictate; the bound is the N-th smallest slot of all entry links, if N
// chunks must enter. Definition and proof: docs/certificates.md, "chunk_cut".
// Cost: entry links * counted blocks * distinct bandwidths for each certificate; a large problem
// tries the sets that ask for most bandwidth first and stops after a fixed amount of work. Besides,
// shortest paths from every source and to every target computed once for each chunk size. Held to
// its word by chunk_cut_test.cpp (values by hand) and bound_test.cpp (never above the optimum of an
// exhaustive search over whole-chunk schedules).
#include "stellwerk/bound/chunk_cut.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <queue>

#include "stellwerk/bound/least.hpp"
#include "stellwerk/bound/slots.hpp"

namespace stellwerk::bound {
namespace {

using graph::kUnreachable;

constexpr std::size_t kMostSizes = 6;
constexpr std::size_t kMostLevels = 6;

std::int64_t smallest_size(const BlockList& blocks, const Demand& demand, std::int64_t at_least) {
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
  for (const std::size_t i : blocks) {
    const Block& block = demand.block(i);
    for (std::int32_t k = 0; k < block.count; ++k) {
      if (block.size(k) >= at_least) smallest = std::min(smallest, block.size(k));
    }
  }
  return smallest;
}

/// Sizes worth a threshold: all chunks, and some of the larger ones if sizes really differ.
std::vector<std::pair<std::int64_t, ChunkId>> size_thresholds(const BlockList& blocks,
                                                              const Demand& demand) {
  std::map<std::int64_t, ChunkId> sizes;
  for (const std::size_t i : blocks) {
    const Block& block = demand.block(i);
    for (std::int32_t k = 0; k < block.count; ++k) {
      sizes.try_emplace(block.size(k), ChunkId(block.id.value + k));
    }
  }
  std::vector<std::pair<std::int64_t, ChunkId>> all(sizes.begin(), sizes.end());
  if (all.empty() || all.back().first - all.front().first <= 1) return {};
  const std::size_t count = std::min(all.size(), kMostSizes);
  std::vector<std::pair<std::int64_t, ChunkId>> result;
  for (std::size_t k = 0; k < count; ++k) result.push_back(all[k * all.size() / count]);
  return result;
}

/// The nodes at the largest distance, those at the two largest, and so on; not all.
std::vector<std::vector<NodeId>> farthest_first(const std::map<NodeId, std::int64_t>& distance) {
  std::map<std::int64_t, std::vector<NodeId>, std::greater<>> levels;
  for (const auto& [node, away] : distance) levels[away].push_back(node);
  std::vector<std::vector<NodeId>> result;
  std::vector<NodeId> so_far;
  for (const auto& [away, nodes] : levels) {
    so_far.insert(so_far.end(), nodes.begin(), nodes.end());
    if (so_far.size() == distance.size() || result.size() == kMostLevels) break;
    std::vector<NodeId> level = so_far;
    std::sort(level.begin(), level.end());
    result.push_back(std::move(level));
  }
  return result;
}

}  // namespace

ChunkCutSearch::ChunkCutSearch(const Network& network, const Demand& demand)
    : network_(network), demand_(demand) {}

const WholeChunkTimes& ChunkCutSearch::times(std::int64_t bytes) const {
  std::unique_ptr<WholeChunkTimes>& entry = times_[bytes];
  if (!entry) entry = std::make_unique<WholeChunkTimes>(network_, Bytes{bytes});
  return *entry;
}

std::optional<Time> ChunkCutSearch::value(const Certificate& certificate) const {
  Counted count = counted(certificate, demand_);
  const std::int64_t at_least = [&] {
    if (!certificate.chunk) return std::int64_t{0};
    for (const Block& block : demand_.blocks()) {
      const std::int32_t offset = certificate.chunk->value - block.id.value;
      if (offset >= 0 && offset < block.count) return block.size(offset);
    }
    return std::int64_t{0};
  }();
  return value(count, network_.entries(count.set), at_least);
}

std::optional<Time> ChunkCutSearch::value(const Counted& count, const std::vector<LinkId>& links,
                                          std::int64_t at_least) const {
  if (count.blocks.empty() || links.empty()) return std::nullopt;
  const std::int64_t bytes = smallest_size(count.blocks, demand_, at_least);
  if (bytes == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  const WholeChunkTimes& whole = times(bytes);
  const Topology& topology = network_.topology();
  const std::vector<std::int64_t>& bandwidths = network_.bandwidths();
  const std::size_t n = network_.nodes();

  // Chunks that remain counted, by block.
  BlockList blocks;
  std::vector<std::int64_t> chunks;
  Int128 all_bytes = 0;
  std::int64_t all_chunks = 0;
  NodeSet destination(n, false);
  for (const std::uint32_t i : count.blocks) {
    const Block& block = demand_.block(i);
    std::int64_t number = 0;
    for (std::int32_t k = 0; k < block.count; ++k) {
      if (block.size(k) < at_least) continue;
      ++number;
      all_bytes += block.size(k);
    }
    if (number == 0) continue;
    blocks.push_back(i);
    chunks.push_back(number);
    all_chunks += number;
    for (const NodeId node : block.chunk->destinations) destination[node.index()] = true;
  }

  work_ += static_cast<std::int64_t>(n + links.size() * bandwidths.size() *
                                             (blocks.size() + count.wanting.size()));

  // To the nearest target.
  std::vector<const std::vector<std::int64_t>*> lasts;
  for (const NodeId node : count.wanting) {
    if (destination[node.index()]) lasts.push_back(&whole.last(node));
  }
  const auto last = [&](std::size_t layer, NodeId node) {
    std::int64_t least_time = kUnreachable;
    for (const auto* values : lasts) {
      least_time = std::min(least_time, (*values)[layer * n + node.index()]);
    }
    return least_time;
  };

  std::vector<Slots> slots;
  std::vector<Gate> gates_by_bytes;
  std::vector<std::int64_t> rest_in_layer;
  for (const LinkId id : links) {
    const Link& link = topology.link(id);
    const std::int64_t bandwidth = link.bandwidth.bytes_per_second;
    const std::int64_t last_0 = last(0, link.to);
    if (last_0 >= kUnreachable) continue;
    const std::int64_t rest = link.latency.ps + last_0;
    rest_in_layer.clear();
    for (std::size_t k = 0; k < bandwidths.size() && bandwidths[k] <= bandwidth; ++k) {
      rest_in_layer.push_back(
          std::min(last(k, link.to) + whole.transmission(k) + link.latency.ps, kUnreachable));
    }
    std::vector<Group> releases, gates;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Block& block = demand_.block(blocks[i]);
      std::int64_t release = kUnreachable, gate = kUnreachable;
      for (const NodeId source : block.sources()) {
        if (!count.outside[source.index()]) continue;
        const std::vector<std::int64_t>& first = whole.first(source);
        release = std::min(release, first[link.from.index()]);
        for (std::size_t k = 0; k < rest_in_layer.size(); ++k) {
          gate = std::min(gate, first[k * n + link.from.index()] + rest_in_layer[k]);
        }
      }
      const std::int64_t ready = block.chunk->ready.ps;
      if (release >= kUnreachable || gate >= kUnreachable) continue;
      releases.push_back({release + ready, chunks[i]});
      gates.push_back({gate + ready, chunks[i]});
    }
    if (releases.empty()) continue;
    const std::int64_t opens = std::min_element(releases.begin(), releases.end())->time;
    gates_by_bytes.push_back({bandwidth, opens + rest});
    slots.emplace_back(std::move(releases), std::move(gates), bandwidth, rest, bytes);
  }

  const std::int64_t by_count = nth_slot(slots, all_chunks);
  if (by_count >= kUnreachable) return std::nullopt;
  const std::optional<Time> by_bytes = least(std::move(gates_by_bytes), all_bytes);
  if (!by_bytes) return std::nullopt;
  return std::max(Time{by_count}, *by_bytes);
}

std::int64_t ChunkCutSearch::longest_way() const {
  if (longest_way_ >= 0) return longest_way_;
  const WholeChunkTimes& whole = times(demand_.largest_chunk());
  longest_way_ = 0;
  for (const NodeId target : demand_.wanting()) {
    const std::vector<std::int64_t>& to = whole.last(target);
    for (const std::size_t i : demand_.wanted_by(target)) {
      const Block& block = demand_.block(i);
      for (const NodeId source : block.sources()) {
        if (to[source.index()] >= kUnreachable) continue;
        longest_way_ = std::max(longest_way_, to[source.index()] + block.chunk->ready.ps);
      }
    }
  }
  return longest_way_;
}

void ChunkCutSearch::search_ways(const StopCondition& stop, Best& best) const {
  // The largest chunks first, and only so many sizes: each has its own shortest paths.
  std::map<std::int64_t, BlockList, std::greater<>> by_size;
  for (std::uint32_t i = 0; i < demand_.blocks().size(); ++i) {
    const Block& block = demand_.block(i);
    by_size[block.size(block.largest())].push_back(i);
  }
  std::size_t sizes = 0;
  for (const auto& [size, blocks] : by_size) {
    if (++sizes > kMostSizes) return;
    const WholeChunkTimes& whole = times(size);
    for (const std::size_t i : blocks) {
      if (stop.should_stop()) return;
      const Block& block = demand_.block(i);
      const bool sum = block.chunk->is_reduction();
      for (const NodeId target : block.chunk->destinations) {
        const std::vector<std::int64_t>& to = whole.last(target);
        const auto closer = [&](NodeId a, NodeId b) { return to[a.index()] < to[b.index()]; };
        const auto& sources = block.sources();
        const NodeId source = sum ? *std::max_element(sources.begin(), sources.end(), closer)
                                  : *std::min_element(sources.begin(), sources.end(), closer);
        const std::int64_t way = to[source.index()];
        if (way == 0 || way >= kUnreachable) continue;
        if (block.chunk->ready + Time{way} <= best.value()) continue;
        Certificate certificate;
        certificate.kind = Certificate::Kind::chunk_cut;
        certificate.set = {target};
        certificate.target = target;
        certificate.from = sum ? std::vector{source} : block.chunk->origins;
        std::sort(certificate.from.begin(), certificate.from.end());
        best.offer(value(certificate), certificate);
        certificate.chunk = ChunkId(block.id.value + block.largest());
        best.offer(value(certificate), certificate);
      }
    }
  }
}

std::vector<std::vector<NodeId>> ChunkCutSearch::far_sources(
    const Counted& count, const std::vector<LinkId>& links) const {
  if (count.blocks.empty()) return {};
  const WholeChunkTimes& whole = times(smallest_size(count.blocks, demand_, 0));
  std::map<NodeId, std::int64_t> way;
  for (const std::size_t i : count.blocks) {
    for (const NodeId source : demand_.block(i).sources()) {
      if (!count.outside[source.index()] || way.contains(source)) continue;
      const std::vector<std::int64_t>& first = whole.first(source);
      std::int64_t least_time = kUnreachable;
      for (const LinkId id : links) {
        const Link& link = network_.topology().link(id);
        std::int64_t rest = kUnreachable;
        for (const NodeId target : count.wanting) {
          rest = std::min(rest, whole.last(target)[link.to.index()]);
        }
        least_time = std::min(least_time, first[link.from.index()] + link.latency.ps + rest);
      }
      way[source] = least_time;
    }
  }
  return farthest_first(way);
}

std::vector<std::vector<NodeId>> ChunkCutSearch::far_targets(const std::vector<NodeId>& wanting,
                                                             const std::vector<LinkId>& links,
                                                             std::int64_t bytes) const {
  const WholeChunkTimes& whole = times(bytes);
  std::map<NodeId, std::int64_t> way;
  for (const NodeId target : wanting) {
    std::int64_t least_time = kUnreachable;
    for (const LinkId id : links) {
      const Link& link = network_.topology().link(id);
      least_time = std::min(least_time, link.latency.ps + whole.last(target)[link.to.index()]);
    }
    way[target] = least_time;
  }
  return farthest_first(way);
}

Time ChunkCutSearch::transfer_time(const CandidateSet& candidate) const {
  std::vector<Gate> gates;
  for (const LinkId id : network_.entries(candidate.set)) {
    gates.push_back({network_.topology().link(id).bandwidth.bytes_per_second, 0});
  }
  const Demand::Inflow inflow = demand_.inflow(candidate.set, candidate.target);
  if (gates.empty() || inflow.blocks.empty()) return Time{};
  std::int64_t bytes = 0;
  for (const std::size_t i : inflow.blocks) bytes += demand_.block(i).bytes;
  return least(std::move(gates), bytes).value_or(Time{});
}

void ChunkCutSearch::search_set(const CandidateSet& candidate, Best& best) const {
  const NodeSet& set = candidate.set;
  const std::vector<LinkId> links = network_.entries(set);
  if (links.empty()) return;
  const Demand::Inflow inflow = demand_.inflow(set, candidate.target);
  if (inflow.blocks.empty()) return;
  std::int64_t fastest = 0;
  for (const LinkId id : links) {
    fastest = std::max(fastest, network_.topology().link(id).bandwidth.bytes_per_second);
  }
  std::int64_t all_bytes = 0;
  for (const std::size_t i : inflow.blocks) all_bytes += demand_.block(i).bytes;
  const std::int64_t largest = demand_.largest_chunk();
  NodeSet outside = set;
  outside.flip();

  Certificate base;
  base.kind = Certificate::Kind::chunk_cut;
  base.set = members(set);
  const auto count_again = [&](const Certificate& certificate) {
    Counted count = counted(certificate, demand_);
    for (const std::size_t i : count.blocks) {
      work_ += static_cast<std::int64_t>(demand_.block(i).chunk->destinations.size());
    }
    return count;
  };
  const auto offer_all_sources = [&](const Counted& count, const Certificate& certificate) {
    best.offer(value(count, links, 0), certificate);
    for (const auto& [size, chunk] : size_thresholds(count.blocks, demand_)) {
      Certificate of_size = certificate;
      of_size.chunk = chunk;
      best.offer(value(count, links, size), of_size);
    }
  };
  const auto offer = [&](const Counted& count, const Certificate& certificate) {
    if (exhausted()) return;
    offer_all_sources(count, certificate);
    for (std::vector<NodeId>& from : far_sources(count, links)) {
      Certificate from_far = certificate;
      from_far.from = std::move(from);
      offer_all_sources(count_again(from_far), from_far);
    }
  };
  // Worth a look only if the bandwidth term, one more chunk and the longest way together might do.
  const auto hopeless = [&](std::int64_t amount) {
    std::vector<Gate> gates;
    for (const LinkId id : links) {
      gates.push_back({network_.topology().link(id).bandwidth.bytes_per_second, 0});
    }
    const std::optional<Time> transfer = least(std::move(gates), amount);
    return !transfer || *transfer + transmission_time(Bytes{largest}, Bandwidth{fastest}) +
                                Time{longest_way()} <=
                            best.value();
  };
  const std::vector<NodeId>& wanting = inflow.wanting;
  if (wanting.size() > 1 && !hopeless(all_bytes)) {
    offer({set, inflow.blocks, wanting, outside}, base);
    for (std::vector<NodeId>& to : far_targets(wanting, links, largest)) {
      Certificate to_far = base;
      to_far.to = std::move(to);
      offer(count_again(to_far), to_far);
    }
  }
  for (std::size_t k = 0; k < wanting.size(); ++k) {
    const NodeId node = wanting[k];
    if (exhausted()) return;
    if (hopeless(inflow.bytes[k])) continue;
    BlockList blocks;
    const BlockSpan wanted = demand_.wanted_by(node);
    std::set_intersection(inflow.blocks.begin(), inflow.blocks.end(), wanted.begin(), wanted.end(),
                          std::back_inserter(blocks));
    base.target = node;
    offer({set, std::move(blocks), {node}, outside}, base);
  }
}

}  // namespace stellwerk::bound
