// Bounds for whole chunks: kind `chunk_cut` of docs/certificates.md.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "stellwerk/bound/best.hpp"
#include "stellwerk/bound/candidate_sets.hpp"
#include "stellwerk/bound/cut.hpp"

namespace stellwerk::bound {

class ChunkCutSearch {
 public:
  ChunkCutSearch(const Network& network, const Demand& demand);

  /// The bound of a `chunk_cut`; none if it proves nothing.
  std::optional<Time> value(const Certificate& certificate) const;

  /// Offers, for every wanted block, the cut into its destination from its origins (farthest
  /// contributor) alone: what the way of a whole chunk takes.
  void search_ways(const StopCondition& stop, Best& best) const;

  /// Offers the chunk cuts into a set: for each target in it (or the one it was made for), and for
  /// any target.
  void search_set(const CandidateSet& candidate, Best& best) const;

  /// What the bandwidth into a set alone asks for: sets that ask for more are worth trying first.
  Time transfer_time(const CandidateSet& candidate) const;

  /// Has so much been computed that a large problem should leave it at that?
  bool exhausted() const { return work_ > kMostWork; }

 private:
  const WholeChunkTimes& times(std::int64_t bytes) const;
  std::optional<Time> value(const Counted& count, const std::vector<LinkId>& links,
                            std::int64_t smallest) const;
  std::int64_t longest_way() const;
  /// The sources / targets that are farthest from / beyond the entry links, in growing sets.
  std::vector<std::vector<NodeId>> far_sources(const Counted& count,
                                               const std::vector<LinkId>& links) const;
  std::vector<std::vector<NodeId>> far_targets(const std::vector<NodeId>& wanting,
                                               const std::vector<LinkId>& links,
                                               std::int64_t bytes) const;

  static constexpr std::int64_t kMostWork =
      60'000'000;  // nodes + entry links * blocks * bandwidths

  const Network& network_;
  const Demand& demand_;
  mutable std::int64_t work_ = 0;
  mutable std::map<std::int64_t, std::unique_ptr<WholeChunkTimes>> times_;
  mutable std::int64_t longest_way_ = -1;
};

}  // namespace stellwerk::bound
