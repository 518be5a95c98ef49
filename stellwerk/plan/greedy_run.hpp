// One event-driven construction of the `greedy` planner.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"
#include "stellwerk/plan/clusters.hpp"
#include "stellwerk/plan/fabrics.hpp"
#include "stellwerk/plan/forwarders.hpp"
#include "stellwerk/plan/residual.hpp"

namespace stellwerk {

/// What all runs on one problem share.
struct GreedyInput {
  /// `residual`: whose problem this is (or chunks of it, with `late` one a chunk), when the runs
  /// start in the middle of a plan; else null.
  GreedyInput(const Problem& problem, const Forwarders& forwarders,
              const Residual* residual = nullptr);

  const Problem& problem;
  const Forwarders& forwarders;
  const Residual* residual;
  Fabrics fabrics;
  std::vector<Clustering> clusterings;
};

/// How a run decides.
struct GreedyStyle {
  /// strict: between clusters goes only what nobody in the other cluster holds or is about to get.
  /// relaxed: anything wanted, too, where nothing else can be sent.
  enum class Rule : std::uint8_t { none, strict, relaxed };
  Rule rule = Rule::none;
  std::size_t clustering = 0;  ///< a position in GreedyInput::clusterings; unless rule is none
  bool only_behind = false;    ///< relaxed: only for nodes that lack more than their clusters do
  int rarest_of = 64;          ///< candidates among which the rarest chunk is taken
  bool neediest_first = true;  ///< nodes with most to receive for their speed choose first
  bool wait = false;           ///< slow links leave to faster ones what those will have done sooner
  bool share = false;          ///< a send may start at half its rate where a link is partly in use
};

/// Simulates the network; whatever falls idle is given the rarest chunk that its head wants.
class GreedyRun {
 public:
  /// Keeps references.
  GreedyRun(const GreedyInput& input, const GreedyStyle& style, Rng rng, const StopCondition& stop);
  ~GreedyRun();
  GreedyRun(GreedyRun&&) noexcept;

  /// True when all demands are met; false when stopped, or as soon as no finish before `give_up` is
  /// possible. Once only.
  bool run(Time give_up);
  Time finish() const;
  /// The sends, with causal starts that keep all limits.
  Schedule schedule() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace stellwerk
