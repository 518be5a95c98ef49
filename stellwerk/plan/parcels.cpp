#include "stellwerk/plan/parcels.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "stellwerk/graph/shortest_paths.hpp"

namespace stellwerk {
namespace {

/// Which nodes may forward: the same for all jobs, or for those with the same ranks.
class Passing {
 public:
  explicit Passing(const Problem& problem) : problem_(problem), of_job_(problem.jobs.size(), -1) {}

  std::int32_t of(JobId job, std::vector<IdVector<NodeId, char>>& may_pass) {
    const std::size_t key = problem_.relays == Relays::all ? 0 : job.index();
    if (of_job_[key] >= 0) return of_job_[key];
    for (std::size_t other = 0; other < key; ++other) {
      if (of_job_[other] >= 0 && problem_.jobs[other].ranks == problem_.jobs[key].ranks) {
        return of_job_[key] = of_job_[other];
      }
    }
    std::vector<bool> member(problem_.topology.nodes().size(), problem_.relays == Relays::all);
    for (const NodeId rank : problem_.jobs[job.index()].ranks) member[rank.index()] = true;
    IdVector<NodeId, char> pass(problem_.topology.nodes().size());
    for (const NodeId node : problem_.topology.node_ids()) {
      const bool gpu = problem_.topology.node(node).kind == NodeKind::gpu;
      pass[node] = !gpu || member[node.index()] ? 1 : 0;
    }
    may_pass.push_back(std::move(pass));
    return of_job_[key] = static_cast<std::int32_t>(may_pass.size() - 1);
  }

 private:
  const Problem& problem_;
  std::vector<std::int32_t> of_job_;
};

/// Time of a chunk alone: latencies, and its transmission over every link (cut-through hops would
/// pay it once; for the choice of an origin that is near enough).
class NearestOrigin {
 public:
  explicit NearestOrigin(const Topology& topology) {
    std::vector<graph::Arc> arcs;
    for (const Link& link : topology.links()) arcs.push_back({link.from.value, link.to.value});
    graph_ = graph::Digraph(static_cast<int>(topology.nodes().size()), std::move(arcs));
  }

  NodeId choose(const Topology& topology, const Chunk& chunk, NodeId target) {
    const auto [place, fresh] = to_.try_emplace({target, chunk.bytes});
    if (fresh) {
      std::vector<std::int64_t> lengths;
      for (const Link& link : topology.links()) {
        lengths.push_back((link.latency + transmission_time(chunk.bytes, link.bandwidth)).ps);
      }
      place->second =
          graph::distances(graph_, lengths, std::vector{graph::Start{target.value}}, true);
    }
    return *std::min_element(chunk.origins.begin(), chunk.origins.end(), [&](NodeId a, NodeId b) {
      const std::int64_t x = place->second[a.index()], y = place->second[b.index()];
      return x != y ? x < y : a < b;
    });
  }

 private:
  graph::Digraph graph_;
  std::map<std::pair<NodeId, Bytes>, std::vector<std::int64_t>> to_;
};

/// The first parcel to whose target no path leads, if there is one.
const Parcel* unreachable(const Topology& topology, const ParcelDemand& demand) {
  // From every origin once; a job's chunks come origin by origin.
  std::map<std::pair<NodeId, std::int32_t>, std::vector<bool>> reached_from;
  for (const Parcel& parcel : demand.parcels) {
    std::vector<bool>& reached = reached_from[{parcel.from, parcel.passing}];
    if (reached.empty()) {
      const IdVector<NodeId, char>& may_pass =
          demand.may_pass[static_cast<std::size_t>(parcel.passing)];
      reached.assign(topology.nodes().size(), false);
      reached[parcel.from.index()] = true;
      std::vector<NodeId> queue = {parcel.from};
      for (std::size_t i = 0; i < queue.size(); ++i) {
        const NodeId node = queue[i];
        if (node != parcel.from && may_pass[node] == 0) continue;
        for (const LinkId id : topology.out(node)) {
          const NodeId next = topology.link(id).to;
          if (reached[next.index()]) continue;
          reached[next.index()] = true;
          queue.push_back(next);
        }
      }
    }
    if (!reached[parcel.to.index()]) return &parcel;
  }
  return nullptr;
}

}  // namespace

std::optional<ParcelDemand> make_parcels(const Problem& problem, std::string& why) {
  ParcelDemand demand;
  Passing passing(problem);
  std::optional<NearestOrigin> nearest;
  demand.parcels.reserve(problem.chunks.size());
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    if (chunk.is_reduction()) {
      why = "it does not plan reductions";
      return std::nullopt;
    }
    NodeId target;
    int lacking = 0;
    for (const NodeId node : chunk.destinations) {
      if (std::find(chunk.origins.begin(), chunk.origins.end(), node) != chunk.origins.end()) {
        continue;
      }
      target = node;
      ++lacking;
    }
    if (lacking == 0) continue;
    if (lacking > 1) {
      why = "it plans chunks with one destination each";
      return std::nullopt;
    }
    NodeId from = chunk.origins.front();
    if (chunk.origins.size() > 1) {
      if (!nearest) nearest.emplace(problem.topology);
      from = nearest->choose(problem.topology, chunk, target);
    }
    demand.parcels.push_back(
        {id, from, target, passing.of(chunk.job, demand.may_pass), chunk.bytes, chunk.ready});
  }
  if (const Parcel* parcel = unreachable(problem.topology, demand)) {
    why = "no path leads from " + problem.topology.node(parcel->from).name + " to " +
          problem.topology.node(parcel->to).name;
    return std::nullopt;
  }
  return demand;
}

}  // namespace stellwerk
