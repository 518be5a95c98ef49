#include "stellwerk/plan/commodity.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace stellwerk {
namespace {

// Jobs whose data may pass through the same nodes are told apart only where that matters.
int forwarding_class(const Problem& problem, JobId job) {
  if (problem.relays == Relays::all) return 0;
  for (std::size_t i = 0; i < job.index(); ++i) {
    if (problem.jobs[i].ranks == problem.jobs[job.index()].ranks) return static_cast<int>(i);
  }
  return job.value;
}

void add_supply(Commodity& commodity, const Unicast& unicast) {
  for (Commodity::Supply& supply : commodity.supplies) {
    if (supply.nodes == unicast.sources && supply.ready == unicast.ready) {
      supply.bytes += unicast.bytes;
      return;
    }
  }
  commodity.supplies.push_back({unicast.sources, unicast.ready, unicast.bytes});
}

void add_sink(Commodity& commodity, const Unicast& unicast) {
  for (Commodity::Sink& sink : commodity.sinks) {
    if (sink.node == unicast.target) {
      sink.bytes += unicast.bytes;
      return;
    }
  }
  commodity.sinks.push_back({unicast.target, unicast.bytes});
}

template <class Key, class KeyOf>
std::vector<std::vector<std::size_t>> group(const std::vector<Unicast>& unicasts, KeyOf key_of) {
  std::map<Key, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < unicasts.size(); ++i) groups[key_of(unicasts[i])].push_back(i);
  std::vector<std::vector<std::size_t>> result;
  for (auto& [key, members] : groups) result.push_back(std::move(members));
  return result;
}

}  // namespace

std::optional<std::vector<Unicast>> unicasts(const Problem& problem) {
  std::vector<Unicast> result;
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    if (chunk.is_reduction()) return std::nullopt;
    std::vector<NodeId> lacking;
    for (const NodeId node : chunk.destinations) {
      if (std::find(chunk.origins.begin(), chunk.origins.end(), node) == chunk.origins.end()) {
        lacking.push_back(node);
      }
    }
    if (lacking.empty()) continue;
    if (lacking.size() > 1) return std::nullopt;
    std::vector<NodeId> sources = chunk.origins;
    std::sort(sources.begin(), sources.end());
    result.push_back({id, std::move(sources), lacking.front(), chunk.bytes, chunk.ready});
  }
  return result;
}

std::vector<Commodity> make_commodities(const Problem& problem,
                                        const std::vector<Unicast>& unicasts) {
  const auto pass_class = [&](const Unicast& unicast) {
    return forwarding_class(problem, problem.chunks[unicast.chunk].job);
  };
  using SourceKey = std::tuple<std::vector<NodeId>, std::int64_t, int>;
  using TargetKey = std::pair<NodeId, int>;
  auto by_source = group<SourceKey>(unicasts, [&](const Unicast& unicast) {
    return SourceKey(unicast.sources, unicast.ready.ps, pass_class(unicast));
  });
  auto by_target = group<TargetKey>(unicasts, [&](const Unicast& unicast) {
    return TargetKey(unicast.target, pass_class(unicast));
  });
  std::vector<Commodity> result;
  for (auto& members : by_source.size() <= by_target.size() ? by_source : by_target) {
    Commodity commodity;
    const JobId job = problem.chunks[unicasts[members.front()].chunk].job;
    Bytes largest;
    for (const std::size_t i : members) largest = std::max(largest, unicasts[i].bytes);
    commodity.may_pass.resize(problem.topology.nodes().size());
    for (const NodeId node : problem.topology.node_ids()) {
      const auto& buffer = problem.topology.node(node).buffer;
      const bool has_room = !buffer || largest <= *buffer;
      commodity.may_pass[node] = has_room && problem.may_forward(node, job) ? 1 : 0;
    }
    for (const std::size_t i : members) {
      add_supply(commodity, unicasts[i]);
      add_sink(commodity, unicasts[i]);
      commodity.bytes += unicasts[i].bytes;
    }
    commodity.unicasts = std::move(members);
    result.push_back(std::move(commodity));
  }
  return result;
}

bool may_use(const Commodity& commodity, const Topology& topology, LinkId link) {
  const NodeId from = topology.link(link).from;
  const NodeId to = topology.link(link).to;
  const auto starts_at = [&](NodeId node) {
    return std::any_of(commodity.supplies.begin(), commodity.supplies.end(), [&](const auto& s) {
      return std::find(s.nodes.begin(), s.nodes.end(), node) != s.nodes.end();
    });
  };
  const auto ends_at = [&](NodeId node) {
    return std::any_of(commodity.sinks.begin(), commodity.sinks.end(),
                       [&](const auto& s) { return s.node == node; });
  };
  // A byte never comes back to the only place it can have come from, nor leaves the only place it
  // can be going to.
  if (commodity.supplies.size() == 1 && commodity.supplies.front().nodes.front() == to &&
      commodity.supplies.front().nodes.size() == 1) {
    return false;
  }
  if (commodity.sinks.size() == 1 && commodity.sinks.front().node == from) return false;
  return (commodity.may_pass[from] != 0 || starts_at(from)) &&
         (commodity.may_pass[to] != 0 || ends_at(to));
}

}  // namespace stellwerk
