// Event-driven list construction of copies.
//
// Problem. Chunks are to be copied from their origins to all their destinations. Choose who sends
// what to whom, and when, without a model of time: the schedule grows along the clock.
//
// Idea. Whenever something changes (a link falls idle, a chunk arrives) the links concerned look for
// work: a link between two nodes takes the rarest chunk that its tail holds and its head wants; a
// way down from a switch does the same among all nodes whose way up is idle. Links between clusters
// are the scarce ones: under the cluster rule they carry only what the other cluster neither holds
// nor is about to get. Should that rule leave demands unmet, it is dropped.
//
// State. Three bit matrices: who holds what (by node and, turned, by chunk) and who still wants
// what; chunks in flight are no longer wanted. A switch with a thousand nodes must not be scanned
// pair by pair. Where many ways up are idle the union of their nodes' holdings is intersected with
// what the head wants; where few are, they are asked one by one; a chunk that has just arrived asks
// for the heads that want it.
//
// Time. A link behind a switch is entered later than the send starts. All its windows are counted
// from the least such delay, and one with more is counted as that much longer; so whether a window
// is free is known at the send's start. What that wastes re-timing gives back.
//
// Guarantee. Starts are causal; links, injection, ejection and multicast groups keep their limits.
// All demands are met if every chunk's destinations can be reached over nodes that want or forward
// it. Ends by itself: every send takes away a want. No bound on the finish. Cost: O(sends) searches of
// O(chunks / 64) words in the usual case.
//
// Tests: greedy_test.cpp.
#include "stellwerk/plan/greedy_run.hpp"

#include <algorithm>
#include <bit>

#include "stellwerk/plan/bit_rows.hpp"
#include "stellwerk/plan/event_queue.hpp"

namespace stellwerk {
namespace {

using Word = BitRows::Word;

constexpr std::size_t kFewNodes = 8;     // that many idle ways up are asked one by one
constexpr std::size_t kFewChanges = 16;  // up to that many changes at once are followed singly
constexpr int kTries = 4;                // senders tried for one chunk, heads for one way up
constexpr std::int32_t kNone = -1;
constexpr std::int64_t kPlenty = std::int64_t{1} << 62;  // no cap

}  // namespace

GreedyInput::GreedyInput(const Problem& problem_in, const Forwarders& forwarders_in)
    : problem(problem_in),
      forwarders(forwarders_in),
      fabrics(problem.topology),
      clusterings(find_clusterings(problem.topology, fabrics)) {}

class GreedyRun::State {
 public:
  State(const GreedyInput& input, const GreedyStyle& style, Rng rng, const StopCondition& stop);

  bool run(Time give_up);
  Time finish() const { return finish_; }
  Schedule schedule() const;

 private:
  /// What a run asks of a link, close together.
  struct Wire {
    NodeId from, to;
    Time latency;
    Time least_before;  // Fabrics::least_before
    std::int32_t fabric;
    bool leaves_node, enters_node;  // as opposed to a switch
    bool capped_out, capped_in;     // by injection of the tail, ejection of the head
  };
  /// A send that has been started: links[first_link, first_link + links) of the pool.
  struct Flight {
    std::int32_t chunk;
    std::uint32_t first_link;
    std::uint32_t links;
    Time start;
    Bandwidth rate;
  };
  enum class What : std::uint8_t { ready, freed, freed_late, left_switch, arrived, woken };
  struct Event {
    What what;
    std::uint32_t flight;  // ready: the chunk; woken: the node
    std::uint32_t detail;  // freed_late: a resource; left_switch: a node; arrived: a link
  };
  /// The ways up into one switch, or into one fabric of several switches.
  struct Pool {
    std::vector<Word> free;      // nodes with an idle way up
    std::size_t count = 0;       // of them
    std::vector<Word> holdings;  // at least the union of what those nodes hold
    bool known = false;          // holdings have been collected at this instant
    bool fresh = false;          // ... and nothing has been taken since
  };
  /// The ways down from the switches of one fabric, and what has changed around it.
  struct Port {
    std::vector<LinkId> freed;                              // ways down that fell idle
    std::vector<LinkId> risen;                              // ways up that fell idle
    std::vector<std::pair<NodeId, std::int32_t>> arrivals;  // who got what
    std::vector<std::int32_t> pools;                        // of its switches
    std::int32_t pool = kNone;  // of all its switches, when there are several
    std::vector<Word> idle;     // positions in Fabric::down of ways down that can take more
    bool several_clusters = true;
    bool queued = false;
  };

  // Resources are links, then injections, then ejections of nodes.
  std::size_t resource(LinkId id) const { return id.index(); }
  std::size_t injection(NodeId id) const { return links_ + id.index(); }
  std::size_t ejection(NodeId id) const { return links_ + nodes_ + id.index(); }
  const Wire& link(LinkId id) const { return wires_[id]; }

  void set_up_network();
  void set_up_clusters();
  void find_faster();
  bool enters_cluster(LinkId id) const;
  void set_up_chunks();
  void advance();
  void look_for_work();
  void handle(const Event& event);
  void arrive(std::int32_t chunk, NodeId node);
  void release(std::size_t resource, Bandwidth rate);
  void link_changed(LinkId id);
  void queue_port(int fabric);
  void touch(LinkId direct);

  bool may_start(LinkId id) const { return residual_[id.index()] > 0; }
  bool can_send(NodeId node) const { return residual_[injection(node)] > 0; }
  bool can_receive(NodeId node) const { return residual_[ejection(node)] > 0; }
  std::int64_t possible_rate(const std::vector<LinkId>& path) const;

  /// What `head` may be given from another cluster (or from anywhere, under no rule); null: all.
  const Word* needs(NodeId head) const {
    return clustering_ == nullptr ? nullptr
                                  : needed_.row(static_cast<std::size_t>(clustering_->of[head]));
  }
  bool may_take_anything(NodeId head) const;
  bool pays(std::int32_t chunk, const std::vector<LinkId>& path, std::int64_t rate);
  std::int32_t rarest(const Word* held, const Word* wanted, const Word* mask);
  void work_direct(LinkId id);
  void work_port(int fabric);
  void serve_all(int fabric);
  void serve_arrival(int fabric, NodeId sender, std::int32_t chunk);
  void serve_rising(int fabric, LinkId up);
  bool serve_head(int fabric, LinkId down, bool many);
  bool serve_from_pool(std::int32_t pool, LinkId down, const Word* mask, bool many);
  bool serve_by_chunks(Pool& pool, LinkId down, const Word* mask);
  bool start_from(const Word* candidates, std::int32_t chunk, LinkId down);
  bool start_from(NodeId sender, std::int32_t chunk, LinkId down);
  bool allowed(NodeId sender, NodeId head, std::int32_t chunk, LinkId down) const;
  void collect_holdings(Pool& pool);
  void start(std::int32_t chunk, NodeId from, std::vector<LinkId>& path);
  void join_others(std::int32_t chunk, NodeId from, std::vector<LinkId>& path, std::int64_t rate);
  void promise(std::int32_t chunk, NodeId head);
  void update_pool(NodeId node, NodeId at_switch);
  void update_idle(LinkId down);

  const GreedyInput& input_;
  const Problem& problem_;
  const Topology& topology_;
  const Fabrics& fabrics_;
  const Clustering* clustering_ = nullptr;  // null: no rule
  GreedyStyle style_;
  Rng rng_;
  StopCondition stop_;
  std::size_t links_, nodes_;

  // Network.
  IdVector<LinkId, Wire> wires_;
  std::vector<std::int64_t> capacity_, residual_;
  std::vector<Port> ports_;
  std::vector<Pool> pools_;
  IdVector<NodeId, std::int32_t> pool_of_;      // of a switch
  IdVector<NodeId, std::vector<LinkId>> ups_;   // of a storing node
  IdVector<NodeId, std::int32_t> groups_left_;  // multicasts a switch may still start; -1: no limit
  IdVector<LinkId, std::size_t> position_;      // of a way down in Fabric::down
  std::vector<int> port_queue_;
  std::vector<LinkId> touched_;
  IdVector<LinkId, char> is_touched_;

  // Chunks.
  std::vector<ChunkId> chunk_;  // those that somebody lacks
  BitRows holds_, wants_;       // by node
  BitRows holders_, wanters_;   // by chunk
  BitRows needed_;              // by cluster: wanted there, and neither held nor coming
  std::vector<std::int32_t> copies_;
  std::vector<std::uint32_t> missing_;     // by chunk: destinations it is not even on the way to
  IdVector<NodeId, std::int32_t> wanted_;  // chunks that a node wants and that are not on their way
  IdVector<NodeId, double> lack_;          // their bytes / bandwidth into the node
  IdVector<NodeId, double> per_byte_;
  std::vector<double> cluster_lack_, cluster_per_byte_;
  IdVector<LinkId, double> faster_, cluster_faster_;
  IdVector<NodeId, Time>
      patience_;           ///< until when its slow links wait; max: they have not begun to
  std::int64_t left_ = 0;  // demands (not forwarders) whose chunk is not on its way

  // Progress.
  Time now_;
  Time finish_;
  EventQueue<Event> events_;
  std::vector<Event> instant_;
  std::vector<Flight> flights_;
  std::vector<LinkId> flight_links_;
  BitRows demanded_;  // by chunk: destinations, as opposed to forwarders
  // Scratch.
  std::vector<LinkId> path_, heads_;
  std::vector<Word> scratch_;
  std::int64_t last_bytes_ = -1, last_rate_ = -1;
  Time last_duration_;
};

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

  ups_.resize(nodes_);
  pool_of_.assign(nodes_, kNone);
  groups_left_.assign(nodes_, kNone);
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
      if (topology_.node(node).max_groups) groups_left_[node] = *topology_.node(node).max_groups;
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
  }
}

bool GreedyRun::State::run(Time give_up) {
  flights_.reserve(static_cast<std::size_t>(left_));
  flight_links_.reserve(static_cast<std::size_t>(2 * left_));
  std::uint32_t rounds = 0;
  while (left_ > 0) {
    if (events_.empty()) {
      if (clustering_ == nullptr) return false;  // somebody cannot be reached
      // The rule has left demands unmet: go on without it.
      clustering_ = nullptr;
      for (const LinkId id : topology_.link_ids()) link_changed(id);
      look_for_work();
      continue;
    }
    if (++rounds % 16 == 0 && stop_.should_stop()) return false;
    advance();
    look_for_work();
    if (finish_ >= give_up) return false;
  }
  return true;
}

void GreedyRun::State::advance() {
  instant_.clear();
  now_ = events_.take(instant_);
  for (const Event& event : instant_) handle(event);
}

void GreedyRun::State::handle(const Event& event) {
  switch (event.what) {
    case What::ready:
      for (const NodeId node : problem_.chunks[chunk_[event.flight]].origins)
        arrive(static_cast<std::int32_t>(event.flight), node);
      return;
    case What::freed: {
      const Flight& flight = flights_[event.flight];
      const NodeId from = link(flight_links_[flight.first_link]).from;
      release(injection(from), flight.rate);
      for (std::uint32_t i = 0; i < flight.links; ++i) {
        // Resources that are free later have events of their own: detail is a mask of them.
        if (i < 31 && (event.detail >> i & 1) != 0) continue;
        release(resource(flight_links_[flight.first_link + i]), flight.rate);
      }
      return;
    }
    case What::freed_late:
      release(event.detail, flights_[event.flight].rate);
      return;
    case What::left_switch:
      ++groups_left_[NodeId(static_cast<std::size_t>(event.detail))];
      return;
    case What::woken:
      for (const LinkId id : topology_.in(NodeId(static_cast<std::size_t>(event.flight)))) {
        if (may_start(id)) link_changed(id);
      }
      return;
    case What::arrived:
      arrive(flights_[event.flight].chunk, link(flight_links_[event.detail]).to);
      return;
  }
}

void GreedyRun::State::arrive(std::int32_t chunk, NodeId node) {
  const auto c = static_cast<std::size_t>(chunk);
  if (holds_.test(node.index(), c)) return;
  holds_.set(node.index(), c);
  holders_.set(c, node.index());
  ++copies_[c];
  for (const LinkId id : topology_.out(node)) {
    if (!may_start(id)) continue;
    const int fabric = link(id).fabric;
    if (fabric < 0) {
      touch(id);
      continue;
    }
    Port& port = ports_[static_cast<std::size_t>(fabric)];
    const auto arrival = std::pair(node, chunk);
    if (port.arrivals.empty() || port.arrivals.back() != arrival) port.arrivals.push_back(arrival);
    queue_port(fabric);
  }
}

void GreedyRun::State::release(std::size_t r, Bandwidth rate) {
  residual_[r] += rate.bytes_per_second;
  if (r < links_) {
    link_changed(LinkId(r));
  } else if (r < links_ + nodes_) {
    const NodeId node(r - links_);
    if (capacity_[r] != kPlenty) {
      for (const LinkId id : topology_.out(node)) link_changed(id);
    }
  } else {
    const NodeId node(r - links_ - nodes_);
    if (capacity_[r] != kPlenty) {
      for (const LinkId id : topology_.in(node)) link_changed(id);
    }
  }
}

/// The link may take another send.
void GreedyRun::State::link_changed(LinkId id) {
  const int fabric = link(id).fabric;
  if (fabric < 0) {
    touch(id);
    return;
  }
  Port& port = ports_[static_cast<std::size_t>(fabric)];
  const Wire& each = link(id);
  queue_port(fabric);
  if (each.leaves_node) {
    update_pool(each.from, each.to);
    port.risen.push_back(id);
  } else if (each.enters_node) {
    update_idle(id);
    port.freed.push_back(id);
  } else {
    // A link between switches: whoever is behind either end may now get through.
    for (const LinkId other : topology_.in(each.from)) {
      if (link(other).leaves_node && may_start(other)) port.risen.push_back(other);
    }
    for (const LinkId other : topology_.out(each.to)) {
      if (link(other).enters_node && may_start(other)) port.freed.push_back(other);
    }
    if (port.risen.empty() && port.freed.empty()) {
      for (const LinkId other : fabrics_.all()[static_cast<std::size_t>(fabric)].up) {
        if (may_start(other)) port.risen.push_back(other);
      }
    }
  }
}

void GreedyRun::State::queue_port(int fabric) {
  Port& port = ports_[static_cast<std::size_t>(fabric)];
  if (port.queued) return;
  port.queued = true;
  port_queue_.push_back(fabric);
}

void GreedyRun::State::touch(LinkId direct) {
  if (is_touched_[direct] != 0) return;
  is_touched_[direct] = 1;
  touched_.push_back(direct);
}

void GreedyRun::State::update_pool(NodeId node, NodeId at_switch) {
  const Word bit = Word{1} << (node.index() % BitRows::kBits);
  const std::size_t word = node.index() / BitRows::kBits;
  bool here = false;
  bool anywhere = false;
  for (const LinkId id : ups_[node]) {
    if (!may_start(id) || !can_send(node)) continue;
    here = here || link(id).to == at_switch;
    anywhere = anywhere || link(id).fabric == fabrics_.of(at_switch);
  }
  const auto put = [&](std::int32_t number, bool value) {
    if (number == kNone) return;
    Pool& pool = pools_[static_cast<std::size_t>(number)];
    if (((pool.free[word] & bit) != 0) != value) {
      pool.free[word] ^= bit;
      value ? ++pool.count : --pool.count;
    }
    pool.fresh = false;
    if (value) pool.known = false;
  };
  put(pool_of_[at_switch], here);
  put(ports_[static_cast<std::size_t>(fabrics_.of(at_switch))].pool, anywhere);
}

void GreedyRun::State::update_idle(LinkId down) {
  const std::size_t at = position_[down];
  Word& word = ports_[static_cast<std::size_t>(link(down).fabric)].idle[at / BitRows::kBits];
  const Word bit = Word{1} << (at % BitRows::kBits);
  word = may_start(down) && can_receive(link(down).to) ? word | bit : word & ~bit;
}

void GreedyRun::State::look_for_work() {
  rng_.shuffle(touched_);
  for (std::size_t i = 0; i < touched_.size(); ++i) {
    is_touched_[touched_[i]] = 0;
    work_direct(touched_[i]);
  }
  touched_.clear();
  std::sort(port_queue_.begin(), port_queue_.end());
  for (const int fabric : port_queue_) {
    ports_[static_cast<std::size_t>(fabric)].queued = false;
    work_port(fabric);
  }
  port_queue_.clear();
}

/// The rarest (fewest copies) of the first candidates met from a random place on.
std::int32_t GreedyRun::State::rarest(const Word* held, const Word* wanted, const Word* mask) {
  const std::size_t words = holds_.words();
  std::int32_t best = kNone;
  int seen = 0;
  const std::size_t begin = words > 1 ? rng_.below(words) : 0;
  for (std::size_t i = 0; i < words && seen < style_.rarest_of; ++i) {
    std::size_t w = begin + i;
    if (w >= words) w -= words;
    Word candidates = held[w] & wanted[w];
    if (mask != nullptr) candidates &= mask[w];
    for (; candidates != 0 && seen < style_.rarest_of; candidates &= candidates - 1, ++seen) {
      const auto c = static_cast<std::int32_t>(w * BitRows::kBits) + std::countr_zero(candidates);
      if (best == kNone ||
          copies_[static_cast<std::size_t>(c)] < copies_[static_cast<std::size_t>(best)])
        best = c;
    }
  }
  return best;
}

/// Under the relaxed rule: is this node so far behind that links between clusters may serve it?
bool GreedyRun::State::may_take_anything(NodeId head) const {
  if (style_.rule != GreedyStyle::Rule::relaxed) return false;
  if (!style_.only_behind) return true;
  return lack_[head] > *std::max_element(cluster_lack_.begin(), cluster_lack_.end());
}

/// Towards the end: would the head (or its cluster) not have everything sooner if its faster links
/// did the rest while this send lasts? If so they get the time that they need for it.
bool GreedyRun::State::pays(std::int32_t chunk, const std::vector<LinkId>& path,
                            std::int64_t rate) {
  if (!style_.wait) return true;
  const auto c = static_cast<std::size_t>(chunk);
  const LinkId last = path.back();
  const NodeId head = link(last).to;
  if (patience_[head] <= now_) return true;
  const auto bytes = static_cast<double>(problem_.chunks[chunk_[c]].bytes.value);
  const auto speed = static_cast<double>(capacity_[last.index()]);
  const double lasts = bytes / static_cast<double>(rate);
  const double own = static_cast<double>(rate) < speed ? speed : 0;
  double others = 0;  // what the faster links need, seconds
  const auto faster_are_sooner = [&](double lack, double per_byte, double faster) {
    const double share = (faster + own) * per_byte;
    if (lack >= lasts * share) return false;
    others = lack / share;
    return true;
  };
  bool refuse = faster_are_sooner(lack_[head], per_byte_[head], faster_[last]);
  if (!refuse && clustering_ != nullptr) {
    const auto k = static_cast<std::size_t>(clustering_->of[head]);
    refuse = needed_.test(k, c) &&
             faster_are_sooner(cluster_lack_[k], cluster_per_byte_[k], cluster_faster_[last]);
  }
  if (!refuse) return true;
  if (patience_[head] == Time::max()) {
    patience_[head] = now_ + Time{static_cast<std::int64_t>(others * 1e12)} + Time{1};
    events_.push(patience_[head], {What::woken, static_cast<std::uint32_t>(head.value), 0});
  }
  return false;
}

void GreedyRun::State::work_direct(LinkId id) {
  const NodeId from = link(id).from;
  const NodeId to = link(id).to;
  while (may_start(id) && can_send(from) && can_receive(to)) {
    path_.assign(1, id);
    if (possible_rate(path_) == 0) return;
    const bool between = clustering_ != nullptr && clustering_->of[from] != clustering_->of[to];
    const Word* held = holds_.row(from.index());
    const Word* wanted = wants_.row(to.index());
    std::int32_t chunk = rarest(held, wanted, between ? needs(to) : nullptr);
    if (chunk == kNone && between && may_take_anything(to)) chunk = rarest(held, wanted, nullptr);
    if (chunk == kNone || !pays(chunk, path_, possible_rate(path_))) return;
    start(chunk, from, path_);
  }
}

void GreedyRun::State::work_port(int fabric) {
  Port& port = ports_[static_cast<std::size_t>(fabric)];
  for (const std::int32_t p : port.pools) pools_[static_cast<std::size_t>(p)].known = false;
  if (port.pool != kNone) pools_[static_cast<std::size_t>(port.pool)].known = false;
  const std::size_t changes = port.freed.size() + port.risen.size() + port.arrivals.size();
  if (changes > kFewChanges) {
    port.freed.clear();
    port.risen.clear();
    port.arrivals.clear();
    serve_all(fabric);
    return;
  }
  std::vector<LinkId> freed, risen;
  std::vector<std::pair<NodeId, std::int32_t>> arrivals;
  freed.swap(port.freed);
  risen.swap(port.risen);
  arrivals.swap(port.arrivals);
  for (const auto& [node, chunk] : arrivals) serve_arrival(fabric, node, chunk);
  for (const LinkId id : freed) {
    while (serve_head(fabric, id, false)) {
    }
  }
  for (const LinkId id : risen) serve_rising(fabric, id);
}

/// All idle ways down choose.
void GreedyRun::State::serve_all(int fabric) {
  const Fabric& all = fabrics_.all()[static_cast<std::size_t>(fabric)];
  Port& port = ports_[static_cast<std::size_t>(fabric)];
  heads_.clear();
  for (std::size_t w = 0; w < port.idle.size(); ++w) {
    for_each_bit(port.idle[w], w * BitRows::kBits,
                 [&](std::size_t i) { heads_.push_back(all.down[i]); });
  }
  rng_.shuffle(heads_);
  if (style_.neediest_first) {
    std::stable_sort(heads_.begin(), heads_.end(),
                     [&](LinkId a, LinkId b) { return lack_[link(a).to] > lack_[link(b).to]; });
  }
  std::vector<LinkId> heads;
  heads.swap(heads_);
  for (const LinkId id : heads) {
    while (serve_head(fabric, id, true)) {
    }
  }
  heads_.swap(heads);
}

/// Finds one send into an idle way down; false if there is none.
bool GreedyRun::State::serve_head(int fabric, LinkId down, bool many) {
  const NodeId head = link(down).to;
  if (!may_start(down) || !can_receive(head) || wanted_[head] == 0) return false;
  const Port& port = ports_[static_cast<std::size_t>(fabric)];
  const std::int32_t own = pool_of_[link(down).from];
  const std::int32_t everybody = port.pool != kNone ? port.pool : own;
  if (!port.several_clusters || clustering_ == nullptr)
    return serve_from_pool(everybody, down, nullptr, many);
  if (serve_from_pool(everybody, down, needs(head), many)) return true;
  if (clustering_->inner[link(down).from] != 0 && serve_from_pool(own, down, nullptr, many))
    return true;
  return may_take_anything(head) && serve_from_pool(everybody, down, nullptr, many);
}

bool GreedyRun::State::serve_from_pool(std::int32_t number, LinkId down, const Word* mask,
                                       bool many) {
  Pool& pool = pools_[static_cast<std::size_t>(number)];
  const NodeId head = link(down).to;
  const std::size_t nodes = pool.count;
  if (nodes == 0) return false;
  if (nodes <= kFewNodes || !many) {
    if (nodes > kFewNodes && serve_by_chunks(pool, down, mask)) return true;
    // Ask them one by one, from a random one on; take the rarest that three of them offer.
    std::vector<NodeId> senders;
    for (std::size_t w = 0; w < pool.free.size(); ++w) {
      for_each_bit(pool.free[w], w * BitRows::kBits,
                   [&](std::size_t i) { senders.emplace_back(i); });
    }
    const std::size_t begin = rng_.below(senders.size());
    NodeId best_sender;
    std::int32_t best = kNone;
    int offers = 0;
    for (std::size_t i = 0; i < senders.size() && offers < 3; ++i) {
      const NodeId sender = senders[(begin + i) % senders.size()];
      if (sender == head) continue;
      const std::int32_t chunk = rarest(holds_.row(sender.index()), wants_.row(head.index()), mask);
      if (chunk == kNone) continue;
      ++offers;
      if (best == kNone ||
          copies_[static_cast<std::size_t>(chunk)] < copies_[static_cast<std::size_t>(best)]) {
        best = chunk;
        best_sender = sender;
      }
    }
    return best != kNone && start_from(best_sender, best, down);
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!pool.known) collect_holdings(pool);
    const std::int32_t chunk = rarest(pool.holdings.data(), wants_.row(head.index()), mask);
    if (chunk == kNone) return false;
    scratch_.resize(pool.free.size());
    for (std::size_t w = 0; w < scratch_.size(); ++w)
      scratch_[w] = pool.free[w] & holders_.row(static_cast<std::size_t>(chunk))[w];
    if (start_from(scratch_.data(), chunk, down)) return true;
    if (pool.fresh) return false;
    pool.known = false;
  }
  return false;
}

/// With many idle senders some random wanted chunk is likely to be with one of them.
bool GreedyRun::State::serve_by_chunks(Pool& pool, LinkId down, const Word* mask) {
  const NodeId head = link(down).to;
  const Word* wanted = wants_.row(head.index());
  const std::size_t words = holds_.words();
  const std::size_t begin = rng_.below(words);
  std::int32_t best = kNone;
  int tried = 0;
  int offers = 0;
  constexpr int kMostTried = 64;
  for (std::size_t i = 0; i < words && tried < kMostTried && offers < kTries; ++i) {
    const std::size_t w = (begin + i) % words;
    Word candidates = mask == nullptr ? wanted[w] : wanted[w] & mask[w];
    for (; candidates != 0 && tried < kMostTried && offers < kTries;
         candidates &= candidates - 1, ++tried) {
      const std::size_t c =
          w * BitRows::kBits + static_cast<std::size_t>(std::countr_zero(candidates));
      const Word* holders = holders_.row(c);
      bool held = false;
      for (std::size_t v = 0; v < pool.free.size() && !held; ++v)
        held = (holders[v] & pool.free[v]) != 0;
      if (!held) continue;
      ++offers;
      if (best == kNone || copies_[c] < copies_[static_cast<std::size_t>(best)])
        best = static_cast<std::int32_t>(c);
    }
  }
  if (best == kNone) return false;
  scratch_.resize(pool.free.size());
  for (std::size_t v = 0; v < scratch_.size(); ++v)
    scratch_[v] = pool.free[v] & holders_.row(static_cast<std::size_t>(best))[v];
  return start_from(scratch_.data(), best, down);
}

void GreedyRun::State::collect_holdings(Pool& pool) {
  pool.holdings.assign(holds_.words(), 0);
  for (std::size_t w = 0; w < pool.free.size(); ++w) {
    for_each_bit(pool.free[w], w * BitRows::kBits, [&](std::size_t node) {
      const Word* held = holds_.row(node);
      for (std::size_t i = 0; i < pool.holdings.size(); ++i) pool.holdings[i] |= held[i];
    });
  }
  pool.known = pool.fresh = true;
}

/// Starts the send from one of the candidates, a random one for which there is a way.
bool GreedyRun::State::start_from(const Word* candidates, std::int32_t chunk, LinkId down) {
  const std::size_t words = wanters_.words();
  const std::size_t begin = words > 1 ? rng_.below(words) : 0;
  int tries = 0;
  for (std::size_t i = 0; i < words; ++i) {
    const std::size_t w = (begin + i) % words;
    for (Word word = candidates[w]; word != 0; word &= word - 1) {
      const NodeId sender(w * BitRows::kBits + static_cast<std::size_t>(std::countr_zero(word)));
      if (start_from(sender, chunk, down)) return true;
      if (++tries >= kTries) return false;
    }
  }
  return false;
}

bool GreedyRun::State::start_from(NodeId sender, std::int32_t chunk, LinkId down) {
  const NodeId exit = link(down).from;
  if (!can_send(sender)) return false;
  for (const LinkId up : ups_[sender]) {
    if (!may_start(up) || link(up).fabric != link(down).fabric) continue;
    const auto& ways = fabrics_.inner_paths(link(up).to, exit);
    const std::size_t begin = ways.size() > 1 ? rng_.below(ways.size()) : 0;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const std::vector<LinkId>& inner = ways[(begin + i) % ways.size()];
      path_.clear();
      path_.push_back(up);
      path_.insert(path_.end(), inner.begin(), inner.end());
      path_.push_back(down);
      const std::int64_t rate = possible_rate(path_);
      if (rate == 0 || !pays(chunk, path_, rate)) continue;
      start(chunk, sender, path_);
      return true;
    }
  }
  return false;
}

/// The rate at which a send over the path can start now; 0 if it should wait.
std::int64_t GreedyRun::State::possible_rate(const std::vector<LinkId>& path) const {
  const NodeId from = link(path.front()).from;
  const NodeId to = link(path.back()).to;
  std::int64_t full = std::min(capacity_[injection(from)], capacity_[ejection(to)]);
  std::int64_t rate = std::min(residual_[injection(from)], residual_[ejection(to)]);
  for (const LinkId id : path) {
    full = std::min(full, capacity_[id.index()]);
    rate = std::min(rate, residual_[id.index()]);
  }
  return rate >= (style_.share ? (full + 1) / 2 : full) ? rate : 0;
}

/// May the node get the chunk from that sender over that way down?
bool GreedyRun::State::allowed(NodeId sender, NodeId head, std::int32_t chunk, LinkId down) const {
  if (clustering_ == nullptr) return true;
  const auto to = static_cast<std::size_t>(clustering_->of[head]);
  if (needed_.test(to, static_cast<std::size_t>(chunk))) return true;
  if (clustering_->of[sender] == clustering_->of[head] && clustering_->inner[link(down).from] != 0)
    return true;
  return may_take_anything(head);
}

/// A node has got a chunk and can send it: some idle way down wants it.
void GreedyRun::State::serve_arrival(int fabric, NodeId sender, std::int32_t chunk) {
  const Fabric& all = fabrics_.all()[static_cast<std::size_t>(fabric)];
  Port& port = ports_[static_cast<std::size_t>(fabric)];
  for (int tries = 0; tries < kTries; ++tries) {
    LinkId best;
    for (std::size_t w = 0; w < port.idle.size(); ++w) {
      for_each_bit(port.idle[w], w * BitRows::kBits, [&](std::size_t i) {
        const LinkId down = all.down[i];
        const NodeId head = link(down).to;
        if (!wants_.test(head.index(), static_cast<std::size_t>(chunk))) return;
        if (best.valid() && lack_[head] <= lack_[link(best).to]) return;
        if (allowed(sender, head, chunk, down)) best = down;
      });
    }
    if (!best.valid() || !start_from(sender, chunk, best)) return;
  }
}

/// A way up has fallen idle: some idle way down wants what its node holds.
void GreedyRun::State::serve_rising(int fabric, LinkId up) {
  const Fabric& all = fabrics_.all()[static_cast<std::size_t>(fabric)];
  Port& port = ports_[static_cast<std::size_t>(fabric)];
  const NodeId sender = link(up).from;
  const std::size_t words = port.idle.size();
  if (words == 0) return;
  const Word* held = holds_.row(sender.index());
  const std::size_t begin = rng_.below(words);
  int hits = 0;
  for (std::size_t i = 0; i < words; ++i) {
    const std::size_t w = (begin + i) % words;
    for (Word word = port.idle[w]; word != 0; word &= word - 1) {
      if (!may_start(up) || !can_send(sender)) return;
      const LinkId down =
          all.down[w * BitRows::kBits + static_cast<std::size_t>(std::countr_zero(word))];
      const NodeId head = link(down).to;
      if (head == sender || wanted_[head] == 0) continue;
      const Word* wanted = wants_.row(head.index());
      const bool free_choice =
          clustering_ == nullptr || !port.several_clusters ||
          (clustering_->inner[link(down).from] != 0 && link(up).to == link(down).from);
      std::int32_t chunk = rarest(held, wanted, free_choice ? nullptr : needs(head));
      if (chunk == kNone && !free_choice && may_take_anything(head))
        chunk = rarest(held, wanted, nullptr);
      if (chunk == kNone) continue;
      if (!start_from(sender, chunk, down) && ++hits >= kTries) return;
    }
  }
}

/// The chunk is on its way to the node.
void GreedyRun::State::promise(std::int32_t chunk, NodeId head) {
  const auto c = static_cast<std::size_t>(chunk);
  const auto bytes = static_cast<double>(problem_.chunks[chunk_[c]].bytes.value);
  wants_.reset(head.index(), c);
  wanters_.reset(c, head.index());
  --wanted_[head];
  lack_[head] -= bytes * per_byte_[head];
  if (demanded_.test(c, head.index())) {
    --left_;
    --missing_[c];
  }
  if (cluster_lack_.empty()) return;
  const auto k = static_cast<std::size_t>(input_.clusterings[style_.clustering].of[head]);
  if (!needed_.test(k, c)) return;
  needed_.reset(k, c);
  cluster_lack_[k] -= bytes * cluster_per_byte_[k];
}

/// Other idle ways down from the last switch that want the chunk take part in the same send.
void GreedyRun::State::join_others(std::int32_t chunk, NodeId from, std::vector<LinkId>& path,
                                   std::int64_t rate) {
  const NodeId exit = link(path.back()).from;
  const LinkId first = path.back();
  for (const LinkId down : topology_.out(exit)) {
    const NodeId head = link(down).to;
    if (down == first || head == from || head == link(first).to || !topology_.stores(head))
      continue;
    if (residual_[down.index()] < rate || residual_[ejection(head)] < rate) continue;
    if (!wants_.test(head.index(), static_cast<std::size_t>(chunk)) ||
        !allowed(from, head, chunk, down))
      continue;
    path.push_back(down);
    promise(chunk, head);
  }
}

void GreedyRun::State::start(std::int32_t chunk, NodeId from, std::vector<LinkId>& path) {
  const std::int64_t rate = possible_rate(path);
  const std::int64_t bytes = problem_.chunks[chunk_[static_cast<std::size_t>(chunk)]].bytes.value;
  if (bytes != last_bytes_ || rate != last_rate_) {
    last_bytes_ = bytes;
    last_rate_ = rate;
    last_duration_ = transmission_time(Bytes{bytes}, Bandwidth{rate});
  }
  const Time duration = last_duration_;
  const std::size_t stem = path.size() - 1;  // what comes after leaves the same switch
  promise(chunk, link(path.back()).to);
  ++copies_[static_cast<std::size_t>(chunk)];
  const NodeId exit = link(path.back()).from;
  const bool copies = path.size() > 1 && topology_.node(exit).multicast && groups_left_[exit] != 0;
  if (copies) join_others(chunk, from, path, rate);

  const auto flight = static_cast<std::uint32_t>(flights_.size());
  const auto first = static_cast<std::uint32_t>(flight_links_.size());
  flights_.push_back(
      {chunk, first, static_cast<std::uint32_t>(path.size()), now_, Bandwidth{rate}});
  flight_links_.insert(flight_links_.end(), path.begin(), path.end());

  const auto take = [&](std::size_t r) { residual_[r] -= rate; };
  std::uint32_t late = 0;
  const Time end = now_ + duration;
  Time before{0};
  take(injection(from));
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Wire& each = link(path[i]);
    take(resource(path[i]));
    const Time delay = before - each.least_before;
    if (delay > Time{0} || i >= 31) {
      if (i < 31) late |= std::uint32_t{1} << i;
      events_.push(end + delay,
                   {What::freed_late, flight, static_cast<std::uint32_t>(path[i].value)});
    }
    if (each.enters_node) {
      take(ejection(each.to));
      const Time reach = before + each.latency;
      if (each.capped_in) {
        events_.push(end + reach - fabrics_.least_into(each.to),
                     {What::freed_late, flight, static_cast<std::uint32_t>(ejection(each.to))});
      } else {
        residual_[ejection(each.to)] += rate;
      }
      const Time arrival = end + reach;
      events_.push(arrival, {What::arrived, flight, first + static_cast<std::uint32_t>(i)});
      if (demanded_.test(static_cast<std::size_t>(chunk), each.to.index()))
        finish_ = std::max(finish_, arrival);
    }
    if (i < stem) before += each.latency;
  }
  events_.push(end, {What::freed, flight, late});
  if (path.size() > stem + 1 && groups_left_[exit] > 0) {
    --groups_left_[exit];
    events_.push(end + before, {What::left_switch, flight, static_cast<std::uint32_t>(exit.value)});
  }

  for (const LinkId id : path) {
    const Wire& each = link(id);
    if (link(id).fabric < 0) continue;
    if (each.leaves_node) update_pool(each.from, each.to);
    if (each.enters_node) update_idle(id);
  }
  // Caps of a node concern its other links, too.
  if (link(path.front()).capped_out) {
    for (const LinkId id : ups_[from]) update_pool(from, link(id).to);
  }
  for (std::size_t i = stem; i < path.size(); ++i) {
    const NodeId head = link(path[i]).to;
    if (!link(path[i]).capped_in) continue;
    for (const LinkId id : topology_.in(head)) {
      if (link(id).fabric >= 0) update_idle(id);
    }
  }
}

Schedule GreedyRun::State::schedule() const {
  Schedule sends;
  sends.reserve(flights_.size());
  for (const Flight& flight : flights_) {
    const ChunkId id = chunk_[static_cast<std::size_t>(flight.chunk)];
    const auto begin = flight_links_.begin() + flight.first_link;
    sends.push_back({id, Op::copy, flight.start, flight.rate,
                     std::vector<LinkId>(begin, begin + flight.links), Bytes{0},
                     problem_.chunks[id].bytes});
  }
  return sends;
}

GreedyRun::GreedyRun(const GreedyInput& input, const GreedyStyle& style, Rng rng,
                     const StopCondition& stop)
    : state_(std::make_unique<State>(input, style, rng, stop)) {}
GreedyRun::~GreedyRun() = default;
GreedyRun::GreedyRun(GreedyRun&&) noexcept = default;
bool GreedyRun::run(Time give_up) { return state_->run(give_up); }
Time GreedyRun::finish() const { return state_->finish(); }
Schedule GreedyRun::schedule() const { return state_->schedule(); }

}  // namespace stellwerk
