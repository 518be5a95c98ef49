// A plan: a problem, the sends that solve it, and a record of how they were made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/objective.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// What a lower bound rests on, so that anybody can recompute it (docs/certificates.md).
struct Certificate {
  enum class Kind : std::uint8_t {
    none,
    cut,
    metric,
    latency,
    partition,
    chunk_cut,
    dynamic_cut,
    gossip,
  };
  Kind kind = Kind::none;
  std::vector<NodeId> set;       ///< cut, chunk_cut, dynamic_cut: the nodes entered
  std::optional<NodeId> target;  ///< cuts, latency; absent: any destination in the set
  std::vector<NodeId> from;      ///< chunk_cut, dynamic_cut: only chunks from here; empty: absent
  std::vector<NodeId> to;        ///< chunk_cut, dynamic_cut: only chunks for these; empty: absent
  std::vector<std::int64_t> lengths;       ///< metric: one a link
  std::optional<ChunkId> chunk;            ///< latency; chunk_cut: only chunks of at least its size
  std::vector<std::vector<NodeId>> parts;  ///< partition, gossip
  std::vector<JobId> jobs;  ///< any kind: only chunks of these jobs count; empty: of all

  friend bool operator==(const Certificate&, const Certificate&) = default;
};

const char* to_string(Certificate::Kind kind);

/// A proven lower bound on the transfer time.
struct Bound {
  Time value;
  Certificate certificate;

  friend bool operator==(const Bound&, const Bound&) = default;
};

/// A proven lower bound on an objective that is not the makespan, from bounds on groups of jobs
/// (docs/certificates.md, "Objectives").
struct ObjectiveBound {
  std::int64_t value = 0;  ///< in the units of objective_value
  std::vector<Certificate> groups;

  friend bool operator==(const ObjectiveBound&, const ObjectiveBound&) = default;
};

/// What was planned for, if not the makespan.
struct ObjectiveRecord {
  Objective objective = Objective::weighted;
  std::int64_t value = 0;  ///< objective_value of the plan
  std::optional<ObjectiveBound> bound;

  friend bool operator==(const ObjectiveRecord&, const ObjectiveRecord&) = default;
};

/// How a planner ended: an outcome, not an error.
struct Termination {
  enum class Reason : std::uint8_t { optimal, feasible, infeasible, no_solution, unsupported };
  Reason reason = Reason::no_solution;
  Limit limit = Limit::none;

  friend bool operator==(const Termination&, const Termination&) = default;
};

const char* to_string(Termination::Reason reason);

/// What an epoch-based planner found on its grid, before re-timing.
struct EpochRecord {
  Time duration;            ///< tau
  std::int64_t epochs = 0;  ///< of the plan, before re-timing
  std::int64_t proven_epochs =
      0;  ///< no plan on this grid has fewer (0: nothing proven); marked `discretised`

  friend bool operator==(const EpochRecord&, const EpochRecord&) = default;
};

/// Sizes and rates of one job, or of all jobs together. What makes no sense is absent.
struct Figures {
  std::optional<Bytes> size_bytes;    ///< effective size, the larger side of the collective
  std::optional<Bytes> output_bytes;  ///< of the rank that gets most
  std::optional<Bytes> output_bytes_smallest;  ///< of the rank that gets least, where they differ
  std::optional<double> algbw;                 ///< bytes per second
  std::optional<double> busbw;                 ///< bytes per second
  std::optional<double> slowdown;  ///< of one job: from its start to its end, over its time alone

  friend bool operator==(const Figures&, const Figures&) = default;
};

/// What a plan file says beside what it must say: figures that follow from the rest.
/// `derive_metrics` (core/metrics.hpp) computes them; a reader keeps what the file says, so that
/// the verifier can compare the two.
struct RecordedMetrics {
  std::optional<double> gap;
  std::optional<double> gap_chunked;
  Figures total;
  std::optional<std::int64_t> chunks_per_block;  ///< plans of one job
  std::vector<Figures> jobs;                     ///< one a job

  friend bool operator==(const RecordedMetrics&, const RecordedMetrics&) = default;
};

/// The `result` object of a plan file.
struct Result {
  Time transfer_time;
  std::vector<Time> job_finish;  ///< one a job
  std::vector<Time> job_alone;   ///< one a job: how long its own plan takes alone; empty: unknown
  std::optional<ObjectiveRecord> objective;  ///< absent: the makespan
  std::optional<Bound> bound;                ///< for any chunking
  std::optional<Bound> bound_chunked;        ///< for these chunks; never below `bound`
  std::string planner;
  std::vector<std::pair<std::string, std::string>> options;
  std::uint64_t seed = 1;
  std::string version;
  Termination termination;
  std::optional<EpochRecord> epoch;
  double solver_time_s = 0;
  double core_seconds = 0;
  std::int64_t peak_rss_bytes = 0;
  std::optional<RecordedMetrics>
      recorded;  ///< as read from a file; writers derive these figures afresh

  friend bool operator==(const Result&, const Result&) = default;
};

struct Plan {
  Problem problem;
  Schedule sends;
  Result result;
};

}  // namespace stellwerk
