// Runs a plan as two kinds of runtime would, on a cluster with noise.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stellwerk/check/capacity.hpp"
#include "stellwerk/check/noise.hpp"
#include "stellwerk/check/precedence.hpp"
#include "stellwerk/check/send_shapes.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// What a runtime does when a send that is due cannot go yet.
enum class Discipline : std::uint8_t {
  strict,    ///< every link waits for it: the plan's order on each link stays
  priority,  ///< links that could do something else do it: of the sends that can go, the one that
             ///< the plan starts first (work-conserving)
};

std::string_view to_string(Discipline discipline);
/// Throws Error(usage).
Discipline parse_discipline(std::string_view text);

/// One schedule, prepared for many runs. A send keeps the share of each link that it was planned
/// with, for its planned duration times its stretch: that of the slowest of its links times its own.
/// Data dependencies stay as planned; an arrival that comes early is held back by the receiver.
class Executor {
 public:
  /// Keeps references to both. Precondition: `sends` is valid for `problem`, written out in full.
  /// Throws Error(unsolved) where transit buffers are limited: no runtime here minds them.
  Executor(const Problem& problem, const Schedule& sends);

  struct Run {
    Time finish;
    std::vector<Time> job_finish;  ///< one a job
  };
  Run run(Discipline discipline, const NoiseDraw& draw);

  std::size_t sends() const { return sends_.size(); }
  /// Does a strict run keep the plan's order on every resource? Not where two sends meet twice, in
  /// opposite orders: there one order of sends is used on all resources.
  bool keeps_whole_order() const { return whole_order_; }

 private:
  /// A data dependency as its later end sees it.
  struct Wait {
    std::int32_t from;
    std::int64_t lag;      ///< under planned durations, ps
    bool after_last_byte;  ///< of `from`: a longer duration makes it later
  };

  void collect_waits(const Precedence& precedence);
  void find_order();
  void stretch(const NoiseDraw& draw);
  std::int64_t ready(std::size_t activity) const;
  void run_strictly();
  void run_by_priority();

  const Problem& problem_;
  const Schedule& sends_;
  SendShapes shapes_;
  CapacityUses uses_;
  Precedence precedence_;
  std::vector<std::size_t> first_wait_;
  std::vector<Wait> waits_;          // by later activity
  std::vector<std::int32_t> order_;  // activities; data and the order on every resource respected
  bool whole_order_ = true;
  // Of the current run:
  std::vector<std::int64_t> duration_;  // per send
  std::vector<std::int64_t> earliest_;  // per send
  std::vector<std::int64_t> start_;     // per activity
};

}  // namespace stellwerk
