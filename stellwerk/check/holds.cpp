#include "stellwerk/check/holds.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

namespace stellwerk::check {
namespace {

std::string of_contributors(std::int32_t size, std::int32_t all) {
  return std::to_string(size) + " of " + std::to_string(all) + " contributors";
}

}  // namespace

Holds::Holds(const Problem& problem, const Flights& flights)
    : problem_(problem), flights_(flights), names_(problem) {
  states_.resize(problem.topology.nodes().size());
}

Holds::State& Holds::state(NodeId node) {
  State& state = states_[node];
  if (state.chunk != chunk_) {
    state = State{};
    state.chunk = chunk_;
    if (words_ > 0) {
      state.slot = static_cast<std::uint32_t>(sets_.size() / words_);
      sets_.resize(sets_.size() + words_, 0);
    }
  }
  return state;
}

const Holds::State* Holds::known(NodeId node) const {
  const State& state = states_[node];
  return state.chunk == chunk_ ? &state : nullptr;
}

std::optional<std::int64_t> Holds::since(NodeId node) const {
  const State* state = known(node);
  if (state == nullptr || state->since == kNever) return std::nullopt;
  return state->since;
}

std::string Holds::lacking(NodeId node) const {
  const Chunk& chunk = problem_.chunks[chunk_];
  const State* state = known(node);
  if (chunk.is_reduction()) {
    return "it ends with " + of_contributors(state == nullptr ? 0 : state->size, contributors());
  }
  return state == nullptr ? "nothing of it arrives" : "not all of its bytes arrive";
}

Judgement Holds::not_held(std::uint32_t send, const std::string& why) const {
  return found(Violation::not_held, "send " + std::to_string(send) + ", " +
                                        names_.send(flights_.send(send)) + ": " + why);
}

Judgement Holds::judge(ChunkId chunk, std::span<const std::uint32_t> sends) {
  chunk_ = chunk;
  pieces_.clear();
  spells_.clear();
  if (problem_.chunks[chunk].is_reduction()) return judge_sum(sends);
  words_ = 0;
  return judge_data(sends);
}

Judgement Holds::judge_data(std::span<const std::uint32_t> sends) {
  const Chunk& chunk = problem_.chunks[chunk_];
  const Topology& topology = problem_.topology;
  for (const NodeId origin : chunk.origins) {
    if (ever_lost(origin)) {
      pieces_.push_back({origin, chunk.ready.ps, 0, chunk.bytes.value});
    } else {
      state(origin).since = chunk.ready.ps;
    }
  }
  for (const std::uint32_t id : sends) {
    const Send& send = flights_.send(id);
    for (const Use& use : flights_.uses(id)) {
      const NodeId head = topology.link(use.link).to;
      if (!topology.stores(head) || !flights_.arrives(use)) continue;
      State& receiver = state(head);
      const std::int64_t at = flights_.last_in(use);
      if (send.bytes == chunk.bytes && !ever_lost(head)) {
        receiver.since = std::min(receiver.since, at);
      } else {
        pieces_.push_back({head, at, send.offset.value, send.offset.value + send.bytes.value});
      }
    }
  }
  // Pieces complete a chunk when the last missing byte is in.
  std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
    return std::tie(a.node, a.at) < std::tie(b.node, b.at);
  });
  for (std::size_t i = 0; i < pieces_.size();) {
    const NodeId node = pieces_[i].node;
    if (ever_lost(node)) {
      while (i < pieces_.size() && pieces_[i].node == node) ++i;
      continue;
    }
    State& receiver = state(node);
    ByteCover cover;
    bool complete = false;
    for (; i < pieces_.size() && pieces_[i].node == node; ++i) {
      if (complete || pieces_[i].at >= receiver.since) continue;
      cover.add(pieces_[i].begin, pieces_[i].end);
      complete = cover.covers(chunk.bytes.value);
      if (complete) receiver.since = pieces_[i].at;
    }
  }
  if (!flights_.changes().none()) find_spells();
  for (const std::uint32_t id : sends) {
    const Use& first = flights_.uses(id).front();  // a chunk of data has one source a send
    const NodeId source = topology.link(first.link).from;
    if (holds_at(source, first.begin)) continue;
    const std::optional<std::int64_t> held = since(source);
    return not_held(id, topology.node(source).name +
                            (held ? " holds it only from " + to_exact_string(Time{*held}) + " on"
                                  : " never holds it"));
  }
  return {};
}

/// Nodes that are lost at some time: from when to when they hold what comes in as `pieces_`.
void Holds::find_spells() {
  const std::int64_t bytes = problem_.chunks[chunk_].bytes.value;
  for (std::size_t i = 0; i < pieces_.size();) {
    const NodeId node = pieces_[i].node;
    const auto losses = flights_.changes().losses(node);
    std::size_t next = 0;  // loss
    ByteCover cover;
    std::int64_t since = kNever;
    const auto lose_before = [&](std::int64_t at) {  // arrivals at the instant of a loss are lost
      for (; next < losses.size() && losses[next] < at; ++next) {
        if (since != kNever) spells_.push_back({node, since, losses[next]});
        since = kNever;
        cover.clear();
      }
    };
    for (; i < pieces_.size() && pieces_[i].node == node; ++i) {
      if (losses.empty()) continue;
      lose_before(pieces_[i].at);
      cover.add(pieces_[i].begin, pieces_[i].end);
      if (since == kNever && cover.covers(bytes)) since = pieces_[i].at;
    }
    if (losses.empty()) continue;
    lose_before(kNever);
    if (since != kNever) spells_.push_back({node, since, kNever});
    state(node).since = since;
  }
}

bool Holds::holds_at(NodeId node, std::int64_t instant) const {
  const State* state = known(node);
  if (state != nullptr && state->since <= instant) return true;
  return std::any_of(spells_.begin(), spells_.end(), [&](const Spell& spell) {
    return spell.node == node && spell.since <= instant && instant < spell.until;
  });
}

Judgement Holds::judge_sum(std::span<const std::uint32_t> sends) {
  const Chunk& chunk = problem_.chunks[chunk_];
  words_ = (chunk.contributors.size() + 63) / 64;
  sets_.clear();
  covers_.clear();
  events_.clear();
  for (std::size_t i = 0; i < chunk.contributors.size(); ++i) {
    State& own = state(chunk.contributors[i]);
    node_set(own)[i / 64] |= std::uint64_t{1} << (i % 64);
    own.size = 1;
    if (contributors() == 1) own.since = chunk.ready.ps;
  }
  const Topology& topology = problem_.topology;
  for (const std::uint32_t id : sends) {
    const Send& send = flights_.send(id);
    // Nobody has anything to send earlier; so nothing arrives earlier either.
    if (send.start < chunk.ready) {
      return not_held(id, "its contributors have their addends only from " +
                              to_exact_string(chunk.ready) + " on");
    }
    if (send.op != Op::copy) continue;
    for (const Use& use : flights_.uses(id)) {
      const Link& link = topology.link(use.link);
      if (topology.stores(link.from))
        events_.push_back({use.begin, Step::copy_starts, link.from, id});
      if (topology.stores(link.to) && flights_.arrives(use)) {
        events_.push_back({flights_.last_in(use), Step::copy_arrives, link.to, id});
      }
    }
  }
  if (auto finding = gather_moves(sends)) return finding;
  add_move_events();
  if (!flights_.changes().none()) add_losses();
  std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
    return std::tie(a.at, a.step, a.node, a.item) < std::tie(b.at, b.step, b.node, b.item);
  });
  for (const Event& event : events_) {
    if (auto finding = apply(event)) return finding;
  }
  return {};
}

/// Puts pieces of reduces and shares together: in order of their starts, the pieces of one op over
/// the same links fill one move after the other.
Judgement Holds::gather_moves(std::span<const std::uint32_t> sends) {
  const std::int64_t whole = problem_.chunks[chunk_].bytes.value;
  moves_.clear();
  members_.clear();
  std::vector<std::uint32_t> pieces;
  for (const std::uint32_t id : sends) {
    const Send& send = flights_.send(id);
    if (send.op == Op::copy) continue;
    if (send.bytes.value == whole) {
      members_.push_back(id);
      moves_.push_back({static_cast<std::uint32_t>(members_.size() - 1),
                        static_cast<std::uint32_t>(members_.size()), send.op});
    } else {
      pieces.push_back(id);
    }
  }
  const auto same = [&](std::uint32_t a, std::uint32_t b) {
    return flights_.send(a).op == flights_.send(b).op &&
           flights_.send(a).links == flights_.send(b).links;
  };
  std::sort(pieces.begin(), pieces.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Send& x = flights_.send(a);
    const Send& y = flights_.send(b);
    return std::tie(x.op, x.links, x.start, x.offset, a) <
           std::tie(y.op, y.links, y.start, y.offset, b);
  });
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::size_t i = 0; i < pieces.size();) {
    // Pieces of one move have as many bytes as the chunk, and none of them twice.
    const std::size_t first = i;
    const std::int64_t failure = end_of_pieces(pieces[first]);
    std::int64_t bytes = 0;
    ranges.clear();
    for (; i < pieces.size() && bytes < whole && same(pieces[first], pieces[i]); ++i) {
      const Send& send = flights_.send(pieces[i]);
      if (send.start.ps >= failure) break;
      bytes += send.bytes.value;
      ranges.emplace_back(send.offset.value, send.offset.value + send.bytes.value);
    }
    std::sort(ranges.begin(), ranges.end());
    std::int64_t covered = 0;
    for (const auto& [begin, end] : ranges) {
      if (begin != covered) break;
      covered = end;
    }
    const bool complete = bytes == whole && covered == whole;
    if (!complete && failure == kNever) {
      const std::uint32_t id = pieces[first];
      return found(Violation::malformed_send,
                   "send " + std::to_string(id) + ", " + names_.send(flights_.send(id)) +
                       ": it and the next pieces of this " +
                       std::string(to_string(flights_.send(id).op)) +
                       " over the same links do not partition the chunk's " +
                       std::to_string(whole) + " bytes");
    }
    const auto begin = static_cast<std::uint32_t>(members_.size());
    members_.insert(members_.end(), pieces.begin() + static_cast<std::ptrdiff_t>(first),
                    pieces.begin() + static_cast<std::ptrdiff_t>(i));
    moves_.push_back({begin, static_cast<std::uint32_t>(members_.size()),
                      flights_.send(pieces[first]).op, complete ? kNever : failure});
  }
  return {};
}

/// From when on a piece can no longer belong to the same move as this one: a link of theirs fails, or
/// their job leaves.
std::int64_t Holds::end_of_pieces(std::uint32_t first_piece) const {
  const Changes& changes = flights_.changes();
  if (changes.none()) return kNever;
  const Send& send = flights_.send(first_piece);
  std::int64_t end = changes.leaves(problem_.chunks[chunk_].job).value_or(kNever);
  for (const LinkId link : send.links) {
    end = std::min(end, changes.failure(link, send.start.ps, kNever).value_or(kNever));
  }
  return end;
}

/// A move starts with its first piece and is merged with its last byte.
void Holds::add_move_events() {
  in_flight_.assign(moves_.size() * words_, 0);
  shadows_.clear();
  const Topology& topology = problem_.topology;
  for (std::uint32_t m = 0; m < moves_.size(); ++m) {
    const Move& move = moves_[m];
    const std::span<const Use> uses = flights_.uses(members_[move.first]);
    std::int64_t lost = move.excuse;  // when the first of it is lost
    bool reaches_anybody = false;
    for (std::size_t k = 0; k < uses.size(); ++k) {
      const Link& link = topology.link(uses[k].link);
      std::int64_t begin = uses[k].begin;
      std::int64_t end = flights_.last_in(uses[k]);
      bool arrives = move.excuse == kNever && flights_.arrives(uses[k]);
      lost = std::min(lost, flights_.lost_at(uses[k]));
      for (std::uint32_t piece = move.first + 1; piece < move.last; ++piece) {
        const Use& use = flights_.uses(members_[piece])[k];
        begin = std::min(begin, use.begin);
        end = std::max(end, flights_.last_in(use));
        arrives = arrives && flights_.arrives(use);
        lost = std::min(lost, flights_.lost_at(use));
      }
      if (topology.stores(link.from)) {
        const Step step = move.op == Op::reduce ? Step::reduce_starts : Step::share_starts;
        events_.push_back({begin, step, link.from, m});
      }
      if (topology.stores(link.to) && arrives) {
        reaches_anybody = true;
        events_.push_back({end, Step::merge, link.to, m});
      }
    }
    if (reaches_anybody || move.op != Op::reduce) continue;
    for (const Use& use : uses) {
      const NodeId tail = topology.link(use.link).from;
      if (!topology.stores(tail)) continue;
      shadows_[{m, tail}];
      events_.push_back({lost, Step::recovery, tail, m});
    }
  }
}

void Holds::add_losses() {
  for (const NodeId node : flights_.changes().ever_lost()) {
    if (known(node) == nullptr && events_.empty()) continue;
    for (const std::int64_t at : flights_.changes().losses(node)) {
      // Before it is ready nobody has anything of the sum.
      if (at < problem_.chunks[chunk_].ready.ps) continue;
      events_.push_back({at, Step::loss, node, 0});
    }
  }
}

void Holds::lose(NodeId node) {
  State& own = state(node);
  const std::span<std::uint64_t> set = node_set(own);
  std::fill(set.begin(), set.end(), 0);
  own.size = 0;
  own.since = kNever;
  if (own.cover >= 0) covers_[static_cast<std::size_t>(own.cover)].clear();
  for (auto& [key, shadow] : shadows_) {
    if (key.second == node) shadow.clear();
  }
}

/// The move has reached nobody: its sender has again what it had given away.
Judgement Holds::recover(const Event& event) {
  const std::vector<std::uint64_t>& shadow = shadows_.at({event.item, event.node});
  if (shadow.empty()) return {};  // the sender has been lost itself
  State& sender = state(event.node);
  if (auto finding = unite(node_set(sender), shadow, event, names_.node(event.node))) {
    return finding;
  }
  for (const std::uint64_t word : shadow) sender.size += std::popcount(word);
  if (sender.size == contributors()) becomes_full(sender, event.at);
  return {};
}

Judgement Holds::apply(const Event& event) {
  switch (event.step) {
    case Step::copy_arrives:
      copy_arrives(event);
      return {};
    case Step::merge:
      return merge(event);
    case Step::loss:
      lose(event.node);
      return {};
    case Step::recovery:
      return recover(event);
    case Step::copy_starts:
      return copy_starts(event);
    case Step::share_starts:
    case Step::reduce_starts:
      return move_starts(event);
  }
  return {};
}

Judgement Holds::copy_starts(const Event& event) {
  const State& source = state(event.node);
  if (source.size == contributors()) return {};
  return not_held(event.item, names_.node(event.node) + " has only " +
                                  of_contributors(source.size, contributors()) +
                                  ", and only the full sum can be copied");
}

void Holds::copy_arrives(const Event& event) {
  const Send& send = flights_.send(event.item);
  State& receiver = state(event.node);
  if (receiver.size == contributors()) return;  // waste
  if (send.bytes == problem_.chunks[chunk_].bytes) return becomes_full(receiver, event.at);
  if (receiver.cover < 0) {
    receiver.cover = static_cast<std::int32_t>(covers_.size());
    covers_.emplace_back();
  }
  ByteCover& cover = covers_[static_cast<std::size_t>(receiver.cover)];
  cover.add(send.offset.value, send.offset.value + send.bytes.value);
  if (cover.covers(problem_.chunks[chunk_].bytes.value)) becomes_full(receiver, event.at);
}

void Holds::becomes_full(State& state, std::int64_t at) {
  state.since = at;
  state.size = contributors();
  const std::span<std::uint64_t> set = node_set(state);
  std::fill(set.begin(), set.end(), ~std::uint64_t{0});
  if (state.size % 64 != 0) set.back() = (std::uint64_t{1} << (state.size % 64)) - 1;
  // What has arrived of a copy is of no use now; should the node give its sum away, it starts anew.
  if (state.cover >= 0) covers_[static_cast<std::size_t>(state.cover)].clear();
}

Judgement Holds::move_starts(const Event& event) {
  State& source = state(event.node);
  if (source.size == 0) {
    return not_held(
        members_[moves_[event.item].first],
        names_.node(event.node) + " has no part of the sum at " + to_exact_string(Time{event.at}));
  }
  // Parts of an in-tree meet at its switches.
  if (auto finding = unite(move_set(event.item), node_set(source), event, "a switch")) {
    return finding;
  }
  if (event.step == Step::reduce_starts) {
    const std::span<std::uint64_t> set = node_set(source);
    if (const auto shadow = shadows_.find({event.item, event.node}); shadow != shadows_.end()) {
      shadow->second.assign(set.begin(), set.end());
    }
    std::fill(set.begin(), set.end(), 0);
    source.size = 0;
    source.since = kNever;
  }
  return {};
}

Judgement Holds::merge(const Event& event) {
  State& receiver = state(event.node);
  const std::span<const std::uint64_t> part = move_set(event.item);
  if (auto finding = unite(node_set(receiver), part, event, names_.node(event.node))) {
    return finding;
  }
  for (const std::uint64_t word : part) receiver.size += std::popcount(word);
  if (receiver.size == contributors()) becomes_full(receiver, event.at);
  return {};
}

Judgement Holds::unite(std::span<std::uint64_t> to, std::span<const std::uint64_t> from,
                       const Event& event, const std::string& where) const {
  for (std::size_t w = 0; w < words_; ++w) {
    if (const std::uint64_t common = to[w] & from[w]; common != 0) {
      const auto position = w * 64 + static_cast<std::size_t>(std::countr_zero(common));
      const std::uint32_t send = members_[moves_[event.item].first];
      return found(
          Violation::merged_twice,
          "send " + std::to_string(send) + ", " + names_.send(flights_.send(send)) +
              ": the addend of " + names_.node(problem_.chunks[chunk_].contributors[position]) +
              " would be merged twice, at " + where + " at " + to_exact_string(Time{event.at}));
    }
    to[w] |= from[w];
  }
  return {};
}

}  // namespace stellwerk::check
