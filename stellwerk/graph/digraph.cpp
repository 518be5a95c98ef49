#include "stellwerk/graph/digraph.hpp"

#include <utility>

namespace stellwerk::graph {
namespace {

/// Counting sort of arc numbers by one of their ends, so that each group is ascending.
void group_by(const std::vector<Arc>& arcs, int vertices, int Arc::* end, std::vector<int>& grouped,
              std::vector<int>& begin) {
  begin.assign(static_cast<std::size_t>(vertices) + 1, 0);
  for (const Arc& arc : arcs) ++begin[static_cast<std::size_t>(arc.*end) + 1];
  for (std::size_t v = 0; v < static_cast<std::size_t>(vertices); ++v) begin[v + 1] += begin[v];
  grouped.resize(arcs.size());
  std::vector<int> next(begin.begin(), begin.end() - 1);
  for (std::size_t a = 0; a < arcs.size(); ++a) {
    int& place = next[static_cast<std::size_t>(arcs[a].*end)];
    grouped[static_cast<std::size_t>(place++)] = static_cast<int>(a);
  }
}

}  // namespace

Digraph::Digraph(int vertices, std::vector<Arc> arcs)
    : vertices_(vertices), arcs_(std::move(arcs)) {
  group_by(arcs_, vertices_, &Arc::from, out_, out_begin_);
  group_by(arcs_, vertices_, &Arc::to, in_, in_begin_);
}

Digraph Digraph::reversed() const {
  std::vector<Arc> arcs = arcs_;
  for (Arc& arc : arcs) std::swap(arc.from, arc.to);
  return Digraph(vertices_, std::move(arcs));
}

}  // namespace stellwerk::graph
