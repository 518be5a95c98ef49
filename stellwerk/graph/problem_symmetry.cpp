// Topology and jobs as one coloured graph, whose symmetries are theirs:
//   - a node's colour is its kind, capabilities and limits, and its part in every job;
//   - an arc stands for all links from one node to another, its label for their latencies and
//     bandwidths; for a sendrecv it also says who sends to whom, for an alltoallv what the matrix has
//     there, unless that is the most common entry;
//   - the points, which must move freely, are the ranks of all jobs. Other GPUs are like switches.
#include "stellwerk/graph/problem_symmetry.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "stellwerk/graph/free_group_search.hpp"

namespace stellwerk {
namespace {

using graph::ColouredGraph;

/// One thing that is between two nodes; an arc's label stands for a sorted list of them.
struct Relation {
  NodeId from, to;
  std::int32_t job;  ///< -1: a link
  std::int64_t first, second;

  friend auto operator<=>(const Relation&, const Relation&) = default;
};

void add_matrix(const Job& job, std::int32_t number, std::vector<Relation>& relations) {
  std::map<Bytes, std::size_t> count;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    for (std::size_t j = 0; j < job.ranks.size(); ++j) {
      if (i != j) ++count[job.matrix[i][j]];
    }
  }
  const Bytes common =
      std::max_element(count.begin(), count.end(), [](const auto& a, const auto& b) {
        return a.second < b.second;
      })->first;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    for (std::size_t j = 0; j < job.ranks.size(); ++j) {
      if (i == j || job.matrix[i][j] == common) continue;
      relations.push_back({job.ranks[i], job.ranks[j], number, job.matrix[i][j].value, 0});
    }
  }
}

ColouredGraph graph_of(const Topology& topology, const std::vector<Job>& jobs) {
  const std::size_t nodes = topology.nodes().size();
  std::vector<std::vector<std::int32_t>> parts(nodes);  // jobs in which a node is a rank
  std::vector<Relation> relations;
  for (const LinkId id : topology.link_ids()) {
    const Link& link = topology.link(id);
    relations.push_back({link.from, link.to, -1, link.latency.ps, link.bandwidth.bytes_per_second});
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    const std::int32_t number = static_cast<std::int32_t>(i);
    for (const NodeId rank : job.ranks) parts[rank.index()].push_back(number);
    if (job.collective == Collective::alltoallv) add_matrix(job, number, relations);
    if (job.collective == Collective::sendrecv) {
      for (std::size_t r = 0; r < job.ranks.size(); ++r) {
        relations.push_back({job.ranks[r], job.ranks[(r + 1) % job.ranks.size()], number, 0, 0});
      }
    }
  }

  std::vector<char> points;
  std::vector<int> colours;
  const auto colour = [&](NodeId id) {
    const Node& n = topology.node(id);
    return std::tuple(n.kind, n.multicast, n.reduce, n.max_groups, n.buffer, n.injection,
                      n.ejection, parts[id.index()]);
  };
  std::map<decltype(colour(NodeId(0))), int> colour_number;
  for (const NodeId id : topology.node_ids()) {
    const int fresh = static_cast<int>(colour_number.size());
    colours.push_back(colour_number.emplace(colour(id), fresh).first->second);
    points.push_back(parts[id.index()].empty() ? 0 : 1);
  }

  std::sort(relations.begin(), relations.end());
  std::map<std::vector<std::tuple<std::int32_t, std::int64_t, std::int64_t>>, int> label_number;
  std::vector<ColouredGraph::Arc> arcs;
  for (std::size_t i = 0; i < relations.size();) {
    const Relation& first = relations[i];
    std::vector<std::tuple<std::int32_t, std::int64_t, std::int64_t>> label;
    for (; i < relations.size() && relations[i].from == first.from && relations[i].to == first.to;
         ++i) {
      label.emplace_back(relations[i].job, relations[i].first, relations[i].second);
    }
    const int fresh = static_cast<int>(label_number.size());
    const int number = label_number.emplace(std::move(label), fresh).first->second;
    arcs.push_back({first.from.value, first.to.value, number});
  }
  return {std::move(colours), std::move(points), arcs};
}

Symmetry symmetry_of(const graph::FoundGroup& group) {
  Symmetry result;
  for (const auto& generator : group.generators) {
    Permutation permutation;
    for (const int image : generator) permutation.push_back(NodeId(image));
    result.generators.push_back(std::move(permutation));
  }
  return result;
}

}  // namespace

FoundSymmetries find_symmetries(const Topology& topology, const std::vector<Job>& jobs,
                                const StopCondition& stop) {
  for (const Job& job : jobs) {
    if (!compressible(job.collective)) return {};
  }
  graph::FreeGroupOptions options;
  options.should_stop = [&stop] { return stop.should_stop(); };
  const graph::FreeGroups found = graph::find_free_groups(graph_of(topology, jobs), options);
  return {symmetry_of(found.largest), symmetry_of(found.arc_free), found.largest.order,
          found.arc_free.order, found.bound};
}

Symmetry find_symmetry(const Topology& topology, const std::vector<Job>& jobs,
                       const StopCondition& stop) {
  FoundSymmetries found = find_symmetries(topology, jobs, stop);
  constexpr std::int64_t kWorthSharedLinks = 4;
  const bool shared = found.largest_order > kWorthSharedLinks * found.link_free_order;
  return shared ? std::move(found.largest) : std::move(found.link_free);
}

}  // namespace stellwerk
