// Whole pairs from shares: rounded down, the rest given out by a max-flow over pairs, at first at most
// one each, so that no pair is far from its share. Tests: logical_links_test.cpp.
#include <algorithm>

#include "stellwerk/graph/max_flow.hpp"
#include "stellwerk/plan/logical_network.hpp"

namespace stellwerk {
namespace {

constexpr std::int64_t kPlenty = std::int64_t{1} << 60;

std::size_t at(int number) { return static_cast<std::size_t>(number); }

/// What rounding left goes to wanted pairs, one each; then to any pairs in any number.
void give_out_rest(const LogicalNetwork& network, const std::vector<int>& in,
                   const std::vector<int>& out, const std::vector<double>& share,
                   std::vector<std::int64_t>& pairs, std::vector<std::int64_t>& row_left,
                   std::vector<std::int64_t>& column_left, Rng& rng) {
  const int rows = static_cast<int>(in.size());
  const int columns = static_cast<int>(out.size());
  for (int stage = 0; stage < 3; ++stage) {
    if (std::all_of(row_left.begin(), row_left.end(), [](auto left) { return left == 0; })) break;
    graph::MaxFlow flow(rows + columns + 2);
    for (int i = 0; i < rows; ++i) flow.add_arc(rows + columns, i, row_left[at(i)]);
    for (int j = 0; j < columns; ++j)
      flow.add_arc(rows + j, rows + columns + 1, column_left[at(j)]);
    std::vector<std::size_t> candidates;
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      const bool loop =
          !may_pair(network.edge(in[p / at(columns)]), network.edge(out[p % at(columns)]));
      if (loop || row_left[p / at(columns)] == 0 || column_left[p % at(columns)] == 0) continue;
      if (share[p] > (stage == 0 ? 0.05 : 0) || stage == 2) candidates.push_back(p);
    }
    rng.shuffle(candidates);
    std::vector<int> arcs;
    for (const std::size_t p : candidates) {
      arcs.push_back(flow.add_arc(static_cast<int>(p) / columns,
                                  rows + static_cast<int>(p) % columns, stage == 0 ? 1 : kPlenty));
    }
    flow.run(rows + columns, rows + columns + 1);
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      const std::int64_t more = flow.flow(arcs[c]);
      pairs[candidates[c]] += more;
      row_left[candidates[c] / at(columns)] -= more;
      column_left[candidates[c] % at(columns)] -= more;
    }
  }
}

}  // namespace

bool may_pair(const LogicalEdge& in, const LogicalEdge& out) {
  if (in.from == out.to) return false;
  auto a = in.via.begin();
  for (const int node : out.via) {
    while (a != in.via.end() && *a < node) ++a;
    if (a != in.via.end() && *a == node) return false;
  }
  return true;
}

std::vector<std::int64_t> round_shares(const LogicalNetwork& network, const std::vector<int>& in,
                                       const std::vector<int>& out,
                                       const std::vector<double>& share,
                                       std::vector<std::int64_t>& row_left,
                                       std::vector<std::int64_t>& column_left, Rng& rng) {
  std::vector<std::int64_t> pairs(share.size(), 0);
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (std::size_t j = 0; j < out.size(); ++j) {
      const std::size_t p = i * out.size() + j;
      const auto whole = static_cast<std::int64_t>(share[p] + 1e-9);
      pairs[p] = std::min({whole, row_left[i], column_left[j]});
      row_left[i] -= pairs[p];
      column_left[j] -= pairs[p];
    }
  }
  give_out_rest(network, in, out, share, pairs, row_left, column_left, rng);
  return pairs;
}

}  // namespace stellwerk
