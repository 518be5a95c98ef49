#include "stellwerk/plan/symmetric_tasks.hpp"

namespace stellwerk::symmetric {

Schedule sends_of(const TaskGraph& graph, const std::vector<std::int64_t>& starts,
                  const IdVector<ChunkId, Chunk>& chunks) {
  Schedule sends;
  sends.reserve(graph.tasks.size());
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    if (task.links.empty()) continue;
    sends.push_back({task.chunk, task.op, Time{starts[i]}, Bandwidth{graph.shape(task).rate},
                     task.links, Bytes{0}, chunks[task.chunk].bytes});
  }
  return sends;
}

}  // namespace stellwerk::symmetric
