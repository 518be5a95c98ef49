// The rules are those of docs/model.md, "Events". What is on its way to a leaf is lost when a link
// before the leaf fails while the last byte has not passed it, or the leaf is lost before the last
// byte is in. A reduce that reaches nobody gives its senders back what they had given away. A node
// that is lost has nothing any more.
//
// Chunks of data need one pass over the sends. Sums are replayed in order of time, one chunk after
// the other, as sets of contributors in bits. Cost: O(k) for k sends of data, O(k log k + k n / 64)
// for sums of n contributors. Tests: replan_test.cpp (cuts by hand), and the verifier, which has
// code of its own, on every spliced plan.
#include "stellwerk/plan/landing.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/check/byte_coverage.hpp"

namespace stellwerk {
namespace {

/// The first instant in (after, before).
std::int64_t first_between(const std::vector<Time>& instants, std::int64_t after,
                           std::int64_t before) {
  for (const Time at : instants) {
    if (at.ps > after && at.ps < before) return at.ps;
  }
  return Landing::kNever;
}

/// The last instant up to which everything at the node is gone; INT64_MIN without one.
std::int64_t last_loss(const NetworkState& state, NodeId node) {
  const auto& losses = state.losses[node];
  return losses.empty() ? INT64_MIN : losses.back().ps;
}

}  // namespace

Landing::Landing(const Problem& problem, const Schedule& sends, const NetworkState& state)
    : shapes_(problem.topology, sends) {
  start_.reserve(sends.size());
  for (const Send& send : sends) start_.push_back(send.start.ps);
  first_fate_.assign(sends.size(), -1);
  if (!state.any_failure) return;
  for (std::size_t i = 0; i < sends.size(); ++i) find_fate(problem, sends[i], i, state);
}

void Landing::find_fate(const Problem& problem, const Send& send, std::size_t number,
                        const NetworkState& state) {
  const Topology& topology = problem.topology;
  const SendShapes::Range links = shapes_.links(number);
  const SendShapes::Range leaves = shapes_.leaves(number);
  const std::int64_t start = start_[number];
  std::vector<std::int64_t> by_link;
  bool any = false;
  for (std::int32_t e = links.first; e < links.last; ++e) {
    const LinkId id = shapes_.link(e);
    const auto& failures = state.failures[id];
    std::int64_t lost = kNever;
    if (!failures.empty()) {
      lost = first_between(failures, start, begin(number, e) + shapes_.duration(number));
    }
    const NodeId head = topology.link(id).to;
    if (topology.stores(head) && !state.losses[head].empty()) {
      lost = std::min(lost, first_between(state.losses[head], start,
                                          begin(number, e) + topology.link(id).latency.ps +
                                              shapes_.duration(number)));
    }
    by_link.push_back(lost);
    any = any || lost != kNever;
  }
  if (!any) return;
  first_fate_[number] = static_cast<std::int32_t>(fates_.size());
  const auto count = static_cast<std::size_t>(links.size());
  if (shapes_.sources(number).size() > 1) {  // an in-tree: all or nothing
    std::fill(by_link.begin(), by_link.end(), *std::min_element(by_link.begin(), by_link.end()));
  } else {
    // Down the tree what is lost stays lost; up again, a link is lost when all behind it is.
    std::vector<std::int64_t> behind(count, -1);
    const auto before = [&](std::size_t i) -> std::optional<std::size_t> {
      for (std::size_t j = i; j-- > 0;) {
        if (topology.link(send.links[j]).to == topology.link(send.links[i]).from) return j;
      }
      return std::nullopt;
    };
    for (std::size_t i = 0; i < count; ++i) {
      if (const auto up = before(i)) by_link[i] = std::min(by_link[i], by_link[*up]);
    }
    for (std::size_t i = count; i-- > 0;) {
      if (behind[i] >= 0) by_link[i] = behind[i];
      if (const auto up = before(i)) behind[*up] = std::max(behind[*up], by_link[i]);
    }
  }
  fates_.insert(fates_.end(), by_link.begin(), by_link.end());
  fates_.insert(fates_.end(), static_cast<std::size_t>(shapes_.sources(number).size()), kNever);
  for (std::int32_t e = leaves.first; e < leaves.last; ++e) {
    std::int64_t lost = kNever;
    for (std::size_t i = 0; i < count; ++i) {
      if (topology.link(send.links[i]).to == shapes_.node(e)) lost = by_link[i];
    }
    fates_.push_back(lost);
  }
}

std::int64_t Landing::end(std::size_t send, std::int32_t link) const {
  const std::int64_t first = begin(send, link);
  return std::max(first, std::min(first + shapes_.duration(send), lost(send, link)));
}

namespace {

class Lander {
 public:
  Lander(const Problem& problem, const Schedule& sends, const Landing& landing,
         const NetworkState& state, std::uint64_t choice)
      : problem_(problem),
        sends_(sends),
        choice_(choice),
        landing_(landing),
        shapes_(landing.shapes()),
        state_(state),
        since_(problem.topology.nodes().size(), Time::max()),
        slot_(problem.topology.nodes().size(), -1) {}

  IdVector<ChunkId, ChunkState> run() {
    IdVector<ChunkId, ChunkState> result(problem_.chunks.size());
    sort_by_chunk();
    for (const ChunkId id : problem_.chunk_ids()) {
      const std::span<const std::uint32_t> own(by_chunk_.data() + first_[id.index()],
                                               by_chunk_.data() + first_[id.index() + 1]);
      problem_.chunks[id].is_reduction() ? sum(id, own, result[id]) : data(id, own, result[id]);
    }
    return result;
  }

 private:
  struct Piece {
    NodeId node;
    std::int64_t at;
    Bytes offset, bytes;
  };
  enum class Step : std::uint8_t { copy_in, merge, loss, recovery, share_out, reduce_out };
  struct Happening {
    std::int64_t at;
    Step step;
    NodeId node;
    std::uint32_t item;  // copies: a send; else a move
    auto key() const { return std::tie(at, step, node, item); }
  };
  struct Move {
    std::vector<std::uint32_t> sends;  // one, or its pieces
    bool complete = true;
    bool returns = false;  // reaches nobody: its senders get it back
  };
  using Bits = std::vector<std::uint64_t>;

  void sort_by_chunk() {
    first_.assign(problem_.chunks.size() + 1, 0);
    for (const Send& send : sends_) ++first_[send.chunk.index() + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    by_chunk_.resize(sends_.size());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t i = 0; i < sends_.size(); ++i)
      by_chunk_[next[sends_[i].chunk.index()]++] = i;
  }

  void hold(NodeId node, Time at) {
    if (at.ps <= last_loss(state_, node)) return;
    if (since_[node] == Time::max()) touched_.push_back(node);
    since_[node] = std::min(since_[node], at);
  }

  void data(ChunkId id, std::span<const std::uint32_t> own, ChunkState& result) {
    const Chunk& chunk = problem_.chunks[id];
    touched_.clear();
    pieces_.clear();
    for (const NodeId node : chunk.origins) hold(node, chunk.ready);
    for (const std::uint32_t s : own) {
      const SendShapes::Range leaves = shapes_.leaves(s);
      for (std::int32_t e = leaves.first; e < leaves.last; ++e) {
        const std::int64_t at = landing_.arrival(s, e);
        if (at == Landing::kNever) continue;
        if (sends_[s].bytes == chunk.bytes) {
          hold(shapes_.node(e), Time{at});
        } else {
          pieces_.push_back({shapes_.node(e), at, sends_[s].offset, sends_[s].bytes});
        }
      }
    }
    std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
      return std::tie(a.node, a.at, a.offset) < std::tie(b.node, b.at, b.offset);
    });
    for (std::size_t i = 0; i < pieces_.size();) {
      const NodeId node = pieces_[i].node;
      ByteCoverage coverage(chunk.bytes);
      bool held = false;
      for (; i < pieces_.size() && pieces_[i].node == node; ++i) {
        if (held || pieces_[i].at <= last_loss(state_, node)) continue;
        coverage.add(pieces_[i].offset, pieces_[i].bytes);
        held = coverage.complete();
        if (held) hold(node, Time{pieces_[i].at});
      }
    }
    give(result.holders);
  }

  /// Moves what `hold` has gathered into a list.
  void give(std::vector<Holding>& list) {
    std::sort(touched_.begin(), touched_.end());
    list.reserve(touched_.size());
    for (const NodeId node : touched_) {
      list.push_back({node, since_[node]});
      since_[node] = Time::max();
    }
    touched_.clear();
  }

  // --- Sums ---------------------------------------------------------------------------------------

  /// What a node has of the sum in hand.
  struct Part {
    NodeId node;
    Bits set;
    std::size_t size = 0;
    Time since;  // the last change
    std::optional<ByteCoverage> copies;
  };

  Part& part(NodeId node) {
    if (slot_[node] < 0) {
      slot_[node] = static_cast<std::int32_t>(parts_.size());
      parts_.push_back({node, Bits(words_, 0), 0, Time{0}, std::nullopt});
    }
    return parts_[static_cast<std::size_t>(slot_[node])];
  }

  static void unite(Part& to, const Bits& from, std::int64_t at) {
    to.size = 0;
    for (std::size_t w = 0; w < from.size(); ++w) {
      to.set[w] |= from[w];
      to.size += static_cast<std::size_t>(std::popcount(to.set[w]));
    }
    to.since = std::max(to.since, Time{at});
  }

  void clear(Part& part) {
    std::fill(part.set.begin(), part.set.end(), 0);
    part.size = 0;
    part.copies.reset();
  }

  /// From when on pieces belong to another move: a link of theirs fails, or the job leaves.
  std::int64_t end_of_pieces(const Send& send, const Chunk& chunk) const {
    std::int64_t end = state_.left[chunk.job.index()].ps;
    for (const LinkId id : send.links) {
      end = std::min(end, first_between(state_.failures[id], send.start.ps, Landing::kNever));
    }
    return end;
  }

  void find_moves(const Chunk& chunk, std::span<const std::uint32_t> own) {
    moves_.clear();
    std::vector<std::uint32_t> pieces;
    for (const std::uint32_t s : own) {
      if (sends_[s].op == Op::copy) continue;
      if (sends_[s].bytes == chunk.bytes) {
        moves_.push_back({{s}, true, false});
      } else {
        pieces.push_back(s);
      }
    }
    const auto key = [&](std::uint32_t s) {
      return std::tie(sends_[s].op, sends_[s].links, sends_[s].start, sends_[s].offset);
    };
    std::sort(pieces.begin(), pieces.end(),
              [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
    for (std::size_t i = 0; i < pieces.size();) {
      const Send& first = sends_[pieces[i]];
      const std::int64_t end = end_of_pieces(first, chunk);
      Move move{{}, false, false};
      Bytes bytes;
      for (; i < pieces.size() && bytes < chunk.bytes; ++i) {
        const Send& next = sends_[pieces[i]];
        if (next.op != first.op || next.links != first.links || next.start.ps >= end) break;
        move.sends.push_back(pieces[i]);
        bytes += next.bytes;
      }
      move.complete = bytes == chunk.bytes;
      moves_.push_back(std::move(move));
    }
  }

  void note_move(std::uint32_t m, const Chunk& chunk) {
    Move& move = moves_[m];
    const std::uint32_t first = move.sends.front();
    const Op op = sends_[first].op;
    std::int64_t lost = move.complete ? Landing::kNever : end_of_pieces(sends_[first], chunk);
    const SendShapes::Range leaves = shapes_.leaves(first);
    const SendShapes::Range sources = shapes_.sources(first);
    bool reaches_anybody = false;
    for (std::int32_t k = 0; k < leaves.size(); ++k) {
      std::int64_t at = move.complete ? 0 : Landing::kNever;
      for (const std::uint32_t s : move.sends) {
        const std::int32_t leaf = shapes_.leaves(s).first + k;
        at = std::max(at, landing_.arrival(s, leaf));
        lost = std::min(lost, landing_.lost(s, leaf));
      }
      if (at == Landing::kNever) continue;
      reaches_anybody = true;
      happenings_.push_back({at, Step::merge, shapes_.node(leaves.first + k), m});
    }
    move.returns = !reaches_anybody && op == Op::reduce;
    for (std::int32_t k = 0; k < sources.size(); ++k) {
      std::int64_t out = Landing::kNever;
      for (const std::uint32_t s : move.sends) {
        out = std::min(out, sends_[s].start.ps + shapes_.offset(shapes_.sources(s).first + k));
      }
      const NodeId node = shapes_.node(sources.first + k);
      happenings_.push_back({out, op == Op::share ? Step::share_out : Step::reduce_out, node, m});
      if (move.returns) happenings_.push_back({lost, Step::recovery, node, m});
    }
  }

  void sum(ChunkId id, std::span<const std::uint32_t> own, ChunkState& result) {
    const Chunk& chunk = problem_.chunks[id];
    const std::size_t contributors = chunk.contributors.size();
    words_ = (contributors + 63) / 64;
    parts_.clear();
    happenings_.clear();
    shadows_.clear();
    for (std::size_t i = 0; i < contributors; ++i) {
      Part& addend = part(chunk.contributors[i]);
      addend.set[i / 64] |= std::uint64_t{1} << (i % 64);
      ++addend.size;
      addend.since = chunk.ready;
    }
    find_moves(chunk, own);
    for (std::uint32_t m = 0; m < moves_.size(); ++m) note_move(m, chunk);
    for (const std::uint32_t s : own) {
      if (sends_[s].op != Op::copy) continue;
      const SendShapes::Range leaves = shapes_.leaves(s);
      for (std::int32_t e = leaves.first; e < leaves.last; ++e) {
        const std::int64_t at = landing_.arrival(s, e);
        if (at != Landing::kNever) happenings_.push_back({at, Step::copy_in, shapes_.node(e), s});
      }
    }
    if (state_.any_failure) {
      for (const NodeId node : problem_.topology.node_ids()) {
        for (const Time at : state_.losses[node]) {
          if (at < chunk.ready) continue;  // nobody has anything of it yet
          happenings_.push_back({at.ps, Step::loss, node, 0});
        }
      }
    }
    std::sort(happenings_.begin(), happenings_.end(),
              [](const Happening& a, const Happening& b) { return a.key() < b.key(); });
    in_flight_.assign(moves_.size(), {});
    for (const Happening& happening : happenings_) apply(happening, chunk);
    for (const Part& own_part : parts_) {
      if (own_part.size == contributors) hold(own_part.node, own_part.since);
    }
    give(result.holders);
    if (result.holders.empty()) {
      choose_parts(chunk, result);
    } else {
      for (const Part& each : parts_) {
        const bool some = each.size > 0 && each.size < contributors;
        if (some) result.surplus.push_back({each.node, each.since});
      }
    }
    for (const Part& each : parts_) slot_[each.node] = -1;
  }

  void apply(const Happening& happening, const Chunk& chunk) {
    Part& own = part(happening.node);
    const std::size_t all = chunk.contributors.size();
    switch (happening.step) {
      case Step::copy_in: {
        if (own.size == all) return;
        const Send& send = sends_[happening.item];
        if (!own.copies) own.copies.emplace(chunk.bytes);
        own.copies->add(send.offset, send.bytes);
        if (!own.copies->complete()) return;
        own.copies.reset();
        Bits full(words_, ~std::uint64_t{0});
        if (all % 64 != 0) full.back() = (std::uint64_t{1} << (all % 64)) - 1;
        unite(own, full, happening.at);
        return;
      }
      case Step::merge:
        unite(own, in_flight_[happening.item], happening.at);
        if (own.size == all) own.copies.reset();
        return;
      case Step::loss:
        clear(own);
        for (auto& [key, shadow] : shadows_) {
          if (key.second == happening.node) shadow.clear();
        }
        return;
      case Step::recovery: {
        const Bits& shadow = shadows_[{happening.item, happening.node}];
        if (!shadow.empty()) unite(own, shadow, happening.at);
        return;
      }
      case Step::share_out:
      case Step::reduce_out: {
        Bits& moving = in_flight_[happening.item];
        moving.resize(words_, 0);
        for (std::size_t w = 0; w < words_; ++w) moving[w] |= own.set[w];
        if (happening.step == Step::share_out) return;
        if (moves_[happening.item].returns) {
          shadows_[{happening.item, happening.node}] = own.set;
        }
        clear(own);
        return;
      }
    }
  }

  /// Disjoint parts that cover what there is, large ones first.
  void choose_parts(const Chunk& chunk, ChunkState& result) {
    std::vector<const Part*> order;
    for (const Part& each : parts_) {
      if (each.size > 0) order.push_back(&each);
    }
    // Of equal ones those that are where they are wanted.
    const auto key = [&](const Part* part) {
      const auto& wanting = chunk.destinations;
      const bool wanted = std::find(wanting.begin(), wanting.end(), part->node) != wanting.end();
      return std::tuple(part->node != chunk.owner, !wanted, part->node);
    };
    std::sort(order.begin(), order.end(),
              [&](const Part* a, const Part* b) { return key(a) < key(b); });
    if (choice_ > 0) Rng(choice_).shuffle(order);
    if (choice_ % 3 != 2) {  // every third choice takes parts as they come
      std::stable_sort(order.begin(), order.end(),
                       [](const Part* a, const Part* b) { return a->size > b->size; });
    }
    Bits covered(words_, 0);
    for (const Part* each : order) {
      bool disjoint = true;
      for (std::size_t w = 0; w < words_; ++w)
        disjoint = disjoint && (covered[w] & each->set[w]) == 0;
      if (!disjoint) {
        result.surplus.push_back({each->node, each->since});
        continue;
      }
      for (std::size_t w = 0; w < words_; ++w) covered[w] |= each->set[w];
      result.parts.push_back({each->node, each->since});
    }
    std::sort(result.parts.begin(), result.parts.end(),
              [](const Holding& a, const Holding& b) { return a.node < b.node; });
    for (std::size_t i = 0; i < chunk.contributors.size(); ++i) {
      const auto has = [&](const Bits& set) { return (set[i / 64] >> (i % 64) & 1) != 0; };
      if (has(covered)) continue;
      const bool nowhere = std::none_of(order.begin(), order.end(),
                                        [&](const Part* part) { return has(part->set); });
      if (nowhere && !result.gone) result.missing.clear();  // name one that is
      if (nowhere || !result.gone) result.missing.push_back(chunk.contributors[i]);
      result.gone = result.gone || nowhere;
    }
  }

  const Problem& problem_;
  const Schedule& sends_;
  const std::uint64_t choice_;
  const Landing& landing_;
  const SendShapes& shapes_;
  const NetworkState& state_;
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> by_chunk_;
  IdVector<NodeId, Time> since_;  // data; max: does not hold it
  std::vector<NodeId> touched_;
  std::vector<Piece> pieces_;
  // The sum in hand.
  std::size_t words_ = 0;
  IdVector<NodeId, std::int32_t> slot_;
  std::vector<Part> parts_;
  std::vector<Move> moves_;
  std::vector<Happening> happenings_;
  std::vector<Bits> in_flight_;
  std::map<std::pair<std::uint32_t, NodeId>, Bits> shadows_;
};

}  // namespace

IdVector<ChunkId, ChunkState> land(const Problem& problem, const Schedule& sends,
                                   const Landing& landing, const NetworkState& state,
                                   std::uint64_t choice) {
  return Lander(problem, sends, landing, state, choice).run();
}

}  // namespace stellwerk
