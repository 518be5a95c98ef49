// Problem: a thousand GPUs have thousands of natural sets, and to evaluate the cuts into all of them
// takes seconds. Idea: rank them first. They come in partitions (hosts, racks, ...), and one pass over
// demand and links gives the bytes and the bandwidth into and out of all parts of a partition at once;
// only the best few sets are ever made. Under a symmetry the parts around one rank of each orbit are
// enough. Guarantee: none, these are proposals. Cost: (demand + links) for each of a few dozen
// partitions. Held to its word by main_cuts_test.cpp.
#include "stellwerk/bound/natural_sets.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace stellwerk::bound {
namespace {

constexpr int kNone = -1;
constexpr std::size_t kMostClusterLevels = 12;
constexpr std::size_t kMostNaturalSets = 24;
constexpr std::size_t kMostAlike = 2;
constexpr std::int64_t kMostEffort = 1'000'000;  // images looked at for one set

/// One part number a node; kNone: in no part.
using Labels = std::vector<int>;

double rate(const Link& link) { return static_cast<double>(link.bandwidth.bytes_per_second); }

class NaturalSets {
 public:
  NaturalSets(const Network& network, const Images& images,
              const std::vector<NodeId>& representatives, const StopCondition& stop)
      : network_(network), images_(images), representatives_(representatives), stop_(stop) {}

  std::vector<MainSet> run() const {
    struct Side {
      double seconds;
      std::size_t partition;
      int part;
      bool complement;
    };
    std::vector<Side> sides;
    const std::vector<Labels> all = partitions();
    // Single nodes always: a moment's work, and without any set nothing but latency would be proven.
    for (std::size_t p = 0; p < all.size() && (p == 0 || !stop_.should_stop()); ++p) {
      const Flows flows = flows_of(all[p]);
      for (std::size_t k = 0; k < flows.rate_in.size(); ++k) {
        if (flows.bytes_in[k] > 0 && flows.rate_in[k] > 0) {
          sides.push_back({flows.bytes_in[k] / flows.rate_in[k], p, static_cast<int>(k), false});
        }
        if (flows.bytes_out[k] > 0 && flows.rate_out[k] > 0) {
          sides.push_back({flows.bytes_out[k] / flows.rate_out[k], p, static_cast<int>(k), true});
        }
      }
    }
    std::sort(sides.begin(), sides.end(), [](const Side& a, const Side& b) {
      return std::tie(b.seconds, a.partition, a.part, a.complement) <
             std::tie(a.seconds, b.partition, b.part, b.complement);
    });
    std::vector<MainSet> result;
    std::size_t taken = 0;
    std::map<std::tuple<double, std::size_t, bool>, std::size_t> alike;
    for (const Side& side : sides) {
      if (taken == kMostNaturalSets) break;
      if (++alike[{side.seconds, side.partition, side.complement}] > kMostAlike) continue;
      NodeSet set(network_.nodes());
      for (std::size_t v = 0; v < set.size(); ++v) {
        set[v] = (all[side.partition][v] == side.part) != side.complement;
      }
      NodeSet refined = with_switches(set);
      const bool same = refined == set;
      result.push_back({std::move(set), std::nullopt, side.seconds});
      if (!same) result.push_back({std::move(refined), std::nullopt, side.seconds});
      ++taken;
    }
    return result;
  }

 private:
  const Topology& topology() const { return network_.topology(); }
  const Demand& demand() const { return images_.demand(); }

  /// Bytes and bandwidth of the parts of a partition.
  struct Flows {
    explicit Flows(std::size_t parts)
        : bytes_in(parts, 0), bytes_out(parts, 0), rate_in(parts, 0), rate_out(parts, 0) {}
    std::vector<double> bytes_in, bytes_out;  // that must enter / leave
    std::vector<double> rate_in, rate_out;
  };

  std::vector<Labels> partitions() const {
    std::vector<Labels> result;
    const std::size_t n = network_.nodes();
    Labels each(n);
    for (std::size_t v = 0; v < n; ++v) each[v] = static_cast<int>(v);
    result.push_back(std::move(each));
    for (const auto member : {&Node::host, &Node::rack}) {
      Labels labels(n, kNone);
      std::map<std::string_view, int> numbers;
      for (const NodeId node : topology().node_ids()) {
        const std::string& label = topology().node(node).*member;
        if (label.empty()) continue;
        labels[node.index()] =
            numbers.try_emplace(label, static_cast<int>(numbers.size())).first->second;
      }
      if (numbers.size() > 1) result.push_back(draw_in(std::move(labels)));
    }
    const auto& bandwidths = network_.bandwidths();
    const std::size_t levels = std::min(bandwidths.size(), kMostClusterLevels);
    for (std::size_t k = 0; k < levels; ++k) {
      const std::int64_t threshold = bandwidths[k * bandwidths.size() / levels];
      std::vector<bool> usable;
      for (const Link& link : topology().links()) {
        usable.push_back(link.bandwidth.bytes_per_second >= threshold);
      }
      result.push_back(graph::strong_components(network_.digraph(), usable));
    }
    for (Labels& layer : switch_neighbourhoods()) result.push_back(draw_in(std::move(layer)));
    return result;
  }

  /// Switches and relays without a part join the one to which most of their bandwidth leads.
  Labels draw_in(Labels labels) const {
    for (std::size_t round = 0; round < network_.nodes(); ++round) {
      bool changed = false;
      for (const NodeId node : topology().node_ids()) {
        if (labels[node.index()] != kNone || topology().node(node).kind == NodeKind::gpu) continue;
        std::map<int, double> ties;
        double all = 0;
        for (const auto& [links, end] :
             {std::pair(topology().in(node), &Link::from), {topology().out(node), &Link::to}}) {
          for (const LinkId id : links) {
            const Link& link = topology().link(id);
            ties[labels[(link.*end).index()]] += rate(link);
            all += rate(link);
          }
        }
        for (const auto& [part, bandwidth] : ties) {
          if (part == kNone || 2 * bandwidth <= all) continue;
          labels[node.index()] = part;
          changed = true;
        }
      }
      if (!changed) break;
    }
    return labels;
  }

  /// Every switch with its GPUs; those that share GPUs in different layers.
  std::vector<Labels> switch_neighbourhoods() const {
    constexpr std::size_t kMostLayers = 4;
    std::vector<Labels> layers;
    int next = 0;
    for (const NodeId node : topology().node_ids()) {
      if (topology().node(node).kind == NodeKind::gpu) continue;
      std::vector<NodeId> group = {node};
      for (const LinkId id : topology().out(node)) {
        const NodeId to = topology().link(id).to;
        if (topology().node(to).kind == NodeKind::gpu) group.push_back(to);
      }
      if (group.size() == 1) continue;
      const auto room = [&](const Labels& labels) {
        return std::all_of(group.begin(), group.end(),
                           [&](NodeId v) { return labels[v.index()] == kNone; });
      };
      auto layer = std::find_if(layers.begin(), layers.end(), room);
      if (layer == layers.end()) {
        if (layers.size() == kMostLayers) continue;
        layer = layers.insert(layers.end(), Labels(network_.nodes(), kNone));
      }
      for (const NodeId v : group) (*layer)[v.index()] = next;
      ++next;
    }
    return layers;
  }

  /// Takes in or leaves out each switch and relay so that less bandwidth enters, until nothing
  /// helps.
  NodeSet with_switches(NodeSet set) const {
    for (std::size_t round = 0; round < network_.nodes(); ++round) {
      bool changed = false;
      for (const NodeId node : topology().node_ids()) {
        if (topology().node(node).kind == NodeKind::gpu) continue;
        double from_outside = 0, to_inside = 0;
        for (const LinkId id : topology().in(node)) {
          const Link& link = topology().link(id);
          if (!set[link.from.index()]) from_outside += rate(link);
        }
        for (const LinkId id : topology().out(node)) {
          const Link& link = topology().link(id);
          if (set[link.to.index()]) to_inside += rate(link);
        }
        if (from_outside != to_inside && set[node.index()] != (from_outside < to_inside)) {
          set[node.index()] = from_outside < to_inside;
          changed = true;
        }
      }
      if (!changed) break;
    }
    return set;
  }

  Flows flows_of(const Labels& labels) const {
    const int last = *std::max_element(labels.begin(), labels.end());
    Flows flows(static_cast<std::size_t>(last + 1));
    for (const Link& link : topology().links()) {
      const int from = labels[link.from.index()], to = labels[link.to.index()];
      if (from == to) continue;
      if (from != kNone) flows.rate_out[static_cast<std::size_t>(from)] += rate(link);
      if (to != kNone) flows.rate_in[static_cast<std::size_t>(to)] += rate(link);
    }
    if (images_.compressed()) {
      count_by_base(labels, flows);
    } else {
      count_all(labels, flows);
    }
    return flows;
  }

  /// Under a symmetry: the parts that contain a base.
  void count_by_base(const Labels& labels, Flows& flows) const {
    std::vector<bool> done(flows.rate_in.size(), false);
    for (const NodeId base : representatives_) {
      const int part = labels[base.index()];
      if (part == kNone || done[static_cast<std::size_t>(part)]) continue;
      done[static_cast<std::size_t>(part)] = true;
      NodeSet set(network_.nodes());
      for (std::size_t v = 0; v < set.size(); ++v) set[v] = labels[v] == part;
      const auto bytes = [&] {
        const Selection selection{&set, {}, nullptr, nullptr};
        if (images_.effort(selection) > kMostEffort) return 0.0;
        double sum = 0;
        images_.for_each_counted(selection,
                                 [&](std::size_t block, const Element&, std::int64_t images) {
                                   sum += static_cast<double>(demand().block(block).bytes * images);
                                 });
        return sum;
      };
      flows.bytes_in[static_cast<std::size_t>(part)] = bytes();
      set.flip();
      flows.bytes_out[static_cast<std::size_t>(part)] = bytes();
    }
  }

  void count_all(const Labels& labels, Flows& flows) const {
    const auto part_of = [&](NodeId node) { return labels[node.index()]; };
    std::vector<std::size_t> giving(flows.rate_in.size(), 0), wanting(flows.rate_in.size(), 0);
    std::vector<int> givers, wanters;
    std::size_t mark = 0;  // so that the flags need not be cleared
    for (const Block& block : demand().blocks()) {
      const double bytes = static_cast<double>(block.bytes);
      const bool sum = block.reduction;
      if (block.source.valid() && block.destination.valid()) {
        const int a = part_of(block.source), b = part_of(block.destination);
        if (a == b) continue;
        if (a != kNone) flows.bytes_out[static_cast<std::size_t>(a)] += bytes;
        if (b != kNone) flows.bytes_in[static_cast<std::size_t>(b)] += bytes;
        continue;
      }
      ++mark;
      givers.clear();
      wanters.clear();
      const auto touch = [&](const std::vector<NodeId>& nodes, std::vector<std::size_t>& flags,
                             std::vector<int>& parts) {
        bool stray = false;  // a node in no part
        for (const NodeId node : nodes) {
          const int part = part_of(node);
          stray = stray || part == kNone;
          if (part == kNone || flags[static_cast<std::size_t>(part)] == mark) continue;
          flags[static_cast<std::size_t>(part)] = mark;
          parts.push_back(part);
        }
        return stray;
      };
      const bool stray_giver = touch(block.sources(), giving, givers);
      const bool stray_wanter = touch(block.chunk->destinations, wanting, wanters);
      for (const int part : wanters) {
        const std::size_t p = static_cast<std::size_t>(part);
        const bool gives = giving[p] == mark;
        // A sum must enter if another part contributes; data if this part has none.
        if (sum ? (stray_giver || givers.size() > (gives ? 1u : 0u)) : !gives) {
          flows.bytes_in[p] += bytes;
        }
      }
      for (const int part : givers) {
        const std::size_t p = static_cast<std::size_t>(part);
        const bool wants = wanting[p] == mark;
        const bool others_want = stray_wanter || wanters.size() > (wants ? 1u : 0u);
        if (others_want && (sum || (givers.size() == 1 && !stray_giver))) {
          flows.bytes_out[p] += bytes;
        }
      }
    }
  }

  const Network& network_;
  const Images& images_;
  const std::vector<NodeId>& representatives_;
  const StopCondition& stop_;
};

}  // namespace

std::vector<MainSet> natural_sets(const Network& network, const Images& images,
                                  const std::vector<NodeId>& representatives,
                                  const StopCondition& stop) {
  return NaturalSets(network, images, representatives, stop).run();
}

}  // namespace stellwerk::bound
