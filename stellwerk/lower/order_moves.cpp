// Problem: a program has many places for partial sums on a GPU and sends what lies in one of them; in a plan a node has one partial sum
// of a chunk, into which everything that arrives is merged, and sends all of it. Is there an order of the program's
// transfers in which the two are the same? Idea: of each sum at each node, line up what leaves: the one partial sum grows until a send
// takes it away (reduce; a share leaves it). What is sent must hold all that is there; what arrives and is not in it must come later than it leaves.
// That gives constraints on rounds: a move comes after what it brings has come (one round later), and what must not be in a send
// does not arrive before that send begins (not in an earlier round). The least solution of those difference constraints is
// taken, and the greatest one; exchanges (two GPUs send each other their sums) are in one round. A thread block's own transfers keep their order where that
// contradicts nothing. Guarantee: if every move begins when its round does and ends before the next, all senders have what the program
// sent. An order is not always found where one exists, since what leaves is lined up once. Cost: moves * parts, and the
// constraints. Held to its word by tests/conformance/programs_test.cpp.
#include <algorithm>
#include <set>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/difference_constraints.hpp"
#include "stellwerk/lower/moves.hpp"

namespace stellwerk::lower {
namespace {

/// One chunk's sum at one node.
struct Story {
  std::vector<std::int32_t> leaving, whole, arriving;  ///< moves; leaving: partial sums
  std::map<std::int32_t, int> uses;                    ///< of parts, by leaving moves to come
  std::set<std::int32_t> kept;                         ///< parts that stay to the end
};

class Ordering {
 public:
  Ordering(const Problem& problem, Moves& moves, const std::string& file)
      : problem_(problem), list_(moves.list), forwarded_(moves.forwarded), file_(file) {
    for (std::size_t m = 0; m < list_.size(); ++m) {
      const Move& move = list_[m];
      const auto number = static_cast<std::int32_t>(m);
      for (const std::int32_t part : move.parts) {
        if (part != Move::kOwn) after(part, number, 1);
      }
      if (!problem.chunks[move.chunk].is_reduction()) continue;
      Story& here = stories_[{move.chunk, move.from}];
      (move.whole ? here.whole : here.leaving).push_back(number);
      stories_[{move.chunk, move.to}].arriving.push_back(number);
    }
    for (auto& [where, parts] : moves.kept) {
      const auto found = stories_.find(where);
      if (found != stories_.end()) found->second.kept.insert(parts.begin(), parts.end());
    }
  }

  Rounds rounds() {
    for (auto& [where, story] : stories_) line_up(where.first, where.second, story);
    std::map<std::pair<int, int>, std::int32_t> last;  // of a thread block
    std::vector<DifferenceArc> in_blocks = arcs_;
    for (std::size_t m = 0; m < list_.size(); ++m) {
      if (!list_[m].begins) continue;
      const auto number = static_cast<std::int32_t>(m);
      const auto [entry, first] =
          last.try_emplace({list_[m].step.gpu, list_[m].step.block}, number);
      if (!first) in_blocks.push_back({entry->second, number, 0});
      entry->second = number;
    }
    if (auto result = solution(in_blocks)) return std::move(*result);
    if (auto result = solution(arcs_)) return std::move(*result);
    // Copies alone are in the order in which the program was run: some partial sum is in every circle.
    const auto sum = std::find_if(list_.begin(), list_.end(),
                                  [](const Move& move) { return move.op != Op::copy; });
    refuse(sum == list_.end() ? list_.front() : *sum,
           "its partial sum and others wait for each other in a circle");
  }

 private:
  /// Nothing if the constraints contradict each other.
  std::optional<Rounds> solution(const std::vector<DifferenceArc>& arcs) const {
    const std::vector<std::int64_t> from_zero(list_.size(), 0);
    auto early = least_solution(from_zero, arcs);
    if (!early) return std::nullopt;
    // The latest ones are the least ones counted from the end.
    std::vector<DifferenceArc> backwards;
    for (const DifferenceArc& arc : arcs) backwards.push_back({arc.to, arc.from, arc.lag});
    const std::int64_t last = early->empty() ? 0 : *std::max_element(early->begin(), early->end());
    std::vector<std::int64_t> known;
    for (const std::int64_t round : *early) known.push_back(last - round);
    auto late = least_solution(from_zero, backwards, known);
    if (!late) return std::nullopt;
    const std::int64_t end = late->empty() ? 0 : *std::max_element(late->begin(), late->end());
    for (std::int64_t& round : *late) round = end - round;
    return Rounds{std::move(*early), std::move(*late)};
  }

  void after(std::int32_t earlier, std::int32_t later, std::int64_t rounds) {
    arcs_.push_back({earlier, later, rounds});
  }
  Move& move(std::int32_t number) { return list_[static_cast<std::size_t>(number)]; }

  void line_up(ChunkId chunk, NodeId node, Story& story) {
    for (const std::int32_t m : story.whole)
      story.kept.insert(move(m).parts.begin(), move(m).parts.end());
    for (const std::int32_t m : story.leaving) {
      for (const std::int32_t part : move(m).parts) ++story.uses[part];
    }
    const std::vector<NodeId>& all = problem_.chunks[chunk].contributors;
    std::vector<std::int32_t> held;
    if (std::find(all.begin(), all.end(), node) != all.end()) held = {Move::kOwn};
    std::set<std::int32_t> merged;
    std::int32_t last = -1;
    for (std::vector<std::int32_t> rest = story.leaving; !rest.empty();) {
      const std::size_t k = next(rest, held);
      const std::int32_t m = rest[k];
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(k));
      if (last >= 0) {
        after(last, m, 0);
        for (const std::int32_t part : move(m).parts) {
          if (part != Move::kOwn && merged.insert(part).second) after(last, part, 0);
        }
      } else {
        merged.insert(move(m).parts.begin(), move(m).parts.end());
      }
      bool stays = false;
      for (const std::int32_t part : move(m).parts)
        stays = --story.uses[part] > 0 || story.kept.contains(part) || stays;
      move(m).op = stays ? Op::share : Op::reduce;
      held = stays ? move(m).parts : std::vector<std::int32_t>{};
      last = m;
    }
    for (const std::int32_t m : story.arriving) {
      if (last >= 0 && !merged.contains(m)) after(last, m, 0);
      // A full sum comes after the partial sums that are merged.
      if (!move(m).whole) continue;
      for (const std::int32_t other : story.arriving) {
        if (!move(other).whole) after(other, m, 1);
      }
    }
  }

  /// Which of the sends that are left can be the next if `held` is there: the first one, or one before it that it contains.
  std::size_t next(const std::vector<std::int32_t>& rest, const std::vector<std::int32_t>& held) {
    const auto holds = [](const std::vector<std::int32_t>& all,
                          const std::vector<std::int32_t>& some) {
      return std::includes(all.begin(), all.end(), some.begin(), some.end());
    };
    std::size_t best = rest.size();
    for (std::size_t k = 0; k < rest.size(); ++k) {
      const auto& parts = move(rest[k]).parts;
      if (!holds(parts, held)) continue;
      if (best == rest.size() ||
          (parts.size() < move(rest[best]).parts.size() && holds(move(rest[best]).parts, parts)))
        best = k;
    }
    if (best < rest.size()) return best;
    const Move& stuck = move(rest.front());
    refuse(stuck, "sends a part of what " + problem_.topology.node(stuck.from).name +
                      " has of a sum and keeps another part that it needs");
  }

  [[noreturn]] void refuse(const Move& move, const std::string& why) const {
    throw Error(ErrorCode::unreadable_input,
                file_ + ": " + to_string(move.step) + ": " + why +
                    ", but a GPU has one partial sum of a chunk in a plan" +
                    (forwarded_ == 0 ? ""
                                     : " (on topology '" + problem_.topology.name() + "' " +
                                           std::to_string(forwarded_) +
                                           " transfers go over other GPUs: give the network that "
                                           "the program is for)"));
  }

  const Problem& problem_;
  std::vector<Move>& list_;
  std::size_t forwarded_;
  const std::string& file_;
  std::vector<DifferenceArc> arcs_;
  std::map<std::pair<ChunkId, NodeId>, Story> stories_;
};

}  // namespace

Rounds order_moves(const Problem& problem, Moves& moves, const std::string& file) {
  return Ordering(problem, moves, file).rounds();
}

}  // namespace stellwerk::lower
