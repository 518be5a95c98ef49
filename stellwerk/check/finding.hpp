// A broken rule as the parts of the verifier hand it on, and the words for what it names.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "stellwerk/check/verify.hpp"

namespace stellwerk::check {

/// The rule that is broken, and one line that says where.
struct Finding {
  Violation violation;
  std::string message;
};

/// Nothing: the rules that were looked at are kept.
using Judgement = std::optional<Finding>;

/// What messages call things: a chunk by number, owner and job; links and nodes by name.
class Names {
 public:
  explicit Names(const Problem& problem) : problem_(problem) {}

  std::string node(NodeId id) const { return problem_.topology.node(id).name; }
  std::string link(LinkId id) const { return problem_.topology.link_name(id); }
  /// "chunk 5 (of h0.gpu1, job 'dp')".
  std::string chunk(ChunkId id) const;
  /// "chunk 5 (of h0.gpu1, job 'dp') over h0.gpu1->h0.gpu2 at 1.5us", the first link standing for
  /// the tree.
  std::string send(const Send& send) const;

 private:
  const Problem& problem_;
};

inline Judgement found(Violation violation, std::string message) {
  return Finding{violation, std::move(message)};
}

}  // namespace stellwerk::check
