#include "stellwerk/lower/moves.hpp"

#include <algorithm>

#include "stellwerk/base/error.hpp"
#include "stellwerk/lower/ways.hpp"

namespace stellwerk::lower {
namespace {

using check::History;
using Kind = History::Item::Kind;

class Reading {
 public:
  Reading(const History& history, const Problem& problem, const ChunkOfPiece& chunk_of, bool waste,
          const std::string& file)
      : history_(history),
        problem_(problem),
        ranks_(problem.jobs.front().ranks),
        waste_(waste),
        file_(file),
        ways_(problem),
        notes_(history.size()) {
    for (const History::Result& result : history.results()) notes_[result.data].live = true;
    for (std::size_t id = history.size(); id-- > 1;) {
      if (!notes_[id].live) continue;
      notes_[item(id).first].live = true;
      notes_[item(id).second].live = true;
    }
    for (std::size_t id = 1; id < history.size(); ++id) note(id, chunk_of);
  }

  Moves read() {
    for (std::size_t id = 1; id < history_.size(); ++id) {
      if (item(id).kind == Kind::transfer) transfer(id);
    }
    for (const History::Result& result : history_.results()) {
      const std::optional<ChunkId> chunk = notes_[result.data].chunk;
      if (chunk && problem_.chunks[*chunk].is_reduction())
        moves_.kept[{*chunk, node(result.gpu)}] = parts(result.data);
    }
    return std::move(moves_);
  }

 private:
  struct Note {
    bool live = false;  ///< a result depends on it
    bool good = false;  ///< it is a chunk or a full sum, and so is all that it comes from
    std::optional<ChunkId> chunk;
    std::size_t addends = 0;  ///< of what is live, that is, of which none comes twice
    std::int32_t move = 0;    ///< transfer: the last one of its moves
  };

  const History::Item& item(std::size_t id) const {
    return history_.item(static_cast<History::Id>(id));
  }
  NodeId node(int gpu) const { return ranks_[static_cast<std::size_t>(gpu)]; }

  /// Nothing is ever subtracted: what is live in a program that is right is part of a result, so its addends are of one chunk.
  void note(std::size_t id, const ChunkOfPiece& chunk_of) {
    Note& note = notes_[id];
    const History::Item& what = item(id);
    const Note& first = notes_[what.first];
    switch (what.kind) {
      case Kind::addend:
        note.chunk = chunk_of(what.gpu, what.piece);
        note.addends = 1;
        break;
      case Kind::transfer:
        note.chunk = first.chunk;
        note.addends = first.addends;
        break;
      case Kind::sum:
        note.chunk = first.chunk;
        note.addends = first.addends + notes_[what.second].addends;
        break;
    }
    if (!note.chunk) return;
    const std::size_t all =
        std::max<std::size_t>(1, problem_.chunks[*note.chunk].contributors.size());
    note.good = what.kind == Kind::transfer ? first.good
                : what.kind == Kind::sum    ? note.live && note.addends == all
                                            : all == 1;
  }

  void transfer(std::size_t id) {
    const History::Item& what = item(id);
    Note& note = notes_[id];
    if (!note.chunk || !(note.live || (waste_ && note.good)) || (!note.live && what.in_switch)) {
      ++moves_.left_out;
      return;
    }
    if (what.in_switch)
      refuse(what.step,
             "a switch sums or multicasts, and plans are made of transfers between two GPUs here");
    const Chunk& chunk = problem_.chunks[*note.chunk];
    const NodeId from = node(what.from), to = node(what.gpu);
    const bool whole = note.addends == std::max<std::size_t>(1, chunk.contributors.size());
    if (ways_.between(from, to, chunk, whole).empty()) {
      refuse(what.step, "topology " + problem_.topology.name() + " does not join " +
                            problem_.topology.node(from).name + " to " +
                            problem_.topology.node(to).name);
    }
    std::vector<std::int32_t> brought = parts(what.first);
    const Way& way = ways_.take(from, to, chunk, whole);
    if (way.size() > 1) ++moves_.forwarded;
    for (std::size_t h = 0; h < way.size(); ++h) {
      Move& move = moves_.list.emplace_back();
      move.chunk = *note.chunk;
      move.links = way[h];
      move.from = problem_.topology.link(way[h].front()).from;
      move.to = problem_.topology.link(way[h].back()).to;
      move.whole = whole;
      move.parts = std::move(brought);
      move.step = what.step;
      move.begins = h == 0;
      note.move = static_cast<std::int32_t>(moves_.list.size()) - 1;
      brought = {note.move};
    }
  }

  /// What an item is made of on its own GPU.
  std::vector<std::int32_t> parts(History::Id id) const {
    std::vector<std::int32_t> result;
    std::vector<History::Id> open{id};
    while (!open.empty()) {
      const History::Id next = open.back();
      open.pop_back();
      const History::Item& what = item(next);
      if (what.kind == Kind::sum) {
        open.push_back(what.first);
        open.push_back(what.second);
      } else {
        result.push_back(what.kind == Kind::addend ? Move::kOwn : notes_[next].move);
      }
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  [[noreturn]] void refuse(const History::Step& step, const std::string& why) const {
    throw Error(ErrorCode::unreadable_input, file_ + ": " + to_string(step) + ": " + why);
  }

  const History& history_;
  const Problem& problem_;
  const std::vector<NodeId>& ranks_;
  bool waste_;
  const std::string& file_;
  Ways ways_;
  std::vector<Note> notes_;
  Moves moves_;
};

}  // namespace

Moves moves_of(const History& history, const Problem& problem, const ChunkOfPiece& chunk_of,
               bool waste, const std::string& file) {
  return Reading(history, problem, chunk_of, waste, file).read();
}

}  // namespace stellwerk::lower
