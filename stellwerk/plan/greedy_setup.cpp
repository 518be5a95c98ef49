// The network and the demand as a greedy run sees them (greedy_run.cpp).
#include "stellwerk/plan/greedy_state.hpp"

#include <algorithm>
#include <bit>

namespace stellwerk {

GreedyRun::State::State(const GreedyInput& input, const GreedyStyle& style, Rng rng,
                        const StopCondition& stop)
    : input_(input),
      problem_(input.problem),
      topology_(problem_.topology),
      fabrics_(input.fabrics),
      style_(style),
      rng_(rng),
      stop_(stop),
      links_(topology_.links().size()),
      nodes_(topology_.nodes().size()) {
  if (style.rule != GreedyStyle::Rule::none) clustering_ = &input.clusterings[style.clustering];
  set_up_network();
  set_up_clusters();
  set_up_chunks();
}

void GreedyRun::State::set_up_network() {
  wires_.reserve(links_);
  for (const LinkId id : topology_.link_ids()) {
    const Link& each = topology_.link(id);
    wires_.push_back({each.from, each.to, each.latency, fabrics_.least_before(id), fabrics_.of(id),
                      topology_.stores(each.from), topology_.stores(each.to),
                      topology_.node(each.from).injection.has_value(),
                      topology_.node(each.to).ejection.has_value()});
  }
  capacity_.reserve(links_ + 2 * nodes_);
  for (const Link& each : topology_.links()) capacity_.push_back(each.bandwidth.bytes_per_second);
  const auto cap = [](const std::optional<Bandwidth>& limit) {
    return limit ? limit->bytes_per_second : kPlenty;
  };
  for (const Node& node : topology_.nodes()) capacity_.push_back(cap(node.injection));
  for (const Node& node : topology_.nodes()) capacity_.push_back(cap(node.ejection));
  residual_ = capacity_;
  groups_left_.assign(nodes_, kNone);
  for (const NodeId id : topology_.node_ids()) {
    if (topology_.node(id).max_groups) groups_left_[id] = *topology_.node(id).max_groups;
  }
  if (input_.residual != nullptr) take_busy();

  ups_.resize(nodes_);
  pool_of_.assign(nodes_, kNone);
  position_.assign(links_, 0);
  is_touched_.assign(links_, 0);
  const std::size_t words = (nodes_ + BitRows::kBits - 1) / BitRows::kBits;
  for (const Fabric& fabric : fabrics_.all()) {
    Port& port = ports_.emplace_back();
    const auto add_pool = [&] {
      pools_.emplace_back().free.assign(words, 0);
      return static_cast<std::int32_t>(pools_.size() - 1);
    };
    for (const NodeId node : fabric.switches) {
      pool_of_[node] = add_pool();
      port.pools.push_back(pool_of_[node]);
    }
    if (fabric.switches.size() > 1) port.pool = add_pool();
    for (const LinkId id : fabric.up) ups_[link(id).from].push_back(id);
    port.idle.assign((fabric.down.size() + BitRows::kBits - 1) / BitRows::kBits, 0);
    for (std::size_t i = 0; i < fabric.down.size(); ++i) {
      position_[fabric.down[i]] = i;
      update_idle(fabric.down[i]);
    }
    for (const LinkId id : fabric.up) update_pool(link(id).from, link(id).to);
  }
}

/// What is in flight at the start has its links until it leaves them.
void GreedyRun::State::take_busy() {
  const std::vector<Busy>& busy = input_.residual->busy;
  for (std::uint32_t i = 0; i < busy.size(); ++i) {
    const Busy& each = busy[i];
    const auto id = static_cast<std::size_t>(each.id);
    std::size_t taken = id;
    Time end = each.end;
    switch (each.kind) {
      case Busy::Kind::link:
        end -= fabrics_.least_before(LinkId(id));
        break;
      case Busy::Kind::injection:
        taken = injection(NodeId(id));
        break;
      case Busy::Kind::ejection:
        taken = ejection(NodeId(id));
        end -= fabrics_.least_into(NodeId(id));
        break;
      case Busy::Kind::groups:
        --groups_left_[NodeId(id)];
        events_.push(end, {What::left_switch, 0, static_cast<std::uint32_t>(id)});
        continue;
    }
    if (end <= Time{0}) continue;
    residual_[taken] -= each.amount;
    events_.push(end, {What::clears, i, static_cast<std::uint32_t>(taken)});
  }
}

void GreedyRun::State::set_up_clusters() {
  per_byte_.assign(nodes_, 0);
  const std::size_t clusters =
      clustering_ == nullptr ? 0 : static_cast<std::size_t>(clustering_->count);
  cluster_per_byte_.assign(clusters, 0);
  cluster_lack_.assign(clusters, 0);
  for (const LinkId id : topology_.link_ids()) {
    const Wire& each = link(id);
    if (!each.enters_node) continue;
    const auto speed = static_cast<double>(capacity_[id.index()]);
    per_byte_[each.to] += speed;
    if (clustering_ == nullptr) continue;
    if (enters_cluster(id))
      cluster_per_byte_[static_cast<std::size_t>(clustering_->of[each.to])] += speed;
  }
  find_faster();
  for (double& value : per_byte_) value = value > 0 ? 1 / value : 0;
  for (double& value : cluster_per_byte_) value = value > 0 ? 1 / value : 0;
  for (std::size_t f = 0; f < ports_.size(); ++f) {
    const Fabric& fabric = fabrics_.all()[f];
    ports_[f].several_clusters = false;
    if (clustering_ == nullptr) continue;
    int first = kNone;
    const auto see = [&](NodeId node) {
      if (first == kNone) first = clustering_->of[node];
      if (clustering_->of[node] != first) ports_[f].several_clusters = true;
    };
    for (const LinkId id : fabric.up) see(link(id).from);
    for (const LinkId id : fabric.down) see(link(id).to);
  }
}

/// For every link into a node the speed of the faster ones into the node, and, if it leads into its
/// cluster, of the faster ones that do so.
void GreedyRun::State::find_faster() {
  faster_.assign(links_, 0);
  cluster_faster_.assign(links_, 0);
  const auto fill = [&](std::vector<LinkId>& group, IdVector<LinkId, double>& faster) {
    const auto speed = [&](LinkId id) { return capacity_[id.index()]; };
    std::sort(group.begin(), group.end(), [&](LinkId a, LinkId b) { return speed(a) > speed(b); });
    double sum = 0;
    for (std::size_t i = 0, j = 0; i < group.size(); i = j) {
      for (; j < group.size() && speed(group[j]) == speed(group[i]); ++j) faster[group[j]] = sum;
      sum += static_cast<double>(j - i) * static_cast<double>(speed(group[i]));
    }
  };
  std::vector<std::vector<LinkId>> by_cluster(cluster_lack_.size());
  for (const NodeId node : topology_.node_ids()) {
    if (!topology_.stores(node)) continue;
    std::vector<LinkId> group(topology_.in(node).begin(), topology_.in(node).end());
    fill(group, faster_);
    if (clustering_ == nullptr) continue;
    for (const LinkId id : group) {
      if (enters_cluster(id))
        by_cluster[static_cast<std::size_t>(clustering_->of[node])].push_back(id);
    }
  }
  for (std::vector<LinkId>& group : by_cluster) fill(group, cluster_faster_);
}

/// Does this link into a storing node bring what comes from other clusters?
bool GreedyRun::State::enters_cluster(LinkId id) const {
  const Wire& each = link(id);
  return each.leaves_node ? clustering_->of[each.from] != clustering_->of[each.to]
                          : clustering_->inner[each.from] == 0;
}

void GreedyRun::State::set_up_chunks() {
  std::vector<char> holds(nodes_, 0);
  for (const ChunkId id : problem_.chunk_ids()) {
    const Chunk& chunk = problem_.chunks[id];
    for (const NodeId node : chunk.origins) holds[node.index()] = 1;
    const bool lacking = std::any_of(chunk.destinations.begin(), chunk.destinations.end(),
                                     [&](NodeId node) { return holds[node.index()] == 0; });
    for (const NodeId node : chunk.origins) holds[node.index()] = 0;
    if (lacking) chunk_.push_back(id);
  }
  holds_ = wants_ = BitRows(nodes_, chunk_.size());
  holders_ = wanters_ = demanded_ = BitRows(chunk_.size(), nodes_);
  needed_ = BitRows(cluster_lack_.size(), chunk_.size());
  copies_.assign(chunk_.size(), 0);
  missing_.assign(chunk_.size(), 0);
  wanted_.assign(nodes_, 0);
  patience_.assign(nodes_, Time::max());
  lack_.assign(nodes_, 0);
  for (std::size_t c = 0; c < chunk_.size(); ++c) {
    const Chunk& chunk = problem_.chunks[chunk_[c]];
    for (const NodeId node : chunk.destinations) {
      wants_.set(node.index(), c);
      demanded_.set(c, node.index());
    }
    for (const NodeId node : input_.forwarders.of[chunk_[c]]) wants_.set(node.index(), c);
    for (const NodeId node : chunk.origins) {
      wants_.reset(node.index(), c);
      demanded_.reset(c, node.index());
    }
    const auto bytes = static_cast<double>(chunk.bytes.value);
    const auto want = [&](NodeId node) {
      if (!wants_.test(node.index(), c) || wanters_.test(c, node.index())) return;
      wanters_.set(c, node.index());
      ++wanted_[node];
      lack_[node] += bytes * per_byte_[node];
      if (clustering_ != nullptr) needed_.set(static_cast<std::size_t>(clustering_->of[node]), c);
    };
    for (const NodeId node : chunk.destinations) want(node);
    for (const NodeId node : input_.forwarders.of[chunk_[c]]) want(node);
    for (std::size_t w = 0; w < demanded_.words(); ++w)
      missing_[c] += static_cast<std::uint32_t>(std::popcount(demanded_.row(c)[w]));
    left_ += missing_[c];
    if (clustering_ != nullptr) {
      for (const NodeId node : chunk.origins)
        needed_.reset(static_cast<std::size_t>(clustering_->of[node]), c);
      for (std::size_t k = 0; k < cluster_lack_.size(); ++k) {
        if (needed_.test(k, c)) cluster_lack_[k] += bytes * cluster_per_byte_[k];
      }
    }
    events_.push(chunk.ready, {What::ready, static_cast<std::uint32_t>(c), 0});
    if (input_.residual == nullptr) continue;
    for (const Release& each : input_.residual->late[chunk_[c]]) {
      events_.push(each.at, {What::lands, static_cast<std::uint32_t>(c),
                             static_cast<std::uint32_t>(each.node.value)});
    }
  }
}

}  // namespace stellwerk
