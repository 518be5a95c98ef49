// Why this form (docs/adr/0011-residual-problems.md): bounds, reachability and planners then work on
// the residual as on any other problem; only what is on its way needs words of its own.
// Tests: replan_test.cpp.
#include "stellwerk/plan/residual.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "stellwerk/plan/landing.hpp"
#include "stellwerk/plan/slow_down.hpp"

namespace stellwerk {
namespace {

/// The state that the sends were made for: without what happens at `at`.
NetworkState before_events(const Problem& problem, const std::vector<Event>& events, Time at) {
  std::vector<Event> earlier;
  std::copy_if(events.begin(), events.end(), std::back_inserter(earlier),
               [&](const Event& event) { return event.at < at; });
  return after_events(problem, earlier);
}

/// Has some, but not all, of a sum's move over these links started? Its other pieces follow.
Schedule started(const Problem& problem, const Schedule& sends, Time at, const NetworkState& now) {
  Schedule result;
  std::map<std::tuple<ChunkId, Op, std::vector<LinkId>>, std::int64_t> begun;  // bytes that lack
  const auto is_piece = [&](const Send& send) {
    return send.op != Op::copy && send.bytes != problem.chunks[send.chunk].bytes;
  };
  for (const Send& send : sends) {
    if (send.start >= at) continue;
    result.push_back(send);
    if (!is_piece(send)) continue;
    std::int64_t& lacking = begun[{send.chunk, send.op, send.links}];
    if (lacking == 0) lacking = problem.chunks[send.chunk].bytes.value;
    lacking -= send.bytes.value;
  }
  if (begun.empty()) return result;
  std::vector<const Send*> later;
  for (const Send& send : sends) {
    if (send.start >= at && is_piece(send)) later.push_back(&send);
  }
  std::stable_sort(later.begin(), later.end(),
                   [](const Send* a, const Send* b) { return a->start < b->start; });
  for (const Send* send : later) {
    const auto found = begun.find({send->chunk, send->op, send->links});
    if (found == begun.end() || found->second == 0) continue;
    const bool possible = std::all_of(send->links.begin(), send->links.end(),
                                      [&](LinkId id) { return now.up(id); }) &&
                          !now.has_left(problem.chunks[send->chunk].job);
    if (!possible) continue;
    found->second -= send->bytes.value;
    result.push_back(*send);
  }
  return result;
}

class Cutter {
 public:
  Cutter(const Problem& problem, const std::vector<Event>& events, Time at, std::uint64_t choice)
      : choice_(choice),
        problem_(problem),
        topology_(problem.topology),
        before_(before_events(problem, events, at)),
        now_(after_events(problem, events)) {
    cut_.at = at;
  }

  Cut run(const Schedule& sends) {
    cut_.kept =
        slow_down(problem_, started(problem_, sends, cut_.at, now_), cut_.at, before_, now_);
    set_up_network();
    const Landing landing(problem_, cut_.kept, now_);
    const IdVector<ChunkId, ChunkState> states = land(problem_, cut_.kept, landing, now_, choice_);
    for (const ChunkId id : problem_.chunk_ids()) add_chunk(id, states[id]);
    for (std::size_t i = 0; i < cut_.kept.size(); ++i) add_busy(i, landing);
    return std::move(cut_);
  }

 private:
  void set_up_network() {
    Residual& rest = cut_.rest;
    IdVector<LinkId, Link> links;
    rest.inverse_link.resize(topology_.links().size());
    for (const LinkId id : topology_.link_ids()) {
      if (!now_.up(id)) continue;
      rest.inverse_link[id] = LinkId(links.size());
      rest.link.push_back(id);
      Link link = topology_.link(id);
      link.bandwidth = now_.bandwidth[id];
      links.push_back(std::move(link));
    }
    rest.problem.topology =
        Topology(topology_.name(), topology_.note(), topology_.nodes(), std::move(links));
    rest.problem.jobs = problem_.jobs;
    rest.problem.relays = problem_.relays;
  }

  void add_chunk(ChunkId id, const ChunkState& state) {
    const Chunk& chunk = problem_.chunks[id];
    if (now_.has_left(chunk.job)) return;
    const auto holding = [&](NodeId node) -> const Holding* {
      const auto found = std::lower_bound(state.holders.begin(), state.holders.end(), node,
                                          [](const Holding& a, NodeId b) { return a.node < b; });
      return found != state.holders.end() && found->node == node ? &*found : nullptr;
    };
    Chunk rest{chunk.job,   chunk.bytes, {},        {}, std::max(Time{0}, chunk.ready - cut_.at),
               chunk.owner, {},          chunk.slot};
    for (const NodeId node : chunk.destinations) {
      if (now_.lost[node] != 0) continue;
      if (const Holding* own = holding(node)) {
        cut_.landed = std::max(cut_.landed, own->at);
      } else {
        rest.destinations.push_back(node);
      }
    }
    if (rest.destinations.empty()) return;
    std::vector<Release> late, unsettled;
    std::vector<NodeId> barred;
    for (const Holding& each : state.surplus) {
      if (each.at >= cut_.at) unsettled.push_back({each.node, each.at - cut_.at});
    }
    const auto take = [&](const std::vector<Holding>& list, std::vector<NodeId>& nodes) {
      for (const Holding& each : list) {
        nodes.push_back(each.node);
        if (each.at - cut_.at > rest.ready) late.push_back({each.node, each.at - cut_.at});
      }
    };
    if (!state.holders.empty()) {
      take(state.holders, rest.origins);
    } else {
      take(state.parts, rest.contributors);
      if (!chunk.is_reduction() || rest.contributors.empty() || state.gone) report_loss(id, state);
      cut_.incomplete = cut_.incomplete || !state.missing.empty();
      cut_.choices = cut_.choices || !state.surplus.empty();
      for (const Holding& each : state.surplus) barred.push_back(each.node);
      rest.owner = root_among(rest, barred);
      cut_.incomplete =
          cut_.incomplete || std::find(barred.begin(), barred.end(), rest.owner) != barred.end();
    }
    if (!cut_.lost.empty()) return;
    cut_.rest.problem.chunks.push_back(std::move(rest));
    cut_.rest.late.push_back(std::move(late));
    cut_.rest.barred.push_back(std::move(barred));
    cut_.rest.unsettled.push_back(std::move(unsettled));
    cut_.rest.chunk.push_back(id);
  }

  /// Where the sum may be formed: where it would be, unless that node is barred.
  static NodeId root_among(const Chunk& rest, const std::vector<NodeId>& barred) {
    const auto in = [](const std::vector<NodeId>& list, NodeId node) {
      return std::find(list.begin(), list.end(), node) != list.end();
    };
    if (barred.empty() || (in(rest.destinations, rest.owner) && !in(barred, rest.owner))) {
      return rest.owner;
    }
    for (const NodeId node : rest.destinations) {
      if (in(rest.contributors, node)) return node;
    }
    for (const NodeId node : rest.destinations) {
      if (!in(barred, node)) return node;
    }
    return rest.owner;
  }

  void report_loss(ChunkId id, const ChunkState& state) {
    if (!cut_.lost.empty()) return;
    const Chunk& chunk = problem_.chunks[id];
    const std::string what = "chunk " + std::to_string(id.value) + " of '" +
                             topology_.node(chunk.owner).name + "' (job '" +
                             problem_.jobs[chunk.job.index()].name + "')";
    if (!chunk.is_reduction()) {
      cut_.lost = what + " is lost: no GPU that is left holds it, and no copy is on its way";
      return;
    }
    const NodeId gone = state.missing.empty() ? chunk.contributors.front() : state.missing.front();
    cut_.lost = what + " cannot be summed any more: the addend of '" + topology_.node(gone).name +
                "' is in no partial sum that is left or on its way";
  }

  void add_busy(std::size_t i, const Landing& landing) {
    if (Time{landing.over(i)} <= cut_.at) return;
    const Send& send = cut_.kept[i];
    const SendShapes& shapes = landing.shapes();
    const SendShapes::Range links = shapes.links(i);
    std::map<NodeId, int> branches;
    const auto add = [&](Busy::Kind kind, std::int32_t id, std::int64_t begin, std::int64_t end,
                         std::int64_t amount) {
      if (end <= cut_.at.ps || end <= begin) return;
      cut_.rest.busy.push_back(
          {kind, id, std::max(Time{0}, Time{begin} - cut_.at), Time{end} - cut_.at, amount});
    };
    for (std::int32_t e = links.first; e < links.last; ++e) {
      const LinkId id = shapes.link(e);
      const Link& link = topology_.link(id);
      const std::int64_t begin = landing.begin(i, e);
      const std::int64_t end = landing.end(i, e);
      const std::int64_t rate = send.rate.bytes_per_second;
      if (now_.up(id)) add(Busy::Kind::link, cut_.rest.inverse_link[id].value, begin, end, rate);
      if (topology_.node(link.from).injection && topology_.stores(link.from)) {
        add(Busy::Kind::injection, link.from.value, begin, end, rate);
      }
      if (topology_.node(link.to).ejection && topology_.stores(link.to)) {
        add(Busy::Kind::ejection, link.to.value, begin + link.latency.ps, end + link.latency.ps,
            rate);
      }
      if (topology_.node(link.from).max_groups && ++branches[link.from] == 2) {
        add(Busy::Kind::groups, link.from.value, begin, begin + shapes.duration(i), 1);
      }
    }
  }

  const std::uint64_t choice_;
  const Problem& problem_;
  const Topology& topology_;
  const NetworkState before_, now_;
  Cut cut_;
};

}  // namespace

Time Residual::release(ChunkId id, NodeId node) const {
  const auto& list = late[id];
  const auto found = std::lower_bound(list.begin(), list.end(), node,
                                      [](const Release& a, NodeId b) { return a.node < b; });
  return found != list.end() && found->node == node ? found->at : problem.chunks[id].ready;
}

Cut cut(const Problem& problem, const std::vector<Event>& events, const Schedule& sends, Time at,
        std::uint64_t choice) {
  return Cutter(problem, events, at, choice).run(sends);
}

}  // namespace stellwerk
