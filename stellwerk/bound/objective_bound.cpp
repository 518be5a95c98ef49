// Problem. Jobs j with releases r_j and weights w_j compete; bound the makespan, the weighted sum of
// completions and the largest slowdown from below, for any plan.
//
// Idea. The links into a set of nodes are one machine, on which job j has p_j = (its bytes that must
// enter) / bandwidth to do.
//  - Makespan: the jobs released at r or later are not done before r plus all their work.
//  - Weighted: on one machine the mean busy times M_j with the least sum of w_j M_j come from
//    preemptive WSPT, and a job that ends at C_j has C_j >= M_j + p_j / 2 (Goemans 1997). Jobs are
//    divided into groups with a cut each, and those that a cut says little about into groups of one.
//  - Slowdown: of jobs that together cannot end before F, one ends at F or later, so the largest
//    slowdown is at least the least of (F - r_j) / T_j. With F from all jobs that are released in an
//    interval and due in it this is the demand test of EDF, read as a bound. The jobs to count are
//    found by leaving out, again and again, the job that the bound is least about.
// Sets: hosts, racks, single GPUs, their complements, on small networks all candidate sets; single
// jobs also by everything that lower_bound knows.
//
// Guarantee. Every value is evaluated by the definitions of the page; what is searched decides only
// how strong it is. Cost: sets * (blocks that enter + jobs^2). Tests: objective_bound_test.cpp.
#include "stellwerk/bound/objective_bound.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/bound/bound.hpp"
#include "stellwerk/bound/candidate_sets.hpp"
#include "stellwerk/bound/demand.hpp"
#include "stellwerk/bound/entries.hpp"
#include "stellwerk/bound/least.hpp"
#include "stellwerk/bound/network.hpp"

namespace stellwerk {
namespace {

using bound::BlockList;
using bound::Demand;
using bound::Network;
using bound::NodeSet;

constexpr std::size_t kSmallNetwork = 96;
constexpr std::size_t kMostCandidates = 400;
/// Jobs up to which each gets a bound by all means.
constexpr std::size_t kFewJobs = 24;

/// What one job asks of a set.
struct Load {
  JobId job;
  std::int64_t bytes = 0;
  Time ready = Time::max();
  std::vector<NodeId> wanting;
};

/// A set of nodes as a machine.
struct Machine {
  std::vector<NodeId> set;
  std::vector<LinkId> entries;
  Int128 bandwidth = 0;
  std::vector<Load> loads;  // of jobs with work, by job
};

class ObjectiveSearch {
 public:
  ObjectiveSearch(const Problem& problem, const StopCondition& stop)
      : problem_(problem), stop_(stop), network_(problem.topology), demand_(problem) {
    std::set<std::vector<bool>> known;
    const auto add = [&](const NodeSet& set) {
      if (!stop_.should_stop() && known.insert(set).second) add_machine(set);
    };
    const std::size_t nodes = problem.topology.nodes().size();
    const auto add_both = [&](NodeSet set) {
      add(set);
      set.flip();
      add(set);
    };
    std::map<std::pair<int, std::string>, NodeSet> named;
    for (const NodeId id : problem.topology.node_ids()) {
      const Node& node = problem.topology.node(id);
      for (const auto& [kind, name] : {std::pair{0, node.host}, std::pair{1, node.rack}}) {
        if (name.empty()) continue;
        NodeSet& set = named[{kind, name}];
        set.resize(nodes);
        set[id.index()] = true;
      }
    }
    for (const auto& [name, set] : named) add_both(set);
    for (const NodeId id : demand_.wanting()) {
      NodeSet set(nodes);
      set[id.index()] = true;
      add_both(std::move(set));
    }
    if (nodes <= kSmallNetwork) {
      const auto candidates =
          bound::candidate_sets(network_, demand_, stop.within(stop.seconds_left() / 4));
      for (std::size_t k = 0; k < std::min(candidates.size(), kMostCandidates); ++k) {
        add(candidates[k].set);
      }
    }
  }

  const std::vector<Machine>& machines() const { return machines_; }

  /// When the jobs of these loads can be done at the earliest; the formula of kind `cut`.
  std::optional<Time> end_of(const Machine& machine, const std::vector<const Load*>& loads) const {
    Int128 bytes = 0;
    Time ready = Time::max();
    std::set<NodeId> wanting;
    for (const Load* load : loads) {
      bytes += load->bytes;
      ready = std::min(ready, load->ready);
      wanting.insert(load->wanting.begin(), load->wanting.end());
    }
    std::vector<bound::Gate> gates;
    for (const bound::Entry& entry : entries_to(machine, {wanting.begin(), wanting.end()})) {
      gates.push_back({entry.bandwidth, entry.after});
    }
    const std::optional<Time> time = bound::least(std::move(gates), bytes);
    if (!time) return std::nullopt;
    return *time + ready;
  }

  /// From the entry of a job's last byte on, at least.
  std::optional<std::int64_t> after(const Machine& machine, const Load& load) const {
    std::optional<std::int64_t> least;
    for (const bound::Entry& entry : entries_to(machine, load.wanting)) {
      least = least ? std::min(*least, entry.after) : entry.after;
    }
    return least;
  }

  static Certificate certificate(const Machine& machine, const std::vector<JobId>& jobs) {
    Certificate result;
    result.kind = Certificate::Kind::cut;
    result.set = machine.set;
    result.jobs = jobs;
    return result;
  }

 private:
  std::vector<bound::Entry> entries_to(const Machine& machine,
                                       const std::vector<NodeId>& wanting) const {
    // Few ways in, few that want: ways to each are known from other sets.
    if (machine.entries.size() * wanting.size() <= 4 * network_.nodes()) {
      std::vector<bound::Entry> result;
      for (const LinkId id : machine.entries) {
        const Link& link = problem_.topology.link(id);
        std::int64_t rest = graph::kUnreachable;
        for (const NodeId node : wanting) {
          rest = std::min(rest, network_.to(node)[link.to.index()]);
        }
        if (rest >= graph::kUnreachable) continue;
        result.push_back({link.from, link.bandwidth.bytes_per_second, link.latency.ps + rest});
      }
      return result;
    }
    std::vector<graph::Start> starts;
    for (const NodeId node : wanting) starts.push_back({node.value});
    return bound::entries_towards(
        machine.entries, graph::distances(network_.digraph(), network_.latencies(), starts, true),
        network_);
  }

  void add_machine(const NodeSet& set) {
    Machine machine;
    machine.set = bound::members(set);
    if (machine.set.empty() || machine.set.size() == set.size()) return;
    machine.entries = network_.entries(set);
    for (const LinkId id : machine.entries) {
      machine.bandwidth += problem_.topology.link(id).bandwidth.bytes_per_second;
    }
    if (machine.bandwidth == 0) return;
    for (const std::uint32_t position : demand_.entering(set)) {
      const bound::Block& block = demand_.block(position);
      const JobId job = block.chunk->job;
      if (machine.loads.empty() || machine.loads.back().job != job)
        machine.loads.push_back({job, 0, Time::max(), {}});
      Load& load = machine.loads.back();
      load.bytes += block.bytes;
      load.ready = std::min(load.ready, block.chunk->ready);
      for (const NodeId node : block.chunk->destinations) {
        if (set[node.index()]) load.wanting.push_back(node);
      }
    }
    for (Load& load : machine.loads) {
      std::sort(load.wanting.begin(), load.wanting.end());
      load.wanting.erase(std::unique(load.wanting.begin(), load.wanting.end()), load.wanting.end());
    }
    if (!machine.loads.empty()) machines_.push_back(std::move(machine));
  }

  const Problem& problem_;
  const StopCondition& stop_;
  Network network_;
  Demand demand_;
  std::vector<Machine> machines_;
};

/// The problem of one job, which keeps its number.
Problem of_job(const Problem& problem, JobId job) {
  Problem result;
  result.topology = problem.topology;
  result.jobs = problem.jobs;
  result.relays = problem.relays;
  for (const Chunk& chunk : problem.chunks) {
    if (chunk.job == job) result.chunks.push_back(chunk);
  }
  return result;
}

/// When a job can be done if it is alone, released when it is.
struct SingleBound {
  Time end;
  Certificate certificate;  ///< kind none: nothing but the release
};

std::vector<SingleBound> single_bounds(const Problem& problem, const ObjectiveSearch& search,
                                       const StopCondition& stop) {
  std::vector<SingleBound> result;
  for (const Job& job : problem.jobs) result.push_back({job.start, {}});
  for (const Machine& machine : search.machines()) {
    for (const Load& load : machine.loads) {
      SingleBound& known = result[load.job.index()];
      // Without latencies first: most sets are not the worst of a job.
      const Int128 least =
          Int128{load.bytes} * 1'000'000'000'000 / machine.bandwidth + load.ready.ps;
      constexpr Int128 kLatencies = 20'000'000;
      if (least + kLatencies < known.end.ps) continue;
      const std::optional<Time> end = search.end_of(machine, {&load});
      if (end && *end > known.end) {
        known = {*end, ObjectiveSearch::certificate(machine, {load.job})};
      }
    }
  }
  if (problem.jobs.size() > kFewJobs) return result;
  for (std::size_t j = 0; j < result.size() && !stop.should_stop(); ++j) {
    const JobId job(j);
    const Problem own = of_job(problem, job);
    if (own.chunks.empty()) continue;
    const double share = 1.0 / static_cast<double>(result.size() - j + 1);
    Bound bound = lower_bound(own, stop.within(stop.seconds_left() * share));
    if (bound.value <= result[j].end || bound.certificate.kind == Certificate::Kind::none) continue;
    if (bound.certificate.chunk) {
      std::size_t first = 0;
      while (problem.chunks[ChunkId(first)].job != job) ++first;
      bound.certificate.chunk = ChunkId(first + bound.certificate.chunk->index());
    }
    bound.certificate.jobs = {job};
    result[j] = {bound.value, std::move(bound.certificate)};
  }
  return result;
}

// --- Weighted ---

/// A job on a machine, as the page's WSPT sees it.
struct Work {
  const Load* load;
  std::int64_t weight, release, time, after, rest;
  Int128 moment;
};

/// What the jobs' group contributes to the weighted sum, job by job in the order of `loads`; nothing
/// if a job takes no time.
std::optional<std::vector<Int128>> wspt(const Problem& problem, const ObjectiveSearch& search,
                                        const Machine& machine,
                                        const std::vector<const Load*>& loads) {
  std::vector<Work> works;
  for (const Load* load : loads) {
    const Job& job = problem.jobs[load->job.index()];
    const Int128 time = Int128{load->bytes} * 1'000'000'000'000 / machine.bandwidth;
    const std::optional<std::int64_t> after = search.after(machine, *load);
    constexpr std::int64_t kMost = std::int64_t{1} << 61;
    if (time == 0 || time > kMost || !after) return std::nullopt;
    const auto length = static_cast<std::int64_t>(time);
    works.push_back({load, job.weight, job.start.ps, length, *after, length, 0});
  }
  std::int64_t now = 0;
  while (true) {
    std::optional<std::size_t> chosen;
    std::int64_t next = std::numeric_limits<std::int64_t>::max();
    for (std::size_t k = 0; k < works.size(); ++k) {
      const Work& work = works[k];
      if (work.rest == 0) continue;
      if (work.release > now) {
        next = std::min(next, work.release);
      } else if (!chosen || Int128{work.weight} * works[*chosen].time >
                                Int128{works[*chosen].weight} * work.time) {
        chosen = k;
      }
    }
    if (!chosen) {
      if (next == std::numeric_limits<std::int64_t>::max()) break;
      now = next;
      continue;
    }
    Work& work = works[*chosen];
    const std::int64_t length = std::min(work.rest, next - now);
    work.moment += Int128{length} * (Int128{2} * now + length);
    work.rest -= length;
    now += length;
  }
  std::vector<Int128> result;
  for (const Work& work : works) {
    const Int128 twice = work.moment + Int128{work.time} * work.time;
    result.push_back(Int128{work.weight} * twice / (2 * Int128{work.time}) +
                     Int128{work.weight} * work.after);
  }
  return result;
}

/// A group of jobs on a machine and by how much it is better than each job for itself.
struct Group {
  const Machine* machine = nullptr;
  std::vector<JobId> jobs;
  Int128 gain = 0;
};

/// The jobs on the machine that are worth counting together.
Group best_group(const Problem& problem, const ObjectiveSearch& search, const Machine& machine,
                 const std::vector<SingleBound>& single, const std::vector<bool>& taken) {
  std::vector<const Load*> loads;
  for (const Load& load : machine.loads) {
    if (!taken[load.job.index()]) loads.push_back(&load);
  }
  Group best;
  while (loads.size() > 1) {
    const auto parts = wspt(problem, search, machine, loads);
    if (!parts) break;
    Int128 gain = 0;
    std::size_t worst = 0;
    Int128 least = std::numeric_limits<std::int64_t>::max();
    for (std::size_t k = 0; k < loads.size(); ++k) {
      const std::size_t j = loads[k]->job.index();
      const Int128 own = (*parts)[k] - Int128{problem.jobs[j].weight} * single[j].end.ps;
      gain += own;
      if (own >= least) continue;
      least = own;
      worst = k;
    }
    if (gain > best.gain) {
      best = {&machine, {}, gain};
      for (const Load* load : loads) best.jobs.push_back(load->job);
    }
    if (least >= 0) break;
    loads.erase(loads.begin() + static_cast<std::ptrdiff_t>(worst));
  }
  return best;
}

ObjectiveBound weighted_bound(const Problem& problem, const ObjectiveSearch& search,
                              const std::vector<SingleBound>& single, const StopCondition& stop) {
  std::vector<bool> taken(problem.jobs.size());
  Int128 total = 0;
  for (std::size_t j = 0; j < single.size(); ++j) {
    total += Int128{problem.jobs[j].weight} * single[j].end.ps;
  }
  std::vector<Group> groups;
  for (const Machine& machine : search.machines()) {
    if (stop.should_stop()) break;
    Group group = best_group(problem, search, machine, single, taken);
    if (group.gain > 0) groups.push_back(std::move(group));
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.gain > b.gain; });
  ObjectiveBound result;
  for (const Group& old : groups) {
    if (stop.should_stop()) break;
    const Group group = best_group(problem, search, *old.machine, single, taken);
    if (group.gain <= 0) continue;
    for (const JobId job : group.jobs) taken[job.index()] = true;
    total += group.gain;
    result.groups.push_back(ObjectiveSearch::certificate(*group.machine, group.jobs));
  }
  for (std::size_t j = 0; j < single.size(); ++j) {
    if (taken[j] || single[j].certificate.kind == Certificate::Kind::none) continue;
    result.groups.push_back(single[j].certificate);
  }
  result.value =
      static_cast<std::int64_t>(std::min(total, Int128{std::numeric_limits<std::int64_t>::max()}));
  return result;
}

// --- Makespan and slowdown ---

/// The distinct releases of the loads' jobs.
std::set<Time> releases(const Problem& problem, const std::vector<Load>& loads) {
  std::set<Time> result;
  for (const Load& load : loads) result.insert(problem.jobs[load.job.index()].start);
  return result;
}

std::vector<const Load*> released_from(const Problem& problem, const std::vector<Load>& loads,
                                       Time release) {
  std::vector<const Load*> result;
  for (const Load& load : loads) {
    if (problem.jobs[load.job.index()].start >= release) result.push_back(&load);
  }
  return result;
}

std::vector<JobId> jobs_of(const std::vector<const Load*>& loads) {
  std::vector<JobId> result;
  for (const Load* load : loads) result.push_back(load->job);
  return result;
}

ObjectiveBound slowdown_bound(const Problem& problem, const std::vector<Time>& alone,
                              const ObjectiveSearch& search, const std::vector<SingleBound>& single,
                              const StopCondition& stop) {
  ObjectiveBound best;
  const auto slowdown = [&](JobId job, Time end) {
    return slowdown_of(problem.jobs[job.index()], end, alone[job.index()], false);
  };
  for (std::size_t j = 0; j < single.size(); ++j) {
    const std::int64_t value = slowdown(JobId(j), single[j].end);
    if (single[j].certificate.kind == Certificate::Kind::none || value <= best.value) continue;
    best = {value, {single[j].certificate}};
  }
  for (const Machine& machine : search.machines()) {
    for (const Time release : releases(problem, machine.loads)) {
      std::vector<const Load*> loads = released_from(problem, machine.loads, release);
      while (loads.size() > 1) {
        if (stop.should_stop()) return best;
        const std::optional<Time> end = search.end_of(machine, loads);
        if (!end) break;
        const auto least =
            std::min_element(loads.begin(), loads.end(), [&](const Load* a, const Load* b) {
              return slowdown(a->job, *end) < slowdown(b->job, *end);
            });
        const std::int64_t value = slowdown((*least)->job, *end);
        if (value > best.value) {
          best = {value, {ObjectiveSearch::certificate(machine, jobs_of(loads))}};
        }
        loads.erase(least);
      }
    }
  }
  return best;
}

ObjectiveBound makespan_bound(const Problem& problem, const ObjectiveSearch& search,
                              const StopCondition& stop) {
  ObjectiveBound best;
  for (const Machine& machine : search.machines()) {
    for (const Time release : releases(problem, machine.loads)) {
      if (stop.should_stop()) return best;
      const std::vector<const Load*> loads = released_from(problem, machine.loads, release);
      const std::optional<Time> end = search.end_of(machine, loads);
      if (!end || end->ps <= best.value) continue;
      best = {end->ps, {ObjectiveSearch::certificate(machine, jobs_of(loads))}};
    }
  }
  return best;
}

}  // namespace

ObjectiveBound objective_bound(Objective objective, const Problem& problem,
                               const std::vector<Time>& alone, const StopCondition& stop) {
  const ObjectiveSearch search(problem, stop);
  if (objective == Objective::makespan) return makespan_bound(problem, search, stop);
  const std::vector<SingleBound> single = single_bounds(problem, search, stop);
  return objective == Objective::weighted ? weighted_bound(problem, search, single, stop)
                                          : slowdown_bound(problem, alone, search, single, stop);
}

Bound with_late_jobs(const Bound& known, const Problem& problem, const StopCondition& stop) {
  const auto& jobs = problem.jobs;
  const bool spread = std::any_of(jobs.begin(), jobs.end(),
                                  [&](const Job& job) { return job.start != jobs.front().start; });
  if (!spread || !problem.symmetry.trivial()) return known;
  ObjectiveBound late = objective_bound(Objective::makespan, problem, {}, stop);
  if (late.value <= known.value.ps) return known;
  return {Time{late.value}, std::move(late.groups.front())};
}

}  // namespace stellwerk
