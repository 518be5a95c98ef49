// Scheduling chunks along given trees.
//
// Problem: textbook algorithms say which rank passes which block to which rank in which step. On a
// real network two ranks may be several hops apart, and steps last as long as links are shared.
// Idea: every edge of a chunk's tree becomes the best way between its ends (router.hpp). Where a way
// meets the chunk's tree, it joins it: a GPU on the way passes the chunk on once, and merges its own
// part of a sum. So each chunk has a tree of hops. Then, in order of the time at which data is
// ready (then of the algorithm's step), every send takes the first free instant on its links.
// Guarantee: a plan whenever all ends are connected; each node of a tree receives (gathering: sends)
// once. Optimal only where the algorithm suits the network: that is the point of a baseline.
// Complexity: O(sends log sends) besides the ways. Held to its word by baselines_test.cpp.
#include "stellwerk/plan/textbook_schedule.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <span>
#include <string>
#include <tuple>

#include "stellwerk/plan/asap.hpp"
#include "stellwerk/plan/passing.hpp"

namespace stellwerk {
namespace {

constexpr std::int32_t kNone = -1;

/// A hop of a chunk's tree.
struct Branch {
  ChunkId chunk;
  const Hop* hop = nullptr;  ///< gathering: from child to parent; spreading: from parent to child
  std::int32_t step = 0;
  bool gathers = false;
  std::int32_t parent = kNone;   ///< the branch nearer to the root; none at the root
  std::int32_t child = kNone;    ///< spreading: the first of those that follow
  std::int32_t sibling = kNone;  ///< spreading: the next one with the same parent
  std::int32_t pending = 0;      ///< gathering: branches that must have arrived before
};

/// What is known of a chunk as a whole.
struct Trunk {
  NodeId root;
  std::int32_t spread = kNone;  ///< the first branch that starts at the root or another origin
  std::int32_t pending = 0;     ///< branches that still have to arrive at the root
};

class TreeScheduler {
 public:
  TreeScheduler(const Problem& problem, PlannerContext& context, Routers& routers)
      : problem_(problem),
        context_(context),
        routers_(routers),
        branch_into_(problem.topology.nodes().size(), kNone),
        stamp_(problem.topology.nodes().size(), 0),
        trunks_(problem.chunks.size()) {}

  PlannerOutcome run(const TreeMaker& make_trees) {
    PlannerOutcome outcome;
    std::vector<std::size_t> seen(problem_.jobs.size(), 0);
    ChunkTrees trees;
    for (const ChunkId id : problem_.chunk_ids()) {
      if (stopped(outcome)) return outcome;
      const Chunk& chunk = problem_.chunks[id];
      trees = {};
      trees.root = chunk.owner;
      const std::size_t k = seen[chunk.job.index()]++;
      make_trees(chunk, k, trees);
      worked(trees.gather.size() + trees.spread.size());
      if (const auto unreachable = plant(id, trees, static_cast<std::uint32_t>(k))) {
        outcome.message = *unreachable;
        return outcome;
      }
    }
    return grow(outcome);
  }

 private:
  void worked(std::size_t sends) { since_look_ += sends; }

  /// Looks at the clock after a thousand sends.
  bool stopped(PlannerOutcome& outcome) {
    if (since_look_ < 1024) return false;
    since_look_ = 0;
    const Limit limit = context_.stop.reached();
    if (limit == Limit::none) return false;
    outcome.termination = {Termination::Reason::no_solution, limit};
    return true;
  }

  bool planted(NodeId node) const { return stamp_[node] == round_; }
  void put(NodeId node, std::int32_t branch) {
    stamp_[node] = round_;
    branch_into_[node] = branch;
  }

  /// The tree of hops of one chunk. Returns why there is none, in words.
  std::optional<std::string> plant(ChunkId id, const ChunkTrees& trees, std::uint32_t salt) {
    const Chunk& chunk = problem_.chunks[id];
    Router& router = routers_.of(chunk);
    Trunk& trunk = trunks_[id];
    trunk.root = trees.root;
    const auto unreachable = [&](NodeId from, NodeId to) {
      return "chunk " + std::to_string(id.value) + " of job '" +
             problem_.jobs[chunk.job.index()].name + "' cannot reach " +
             problem_.topology.node(to).name + " from " + problem_.topology.node(from).name +
             ": no path leads there";
    };
    ++round_;
    put(trees.root, kNone);
    for (const TreeEdge& edge : trees.gather) {
      if (planted(edge.child)) continue;
      if (!router.reaches(edge.child, edge.parent)) return unreachable(edge.child, edge.parent);
      const std::span<const HopId> way = router.way(edge.child, edge.parent, salt);
      std::size_t end = 0;
      while (!planted(router.hop(way[end]).to)) ++end;
      for (std::size_t i = end + 1; i-- > 0;) {  // from the tree outwards
        const Hop& hop = router.hop(way[i]);
        Branch branch{id, &hop, edge.step, true};
        branch.parent = branch_into_[hop.to];
        ++(branch.parent == kNone ? trunk.pending : branches_[index(branch.parent)].pending);
        put(hop.from, static_cast<std::int32_t>(branches_.size()));
        branches_.push_back(branch);
      }
    }
    ++round_;
    put(trees.root, kNone);
    for (const NodeId origin : chunk.origins) put(origin, kNone);
    for (const TreeEdge& edge : trees.spread) {
      if (planted(edge.child)) continue;
      if (!router.reaches(edge.parent, edge.child)) return unreachable(edge.parent, edge.child);
      const std::span<const HopId> way = router.way(edge.parent, edge.child, salt);
      std::size_t begin = way.size() - 1;
      while (!planted(router.hop(way[begin]).from)) --begin;
      for (std::size_t i = begin; i < way.size(); ++i) {
        const Hop& hop = router.hop(way[i]);
        Branch branch{id, &hop, edge.step, false};
        branch.parent = branch_into_[hop.from];
        const auto place = static_cast<std::int32_t>(branches_.size());
        std::int32_t& first =
            branch.parent == kNone ? trunk.spread : branches_[index(branch.parent)].child;
        branch.sibling = first;
        first = place;
        put(hop.to, place);
        branches_.push_back(branch);
      }
    }
    return std::nullopt;
  }

  static std::size_t index(std::int32_t branch) { return static_cast<std::size_t>(branch); }

  PlannerOutcome grow(PlannerOutcome& outcome) {
    AsapBuilder builder(problem_);
    // Branches of sums that nothing has to arrive at can go when the chunk is ready; so can copies
    // from origins, and from the root of a sum that is a single part.
    for (std::size_t b = 0; b < branches_.size(); ++b) {
      const Branch& branch = branches_[b];
      if (branch.gathers && branch.pending == 0) enqueue(b, ready(branch.chunk));
    }
    for (const ChunkId id : problem_.chunk_ids()) {
      if (trunks_[id].pending == 0) start_spreading(id, builder);
    }
    while (!queue_.empty()) {
      worked(1);
      if (stopped(outcome)) return outcome;
      const auto [time, step, chunk, b] = queue_.top();
      queue_.pop();
      const Branch& branch = branches_[index(b)];
      if (!branch.gathers) {
        const Time arrival = builder.copy(chunk, *branch.hop);
        for (std::int32_t next = branch.child; next != kNone; next = branches_[index(next)].sibling)
          enqueue(index(next), arrival);
        continue;
      }
      builder.reduce(chunk, *branch.hop);
      if (branch.parent == kNone) {
        if (--trunks_[chunk].pending == 0) start_spreading(chunk, builder);
      } else if (--branches_[index(branch.parent)].pending == 0) {
        enqueue(index(branch.parent), builder.partial_ready(chunk, branch.hop->to));
      }
    }
    outcome.sends = builder.take();
    if (!keeps_buffers(problem_, outcome.sends)) {
      return unsupported("no plan for transit buffers, and they would overflow");
    }
    outcome.termination.reason = Termination::Reason::feasible;
    return std::move(outcome);
  }

  Time ready(ChunkId chunk) const { return problem_.chunks[chunk].ready; }

  void start_spreading(ChunkId id, AsapBuilder& builder) {
    Time from = ready(id);
    if (problem_.chunks[id].is_reduction()) {
      from = builder.partial_ready(id, trunks_[id].root);
      builder.finish_sum(id, trunks_[id].root);
    }
    for (std::int32_t b = trunks_[id].spread; b != kNone; b = branches_[index(b)].sibling)
      enqueue(index(b), from);
  }

  void enqueue(std::size_t branch, Time time) {
    queue_.emplace(time, branches_[branch].step, branches_[branch].chunk,
                   static_cast<std::int32_t>(branch));
  }

  const Problem& problem_;
  PlannerContext& context_;
  Routers& routers_;
  IdVector<NodeId, std::int32_t> branch_into_;  // of the tree being planted
  IdVector<NodeId, std::uint32_t> stamp_;       // == round_: the node is in that tree
  std::uint32_t round_ = 0;
  std::size_t since_look_ = 1024;  // sends since the clock was looked at
  IdVector<ChunkId, Trunk> trunks_;
  std::vector<Branch> branches_;
  using Entry = std::tuple<Time, std::int32_t, ChunkId, std::int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

PlannerOutcome schedule_trees(const Problem& problem, PlannerContext& context, Routers& routers,
                              const TreeMaker& make_trees) {
  return TreeScheduler(problem, context, routers).run(make_trees);
}

bool spreads(const Chunk& chunk) {
  return chunk.destinations.size() > 1 || chunk.destinations.front() != chunk.owner;
}

PlannerOutcome unsupported(std::string message) {
  PlannerOutcome outcome;
  outcome.termination.reason = Termination::Reason::unsupported;
  outcome.message = std::move(message);
  return outcome;
}

std::optional<PlannerOutcome> decline(const Problem& problem, std::string_view what,
                                      std::initializer_list<Collective> served,
                                      std::int64_t copies) {
  for (const Job& job : problem.jobs) {
    if (served.size() == 0) break;
    if (std::find(served.begin(), served.end(), job.collective) != served.end()) continue;
    return unsupported(std::string(what) + " do not serve " +
                       std::string(to_string(job.collective)) + " (job '" + job.name + "')");
  }
  std::int64_t sends = 0;
  for (const Chunk& chunk : problem.chunks) {
    sends += static_cast<std::int64_t>(chunk.destinations.size() + chunk.contributors.size());
  }
  if (sends > kMostBaselineSends / copies) {
    return unsupported("more than " + std::to_string(kMostBaselineSends) +
                       " sends are more than a baseline is worth");
  }
  return std::nullopt;
}

Ranks::Ranks(const Problem& problem) {
  for (const Job& job : problem.jobs) {
    IdVector<NodeId, std::size_t> position(problem.topology.nodes().size(), 0);
    for (std::size_t i = 0; i < job.ranks.size(); ++i) position[job.ranks[i]] = i;
    positions_.push_back(std::move(position));
  }
}

std::vector<std::vector<NodeId>> ranks_by_host(const Topology& topology,
                                               const std::vector<NodeId>& ranks) {
  std::vector<std::vector<NodeId>> hosts;
  std::map<std::string, std::size_t> known;
  for (const NodeId rank : ranks) {
    const std::string& host = topology.node(rank).host;
    const auto [entry, fresh] =
        known.emplace(host.empty() ? topology.node(rank).name + "\n" : host, hosts.size());
    if (fresh) hosts.emplace_back();
    hosts[entry->second].push_back(rank);
  }
  return hosts;
}

}  // namespace stellwerk
