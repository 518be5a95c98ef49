// Splitting off switches.
//
// Problem. Trees are packed into a digraph whose vertices all want the data. A switch wants nothing
// and copies nothing: what comes in goes out once. So each bit of capacity into it has to be paired
// with one out of it, and a pair u -> switch -> v becomes an arc u -> v. Which pairs keep every cut
// between the terminals as large as it has to be? (That such pairs exist where in- and out-capacities
// balance is a theorem of Jackson, and of Bang-Jensen, Frank and Jackson, SIAM J. Discr. Math. 8,
// 1995.)
//
// Idea. One node after the other, those without terminals beside them first. (1) Pairs in proportion to
// both capacities (iterative proportional fitting), less a thousandfold where the pair has a faster
// way elsewhere or would turn back; rounded to whole numbers (logical_rounding.cpp). (2) When only
// terminals are left, every terminal's cut is checked, and those that are too small are widened
// (logical_cuts.cpp).
//
// Relays and GPUs that only forward are split off like switches; injection and ejection caps are
// nodes of their own in front of their node.
//
// Guarantee. What is returned passes the check. It may fail where a packing exists: callers then
// allow a little more time. Cost: one max-flow per terminal and repair. Tests:
// logical_links_test.cpp.
#include "stellwerk/plan/logical_links.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "stellwerk/plan/logical_network.hpp"

namespace stellwerk {
namespace {

constexpr double kLittle = 1e-3;  // weight of a pair that others can serve better
constexpr std::int64_t kPlenty = std::int64_t{1} << 60;

std::size_t at(int number) { return static_cast<std::size_t>(number); }

class Splitter {
 public:
  Splitter(const Topology& topology, const Terminals& terminals, Rng& rng,
           const StopCondition& stop)
      : topology_(topology), terminals_(terminals), rng_(rng), stop_(stop) {}

  std::optional<std::vector<LogicalLink>> run() {
    make_graph();
    find_distances();
    for (const int node : order()) {
      if (stop_.should_stop()) return std::nullopt;
      split(node);
    }
    if (!widen_cuts(network_, terminals_, rng_, stop_)) return std::nullopt;
    std::vector<LogicalLink> result;
    for (const LogicalEdge& edge : network_.edges) {
      if (edge.gone || edge.copies == 0) continue;
      result.push_back({network_.terminal_of(edge.from), network_.terminal_of(edge.to), edge.copies,
                        edge.links});
    }
    return result;
  }

 private:
  int add_node(bool storing) {
    storing_.push_back(storing ? 1 : 0);
    network_.terminal.push_back(-1);
    return static_cast<int>(storing_.size()) - 1;
  }
  void add_edge(int from, int to, std::int64_t copies, std::vector<LinkId> links) {
    network_.edges.push_back({from, to, copies, std::move(links)});
  }

  void make_graph() {
    const std::size_t nodes = topology_.nodes().size();
    std::vector<int> leave(nodes, -1), enter(nodes, -1);  // where links of a node begin and end
    for (const NodeId node : topology_.node_ids()) {
      const int number = add_node(topology_.stores(node));
      leave[node.index()] = enter[node.index()] = number;
    }
    for (std::size_t t = 0; t < terminals_.nodes.size(); ++t)
      network_.terminal[terminals_.nodes[t].index()] = static_cast<int>(t);
    for (const NodeId node : topology_.node_ids()) {
      if (!topology_.stores(node)) continue;
      const int number = static_cast<int>(node.index());
      if (terminals_.injection[node] >= 0) {
        leave[node.index()] = add_node(false);
        add_edge(number, leave[node.index()], terminals_.injection[node], {});
      }
      if (terminals_.ejection[node] >= 0) {
        enter[node.index()] = add_node(false);
        add_edge(enter[node.index()], number, terminals_.ejection[node], {});
      }
    }
    const auto usable = [&](NodeId node) {
      return !topology_.stores(node) || network_.terminal[node.index()] >= 0 ||
             terminals_.passable[node] != 0;
    };
    for (const LinkId id : topology_.link_ids()) {
      const Link& link = topology_.link(id);
      if (terminals_.capacity[id] <= 0 || !usable(link.from) || !usable(link.to)) continue;
      add_edge(leave[link.from.index()], enter[link.to.index()], terminals_.capacity[id], {id});
    }
  }

  /// Links on the shortest way between any two nodes, and the widest single step between terminals.
  void find_distances() {
    const std::size_t n = storing_.size();
    std::vector<std::vector<std::pair<int, int>>> out(n);  // head, links
    for (const LogicalEdge& edge : network_.edges)
      out[at(edge.from)].emplace_back(edge.to, edge.links.empty() ? 0 : 1);
    distance_.assign(n * n, kFar);
    std::vector<int> now, later;
    for (std::size_t s = 0; s < n; ++s) {
      std::uint16_t* row = distance_.data() + s * n;
      row[s] = 0;
      now.assign(1, static_cast<int>(s));
      for (std::uint16_t d = 0; !now.empty(); ++d, now.swap(later)) {
        later.clear();
        for (std::size_t i = 0; i < now.size(); ++i) {
          for (const auto& [to, step] : out[at(now[i])]) {
            if (row[at(to)] <= d + step) continue;
            row[at(to)] = static_cast<std::uint16_t>(d + step);
            (step == 0 ? now : later).push_back(to);
          }
        }
      }
    }
    const std::size_t terminals = terminals_.nodes.size();
    width_.assign(terminals * terminals, 0);
    const auto widen = [&](int from, int to, std::int64_t copies) {
      std::int64_t& width =
          width_[at(network_.terminal_of(from)) * terminals + at(network_.terminal_of(to))];
      width = std::max(width, copies);
    };
    std::vector<std::vector<std::size_t>> in(n);
    for (std::size_t e = 0; e < network_.edges.size(); ++e) {
      const LogicalEdge& edge = network_.edges[e];
      if (network_.terminal_of(edge.from) >= 0 && network_.terminal_of(edge.to) >= 0) {
        widen(edge.from, edge.to, edge.copies);
      } else if (network_.terminal_of(edge.from) >= 0) {
        in[at(edge.to)].push_back(e);
      }
    }
    for (const LogicalEdge& second : network_.edges) {
      if (network_.terminal_of(second.from) >= 0 || network_.terminal_of(second.to) < 0) continue;
      for (const std::size_t e : in[at(second.from)])
        widen(network_.edges[e].from, second.to, std::min(network_.edges[e].copies, second.copies));
    }
  }

  /// All nodes but terminals, those with fewest terminals beside them first.
  std::vector<int> order() const {
    std::vector<std::pair<int, int>> keyed;
    std::vector<int> beside(storing_.size(), 0);
    for (const LogicalEdge& edge : network_.edges) {
      if (network_.terminal_of(edge.from) >= 0) ++beside[at(edge.to)];
      if (network_.terminal_of(edge.to) >= 0) ++beside[at(edge.from)];
    }
    for (int v = 0; v < static_cast<int>(storing_.size()); ++v) {
      if (network_.terminal_of(v) < 0) keyed.emplace_back(beside[at(v)], v);
    }
    std::sort(keyed.begin(), keyed.end());
    std::vector<int> result;
    for (const auto& [count, v] : keyed) result.push_back(v);
    return result;
  }

  std::int64_t bottleneck(const LogicalEdge& edge) const {
    std::int64_t least = kPlenty;
    for (const LinkId id : edge.links) least = std::min(least, terminals_.capacity[id]);
    return least;
  }

  /// How much a pair is wanted.
  double weight(const LogicalEdge& in, const LogicalEdge& out) const {
    if (!may_pair(in, out)) return 0;
    const std::size_t links = in.links.size() + out.links.size();
    if (links > distance_[at(in.from) * storing_.size() + at(out.to)]) return kLittle;
    const int from = network_.terminal_of(in.from);
    const int to = network_.terminal_of(out.to);
    if (from < 0 || to < 0) return 1;
    const std::int64_t here = std::min(bottleneck(in), bottleneck(out));
    return width_[at(from) * terminals_.nodes.size() + at(to)] > here ? kLittle : 1;
  }

  void split(int node) {
    std::vector<int> in, out;
    for (int e = 0; e < static_cast<int>(network_.edges.size()); ++e) {
      if (network_.edge(e).gone) continue;
      if (network_.edge(e).to == node) in.push_back(e);
      if (network_.edge(e).from == node) out.push_back(e);
    }
    const std::size_t rows = in.size();
    const std::size_t columns = out.size();
    std::vector<double> share(rows * columns);
    std::vector<std::int64_t> row_left, column_left;
    for (const int e : in) row_left.push_back(network_.edge(e).copies);
    for (const int e : out) column_left.push_back(network_.edge(e).copies);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j)
        share[i * columns + j] = weight(network_.edge(in[i]), network_.edge(out[j]));
    }
    if (terminals_.partners.few) {
      pair_cyclically(node, in, out, share, row_left, column_left);
    } else {
      fit(share, row_left, column_left);
    }
    const std::vector<std::int64_t> pairs =
        round_shares(network_, in, out, share, row_left, column_left, rng_);
    for (std::size_t i = 0; i < rows; ++i) network_.edge(in[i]).left = row_left[i];
    for (std::size_t j = 0; j < columns; ++j) network_.edge(out[j]).left = column_left[j];
    for (std::size_t p = 0; p < pairs.size(); ++p)
      add_pair(node, in[p / columns], out[p % columns], pairs[p], share[p]);
    for (const int e : in) network_.edge(e).gone = true;
    for (const int e : out) network_.edge(e).gone = true;
  }

  void add_pair(int node, int in, int out, std::int64_t copies, double share) {
    const LogicalEdge& first = network_.edge(in);
    const LogicalEdge& second = network_.edge(out);
    // Pairs of terminals are kept even when empty: repairs may need them.
    const bool last = network_.terminal_of(first.from) >= 0 && network_.terminal_of(second.to) >= 0;
    if (!may_pair(first, second) || (copies == 0 && !last)) return;
    LogicalEdge edge{first.from, second.to, copies, first.links, node, in, out};
    edge.share = share;
    edge.links.insert(edge.links.end(), second.links.begin(), second.links.end());
    std::merge(first.via.begin(), first.via.end(), second.via.begin(), second.via.end(),
               std::back_inserter(edge.via));
    edge.via.insert(std::lower_bound(edge.via.begin(), edge.via.end(), node), node);
    network_.edges.push_back(std::move(edge));
  }

  /// Pairs every way in with the first ways out after it, as far as these have something left.
  void pair_cyclically(int node, const std::vector<int>& in, const std::vector<int>& out,
                       std::vector<double>& share, std::vector<std::int64_t> row_left,
                       std::vector<std::int64_t> column_left) const {
    std::vector<int> place(storing_.size());
    std::iota(place.begin(), place.end(), 0);
    Rng order(terminals_.partners.seed + static_cast<std::uint64_t>(node));
    order.shuffle(place);
    std::vector<int> beside;  // neighbours in this order
    for (const int e : in) beside.push_back(place[at(network_.edge(e).from)]);
    for (const int e : out) beside.push_back(place[at(network_.edge(e).to)]);
    std::sort(beside.begin(), beside.end());
    beside.erase(std::unique(beside.begin(), beside.end()), beside.end());
    const auto rank = [&](int neighbour) {
      const auto found = std::lower_bound(beside.begin(), beside.end(), place[at(neighbour)]);
      return static_cast<int>(found - beside.begin());
    };
    // Pairs that others serve better come last.
    std::vector<std::tuple<bool, int, std::size_t>> pairs;
    const int n = static_cast<int>(beside.size());
    for (std::size_t p = 0; p < share.size(); ++p) {
      if (share[p] <= 0) continue;
      const int step = rank(network_.edge(out[p % out.size()]).to) -
                       rank(network_.edge(in[p / out.size()]).from);
      const int distance = terminals_.partners.backwards ? n - step : n + step;
      pairs.emplace_back(share[p] < 1, distance % n, p);
    }
    std::sort(pairs.begin(), pairs.end());
    constexpr double kUnused = 0.01;  // may still grow
    for (const auto& [little, distance, p] : pairs) {
      std::int64_t& row = row_left[p / out.size()];
      std::int64_t& column = column_left[p % out.size()];
      const std::int64_t amount = std::min(row, column);
      share[p] = amount > 0 ? static_cast<double>(amount) : kUnused;
      row -= amount;
      column -= amount;
    }
  }

  /// Scales rows and columns in turn until neither exceeds its capacity.
  static void fit(std::vector<double>& share, const std::vector<std::int64_t>& row_capacity,
                  const std::vector<std::int64_t>& column_capacity) {
    const std::size_t rows = row_capacity.size();
    const std::size_t columns = column_capacity.size();
    constexpr int kRounds = 60;
    constexpr int kGrowing = 40;
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < columns; ++j) sum += share[i * columns + j];
        const auto capacity = static_cast<double>(row_capacity[i]);
        if (sum <= 0 || (sum <= capacity && round >= kGrowing)) continue;
        for (std::size_t j = 0; j < columns; ++j) share[i * columns + j] *= capacity / sum;
      }
      for (std::size_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (std::size_t i = 0; i < rows; ++i) sum += share[i * columns + j];
        const auto capacity = static_cast<double>(column_capacity[j]);
        if (sum <= capacity) continue;
        for (std::size_t i = 0; i < rows; ++i) share[i * columns + j] *= capacity / sum;
      }
    }
  }

  static constexpr std::uint16_t kFar = 60000;

  const Topology& topology_;
  const Terminals& terminals_;
  Rng& rng_;
  const StopCondition& stop_;
  std::vector<char> storing_;
  LogicalNetwork network_;
  std::vector<std::uint16_t> distance_;
  std::vector<std::int64_t> width_;
};

}  // namespace

std::optional<std::vector<LogicalLink>> split_off(const Topology& topology,
                                                  const Terminals& terminals, Rng& rng,
                                                  const StopCondition& stop) {
  return Splitter(topology, terminals, rng, stop).run();
}

}  // namespace stellwerk
