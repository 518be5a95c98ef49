// The rules are independent of each other, and each is judged by a small file of its own:
//   flights.cpp     shape of sends, capabilities of switches, who may receive; where and when
//   changes.cpp     events: links that fail, GPUs that are lost, jobs that leave
//   holds.cpp       causality, sums: who holds what since when
//   limits.cpp      links, nodes, buffers, groups
//   certificate.cpp bounds
//   quotient.cpp    compressed plans: the group, and why representatives are enough
// Nothing here is shared with planners, re-timing, the simulator or the search for bounds, so that
// a mistake there cannot hide itself. The cost is a few passes over the sends and one sort a
// resource: O(k log k) for k uses of links. Decisions where the model could be read in two ways are
// in docs/model.md. Tests: verify_test.cpp (each rule and its boundaries),
// tests/property/mutation_test.cpp.
#include "stellwerk/check/verify.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/rng.hpp"
#include "stellwerk/check/certificate.hpp"
#include "stellwerk/check/changes.hpp"
#include "stellwerk/check/finding.hpp"
#include "stellwerk/check/flights.hpp"
#include "stellwerk/check/holds.hpp"
#include "stellwerk/check/limits.hpp"
#include "stellwerk/check/objective_bound.hpp"
#include "stellwerk/check/quotient.hpp"
#include "stellwerk/check/representatives.hpp"
#include "stellwerk/core/metrics.hpp"

namespace stellwerk {
namespace {

using check::Finding;
using check::found;
using check::Judgement;
using check::Names;

/// So that nothing below has to fear a chunk that names nodes or jobs which do not exist.
Judgement check_chunks_are_sane(const Problem& problem) {
  const std::size_t nodes = problem.topology.nodes().size();
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    const std::string place = "chunk " + std::to_string(id.value) + ": ";
    const auto exists = [&](NodeId node) { return node.valid() && node.index() < nodes; };
    if (!chunk.job.valid() || chunk.job.index() >= problem.jobs.size()) {
      return found(Violation::chunks_differ,
                   place + "there is no job " + std::to_string(chunk.job.value));
    }
    if (chunk.bytes.value <= 0) return found(Violation::chunks_differ, place + "it has no bytes");
    if (chunk.ready.ps < 0 || chunk.ready.ps > check::kHorizon) {
      return found(Violation::chunks_differ, place + "its ready time is out of range");
    }
    if (chunk.origins.empty() == chunk.contributors.empty()) {
      return found(Violation::chunks_differ,
                   place + "it has neither origins nor contributors, or both");
    }
    if (!exists(chunk.owner))
      return found(Violation::chunks_differ, place + "its owner does not exist");
    for (const auto* list : {&chunk.origins, &chunk.contributors, &chunk.destinations}) {
      for (const NodeId node : *list) {
        if (!exists(node) || problem.topology.node(node).kind != NodeKind::gpu) {
          return found(Violation::chunks_differ,
                       place + "node " + std::to_string(node.value) + " is no GPU");
        }
      }
    }
  }
  return {};
}

/// Who holds what since when: causality, sums, and when everything is finished.
Judgement judge_holds(const Problem& problem, const check::Flights& flights,
                      const check::ByChunk& by_chunk, Verdict& verdict, Judgement& unmet) {
  check::Holds holds(problem, flights);
  verdict.job_finish.assign(problem.jobs.size(), Time{});
  verdict.rank_finish.assign(problem.topology.nodes().size(), Time{});
  for (const ChunkId id : problem.chunk_ids()) {
    if (auto finding = holds.judge(id, by_chunk[id])) return finding;
    const Chunk& chunk = problem.chunks[id];
    const check::Changes& changes = flights.changes();
    const std::optional<std::int64_t> left = changes.leaves(chunk.job);
    for (const NodeId node : chunk.destinations) {
      if (changes.lost_at_end(node)) continue;  // wants nothing any more
      const auto since = holds.since(node);
      if (left && (!since || *since > *left)) continue;
      if (since) {
        Time& job = verdict.job_finish[chunk.job.index()];
        Time& rank = verdict.rank_finish[node.index()];
        job = std::max(job, Time{*since});
        rank = std::max(rank, Time{*since});
      } else if (!unmet) {
        const Names names(problem);
        unmet = found(Violation::demand_unmet, names.node(node) + " never holds " +
                                                   names.chunk(id) + ": " + holds.lacking(node));
      }
    }
  }
  for (const Time finish : verdict.job_finish) {
    verdict.transfer_time = std::max(verdict.transfer_time, finish);
  }
  return {};
}

/// The rules that concern one send or one chunk after the other, for the images under a random
/// element. That they hold follows from what has been checked; a mistake there shows here.
Judgement judge_sample(const Problem& problem, const Schedule& sends,
                       const check::Quotient& quotient, const Verdict& verdict, Rng& rng) {
  Permutation element;
  for (const NodeId id : problem.topology.node_ids()) element.push_back(id);
  constexpr int kSteps = 20;
  for (int i = 0; i < kSteps; ++i) {
    const auto& generators = problem.symmetry.generators;
    Permutation power = generators[rng.below(generators.size())];
    for (std::uint64_t e = rng.below(static_cast<std::uint64_t>(quotient.order())); e > 0; e /= 2) {
      if (e % 2 == 1) {
        for (NodeId& node : element) node = power[node.index()];
      }
      Permutation square(power.size());
      for (std::size_t v = 0; v < power.size(); ++v) square[v] = power[power[v].index()];
      power = std::move(square);
    }
  }
  const check::ImagePlan image = check::image_of(problem, sends, element, quotient.images());
  const std::vector<Event> no_events;
  const check::Changes changes(image.problem, no_events);
  check::Flights flights(image.problem, image.sends, changes);
  if (auto finding = flights.build()) return finding;
  const check::ByChunk by_chunk(image.problem, image.sends);
  Verdict of_image;
  Judgement unmet;
  if (auto finding = judge_holds(image.problem, flights, by_chunk, of_image, unmet)) return finding;
  if (unmet) return unmet;
  bool same = of_image.job_finish == verdict.job_finish;
  for (const NodeId id : problem.topology.node_ids()) {
    const std::size_t image_id = element[id.index()].index();
    same = same && of_image.rank_finish[image_id] == verdict.rank_finish[id.index()];
  }
  if (same) return {};
  return found(Violation::wrong_symmetry, "images of the sends arrive at other times than they do");
}

/// A rank waits for the images of what its images wait for.
void spread_finish(const check::Quotient& quotient, std::vector<Time>& rank_finish) {
  std::vector<Time> latest(quotient.nodes());
  for (std::size_t v = 0; v < rank_finish.size(); ++v) {
    Time& orbit = latest[quotient.node(NodeId(v))];
    orbit = std::max(orbit, rank_finish[v]);
  }
  for (std::size_t v = 0; v < rank_finish.size(); ++v) {
    rank_finish[v] = latest[quotient.node(NodeId(v))];
  }
}

/// Jobs that have left start nothing.
Judgement judge_departures(const Problem& problem, const Schedule& sends,
                           const check::Changes& changes) {
  if (changes.none()) return {};
  for (std::size_t i = 0; i < sends.size(); ++i) {
    const auto left = changes.leaves(problem.chunks[sends[i].chunk].job);
    if (!left || sends[i].start.ps < *left) continue;
    return found(Violation::wrong_event, "send " + std::to_string(i) + ", " +
                                             Names(problem).send(sends[i]) + ": its job left at " +
                                             to_exact_string(Time{*left}));
  }
  return {};
}

/// Precondition: `quotient` is built.
Judgement judge_sends(const Problem& problem, const Schedule& sends,
                      const std::vector<Event>& events, const check::Quotient& quotient,
                      Verdict& verdict) {
  if (auto finding = check_chunks_are_sane(problem)) return finding;
  check::Changes changes(problem, events);
  if (auto finding = changes.build()) return finding;
  check::Flights flights(problem, sends, changes);
  if (auto finding = flights.build()) return finding;
  if (auto finding = judge_departures(problem, sends, changes)) return finding;
  const check::ByChunk by_chunk(problem, sends);
  // Causality first: a send that is too early usually collides with another, too.
  Judgement unmet;  // the first destination that is left without; reported after all else
  if (auto finding = judge_holds(problem, flights, by_chunk, verdict, unmet)) return finding;
  if (auto finding = check::judge_links(problem, flights, quotient)) return finding;
  if (auto finding = check::judge_nodes(problem, flights, quotient)) return finding;
  if (auto finding = check::judge_buffers(problem, flights, by_chunk, quotient)) return finding;
  if (auto finding = check::judge_groups(problem, flights, quotient)) return finding;
  if (unmet || quotient.trivial()) return unmet;
  constexpr int kSamples = 2;
  Rng rng(1);
  for (int i = 0; i < kSamples; ++i) {
    if (auto finding = judge_sample(problem, sends, quotient, verdict, rng)) return finding;
  }
  spread_finish(quotient, verdict.rank_finish);
  return {};
}

/// What makes two chunks the same, whatever the order in which their nodes are listed.
Chunk normalised(Chunk chunk) {
  std::sort(chunk.origins.begin(), chunk.origins.end());
  std::sort(chunk.destinations.begin(), chunk.destinations.end());
  std::sort(chunk.contributors.begin(), chunk.contributors.end());
  return chunk;
}

auto key(const Chunk& chunk) {
  return std::tie(chunk.job, chunk.owner, chunk.slot, chunk.bytes, chunk.ready, chunk.origins,
                  chunk.destinations, chunk.contributors);
}

/// "4 MB in slot 3 of h0.gpu1": what a job asks for, for messages.
std::string describe(const Problem& problem, const Chunk& chunk) {
  return to_string(chunk.bytes) + " in slot " + std::to_string(chunk.slot) + " of " +
         problem.topology.node(chunk.owner).name + ", job '" +
         problem.jobs[chunk.job.index()].name + "'";
}

/// The usual case: all chunks in the order of make_problem. A rank's chunks at a time, since a
/// second list of all is large.
bool in_order_of_jobs(const Problem& problem) {
  std::size_t next = 0;
  const auto match = [&](const std::vector<Chunk>& expected) {
    if (expected.size() > problem.chunks.size() - next) return false;
    const bool same = std::equal(expected.begin(), expected.end(),
                                 problem.chunks.begin() + static_cast<std::ptrdiff_t>(next));
    next += expected.size();
    return same;
  };
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const Job& job = problem.jobs[j];
    if (job.collective == Collective::custom) {
      if (!match(make_chunks(job, JobId(j)))) return false;
      continue;
    }
    for (std::size_t i = 0; i < job.ranks.size(); ++i) {
      if (!match(make_chunks_of(job, JobId(j), i))) return false;
    }
  }
  return next == problem.chunks.size();
}

/// The chunks of the plan are those of its jobs, in any order.
Judgement judge_chunks(const Problem& problem, check::Quotient& quotient) {
  if (!quotient.trivial()) {
    if (auto finding = check_chunks_are_sane(problem)) return finding;
    return check::judge_representatives(problem, quotient);
  }
  try {
    check_jobs(problem.topology, problem.jobs);
  } catch (const Error& error) {
    return found(Violation::chunks_differ, std::string("the jobs are not valid: ") + error.what());
  }
  if (in_order_of_jobs(problem)) return {};
  const Problem expected = make_problem(problem.topology, problem.jobs, problem.relays);
  if (auto finding = check_chunks_are_sane(problem)) return finding;
  const auto sorted = [](const IdVector<ChunkId, Chunk>& chunks) {
    std::vector<Chunk> result;
    result.reserve(chunks.size());
    for (const Chunk& chunk : chunks) result.push_back(normalised(chunk));
    std::sort(result.begin(), result.end(),
              [](const Chunk& a, const Chunk& b) { return key(a) < key(b); });
    return result;
  };
  const std::vector<Chunk> wanted = sorted(expected.chunks);
  const std::vector<Chunk> got = sorted(problem.chunks);
  const std::size_t common = std::min(wanted.size(), got.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (wanted[i] == got[i]) continue;
    const bool missing = key(wanted[i]) < key(got[i]);
    return found(Violation::chunks_differ,
                 missing
                     ? "no chunk of the plan is " + describe(problem, wanted[i]) +
                           ", which the job asks for, with its origins and destinations"
                     : "the plan has a chunk that no job asks for: " + describe(problem, got[i]));
  }
  if (wanted.size() > common) {
    return found(Violation::chunks_differ, "the plan has " + std::to_string(got.size()) +
                                               " chunks of " + std::to_string(wanted.size()) +
                                               "; it lacks " + describe(problem, wanted[common]));
  }
  if (got.size() > common) {
    return found(Violation::chunks_differ,
                 "the plan has a chunk too many: " + describe(problem, got[common]));
  }
  return {};
}

Judgement judge_finish(const Plan& plan, const Verdict& verdict) {
  const Result& result = plan.result;
  if (result.transfer_time != verdict.transfer_time) {
    return found(Violation::wrong_finish,
                 "the recorded transfer time is " + to_exact_string(result.transfer_time) +
                     ", but the sends take " + to_exact_string(verdict.transfer_time));
  }
  if (result.job_finish.size() != plan.problem.jobs.size()) {
    return found(Violation::wrong_finish,
                 "finish times are recorded for " + std::to_string(result.job_finish.size()) +
                     " jobs, but there are " + std::to_string(plan.problem.jobs.size()));
  }
  for (std::size_t j = 0; j < result.job_finish.size(); ++j) {
    if (result.job_finish[j] == verdict.job_finish[j]) continue;
    return found(Violation::wrong_finish,
                 "job '" + plan.problem.jobs[j].name + "' is recorded to finish at " +
                     to_exact_string(result.job_finish[j]) + ", but its sends end at " +
                     to_exact_string(verdict.job_finish[j]));
  }
  return {};
}

/// A recorded bound is exactly what its certificate proves, and the plan does not beat it.
Judgement judge_bound(const Plan& plan, const Bound& bound, bool any_chunking) {
  const std::string what = any_chunking ? "the bound" : "the bound for these chunks";
  if (any_chunking && bound.certificate.kind == Certificate::Kind::chunk_cut) {
    return found(Violation::wrong_bound,
                 "a chunk_cut proves nothing about other ways to cut the blocks: it cannot "
                 "certify the bound for any chunking");
  }
  // That no plan takes less than no time needs no proof.
  if (bound.certificate.kind == Certificate::Kind::none && bound.value == Time{}) return {};
  Time proven;
  try {
    proven = proven_by(bound.certificate, plan.problem);
  } catch (const Error& error) {
    return found(Violation::wrong_bound, what + ": " + error.what());
  }
  if (proven != bound.value) {
    return found(Violation::wrong_bound, what + " is recorded as " + to_exact_string(bound.value) +
                                             ", but its certificate proves " +
                                             to_exact_string(proven));
  }
  if (bound.value > plan.result.transfer_time) {
    return found(Violation::wrong_bound, what + " of " + to_exact_string(bound.value) +
                                             " is above the transfer time of " +
                                             to_exact_string(plan.result.transfer_time));
  }
  return {};
}

Judgement judge_bounds(const Plan& plan, const std::vector<Event>& events) {
  const Result& result = plan.result;
  if (!events.empty() && (result.bound || result.bound_chunked)) {
    return found(Violation::wrong_bound,
                 "a plan with events carries no bound: certificates know nothing of events");
  }
  if (result.bound) {
    if (auto finding = judge_bound(plan, *result.bound, true)) return finding;
  }
  if (!result.bound_chunked) return {};
  if (auto finding = judge_bound(plan, *result.bound_chunked, false)) return finding;
  if (result.bound && result.bound_chunked->value < result.bound->value) {
    return found(Violation::wrong_bound,
                 "the bound for these chunks, " + to_exact_string(result.bound_chunked->value) +
                     ", is below the one for any chunks, " + to_exact_string(result.bound->value));
  }
  return {};
}

/// Times alone are what the planner says; the objective and its bound follow from the rest.
Judgement judge_objective(const Plan& plan) {
  const Result& result = plan.result;
  const std::size_t jobs = plan.problem.jobs.size();
  const auto positive = [](Time time) { return time.ps > 0; };
  if (!result.job_alone.empty() &&
      (result.job_alone.size() != jobs ||
       !std::all_of(result.job_alone.begin(), result.job_alone.end(), positive))) {
    return found(Violation::wrong_metric,
                 "the jobs' times alone are not one positive time for each of the " +
                     std::to_string(jobs) + " jobs");
  }
  if (!result.objective) return {};
  const ObjectiveRecord& record = *result.objective;
  const std::string name = to_string(record.objective);
  if (record.objective == Objective::slowdown && result.job_alone.empty()) {
    return found(Violation::wrong_metric, "slowdowns are recorded, but no times alone");
  }
  const std::int64_t value =
      objective_value(record.objective, plan.problem.jobs, result.job_finish, result.job_alone);
  if (value != record.value) {
    return found(Violation::wrong_metric, "the objective '" + name + "' is recorded as " +
                                              std::to_string(record.value) + ", but is " +
                                              std::to_string(value));
  }
  if (!record.bound) return {};
  std::int64_t proven = 0;
  try {
    proven =
        proven_objective(record.objective, record.bound->groups, plan.problem, result.job_alone);
  } catch (const Error& error) {
    return found(Violation::wrong_bound,
                 "the bound on the objective '" + name + "': " + error.what());
  }
  if (proven != record.bound->value) {
    return found(Violation::wrong_bound,
                 "the bound on the objective '" + name + "' is recorded as " +
                     std::to_string(record.bound->value) + ", but its certificates prove " +
                     std::to_string(proven));
  }
  if (proven > value) {
    return found(Violation::wrong_bound, "the bound on the objective '" + name + "', " +
                                             std::to_string(proven) + ", is above the plan's " +
                                             std::to_string(value));
  }
  return {};
}

/// Figures that a file states besides the recorded times.
Judgement judge_metrics(const Plan& plan) {
  if (!plan.result.recorded) return {};
  const std::string field = first_difference(*plan.result.recorded, derive_metrics(plan));
  if (field.empty()) return {};
  return found(Violation::wrong_metric,
               "the recorded " + field + " does not follow from the recorded times and the jobs");
}

void refuse(Verdict& verdict, Finding finding) {
  verdict = Verdict{};
  verdict.violation = finding.violation;
  verdict.message = std::move(finding.message);
}

Verdict judge_plan(const Plan& plan, const std::vector<Event>& events) {
  Verdict verdict;
  check::Quotient quotient(plan.problem);
  const auto judge = [&]() -> Judgement {
    if (auto finding = quotient.build()) return finding;
    if (auto finding = judge_chunks(plan.problem, quotient)) return finding;
    if (auto finding = judge_sends(plan.problem, plan.sends, events, quotient, verdict)) {
      return finding;
    }
    if (auto finding = judge_finish(plan, verdict)) return finding;
    if (auto finding = judge_bounds(plan, events)) return finding;
    if (auto finding = judge_objective(plan)) return finding;
    return judge_metrics(plan);
  };
  if (auto finding = judge()) refuse(verdict, std::move(*finding));
  return verdict;
}

}  // namespace

const char* to_string(Violation violation) {
  switch (violation) {
    case Violation::malformed_send:
      return "malformed send";
    case Violation::forbidden_node:
      return "forbidden node";
    case Violation::not_held:
      return "not held";
    case Violation::link_capacity:
      return "link capacity";
    case Violation::node_capacity:
      return "node capacity";
    case Violation::buffer:
      return "buffer";
    case Violation::groups:
      return "groups";
    case Violation::merged_twice:
      return "merged twice";
    case Violation::demand_unmet:
      return "demand unmet";
    case Violation::chunks_differ:
      return "chunks differ";
    case Violation::wrong_finish:
      return "wrong finish";
    case Violation::wrong_bound:
      return "wrong bound";
    case Violation::wrong_metric:
      return "wrong metric";
    case Violation::wrong_symmetry:
      return "wrong symmetry";
    case Violation::wrong_event:
      return "wrong event";
  }
  return "unknown";
}

Verdict verify_sends(const Problem& problem, const Schedule& sends,
                     const std::vector<Event>& events) {
  Verdict verdict;
  check::Quotient quotient(problem);
  auto finding = quotient.build();
  if (!finding) finding = judge_sends(problem, sends, events, quotient, verdict);
  if (finding) refuse(verdict, std::move(*finding));
  return verdict;
}

Verdict verify(const Plan& plan) { return judge_plan(plan, {}); }
Verdict verify(const EventfulPlan& plan) { return judge_plan(plan, plan.events); }

std::optional<std::string> judge(const Plan& plan) {
  const Verdict verdict = verify(plan);
  if (verdict.valid()) return std::nullopt;
  return std::string(to_string(*verdict.violation)) + ": " + verdict.message;
}

}  // namespace stellwerk
