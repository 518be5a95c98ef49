#include "stellwerk/bench/refusal.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace stellwerk {
namespace {

/// Links and nodes that are left after all that has happened, told by a walk over the events.
struct Left {
  IdVector<LinkId, char> link;
  IdVector<NodeId, char> node;

  Left(const Topology& topology, const std::vector<Event>& events)
      : link(topology.links().size(), 1), node(topology.nodes().size(), 1) {
    for (const Event& event : events) {
      if (event.kind == Event::Kind::link_down) link[event.link] = 0;
      if (event.kind == Event::Kind::link_up || event.kind == Event::Kind::link_bandwidth) {
        link[event.link] = 1;
      }
      if (event.kind == Event::Kind::gpu_lost) node[event.node] = 0;
      if (event.kind == Event::Kind::gpu_back) node[event.node] = 1;
    }
    for (const LinkId id : topology.link_ids()) {
      if (node[topology.link(id).from] == 0 || node[topology.link(id).to] == 0) link[id] = 0;
    }
  }
};

class Proof {
 public:
  Proof(const EventfulPlan& before, const Disturbance& what)
      : problem_(before.problem),
        sends_(before.sends),
        at_(what.at),
        left_(problem_.topology, all_events(before, what)) {
    for (const Event& event : all_events(before, what)) {
      if (event.kind == Event::Kind::gpu_lost) ever_lost_.insert(event.node);
      if (event.kind == Event::Kind::job_leaves) gone_.insert(event.job);
      if (event.kind == Event::Kind::link_down) failures_.push_back({event.at, event.link});
      if (event.kind != Event::Kind::gpu_lost) continue;
      losses_.emplace_back(event.at, event.node);
      for (const LinkId id : problem_.topology.in(event.node)) {
        failures_.push_back({event.at, id});
      }
      for (const LinkId id : problem_.topology.out(event.node)) {
        failures_.push_back({event.at, id});
      }
    }
    for (const Job& job : what.arriving) {
      JobId id(problem_.jobs.size());
      problem_.jobs.push_back(job);
      for (Chunk& chunk : make_chunks(job, id)) problem_.chunks.push_back(std::move(chunk));
    }
  }

  bool found() {
    for (const ChunkId id : problem_.chunk_ids()) {
      const Chunk& chunk = problem_.chunks[id];
      if (gone_.contains(chunk.job)) continue;
      if (chunk.is_reduction() ? sum_is_lost(id) : data_is_lost(id)) return true;
    }
    return false;
  }

 private:
  static std::vector<Event> all_events(const EventfulPlan& before, const Disturbance& what) {
    std::vector<Event> events = before.events;
    for (Event event : what.events) {
      event.at = what.at;
      events.push_back(event);
    }
    return events;
  }

  std::vector<char> reached(const std::vector<NodeId>& from, JobId job) const {
    const Topology& topology = problem_.topology;
    std::vector<char> seen(topology.nodes().size(), 0);
    std::vector<NodeId> stack;
    for (const NodeId node : from) {
      if (left_.node[node] != 0 && seen[node.index()] == 0) {
        seen[node.index()] = 1;
        stack.push_back(node);
      }
    }
    while (!stack.empty()) {
      const NodeId node = stack.back();
      stack.pop_back();
      for (const LinkId id : topology.out(node)) {
        const NodeId next = topology.link(id).to;
        if (left_.link[id] == 0 || seen[next.index()] != 0) continue;
        if (!problem_.may_forward(next, job)) continue;
        seen[next.index()] = 1;
        stack.push_back(next);
      }
    }
    return seen;
  }

  /// Everybody to whom some of the chunk has been sent over links that are left.
  bool data_is_lost(ChunkId id) const {
    const Chunk& chunk = problem_.chunks[id];
    std::vector<NodeId> holders;
    for (const NodeId node : chunk.origins) {
      if (!ever_lost_.contains(node)) holders.push_back(node);
    }
    std::map<NodeId, std::int64_t> bytes;  // that have come, repetitions included
    for (const Send& send : sends_) {
      if (send.chunk != id || send.start >= at_) continue;
      const SendTiming times = timing(problem_.topology, send);
      for (const NodeId leaf : times.leaves) {
        if (ever_lost_.contains(leaf) || is_cut(send, times, leaf)) continue;
        std::int64_t& sum = bytes[leaf];
        sum += send.bytes.value;
        if (sum >= chunk.bytes.value) holders.push_back(leaf);
      }
    }
    const std::vector<char> seen = reached(holders, chunk.job);
    return std::any_of(chunk.destinations.begin(), chunk.destinations.end(), [&](NodeId node) {
      return left_.node[node] != 0 && seen[node.index()] == 0;
    });
  }

  /// Does a link on the way to the leaf fail before the send has passed it?
  bool is_cut(const Send& send, const SendTiming& times, NodeId leaf) const {
    const Topology& topology = problem_.topology;
    NodeId node = leaf;
    for (std::size_t k = send.links.size(); k-- > 0;) {
      const Link& link = topology.link(send.links[k]);
      if (link.to != node) continue;
      node = link.from;
      for (const Failure& failure : failures_) {
        if (failure.link == send.links[k] && send.start < failure.at &&
            failure.at < send.start + times.entry[k] + times.duration) {
          return true;
        }
      }
    }
    return false;
  }

  /// Is there an addend that cannot come to a destination any more?
  bool sum_is_lost(ChunkId id) const {
    const Chunk& chunk = problem_.chunks[id];
    return std::any_of(
        chunk.contributors.begin(), chunk.contributors.end(), [&](NodeId contributor) {
          const std::vector<char> seen = reached(who_has_addend(id, contributor), chunk.job);
          return std::any_of(
              chunk.destinations.begin(), chunk.destinations.end(),
              [&](NodeId node) { return left_.node[node] != 0 && seen[node.index()] == 0; });
        });
  }

  /// Follows one addend: to the receivers of whatever is sent by a node that has it. A reduce takes
  /// it away from the sender, unless it reaches nobody.
  std::vector<NodeId> who_has_addend(ChunkId id, NodeId contributor) const {
    struct Step {
      Time at;
      int kind;  // 0: arrives, 1: a node is lost, 2: starts
      NodeId node;
      std::size_t send;
      auto key() const { return std::tie(at, kind, node, send); }
    };
    std::vector<Step> steps;
    for (std::size_t i = 0; i < sends_.size(); ++i) {
      const Send& send = sends_[i];
      if (send.chunk != id || send.start >= at_) continue;
      const SendTiming times = timing(problem_.topology, send);
      bool any = false;
      for (std::size_t k = 0; k < times.leaves.size(); ++k) {
        if (is_cut(send, times, times.leaves[k])) continue;
        any = true;
        steps.push_back({send.start + times.arrival[k], 0, times.leaves[k], i});
      }
      for (const NodeId source : times.sources) {
        if (any) steps.push_back({send.start, 2, source, i});
      }
    }
    for (const auto& [at, node] : losses_) steps.push_back({at, 1, node, 0});
    std::sort(steps.begin(), steps.end(),
              [](const Step& a, const Step& b) { return a.key() < b.key(); });
    std::set<NodeId> having = {contributor};
    std::set<std::size_t> carrying;
    std::map<std::pair<NodeId, Op>, std::int64_t> bytes;  // that have come, repetitions included
    for (const Step& step : steps) {
      if (step.kind == 1) having.erase(step.node);
      if (step.kind == 0 && carrying.contains(step.send) && left_.node[step.node] != 0) {
        std::int64_t& sum = bytes[{step.node, sends_[step.send].op}];
        sum += sends_[step.send].bytes.value;
        if (sum >= problem_.chunks[id].bytes.value) having.insert(step.node);
      }
      if (step.kind != 2 || !having.contains(step.node)) continue;
      carrying.insert(step.send);
      if (sends_[step.send].op == Op::reduce) having.erase(step.node);
    }
    return {having.begin(), having.end()};
  }

  struct Failure {
    Time at;
    LinkId link;
  };

  Problem problem_;
  const Schedule& sends_;
  const Time at_;
  const Left left_;
  std::vector<Failure> failures_;
  std::vector<std::pair<Time, NodeId>> losses_;
  std::set<NodeId> ever_lost_;
  std::set<JobId> gone_;
};

}  // namespace

bool is_refusal_proven(const EventfulPlan& before, const Disturbance& what) {
  return Proof(before, what).found();
}

}  // namespace stellwerk
