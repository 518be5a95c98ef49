// Model (docs/planners.md, section "milp", has it with all details):
//   F[c,e,k] = 1: chunk c enters link e in epoch k (towards a plain switch perhaps several times:
//   one for each way on).
//      B[c,n,k] = 1: node n holds c at the start of epoch k.
//   F[c,e,k] <= B[c,tail(e),k];  B[c,n,k] = B[c,n,k-1] + arrivals of c at n usable from k;  B <= 1.
//   Switches hold nothing: what leaves in k entered the switch so as to arrive in k; with multicast
//   each way out is at most the sum of the ways in, without it the sum of the ways out is. Links:
//   the windows that cover an epoch use at most the whole link.  Demand: B[c,d,horizon] = 1.
// Size: a variable exists only if the chunk can be there by then and can still reach a wanting
// destination in time. A chunk that only one node lacks is a flow of one unit instead: B[k] =
// B[k-1] + arrivals - departures. Strength: the relaxation of the copy model is weak, since
// fractions of a copy add up. Cluster cuts repair most of it: a node of a cluster holds at most
// what has entered the cluster early enough to reach it. Without a drop variable B is the sum of
// arrivals, so at most one arrival per node is allowed, and F <= B is strengthened to prefix sums
// on links between storing nodes. Paper: Liu et al., "Rethinking Machine Learning Collective
// Communication as a Multi-Commodity Flow Problem", SIGCOMM 2024. Held to its word by:
// plan/milp_test.cpp and tests/conformance (brute force).
#include "stellwerk/plan/epoch_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "stellwerk/graph/union_find.hpp"
#include "stellwerk/plan/passing.hpp"

namespace stellwerk {
namespace {

using lp::kInfinity;
using lp::Term;

constexpr double kTolerance = 1e-9;

}  // namespace

std::vector<std::vector<NodeId>> fast_clusters(const Topology& topology) {
  std::set<std::int64_t> speeds;
  for (const Link& link : topology.links()) speeds.insert(link.bandwidth.bytes_per_second);
  std::set<std::vector<NodeId>> found;
  const std::size_t nodes = topology.nodes().size();
  for (const std::int64_t speed : speeds) {
    graph::UnionFind joined(nodes);
    for (const Link& link : topology.links()) {
      if (link.bandwidth.bytes_per_second >= speed) joined.join(link.from.index(), link.to.index());
    }
    std::map<std::size_t, std::vector<NodeId>> members;
    for (const NodeId id : topology.node_ids()) members[joined.root(id.index())].push_back(id);
    for (const auto& [_, cluster] : members) {
      if (cluster.size() > 1 && cluster.size() < nodes) found.insert(cluster);
    }
  }
  return {found.begin(), found.end()};
}

EpochModel::EpochModel(const Problem& problem, const EpochGrid& grid, const EpochState& state,
                       int horizon, const EpochModelOptions& options)
    : problem_(problem),
      topology_(problem.topology),
      grid_(grid),
      state_(state),
      horizon_(horizon),
      options_(options),
      links_(problem.topology.links().size()),
      nodes_(problem.topology.nodes().size()),
      enters_(problem.chunks.size() * links_),
      holds_(problem.chunks.size() * nodes_),
      clusters_(fast_clusters(problem.topology)) {
  for (const ChunkId id : problem.chunk_ids()) {
    if (!state.wanted[id].empty()) add_variables(id);
  }
  if (!reachable_) return;
  for (const ChunkId id : problem.chunk_ids()) {
    if (state.wanted[id].empty()) continue;
    add_holding_rows(id);
    add_switch_rows(id);
    add_cluster_cuts(id);
  }
  add_capacity_rows();
  add_node_caps();
  add_buffer_rows();
  add_group_rows();
  if (options.all_demands && options.objective == EpochModelOptions::Objective::none)
    order_equal_chunks();
  set_objective();
}

int EpochModel::holder_epoch(ChunkId chunk, NodeId node) const {
  for (const EpochHolder& holder : state_.holders[chunk]) {
    if (holder.node == node) return holder.epoch;
  }
  return kNever;
}

std::string EpochModel::name(char letter, ChunkId chunk, std::int32_t place, int epoch) const {
  if (!options_.names) return {};
  return letter + ("_" + std::to_string(chunk.value)) + "_" + std::to_string(place) + "_" +
         std::to_string(epoch);
}

/// How often a chunk may enter a link in one epoch: once, but towards a switch that cannot copy it
/// (or not always), as often as it could leave again and the link has room for.
double EpochModel::most_entries(ChunkId chunk, LinkId link) const {
  const Node& head = topology_.node(topology_.link(link).to);
  if (head.stores() || (head.multicast && !head.max_groups) || state_.wanted[chunk].size() == 1)
    return 1;
  const double room = std::floor(1 / grid_.share(link, problem_.chunks[chunk].bytes) + kTolerance);
  const auto ways = static_cast<double>(topology_.out(topology_.link(link).to).size());
  return std::max(1.0, std::min({room, ways, static_cast<double>(state_.wanted[chunk].size())}));
}

void EpochModel::add_variables(ChunkId chunk) {
  const Chunk& what = problem_.chunks[chunk];
  const std::vector<int> earliest = earliest_epochs(problem_, grid_, state_, chunk);
  // Progress may be made towards destinations that cannot be reached within the horizon.
  std::vector<int> distance(nodes_, 0);
  if (options_.all_demands)
    distance = distance_epochs(problem_, grid_, what.bytes, state_.wanted[chunk], what.job);
  const std::set<NodeId> wanted(state_.wanted[chunk].begin(), state_.wanted[chunk].end());
  for (const LinkId id : topology_.link_ids()) {
    const Link& link = topology_.link(id);
    const bool enters_holder = holder_epoch(chunk, link.to) != kNever;
    const bool transit = !wanted.contains(link.to);
    if (enters_holder || (transit && !may_pass(problem_, link.to, what.job, what.bytes))) continue;
    if (distance[link.to.index()] >= kNever) continue;
    if (is_unicast(chunk) && wanted.contains(link.from)) continue;  // it has arrived
    const int held = holder_epoch(chunk, link.from);
    const int first = held != kNever ? held : earliest[link.from.index()];
    int last = horizon_ - grid_.transit(id, what.bytes) - distance[link.to.index()];
    if (topology_.stores(link.from)) last = std::min(last, options_.last_entry);
    if (first > last) continue;
    Range& range = enters(chunk, id);
    range = {first, last - first + 1, static_cast<lp::Variable>(model_.variables())};
    const double most = most_entries(chunk, id);
    for (int k = first; k <= last; ++k)
      model_.add_variable(0, most, 0, true, name('F', chunk, id.value, k));
  }
  for (const NodeId node : topology_.node_ids()) {
    if (!topology_.stores(node) || holder_epoch(chunk, node) != kNever) continue;
    const int first = earliest[node.index()];
    const bool demanded = options_.all_demands && wanted.contains(node);
    if (first > horizon_) {
      if (demanded) reachable_ = false;
      continue;
    }
    Range& range = holds(chunk, node);
    range = {first, horizon_ - first + 1, static_cast<lp::Variable>(model_.variables())};
    for (int k = first; k <= horizon_; ++k) {
      model_.add_variable(demanded && k == horizon_ ? 1 : 0, 1, 0, false,
                          name('B', chunk, node.value, k));
    }
  }
}

void EpochModel::arrivals(ChunkId chunk, NodeId node, int epoch, std::vector<Term>& terms,
                          double factor) const {
  for (const LinkId id : topology_.in(node)) {
    const Range& range = enters(chunk, id);
    if (range.count == 0) continue;
    const lp::Variable variable = range.at(epoch - grid_.transit(id, problem_.chunks[chunk].bytes));
    if (variable >= 0) terms.push_back({variable, factor});
  }
}

void EpochModel::windows(ChunkId chunk, LinkId link, int epoch, std::vector<Term>& terms,
                         double factor) const {
  const Range& range = enters(chunk, link);
  if (range.count == 0) return;
  const int window = grid_.window(link, problem_.chunks[chunk].bytes);
  for (int k = std::max(range.first, epoch - window + 1); k <= epoch; ++k) {
    if (const lp::Variable variable = range.at(k); variable >= 0)
      terms.push_back({variable, factor});
  }
}

bool EpochModel::is_unicast(ChunkId chunk) const {
  return options_.all_demands && options_.objective != EpochModelOptions::Objective::progress &&
         state_.wanted[chunk].size() == 1;
}

/// A chunk that one node lacks needs no copies: it moves, and leaves its holders once. That loses
/// no plan, and the relaxation becomes that of a flow.
void EpochModel::add_unicast_rows(ChunkId chunk) {
  std::vector<Term> terms;
  std::vector<Term> leaving_holders;
  for (const NodeId node : topology_.node_ids()) {
    if (!topology_.stores(node)) continue;
    const Range& held = holds(chunk, node);
    const auto departures = [&](int k, double factor) {
      for (const LinkId id : topology_.out(node)) {
        const Range& range = enters(chunk, id);
        if (range.count > 0 && range.at(k) >= 0) terms.push_back({range.at(k), factor});
      }
    };
    if (held.count == 0) {
      for (const LinkId id : topology_.out(node)) {
        const Range& range = enters(chunk, id);
        for (int k = 0; k < range.count; ++k) leaving_holders.push_back({range.base + k, 1});
      }
      continue;
    }
    for (int k = held.first; k <= horizon_; ++k) {
      terms = {{held.at(k), 1}};
      if (k > held.first) terms.push_back({held.at(k - 1), -1});
      arrivals(chunk, node, k, terms, -1);
      departures(k - 1, 1);
      model_.add_row(0, 0, terms);
      terms.clear();
      departures(k, 1);
      if (terms.empty()) continue;
      if (options_.store) {
        terms.push_back({held.at(k), -1});
      } else {
        arrivals(chunk, node, k, terms, -1);
      }
      model_.add_row(-kInfinity, 0, terms);
    }
    if (topology_.node(node).buffer) {  // away and back again would count as one long stay
      terms.clear();
      for (int k = held.first; k <= horizon_; ++k) arrivals(chunk, node, k, terms, 1);
      model_.add_row(-kInfinity, 1, terms);
    }
  }
  if (!leaving_holders.empty()) model_.add_row(-kInfinity, 1, leaving_holders);
}

void EpochModel::add_holding_rows(ChunkId chunk) {
  if (is_unicast(chunk)) return add_unicast_rows(chunk);
  std::vector<Term> terms;
  const Chunk& what = problem_.chunks[chunk];
  for (const NodeId node : topology_.node_ids()) {
    const Range& held = holds(chunk, node);
    if (held.count == 0) continue;
    const bool drops = topology_.node(node).buffer.has_value() &&
                       std::find(what.destinations.begin(), what.destinations.end(), node) ==
                           what.destinations.end();
    for (int k = held.first; k <= horizon_; ++k) {
      terms.clear();
      terms.push_back({held.at(k), 1});
      if (k > held.first) terms.push_back({held.at(k - 1), -1});
      arrivals(chunk, node, k, terms, -1);
      // A transit chunk may be dropped to make room: then holding is at most what was there and
      // what came.
      model_.add_row(drops ? -kInfinity : 0, 0, terms);
    }
    if (drops) {  // and it does not come again: its stay would count from the first time on
      terms.clear();
      for (int k = held.first; k <= horizon_; ++k) arrivals(chunk, node, k, terms, 1);
      model_.add_row(-kInfinity, 1, terms);
    }
    for (const LinkId id : topology_.out(node)) {
      const Range& range = enters(chunk, id);
      for (int k = range.first; k < range.first + range.count; ++k) {
        terms.clear();
        if (!options_.store) {
          // Forward in the very epoch of arrival.
          terms.push_back({range.at(k), 1});
          arrivals(chunk, node, k, terms, -most_entries(chunk, id));
        } else {
          // A chunk arrives once, so one send on a link to a storing node is enough, and the prefix
          // sum is bounded by the holding. A link to a switch may carry it several times; and what
          // was sent may have been dropped since.
          const bool once = topology_.stores(topology_.link(id).to) && !drops && range.count <= 24;
          const int from = once ? range.first : k;
          for (int j = from; j <= k; ++j) terms.push_back({range.at(j), 1});
          if (const lp::Variable b = held.at(k); b >= 0)
            terms.push_back({b, -most_entries(chunk, id)});
        }
        model_.add_row(-kInfinity, 0, terms);
      }
    }
  }
}

void EpochModel::add_switch_rows(ChunkId chunk) {
  const Bytes bytes = problem_.chunks[chunk].bytes;
  std::vector<Term> out;
  for (const NodeId node : topology_.node_ids()) {
    if (topology_.stores(node)) continue;
    std::map<int, std::vector<LinkId>> leaving;  // by epoch
    for (const LinkId id : topology_.out(node)) {
      const Range& range = enters(chunk, id);
      for (int k = range.first; k < range.first + range.count; ++k) leaving[k].push_back(id);
    }
    // What is there in epoch k and does not come from `back` (a copy that turns round gains nothing
    // but time to wait, and no tree of links can do it).
    const auto subtract_arrivals = [&](int k, NodeId back) {
      for (const LinkId id : topology_.in(node)) {
        if (topology_.link(id).from == back || enters(chunk, id).count == 0) continue;
        const lp::Variable variable = enters(chunk, id).at(k - grid_.transit(id, bytes));
        if (variable >= 0) out.push_back({variable, -1});
      }
    };
    for (const auto& [k, links] : leaving) {
      if (topology_.node(node).multicast && !is_unicast(chunk)) {
        for (const LinkId id : links) {
          out = {{enters(chunk, id).at(k), 1}};
          subtract_arrivals(k, topology_.link(id).to);
          model_.add_row(-kInfinity, 0, out);
        }
        continue;
      }
      out.clear();
      std::set<NodeId> switches;
      for (const LinkId id : links) {
        out.push_back({enters(chunk, id).at(k), 1});
        if (!topology_.stores(topology_.link(id).to)) switches.insert(topology_.link(id).to);
      }
      subtract_arrivals(k, NodeId());
      model_.add_row(-kInfinity, 0, out);
      for (const NodeId head : switches) {
        out.clear();
        for (const LinkId id : links) {
          if (topology_.link(id).to == head) out.push_back({enters(chunk, id).at(k), 1});
        }
        subtract_arrivals(k, head);
        model_.add_row(-kInfinity, 0, out);
      }
    }
  }
}

void EpochModel::add_cluster_cuts(ChunkId chunk) {
  const Chunk& what = problem_.chunks[chunk];
  const std::set<NodeId> wanted(state_.wanted[chunk].begin(), state_.wanted[chunk].end());
  std::vector<Term> terms;
  for (const std::vector<NodeId>& cluster : clusters_) {
    const bool inside = std::any_of(cluster.begin(), cluster.end(), [&](NodeId node) {
      return holder_epoch(chunk, node) != kNever;
    });
    if (inside) continue;
    const auto member = [&](NodeId node) {
      return std::binary_search(cluster.begin(), cluster.end(), node);
    };
    for (const NodeId node : cluster) {
      const Range& held = holds(chunk, node);
      if (held.count == 0 || !wanted.contains(node)) continue;
      const std::vector<int> distance =
          distance_epochs(problem_, grid_, what.bytes, {node}, what.job);
      // The distance from a switch counts from passing, from a GPU from holding: both are what
      // transit leads to.
      for (int k = held.first; k <= horizon_; ++k) {
        terms.clear();
        for (const NodeId head : cluster) {
          for (const LinkId id : topology_.in(head)) {
            const Range& range = enters(chunk, id);
            if (range.count == 0 || member(topology_.link(id).from)) continue;
            const int last = k - distance[head.index()] - grid_.transit(id, what.bytes);
            for (int j = range.first; j <= last && j < range.first + range.count; ++j)
              terms.push_back({range.at(j), -1});
          }
        }
        terms.push_back({held.at(k), 1});
        model_.add_row(-kInfinity, 0, terms);
      }
    }
  }
}

void EpochModel::add_capacity_rows() {
  std::vector<Term> terms;
  for (const LinkId link : topology_.link_ids()) {
    std::set<std::int64_t> sizes;
    for (const ChunkId id : problem_.chunk_ids()) {
      if (enters(id, link).count > 0) sizes.insert(problem_.chunks[id].bytes.value);
    }
    for (const EpochEntry& entry : state_.in_flight) {
      if (entry.link == link) sizes.insert(problem_.chunks[entry.chunk].bytes.value);
    }
    // Chunks of one size: whole numbers of them fit. Else their shares add up to at most the link.
    const bool uniform = sizes.size() == 1;
    for (int k = 0; k < horizon_; ++k) {
      terms.clear();
      double room = 1;
      double unit = 1;
      for (const EpochEntry& entry : state_.in_flight) {
        const Bytes bytes = problem_.chunks[entry.chunk].bytes;
        if (entry.link == link && entry.epoch <= k && entry.epoch + grid_.window(link, bytes) > k) {
          room -= grid_.share(link, bytes);
        }
      }
      for (const ChunkId id : problem_.chunk_ids()) {
        unit = grid_.share(link, problem_.chunks[id].bytes);
        windows(id, link, k, terms, uniform ? 1 : unit);
      }
      if (terms.empty()) continue;
      if (uniform) {
        unit = grid_.share(link, Bytes{*sizes.begin()});
        room = std::floor(room / unit + kTolerance);
      }
      double total = 0;
      for (const Term& term : terms)
        total += term.coefficient * model_.upper()[static_cast<std::size_t>(term.variable)];
      if (total > room + kTolerance) model_.add_row(-kInfinity, std::max(0.0, room), terms);
    }
  }
}

void EpochModel::add_node_caps() {
  std::vector<Term> terms;
  const auto cap = [&](std::span<const LinkId> links, Bandwidth limit, bool arriving) {
    for (int k = 0; k <= horizon_; ++k) {
      terms.clear();
      double room = 1;
      for (const LinkId id : links) {
        const double bandwidth =
            static_cast<double>(topology_.link(id).bandwidth.bytes_per_second) /
            static_cast<double>(limit.bytes_per_second);
        const int epoch = arriving ? k - grid_.latency(id) : k;
        for (const ChunkId chunk : problem_.chunk_ids()) {
          windows(chunk, id, epoch, terms,
                  bandwidth * grid_.share(id, problem_.chunks[chunk].bytes));
        }
        for (const EpochEntry& entry : state_.in_flight) {
          const Bytes bytes = problem_.chunks[entry.chunk].bytes;
          if (entry.link == id && entry.epoch <= epoch &&
              entry.epoch + grid_.window(id, bytes) > epoch) {
            room -= bandwidth * grid_.share(id, bytes);
          }
        }
      }
      if (!terms.empty()) model_.add_row(-kInfinity, std::max(0.0, room), terms);
    }
  };
  for (const NodeId id : topology_.node_ids()) {
    if (topology_.node(id).injection) cap(topology_.out(id), *topology_.node(id).injection, false);
    if (topology_.node(id).ejection) cap(topology_.in(id), *topology_.node(id).ejection, true);
  }
}

void EpochModel::add_buffer_rows() {
  std::vector<Term> terms;
  for (const NodeId node : topology_.node_ids()) {
    if (!topology_.node(node).buffer) continue;
    const double room = static_cast<double>(topology_.node(node).buffer->value);
    std::vector<ChunkId> transit;
    for (const ChunkId id : problem_.chunk_ids()) {
      const Chunk& chunk = problem_.chunks[id];
      const bool own =
          holder_epoch(id, node) != kNever &&
          std::find(chunk.origins.begin(), chunk.origins.end(), node) != chunk.origins.end();
      const auto& wanting = chunk.destinations;
      if (own || std::find(wanting.begin(), wanting.end(), node) != wanting.end() ||
          holds(id, node).count == 0)
        continue;
      transit.push_back(id);
      if (is_unicast(id)) continue;
      // It stays until its last send has ended.
      for (const LinkId link : topology_.out(node)) {
        const Range& range = enters(id, link);
        for (int k = range.first; k < range.first + range.count; ++k) {
          for (int j = k + 1; j < k + grid_.window(link, chunk.bytes) && j <= horizon_; ++j) {
            const std::vector<Term> stays = {{range.at(k), 1}, {holds(id, node).at(j), -1}};
            model_.add_row(-kInfinity, 0, stays);
          }
        }
      }
    }
    for (int k = 0; k <= horizon_; ++k) {
      terms.clear();
      for (const ChunkId id : transit) {
        const double bytes = static_cast<double>(problem_.chunks[id].bytes.value);
        if (const lp::Variable b = holds(id, node).at(k); b >= 0) terms.push_back({b, bytes});
        for (const LinkId link : topology_.in(node))
          windows(id, link, k - grid_.latency(link), terms, bytes);
        if (!is_unicast(id)) continue;
        for (const LinkId link : topology_.out(node)) {  // moved away, but not all of it
          const Range& range = enters(id, link);
          for (int j = k - grid_.window(link, problem_.chunks[id].bytes) + 1; j < k; ++j) {
            if (range.count > 0 && range.at(j) >= 0) terms.push_back({range.at(j), bytes});
          }
        }
      }
      if (!terms.empty()) model_.add_row(-kInfinity, room, terms);
    }
  }
}

void EpochModel::add_group_rows() {
  std::vector<Term> terms;
  for (const NodeId node : topology_.node_ids()) {
    if (!topology_.node(node).max_groups) continue;
    std::map<int, std::vector<Term>> in_progress;  // per epoch: multicasts whose windows cover it
    std::map<int, int> begun;                      // likewise, those from before epoch 0
    std::map<std::pair<ChunkId, int>, int> ways_out;
    for (const EpochEntry& entry : state_.in_flight) {
      if (topology_.link(entry.link).from != node || ++ways_out[{entry.chunk, entry.epoch}] != 2)
        continue;
      const int end = entry.epoch + grid_.window(entry.link, problem_.chunks[entry.chunk].bytes);
      for (int k = std::max(0, entry.epoch); k < end; ++k) ++begun[k];
    }
    for (const ChunkId id : problem_.chunk_ids()) {
      std::map<int, std::vector<Term>> leaving;
      for (const LinkId link : topology_.out(node)) {
        const Range& range = enters(id, link);
        for (int k = range.first; k < range.first + range.count; ++k)
          leaving[k].push_back({range.at(k), 1});
      }
      for (auto& [epoch, out] : leaving) {
        if (out.size() < 2) continue;
        const lp::Variable group = model_.add_binary(0, name('M', id, node.value, epoch));
        const double most = static_cast<double>(out.size()) - 1;
        out.push_back({group, -most});
        arrivals(id, node, epoch, out, -1);
        model_.add_row(-kInfinity, 0, out);  // more ways out than in make a group
        const int window = grid_.window(topology_.out(node).front(), problem_.chunks[id].bytes);
        for (int k = epoch; k < epoch + window; ++k) in_progress[k].push_back({group, 1});
      }
    }
    for (const auto& [epoch, groups] : in_progress) {
      model_.add_row(-kInfinity, std::max(0, *topology_.node(node).max_groups - begun[epoch]),
                     groups);
    }
  }
}

/// Chunks that differ in nothing but their number (nor in who holds them by now) may be renamed, so
/// at one destination they arrive in their order.
void EpochModel::order_equal_chunks() {
  for (std::size_t i = 1; i < problem_.chunks.size(); ++i) {
    const ChunkId a(i - 1);
    const ChunkId b(i);
    const auto& x = problem_.chunks[a];
    const auto& y = problem_.chunks[b];
    if (state_.wanted[a].empty() || x.bytes != y.bytes || x.origins != y.origins ||
        x.destinations != y.destinations || x.job != y.job || x.ready != y.ready ||
        state_.wanted[a] != state_.wanted[b] || state_.holders[a] != state_.holders[b]) {
      continue;
    }
    const NodeId node = state_.wanted[a].back();
    std::vector<Term> terms;
    const Range& first = holds(a, node);
    const Range& second = holds(b, node);
    for (int k = 0; k < first.count; ++k) terms.push_back({first.base + k, -1});
    for (int k = 0; k < second.count; ++k) terms.push_back({second.base + k, 1});
    model_.add_row(-kInfinity, 0, terms);
  }
}

void EpochModel::set_objective() {
  if (options_.objective == EpochModelOptions::Objective::none) return;
  model_.sense = lp::Sense::maximise;
  const bool progress = options_.objective == EpochModelOptions::Objective::progress;
  std::vector<double> cost(model_.variables(), 0);
  for (const ChunkId id : problem_.chunk_ids()) {
    if (state_.wanted[id].empty()) continue;
    const Chunk& what = problem_.chunks[id];
    const double weight = static_cast<double>(problem_.jobs[what.job.index()].weight);
    const std::set<NodeId> wanted(state_.wanted[id].begin(), state_.wanted[id].end());
    std::vector<int> distance;
    if (progress)
      distance = distance_epochs(problem_, grid_, what.bytes, state_.wanted[id], what.job);
    for (const NodeId node : topology_.node_ids()) {
      const Range& held = holds(id, node);
      for (int k = held.first; k < held.first + held.count; ++k) {
        // A delivery usable from epoch k is worth weight / (k + 1), whenever it then stays: B[k] -
        // B[k-1].
        double worth = 0;
        if (wanted.contains(node)) {
          worth = 1;
        } else if (progress && distance[node.index()] < kNever) {
          worth = options_.gamma / (1 + distance[node.index()]);
        }
        worth *= weight;
        cost[static_cast<std::size_t>(held.at(k))] += worth / (k + 1);
        if (k > held.first) cost[static_cast<std::size_t>(held.at(k - 1))] -= worth / (k + 1);
      }
    }
    if (!progress) continue;
    // Every entry costs a little: nothing crosses a link in vain.
    for (const LinkId link : topology_.link_ids()) {
      const Range& range = enters(id, link);
      for (int k = range.first; k < range.first + range.count; ++k)
        cost[static_cast<std::size_t>(range.at(k))] -= 1e-4;
    }
  }
  for (std::size_t i = 0; i < cost.size(); ++i) {
    if (cost[i] != 0) model_.set_cost(static_cast<lp::Variable>(i), cost[i]);
  }
}

std::vector<EpochEntry> EpochModel::entries(const std::vector<double>& values) const {
  std::vector<EpochEntry> result;
  for (const ChunkId chunk : problem_.chunk_ids()) {
    for (const LinkId link : topology_.link_ids()) {
      const Range& range = enters(chunk, link);
      for (int k = range.first; k < range.first + range.count; ++k) {
        const auto times = std::lround(values[static_cast<std::size_t>(range.at(k))]);
        for (long i = 0; i < times; ++i) result.push_back({chunk, link, k});
      }
    }
  }
  return result;
}

std::vector<double> EpochModel::values(const std::vector<EpochEntry>& entries) const {
  // Only models whose variables are F and B are completed: others (groups) get no hint.
  for (const Node& node : topology_.nodes()) {
    if (node.max_groups || node.buffer) return {};
  }
  std::vector<double> result(model_.variables(), 0);
  std::set<std::pair<ChunkId, NodeId>> arrived;
  std::vector<EpochEntry> ordered = entries;
  std::sort(ordered.begin(), ordered.end(),
            [](const EpochEntry& a, const EpochEntry& b) { return a.epoch < b.epoch; });
  for (const EpochEntry& entry : ordered) {
    const Range& range = enters(entry.chunk, entry.link);
    const lp::Variable variable = range.count == 0 ? -1 : range.at(entry.epoch);
    if (variable < 0) return {};
    result[static_cast<std::size_t>(variable)] += 1;
    const NodeId head = topology_.link(entry.link).to;
    const NodeId tail = topology_.link(entry.link).from;
    if (is_unicast(entry.chunk) && topology_.stores(tail) && holds(entry.chunk, tail).count > 0) {
      const Range& left = holds(entry.chunk, tail);
      for (int k = entry.epoch + 1; k <= horizon_; ++k)
        result[static_cast<std::size_t>(left.at(k))] = 0;
    }
    if (!topology_.stores(head)) continue;
    const Range& held = holds(entry.chunk, head);
    if (held.count == 0 || !arrived.emplace(entry.chunk, head).second) return {};
    const int from = entry.epoch + grid_.transit(entry.link, problem_.chunks[entry.chunk].bytes);
    for (int k = std::max(from, held.first); k <= horizon_; ++k)
      result[static_cast<std::size_t>(held.at(k))] = 1;
  }
  return result;
}

std::int64_t count_entries(const Problem& problem, const EpochGrid& grid, const EpochState& state,
                           int horizon) {
  std::int64_t total = 0;
  for (const ChunkId id : problem.chunk_ids()) {
    if (state.wanted[id].empty()) continue;
    const Bytes bytes = problem.chunks[id].bytes;
    const std::vector<int> earliest = earliest_epochs(problem, grid, state, id);
    const std::vector<int> distance =
        distance_epochs(problem, grid, bytes, state.wanted[id], problem.chunks[id].job);
    for (const LinkId link : problem.topology.link_ids()) {
      const int first = earliest[problem.topology.link(link).from.index()];
      const int last =
          horizon - grid.transit(link, bytes) - distance[problem.topology.link(link).to.index()];
      total += std::max(0, last - first + 1);
    }
  }
  return total;
}

namespace {

/// Counts slots: the chunks that must enter a set of nodes, and the entries that links into it have
/// room for.
class SlotCount {
 public:
  SlotCount(const Problem& problem, const EpochGrid& grid, const EpochState& state,
            std::vector<std::vector<int>> earliest)
      : problem_(problem), grid_(grid), state_(state), earliest_(std::move(earliest)) {}

  /// The least horizon from `least` on at which all chunks can enter that have no holder in the set
  /// and are wanted by `target`, or (no node) by any of its nodes.
  int least_horizon(const std::vector<char>& set, NodeId target, int least) const {
    std::vector<ChunkId> entering;
    std::set<NodeId> targets;
    Bytes smallest{std::numeric_limits<std::int64_t>::max()};
    for (const ChunkId id : problem_.chunk_ids()) {
      std::vector<NodeId> wanting;
      for (const NodeId node : state_.wanted[id]) {
        if (target.valid() ? node == target : set[node.index()] != 0) wanting.push_back(node);
      }
      if (wanting.empty() || held_inside(id, set)) continue;
      entering.push_back(id);
      targets.insert(wanting.begin(), wanting.end());
      smallest = std::min(smallest, problem_.chunks[id].bytes);
    }
    if (entering.empty()) return least;
    const std::vector<Entrance> entrances =
        find_entrances(set, entering, {targets.begin(), targets.end()}, smallest);
    if (entrances.empty()) return kNever;
    const auto slots = [&](int horizon) {
      std::int64_t total = 0;
      for (const Entrance& entrance : entrances) {
        // Epochs in which an entry is in time.
        const int epochs = horizon - entrance.tail - entrance.first + 1;
        if (epochs > 0) {
          total += ((epochs + entrance.window - 1) / entrance.window) * entrance.per_window;
        }
      }
      return total;
    };
    while (slots(least) < static_cast<std::int64_t>(entering.size())) ++least;
    return least;
  }

 private:
  struct Entrance {
    int first, tail;  ///< first epoch of entry; epochs from entry to the nearest target
    int window;
    std::int64_t per_window;
  };

  bool held_inside(ChunkId id, const std::vector<char>& set) const {
    return std::any_of(state_.holders[id].begin(), state_.holders[id].end(),
                       [&](const EpochHolder& holder) { return set[holder.node.index()] != 0; });
  }

  std::vector<Entrance> find_entrances(const std::vector<char>& set,
                                       const std::vector<ChunkId>& chunks,
                                       const std::vector<NodeId>& targets, Bytes smallest) const {
    const Topology& topology = problem_.topology;
    std::vector<int> distance(topology.nodes().size(), kNever);  // the least of the jobs'
    std::set<JobId> jobs;
    for (const ChunkId id : chunks) {
      const JobId job = problem_.chunks[id].job;
      if (!jobs.insert(job).second || (problem_.relays == Relays::all && jobs.size() > 1)) continue;
      const std::vector<int> own = distance_epochs(problem_, grid_, smallest, targets, job);
      for (std::size_t i = 0; i < own.size(); ++i) distance[i] = std::min(distance[i], own[i]);
    }
    std::vector<Entrance> result;
    for (const LinkId id : topology.link_ids()) {
      const Link& link = topology.link(id);
      if (set[link.to.index()] == 0 || set[link.from.index()] != 0) continue;
      if (distance[link.to.index()] >= kNever) continue;
      int first = kNever;
      for (const ChunkId chunk : chunks) {
        first = std::min(first, earliest_[chunk.index()][link.from.index()]);
      }
      if (first >= kNever) continue;
      const double room = std::floor(1 / grid_.share(id, smallest) + kTolerance);
      result.push_back({first, grid_.transit(id, smallest) + distance[link.to.index()],
                        grid_.window(id, smallest),
                        std::max<std::int64_t>(1, static_cast<std::int64_t>(room))});
    }
    return result;
  }

  const Problem& problem_;
  const EpochGrid& grid_;
  const EpochState& state_;
  std::vector<std::vector<int>> earliest_;  ///< by chunk and node
};

}  // namespace

int least_horizon(const Problem& problem, const EpochGrid& grid, const EpochState& state) {
  const Topology& topology = problem.topology;
  int least = 0;
  std::vector<std::vector<int>> earliest;
  for (const ChunkId id : problem.chunk_ids()) {
    earliest.push_back(earliest_epochs(problem, grid, state, id));
    for (const NodeId node : state.wanted[id]) {
      least = std::max(least, earliest.back()[node.index()]);
    }
    // What is there from the start counts once it is ready.
    const std::vector<NodeId>& wanting = problem.chunks[id].destinations;
    for (const EpochHolder& holder : state.holders[id]) {
      if (std::find(wanting.begin(), wanting.end(), holder.node) != wanting.end()) {
        least = std::max(least, holder.epoch);
      }
    }
  }
  if (least >= kNever) return kNever;
  // Into each GPU and out of it, into each cluster for each of its GPUs and for all of them, and out
  // of it.
  const SlotCount count(problem, grid, state, std::move(earliest));
  std::vector<std::vector<NodeId>> sets = fast_clusters(topology);
  for (const NodeId gpu : topology.gpus()) sets.push_back({gpu});
  for (const std::vector<NodeId>& nodes : sets) {
    std::vector<char> set(topology.nodes().size(), 0);
    for (const NodeId node : nodes) set[node.index()] = 1;
    for (const NodeId target : nodes) {
      least = count.least_horizon(set, target, least);
      if (least >= kNever) return kNever;
    }
    least = count.least_horizon(set, NodeId(), least);
    for (char& inside : set) inside = static_cast<char>(inside == 0);
    least = count.least_horizon(set, NodeId(), least);
    if (least >= kNever) return kNever;
  }
  return least;
}

}  // namespace stellwerk
