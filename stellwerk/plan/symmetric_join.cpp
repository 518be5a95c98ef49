#include "stellwerk/plan/symmetric_join.hpp"

#include <algorithm>

namespace stellwerk::symmetric {

TaskGraph turned(const TaskGraph& graph, const Quotient& quotient) {
  TaskGraph result = graph;
  for (Shape& shape : result.shapes) {
    mirror(shape);
    for (Use& use : shape.uses) use.offset -= quotient.latency(use.resource);
  }
  for (Task& task : result.tasks) {
    task.op = Op::reduce;
    std::reverse(task.links.begin(), task.links.end());
  }
  for (auto& [a, b] : result.arcs) std::swap(a, b);
  return result;
}

int append(TaskGraph& whole, const TaskGraph& part, const std::vector<ChunkId>& names) {
  const int first_task = static_cast<int>(whole.tasks.size());
  const int first_shape = static_cast<int>(whole.shapes.size());
  whole.shapes.insert(whole.shapes.end(), part.shapes.begin(), part.shapes.end());
  whole.tasks.reserve(whole.tasks.size() + part.tasks.size());
  for (const Task& task : part.tasks) {
    whole.tasks.push_back(task);
    whole.tasks.back().shape += first_shape;
    whole.tasks.back().chunk = names[task.chunk.index()];
  }
  for (const auto& [a, b] : part.arcs) whole.arcs.emplace_back(a + first_task, b + first_task);
  return first_task;
}

}  // namespace stellwerk::symmetric
