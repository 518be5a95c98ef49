// Bounds on objectives, as docs/certificates.md ("Objectives") defines and proves them: every group
// of jobs has a certificate that counts their chunks only. Held to its word by
// objective_bound_test.cpp (values worked out by hand, an exhaustive search over small schedules).
#include "stellwerk/check/objective_bound.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/wide.hpp"
#include "stellwerk/check/certificate.hpp"

namespace stellwerk {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::verification_failed, message);
}

Int128 product(Int128 a, Int128 b) {
  Int128 result;
  if (__builtin_mul_overflow(a, b, &result)) refuse("the certificate's numbers are too large");
  return result;
}

/// A job on the machine that a cut is.
struct Work {
  std::int64_t weight = 0;
  std::int64_t release = 0;
  std::int64_t time = 0;   ///< p: of all bytes at the cut's bandwidth, rounded down
  std::int64_t after = 0;  ///< from the end of its work to the end of the job, at least
  std::int64_t rest = 0;
  Int128 moment = 0;  ///< twice the sum over its pieces of length * middle
};

/// Runs the machine: always the released job with the largest weight / p (ties: listed first).
void run_machine(std::vector<Work>& works) {
  std::int64_t now = 0;
  while (true) {
    Work* chosen = nullptr;
    std::optional<std::int64_t> next;
    for (Work& work : works) {
      if (work.rest == 0) continue;
      if (work.release > now) {
        next = next ? std::min(*next, work.release) : work.release;
      } else if (chosen == nullptr ||
                 product(work.weight, chosen->time) > product(chosen->weight, work.time)) {
        chosen = &work;
      }
    }
    if (chosen == nullptr) {
      if (!next) return;
      now = *next;
      continue;
    }
    const std::int64_t length = next ? std::min(chosen->rest, *next - now) : chosen->rest;
    chosen->moment += product(length, Int128{2} * now + length);
    chosen->rest -= length;
    now += length;
  }
}

Int128 weighted_cut(const Certificate& group, const Problem& problem) {
  std::vector<Work> works;
  for (const JobId id : group.jobs) {
    const CutLoad load = cut_load(group, id, problem);
    const Job& job = problem.jobs[id.index()];
    constexpr Int128 kPicoseconds = 1'000'000'000'000;
    const Int128 time = product(load.bytes, kPicoseconds) / load.bandwidth;
    constexpr std::int64_t kMost = std::int64_t{1} << 61;
    if (time > kMost) refuse("the certificate's times are too large (more than 26 days)");
    if (time == 0) refuse("the certificate proves nothing: a job of it takes no time");
    Work work;
    work.weight = job.weight;
    work.release = job.start.ps;
    work.time = work.rest = static_cast<std::int64_t>(time);
    work.after = load.after.ps;
    works.push_back(work);
  }
  run_machine(works);
  Int128 total = 0;
  for (const Work& work : works) {
    const Int128 twice = work.moment + product(work.time, work.time);
    total += product(work.weight, twice) / (2 * Int128{work.time});
    total += product(work.weight, work.after);
  }
  return total;
}

}  // namespace

std::int64_t proven_objective(Objective objective, const std::vector<Certificate>& groups,
                              const Problem& problem, const std::vector<Time>& alone) {
  std::vector<bool> counted(problem.jobs.size());
  Int128 result = 0;
  for (const Certificate& group : groups) {
    if (group.jobs.empty()) refuse("a certificate of an objective names no jobs");
    if (group.kind == Certificate::Kind::chunk_cut) {
      refuse("a chunk_cut proves nothing about other ways to cut the blocks");
    }
    const bool together = objective == Objective::weighted && group.jobs.size() > 1;
    const Time end = together ? Time{} : proven_by(group, problem);
    for (const JobId job : group.jobs) {
      if (!job.valid() || job.index() >= counted.size()) {
        refuse("the certificate names job " + std::to_string(job.value) + ", which does not exist");
      }
    }
    switch (objective) {
      case Objective::makespan:
        result = std::max(result, Int128{end.ps});
        break;
      case Objective::weighted:
        for (const JobId job : group.jobs) {
          if (counted[job.index()]) {
            refuse("job '" + problem.jobs[job.index()].name + "' is in two certificates");
          }
          counted[job.index()] = true;
        }
        result += together ? weighted_cut(group, problem)
                           : product(problem.jobs[group.jobs.front().index()].weight, end.ps);
        break;
      case Objective::slowdown: {
        // Some job of the group ends no earlier than all of them together can.
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (const JobId job : group.jobs) {
          if (job.index() >= alone.size()) refuse("the jobs' times alone are missing");
          least = std::min(least,
                           slowdown_of(problem.jobs[job.index()], end, alone[job.index()], false));
        }
        result = std::max(result, Int128{least});
        break;
      }
    }
  }
  if (objective == Objective::weighted) {
    for (std::size_t j = 0; j < counted.size(); ++j) {
      if (!counted[j]) result += product(problem.jobs[j].weight, problem.jobs[j].start.ps);
    }
  }
  if (result > std::numeric_limits<std::int64_t>::max()) {
    refuse("the certificate's numbers are too large");
  }
  return static_cast<std::int64_t>(result);
}

}  // namespace stellwerk
