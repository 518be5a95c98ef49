// One job at a time.
//
// Problem. A training run has hundreds of process groups that do the same on other GPUs. Planning
// each of them is a waste, and a planner that sees 1,024 GPUs to plan for 8 is slow.
//
// Idea. A job is planned on the part of the network that its data can use: its GPUs and the switches
// and relays between them (members), or everything (if all GPUs may relay). Nodes and links of that
// part are numbered from the job's point of view: ranks in their order, then the other nodes as they
// are met from rank 0 on. If two jobs' parts are then the same, number by number, they are the same
// problem, and the plan of one, read with the other's numbers, is a plan of the other. No search for
// isomorphisms: jobs that only another numbering would show to be alike are planned apart.
//
// Each is planned by all planners that are fast at this size; the shortest plan counts. Where a plan
// uses links at part of their rate, its length with whole links decides which plan goes into the
// graph of sends. Plans over the GPUs of others are made only while jobs times nodes are few: they
// hurt when all GPUs are busy (docs/planners.md).
//
// Cost: a few ms a class and planner. Test: alone_plans_test.cpp.
#include "stellwerk/plan/alone_plans.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/plan/finish_times.hpp"
#include "stellwerk/plan/keyed_schedule.hpp"
#include "stellwerk/plan/reachability.hpp"
#include "stellwerk/plan/reversal.hpp"
#include "stellwerk/plan/send_graph.hpp"

namespace stellwerk {
namespace {

/// Jobs times nodes up to which plans over the GPUs of others are tried.
constexpr std::size_t kMostForRelays = 20'000;
/// Chunks times links up to which a search is worth its time (about 0.1 s).
constexpr std::size_t kMostForSearch = 12'000;
/// Deliveries above which only the quickest planners are asked.
constexpr std::size_t kMostDeliveries = 50'000;

/// A job on its part of the network.
struct Part {
  Problem problem;
  std::vector<NodeId> nodes;  // of the whole, by number in the part
  std::vector<LinkId> links;  // likewise
  std::vector<std::int64_t> class_key;
};

/// GPUs that may hold the job's data, and everything between them.
std::vector<char> usable_nodes(const Topology& topology, const Job& job, bool members) {
  std::vector<char> usable(topology.nodes().size(), 1);
  if (!members) return usable;
  for (const NodeId id : topology.gpus()) usable[id.index()] = 0;
  for (const NodeId id : job.ranks) usable[id.index()] = 1;
  // What leads to one node only leads nowhere.
  for (bool changed = true; changed;) {
    changed = false;
    for (const NodeId id : topology.node_ids()) {
      if (usable[id.index()] == 0 || topology.node(id).kind == NodeKind::gpu) continue;
      NodeId first;
      bool several = false;
      for (const LinkId link : topology.out(id)) {
        const NodeId to = topology.link(link).to;
        if (usable[to.index()] == 0) continue;
        if (first.valid() && first != to) several = true;
        first = to;
      }
      if (several) continue;
      usable[id.index()] = 0;
      changed = true;
    }
  }
  return usable;
}

/// Ranks first, then in the order in which they are met.
std::vector<NodeId> numbered_nodes(const Topology& topology, const Job& job,
                                   const std::vector<char>& usable) {
  std::vector<NodeId> nodes = job.ranks;
  std::vector<char> met(topology.nodes().size(), 0);
  for (const NodeId id : nodes) met[id.index()] = 1;
  std::vector<LinkId> out;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto links = topology.out(nodes[i]);
    out.assign(links.begin(), links.end());
    std::sort(out.begin(), out.end(), [&](LinkId a, LinkId b) {
      const Link& x = topology.link(a);
      const Link& y = topology.link(b);
      return std::tie(x.latency, x.bandwidth, a) < std::tie(y.latency, y.bandwidth, b);
    });
    for (const LinkId id : out) {
      const NodeId to = topology.link(id).to;
      if (usable[to.index()] == 0 || met[to.index()] != 0) continue;
      met[to.index()] = 1;
      nodes.push_back(to);
    }
  }
  return nodes;
}

Part part_of(const Problem& problem, JobId id, bool members) {
  const Topology& topology = problem.topology;
  const Job& job = problem.jobs[id.index()];
  Part part;
  part.nodes = numbered_nodes(topology, job, usable_nodes(topology, job, members));
  std::vector<std::int32_t> number(topology.nodes().size(), -1);
  for (std::size_t i = 0; i < part.nodes.size(); ++i) {
    number[part.nodes[i].index()] = static_cast<std::int32_t>(i);
  }
  const auto mapped = [&](NodeId node) { return NodeId(number[node.index()]); };
  IdVector<NodeId, Node> nodes;
  std::vector<std::int64_t>& key = part.class_key;
  for (const NodeId node : part.nodes) {
    nodes.push_back(topology.node(node));
    nodes.back().name = "n" + std::to_string(nodes.size() - 1);
    const Node& what = nodes.back();
    key.push_back(static_cast<std::int64_t>(what.kind) * 4 + (what.multicast ? 2 : 0) +
                  (what.reduce ? 1 : 0));
    for (const LinkId link : topology.out(node)) {
      if (number[topology.link(link).to.index()] >= 0) part.links.push_back(link);
    }
  }
  std::sort(part.links.begin(), part.links.end(), [&](LinkId a, LinkId b) {
    const Link& x = topology.link(a);
    const Link& y = topology.link(b);
    return std::tuple(mapped(x.from), mapped(x.to), x.latency, x.bandwidth, a) <
           std::tuple(mapped(y.from), mapped(y.to), y.latency, y.bandwidth, b);
  });
  IdVector<LinkId, Link> links;
  for (const LinkId link : part.links) {
    Link copy = topology.link(link);
    copy.from = mapped(copy.from);
    copy.to = mapped(copy.to);
    copy.source.clear();
    key.insert(key.end(),
               {copy.from.value, copy.to.value, copy.latency.ps, copy.bandwidth.bytes_per_second});
    links.push_back(std::move(copy));
  }
  Job own = job;
  own.name = "job";
  own.start = Time{};
  own.weight = 1;
  for (NodeId& node : own.ranks) node = mapped(node);
  key.insert(key.end(), {static_cast<std::int64_t>(job.collective), job.size.value, job.chunks,
                         job.root, static_cast<std::int64_t>(job.ranks.size())});
  for (const std::vector<Bytes>& row : own.matrix) {
    for (const Bytes bytes : row) key.push_back(bytes.value);
  }
  for (CustomChunk& chunk : own.custom) {
    chunk.ready = std::max(Time{}, chunk.ready - job.start);
    key.insert(key.end(), {chunk.bytes.value, chunk.ready.ps});
    for (auto* list : {&chunk.origins, &chunk.destinations, &chunk.contributors}) {
      key.push_back(static_cast<std::int64_t>(list->size()));
      for (NodeId& node : *list) {
        node = mapped(node);
        key.push_back(node.value);
      }
    }
  }
  part.problem = make_problem(Topology("part", "", std::move(nodes), std::move(links)), {own},
                              members ? Relays::members : Relays::all);
  return part;
}

bool whole_chunks(const Problem& problem, const Schedule& sends) {
  return std::all_of(sends.begin(), sends.end(), [&](const Send& send) {
    return send.bytes == problem.chunks[send.chunk].bytes;
  });
}

std::size_t deliveries(const Problem& problem) {
  std::size_t count = 0;
  for (const Chunk& chunk : problem.chunks) {
    count += chunk.destinations.size() + chunk.contributors.size();
  }
  return count;
}

/// How long the sends take if each has its links for itself, in the order of their starts.
std::optional<Time> exclusive_length(const Problem& problem, const Schedule& sends) {
  try {
    const SendGraph graph(problem, {sends});
    std::vector<std::int64_t> keys;
    for (std::size_t i = 0; i < graph.size(); ++i) {
      keys.push_back(graph.task(static_cast<SendGraph::TaskId>(i)).alone_start.ps);
    }
    const GraphSchedule schedule = keyed_schedule(graph, {ranks_of(keys), false, false});
    if (!schedule.complete) return std::nullopt;
    return schedule.job_finish.front();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsolved && error.code() != ErrorCode::verification_failed) {
      throw;
    }
    return std::nullopt;
  }
}

AloneClass plan_class(const Problem& problem, const PlanOptions& options,
                      const PlannerContext& context, AloneEffort effort) {
  AloneClass result;
  try {
    require_reachable(problem);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsolved) throw;
    result.objection = error.what();
    return result;
  }
  const bool sums = has_reductions(problem);
  const bool single =
      std::all_of(problem.chunks.begin(), problem.chunks.end(),
                  [](const Chunk& chunk) { return chunk.destinations.size() == 1; });
  const std::size_t count = deliveries(problem);
  const bool hasty = effort == AloneEffort::hasty;
  const bool searchable =
      !hasty && problem.chunks.size() * problem.topology.links().size() <= kMostForSearch;
  Time shortest = Time::max(), exclusive = Time::max();
  for (const PlannerRow& row : planners()) {
    const bool wanted = row.name == "search" ? searchable
                        : row.name == "flow"
                            ? single && !hasty
                            : row.kind == PlannerKind::baseline || row.name == "greedy";
    if (!wanted || (sums && !row.reductions)) continue;
    if (count > kMostDeliveries && row.name != "greedy" && row.name != "ring") continue;
    if (result.possible && context.stop.should_stop()) break;
    PlanOptions quick = options;
    quick.quick = true;
    quick.threads = 1;
    PlannerContext own;
    own.stop = context.stop;
    own.rng = Rng(options.seed);
    const PlannerOutcome outcome = row.plan(problem, quick, own);
    if (!outcome.has_plan() || !whole_chunks(problem, outcome.sends)) {
      if (result.objection.empty()) result.objection = outcome.message;
      continue;
    }
    const Time length = finish_times(problem, outcome.sends).front();
    // One that is far behind has no chance with whole links either.
    if (exclusive != Time::max() && length >= exclusive) continue;
    const std::optional<Time> whole = exclusive_length(problem, outcome.sends);
    if (!whole) continue;
    shortest = std::min({shortest, length, *whole});
    if (*whole >= exclusive) continue;
    exclusive = *whole;
    result.plan.sends = outcome.sends;
    result.possible = true;
  }
  result.plan.length = shortest;
  return result;
}

/// The plan of a part in the numbers of the whole.
AlonePlan translated(const AloneClass& plan, const Part& part, ChunkId first_chunk) {
  AlonePlan result = plan.plan;
  for (Send& send : result.sends) {
    send.chunk = ChunkId(first_chunk.index() + send.chunk.index());
    for (LinkId& link : send.links) link = part.links[link.index()];
  }
  return result;
}

class Classes {
 public:
  Classes(const Problem& problem, const PlanOptions& options, const PlannerContext& context,
          AloneCache& plans, AloneEffort effort)
      : problem_(problem), options_(options), context_(context), plans_(plans), effort_(effort) {}

  /// The plan of a job; nothing, and why, if there is none.
  std::optional<AlonePlan> plan(JobId job, ChunkId first_chunk, bool members,
                                std::string& objection) {
    const Part part = part_of(problem_, job, members);
    const auto [known, fresh] = plans_.try_emplace({members, part.class_key});
    used_.insert(&known->first);
    if (fresh) known->second = plan_class(part.problem, options_, context_, effort_);
    if (known->second.possible) return translated(known->second, part, first_chunk);
    objection = known->second.objection;
    return std::nullopt;
  }
  std::size_t size() const { return used_.size(); }

 private:
  const Problem& problem_;
  const PlanOptions& options_;
  const PlannerContext& context_;
  AloneCache& plans_;
  const AloneEffort effort_;
  std::set<const AloneCache::key_type*> used_;
};

}  // namespace

AlonePlans plan_alone(const Problem& problem, const PlanOptions& options, PlannerContext& context,
                      AloneCache* cache, AloneEffort effort) {
  const std::size_t jobs = problem.jobs.size();
  std::vector<ChunkId> first_chunk(jobs, ChunkId(problem.chunks.size()));
  for (std::size_t c = problem.chunks.size(); c-- > 0;) {
    first_chunk[problem.chunks[ChunkId(c)].job.index()] = ChunkId(c);
  }
  const bool relays =
      problem.relays == Relays::all && jobs * problem.topology.nodes().size() <= kMostForRelays;
  AloneCache own;
  Classes classes(problem, options, context, cache != nullptr ? *cache : own, effort);
  AlonePlans result;
  for (std::size_t j = 0; j < jobs; ++j) {
    const Job& job = problem.jobs[j];
    context.report("job " + std::to_string(j + 1) + " of " + std::to_string(jobs) + " alone");
    std::string objection;
    std::optional<AlonePlan> members = classes.plan(JobId(j), first_chunk[j], true, objection);
    std::optional<AlonePlan> all;
    // With everybody in the job, nobody is left to relay.
    const bool others = job.ranks.size() < problem.topology.gpus().size();
    if (problem.relays == Relays::all && ((relays && others) || !members)) {
      all = classes.plan(JobId(j), first_chunk[j], false, objection);
    }
    if (!members && !all) {
      throw Error(ErrorCode::unsolved, "job '" + job.name + "' cannot be planned alone: " +
                                           (objection.empty() ? "no planner can" : objection));
    }
    const bool better = all && (!members || all->length < members->length);
    result.relays_help = result.relays_help || better;
    result.members.push_back(members.value_or(AlonePlan{}));
    result.best.push_back(better ? std::move(*all) : std::move(*members));
  }
  result.classes = classes.size();
  return result;
}

}  // namespace stellwerk
