// Bounds for any chunking from the main sets: kinds `latency`, `cut` and `dynamic_cut` of
// docs/certificates.md, at any size and under a symmetry.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stellwerk/bound/best.hpp"
#include "stellwerk/bound/main_sets.hpp"

namespace stellwerk::bound {

class MainCuts {
 public:
  /// All must outlive it.
  MainCuts(const Network& network, const Images& images, const StopCondition& stop);

  /// Offers the longest ways, between representatives and what they want.
  void search_latency(Best& best) const;
  /// Offers the plain cuts into the main sets.
  void search_cuts(Best& best) const;
  /// Offers dynamic cuts into them; `latency_bound` as in search_dynamic_cuts (cut.hpp).
  void search_dynamic_cuts(Time latency_bound, Best& best) const;

  const std::vector<NodeId>& representatives() const { return representatives_; }
  const std::vector<MainSet>& sets() const { return sets_; }

  /// Members of a set that may be worth a cut of their own: the one it was made for, or the ones
  /// farthest from its entry links.
  std::vector<NodeId> targets(const MainSet& set) const;
  /// Those of `wanting` that are farthest from the entry links, then more and more, at last all.
  std::vector<std::vector<NodeId>> far_targets(const MainSet& set,
                                               const std::vector<NodeId>& wanting) const;

 private:
  void search_levels(const MainSet& set, Certificate certificate, Time latency_bound,
                     Best& best) const;
  std::vector<std::int64_t> beyond_entries(const MainSet& set) const;
  bool affordable(const Selection& selection) const;

  const Network& network_;
  const Images& images_;
  const StopCondition& stop_;
  std::vector<NodeId> representatives_;
  std::vector<MainSet> sets_;
  mutable std::int64_t work_ = 0;  // nodes and links of shortest-path searches, images looked at
};

/// The bound that a `cut` or `dynamic_cut` proves, images counted; none if it is nothing.
std::optional<Time> cut_value(const Certificate& certificate, const Network& network,
                              const Images& images);

}  // namespace stellwerk::bound
