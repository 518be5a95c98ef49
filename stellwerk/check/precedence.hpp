// Who waits for whose data: the dependencies that a schedule's order of sends implies.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/check/send_shapes.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// time(to) + offset(to_event) >= time(from) + offset(from_event) + slack, where offset(-1) = 0.
/// Activities are the sends, then *joins*: instants that gather several events so that k arrivals
/// and l departures need k + l dependencies, not k * l.
struct Dependency {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t from_event = -1;
  std::int32_t to_event = -1;
  std::int32_t slack = 0;
  bool data = true;  ///< `to` sends on what `from` brought; otherwise it only keeps partial sums as
                     ///< they were
};

/// An arrival of (a piece of) a chunk: a send and the leaf event.
struct Arrival {
  std::int32_t send = 0;
  std::int32_t event = 0;
};

/// How a destination comes to hold its chunk: arrivals[first..covering) are what the order of the
/// input uses; the rest, up to `last`, are copies that came after. With a rest, whatever covers the
/// bytes first counts.
struct Completion {
  ChunkId chunk;
  NodeId node;
  std::int32_t first = 0;
  std::int32_t covering = 0;
  std::int32_t last = 0;
};

struct Precedence {
  std::int32_t activities = 0;         ///< sends and joins
  std::vector<std::int64_t> earliest;  ///< per send: not before the chunk is ready, ps
  std::vector<Dependency> dependencies;
  std::vector<Completion> completions;  ///< by chunk
  std::vector<Arrival> arrivals;
  bool choices = false;  ///< times decided which of two copies, or of the pieces of a sum, counts

  /// lag of a dependency: start(to) >= start(from) + lag.
  static std::int64_t lag(const Dependency& dependency, const SendShapes& shapes) {
    return (dependency.from_event < 0 ? 0 : shapes.offset(dependency.from_event)) -
           (dependency.to_event < 0 ? 0 : shapes.offset(dependency.to_event)) + dependency.slack;
  }
};

/// Reads the dependencies off `sends`, whose starts may be nominal. Throws
/// Error(verification_failed), naming send, chunk and node, when a node never holds what it sends
/// in any reading of the order.
Precedence find_precedence(const Problem& problem, const Schedule& sends, const SendShapes& shapes);

/// When the destinations hold their chunks, given the starts of all sends: fills `job_finish` (one
/// a job, zero for jobs that finish nothing) and returns the latest.
Time finish_times(const Problem& problem, const Schedule& sends, const SendShapes& shapes,
                  const Precedence& precedence, const std::vector<std::int64_t>& starts,
                  std::vector<Time>& job_finish);

}  // namespace stellwerk
