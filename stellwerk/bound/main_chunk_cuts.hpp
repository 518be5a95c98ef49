// Bounds for whole chunks from the main sets: kind `chunk_cut` of docs/certificates.md, at any size
// and under a symmetry.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "stellwerk/bound/best.hpp"
#include "stellwerk/bound/main_cuts.hpp"

namespace stellwerk::bound {

class MainChunkCuts {
 public:
  /// All must outlive it.
  MainChunkCuts(const Network& network, const Images& images, const MainCuts& cuts,
                const StopCondition& stop);

  void search(Best& best) const;

  /// The bound of a `chunk_cut`; none if it proves nothing or takes too long to evaluate.
  std::optional<Time> value(const Certificate& certificate) const;

 private:
  class Cut;
  void search_ways(Best& best) const;
  void search_set(const MainSet& set, std::optional<NodeId> target, Best& best) const;
  void offer_sizes(const Cut& cut, Certificate certificate, Best& best) const;
  const WholeChunkTimes& times(std::int64_t bytes) const;

  const Network& network_;
  const Images& images_;
  const MainCuts& cuts_;
  const StopCondition& stop_;
  mutable std::int64_t work_ = 0;
  mutable std::map<std::int64_t, std::unique_ptr<WholeChunkTimes>> times_;
};

}  // namespace stellwerk::bound
