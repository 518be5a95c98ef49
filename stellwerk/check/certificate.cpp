// Every kind of certificate is a formula over the problem, defined and proven in
// docs/certificates.md; this file evaluates the formulas as they are written there, with code of
// its own: the search for bounds (bound/) and this file share nothing but that page. All arithmetic
// is in integers; a sum that does not fit 128 bits is refused, never wrapped.
//
// Cost: cuts two shortest-path searches; metric one a distinct list of sources; chunk_cut one a
// distinct list of sources over (bandwidths x nodes), and as many slots as it counts chunks. Held
// to its word by certificate_test.cpp (values worked out by hand).
#include "stellwerk/check/certificate.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/wide.hpp"
#include "stellwerk/check/chunk_families.hpp"

namespace stellwerk {
namespace {

using check::chunk_families;
using check::ChunkFamily;
using check::SizeCount;

constexpr std::int64_t kPicoseconds = 1'000'000'000'000;
constexpr std::int64_t kInfinite = INT64_MAX;
/// Times beyond this one (26 days) are refused, so that sums of a few of them cannot overflow.
constexpr std::int64_t kHorizon = std::int64_t{1} << 61;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::verification_failed, message);
}

Int128 product(Int128 a, Int128 b) {
  Int128 result;
  if (__builtin_mul_overflow(a, b, &result)) refuse("the certificate's numbers are too large");
  return result;
}

Int128 sum(Int128 a, Int128 b) {
  Int128 result;
  if (__builtin_add_overflow(a, b, &result)) refuse("the certificate's numbers are too large");
  return result;
}

std::int64_t within_horizon(Int128 time) {
  if (time > kHorizon) refuse("the certificate's times are too large (more than 26 days)");
  return static_cast<std::int64_t>(time);
}

Int128 divide_up(Int128 a, Int128 b) { return a / b + (a % b != 0 ? 1 : 0); }

/// Something that lets `weight` through from `opens` on; an infinite `opens` never.
struct Gate {
  Int128 weight;
  std::int64_t opens;
};

/// least(E, D) of the page.
std::int64_t least(std::vector<Gate> gates, Int128 amount) {
  std::erase_if(gates, [](const Gate& g) { return g.opens == kInfinite || g.weight == 0; });
  if (gates.empty()) refuse("the certificate proves nothing: no link carries what must cross");
  std::sort(gates.begin(), gates.end(),
            [](const Gate& a, const Gate& b) { return a.opens < b.opens; });
  const Int128 needed = product(amount, kPicoseconds);
  // With the first k gates open, weight * T - delay is let through by T; right until the next
  // opens.
  Int128 weight = 0;
  Int128 delay = 0;
  for (std::size_t k = 0; k < gates.size(); ++k) {
    weight = sum(weight, gates[k].weight);
    delay = sum(delay, product(gates[k].weight, gates[k].opens));
    const Int128 time = divide_up(sum(needed, delay), weight);
    if (k + 1 == gates.size() || time <= gates[k + 1].opens) return within_horizon(time);
  }
  return 0;  // not reached
}

/// The certificate against one problem.
class Checker {
 public:
  /// `chunks`: those that count, of a problem in full; all the problem's otherwise.
  Checker(const Certificate& certificate, const Problem& problem,
          const IdVector<ChunkId, Chunk>& chunks)
      : certificate_(certificate),
        problem_(problem),
        chunks_(chunks),
        topology_(problem.topology) {}

  Time proven() {
    switch (certificate_.kind) {
      case Certificate::Kind::none:
        refuse("there is no certificate");
      case Certificate::Kind::cut:
        return {cut(false)};
      case Certificate::Kind::dynamic_cut:
        return {cut(true)};
      case Certificate::Kind::chunk_cut:
        return {chunk_cut()};
      case Certificate::Kind::latency:
        return {latency()};
      case Certificate::Kind::metric:
        return {metric()};
      case Certificate::Kind::partition:
        return {partition(false)};
      case Certificate::Kind::gossip:
        return {partition(true)};
    }
    refuse("the certificate is of an unknown kind");
  }

  CutLoad load() const {
    const Cut cut = read_cut(false);
    Distances to_go(nodes(), kInfinite);
    for (std::size_t v = 0; v < nodes(); ++v) {
      if (cut.destinations[v]) to_go[v] = 0;
    }
    spread_latency(to_go, true);
    CutLoad result;
    result.bytes = cut.bytes;
    std::int64_t after = kInfinite;
    for (const LinkId id : cut.entries) {
      const Link& link = topology_.link(id);
      result.bandwidth = sum(result.bandwidth, link.bandwidth.bytes_per_second);
      const std::int64_t rest = to_go[link.to.index()];
      if (rest == kInfinite) continue;
      after = std::min(after, within_horizon(Int128{rest} + link.latency.ps));
    }
    if (after == kInfinite) refuse("the certificate proves nothing: its set cannot be entered");
    result.after = Time{after};
    return result;
  }

 private:
  using Distances = std::vector<std::int64_t>;  // one a node, or kInfinite
  using Flags = std::vector<bool>;              // one a node

  std::size_t nodes() const { return topology_.nodes().size(); }

  /// Flags of a list of different nodes.
  Flags flags(const std::vector<NodeId>& list, const char* what) const {
    Flags result(nodes());
    for (const NodeId node : list) {
      if (!node.valid() || node.index() >= nodes()) {
        refuse(std::string("the certificate's ") + what + " names node " +
               std::to_string(node.value) + ", which does not exist");
      }
      if (result[node.index()]) {
        refuse(std::string("the certificate's ") + what + " names " + topology_.node(node).name +
               " twice");
      }
      result[node.index()] = true;
    }
    return result;
  }

  ChunkId chunk() const {
    const ChunkId id = *certificate_.chunk;
    if (!id.valid() || id.index() >= chunks_.size()) {
      refuse("the certificate names chunk " + std::to_string(id.value) + ", which does not exist");
    }
    return id;
  }

  /// Least ways from nodes with given values, along the links or against them. `cost` is one a
  /// link.
  template <class Cost>
  void spread(Distances& values, bool backwards, const Cost& cost) const {
    using Entry = std::pair<std::int64_t, std::size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    for (std::size_t v = 0; v < values.size(); ++v) {
      if (values[v] != kInfinite) queue.emplace(values[v], v);
    }
    while (!queue.empty()) {
      const auto [value, at] = queue.top();
      queue.pop();
      if (value != values[at]) continue;
      const NodeId node(at);
      for (const LinkId id : backwards ? topology_.in(node) : topology_.out(node)) {
        const Link& link = topology_.link(id);
        const std::size_t next = (backwards ? link.from : link.to).index();
        const std::int64_t reached = within_horizon(static_cast<Int128>(value) + cost(id));
        if (reached < values[next]) {
          values[next] = reached;
          queue.emplace(reached, next);
        }
      }
    }
  }

  void spread_latency(Distances& values, bool backwards) const {
    spread(values, backwards, [&](LinkId id) { return topology_.link(id).latency.ps; });
  }

  // --- Cuts ------------------------------------------------------------------------------------

  /// S, W, F and C of the page.
  struct Cut {
    Flags set;
    std::vector<LinkId> entries;
    /// The counted chunks by their sources: how many are ready when.
    std::map<std::vector<NodeId>, std::map<std::int64_t, std::int64_t>> counted;
    std::int64_t count = 0;
    Bytes smallest{kInfinite};
    Flags destinations;  // W': of counted chunks
    Int128 bytes = 0;

    void add(std::vector<NodeId> sources, std::span<const SizeCount> sizes, std::int64_t copies,
             Time ready) {
      std::sort(sources.begin(), sources.end());
      std::int64_t& same = counted[std::move(sources)][ready.ps];
      for (const auto& [size, number] : sizes) {
        same += number * copies;
        count += number * copies;
        smallest = std::min(smallest, size);
        bytes = sum(bytes, product(size.value, number * copies));
      }
    }
  };

  Cut read_cut(bool may_select) const {
    Cut cut;
    cut.set = flags(certificate_.set, "set");
    if (certificate_.set.empty()) refuse("the certificate's set is empty");
    if (certificate_.set.size() == nodes()) refuse("the certificate's set is all nodes");
    if (!may_select && (!certificate_.from.empty() || !certificate_.to.empty())) {
      refuse("a cut certificate has no from and to: use a dynamic_cut");
    }
    Flags wanting = flags(certificate_.to, "to");
    Flags outside = flags(certificate_.from, "from");
    for (std::size_t v = 0; v < nodes(); ++v) {
      if (wanting[v] && !cut.set[v]) {
        refuse("the certificate's to names " + topology_.node(NodeId(v)).name +
               ", which is not in its set");
      }
      if (outside[v] && cut.set[v]) {
        refuse("the certificate's from names " + topology_.node(NodeId(v)).name +
               ", which is in its set");
      }
    }
    if (certificate_.target) {
      wanting = flags({*certificate_.target}, "target");
      if (!cut.set[certificate_.target->index()]) {
        refuse("the certificate's target " + topology_.node(*certificate_.target).name +
               " is not in its set");
      }
    } else if (certificate_.to.empty()) {
      wanting = cut.set;
    }
    if (certificate_.from.empty()) {
      outside = cut.set;
      outside.flip();
    }

    const bool at_least = certificate_.kind == Certificate::Kind::chunk_cut && certificate_.chunk;
    const Bytes smallest = at_least ? chunks_[chunk()].bytes : Bytes{1};
    cut.destinations.resize(nodes());
    if (problem_.symmetry.trivial()) {
      count_chunks(cut, wanting, outside, smallest);
    } else {
      count_images(cut, wanting, outside, smallest);
    }
    if (cut.counted.empty()) refuse("the certificate proves nothing: no chunk must enter its set");
    for (const LinkId id : topology_.link_ids()) {
      const Link& link = topology_.link(id);
      if (!cut.set[link.from.index()] && cut.set[link.to.index()]) cut.entries.push_back(id);
    }
    return cut;
  }

  /// C of the page, from a list of all chunks.
  void count_chunks(Cut& cut, const Flags& wanting, const Flags& outside, Bytes smallest) const {
    const auto is_wanting = [&](NodeId node) { return wanting[node.index()]; };
    const auto is_outside = [&](NodeId node) { return outside[node.index()]; };
    for (const Chunk& chunk : chunks_) {
      if (chunk.bytes < smallest) continue;
      if (std::none_of(chunk.destinations.begin(), chunk.destinations.end(), is_wanting)) continue;
      std::vector<NodeId> sources;
      if (chunk.is_reduction()) {
        std::copy_if(chunk.contributors.begin(), chunk.contributors.end(),
                     std::back_inserter(sources), is_outside);
        if (sources.empty()) continue;
      } else {
        if (chunk.origins.empty() ||
            !std::all_of(chunk.origins.begin(), chunk.origins.end(), is_outside)) {
          continue;
        }
        sources = chunk.origins;
      }
      const SizeCount size{chunk.bytes, 1};
      cut.add(std::move(sources), {&size, 1}, 1, chunk.ready);
      for (const NodeId node : chunk.destinations) {
        if (is_wanting(node)) cut.destinations[node.index()] = true;
      }
    }
  }

  /// C of the page for a compressed problem: its chunks are the images of what is listed, that is,
  /// those of the jobs.
  void count_images(Cut& cut, const Flags& wanting, const Flags& outside, Bytes smallest) const {
    for (const Job& job : problem_.jobs) {
      const auto members = [&](const Flags& flags) {
        std::vector<NodeId> result;
        for (const NodeId rank : job.ranks) {
          if (flags[rank.index()]) result.push_back(rank);
        }
        return result;
      };
      const std::vector<NodeId> wanting_ranks = members(wanting);
      const std::vector<NodeId> outside_ranks = members(outside);
      const auto want = [&](NodeId node) { cut.destinations[node.index()] = true; };
      std::vector<SizeCount> sums;    // all sums of a job come from the same ranks
      std::vector<NodeId> to_others;  // owners of what all others want
      for (ChunkFamily& family : chunk_families(job)) {
        std::erase_if(family.sizes, [&](const SizeCount& s) { return s.bytes < smallest; });
        if (family.sizes.empty()) continue;
        const NodeId owner = family.owner;
        const bool owner_wants = wanting[owner.index()];
        const auto others = static_cast<std::int64_t>(wanting_ranks.size()) - (owner_wants ? 1 : 0);
        const auto add_sum = [&] {
          sums.insert(sums.end(), family.sizes.begin(), family.sizes.end());
        };
        switch (family.shape) {
          case ChunkFamily::Shape::sum_to_owner:
            if (!owner_wants || outside_ranks.empty()) break;
            add_sum();
            want(owner);
            break;
          case ChunkFamily::Shape::sum_to_all:
            if (wanting_ranks.empty() || outside_ranks.empty()) break;
            if (sums.empty()) std::for_each(wanting_ranks.begin(), wanting_ranks.end(), want);
            add_sum();
            break;
          case ChunkFamily::Shape::to_one:
            if (!outside[owner.index()] || !wanting[family.destination.index()]) break;
            cut.add({owner}, family.sizes, 1, job.start);
            want(family.destination);
            break;
          case ChunkFamily::Shape::to_others:
          case ChunkFamily::Shape::each_other:
            if (!outside[owner.index()] || others == 0) break;
            cut.add({owner}, family.sizes,
                    family.shape == ChunkFamily::Shape::each_other ? others : 1, job.start);
            to_others.push_back(owner);
            break;
        }
      }
      if (!sums.empty()) cut.add(outside_ranks, sums, 1, job.start);
      for (const NodeId node : wanting_ranks) {
        if (to_others.size() > 1 || (to_others.size() == 1 && to_others.front() != node)) {
          want(node);
        }
      }
    }
  }

  std::int64_t cut(bool dynamic) const {
    const Cut cut = read_cut(dynamic);
    Distances to_go(nodes(), kInfinite);
    Distances release(nodes(), kInfinite);
    for (std::size_t v = 0; v < nodes(); ++v) {
      if (cut.destinations[v]) to_go[v] = 0;
    }
    spread_latency(to_go, true);
    std::int64_t ready = kInfinite;
    for (const auto& [sources, times] : cut.counted) {
      const std::int64_t own = times.begin()->first;
      ready = std::min(ready, own);
      for (const NodeId source : sources) {
        release[source.index()] = std::min(release[source.index()], own);
      }
    }
    if (dynamic) spread_latency(release, false);
    std::vector<Gate> gates;
    for (const LinkId id : cut.entries) {
      const Link& link = topology_.link(id);
      const std::int64_t rest = to_go[link.to.index()];
      const std::int64_t opened = dynamic ? release[link.from.index()] : 0;
      if (rest == kInfinite || opened == kInfinite) continue;
      gates.push_back({link.bandwidth.bytes_per_second,
                       within_horizon(Int128{opened} + link.latency.ps + rest)});
    }
    const std::int64_t time = least(std::move(gates), cut.bytes);
    return dynamic ? time : within_horizon(Int128{time} + ready);
  }

  // --- Whole chunks ----------------------------------------------------------------------------

  /// first_B / hold, or last_B / rest: at [k * nodes + v] for the k-th bandwidth.
  struct WholeChunks {
    std::vector<std::int64_t> bandwidths;    // ascending
    std::vector<std::int64_t> transmission;  // tx
  };

  WholeChunks whole_chunks(std::int64_t bytes) const {
    WholeChunks result;
    for (const Link& link : topology_.links()) {
      result.bandwidths.push_back(link.bandwidth.bytes_per_second);
    }
    std::sort(result.bandwidths.begin(), result.bandwidths.end());
    result.bandwidths.erase(std::unique(result.bandwidths.begin(), result.bandwidths.end()),
                            result.bandwidths.end());
    for (const std::int64_t bandwidth : result.bandwidths) {
      result.transmission.push_back(
          within_horizon(divide_up(product(bytes, kPicoseconds), bandwidth)));
    }
    return result;
  }

  /// Forwards: first_B from what holds the chunk at 0. Backwards: last_B to what wants it. Both are
  /// the same search, since a hop between storing nodes costs its latencies and one tx(B), which is
  /// paid where the storing node at the end of the search's step is reached.
  /// A search from a switch begins in one layer.
  Distances whole_chunk_times(const WholeChunks& whole, const std::vector<NodeId>& starts,
                              bool backwards, std::size_t start_layer = 0) const {
    const std::size_t layers = whole.bandwidths.size();
    Distances values(layers * nodes(), kInfinite);
    using Entry = std::pair<std::int64_t, std::size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    // A storing node has one value; it is kept in all layers, and searched on from layer 0.
    const auto reach = [&](NodeId node, std::size_t layer, Int128 time) {
      const bool stores = topology_.stores(node);
      const std::size_t at = (stores ? 0 : layer) * nodes() + node.index();
      const std::int64_t value = within_horizon(time);
      if (value >= values[at]) return;
      for (std::size_t k = 0; k < layers; ++k) {
        if (stores || k == layer) values[k * nodes() + node.index()] = value;
      }
      queue.emplace(value, at);
    };
    for (const NodeId start : starts) reach(start, start_layer, 0);
    while (!queue.empty()) {
      const auto [value, at] = queue.top();
      queue.pop();
      if (value != values[at]) continue;
      const NodeId node(at % nodes());
      const std::size_t layer = at / nodes();
      for (const LinkId id : backwards ? topology_.in(node) : topology_.out(node)) {
        const Link& link = topology_.link(id);
        const NodeId next = backwards ? link.from : link.to;
        const auto first = topology_.stores(node) ? 0 : layer;
        const auto last = topology_.stores(node) ? layers - 1 : layer;
        for (std::size_t k = first; k <= last; ++k) {
          if (whole.bandwidths[k] > link.bandwidth.bytes_per_second) break;
          const std::int64_t hop = topology_.stores(next) ? whole.transmission[k] : 0;
          reach(next, k, Int128{value} + link.latency.ps + hop);
        }
      }
    }
    return values;
  }

  /// Calls `use(e, first_B at the tail of entry e by layers, times)` for every entry of the cut and
  /// all sources of counted chunks. Searches either from all sources or, where those are fewer, from
  /// all tails: the hop that passes a switch there is then paid at its beginning, and taken off.
  template <class Use>
  void for_each_first(const WholeChunks& whole, const Cut& cut, const Use& use) const {
    const std::size_t layers = whole.bandwidths.size();
    std::map<NodeId, std::vector<std::size_t>> by_tail;
    for (std::size_t e = 0; e < cut.entries.size(); ++e) {
      by_tail[topology_.link(cut.entries[e]).from].push_back(e);
    }
    std::vector<std::int64_t> first(layers);
    if (cut.counted.size() <= layers * by_tail.size()) {
      for (const auto& [sources, times] : cut.counted) {
        const Distances values = whole_chunk_times(whole, sources, false);
        for (const auto& [tail, entries] : by_tail) {
          for (std::size_t k = 0; k < layers; ++k) first[k] = values[k * nodes() + tail.index()];
          for (const std::size_t e : entries) use(e, first, times);
        }
      }
      return;
    }
    for (const auto& [tail, entries] : by_tail) {
      const bool stores = topology_.stores(tail);
      std::vector<Distances> values;
      for (std::size_t k = 0; k < (stores ? 1 : layers); ++k) {
        values.push_back(whole_chunk_times(whole, {tail}, true, k));
      }
      for (const auto& [sources, times] : cut.counted) {
        for (std::size_t k = 0; k < layers; ++k) {
          first[k] = kInfinite;
          for (const NodeId source : sources) {
            first[k] = std::min(first[k], values[stores ? 0 : k][source.index()]);
          }
          if (!stores && first[k] != kInfinite) first[k] -= whole.transmission[k];
        }
        for (const std::size_t e : entries) use(e, first, times);
      }
    }
  }

  std::int64_t chunk_cut() const {
    const Cut cut = read_cut(true);
    const std::int64_t smallest = cut.smallest.value;
    constexpr std::int64_t kMostSlots = 200'000'000;
    if (product(cut.count, static_cast<std::int64_t>(cut.entries.size())) > kMostSlots) {
      refuse("the certificate is too large to be checked: it counts " + std::to_string(cut.count) +
             " chunks on " + std::to_string(cut.entries.size()) + " links");
    }
    const WholeChunks whole = whole_chunks(smallest);
    std::vector<NodeId> wanting;
    for (std::size_t v = 0; v < nodes(); ++v) {
      if (cut.destinations[v]) wanting.push_back(NodeId(v));
    }
    const Distances last = whole_chunk_times(whole, wanting, true);

    // Releases and gates, link by link, for every counted chunk.
    std::vector<std::vector<std::int64_t>> releases(cut.entries.size());
    std::vector<std::vector<std::int64_t>> gates(cut.entries.size());
    const auto count_chunks = [&](std::size_t e, const std::vector<std::int64_t>& first,
                                  const std::map<std::int64_t, std::int64_t>& times) {
      const Link& link = topology_.link(cut.entries[e]);
      if (first.front() == kInfinite) return;
      std::int64_t gate = kInfinite;
      for (std::size_t k = 0; k < whole.bandwidths.size(); ++k) {
        if (whole.bandwidths[k] > link.bandwidth.bytes_per_second) break;
        const std::int64_t after = last[k * nodes() + link.to.index()];
        if (first[k] == kInfinite || after == kInfinite) continue;
        gate = std::min(gate, within_horizon(Int128{first[k]} + whole.transmission[k] +
                                             link.latency.ps + after));
      }
      for (const auto& [ready, number] : times) {
        const auto copies = static_cast<std::size_t>(number);
        const Int128 base = ready;
        releases[e].insert(releases[e].end(), copies, within_horizon(base + first.front()));
        if (gate == kInfinite) continue;
        gates[e].insert(gates[e].end(), copies, within_horizon(base + gate));
      }
    };
    for_each_first(whole, cut, count_chunks);

    // The N smallest slots; the largest of them is on top.
    const std::size_t count = static_cast<std::size_t>(cut.count);
    std::priority_queue<std::int64_t> slots;
    std::vector<Gate> by_bytes;
    const Int128 chunk = product(smallest, kPicoseconds);
    for (std::size_t e = 0; e < cut.entries.size(); ++e) {
      const Link& link = topology_.link(cut.entries[e]);
      const std::int64_t beyond = last[link.to.index()];
      if (beyond == kInfinite || releases[e].empty()) continue;
      const std::int64_t rest = within_horizon(Int128{beyond} + link.latency.ps);
      const Int128 bandwidth = link.bandwidth.bytes_per_second;
      std::sort(releases[e].begin(), releases[e].end());
      std::sort(gates[e].begin(), gates[e].end());
      by_bytes.push_back({bandwidth, within_horizon(Int128{releases[e].front()} + rest)});
      Int128 filled = 0;
      for (std::size_t k = 0; k < gates[e].size(); ++k) {
        filled = sum(std::max(filled, product(releases[e][k], bandwidth)), chunk);
        const std::int64_t slot =
            std::max(within_horizon(divide_up(filled, bandwidth) + rest), gates[e][k]);
        if (slots.size() == count) {
          if (slot >= slots.top()) break;  // later ones on this link are no smaller
          slots.pop();
        }
        slots.push(slot);
      }
    }
    if (slots.size() < count) refuse("the certificate proves nothing: chunks cannot enter its set");
    return std::max(slots.top(), least(std::move(by_bytes), cut.bytes));
  }

  // --- The others ------------------------------------------------------------------------------

  std::int64_t latency() const {
    if (!certificate_.chunk || !certificate_.target) {
      refuse("a latency certificate needs a chunk and a target");
    }
    const Chunk& own = chunks_[chunk()];
    flags({*certificate_.target}, "target");
    const NodeId target = *certificate_.target;
    if (std::find(own.destinations.begin(), own.destinations.end(), target) ==
        own.destinations.end()) {
      refuse("the certificate's target " + topology_.node(target).name +
             " is no destination of its chunk");
    }
    Distances to_go(nodes(), kInfinite);
    to_go[target.index()] = 0;
    spread_latency(to_go, true);
    std::int64_t way = own.is_reduction() ? 0 : kInfinite;
    for (const NodeId node : own.contributors) way = std::max(way, to_go[node.index()]);
    if (!own.is_reduction()) {
      for (const NodeId node : own.origins) way = std::min(way, to_go[node.index()]);
    }
    if (way == kInfinite) refuse("the certificate proves nothing: no path leads to its target");
    return within_horizon(Int128{own.ready.ps} + way);
  }

  std::int64_t metric() const {
    const std::vector<std::int64_t>& lengths = certificate_.lengths;
    if (lengths.size() != topology_.links().size()) {
      refuse("the certificate has " + std::to_string(lengths.size()) + " lengths, but there are " +
             std::to_string(topology_.links().size()) + " links");
    }
    std::vector<Gate> gates;
    for (const LinkId id : topology_.link_ids()) {
      if (lengths[id.index()] < 0) {
        refuse("the certificate's length of " + topology_.link_name(id) + " is negative");
      }
      const Link& link = topology_.link(id);
      gates.push_back(
          {product(lengths[id.index()], link.bandwidth.bytes_per_second), link.latency.ps});
    }
    // All images of a chunk are as far from their destinations, if the lengths allow.
    std::int64_t images = 1;
    if (!problem_.symmetry.trivial()) {
      const Orbits orbits = find_orbits(topology_, problem_.symmetry, problem_.jobs.front().ranks);
      std::vector<std::int64_t> of_orbit(orbits.link_size.size(), -1);
      for (const LinkId id : topology_.link_ids()) {
        std::int64_t& length = of_orbit[orbits.link[id]];
        if (length >= 0 && length != lengths[id.index()]) {
          refuse("the certificate's lengths of " + topology_.link_name(id) +
                 " and of one of its images differ: in a compressed plan they must not");
        }
        length = lengths[id.index()];
      }
      images = orbits.order;
    }
    // Chunks with the same sources share searches, those with the same destinations the result.
    using Sources = std::pair<std::vector<NodeId>, std::vector<NodeId>>;  // origins, contributors
    struct Group {
      Int128 bytes = 0;
      std::int64_t ready = kInfinite;
      std::int64_t distance = 0;
    };
    std::map<Sources, std::map<std::vector<NodeId>, Group>> groups;
    for (const Chunk& chunk : chunks_) {
      Group& group = groups[{chunk.origins, chunk.contributors}][chunk.destinations];
      group.bytes = sum(group.bytes, chunk.bytes.value);
      group.ready = std::min(group.ready, chunk.ready.ps);
    }
    const auto length = [&](LinkId id) { return lengths[id.index()]; };
    Int128 total = 0;
    std::int64_t ready = kInfinite;
    for (auto& [sources, demands] : groups) {
      const auto& [origins, contributors] = sources;
      const auto search = [&](const std::vector<NodeId>& starts) {
        Distances distances(nodes(), kInfinite);
        for (const NodeId start : starts) distances[start.index()] = 0;
        spread(distances, false, length);
        for (auto& [destinations, group] : demands) {
          for (const NodeId node : destinations) {
            group.distance = std::max(group.distance, distances[node.index()]);
          }
        }
      };
      if (contributors.empty()) search(origins);
      for (const NodeId contributor : contributors) search({contributor});
      for (const auto& [destinations, group] : demands) {
        if (group.distance == kInfinite) {
          refuse("the certificate proves nothing: a chunk has no path to a destination");
        }
        if (group.distance == 0) continue;
        total = sum(total, product(product(group.bytes, images), group.distance));
        ready = std::min(ready, group.ready);
      }
    }
    if (total == 0) refuse("the certificate proves nothing: all distances are 0");
    return within_horizon(Int128{least(std::move(gates), total)} + ready);
  }

  /// n(c) of the page for every chunk.
  template <class Count>
  void count_crossings_of_chunks(const std::vector<std::size_t>& part_of, const Count& add) const {
    const auto touched = [&](const std::vector<NodeId>& list) {
      Flags result(certificate_.parts.size());
      for (const NodeId node : list) result[part_of[node.index()]] = true;
      return result;
    };
    const auto crossings = [&](const Chunk& chunk) {
      const Flags wanting = touched(chunk.destinations);
      const Flags giving = touched(chunk.is_reduction() ? chunk.contributors : chunk.origins);
      std::int64_t a = 0, d = 0, both = 0;
      for (std::size_t p = 0; p < certificate_.parts.size(); ++p) {
        a += giving[p] ? 1 : 0;
        d += wanting[p] ? 1 : 0;
        both += giving[p] && wanting[p] ? 1 : 0;
      }
      if (!chunk.is_reduction()) return d - both;
      return both > 0 ? a + d - 2 : a + d - 1;
    };
    const Chunk* previous = nullptr;
    std::int64_t count = 0;
    for (const Chunk& chunk : chunks_) {
      if (previous == nullptr || previous->origins != chunk.origins ||
          previous->contributors != chunk.contributors ||
          previous->destinations != chunk.destinations) {
        count = crossings(chunk);
      }
      previous = &chunk;
      add(count, chunk.bytes.value, chunk.ready);
    }
  }

  /// The same for a compressed problem, from its jobs: with k parts that have ranks of the job, a
  /// chunk for all others crosses k - 1 times, and so does a sum for its owner; a sum for all
  /// 2 k - 2 times.
  template <class Count>
  void count_crossings_of_images(const std::vector<std::size_t>& part_of, const Count& add) const {
    for (const Job& job : problem_.jobs) {
      std::vector<std::int64_t> ranks(certificate_.parts.size(), 0);
      for (const NodeId rank : job.ranks) ++ranks[part_of[rank.index()]];
      const std::int64_t parts =
          std::count_if(ranks.begin(), ranks.end(), [](std::int64_t r) { return r > 0; });
      const auto all = static_cast<std::int64_t>(job.ranks.size());
      for (const ChunkFamily& family : chunk_families(job)) {
        const std::size_t own = part_of[family.owner.index()];
        Int128 bytes = 0;
        for (const auto& [size, number] : family.sizes) {
          bytes = sum(bytes, product(size.value, number));
        }
        switch (family.shape) {
          case ChunkFamily::Shape::to_others:
          case ChunkFamily::Shape::sum_to_owner:
            add(parts - 1, bytes, job.start);
            break;
          case ChunkFamily::Shape::sum_to_all:
            add(2 * parts - 2, bytes, job.start);
            break;
          case ChunkFamily::Shape::each_other:
            add(all - ranks[own], bytes, job.start);
            break;
          case ChunkFamily::Shape::to_one:
            add(own == part_of[family.destination.index()] ? 0 : 1, bytes, job.start);
            break;
        }
      }
    }
  }

  /// A gossip may leave switches out that do not reduce, and counts latencies.
  std::int64_t partition(bool gossip) const {
    const auto& parts = certificate_.parts;
    if (parts.size() < 2) refuse("a partition needs at least two parts");
    constexpr std::size_t kNone = SIZE_MAX;
    std::vector<std::size_t> part_of(nodes(), kNone);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (parts[p].empty()) refuse("part " + std::to_string(p) + " of the certificate is empty");
      flags(parts[p], "part");
      for (const NodeId node : parts[p]) {
        if (part_of[node.index()] != kNone) {
          refuse("two parts of the certificate contain " + topology_.node(node).name);
        }
        part_of[node.index()] = p;
      }
    }
    for (std::size_t v = 0; v < nodes(); ++v) {
      const Node& node = topology_.node(NodeId(v));
      const bool may_miss = gossip && node.kind == NodeKind::switch_ && !node.reduce;
      if (part_of[v] == kNone && !may_miss) {
        refuse("no part of the certificate contains " + topology_.node(NodeId(v)).name);
      }
    }
    Int128 total = 0;
    std::int64_t ready = kInfinite;
    const auto count = [&](std::int64_t crossings, Int128 bytes, Time time) {
      if (crossings == 0 || bytes == 0) return;
      total = sum(total, product(crossings, bytes));
      ready = std::min(ready, time.ps);
    };
    if (problem_.symmetry.trivial()) {
      count_crossings_of_chunks(part_of, count);
    } else {
      count_crossings_of_images(part_of, count);
    }
    if (total == 0) refuse("the certificate proves nothing: nothing must cross between its parts");
    // A crossing on its way from one node that stores or merges to the next.
    Distances approach(nodes(), 0), rest(nodes(), 0);
    if (gossip) {
      for (std::size_t v = 0; v < nodes(); ++v) {
        const Node& node = topology_.node(NodeId(v));
        if (node.kind == NodeKind::switch_ && !node.reduce) approach[v] = rest[v] = kInfinite;
      }
      spread_latency(approach, false);
      spread_latency(rest, true);
    }
    std::vector<Gate> gates;
    for (const Link& link : topology_.links()) {
      const std::size_t entered = part_of[link.to.index()];
      if (entered == kNone || part_of[link.from.index()] == entered) continue;
      const std::int64_t before = approach[link.from.index()], after = rest[link.to.index()];
      const bool used = before != kInfinite && after != kInfinite;
      gates.push_back({link.bandwidth.bytes_per_second,
                       !gossip ? 0
                       : used  ? within_horizon(Int128{before} + link.latency.ps + after)
                               : kInfinite});
    }
    return within_horizon(Int128{least(std::move(gates), total)} + ready);
  }

  const Certificate& certificate_;
  const Problem& problem_;
  const IdVector<ChunkId, Chunk>& chunks_;
  const Topology& topology_;
};

}  // namespace

namespace {

/// The chunks of the certificate's jobs only, and the certificate for them.
std::pair<IdVector<ChunkId, Chunk>, Certificate> restricted(const Certificate& certificate,
                                                            const Problem& problem) {
  if (!problem.symmetry.trivial()) {
    refuse("the certificate is about some jobs only, which a compressed plan cannot tell apart");
  }
  std::vector<bool> counts(problem.jobs.size());
  for (const JobId job : certificate.jobs) {
    if (!job.valid() || job.index() >= counts.size()) {
      refuse("the certificate names job " + std::to_string(job.value) + ", which does not exist");
    }
    if (counts[job.index()]) {
      refuse("the certificate names job " + std::to_string(job.value) + " twice");
    }
    counts[job.index()] = true;
  }
  std::pair<IdVector<ChunkId, Chunk>, Certificate> result;
  auto& [chunks, proof] = result;
  proof = certificate;
  proof.jobs.clear();
  bool named = !certificate.chunk;
  for (const ChunkId id : problem.chunk_ids()) {
    if (!counts[problem.chunks[id].job.index()]) continue;
    if (certificate.chunk == id) {
      proof.chunk = ChunkId(chunks.size());
      named = true;
    }
    chunks.push_back(problem.chunks[id]);
  }
  if (!named) refuse("the certificate names a chunk of a job that it is not about");
  return result;
}

}  // namespace

Time proven_by(const Certificate& certificate, const Problem& problem) {
  if (certificate.jobs.empty()) return Checker(certificate, problem, problem.chunks).proven();
  const auto [chunks, proof] = restricted(certificate, problem);
  return Checker(proof, problem, chunks).proven();
}

CutLoad cut_load(const Certificate& cut, JobId job, const Problem& problem) {
  if (cut.kind != Certificate::Kind::cut) refuse("only a cut bounds several jobs together");
  Certificate of_job = cut;
  of_job.jobs = {job};
  const auto [chunks, proof] = restricted(of_job, problem);
  return Checker(proof, problem, chunks).load();
}

}  // namespace stellwerk
