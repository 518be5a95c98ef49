// Colours for the edges of a bipartite multigraph: rounds of a crossbar in which no port is used
// twice.
#pragma once

#include <span>
#include <vector>

namespace stellwerk::graph {

struct BipartiteEdge {
  int left;
  int right;
};

/// As many colours (0, 1, ...) as the largest degree; edges that meet at a vertex get different
/// ones. Edges early in the list tend to get low colours. Memory: 4.1 bytes for each vertex and
/// colour.
std::vector<int> colour_edges(int lefts, int rights, std::span<const BipartiteEdge> edges);

}  // namespace stellwerk::graph
