// Problem: chunk_cut.cpp needs the way of a whole chunk from every source, a search each. Idea: a
// cut that binds has few entry links. Two searches backwards from each of them, one for when bytes
// can enter it and one for when a chunk that uses it can be at a destination, serve all sources.
// Guarantee: what is offered is evaluated exactly as docs/certificates.md defines it. Cost: two
// searches (over bandwidths * nodes) for each entry link and chunk size, and entry links * counted
// chunks for each certificate; kMostWork in all. Held to its word by main_cuts_test.cpp, against
// chunk_cut.cpp and the checker.
#include "stellwerk/bound/main_chunk_cuts.hpp"

#include <algorithm>
#include <limits>

#include "stellwerk/bound/least.hpp"
#include "stellwerk/bound/slots.hpp"

namespace stellwerk::bound {
namespace {

using graph::kUnreachable;

constexpr std::int64_t kMostWork = 4'000'000;
constexpr std::int64_t kMostEffort = 2'000'000;  // images of one certificate
constexpr std::size_t kMostEntries = 64;
constexpr std::size_t kMostSizes = 4;
constexpr std::size_t kMostLevels = 3;
constexpr std::size_t kMostWays = 48;

std::vector<Group> groups(const std::map<std::int64_t, std::int64_t>& chunks_at) {
  std::vector<Group> result;
  for (const auto& [time, chunks] : chunks_at) result.push_back({time, chunks});
  return result;
}

}  // namespace

/// The cuts into one set for one target, or for some of the nodes in it.
class MainChunkCuts::Cut {
 public:
  Cut(const MainChunkCuts& search, const NodeSet& set, std::optional<NodeId> target,
      const NodeSet* to)
      : search_(search),
        network_(search.network_),
        images_(search.images_),
        set_(set),
        target_(target),
        to_(to),
        links_(network_.entries(set)) {}

  bool tractable() const {
    return !links_.empty() && links_.size() <= kMostEntries &&
           images_.effort({&set_, target_, nullptr, to_}) <= kMostEffort;
  }

  /// `from`: absent: everything outside; only chunks of at least `at_least` bytes.
  std::optional<Time> value(const NodeSet* from, std::int64_t at_least) const;

  /// Distinct chunk sizes that count, if they really differ: at most kMostSizes, with a chunk of
  /// each.
  std::vector<std::pair<std::int64_t, ChunkId>> sizes() const;

  /// Sets of the farthest sources, growing; not all of them.
  std::vector<NodeSet> far_sources() const;

 private:
  struct Ways {
    std::int64_t rest;                  // rest(e)
    std::vector<std::int64_t> release;  // by source
    std::vector<std::int64_t> gate;
  };
  const std::vector<Ways>& ways(std::int64_t bytes, const std::vector<NodeId>& wanting) const;

  const MainChunkCuts& search_;
  const Network& network_;
  const Images& images_;
  const NodeSet& set_;
  std::optional<NodeId> target_;
  const NodeSet* to_;
  std::vector<LinkId> links_;
  mutable std::map<std::pair<std::int64_t, std::vector<NodeId>>, std::vector<Ways>> ways_;
};

const std::vector<MainChunkCuts::Cut::Ways>& MainChunkCuts::Cut::ways(
    std::int64_t bytes, const std::vector<NodeId>& wanting) const {
  const auto [place, fresh] = ways_.try_emplace({bytes, wanting});
  std::vector<Ways>& result = place->second;
  if (!fresh) return result;
  const std::size_t n = network_.nodes();
  const std::vector<std::int64_t>& bandwidths = network_.bandwidths();
  search_.work_ += static_cast<std::int64_t>((2 * links_.size() + 1) * bandwidths.size() *
                                             (n + network_.latencies().size()));
  const WholeChunkTimes& whole = search_.times(bytes);
  const std::vector<std::int64_t> last = whole.last(wanting);
  for (const LinkId id : links_) {
    const Link& link = network_.topology().link(id);
    Ways way{kUnreachable, {}, {}};
    if (last[link.to.index()] < kUnreachable) {
      way.rest = link.latency.ps + last[link.to.index()];
      way.release = whole.through(link.from, {0});
      std::vector<std::int64_t> beyond;
      for (std::size_t k = 0;
           k < bandwidths.size() && bandwidths[k] <= link.bandwidth.bytes_per_second; ++k) {
        beyond.push_back(std::min(
            last[k * n + link.to.index()] + whole.transmission(k) + link.latency.ps, kUnreachable));
      }
      way.gate = whole.through(link.from, beyond);
    }
    result.push_back(std::move(way));
  }
  return result;
}

std::optional<Time> MainChunkCuts::Cut::value(const NodeSet* from, std::int64_t at_least) const {
  struct Item {
    std::int64_t ready, chunks;
    std::size_t sources_end;  // they begin where those of the item before end
  };
  const Demand& demand = images_.demand();
  const Selection selection{&set_, target_, from, to_};
  std::vector<Item> items;
  std::vector<NodeId> sources;
  std::int64_t smallest = std::numeric_limits<std::int64_t>::max(), all_chunks = 0, all_bytes = 0;
  NodeSet destination(network_.nodes(), false);
  const auto is_outside = [&](NodeId node) {
    return from != nullptr ? (*from)[node.index()] : !set_[node.index()];
  };
  images_.for_each_counted(selection,
                           [&](std::size_t i, const Element& element, std::int64_t images) {
                             const Block& block = demand.block(i);
                             Item item{block.chunk->ready.ps, 0, 0};
                             for (std::int32_t k = 0; k < block.count; ++k) {
                               if (block.size(k) < at_least) continue;
                               item.chunks += images;
                               all_bytes += block.size(k) * images;
                               smallest = std::min(smallest, block.size(k));
                             }
                             if (item.chunks == 0) return;
                             all_chunks += item.chunks;
                             images_.for_each_source(i, element, [&](NodeId node) {
                               if (is_outside(node)) sources.push_back(node);
                             });
                             item.sources_end = sources.size();
                             items.push_back(item);
                             if (!target_) {
                               images_.any_destination(i, element, [&](NodeId node) {
                                 destination[node.index()] = true;
                                 return false;
                               });
                             }
                           });
  if (items.empty()) return std::nullopt;
  std::vector<NodeId> wanting;
  if (target_) {
    wanting = {*target_};
  } else {
    for (std::size_t v = 0; v < destination.size(); ++v) {
      if (destination[v] && (to_ != nullptr ? (*to_)[v] : set_[v])) wanting.push_back(NodeId(v));
    }
  }
  search_.work_ += static_cast<std::int64_t>(links_.size() * (items.size() + sources.size()));

  const std::vector<Ways>& all_ways = ways(smallest, wanting);
  std::vector<Slots> slots;
  std::vector<Gate> by_bytes;
  for (std::size_t e = 0; e < links_.size(); ++e) {
    const Ways& way = all_ways[e];
    if (way.rest >= kUnreachable) continue;
    std::map<std::int64_t, std::int64_t> releases, gates;  // chunks by time: few times differ
    std::size_t begin = 0;
    for (const Item& item : items) {
      std::int64_t release = kUnreachable, gate = kUnreachable;
      for (; begin < item.sources_end; ++begin) {
        release = std::min(release, way.release[sources[begin].index()]);
        gate = std::min(gate, way.gate[sources[begin].index()]);
      }
      if (release >= kUnreachable || gate >= kUnreachable) continue;
      releases[release + item.ready] += item.chunks;
      gates[gate + item.ready] += item.chunks;
    }
    if (releases.empty()) continue;
    const std::int64_t bandwidth = network_.topology().link(links_[e]).bandwidth.bytes_per_second;
    by_bytes.push_back({bandwidth, releases.begin()->first + way.rest});
    slots.emplace_back(groups(releases), groups(gates), bandwidth, way.rest, smallest);
  }
  const std::int64_t by_count = nth_slot(slots, all_chunks);
  if (by_count >= kUnreachable) return std::nullopt;
  const std::optional<Time> bytes_through = least(std::move(by_bytes), all_bytes);
  if (!bytes_through) return std::nullopt;
  return std::max(Time{by_count}, *bytes_through);
}

std::vector<std::pair<std::int64_t, ChunkId>> MainChunkCuts::Cut::sizes() const {
  std::map<std::int64_t, ChunkId> sizes;
  images_.for_each_counted({&set_, target_, nullptr, to_},
                           [&](std::size_t i, const Element&, std::int64_t) {
                             const Block& block = images_.demand().block(i);
                             for (std::int32_t k = 0; k < block.count; ++k) {
                               sizes.try_emplace(block.size(k), ChunkId(block.id.value + k));
                             }
                           });
  std::vector<std::pair<std::int64_t, ChunkId>> all(sizes.begin(), sizes.end());
  if (all.empty() || all.back().first - all.front().first <= 1) return {};
  const std::size_t count = std::min(all.size(), kMostSizes);
  std::vector<std::pair<std::int64_t, ChunkId>> result;
  for (std::size_t k = 0; k < count; ++k) result.push_back(all[k * all.size() / count]);
  return result;
}

std::vector<NodeSet> MainChunkCuts::Cut::far_sources() const {
  const Tally tally = images_.tally({&set_, target_, nullptr, to_});
  if (tally.bytes == 0) return {};
  const std::vector<Ways>& all_ways = ways(images_.demand().largest_chunk(), tally.wanting);
  std::vector<std::int64_t> away(network_.nodes(), -1);
  std::vector<std::int64_t> levels;
  for (std::size_t v = 0; v < away.size(); ++v) {
    if (tally.start[v] >= kUnreachable) continue;
    away[v] = kUnreachable;
    for (const Ways& way : all_ways) {
      if (way.rest < kUnreachable) away[v] = std::min(away[v], way.release[v] + way.rest);
    }
    levels.push_back(away[v]);
  }
  std::sort(levels.begin(), levels.end(), std::greater<>());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  std::vector<NodeSet> result;
  for (std::size_t k = 0; k + 1 < levels.size() && k < kMostLevels; ++k) {
    NodeSet far(network_.nodes());
    for (std::size_t v = 0; v < far.size(); ++v) far[v] = away[v] >= levels[k];
    result.push_back(std::move(far));
  }
  return result;
}

MainChunkCuts::MainChunkCuts(const Network& network, const Images& images, const MainCuts& cuts,
                             const StopCondition& stop)
    : network_(network), images_(images), cuts_(cuts), stop_(stop) {}

const WholeChunkTimes& MainChunkCuts::times(std::int64_t bytes) const {
  std::unique_ptr<WholeChunkTimes>& entry = times_[bytes];
  if (!entry) entry = std::make_unique<WholeChunkTimes>(network_, Bytes{bytes});
  return *entry;
}

void MainChunkCuts::offer_sizes(const Cut& cut, Certificate certificate, Best& best) const {
  if (!cut.tractable()) return;
  NodeSet from(network_.nodes(), false);
  for (const NodeId node : certificate.from) from[node.index()] = true;
  const NodeSet* outside = certificate.from.empty() ? nullptr : &from;
  best.offer(cut.value(outside, 0), certificate);
  for (const auto& [size, chunk] : cut.sizes()) {
    if (work_ > kMostWork || stop_.should_stop()) return;
    certificate.chunk = chunk;
    best.offer(cut.value(outside, size), certificate);
  }
}

void MainChunkCuts::search_ways(Best& best) const {
  const Demand& demand = images_.demand();
  const std::vector<NodeId>& targets = cuts_.representatives();
  for (std::size_t k = 0; k < std::min(targets.size(), kMostWays); ++k) {
    if (work_ > kMostWork || stop_.should_stop()) return;
    const NodeId target = targets[k];
    // The largest of the chunks, and the farthest of those.
    std::int64_t size = 0;
    images_.for_each_wanted(target, [&](std::size_t i, const Element&, std::int64_t) {
      size = std::max(size, demand.block(i).size(demand.block(i).largest()));
    });
    if (size == 0) continue;
    work_ += static_cast<std::int64_t>(network_.bandwidths().size() *
                                       (network_.nodes() + network_.latencies().size()));
    const std::vector<std::int64_t> to = times(size).last(std::vector{target});
    std::int64_t longest = 0;
    Certificate certificate;
    certificate.kind = Certificate::Kind::chunk_cut;
    certificate.set = {target};
    certificate.target = target;
    images_.for_each_wanted(target, [&](std::size_t i, const Element& element, std::int64_t) {
      const Block& block = demand.block(i);
      if (block.size(block.largest()) < size) return;
      const bool sum = block.reduction;
      std::int64_t way = sum ? 0 : kUnreachable;
      std::vector<NodeId> from;
      images_.for_each_source(i, element, [&](NodeId source) {
        const std::int64_t distance = to[source.index()];
        if (!sum) from.push_back(source);
        if (sum && distance > way) from = {source};
        way = sum ? std::max(way, distance) : std::min(way, distance);
      });
      if (way >= kUnreachable || way + block.chunk->ready.ps <= longest) return;
      longest = way + block.chunk->ready.ps;
      std::sort(from.begin(), from.end());
      certificate.from = std::move(from);
      certificate.chunk = ChunkId(block.id.value + block.largest());
    });
    if (longest == 0 || Time{longest} <= best.value()) continue;
    NodeSet set(network_.nodes(), false), from(network_.nodes(), false);
    set[target.index()] = true;
    for (const NodeId node : certificate.from) from[node.index()] = true;
    const Cut cut(*this, set, target, nullptr);
    if (cut.tractable()) best.offer(cut.value(&from, size), certificate);
  }
}

void MainChunkCuts::search_set(const MainSet& set, std::optional<NodeId> target, Best& best) const {
  Certificate certificate;
  certificate.kind = Certificate::Kind::chunk_cut;
  certificate.set = members(set.set);
  certificate.target = target;
  const Cut cut(*this, set.set, target, nullptr);
  if (!cut.tractable()) return;
  offer_sizes(cut, certificate, best);
  if (work_ > kMostWork || stop_.should_stop()) return;
  for (const NodeSet& from : cut.far_sources()) {
    if (work_ > kMostWork || stop_.should_stop()) return;
    certificate.from = members(from);
    best.offer(cut.value(&from, 0), certificate);
  }
  if (target) return;
  // For the destinations farthest from the entry links.
  certificate.from.clear();
  const std::vector<NodeId> wanting = images_.tally({&set.set, {}, nullptr, nullptr}).wanting;
  for (std::vector<NodeId>& far : cuts_.far_targets(set, wanting)) {
    if (work_ > kMostWork || stop_.should_stop()) return;
    if (far.size() == wanting.size()) break;
    NodeSet to(network_.nodes(), false);
    for (const NodeId node : far) to[node.index()] = true;
    certificate.to = std::move(far);
    const Cut into(*this, set.set, std::nullopt, &to);
    if (into.tractable()) best.offer(into.value(nullptr, 0), certificate);
  }
}

void MainChunkCuts::search(Best& best) const {
  search_ways(best);
  // Worth a look only if the bandwidth term, one more chunk and the longest way together might do.
  const std::int64_t slowest = network_.bandwidths().front();
  const double slack =
      4 * transmission_time(Bytes{images_.demand().largest_chunk()}, Bandwidth{slowest}).seconds() +
      best.value().seconds() * 0.25 + images_.demand().latest_ready().seconds();
  for (const MainSet& set : cuts_.sets()) {
    if (set.seconds + slack < best.value().seconds()) continue;
    if (work_ > kMostWork || stop_.should_stop()) return;
    const std::vector<NodeId> targets = cuts_.targets(set);
    for (const NodeId target : targets) search_set(set, target, best);
    if (!set.target && targets.size() > 1) search_set(set, std::nullopt, best);
  }
}

std::optional<Time> MainChunkCuts::value(const Certificate& certificate) const {
  NodeSet set(network_.nodes(), false), from(network_.nodes(), false), to(network_.nodes(), false);
  for (const NodeId node : certificate.set) set[node.index()] = true;
  for (const NodeId node : certificate.from) from[node.index()] = true;
  for (const NodeId node : certificate.to) to[node.index()] = true;
  const Cut cut(*this, set, certificate.target, certificate.to.empty() ? nullptr : &to);
  if (!cut.tractable()) return std::nullopt;
  const std::int64_t at_least =
      certificate.chunk ? images_.problem().chunks[*certificate.chunk].bytes.value : 0;
  return cut.value(certificate.from.empty() ? nullptr : &from, at_least);
}

}  // namespace stellwerk::bound
