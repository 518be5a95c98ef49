// A Schreier tree on every orbit of ranks (Sims 1970; Seress, Permutation Group Algorithms, 2003),
// grown breadth first. A generator of order m alone would give words of length m / 2, so its
// powers 2, 4, 8, ... are steps, too. Since the action on the ranks is free, the element that
// takes the base to a rank is unique, whatever word is found. Held to its word by images_test.cpp.
#include "stellwerk/bound/transversal.hpp"

#include <algorithm>

namespace stellwerk::bound {
namespace {

Permutation inverse(const Permutation& p) {
  Permutation result(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) result[p[i].index()] = NodeId(i);
  return result;
}

bool is_identity(const Permutation& p) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i].index() != i) return false;
  }
  return true;
}

}  // namespace

Transversal::Transversal(std::size_t nodes, const Symmetry& symmetry,
                         const std::vector<NodeId>& ranks)
    : base_(nodes), step_(nodes), orbit_of_(nodes, 0) {
  for (const Permutation& generator : symmetry.generators) {
    Permutation power = generator;
    // No element moves a rank through more than all ranks.
    for (std::size_t reach = 1; reach < 2 * ranks.size() && !is_identity(power); reach *= 2) {
      permutations_.push_back(power);
      Permutation square(nodes);
      for (std::size_t i = 0; i < nodes; ++i) square[i] = power[power[i].index()];
      power = std::move(square);
    }
  }
  for (const Permutation& p : permutations_) inverses_.push_back(inverse(p));

  std::vector<NodeId> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  for (const NodeId start : sorted) {
    if (base_[start.index()].valid()) continue;
    std::vector<NodeId> orbit = {start};
    base_[start.index()] = start;
    for (std::size_t i = 0; i < orbit.size(); ++i) {
      for (std::size_t p = 0; p < permutations_.size(); ++p) {
        const NodeId next = permutations_[p][orbit[i].index()];
        if (base_[next.index()].valid()) continue;
        base_[next.index()] = start;
        step_[next.index()] = {orbit[i], static_cast<std::int32_t>(p)};
        orbit.push_back(next);
      }
    }
    for (const NodeId node : orbit) orbit_of_[node.index()] = orbits_.size();
    order_ = static_cast<std::int64_t>(orbit.size());
    bases_.push_back(start);
    orbits_.push_back(std::move(orbit));
  }
}

Permutation Transversal::element(NodeId rank) const {
  std::vector<std::size_t> word;  // the last step first
  for (const NodeId base = base_[rank.index()]; rank != base; rank = step_[rank.index()].before) {
    word.push_back(static_cast<std::size_t>(step_[rank.index()].permutation));
  }
  Permutation result(base_.size());
  for (std::size_t v = 0; v < result.size(); ++v) result[v] = NodeId(v);
  for (std::size_t k = word.size(); k-- > 0;) {
    for (NodeId& node : result) node = permutations_[word[k]][node.index()];
  }
  return result;
}

NodeId Transversal::to_base(NodeId rank, NodeId node) const {
  const NodeId base = base_[rank.index()];
  while (rank != base) {
    const Step& step = step_[rank.index()];
    node = inverses_[static_cast<std::size_t>(step.permutation)][node.index()];
    rank = step.before;
  }
  return node;
}

NodeId Transversal::from_base(NodeId rank, NodeId node) const {
  if (rank == base_[rank.index()]) return node;
  const Step& step = step_[rank.index()];
  return permutations_[static_cast<std::size_t>(step.permutation)]
                      [from_base(step.before, node).index()];
}

}  // namespace stellwerk::bound
