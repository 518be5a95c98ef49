// Pruning.
//
// Idea. Precedence says which arrivals each departure and each destination uses: those that first
// covered the chunk. Go backwards from the destinations, and from reduce and share sends, all of
// which count; what is not reached is waste.
//
// Guarantee. Everything that is kept waits only for what is kept, by the definition of reached; a
// copy that is dropped either arrived where the chunk (the full sum) was, or at a node that does
// nothing with it. O(N + E). Test: prune_test.cpp.
#include "stellwerk/check/prune.hpp"

#include <unordered_set>
#include <utility>
#include <vector>

#include "stellwerk/check/precedence.hpp"
#include "stellwerk/check/send_shapes.hpp"

namespace stellwerk {
namespace {

std::size_t index(std::int32_t number) { return static_cast<std::size_t>(number); }

class Needs {
 public:
  Needs(const Schedule& sends, const SendShapes& shapes, const Precedence& precedence)
      : precedence_(precedence),
        event_(shapes.events(), 0),
        activity_(index(precedence.activities), 0) {
    std::vector<std::size_t> first(activity_.size() + 1, 0);
    for (const Dependency& d : precedence.dependencies) ++first[index(d.to) + 1];
    for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    into_.resize(precedence.dependencies.size());
    std::vector<std::size_t> next(first.begin(), first.end() - 1);
    for (std::size_t d = 0; d < into_.size(); ++d)
      into_[next[index(precedence.dependencies[d].to)]++] = d;
    first_ = std::move(first);
    for (std::size_t i = 0; i < sends.size(); ++i) {
      if (sends[i].op != Op::copy) need(static_cast<std::int32_t>(i));
    }
    for (const Completion& completion : precedence.completions) {
      for (std::int32_t a = completion.first; a < completion.covering; ++a) {
        const Arrival& arrival = precedence.arrivals[index(a)];
        event_[index(arrival.event)] = 1;
        need(arrival.send);
      }
    }
    go_back();
  }

  bool event(std::int32_t number) const { return event_[index(number)] != 0; }

 private:
  void need(std::int32_t activity) {
    if (activity_[index(activity)] != 0) return;
    activity_[index(activity)] = 1;
    stack_.push_back(activity);
  }

  void go_back() {
    while (!stack_.empty()) {
      const std::size_t to = index(stack_.back());
      stack_.pop_back();
      for (std::size_t i = first_[to]; i < first_[to + 1]; ++i) {
        const Dependency& d = precedence_.dependencies[into_[i]];
        if (!d.data) continue;
        if (d.from_event >= 0) event_[index(d.from_event)] = 1;
        need(d.from);
      }
    }
  }

  const Precedence& precedence_;
  std::vector<char> event_, activity_;
  std::vector<std::size_t> first_, into_;
  std::vector<std::int32_t> stack_;
};

/// The part of a tree that leads to the leaves in `wanted`; links keep their order.
std::vector<LinkId> cut_back(const Topology& topology, const std::vector<LinkId>& links,
                             std::unordered_set<NodeId> wanted) {
  std::vector<LinkId> kept;
  for (std::size_t i = links.size(); i-- > 0;) {
    const Link& link = topology.link(links[i]);
    if (!wanted.contains(link.to)) continue;
    wanted.insert(link.from);
    kept.push_back(links[i]);
  }
  return {kept.rbegin(), kept.rend()};
}

}  // namespace

Schedule prune(const Problem& problem, const Schedule& sends) {
  const SendShapes shapes(problem.topology, sends);
  const Precedence precedence = find_precedence(problem, sends, shapes);
  const Needs needs(sends, shapes, precedence);
  Schedule result;
  result.reserve(sends.size());
  for (std::size_t i = 0; i < sends.size(); ++i) {
    if (sends[i].op != Op::copy) {
      result.push_back(sends[i]);
      continue;
    }
    const SendShapes::Range leaves = shapes.leaves(i);
    std::int32_t needed = 0;
    for (std::int32_t event = leaves.first; event < leaves.last; ++event)
      needed += needs.event(event) ? 1 : 0;
    if (needed == 0) continue;
    result.push_back(sends[i]);
    if (needed == leaves.size()) continue;
    std::unordered_set<NodeId> wanted;
    for (std::int32_t event = leaves.first; event < leaves.last; ++event) {
      if (needs.event(event)) wanted.insert(shapes.node(event));
    }
    result.back().links = cut_back(problem.topology, sends[i].links, std::move(wanted));
  }
  return result;
}

}  // namespace stellwerk
