// What a link that has fallen idle is given, and what is done with a chunk that has just arrived
// (greedy_run.cpp).
#include "stellwerk/plan/greedy_state.hpp"

#include <algorithm>
#include <bit>

namespace stellwerk {
namespace {

constexpr std::size_t kFewNodes = 8;     // that many idle ways up are asked one by one
constexpr std::size_t kFewChanges = 16;  // up to that many changes at once are followed singly

}  // namespace

/// The rarest (fewest copies) of the first candidates met from a random place on.
std::int32_t GreedyRun::State::rarest(const Word* held, const Word* wanted, const Word* mask) {
  const std::size_t words = holds_.words();
  std::int32_t best = kNone;
  int seen = 0;
  const std::size_t begin = words > 1 ? rng_.below(words) : 0;
  for (std::size_t i = 0; i < words && seen < style_.rarest_of; ++i) {
    std::size_t w = begin + i;
    if (w >= words) w -= words;
    Word candidates = held[w] & wanted[w];
    if (mask != nullptr) candidates &= mask[w];
    for (; candidates != 0 && seen < style_.rarest_of; candidates &= candidates - 1, ++seen) {
      const auto c = static_cast<std::int32_t>(w * BitRows::kBits) + std::countr_zero(candidates);
      if (best == kNone ||
          copies_[static_cast<std::size_t>(c)] < copies_[static_cast<std::size_t>(best)])
        best = c;
    }
  }
  return best;
}

/// Under the relaxed rule: is this node so far behind that links between clusters may serve it?
bool GreedyRun::State::may_take_anything(NodeId head) const {
  if (style_.rule != GreedyStyle::Rule::relaxed) return false;
  if (!style_.only_behind) return true;
  return lack_[head] > *std::max_element(cluster_lack_.begin(), cluster_lack_.end());
}

/// Towards the end: would the head (or its cluster) not have everything sooner if its faster links
/// did the rest while this send lasts? If so they get the time that they need for it.
bool GreedyRun::State::pays(std::int32_t chunk, const std::vector<LinkId>& path,
                            std::int64_t rate) {
  if (!style_.wait) return true;
  const auto c = static_cast<std::size_t>(chunk);
  const LinkId last = path.back();
  const NodeId head = link(last).to;
  if (patience_[head] <= now_) return true;
  const auto bytes = static_cast<double>(problem_.chunks[chunk_[c]].bytes.value);
  const auto speed = static_cast<double>(capacity_[last.index()]);
  const double lasts = bytes / static_cast<double>(rate);
  const double own = static_cast<double>(rate) < speed ? speed : 0;
  double others = 0;  // what the faster links need, seconds
  const auto faster_are_sooner = [&](double lack, double per_byte, double faster) {
    const double share = (faster + own) * per_byte;
    if (lack >= lasts * share) return false;
    others = lack / share;
    return true;
  };
  bool refuse = faster_are_sooner(lack_[head], per_byte_[head], faster_[last]);
  if (!refuse && clustering_ != nullptr) {
    const auto k = static_cast<std::size_t>(clustering_->of[head]);
    refuse = needed_.test(k, c) &&
             faster_are_sooner(cluster_lack_[k], cluster_per_byte_[k], cluster_faster_[last]);
  }
  if (!refuse) return true;
  if (patience_[head] == Time::max()) {
    patience_[head] = now_ + Time{static_cast<std::int64_t>(others * 1e12)} + Time{1};
    events_.push(patience_[head], {What::woken, static_cast<std::uint32_t>(head.value), 0});
  }
  return false;
}

void GreedyRun::State::work_direct(LinkId id) {
  const NodeId from = link(id).from;
  const NodeId to = link(id).to;
  while (may_start(id) && can_send(from) && can_receive(to)) {
    path_.assign(1, id);
    if (possible_rate(path_) == 0) return;
    const bool between = clustering_ != nullptr && clustering_->of[from] != clustering_->of[to];
    const Word* held = holds_.row(from.index());
    const Word* wanted = wants_.row(to.index());
    std::int32_t chunk = rarest(held, wanted, between ? needs(to) : nullptr);
    if (chunk == kNone && between && may_take_anything(to)) chunk = rarest(held, wanted, nullptr);
    if (chunk == kNone || !pays(chunk, path_, possible_rate(path_))) return;
    start(chunk, from, path_);
  }
}

void GreedyRun::State::work_port(int fabric) {
  Port& port = ports_[static_cast<std::size_t>(fabric)];
  for (const std::int32_t p : port.pools) pools_[static_cast<std::size_t>(p)].known = false;
  if (port.pool != kNone) pools_[static_cast<std::size_t>(port.pool)].known = false;
  const std::size_t changes = port.freed.size() + port.risen.size() + port.arrivals.size();
  if (changes > kFewChanges) {
    port.freed.clear();
    port.risen.clear();
    port.arrivals.clear();
    serve_all(fabric);
    return;
  }
  std::vector<LinkId> freed, risen;
  std::vector<std::pair<NodeId, std::int32_t>> arrivals;
  freed.swap(port.freed);
  risen.swap(port.risen);
  arrivals.swap(port.arrivals);
  for (const auto& [node, chunk] : arrivals) serve_arrival(fabric, node, chunk);
  for (const LinkId id : freed) {
    while (serve_head(fabric, id, false)) {
    }
  }
  for (const LinkId id : risen) serve_rising(fabric, id);
}

/// All idle ways down choose.
void GreedyRun::State::serve_all(int fabric) {
  const Fabric& all = fabrics_.all()[static_cast<std::size_t>(fabric)];
  Port& port = ports_[static_cast<std::size_t>(fabric)];
  heads_.clear();
  for (std::size_t w = 0; w < port.idle.size(); ++w) {
    for_each_bit(port.idle[w], w * BitRows::kBits,
                 [&](std::size_t i) { heads_.push_back(all.down[i]); });
  }
  rng_.shuffle(heads_);
  if (style_.neediest_first) {
    std::stable_sort(heads_.begin(), heads_.end(),
                     [&](LinkId a, LinkId b) { return lack_[link(a).to] > lack_[link(b).to]; });
  }
  std::vector<LinkId> heads;
  heads.swap(heads_);
  for (const LinkId id : heads) {
    while (serve_head(fabric, id, true)) {
    }
  }
  heads_.swap(heads);
}

/// Finds one send into an idle way down; false if there is none.
bool GreedyRun::State::serve_head(int fabric, LinkId down, bool many) {
  const NodeId head = link(down).to;
  if (!may_start(down) || !can_receive(head) || wanted_[head] == 0) return false;
  const Port& port = ports_[static_cast<std::size_t>(fabric)];
  const std::int32_t own = pool_of_[link(down).from];
  const std::int32_t everybody = port.pool != kNone ? port.pool : own;
  if (!port.several_clusters || clustering_ == nullptr)
    return serve_from_pool(everybody, down, nullptr, many);
  if (serve_from_pool(everybody, down, needs(head), many)) return true;
  if (clustering_->inner[link(down).from] != 0 && serve_from_pool(own, down, nullptr, many))
    return true;
  return may_take_anything(head) && serve_from_pool(everybody, down, nullptr, many);
}

bool GreedyRun::State::serve_from_pool(std::int32_t number, LinkId down, const Word* mask,
                                       bool many) {
  Pool& pool = pools_[static_cast<std::size_t>(number)];
  const NodeId head = link(down).to;
  const std::size_t nodes = pool.count;
  if (nodes == 0) return false;
  if (nodes <= kFewNodes || !many) {
    if (nodes > kFewNodes && serve_by_chunks(pool, down, mask)) return true;
    // Ask them one by one, from a random one on; take the rarest that three of them offer.
    std::vector<NodeId> senders;
    for (std::size_t w = 0; w < pool.free.size(); ++w) {
      for_each_bit(pool.free[w], w * BitRows::kBits,
                   [&](std::size_t i) { senders.emplace_back(i); });
    }
    const std::size_t begin = rng_.below(senders.size());
    NodeId best_sender;
    std::int32_t best = kNone;
    int offers = 0;
    for (std::size_t i = 0; i < senders.size() && offers < 3; ++i) {
      const NodeId sender = senders[(begin + i) % senders.size()];
      if (sender == head) continue;
      const std::int32_t chunk = rarest(holds_.row(sender.index()), wants_.row(head.index()), mask);
      if (chunk == kNone) continue;
      ++offers;
      if (best == kNone ||
          copies_[static_cast<std::size_t>(chunk)] < copies_[static_cast<std::size_t>(best)]) {
        best = chunk;
        best_sender = sender;
      }
    }
    return best != kNone && start_from(best_sender, best, down);
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!pool.known) collect_holdings(pool);
    const std::int32_t chunk = rarest(pool.holdings.data(), wants_.row(head.index()), mask);
    if (chunk == kNone) return false;
    scratch_.resize(pool.free.size());
    for (std::size_t w = 0; w < scratch_.size(); ++w)
      scratch_[w] = pool.free[w] & holders_.row(static_cast<std::size_t>(chunk))[w];
    if (start_from(scratch_.data(), chunk, down)) return true;
    if (pool.fresh) return false;
    pool.known = false;
  }
  return false;
}

/// With many idle senders some random wanted chunk is likely to be with one of them.
bool GreedyRun::State::serve_by_chunks(Pool& pool, LinkId down, const Word* mask) {
  const NodeId head = link(down).to;
  const Word* wanted = wants_.row(head.index());
  const std::size_t words = holds_.words();
  const std::size_t begin = rng_.below(words);
  std::int32_t best = kNone;
  int tried = 0;
  int offers = 0;
  constexpr int kMostTried = 64;
  for (std::size_t i = 0; i < words && tried < kMostTried && offers < kTries; ++i) {
    const std::size_t w = (begin + i) % words;
    Word candidates = mask == nullptr ? wanted[w] : wanted[w] & mask[w];
    for (; candidates != 0 && tried < kMostTried && offers < kTries;
         candidates &= candidates - 1, ++tried) {
      const std::size_t c =
          w * BitRows::kBits + static_cast<std::size_t>(std::countr_zero(candidates));
      const Word* holders = holders_.row(c);
      bool held = false;
      for (std::size_t v = 0; v < pool.free.size() && !held; ++v)
        held = (holders[v] & pool.free[v]) != 0;
      if (!held) continue;
      ++offers;
      if (best == kNone || copies_[c] < copies_[static_cast<std::size_t>(best)])
        best = static_cast<std::int32_t>(c);
    }
  }
  if (best == kNone) return false;
  scratch_.resize(pool.free.size());
  for (std::size_t v = 0; v < scratch_.size(); ++v)
    scratch_[v] = pool.free[v] & holders_.row(static_cast<std::size_t>(best))[v];
  return start_from(scratch_.data(), best, down);
}

void GreedyRun::State::collect_holdings(Pool& pool) {
  pool.holdings.assign(holds_.words(), 0);
  for (std::size_t w = 0; w < pool.free.size(); ++w) {
    for_each_bit(pool.free[w], w * BitRows::kBits, [&](std::size_t node) {
      const Word* held = holds_.row(node);
      for (std::size_t i = 0; i < pool.holdings.size(); ++i) pool.holdings[i] |= held[i];
    });
  }
  pool.known = pool.fresh = true;
}

/// May the node get the chunk from that sender over that way down?
bool GreedyRun::State::allowed(NodeId sender, NodeId head, std::int32_t chunk, LinkId down) const {
  if (clustering_ == nullptr) return true;
  const auto to = static_cast<std::size_t>(clustering_->of[head]);
  if (needed_.test(to, static_cast<std::size_t>(chunk))) return true;
  if (clustering_->of[sender] == clustering_->of[head] && clustering_->inner[link(down).from] != 0)
    return true;
  return may_take_anything(head);
}

/// A node has got a chunk and can send it: some idle way down wants it.
void GreedyRun::State::serve_arrival(int fabric, NodeId sender, std::int32_t chunk) {
  const Fabric& all = fabrics_.all()[static_cast<std::size_t>(fabric)];
  Port& port = ports_[static_cast<std::size_t>(fabric)];
  for (int tries = 0; tries < kTries; ++tries) {
    LinkId best;
    for (std::size_t w = 0; w < port.idle.size(); ++w) {
      for_each_bit(port.idle[w], w * BitRows::kBits, [&](std::size_t i) {
        const LinkId down = all.down[i];
        const NodeId head = link(down).to;
        if (!wants_.test(head.index(), static_cast<std::size_t>(chunk))) return;
        if (best.valid() && lack_[head] <= lack_[link(best).to]) return;
        if (allowed(sender, head, chunk, down)) best = down;
      });
    }
    if (!best.valid() || !start_from(sender, chunk, best)) return;
  }
}

/// A way up has fallen idle: some idle way down wants what its node holds.
void GreedyRun::State::serve_rising(int fabric, LinkId up) {
  const Fabric& all = fabrics_.all()[static_cast<std::size_t>(fabric)];
  Port& port = ports_[static_cast<std::size_t>(fabric)];
  const NodeId sender = link(up).from;
  const std::size_t words = port.idle.size();
  if (words == 0) return;
  const Word* held = holds_.row(sender.index());
  const std::size_t begin = rng_.below(words);
  int hits = 0;
  for (std::size_t i = 0; i < words; ++i) {
    const std::size_t w = (begin + i) % words;
    for (Word word = port.idle[w]; word != 0; word &= word - 1) {
      if (!may_start(up) || !can_send(sender)) return;
      const LinkId down =
          all.down[w * BitRows::kBits + static_cast<std::size_t>(std::countr_zero(word))];
      const NodeId head = link(down).to;
      if (head == sender || wanted_[head] == 0) continue;
      const Word* wanted = wants_.row(head.index());
      const bool free_choice =
          clustering_ == nullptr || !port.several_clusters ||
          (clustering_->inner[link(down).from] != 0 && link(up).to == link(down).from);
      std::int32_t chunk = rarest(held, wanted, free_choice ? nullptr : needs(head));
      if (chunk == kNone && !free_choice && may_take_anything(head))
        chunk = rarest(held, wanted, nullptr);
      if (chunk == kNone) continue;
      if (!start_from(sender, chunk, down) && ++hits >= kTries) return;
    }
  }
}

}  // namespace stellwerk
