#include "stellwerk/graph/entry_cuts.hpp"

#include <algorithm>
#include <bit>

namespace stellwerk::graph {
namespace {

constexpr std::int64_t kPlenty = std::int64_t{1} << 60;

std::size_t at(int number) { return static_cast<std::size_t>(number); }

}  // namespace

void EntryCuts::add(const std::vector<bool>& set, std::int64_t slack) {
  const std::size_t number = size();
  for (std::size_t v = 0; v < set.size(); ++v) {
    if (set[v]) holding_[v][number / 64] |= std::uint64_t{1} << (number % 64);
  }
  slack_.push_back(slack);
}

void EntryCuts::reach(Mask& reached, int vertex) const {
  const std::size_t words = (size() + 63) / 64;
  for (std::size_t w = 0; w < words; ++w) reached[w] |= holding_[at(vertex)][w];
}

template <class Visit>
void EntryCuts::for_each_entered_again(const Mask& reached, int from, int to,
                                       const Visit& visit) const {
  const std::size_t words = (size() + 63) / 64;
  for (std::size_t w = 0; w < words; ++w) {
    std::uint64_t bits = holding_[at(to)][w] & ~holding_[at(from)][w] & reached[w];
    for (; bits != 0; bits &= bits - 1)
      visit(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
  }
}

std::int64_t EntryCuts::room(const Mask& reached, int from, int to) const {
  std::int64_t room = kPlenty;
  for_each_entered_again(reached, from, to,
                         [&](std::size_t set) { room = std::min(room, slack_[set]); });
  return room;
}

void EntryCuts::take(const Mask& reached, int from, int to, std::int64_t copies) {
  for_each_entered_again(reached, from, to, [&](std::size_t set) { slack_[set] -= copies; });
}

}  // namespace stellwerk::graph
