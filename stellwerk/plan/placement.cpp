// Placement by planned time.
//
// Problem. A scheduler has more free GPUs than a job needs, or leaves their order to the job. Which
// set, and which rank on which GPU, makes its collectives fastest?
//
// Idea. There are too many subsets to plan, but few kinds of them matter: as few hosts as possible,
// as many hosts as possible (more NICs), as many hosts as share the ranks evenly. Hosts count by how many
// of their GPUs are free. For each set two orders of ranks, since baselines and runtimes walk along
// them: host by host, and rail by rail. Every candidate is planned for the job's main collective, and
// the plan's time is its score: that is what the job will see, with neighbours' GPUs not relaying.
//
// Guarantee. The answer is the best of its candidates by verified plans; the caller's own order is one of
// them, so it is never worse than that (given the same time for each). Complexity: as many plans as
// candidates, at most a dozen. Test: placement_test.cpp.
#include "stellwerk/plan/placement.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

struct Host {
  std::string name;
  std::vector<NodeId> free;  // in the caller's order
};

/// Hosts in the order in which the caller names them; GPUs without a host are one of their own.
std::vector<Host> hosts_of(const PlacementRequest& request) {
  std::vector<Host> hosts;
  std::map<std::string, std::size_t> place;
  for (const NodeId gpu : request.free) {
    const Node& node = request.topology.node(gpu);
    const std::string& name = node.host.empty() ? node.name : node.host;
    const auto [known, added] = place.emplace(name, hosts.size());
    if (added) hosts.push_back({name, {}});
    hosts[known->second].free.push_back(gpu);
  }
  return hosts;
}

/// Hosts one after the other, those with most free GPUs first, but the last one no larger than needed.
std::vector<NodeId> packed(const std::vector<Host>& hosts, std::size_t ranks) {
  std::vector<const Host*> left;
  for (const Host& host : hosts) left.push_back(&host);
  std::vector<NodeId> chosen;
  while (chosen.size() < ranks) {
    const std::size_t missing = ranks - chosen.size();
    // The smallest that has enough, or else the largest.
    auto best = left.begin();
    for (auto host = left.begin(); host != left.end(); ++host) {
      const std::size_t size = (*host)->free.size(), best_size = (*best)->free.size();
      const bool enough = size >= missing, best_enough = best_size >= missing;
      if (enough != best_enough ? enough : enough ? size < best_size : size > best_size) {
        best = host;
      }
    }
    const std::size_t taken = std::min(missing, (*best)->free.size());
    chosen.insert(chosen.end(), (*best)->free.begin(),
                  (*best)->free.begin() + static_cast<std::ptrdiff_t>(taken));
    left.erase(best);
  }
  return chosen;
}

/// Up to `each` from every host, in turn, until there are enough; empty if there never are.
std::vector<NodeId> spread(const std::vector<Host>& hosts, std::size_t ranks, std::size_t each) {
  std::vector<NodeId> chosen;
  for (const Host& host : hosts) {
    const std::size_t wanted = std::min(each, ranks - chosen.size());
    if (host.free.size() < wanted || wanted == 0) continue;
    chosen.insert(chosen.end(), host.free.begin(),
                  host.free.begin() + static_cast<std::ptrdiff_t>(wanted));
  }
  return chosen.size() == ranks ? chosen : std::vector<NodeId>{};
}

}  // namespace

std::vector<Placement> placement_candidates(const PlacementRequest& request) {
  if (request.ranks < 2) throw Error(ErrorCode::usage, "a placement needs at least two ranks");
  if (request.free.size() < request.ranks) {
    throw Error(ErrorCode::usage, std::to_string(request.ranks) + " ranks need as many GPUs, and " +
                                      std::to_string(request.free.size()) + " are free");
  }
  const std::vector<Host> hosts = hosts_of(request);
  std::vector<Placement> result;
  const auto add = [&](const char* rule, std::vector<NodeId> ranks) {
    if (ranks.empty()) return;
    const bool known = std::any_of(result.begin(), result.end(),
                                   [&](const Placement& other) { return other.ranks == ranks; });
    if (!known) result.push_back({rule, std::move(ranks), {}, {}});
  };
  add("given",
      {request.free.begin(), request.free.begin() + static_cast<std::ptrdiff_t>(request.ranks)});
  add("packed", packed(hosts, request.ranks));
  for (std::size_t each = 1; each < request.ranks; each *= 2) {
    add("spread", spread(hosts, request.ranks, each));
  }
  // The orders of each set.
  const std::size_t sets = result.size();
  for (std::size_t s = 0; s < sets; ++s) {
    const auto key = [&](NodeId gpu, bool by_rail) {
      const Node& node = request.topology.node(gpu);
      std::size_t host = 0;
      while (host < hosts.size() && hosts[host].name != (node.host.empty() ? node.name : node.host))
        ++host;
      const auto rail = static_cast<std::size_t>(node.rail.value_or(0));
      return by_rail ? std::tuple(rail, host, gpu) : std::tuple(host, rail, gpu);
    };
    for (const bool by_rail : {false, true}) {
      std::vector<NodeId> ranks = result[s].ranks;
      std::sort(ranks.begin(), ranks.end(),
                [&](NodeId a, NodeId b) { return key(a, by_rail) < key(b, by_rail); });
      add(by_rail ? "by rail" : "by host", std::move(ranks));
    }
  }
  return result;
}

std::vector<Placement> place(const PlacementRequest& request, const StopCondition& stop,
                             Progress* progress, const Judge& judge) {
  std::vector<Placement> candidates = placement_candidates(request);
  std::size_t tried = 0;
  for (Placement& candidate : candidates) {
    if (tried > 0 && stop.should_stop()) break;
    ++tried;
    PortfolioRequest asked;
    asked.topology = request.topology;
    asked.relays = request.relays;
    asked.planner = request.planner;
    asked.options = request.options;
    Job job;
    job.name = to_string(request.collective);
    job.collective = request.collective;
    job.ranks = candidate.ranks;
    job.size = request.size;
    job.auto_chunks = true;
    asked.jobs = {job};
    try {
      const Plan plan =
          make_plan(std::move(asked), stop.within(request.seconds_each), progress, judge);
      candidate.planned = plan.result.transfer_time;
      if (plan.result.bound) candidate.bound = plan.result.bound->value;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsolved) throw;  // no way between these without others' GPUs
    }
  }
  candidates.resize(tried);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Placement& a, const Placement& b) {
                     return a.planned.value_or(Time::max()) < b.planned.value_or(Time::max());
                   });
  return candidates;
}

}  // namespace stellwerk
