#include "stellwerk/plan/tree_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stellwerk {
namespace {

Time latency_of(const Topology& topology, const std::vector<LinkId>& links) {
  Time latency{0};
  for (const LinkId id : links) latency += topology.link(id).latency;
  return latency;
}

/// The links up to the next storing node.
std::vector<std::vector<LinkId>> hops(const Topology& topology, const std::vector<LinkId>& links) {
  std::vector<std::vector<LinkId>> result(1);
  for (const LinkId id : links) {
    result.back().push_back(id);
    if (topology.stores(topology.link(id).to)) result.emplace_back();
  }
  result.pop_back();
  return result;
}

}  // namespace

std::vector<std::size_t> deal_trees(const std::vector<graph::Arborescence>& trees, int root,
                                    std::int64_t pieces) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (trees[t].root != root) continue;
    const std::int64_t count = trees[t].copies * pieces;
    const double offset = static_cast<double>(t * 7919 % 97) / 97.0;
    for (std::int64_t i = 0; i < count; ++i)
      order.emplace_back((static_cast<double>(i) + offset) / static_cast<double>(count), t);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> result;
  result.reserve(order.size());
  for (const auto& [place, tree] : order) result.push_back(tree);
  return result;
}

void TreeSchedule::add_send(ChunkId chunk, Op op, std::vector<LinkId> links, double position) {
  sends_.push_back(whole_chunk_send(problem_.topology, problem_.chunks[chunk], chunk, op, Time{0},
                                    std::move(links)));
  positions_.push_back(position);
}

void TreeSchedule::spread(ChunkId chunk, const TreePacking& packing,
                          const graph::Arborescence& tree, const std::vector<NodeId>& terminals,
                          double position, const std::vector<Wait>& after) {
  const Topology& topology = problem_.topology;
  const NodeId root = terminals[static_cast<std::size_t>(tree.root)];
  std::vector<NodeId> touched;
  for (const int arc : tree.arcs) {
    const LogicalLink& way = packing.links[static_cast<std::size_t>(arc)];
    for (std::vector<LinkId>& links : hops(topology, way.links)) {
      const NodeId from = topology.link(links.front()).from;
      const NodeId to = topology.link(links.back()).to;
      // A node that forwards for two ways is sent the chunk once.
      if (to == root || holder_[to.index()] >= 0) continue;
      const auto number = static_cast<std::int32_t>(sends_.size());
      if (from == root) {
        for (Wait wait : after) {
          wait.after = number;
          waits_.push_back(wait);
        }
      } else {
        const std::int32_t bringer = holder_[from.index()];
        waits_.push_back({bringer, number,
                          latency_of(topology, sends_[static_cast<std::size_t>(bringer)].links)});
      }
      holder_[to.index()] = number;
      touched.push_back(to);
      add_send(chunk, Op::copy, std::move(links), position);
    }
  }
  for (const NodeId node : touched) holder_[node.index()] = -1;
}

std::vector<Wait> TreeSchedule::gather(ChunkId chunk, const TreePacking& packing,
                                       const graph::Arborescence& tree,
                                       const std::vector<NodeId>& terminals, double position) {
  const Topology& topology = problem_.topology;
  const NodeId root = terminals[static_cast<std::size_t>(tree.root)];
  // As if it spread, in the order of the tree; then every send is turned round.
  std::vector<std::vector<LinkId>> ways;
  std::vector<NodeId> touched{root};
  holder_[root.index()] = 0;
  for (const int arc : tree.arcs) {
    std::vector<LinkId> links = packing.links[static_cast<std::size_t>(arc)].links;
    std::reverse(links.begin(), links.end());
    std::vector<std::vector<LinkId>> parts = hops(topology, links);
    for (std::size_t i = parts.size(); i-- > 0;) {
      const NodeId from = topology.link(parts[i].front()).from;
      if (holder_[from.index()] >= 0) continue;
      holder_[from.index()] = 0;
      touched.push_back(from);
      ways.push_back(std::move(parts[i]));
    }
  }
  // Leaves first: what a node waits for has been added before.
  std::vector<std::vector<Wait>> into(topology.nodes().size());
  for (std::size_t i = ways.size(); i-- > 0;) {
    const NodeId from = topology.link(ways[i].front()).from;
    const NodeId to = topology.link(ways[i].back()).to;
    const auto number = static_cast<std::int32_t>(sends_.size());
    for (Wait wait : into[from.index()]) {
      wait.after = number;
      waits_.push_back(wait);
    }
    into[to.index()].push_back({number, 0, latency_of(topology, ways[i])});
    add_send(chunk, Op::reduce, std::move(ways[i]), position);
  }
  for (const NodeId node : touched) holder_[node.index()] = -1;
  return into[root.index()];
}

ListSchedule::Result TreeSchedule::schedule(std::span<const Order> orders, const Aims& aims,
                                            const StopCondition& stop) const {
  std::vector<Time> ready;
  ready.reserve(sends_.size());
  for (const Send& send : sends_) ready.push_back(problem_.chunks[send.chunk].ready);
  const ListSchedule list(problem_.topology, sends_, waits_, std::move(ready));
  const std::vector<Time> tails = list.tails();
  std::vector<ListSchedule::Result> first;
  std::vector<std::int64_t> key(sends_.size());
  Time best = aims.known;
  for (const Order order : orders) {
    if (stop.should_stop()) break;
    for (std::size_t i = 0; i < key.size(); ++i) {
      const double turn =
          order == Order::way ? 0 : positions_[i] * static_cast<double>(aims.fluid.ps);
      const std::int64_t divisor = order == Order::turn ? 1000 : 1;
      key[i] = static_cast<std::int64_t>(std::llround(turn)) - tails[i].ps / divisor;
    }
    ListSchedule::Result result = list.forwards(key, stop);
    if (result.finish == Time::max()) break;
    best = std::min(best, result.finish);
    first.push_back(std::move(result));
    if (best <= aims.target) break;
  }
  std::sort(first.begin(), first.end(),
            [](const auto& a, const auto& b) { return a.finish < b.finish; });
  // Passes over many sends take long and find little: the best order is improved, no other.
  constexpr std::size_t kMany = 100'000;
  const bool one = aims.quick || sends_.size() > kMany;
  const int rounds = sends_.size() > kMany ? 2 : aims.quick ? 4 : 8;
  ListSchedule::Result result;
  for (ListSchedule::Result& each : first) {
    const bool near = each.finish.ps / 100 * 97 < best.ps;  // passes may bring a few percent
    const bool improve = near && (!one || result.finish == Time::max());
    each = improve ? list.improve(std::move(each), rounds, aims.target, stop) : std::move(each);
    best = std::min(best, each.finish);
    if (each.finish < result.finish) result = std::move(each);
    if (best <= aims.target) break;
  }
  return result;
}

Schedule TreeSchedule::with_times(const ListSchedule::Result& result) const {
  return stellwerk::with_times(sends_, result);
}

}  // namespace stellwerk
