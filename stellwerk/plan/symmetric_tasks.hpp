// Sends of representative chunks as tasks: what each claims, and after which others it can start.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "stellwerk/core/send.hpp"
#include "stellwerk/plan/symmetric_network.hpp"

namespace stellwerk::symmetric {

/// A send without its start; all its leaves are equally far. Without links: a point in time, which
/// makes no send.
struct Task {
  int shape;  ///< in TaskGraph::shapes
  ChunkId chunk;
  Op op = Op::copy;
  std::int64_t release;  ///< ps; no start before
  std::vector<LinkId> links;
};

/// Tasks and their order: an arc (a, b) lets b start when a has arrived.
struct TaskGraph {
  std::vector<Shape> shapes;
  std::vector<Task> tasks;
  std::vector<std::pair<int, int>> arcs;

  const Shape& shape(const Task& task) const {
    return shapes[static_cast<std::size_t>(task.shape)];
  }
};

/// The sends, with starts by task.
Schedule sends_of(const TaskGraph& graph, const std::vector<std::int64_t>& starts,
                  const IdVector<ChunkId, Chunk>& chunks);

}  // namespace stellwerk::symmetric
