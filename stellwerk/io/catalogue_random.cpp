// Random direct networks by seed: regular graphs, optionally of mixed cables, and boxes with sparse
// slow cables between them. What planners meet when no structure helps.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/io/catalogue_boxes.hpp"

namespace stellwerk {
namespace {

using Ends = std::pair<std::size_t, std::size_t>;

/// Can 0 reach all, and, over arcs turned round, all reach 0?
bool connected(std::size_t nodes, const std::vector<Ends>& arcs, bool directed) {
  for (const bool backwards : {false, true}) {
    std::vector<std::vector<std::size_t>> next(nodes);
    for (const auto& [a, b] : arcs) {
      if (!directed || !backwards) next[a].push_back(b);
      if (!directed || backwards) next[b].push_back(a);
    }
    std::vector<bool> seen(nodes, false);
    std::vector<std::size_t> queue = {0};
    seen[0] = true;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const std::size_t node : next[queue[i]]) {
        if (seen[node]) continue;
        seen[node] = true;
        queue.push_back(node);
      }
    }
    if (queue.size() < nodes) return false;
  }
  return true;
}

/// Every node joined to its next neighbours on a ring (and, if `degree` is odd, to the opposite
/// one): the regular graph that the random ones are made from.
std::vector<Ends> circulant(std::size_t nodes, std::size_t degree, bool directed) {
  std::vector<Ends> edges;
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::size_t reach = directed ? degree : degree / 2;
    for (std::size_t step = 1; step <= reach; ++step) {
      edges.emplace_back(i, (i + step) % nodes);
    }
    if (!directed && degree % 2 == 1 && i < nodes / 2) edges.emplace_back(i, i + nodes / 2);
  }
  return edges;
}

/// A random walk among connected regular graphs: two edges exchange their ends, 40 tries an edge.
/// Neither loops nor parallel edges appear, and degrees stay.
std::vector<Ends> random_regular(std::size_t nodes, std::size_t degree, bool directed, Rng& rng) {
  std::vector<Ends> edges = circulant(nodes, degree, directed);
  if (degree ==
      (directed ? 1 : 2)) {  // a walk would hardly ever find one of the connected ones: the rings
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < nodes; ++i) order.push_back(i);
    rng.shuffle(order);
    for (auto& [a, b] : edges) {
      a = order[a];
      b = order[b];
    }
    return edges;
  }
  const auto key = [&](std::size_t a, std::size_t b) {
    return directed ? Ends{a, b} : Ends{std::min(a, b), std::max(a, b)};
  };
  std::set<Ends> present;
  for (const auto& [a, b] : edges) present.insert(key(a, b));
  const auto walk = [&] {
    for (std::size_t k = 0; k < 40 * edges.size(); ++k) {
      Ends& first = edges[rng.below(edges.size())];
      Ends& second = edges[rng.below(edges.size())];
      if (!directed && rng.below(2) == 1) std::swap(second.first, second.second);
      const auto [a, b] = first;
      const auto [c, d] = second;
      if (a == c || b == d || a == d || c == b) continue;
      if (present.contains(key(a, d)) || present.contains(key(c, b))) continue;
      present.erase(key(a, b));
      present.erase(key(c, d));
      present.insert(key(a, d));
      present.insert(key(c, b));
      first.second = d;
      second.second = b;
    }
  };
  do walk();
  while (!connected(nodes, edges, directed));
  return edges;
}

template <std::size_t N>
Bandwidth draw(const std::array<std::int64_t, N>& megabytes, Rng& rng) {
  return megabytes_per_second(megabytes[rng.below(N)]);
}

}  // namespace

CatalogueDraft draft_random(CatalogueName& name) {
  const auto nodes = static_cast<std::size_t>(name.dimensions(1, 1, "random:64").front());
  const auto degree = static_cast<std::size_t>(name.take_count("degree", 4, 1'000'000));
  const auto seed = static_cast<std::uint64_t>(name.take_integer("seed").value_or(1));
  const bool directed = name.take_flag("directed");
  const bool mixed = name.take_flag("mixed");
  if (nodes < 2) name.fail("a network of one GPU has nothing to plan: make it larger");
  if (degree >= nodes) {
    name.fail("degree: a GPU has only " + std::to_string(nodes - 1) + " others to be joined to");
  }
  if (degree == 1 && nodes > 2 && !directed) {
    name.fail(
        "degree: with one neighbour each, more than two GPUs are not connected: use 2 or "
        "more");
  }
  if (!directed && degree % 2 == 1 && nodes % 2 == 1) {
    name.fail("degree: an odd number of GPUs cannot all have an odd number of neighbours");
  }
  check_catalogue_size(name, static_cast<double>(nodes),
                       static_cast<double>(nodes) * static_cast<double>(degree));
  if (mixed && (name.has("bandwidth") || name.has("latency"))) {
    name.fail("mixed draws bandwidths and latencies: leave out bandwidth and latency");
  }
  const Bandwidth bandwidth = name.take_bandwidth("bandwidth", megabytes_per_second(50000));
  const Time latency = name.take_time("latency", nanoseconds(700));

  CatalogueDraft draft;
  draft.name = "random-" + std::to_string(nodes) + "-degree" + std::to_string(degree) +
               (directed ? "-directed" : "") + (mixed ? "-mixed" : "") + "-seed" +
               std::to_string(seed);
  for (std::size_t i = 0; i < nodes; ++i) {
    draft.add("gpu" + std::to_string(i), NodeKind::gpu, "");
  }
  Rng rng(seed);
  const std::string even = "random: " + to_exact_string(bandwidth) + " and " +
                           to_exact_string(latency) + " (0.7us: NVLink in TACCL, NSDI 2023)";
  const std::string drawn = "random: drawn by seed " + std::to_string(seed) +
                            " from 12.5, 25, 50 and 100 GB/s and 0.7, 1.3 and 2.6 us";
  for (const auto& [a, b] : random_regular(nodes, degree, directed, rng)) {
    Bandwidth rate = bandwidth;
    Time delay = latency;
    if (mixed) {
      rate = draw(std::array<std::int64_t, 4>{12'500, 25'000, 50'000, 100'000}, rng);
      delay = nanoseconds(std::array<std::int64_t, 3>{700, 1300, 2600}[rng.below(3)]);
    }
    draft.connect(NodeId(a), NodeId(b), rate, delay, mixed ? drawn : even);
    if (!directed) draft.connect(NodeId(b), NodeId(a), rate, delay, mixed ? drawn : even);
  }
  return draft;
}

// Boxes of eight GPUs: a ring and its four diameters, of 25, 50 or 100 GB/s; from every box a slow
// cable to the next box and more to random ones.
CatalogueDraft draft_random_boxes(CatalogueName& name) {
  constexpr std::size_t kGpus = 8;
  const auto count = static_cast<std::size_t>(name.dimensions(1, 1, "random-boxes:8").front());
  const auto cross = static_cast<std::size_t>(name.take_count("cross", 2, 16));
  const auto seed = static_cast<std::uint64_t>(name.take_integer("seed").value_or(1));
  if (count < 2) name.fail("one box has nothing to be joined to: make it two or more");
  check_catalogue_size(name, kGpus * static_cast<double>(count),
                       static_cast<double>(count) * static_cast<double>(24 + 2 * cross));
  CatalogueDraft draft;
  draft.name = "random-boxes-" + std::to_string(count) + "-cross" + std::to_string(cross) +
               "-seed" + std::to_string(seed);
  for (std::size_t b = 0; b < count; ++b) {
    const std::string host = "h" + std::to_string(b);
    for (std::size_t g = 0; g < kGpus; ++g) {
      draft.add(host + ".gpu" + std::to_string(g), NodeKind::gpu, host);
    }
  }
  Rng rng(seed);
  const std::string inside = "random-boxes: drawn by seed " + std::to_string(seed) +
                             " from 25, 50 and 100 GB/s; 0.7us (NVLink in TACCL, NSDI 2023)";
  const std::string between = "random-boxes: drawn by seed " + std::to_string(seed) +
                              " from 12.5 and 25 GB/s; 2.6us (as between DGX-2 in TE-CCL)";
  const auto join = [&](std::size_t a, std::size_t b, Bandwidth rate, Time latency,
                        const std::string& source) {
    connect_both(draft, NodeId(a), NodeId(b), rate, latency, source);
  };
  std::set<Ends> joined;
  for (std::size_t b = 0; b < count; ++b) {
    for (std::size_t g = 0; g < kGpus; ++g) {
      const std::array<std::int64_t, 3> rates = {25'000, 50'000, 100'000};
      join(b * kGpus + g, b * kGpus + (g + 1) % kGpus, draw(rates, rng), nanoseconds(700), inside);
      if (g < kGpus / 2) {
        join(b * kGpus + g, b * kGpus + g + kGpus / 2, draw(rates, rng), nanoseconds(700), inside);
      }
    }
    for (std::size_t k = 0; k < cross; ++k) {
      // The ring of boxes keeps all connected. Two boxes have one other to choose from.
      const std::size_t other = k == 0 ? (b + 1) % count : (b + 1 + rng.below(count - 1)) % count;
      Ends ends;
      do {
        ends = {b * kGpus + rng.below(kGpus), other * kGpus + rng.below(kGpus)};
        if (ends.first > ends.second) std::swap(ends.first, ends.second);
      } while (!joined.insert(ends).second);
      join(ends.first, ends.second, draw(std::array<std::int64_t, 2>{12'500, 25'000}, rng),
           nanoseconds(2600), between);
    }
  }
  return draft;
}

}  // namespace stellwerk
