// One request's problem at every chunk count, in full and by representatives.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// May be used by several threads at once, but for find_symmetry.
class ProblemFamily {
 public:
  /// Throws Error(unreadable_input) for jobs that do not fit the topology.
  ProblemFamily(Topology topology, std::vector<Job> jobs, Relays relays);

  /// Looks for a group under which the problem looks the same; until then, and where there is none,
  /// the symmetry is trivial.
  void find_symmetry(const StopCondition& stop);
  bool symmetric() const { return !symmetry_.trivial(); }
  const Symmetry& symmetry() const { return symmetry_; }

  const Topology& topology() const { return topology_; }
  const std::vector<Job>& jobs() const { return jobs_; }

  /// With one chunk a block where the count is to be chosen; of all ranks, or (by representatives)
  /// of those that stand for all.
  std::int64_t deliveries(bool by_representatives = false) const {
    return by_representatives ? deliveries_ / order_ : deliveries_;
  }

  /// The same for chunks: how many there are.
  std::int64_t chunks(bool by_representatives = false) const {
    return by_representatives ? chunks_ / order_ : chunks_;
  }

  /// Is the chunk count to be chosen?
  bool adjustable() const;
  /// 1, 2, 4, ... up to `most` as far as there are not too many deliveries; 1 alone when the counts
  /// are given.
  std::vector<int> chunk_counts(int most, std::int64_t most_deliveries,
                                bool by_representatives) const;

  /// `chunks` a block where the count is to be chosen. Shared while anybody uses it: large problems
  /// are not kept for later.
  std::shared_ptr<const Problem> problem(int chunks, bool by_representatives);

 private:
  Topology topology_;
  std::vector<Job> jobs_;
  Relays relays_;
  Symmetry symmetry_;
  std::int64_t order_ = 1;  // of the group
  std::int64_t deliveries_ =
      0;  // how often some rank wants a block, or has something to add to one
  std::int64_t chunks_ = 0;
  std::mutex mutex_;
  std::map<std::pair<int, bool>, std::weak_ptr<const Problem>> problems_;
};

/// The same bound, with a certificate that names chunks of `to`, another member of the same family
/// as `from`: one that moves the same way and, where sizes matter, has the same.
Bound translated(Bound bound, const Problem& from, const Problem& to);

}  // namespace stellwerk
