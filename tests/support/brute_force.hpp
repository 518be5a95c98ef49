// The oracle: the least number of epochs in which a tiny problem can be solved, by exhaustive
// search.
//
// The epoch model, as in docs/model.md ("Epochs") and with whole chunks only:
//  - Time is counted in epochs 0, 1, 2, ... A link has a latency and a window, both in epochs; a
//  chunk that enters it in
//    epoch k occupies it in epochs k .. k + window - 1, alone, or with up to `parallel` chunks in
//    all at each instant.
//  - A storing node that holds a chunk at the start of epoch k may send it in epoch k, over a
//  direct link or over
//    a tree of links whose inner nodes are switches. A switch stores nothing: the chunk enters the
//    next link `latency` epochs after it entered the last (cut-through). Links of one send share
//    one window, the largest of its links. A switch has several outgoing links in the tree only if
//    it has multicast.
//  - The chunk is held by the storing node at the end of the way at the start of epoch (entry into
//  the last link) + latency + window.
//  - Every storing node may forward and may hold any number of chunks. No reductions: those of a
//  tree of sums are the reverse of
//    a copy on the reversed network (docs/model.md, "Plans").
//  - The horizon is the start of the first epoch in which every destination holds its chunks; the
//  optimum is the least horizon.
//
// to_problem() makes the problem of which an epoch schedule is a plan in continuous time, with
// `epoch` as unit: the optimum times `epoch` is then the time of a valid plan, so no lower bound
// for whole chunks may exceed it; and without `parallel` links and with equal windows around each
// switch it is what an exact epoch-based planner has to find.
//
// Search: horizon by horizon from a trivial bound on, depth first over epochs; in each epoch every
// subset of the possible sends, each of which must bring a chunk to nodes that lack it and can
// still be of use there (nobody needs a chunk twice). States that failed are remembered. Meant for
// at most 4 nodes and 3 chunks.
#pragma once

#include <algorithm>
#include <cassert>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/core/problem.hpp"

namespace stellwerk::testing {

struct EpochLink {
  int from;
  int to;
  int latency = 0;
  int window = 1;
  int parallel = 1;  ///< chunks at once; more than 1 only with window 1
};

struct EpochChunk {
  std::vector<int> origins;
  std::vector<int> destinations;
  int ready = 0;
};

struct EpochInstance {
  std::vector<NodeKind> kinds;
  std::vector<bool> multicast;  ///< one a node; false for storing nodes
  std::vector<EpochLink> links;
  std::vector<EpochChunk> chunks;

  bool stores(int node) const { return kinds[static_cast<std::size_t>(node)] != NodeKind::switch_; }
};

/// One send of an optimal schedule.
struct EpochSend {
  int chunk;
  int epoch;
  std::vector<int> links;  ///< every link's tail is the sender or the head of an earlier one
};

struct EpochOptimum {
  int horizon;
  std::vector<EpochSend> sends;
};

class BruteForce {
 public:
  explicit BruteForce(const EpochInstance& instance) : instance_(instance) {
    nodes_ = static_cast<int>(instance.kinds.size());
    chunks_ = static_cast<int>(instance.chunks.size());
    for (int node = 0; node < nodes_; ++node) {
      if (instance.stores(node)) grow(node, Tree{node, {}, {}, {}, {}}, {node});
    }
    for (Tree& tree : trees_) finish(tree);
    find_distances();
  }

  /// The optimum, or none if it needs more than `most` epochs (or is impossible).
  std::optional<EpochOptimum> solve(int most) {
    arrival_.assign(at(chunks_ * nodes_), kNever);
    int horizon = 0;
    for (int c = 0; c < chunks_; ++c) {
      const EpochChunk& chunk = instance_.chunks[at(c)];
      for (const int origin : chunk.origins) arrival(c, origin) = chunk.ready;
      for (const int target : chunk.destinations) {
        int way = kNever;
        for (const int origin : chunk.origins) {
          way = std::min(way, chunk.ready + distance(origin, target));
        }
        horizon = std::max(horizon, way);
      }
    }
    for (; horizon <= most; ++horizon) {
      horizon_ = horizon;
      failed_.clear();
      sends_.clear();
      used_.assign(instance_.links.size(), std::vector<int>(at(horizon + 1), 0));
      if (epoch(0)) return EpochOptimum{horizon, sends_};
    }
    return std::nullopt;
  }

 private:
  static constexpr int kNever = 1 << 20;

  /// A way for one send: links with the epoch offset of entry, heads with the offset of arrival.
  struct Tree {
    int from;
    std::vector<int> links;
    std::vector<int> entry;
    std::vector<int> heads;
    std::vector<int> arrival;
    int window = 0;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int& arrival(int chunk, int node) { return arrival_[at(chunk * nodes_ + node)]; }
  int distance(int from, int to) const { return distance_[at(from * nodes_ + to)]; }

  /// All trees that continue `tree`; `open`: nodes whose outgoing links may still be added, each
  /// with links of larger number only, so that every set of links comes once for each order of
  /// growth (duplicates are dropped).
  void grow(int root, const Tree& tree, const std::vector<int>& inner) {
    if (!tree.links.empty() && complete(tree, inner)) {
      std::vector<int> sorted = tree.links;
      std::sort(sorted.begin(), sorted.end());
      std::string key = std::to_string(root);
      for (const int link : sorted) key += "," + std::to_string(link);
      if (known_.insert(key).second) trees_.push_back(tree);
    }
    for (int l = 0; l < static_cast<int>(instance_.links.size()); ++l) {
      const EpochLink& link = instance_.links[at(l)];
      const auto tail = std::find(inner.begin(), inner.end(), link.from);
      if (tail == inner.end() || link.to == root) continue;
      if (std::find(tree.links.begin(), tree.links.end(), l) != tree.links.end()) continue;
      int leaving = 0, entered = 0;
      for (const int other : tree.links) {
        leaving += instance_.links[at(other)].from == link.from;
        entered += instance_.links[at(other)].to == link.to;
      }
      if (entered > 0) continue;
      // One link out of the source; several out of a switch only with multicast.
      if (leaving > 0 && (link.from == root || !instance_.multicast[at(link.from)])) continue;
      Tree more = tree;
      more.links.push_back(l);
      std::vector<int> more_inner = inner;
      if (!instance_.stores(link.to)) more_inner.push_back(link.to);
      grow(root, more, more_inner);
    }
  }

  /// Every switch of the tree passes the chunk on.
  bool complete(const Tree& tree, const std::vector<int>& inner) const {
    return std::all_of(inner.begin(), inner.end(), [&](int node) {
      return std::any_of(tree.links.begin(), tree.links.end(),
                         [&](int l) { return instance_.links[at(l)].from == node; });
    });
  }

  void finish(Tree& tree) const {
    for (const int l : tree.links) {
      tree.window = std::max(tree.window, instance_.links[at(l)].window);
    }
    std::vector<int> enters(at(nodes_), 0);
    for (const int l : tree.links) {
      const EpochLink& link = instance_.links[at(l)];
      tree.entry.push_back(enters[at(link.from)]);
      enters[at(link.to)] = enters[at(link.from)] + link.latency;
      if (!instance_.stores(link.to)) continue;
      tree.heads.push_back(link.to);
      tree.arrival.push_back(enters[at(link.to)] + tree.window);
    }
  }

  void find_distances() {
    distance_.assign(at(nodes_ * nodes_), kNever);
    for (int v = 0; v < nodes_; ++v) distance_[at(v * nodes_ + v)] = 0;
    for (int round = 0; round < nodes_; ++round) {
      for (const Tree& tree : trees_) {
        for (std::size_t h = 0; h < tree.heads.size(); ++h) {
          for (int v = 0; v < nodes_; ++v) {
            int& best = distance_[at(v * nodes_ + tree.heads[h])];
            best = std::min(best, distance(v, tree.from) + tree.arrival[h]);
          }
        }
      }
    }
  }

  /// Can all demands still be met from the start of epoch k on, as far as distances tell?
  bool hopeful(int k, bool& done) {
    done = true;
    for (int c = 0; c < chunks_; ++c) {
      for (const int target : instance_.chunks[at(c)].destinations) {
        if (arrival(c, target) < kNever) continue;
        done = false;
        int earliest = kNever;
        for (int v = 0; v < nodes_; ++v) {
          earliest = std::min(earliest, std::max(arrival(c, v), k) + distance(v, target));
        }
        if (earliest > horizon_) return false;
      }
    }
    return true;
  }

  bool epoch(int k) {
    bool done = false;
    if (!hopeful(k, done)) return false;
    if (done) return true;
    if (k >= horizon_) return false;
    std::string state = std::to_string(k) + ":";
    for (const int time : arrival_) {
      state += static_cast<char>(time >= kNever ? 127 : std::max(0, time - k));
    }
    for (const std::vector<int>& link : used_) {
      for (int t = k; t <= horizon_; ++t) state += static_cast<char>(link[at(t)]);
    }
    if (failed_.contains(state)) return false;
    if (choose(k, 0, 0)) return true;
    failed_.insert(std::move(state));
    return false;
  }

  /// Decides about the sends of epoch k from (chunk, tree) on.
  bool choose(int k, int chunk, std::size_t tree) {
    for (; chunk < chunks_; ++chunk, tree = 0) {
      for (; tree < trees_.size(); ++tree) {
        if (!possible(k, chunk, trees_[tree])) continue;
        book(k, chunk, trees_[tree], 1);
        sends_.push_back({chunk, k, trees_[tree].links});
        if (choose(k, chunk, tree + 1)) return true;
        sends_.pop_back();
        book(k, chunk, trees_[tree], -1);
      }
    }
    return epoch(k + 1);
  }

  bool possible(int k, int chunk, const Tree& tree) {
    if (arrival(chunk, tree.from) > k) return false;
    for (std::size_t h = 0; h < tree.heads.size(); ++h) {
      const int head = tree.heads[h], there = k + tree.arrival[h];
      if (there > horizon_ || arrival(chunk, head) < kNever) return false;
      bool useful = false;
      for (const int target : instance_.chunks[at(chunk)].destinations) {
        useful = useful ||
                 (arrival(chunk, target) >= kNever && there + distance(head, target) <= horizon_);
      }
      if (!useful) return false;
    }
    for (std::size_t i = 0; i < tree.links.size(); ++i) {
      const EpochLink& link = instance_.links[at(tree.links[i])];
      for (int t = k + tree.entry[i]; t < k + tree.entry[i] + tree.window; ++t) {
        if (used_[at(tree.links[i])][at(t)] >= link.parallel) return false;
      }
    }
    return true;
  }

  void book(int k, int chunk, const Tree& tree, int amount) {
    for (std::size_t h = 0; h < tree.heads.size(); ++h) {
      arrival(chunk, tree.heads[h]) = amount > 0 ? k + tree.arrival[h] : kNever;
    }
    for (std::size_t i = 0; i < tree.links.size(); ++i) {
      for (int t = k + tree.entry[i]; t < k + tree.entry[i] + tree.window; ++t) {
        used_[at(tree.links[i])][at(t)] += amount;
      }
    }
  }

  const EpochInstance& instance_;
  int nodes_ = 0;
  int chunks_ = 0;
  int horizon_ = 0;
  std::vector<Tree> trees_;
  std::unordered_set<std::string> known_;
  std::vector<int> distance_;           // epochs between nodes without contention
  std::vector<int> arrival_;            // by chunk and node; kNever: neither held nor under way
  std::vector<std::vector<int>> used_;  // by link and epoch
  std::vector<EpochSend> sends_;
  std::unordered_set<std::string> failed_;
};

/// The optimum of an instance in the epoch model, or none if it needs more than `most` epochs.
inline std::optional<EpochOptimum> brute_force(const EpochInstance& instance, int most) {
  return BruteForce(instance).solve(most);
}

/// The problem in continuous time whose plans the epoch schedules are; see the head of the file.
/// `chunk_bytes` must be divisible by every window.
inline Problem to_problem(const EpochInstance& instance, Bytes chunk_bytes, Time epoch) {
  IdVector<NodeId, Node> nodes;
  for (std::size_t v = 0; v < instance.kinds.size(); ++v) {
    Node node;
    node.name = "n" + std::to_string(v);
    node.kind = instance.kinds[v];
    node.multicast = instance.multicast[v];
    nodes.push_back(node);
  }
  IdVector<LinkId, Link> links;
  for (const EpochLink& link : instance.links) {
    const Int128 duration = static_cast<Int128>(link.window) * epoch.ps;
    const Int128 rate =
        static_cast<Int128>(link.parallel) * chunk_bytes.value * 1'000'000'000'000 / duration;
    assert(rate * duration ==
           static_cast<Int128>(link.parallel) * chunk_bytes.value * 1'000'000'000'000);
    links.push_back({NodeId(link.from), NodeId(link.to), link.latency * epoch,
                     Bandwidth{static_cast<std::int64_t>(rate)}, ""});
  }
  Topology topology("tiny", "", std::move(nodes), std::move(links));
  Job job;
  job.name = "custom";
  job.collective = Collective::custom;
  job.ranks = topology.gpus();
  for (const EpochChunk& chunk : instance.chunks) {
    CustomChunk custom;
    custom.bytes = chunk_bytes;
    custom.ready = chunk.ready * epoch;
    for (const int node : chunk.origins) custom.origins.push_back(NodeId(node));
    for (const int node : chunk.destinations) custom.destinations.push_back(NodeId(node));
    job.custom.push_back(custom);
  }
  return make_problem(std::move(topology), {job});
}

struct RandomInstanceOptions {
  bool switches = true;
  bool parallel = false;  ///< links that carry several chunks at once
  bool ready = true;      ///< chunks that are ready later than 0
  int most_nodes = 4;
  int most_chunks = 3;
  int most_latency = 2;
  int most_window = 3;
};

/// A random instance; destinations may turn out to be unreachable. Windows around a switch are
/// equal.
inline EpochInstance random_instance(Rng& rng, const RandomInstanceOptions& options = {}) {
  EpochInstance instance;
  const int n = static_cast<int>(rng.between(2, options.most_nodes));
  std::vector<int> gpus;
  for (int v = 0; v < n; ++v) {
    const bool is_switch = options.switches && v >= 2 && rng.below(4) == 0;
    instance.kinds.push_back(is_switch                     ? NodeKind::switch_
                             : rng.below(8) == 0 && v >= 2 ? NodeKind::relay
                                                           : NodeKind::gpu);
    instance.multicast.push_back(is_switch && rng.below(2) == 0);
    if (instance.kinds.back() == NodeKind::gpu) gpus.push_back(v);
  }
  const int switch_window = static_cast<int>(rng.between(1, options.most_window));
  for (int u = 0; u < n; ++u) {
    for (int v = 0; v < n; ++v) {
      if (u == v || rng.below(10) < 3) continue;
      const bool at_switch = !instance.stores(u) || !instance.stores(v);
      EpochLink link{
          u, v, static_cast<int>(rng.between(0, options.most_latency)),
          at_switch ? switch_window : static_cast<int>(rng.between(1, options.most_window)), 1};
      if (options.parallel && link.window == 1 && !at_switch && rng.below(3) == 0)
        link.parallel = 2;
      instance.links.push_back(link);
      if (rng.below(10) == 0) instance.links.push_back(link);  // parallel links
    }
  }
  const std::int64_t chunks = rng.between(1, options.most_chunks);
  for (std::int64_t c = 0; c < chunks; ++c) {
    EpochChunk chunk;
    chunk.ready = options.ready && rng.below(4) == 0 ? static_cast<int>(rng.between(1, 3)) : 0;
    rng.shuffle(gpus);
    chunk.origins.push_back(gpus.front());
    if (gpus.size() > 2 && rng.below(6) == 0) chunk.origins.push_back(gpus[1]);
    for (std::size_t i = chunk.origins.size(); i < gpus.size(); ++i) {
      if (chunk.destinations.empty() || rng.below(2) == 0) chunk.destinations.push_back(gpus[i]);
    }
    instance.chunks.push_back(std::move(chunk));
  }
  return instance;
}

}  // namespace stellwerk::testing
