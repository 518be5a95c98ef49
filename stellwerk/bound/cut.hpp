// Bounds for any chunking from sets of nodes: kinds `cut` and `dynamic_cut` of
// docs/certificates.md.
#pragma once

#include <optional>

#include "stellwerk/bound/best.hpp"
#include "stellwerk/bound/demand.hpp"
#include "stellwerk/bound/network.hpp"

namespace stellwerk::bound {

/// What a certificate of a cut counts.
struct Counted {
  NodeSet set;
  BlockList blocks;
  std::vector<NodeId> wanting;  ///< W': nodes of W that are destinations of counted blocks
  NodeSet outside;              ///< F
};

/// Applies the common definitions of docs/certificates.md to a cut, dynamic_cut or chunk_cut (its
/// `chunk` apart).
Counted counted(const Certificate& certificate, const Demand& demand);

/// The bound of a `cut` / `dynamic_cut`; none if it proves nothing.
std::optional<Time> cut_value(const Certificate& certificate, const Network& network,
                              const Demand& demand);
std::optional<Time> dynamic_cut_value(const Certificate& certificate, const Network& network,
                                      const Demand& demand);

/// Offers the cuts into `set`: for each target in the set (or only for `target`), and for any
/// target.
void search_cuts(const NodeSet& set, std::optional<NodeId> target, const Network& network,
                 const Demand& demand, Best& best);

/// Offers the best dynamic cuts into `set` that it finds: targets as above, from the far sources,
/// to the far destinations. `latency_bound`: what the longest way of the demand takes, ready times
/// included; sets whose cut is worse than `best` by more than that are skipped.
void search_dynamic_cuts(const NodeSet& set, std::optional<NodeId> target, const Network& network,
                         const Demand& demand, Time latency_bound, Best& best);

}  // namespace stellwerk::bound
