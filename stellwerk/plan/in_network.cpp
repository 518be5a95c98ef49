// Sums on the way: switches that add (NVLink SHARP, SHARP) and that copy.
//
// Problem: an AllReduce in which GPUs add moves every byte of a buffer nearly twice over every GPU's links. A switch
// that adds what comes in and copies what goes out halves that.
//
// Idea: every sum has a root, one GPU for all sums of a job. The parts climb an in-tree of switches to the root, as one
// send; the sum goes back over an out-tree, as another. The two trees use the same cables in opposite directions, and
// the root takes one copy in and gives one out: while the k-th sum is spread, the next one is collected, and nobody's link
// idles. Chunks that are no sums go over out-trees from their origins. Trees are shortest ways through switches; where
// several are equally short (spines, planes) the chunks take turns. Starts are the earliest at which all links of a tree,
// caps and multicast groups are free, chunk by chunk.
//
// Guarantee: with C chunks on one switch with equal links, (1 + 1/C) S / bandwidth and four latencies; S / bandwidth is a
// lower bound. Nothing where switches do not add, where GPUs would have to forward, or where sums are small beside
// latency. Complexity: O(chunks * links), and as much for the reservations. Held to its word by in_network_test.cpp.
//
// Paper: Graham et al., "Scalable Hierarchical Aggregation Protocol (SHARP)", COMHPC 2016.
#include "stellwerk/plan/in_network.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "stellwerk/plan/reservations.hpp"
#include "stellwerk/plan/textbook_schedule.hpp"

namespace stellwerk {
namespace {

/// Shortest ways between one node and others, through switches only.
class SwitchTrees {
 public:
  explicit SwitchTrees(const Topology& topology)
      : topology_(topology), link_(topology.nodes().size(), kNone) {}

  /// Links of an out-tree from `root` to `ends` in the order of a send, or (`inwards`) of an in-tree from them. `turn`
  /// chooses among equally short ways. Nothing where an end is out of reach, or a switch would have to copy (add) and
  /// cannot.
  std::optional<std::vector<LinkId>> tree(NodeId root, const std::vector<NodeId>& ends,
                                          bool inwards, std::size_t turn) {
    const std::size_t doors = (inwards ? topology_.in(root) : topology_.out(root)).size();
    for (std::size_t i = 0; i < doors; ++i) {
      search(root, (turn + i) % doors, inwards, turn / doors);
      if (auto links = collect(root, ends, inwards)) return links;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::int32_t kNone = -1;

  std::optional<std::vector<LinkId>> collect(NodeId root, const std::vector<NodeId>& ends,
                                             bool inwards) const {
    std::vector<LinkId> links;  // from the ends to the root
    std::vector<char> taken(topology_.nodes().size(), 0);
    taken[root.index()] = 1;
    std::vector<std::vector<LinkId>> ways;
    for (const NodeId end : ends) {
      std::vector<LinkId> way;
      for (NodeId at = end; taken[at.index()] == 0; at = before(at, inwards)) {
        if (link_[at] == kNone) return std::nullopt;
        taken[at.index()] = 1;
        way.push_back(LinkId(link_[at]));
      }
      ways.push_back(std::move(way));
    }
    // A later way ends where an earlier one passes: from the last to the first, every link comes before the one it leads
    // to.
    for (std::size_t i = ways.size(); i-- > 0;)
      links.insert(links.end(), ways[i].begin(), ways[i].end());
    if (!capable(links, inwards)) return std::nullopt;
    if (!inwards) std::reverse(links.begin(), links.end());
    return links;
  }

  NodeId before(NodeId at, bool inwards) const {
    const Link& link = topology_.link(LinkId(link_[at]));
    return inwards ? link.to : link.from;
  }

  /// Breadth first, over one of the links at the root: link_[v] is the one between v and its neighbour towards the root.
  void search(NodeId root, std::size_t door, bool inwards, std::size_t turn) {
    for (const NodeId node : topology_.node_ids()) link_[node] = kNone;
    std::deque<NodeId> queue{root};
    while (!queue.empty()) {
      const NodeId at = queue.front();
      queue.pop_front();
      if (at != root && topology_.stores(at)) continue;
      const auto& links = inwards ? topology_.in(at) : topology_.out(at);
      for (std::size_t i = 0; i < links.size(); ++i) {
        if (at == root && i != door) continue;
        const LinkId id = links[at == root ? i : (i + turn) % links.size()];
        const NodeId next = inwards ? topology_.link(id).from : topology_.link(id).to;
        if (next == root || link_[next] != kNone) continue;
        link_[next] = id.value;
        queue.push_back(next);
      }
    }
  }

  /// Do all switches with several links add, or copy?
  bool capable(const std::vector<LinkId>& links, bool inwards) const {
    std::map<NodeId, int> several;
    for (const LinkId id : links) {
      const Link& link = topology_.link(id);
      const NodeId at = inwards ? link.to : link.from;
      if (++several[at] == 1) continue;
      const Node& node = topology_.node(at);
      if (!(inwards ? node.reduce : node.multicast)) return false;
    }
    return true;
  }

  const Topology& topology_;
  IdVector<NodeId, std::int32_t> link_;
};

class InNetwork {
 public:
  InNetwork(const Problem& problem, PlannerContext& context)
      : problem_(problem),
        context_(context),
        trees_(problem.topology),
        reservations_(problem.topology),
        sums_(problem.jobs.size(), 0) {}

  PlannerOutcome run() {
    PlannerOutcome outcome;
    for (const ChunkId id : problem_.chunk_ids()) {
      if (context_.stop.should_stop()) {
        outcome.termination = {Termination::Reason::no_solution, context_.stop.reached()};
        return outcome;
      }
      if (!serve(id)) {
        if (blocked_) return unsupported("the limits of nodes let none of its trees through");
        return unsupported("job '" + problem_.jobs[problem_.chunks[id].job.index()].name +
                           "' has GPUs that no tree of switches which add and copy joins");
      }
    }
    outcome.sends = std::move(sends_);
    outcome.termination.reason = Termination::Reason::feasible;
    return outcome;
  }

 private:
  bool serve(ChunkId id) {
    const Chunk& chunk = problem_.chunks[id];
    const std::size_t turn = sums_[chunk.job.index()]++;
    if (!chunk.is_reduction()) {
      return send(id, Op::copy, chunk.origins.front(), chunk.destinations, turn, chunk.ready)
          .has_value();
    }
    const NodeId root = chunk.destinations.front();
    const std::optional<Time> summed =
        send(id, Op::reduce, root, chunk.contributors, turn, chunk.ready);
    return summed && send(id, Op::copy, root, chunk.destinations, turn, *summed).has_value();
  }

  /// When the last byte is in. Nothing to send: `from`.
  std::optional<Time> send(ChunkId id, Op op, NodeId root, std::vector<NodeId> ends,
                           std::size_t turn, Time from) {
    ends.erase(std::remove(ends.begin(), ends.end(), root), ends.end());
    if (ends.empty()) return from;
    std::optional<std::vector<LinkId>> links = trees_.tree(root, ends, op == Op::reduce, turn);
    if (!links) return std::nullopt;
    Send send = whole_chunk_send(problem_.topology, problem_.chunks[id], id, op, from, *links);
    const SendTiming shape = timing(problem_.topology, send);
    const auto slow_down = [&](const std::vector<NodeId>& nodes, auto cap) {
      for (const NodeId node : nodes) {
        const std::optional<Bandwidth>& limit = problem_.topology.node(node).*cap;
        if (limit) send.rate = std::min(send.rate, *limit);
      }
    };
    slow_down(shape.sources, &Node::injection);
    slow_down(shape.leaves, &Node::ejection);
    const Footprint footprint = reservations_.footprint(send);
    send.start = reservations_.earliest(footprint, from);
    blocked_ = send.start == Time::max();
    if (blocked_) return std::nullopt;
    reservations_.add(footprint, send.start);
    Time last;
    for (const Time arrival : timing(problem_.topology, send).arrival)
      last = std::max(last, send.start + arrival);
    sends_.push_back(std::move(send));
    return last;
  }

  const Problem& problem_;
  PlannerContext& context_;
  SwitchTrees trees_;
  Reservations reservations_;
  std::vector<std::size_t> sums_;  // by job: chunks so far
  bool blocked_ = false;           // the last tree cannot be used at any time
  Schedule sends_;
};

}  // namespace

PlannerOutcome plan_in_network(const Problem& problem, const PlanOptions& options,
                               PlannerContext& context) {
  const auto& nodes = problem.topology.nodes();
  const bool adds =
      std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.reduce; });
  if (!adds) return unsupported("no switch adds what it passes on");
  if (!options.store) return unsupported("its sums are stored where they are formed");
  const bool sums = std::any_of(problem.chunks.begin(), problem.chunks.end(),
                                [](const Chunk& chunk) { return chunk.is_reduction(); });
  if (!sums) return unsupported("nothing is summed");
  context.report("in-network");
  return InNetwork(problem, context).run();
}

}  // namespace stellwerk
