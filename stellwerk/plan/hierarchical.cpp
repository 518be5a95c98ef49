// Hierarchical rings, a baseline: inside hosts, then between them.
//
// Problem: links inside a host are many times faster than those between hosts, and a host has a NIC
// for each GPU, which flat algorithms leave idle.
// Idea: ranks with the same number in their hosts form a ring over the hosts, the ranks of a host a
// ring inside it. AllGather: a block goes round its ring over hosts; wherever it arrives it goes
// round inside, too. ReduceScatter runs that backwards: partial sums inside hosts, then between them.
// AllReduce is both. AllToAll: a block first goes to the rank of its own host that has the number of
// its destination, then across.
// Guarantee: a plan whenever the ranks reach each other. Every NIC carries (h-1)/h of its rank's
// share of the data. Complexity: O(sends log sends) besides the order of the rings.
// Paper: Cho, Finkler, Serrano, Kung, Hunter, "BlueConnect: decomposing all-reduce for deep learning
// on heterogeneous network hierarchy", MLSys 2019. Held to its word by textbook_test.cpp.
#include "stellwerk/plan/hierarchical.hpp"

#include <algorithm>

#include "stellwerk/plan/ring_order.hpp"
#include "stellwerk/plan/textbook_schedule.hpp"

namespace stellwerk {
namespace {

/// The hosts of one job.
struct Hosts {
  std::vector<std::vector<NodeId>> ranks;  ///< by host and number in it
  std::vector<std::vector<NodeId>> ring;   ///< by host: the same ranks, in the order of a ring
  IdVector<NodeId, std::size_t> host, number, seat;  ///< of ranks; `seat` is the place in the ring
};

}  // namespace

PlannerOutcome plan_hierarchical(const Problem& problem, const PlanOptions& /*options*/,
                                 PlannerContext& context) {
  context.report("hierarchical");
  if (auto declined = decline(problem, "hierarchical rings",
                              {Collective::allgather, Collective::reducescatter,
                               Collective::allreduce, Collective::alltoall},
                              2)) {
    return *declined;
  }
  const Topology& topology = problem.topology;
  Routers routers(problem);
  std::vector<Hosts> jobs;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const Job& job = problem.jobs[j];
    Hosts hosts{ranks_by_host(topology, job.ranks), {}, {}, {}, {}};
    const std::size_t size = hosts.ranks.front().size();
    const bool even = std::all_of(hosts.ranks.begin(), hosts.ranks.end(),
                                  [&](const auto& host) { return host.size() == size; });
    if (!even || size < 2 || hosts.ranks.size() < 2) {
      return unsupported("the ranks of job '" + job.name +
                         "' are not several hosts of equally many, two or more each");
    }
    hosts.host.resize(topology.nodes().size());
    hosts.number.resize(topology.nodes().size());
    hosts.seat.resize(topology.nodes().size());
    Router& router = routers.of(JobId(j), block_bytes(job));
    for (std::size_t h = 0; h < hosts.ranks.size(); ++h) {
      const std::vector<NodeId>& ranks = hosts.ranks[h];
      const bool joined = std::all_of(ranks.begin(), ranks.end(), [&](NodeId a) {
        return std::all_of(ranks.begin(), ranks.end(),
                           [&](NodeId b) { return router.reaches(a, b); });
      });
      if (!joined) return unsupported("a host of job '" + job.name + "' is not connected");
      hosts.ring.push_back(ring_order(topology, ranks, block_bytes(job), router));
      for (std::size_t i = 0; i < size; ++i) {
        hosts.host[ranks[i]] = h;
        hosts.number[ranks[i]] = i;
        hosts.seat[hosts.ring.back()[i]] = i;
      }
    }
    jobs.push_back(std::move(hosts));
  }

  const TreeMaker two_levels = [&](const Chunk& chunk, std::size_t /*k*/, ChunkTrees& trees) {
    const Hosts& hosts = jobs[chunk.job.index()];
    const std::size_t count = hosts.ranks.size(), size = hosts.ranks.front().size();
    const std::size_t host = hosts.host[chunk.owner], number = hosts.number[chunk.owner];
    if (problem.jobs[chunk.job.index()].collective == Collective::alltoall) {
      const NodeId to = chunk.destinations.front();
      const NodeId gate = hosts.ranks[host][hosts.number[to]];
      if (gate != chunk.owner) trees.spread.push_back({chunk.owner, gate, 0});
      // Hosts take turns as in a pairwise exchange.
      const std::size_t ahead = (hosts.host[to] + count - host) % count;
      if (gate != to) trees.spread.push_back({gate, to, static_cast<int>(ahead)});
      return;
    }
    // From the owner over the hosts, and from each rank met there round its host. Backwards, a ring
    // ends where forwards it begins.
    const auto edges = [&](std::vector<TreeEdge>& result, bool gather) {
      const auto place = [&](std::size_t at, std::size_t i, std::size_t n) {
        return gather ? (at + n - i) % n : (at + i) % n;
      };
      for (std::size_t i = 0; i + 1 < count; ++i) {
        result.push_back({hosts.ranks[place(host, i, count)][number],
                          hosts.ranks[place(host, i + 1, count)][number],
                          static_cast<int>(gather ? count + size - 3 - i : i)});
      }
      for (std::size_t h = 0; h < count; ++h) {
        const std::vector<NodeId>& ring = hosts.ring[h];
        const std::size_t seat = hosts.seat[hosts.ranks[h][number]];
        for (std::size_t i = 0; i + 1 < size; ++i) {
          result.push_back({ring[place(seat, i, size)], ring[place(seat, i + 1, size)],
                            static_cast<int>(gather ? size - 2 - i : i)});
        }
      }
    };
    if (chunk.is_reduction()) edges(trees.gather, true);
    if (spreads(chunk)) edges(trees.spread, false);
  };
  return schedule_trees(problem, context, routers, two_levels);
}

}  // namespace stellwerk
