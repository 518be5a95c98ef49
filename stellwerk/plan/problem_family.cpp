#include "stellwerk/plan/problem_family.hpp"

#include <algorithm>
#include <limits>

#include "stellwerk/base/error.hpp"
#include "stellwerk/graph/problem_symmetry.hpp"

namespace stellwerk {

namespace {

struct Amount {
  std::int64_t blocks = 0;
  std::int64_t deliveries = 0;
};

/// Of one chunk a block.
Amount amount(const Job& job) {
  const auto ranks = static_cast<std::int64_t>(job.ranks.size());
  switch (job.collective) {
    case Collective::allgather:
    case Collective::reducescatter:
      return {ranks, ranks * (ranks - 1)};
    case Collective::allreduce:
      return {ranks, 2 * ranks * (ranks - 1)};
    case Collective::alltoall:
    case Collective::alltoallv:
      return {ranks * (ranks - 1), ranks * (ranks - 1)};
    case Collective::custom: {
      Amount all{static_cast<std::int64_t>(job.custom.size()), 0};
      for (const CustomChunk& chunk : job.custom) {
        all.deliveries +=
            static_cast<std::int64_t>(chunk.destinations.size() + chunk.contributors.size());
      }
      return all;
    }
    default:
      return {ranks, ranks - 1};
  }
}

}  // namespace

ProblemFamily::ProblemFamily(Topology topology, std::vector<Job> jobs, Relays relays)
    : topology_(std::move(topology)), jobs_(std::move(jobs)), relays_(relays) {
  // Whether there are too many chunks is seen when they are made: perhaps representatives suffice.
  check_jobs(topology_, jobs_, std::numeric_limits<std::int32_t>::max());
  for (const Job& job : jobs_) {
    const Amount all = amount(job);
    const std::int64_t cut =
        job.auto_chunks || job.collective == Collective::custom ? 1 : job.chunks;
    deliveries_ += all.deliveries * cut;
    chunks_ += all.blocks * cut;
  }
}

void ProblemFamily::find_symmetry(const StopCondition& stop) {
  symmetry_ = stellwerk::find_symmetry(topology_, jobs_, stop);
  if (symmetric()) order_ = find_orbits(topology_, symmetry_, jobs_.front().ranks).order;
}

bool ProblemFamily::adjustable() const {
  return std::any_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.auto_chunks; });
}

std::vector<int> ProblemFamily::chunk_counts(int most, std::int64_t most_deliveries,
                                             bool by_representatives) const {
  std::vector<int> counts = {1};
  for (int count = 2; adjustable() && count <= most; count *= 2) {
    if (deliveries(by_representatives) * count <= most_deliveries) counts.push_back(count);
  }
  return counts;
}

std::shared_ptr<const Problem> ProblemFamily::problem(int chunks, bool by_representatives) {
  const std::lock_guard lock(mutex_);
  std::weak_ptr<const Problem>& known = problems_[{chunks, by_representatives}];
  if (std::shared_ptr<const Problem> alive = known.lock()) return alive;
  std::vector<Job> jobs = jobs_;
  for (Job& job : jobs) {
    if (job.auto_chunks) job.chunks = chunks;
  }
  const auto made = std::make_shared<const Problem>(
      by_representatives ? make_compressed_problem(topology_, std::move(jobs), relays_, symmetry_)
                         : make_problem(topology_, std::move(jobs), relays_));
  known = made;
  return made;
}

Bound translated(Bound bound, const Problem& from, const Problem& to) {
  if (!bound.certificate.chunk) return bound;
  const Chunk& named = from.chunks[*bound.certificate.chunk];
  const bool sized = bound.certificate.kind == Certificate::Kind::chunk_cut;
  for (const ChunkId id : to.chunk_ids()) {
    const Chunk& chunk = to.chunks[id];
    if (chunk.job != named.job || chunk.origins != named.origins ||
        chunk.destinations != named.destinations || chunk.contributors != named.contributors ||
        (sized && chunk.bytes != named.bytes)) {
      continue;
    }
    bound.certificate.chunk = id;
    return bound;
  }
  throw Error(ErrorCode::internal, "a bound's certificate names a chunk that the plan has not");
}

}  // namespace stellwerk
