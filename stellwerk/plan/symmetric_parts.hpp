// A problem in parts: chunks that spread over trees, chunks that take paths, sums to be collected.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "stellwerk/plan/symmetric_growth.hpp"
#include "stellwerk/plan/symmetric_join.hpp"
#include "stellwerk/plan/symmetric_paths.hpp"

namespace stellwerk::symmetric {

/// How all parts are to be planned in one attempt.
struct Rules {
  GrowthRules growth;
  PathRules paths;
  bool shuffle = false;  ///< the order of the chunks
};

/// Tasks; and a schedule for them, if one came with them.
struct Proposal {
  TaskGraph graph;
  std::vector<std::int64_t> starts;  ///< ps, by task
  std::int64_t finish = 0;           ///< ps
  bool timed = false;
};

/// A problem on the quotient of its network.
class Parts {
 public:
  /// `problem` and `orbits` must outlive it.
  Parts(const Problem& problem, const Orbits& orbits);
  ~Parts();

  /// The quotient of the problem's own network: the one that tasks claim.
  const Quotient& quotient() const { return quotient_; }
  /// Lanes that leave a node, the most of any node: what growing costs.
  std::size_t lanes() const;
  bool has_trees() const { return trees_ != nullptr || collect_ != nullptr; }
  bool has_paths() const { return paths_ != nullptr; }

  /// Nothing if some destination cannot be reached, or when stopped.
  std::optional<Proposal> propose(const Rules& rules, Rng& rng, const StopCondition& stop);

 private:
  struct Part;
  std::optional<Grown> grow(Part& part, const Rules& rules, bool last_first, Rng& rng,
                            const StopCondition& stop) const;

  const Problem& problem_;
  Quotient quotient_;
  std::unique_ptr<Part> collect_, trees_, paths_;
};

}  // namespace stellwerk::symmetric
