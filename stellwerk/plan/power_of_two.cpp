#include "stellwerk/plan/power_of_two.hpp"

#include <bit>

namespace stellwerk {

PowerOfTwo::PowerOfTwo(const std::vector<NodeId>& ranks) {
  const std::size_t many = ranks.size() - std::bit_floor(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i < 2 * many && i % 2 == 0) {
      doubles_.push_back({ranks[i + 1], ranks[i]});
    } else {
      members_.push_back(ranks[i]);
    }
  }
}

int PowerOfTwo::steps() const { return std::countr_zero(members_.size()); }

void PowerOfTwo::add_doubling(std::size_t from, int first, std::vector<TreeEdge>& edges) const {
  for (std::size_t d = 1; d < members_.size(); ++d) {
    const std::size_t last = std::bit_floor(d);
    edges.push_back(
        {members_[from ^ d ^ last], members_[from ^ d], first + std::countr_zero(last)});
  }
}

void PowerOfTwo::add_halving(std::size_t to, int first, std::vector<TreeEdge>& edges) const {
  for (std::size_t d = 1; d < members_.size(); ++d) {
    const std::size_t last = std::bit_floor(d);
    edges.push_back(
        {members_[to ^ d ^ last], members_[to ^ d], first + steps() - 1 - std::countr_zero(last)});
  }
}

void PowerOfTwo::add_doubles(int step, std::vector<TreeEdge>& edges) const {
  for (const Double& pair : doubles_) edges.push_back({pair.member, pair.rank, step});
}

}  // namespace stellwerk
