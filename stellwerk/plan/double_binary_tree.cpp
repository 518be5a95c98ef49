// Double binary trees, a baseline: what NCCL does with middle sizes.
//
// Problem: AllReduce (and Broadcast, Reduce) in O(log n) steps at full bandwidth. In one binary tree
// half of the ranks are leaves, whose links out lie idle when data goes down.
// Idea: two trees, such that the inner ranks of one are leaves in the other, and half of the chunks
// for each. In the first, a rank's children differ from it by a power of two less than its lowest
// binary one; the second is its mirror image, or, for an odd number, the first one moved on by one.
// Broadcast: the root feeds the roots of two trees over the others in turn. With several hosts of
// equally many ranks, the trees of AllReduce join hosts, and inside a host chunks pass along a
// chain; chunks take turns in which GPU of a host is at its head, so that all NICs are used.
// Guarantee: 2 ceil(log2 n) steps up and down where every pair is one hop; a rank sends and receives
// every chunk once up, once down, besides one more copy of half of the chunks. Complexity: O(sends
// log sends).
// Paper: Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan", Parallel Computing 2009. Held to its word by textbook_test.cpp.
#include "stellwerk/plan/double_binary_tree.hpp"

#include <algorithm>
#include <bit>

#include "stellwerk/plan/textbook_schedule.hpp"

namespace stellwerk {
namespace {

/// The parent of `v` in the tree over 0..n-1 whose root is 0. Precondition: v > 0.
std::size_t parent_of(std::size_t v, std::size_t n) {
  const std::size_t low = v & (~v + 1);
  const std::size_t up = (v ^ low) | (low << 1);
  return up < n ? up : v ^ low;
}

/// The edges of the first or second tree over 0..n-1, parents first; returns the root.
std::size_t binary_tree(std::size_t n, bool second,
                        std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  const auto image = [&](std::size_t v) {
    if (!second) return v;
    return n % 2 == 0 ? n - 1 - v : (v + 1) % n;
  };
  std::vector<std::vector<std::size_t>> children(n);
  for (std::size_t v = 1; v < n; ++v) children[parent_of(v, n)].push_back(v);
  std::vector<std::size_t> queue = {0};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const std::size_t child : children[queue[i]]) {
      edges.emplace_back(image(queue[i]), image(child));
      queue.push_back(child);
    }
  }
  return image(0);
}

/// What of a job's rank list does not depend on the chunk.
struct JobTrees {
  std::vector<std::vector<NodeId>> hosts;  ///< AllReduce: equally large
  std::size_t root[2] = {0, 0};            ///< positions in hosts, or in the others than the root
  std::vector<std::pair<std::size_t, std::size_t>> edges[2];
};

JobTrees trees_of(const Problem& problem, const Job& job) {
  JobTrees result;
  std::size_t n = job.ranks.size() - 1;  // all but the root
  if (job.collective == Collective::allreduce) {
    result.hosts = ranks_by_host(problem.topology, job.ranks);
    const bool even = std::all_of(result.hosts.begin(), result.hosts.end(), [&](const auto& host) {
      return host.size() == result.hosts.front().size();
    });
    if (!even || result.hosts.size() == 1) {
      result.hosts.clear();
      for (const NodeId rank : job.ranks) result.hosts.push_back({rank});
    }
    n = result.hosts.size();
  }
  for (const bool second : {false, true}) {
    result.root[second ? 1 : 0] = binary_tree(n, second, result.edges[second ? 1 : 0]);
  }
  return result;
}

/// Gives edges steps: downwards by depth, upwards from the deepest.
void add_steps(std::vector<TreeEdge>& edges, bool upwards, std::size_t nodes) {
  IdVector<NodeId, int> depth(nodes, 0);
  int deepest = 0;
  for (TreeEdge& edge : edges) {
    depth[edge.child] = depth[edge.parent] + 1;
    edge.step = depth[edge.parent];
    deepest = std::max(deepest, edge.step);
  }
  if (!upwards) return;
  for (TreeEdge& edge : edges) edge.step = deepest - edge.step;
}

}  // namespace

PlannerOutcome plan_double_binary_tree(const Problem& problem, const PlanOptions& /*options*/,
                                       PlannerContext& context) {
  context.report("double-binary-tree");
  if (auto declined = decline(problem, "double binary trees",
                              {Collective::allreduce, Collective::broadcast, Collective::reduce})) {
    return *declined;
  }
  std::vector<JobTrees> jobs;
  for (const Job& job : problem.jobs) jobs.push_back(trees_of(problem, job));
  const std::size_t nodes = problem.topology.nodes().size();
  const TreeMaker two_trees = [&](const Chunk& chunk, std::size_t k, ChunkTrees& trees) {
    const Job& job = problem.jobs[chunk.job.index()];
    const JobTrees& of_job = jobs[chunk.job.index()];
    std::vector<TreeEdge> edges;
    if (job.collective == Collective::allreduce) {
      const std::size_t size = of_job.hosts.front().size();
      const std::size_t head = k / 2 % size;
      trees.root = of_job.hosts[of_job.root[k % 2]][head];
      for (const auto& [parent, child] : of_job.edges[k % 2]) {
        edges.push_back({of_job.hosts[parent][head], of_job.hosts[child][head]});
      }
      for (const std::vector<NodeId>& host : of_job.hosts) {
        for (std::size_t i = 0; i + 1 < size; ++i) {
          edges.push_back({host[(head + i) % size], host[(head + i + 1) % size]});
        }
      }
    } else {
      const auto root = static_cast<std::size_t>(job.root);
      const auto other = [&](std::size_t i) {
        return job.ranks[(root + 1 + i) % job.ranks.size()];
      };
      trees.root = job.ranks[root];
      edges.push_back({trees.root, other(of_job.root[k % 2])});
      for (const auto& [parent, child] : of_job.edges[k % 2]) {
        edges.push_back({other(parent), other(child)});
      }
    }
    if (chunk.is_reduction()) {
      trees.gather = edges;
      add_steps(trees.gather, true, nodes);
    }
    if (job.collective == Collective::reduce) return;
    trees.spread = std::move(edges);
    add_steps(trees.spread, false, nodes);
  };
  Routers routers(problem);
  return schedule_trees(problem, context, routers, two_trees);
}

}  // namespace stellwerk
