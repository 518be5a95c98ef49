#include "stellwerk/bound/slots.hpp"

#include <functional>
#include <queue>

namespace stellwerk::bound {

std::int64_t nth_slot(std::vector<Slots>& links, std::int64_t n) {
  using Entry = std::pair<std::int64_t, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  for (std::size_t e = 0; e < links.size(); ++e) queue.emplace(links[e].next(), e);
  std::int64_t slot = graph::kUnreachable;
  for (std::int64_t k = 0; k < n && !queue.empty(); ++k) {
    const auto [time, e] = queue.top();
    queue.pop();
    slot = time;
    if (time >= graph::kUnreachable) break;
    queue.emplace(links[e].next(), e);
  }
  return slot;
}

}  // namespace stellwerk::bound
