// One plan, made and judged for a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "stellwerk/base/units.hpp"
#include "stellwerk/core/collective.hpp"

namespace stellwerk {

/// What to plan: one collective over all GPUs of a topology, or a problem drawn at random.
struct Case {
  std::string topology;  ///< a name of the catalogue or a file
  Collective collective = Collective::allgather;
  Bytes size;
  std::string planner;  ///< empty: the portfolio
  double gap = 0.01;
  double limit_s = 10;
  std::int64_t memory_limit_bytes = 0;  ///< 0: none
  std::uint64_t seed = 1;
  int threads = 1;
  int chunks = 0;                       ///< of a block; 0: the planner chooses
  std::optional<std::uint64_t> random;  ///< the jobs are those of random_problem
  bool rival = false;                   ///< the best baseline is looked for, too
};

/// What came of it.
struct Measurement {
  bool planned = false;
  std::string note;  ///< why there is no plan; or what stopped the planner
  Time transfer_time;
  std::optional<Time> bound;  ///< on any chunking
  std::string bound_kind;
  std::optional<double> gap;
  std::optional<double> algbw, busbw;  ///< bytes per second
  std::optional<Bytes> output_bytes;   ///< of the rank that gets most
  std::int64_t gpus = 0;
  std::int64_t chunks_per_block = 0;
  std::int64_t sends = 0;     ///< as kept: of representatives where the plan is compressed
  std::int64_t symmetry = 1;  ///< order of the group that gives the rest; 1: nothing is left out
  std::string planner;        ///< whose plan it is
  std::string rival;          ///< Case::rival: the baseline with the least time
  std::optional<Time> rival_time;  ///< and its time; none if no baseline has a plan
  double solver_time_s = 0, core_seconds = 0;
  std::int64_t peak_rss_bytes = 0;

  friend bool operator==(const Measurement&, const Measurement&) = default;
};

/// Makes the plan and has it verified. Never throws for a problem without a plan; Error for broken
/// topologies.
Measurement measure(const Case& what);

/// As text for another process, and back. Throws Error(internal) for anything else.
std::string to_line(const Measurement& measurement);
Measurement measurement_from_line(const std::string& line);

}  // namespace stellwerk
