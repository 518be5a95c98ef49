#include "stellwerk/bench/random_problem.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/rng.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/plan/reachability.hpp"

namespace stellwerk {
namespace {

constexpr std::int64_t kLeastGpus = 4, kMostGpus = 64;

class Draw {
 public:
  Draw(std::uint64_t seed, Collective collective)
      : rng_(0x57e11e0000000000ULL + seed), collective_(collective) {}

  RandomProblem problem() {
    RandomProblem result;
    result.topology = topology_name();
    const std::vector<NodeId> gpus = catalogue_topology(result.topology).gpus();
    result.jobs.push_back(job(collective_, gpus, "first"));
    if (rng_.below(5) == 0) {
      const auto& all = collectives();
      result.jobs.push_back(job(all[rng_.below(all.size())].collective, gpus, "second"));
    }
    return result;
  }

 private:
  std::int64_t between(std::int64_t low, std::int64_t high) { return rng_.between(low, high); }
  bool one_in(std::uint64_t n) { return rng_.below(n) == 0; }

  std::string topology_name() {
    std::string name = fabric();
    if (one_in(3))
      name +=
          fmt::format(",what=any,degrade={},degrade-seed={}", between(1, 4), between(1, 1'000'000));
    if (one_in(3)) name += fmt::format(",relabel={}", between(1, 1'000'000));
    return name;
  }

  std::string fabric() {
    switch (rng_.below(12)) {
      case 0:
      case 1:
        return fmt::format("random:{},degree={},seed={}{}{}", 2 * between(4, 32), between(3, 5),
                           between(1, 1'000'000), one_in(2) ? ",mixed" : "",
                           one_in(4) ? ",directed" : "");
      case 2:
        return fmt::format("{}:{}x{}", one_in(2) ? "torus" : "mesh", between(2, 8), between(2, 8));
      case 3:
        return fmt::format("{}:{}", one_in(2) ? "ring" : "full", between(4, 16));
      case 4:
        return fmt::format("hypercube:{}", between(2, 6));
      case 5:
        return fmt::format("switch:{}{}", between(4, 64), one_in(2) ? ",multicast" : "");
      case 6:
        return fmt::format("rail:{}x{}{}", between(2, 8), between(2, 8),
                           one_in(2) ? ",multicast" : "");
      case 7:
        return fmt::format("boxes:{}x{}", between(2, 8), between(2, 8));
      case 8:
        return fmt::format("leaf-spine:{}x{},per-leaf=2", 2 * between(2, 4), between(2, 8));
      case 9:
        return fmt::format("random-boxes:{},seed={}", between(2, 8), between(1, 1'000'000));
      case 10: {
        constexpr const char* kMachines[] = {"dgx1",       "ndv2:2",   "ndv2:4",
                                             "dgx2:1",     "dgx2:2",   "mi250:2",
                                             "dgx-a100:4", "mi300x:2", "dgx-h100:2,fabric=switch",
                                             "dgx-b200:8"};
        return kMachines[rng_.below(std::size(kMachines))];
      }
      default:
        return fmt::format("dragonfly:{}x1x{}", between(2, 3), between(1, 4));
    }
  }

  /// 1 KB to 1 GB; every order of magnitude as likely as any other.
  Bytes size() {
    std::int64_t bytes = 1000;
    for (std::int64_t i = between(0, 5); i > 0; --i) bytes *= 10;
    return Bytes{bytes * between(1, 10)};
  }

  std::vector<NodeId> some_of(const std::vector<NodeId>& gpus) {
    std::vector<NodeId> ranks = gpus;
    if (!one_in(3)) return ranks;
    rng_.shuffle(ranks);
    ranks.resize(static_cast<std::size_t>(between(2, static_cast<std::int64_t>(ranks.size()))));
    return ranks;
  }

  Job job(Collective collective, const std::vector<NodeId>& gpus, const std::string& name) {
    Job job;
    job.name = name;
    job.collective = collective;
    job.ranks = some_of(gpus);
    job.size = size();
    job.auto_chunks = true;
    if (collective == Collective::sendrecv) {
      rng_.shuffle(job.ranks);
      job.ranks.resize(2);
    }
    job.root = row(collective).rooted ? static_cast<int>(rng_.below(job.ranks.size())) : 0;
    if (one_in(8)) job.start = Time{between(1, 100) * 1'000'000};
    if (collective == Collective::alltoallv) fill_matrix(job);
    if (collective == Collective::custom) fill_custom(job);
    return job;
  }

  /// Skewed: a few pairs exchange most of it.
  void fill_matrix(Job& job) {
    const std::size_t n = job.ranks.size();
    const std::int64_t mean =
        std::max<std::int64_t>(1, job.size.value / static_cast<std::int64_t>(n));
    job.matrix.assign(n, std::vector<Bytes>(n, Bytes{0}));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        if (i == j || one_in(4)) continue;
        job.matrix[i][j] = Bytes{one_in(8) ? 10 * mean : between(1, mean)};
      }
    }
    job.matrix[0][1] = Bytes{mean};
    job.size = Bytes{0};
  }

  /// Copies from one origin or two, and sums.
  void fill_custom(Job& job) {
    const Bytes bytes{std::max<std::int64_t>(1, job.size.value / 16)};
    const std::int64_t count = between(1, 2 * static_cast<std::int64_t>(job.ranks.size()));
    for (std::int64_t i = 0; i < count; ++i) {
      std::vector<NodeId> ranks = job.ranks;
      rng_.shuffle(ranks);
      const auto most = static_cast<std::int64_t>(ranks.size());
      CustomChunk chunk;
      chunk.bytes = Bytes{one_in(4) ? between(1, 2 * bytes.value) : bytes.value};
      const auto sources = ranks.begin() + (one_in(4) ? between(1, most - 1) : 1);
      if (one_in(3)) {
        chunk.contributors.assign(ranks.begin(), sources);
        chunk.destinations.assign(sources, sources + 1);
      } else {
        chunk.origins.assign(ranks.begin(), std::min(sources, ranks.begin() + 2));
        chunk.destinations.assign(sources, sources + between(1, ranks.end() - sources));
      }
      job.custom.push_back(std::move(chunk));
    }
    job.size = Bytes{0};
    job.auto_chunks = false;
  }

  Rng rng_;
  Collective collective_;
};

}  // namespace

RandomProblem random_problem(std::uint64_t seed) {
  // A draw that cannot be planned (a slow link that was the only one, say) is replaced by another.
  const Collective collective = collectives()[seed % collectives().size()].collective;
  for (std::uint64_t again = 0;; ++again) {
    RandomProblem problem = Draw(seed + (again << 32), collective).problem();
    try {
      Topology topology = catalogue_topology(problem.topology);
      const auto gpus = static_cast<std::int64_t>(topology.gpus().size());
      if (gpus < kLeastGpus || gpus > kMostGpus) continue;
      require_reachable(make_problem(std::move(topology), problem.jobs, Relays::all));
      return problem;
    } catch (const Error&) {
      if (again > 100) throw;
    }
  }
}

}  // namespace stellwerk
