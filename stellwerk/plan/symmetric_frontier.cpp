#include "stellwerk/plan/symmetric_frontier.hpp"

#include <limits>
#include <utility>

namespace stellwerk::symmetric {
namespace {

constexpr double kNobody = std::numeric_limits<double>::infinity();
/// Among nodes that are all offered for less, so many are looked at for the least well served one.
constexpr int kSample = 16;

}  // namespace

Frontier::Frontier(const Quotient& quotient, const Lanes& lanes)
    : quotient_(quotient), lanes_(lanes), states_(lanes.states()) {
  std::vector<char> seen(lanes.states(), 0);
  const auto fill = [&](int suffix) {
    const Lanes::Suffix& s = lanes.suffix(suffix);
    for (std::size_t p = quotient.first_port(s.orbit); p < quotient.first_port(s.orbit + 1); ++p) {
      const std::size_t number = lanes.state(p, suffix);
      if (seen[number] != 0) return;
      seen[number] = 1;
      const auto out = quotient.links(p);
      states_[number].first = links_.size();
      states_[number].count = static_cast<int>(out.size());
      links_.insert(links_.end(), out.begin(), out.end());
    }
  };
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    for (int suffix = lanes.lane(i).suffix; suffix >= 0; suffix = lanes.suffix(suffix).next)
      fill(suffix);
  }
}

void Frontier::shuffle(Rng& rng) {
  for (const State& s : states_) {
    for (std::size_t i = static_cast<std::size_t>(s.count); i > 1; --i)
      std::swap(links_[s.first + i - 1], links_[s.first + rng.below(i)]);
  }
}

void Frontier::reset(std::vector<char> closed) {
  closed_ = std::move(closed);
  for (State& s : states_) {
    s.alive = s.fresh = s.count;
    s.cost = kNobody;
  }
}

Frontier::Place Frontier::next(const Place& at, LinkId link) const {
  const int suffix = lanes_.suffix(at.suffix).next;
  return {quotient_.port(quotient_.topology().link(link).to, lanes_.suffix(suffix).orbit), suffix};
}

void Frontier::offer(NodeId holder, const Lane& lane, double cost) {
  offer(Place{quotient_.port(holder, lane.links.front()), lane.suffix}, cost);
}

void Frontier::offer(const Place& at, double cost) {
  State& s = state(at);
  if (s.cost <= cost) return;
  s.cost = cost;
  if (lanes_.suffix(at.suffix).next < 0) return;
  for (const LinkId link : quotient_.links(at.port)) offer(next(at, link), cost);
}

double Frontier::least_offer(NodeId node) const {
  double least = kNobody;
  for (const LinkId link : quotient_.topology().in(node)) {
    const int suffix = lanes_.last(quotient_.orbit(link));
    if (suffix < 0) continue;
    least = std::min(least, states_[lanes_.state(quotient_.port(link), suffix)].cost);
  }
  return least;
}

void Frontier::drop(State& s, int child) {
  LinkId* const links = &links_[s.first];
  if (child < s.fresh) {
    std::swap(links[child], links[s.fresh - 1]);
    child = --s.fresh;
  }
  std::swap(links[child], links[--s.alive]);
}

void Frontier::demote(State& s, int child) {
  LinkId* const links = &links_[s.first];
  std::swap(links[child], links[--s.fresh]);
}

bool Frontier::passed(NodeId node, const std::vector<LinkId>& links) const {
  for (const LinkId link : links) {
    if (quotient_.topology().link(link).from == node) return true;
  }
  return false;
}

bool Frontier::find(NodeId holder, const Lane& lane, double cheap, bool strict,
                    std::vector<LinkId>& links) {
  links.clear();
  return descend({quotient_.port(holder, lane.links.front()), lane.suffix}, cheap, strict, links);
}

bool Frontier::descend(const Place& at, double cheap, bool fresh_only, std::vector<LinkId>& links) {
  State& s = state(at);
  const bool last = lanes_.suffix(at.suffix).next < 0;
  for (int i = s.fresh - 1; i >= 0; --i) {
    const LinkId link = links_[s.first + static_cast<std::size_t>(i)];
    const NodeId head = quotient_.topology().link(link).to;
    if (last) {
      if (closed(head)) {
        drop(s, i);
      } else if (least_offer(head) < cheap) {
        demote(s, i);
      } else {
        links.push_back(link);
        return true;
      }
      continue;
    }
    if (passed(head, links)) continue;
    const Place below = next(at, link);
    links.push_back(link);
    if (state(below).fresh > 0 && descend(below, cheap, true, links)) return true;
    links.pop_back();
    if (state(below).alive == 0) {
      drop(s, i);
    } else if (state(below).fresh == 0) {
      demote(s, i);
    }
  }
  return !fresh_only && fallback(at, cheap, links);
}

/// A node that is offered for less: the one with the dearest offer among a few.
bool Frontier::fallback(const Place& at, double cheap, std::vector<LinkId>& links) {
  State& s = state(at);
  const bool last = lanes_.suffix(at.suffix).next < 0;
  LinkId best;
  double dearest = -1;
  int seen = 0;
  for (int i = s.alive - 1; i >= 0 && seen < kSample; --i) {
    const LinkId link = links_[s.first + static_cast<std::size_t>(i)];
    const NodeId head = quotient_.topology().link(link).to;
    if (last) {
      if (closed(head)) {
        drop(s, i);
        continue;
      }
      ++seen;
      const double offer = least_offer(head);
      if (offer > dearest) {
        dearest = offer;
        best = link;
      }
      continue;
    }
    if (passed(head, links)) continue;
    const Place below = next(at, link);
    links.push_back(link);
    if (state(below).alive > 0 && descend(below, cheap, false, links)) return true;
    links.pop_back();
    if (state(below).alive == 0) drop(s, i);
  }
  if (best.valid()) links.push_back(best);
  return best.valid();
}

bool Frontier::find_all(NodeId holder, const Lane& lane, std::size_t most,
                        std::vector<LinkId>& links) {
  links.clear();
  return collect({quotient_.port(holder, lane.links.front()), lane.suffix}, most, links) > 0;
}

std::size_t Frontier::collect(const Place& at, std::size_t most, std::vector<LinkId>& links) {
  State& s = state(at);
  const Topology& topology = quotient_.topology();
  const bool last = lanes_.suffix(at.suffix).next < 0;
  std::size_t found = 0;
  for (int i = s.alive - 1; i >= 0 && found < most; --i) {
    const LinkId link = links_[s.first + static_cast<std::size_t>(i)];
    const NodeId head = topology.link(link).to;
    if (last) {
      if (closed(head)) {
        drop(s, i);
        continue;
      }
      links.push_back(link);
      ++found;
    } else {
      if (passed(head, links)) continue;
      const Place below = next(at, link);
      links.push_back(link);
      const std::size_t here = state(below).alive > 0 ? collect(below, most - found, links) : 0;
      if (here == 0) links.pop_back();
      if (state(below).alive == 0) drop(s, i);
      found += here;
    }
    if (found > 0 && !topology.node(topology.link(link).from).multicast) break;
  }
  return found;
}

}  // namespace stellwerk::symmetric
