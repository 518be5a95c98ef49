// Graphs of tasks turned round in time, and put together.
#pragma once

#include <vector>

#include "stellwerk/plan/symmetric_tasks.hpp"

namespace stellwerk::symmetric {

/// Copies on the reversed network as reductions on the network itself (docs/model.md, "Time
/// reversal"): arcs and links turn round. A link is claimed when bytes enter it, which is at the
/// other end now: claims move by its latency.
TaskGraph turned(const TaskGraph& graph, const Quotient& quotient);

/// Adds `part`, whose chunk c is chunk names[c] of the whole. Returns the number of its first task.
int append(TaskGraph& whole, const TaskGraph& part, const std::vector<ChunkId>& names);

}  // namespace stellwerk::symmetric
