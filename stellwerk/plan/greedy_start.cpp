// Starting a send: over which way, at which rate, and what it takes (greedy_run.cpp).
#include "stellwerk/plan/greedy_state.hpp"

#include <algorithm>
#include <bit>

namespace stellwerk {

/// Starts the send from one of the candidates, a random one for which there is a way.
bool GreedyRun::State::start_from(const Word* candidates, std::int32_t chunk, LinkId down) {
  const std::size_t words = wanters_.words();
  const std::size_t begin = words > 1 ? rng_.below(words) : 0;
  int tries = 0;
  for (std::size_t i = 0; i < words; ++i) {
    const std::size_t w = (begin + i) % words;
    for (Word word = candidates[w]; word != 0; word &= word - 1) {
      const NodeId sender(w * BitRows::kBits + static_cast<std::size_t>(std::countr_zero(word)));
      if (start_from(sender, chunk, down)) return true;
      if (++tries >= kTries) return false;
    }
  }
  return false;
}

bool GreedyRun::State::start_from(NodeId sender, std::int32_t chunk, LinkId down) {
  const NodeId exit = link(down).from;
  if (!can_send(sender)) return false;
  for (const LinkId up : ups_[sender]) {
    if (!may_start(up) || link(up).fabric != link(down).fabric) continue;
    const auto& ways = fabrics_.inner_paths(link(up).to, exit);
    const std::size_t begin = ways.size() > 1 ? rng_.below(ways.size()) : 0;
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const std::vector<LinkId>& inner = ways[(begin + i) % ways.size()];
      path_.clear();
      path_.push_back(up);
      path_.insert(path_.end(), inner.begin(), inner.end());
      path_.push_back(down);
      const std::int64_t rate = possible_rate(path_);
      if (rate == 0 || !pays(chunk, path_, rate)) continue;
      start(chunk, sender, path_);
      return true;
    }
  }
  return false;
}

/// The rate at which a send over the path can start now; 0 if it should wait.
std::int64_t GreedyRun::State::possible_rate(const std::vector<LinkId>& path) const {
  const NodeId from = link(path.front()).from;
  const NodeId to = link(path.back()).to;
  std::int64_t full = std::min(capacity_[injection(from)], capacity_[ejection(to)]);
  std::int64_t rate = std::min(residual_[injection(from)], residual_[ejection(to)]);
  for (const LinkId id : path) {
    full = std::min(full, capacity_[id.index()]);
    rate = std::min(rate, residual_[id.index()]);
  }
  return rate >= (style_.share ? (full + 1) / 2 : full) ? rate : 0;
}

/// The chunk is on its way to the node.
void GreedyRun::State::promise(std::int32_t chunk, NodeId head) {
  const auto c = static_cast<std::size_t>(chunk);
  const auto bytes = static_cast<double>(problem_.chunks[chunk_[c]].bytes.value);
  wants_.reset(head.index(), c);
  wanters_.reset(c, head.index());
  --wanted_[head];
  lack_[head] -= bytes * per_byte_[head];
  if (demanded_.test(c, head.index())) {
    --left_;
    --missing_[c];
  }
  if (cluster_lack_.empty()) return;
  const auto k = static_cast<std::size_t>(input_.clusterings[style_.clustering].of[head]);
  if (!needed_.test(k, c)) return;
  needed_.reset(k, c);
  cluster_lack_[k] -= bytes * cluster_per_byte_[k];
}

/// Other idle ways down from the last switch that want the chunk take part in the same send.
void GreedyRun::State::join_others(std::int32_t chunk, NodeId from, std::vector<LinkId>& path,
                                   std::int64_t rate) {
  const NodeId exit = link(path.back()).from;
  const LinkId first = path.back();
  for (const LinkId down : topology_.out(exit)) {
    const NodeId head = link(down).to;
    if (down == first || head == from || head == link(first).to || !topology_.stores(head))
      continue;
    if (residual_[down.index()] < rate || residual_[ejection(head)] < rate) continue;
    if (!wants_.test(head.index(), static_cast<std::size_t>(chunk)) ||
        !allowed(from, head, chunk, down))
      continue;
    path.push_back(down);
    promise(chunk, head);
  }
}

void GreedyRun::State::start(std::int32_t chunk, NodeId from, std::vector<LinkId>& path) {
  const std::int64_t rate = possible_rate(path);
  const std::int64_t bytes = problem_.chunks[chunk_[static_cast<std::size_t>(chunk)]].bytes.value;
  if (bytes != last_bytes_ || rate != last_rate_) {
    last_bytes_ = bytes;
    last_rate_ = rate;
    last_duration_ = transmission_time(Bytes{bytes}, Bandwidth{rate});
  }
  const Time duration = last_duration_;
  const std::size_t stem = path.size() - 1;  // what comes after leaves the same switch
  promise(chunk, link(path.back()).to);
  ++copies_[static_cast<std::size_t>(chunk)];
  const NodeId exit = link(path.back()).from;
  const bool copies = path.size() > 1 && topology_.node(exit).multicast && groups_left_[exit] != 0;
  if (copies) join_others(chunk, from, path, rate);

  const auto flight = static_cast<std::uint32_t>(flights_.size());
  const auto first = static_cast<std::uint32_t>(flight_links_.size());
  flights_.push_back(
      {chunk, first, static_cast<std::uint32_t>(path.size()), now_, Bandwidth{rate}});
  flight_links_.insert(flight_links_.end(), path.begin(), path.end());

  const auto take = [&](std::size_t r) { residual_[r] -= rate; };
  std::uint32_t late = 0;
  const Time end = now_ + duration;
  Time before{0};
  take(injection(from));
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Wire& each = link(path[i]);
    take(resource(path[i]));
    const Time delay = before - each.least_before;
    if (delay > Time{0} || i >= 31) {
      if (i < 31) late |= std::uint32_t{1} << i;
      events_.push(end + delay,
                   {What::freed_late, flight, static_cast<std::uint32_t>(path[i].value)});
    }
    if (each.enters_node) {
      take(ejection(each.to));
      const Time reach = before + each.latency;
      if (each.capped_in) {
        events_.push(end + reach - fabrics_.least_into(each.to),
                     {What::freed_late, flight, static_cast<std::uint32_t>(ejection(each.to))});
      } else {
        residual_[ejection(each.to)] += rate;
      }
      const Time arrival = end + reach;
      events_.push(arrival, {What::arrived, flight, first + static_cast<std::uint32_t>(i)});
      if (demanded_.test(static_cast<std::size_t>(chunk), each.to.index()))
        finish_ = std::max(finish_, arrival);
    }
    if (i < stem) before += each.latency;
  }
  events_.push(end, {What::freed, flight, late});
  if (path.size() > stem + 1 && groups_left_[exit] > 0) {
    --groups_left_[exit];
    events_.push(end + before, {What::left_switch, flight, static_cast<std::uint32_t>(exit.value)});
  }

  for (const LinkId id : path) {
    const Wire& each = link(id);
    if (link(id).fabric < 0) continue;
    if (each.leaves_node) update_pool(each.from, each.to);
    if (each.enters_node) update_idle(id);
  }
  // Caps of a node concern its other links, too.
  if (link(path.front()).capped_out) {
    for (const LinkId id : ups_[from]) update_pool(from, link(id).to);
  }
  for (std::size_t i = stem; i < path.size(); ++i) {
    const NodeId head = link(path[i]).to;
    if (!link(path[i]).capped_in) continue;
    for (const LinkId id : topology_.in(head)) {
      if (link(id).fabric >= 0) update_idle(id);
    }
  }
}

}  // namespace stellwerk
