// What is left of one job when links fail in the middle of it.
//
// Cutting (plan/residual.cpp) says who holds what, or will once all that has been sent has arrived; the
// rest is planned anew (plan/rest_plan.cpp) as if the job were alone. Tasks that have moved some of
// their bytes and still can go on do so: cutting counts them as on their way, and they are tasks of
// the new graph for which others wait. Their starts lie before everything else, their arrivals where
// cutting expects them, so the graph (plan/send_graph.cpp) finds the right waits by itself.
//
// A link that has become slower is nothing to cut for: what has not entered it is taken back to its
// task before (plan/online.cpp), so only failures are told to the cutter. Test: online_test.cpp.
#include "stellwerk/plan/online_job.hpp"

#include <algorithm>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/wide.hpp"
#include "stellwerk/plan/reachability.hpp"
#include "stellwerk/plan/residual.hpp"
#include "stellwerk/plan/rest_plan.hpp"

namespace stellwerk {
namespace {

constexpr std::uint64_t kChoices = 6;         // of parts of sums that overlap
constexpr Time kLongAgo{-1'000'000'000'000};  // before all that a residual has
constexpr std::int64_t kDeliveries = 4'000;   // planned in all while looking for a rest

bool contains(const std::vector<NodeId>& nodes, NodeId node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

void insert(std::vector<NodeId>& nodes, NodeId node) {
  if (!contains(nodes, node))
    nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), node), node);
}

Problem with_network(const OnlineJob& job, const OnlineNetwork& network) {
  const Topology& first = job.base.topology;
  IdVector<LinkId, Link> links = first.links();
  for (const LinkId id : first.link_ids()) links[id].bandwidth = network.own[id];
  Problem problem = job.base;
  problem.topology = Topology(first.name(), first.note(), first.nodes(), std::move(links));
  return problem;
}

Schedule all_sends(const OnlineJob& job) {
  Schedule sends;
  for (const OnlinePiece& piece : job.pieces) {
    if (piece.sends.front().bytes.value == 0) continue;
    sends.insert(sends.end(), piece.sends.begin(), piece.sends.end());
  }
  return sends;
}

class Rest {
 public:
  Rest(const OnlineJob& job, const std::vector<OnlineBegun>& begun, const OnlineNetwork& network,
       Time at, std::uint64_t seed)
      : job_(job), begun_(begun), network_(network), at_(at), seed_(seed) {}

  OnlineRest run() {
    const Problem problem = with_network(job_, network_);
    Schedule sends = all_sends(job_);
    for (const OnlineBegun& begun : begun_) {
      for (Send send : begun.sends) {
        send.start = at_ - Time{1};
        send.offset = begun.moved;
        send.bytes = send.bytes - begun.moved;
        sends.push_back(std::move(send));
      }
    }
    OnlineRest result;
    Schedule plan;
    for (std::uint64_t choice = 0; choice <= kChoices; ++choice) {
      cut_ = cut(problem, network_.failures, sends, at_, choice);
      result.landed = cut_.landed;
      if (!cut_.lost.empty()) {
        result.lost = cut_.lost;
        return result;
      }
      result.objection = plan_new(plan);
      if (result.objection.empty() || !cut_.choices) break;
    }
    if (!result.objection.empty()) plan.clear();
    result.live = graph_of(std::move(plan), result.objection);
    return result;
  }

 private:
  /// Sends of the residual, in its numbers; says why there are none.
  std::string plan_new(Schedule& plan) {
    plan.clear();
    if (cut_.rest.problem.chunks.empty()) return "";
    if (cut_.incomplete) return "parts of a sum overlap";
    try {
      require_reachable(cut_.rest.problem, cut_.rest.chunk);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsolved) throw;
      return error.what();
    }
    // Others are in the way for a moment only.
    Residual rest = cut_.rest;
    rest.busy.clear();
    RestOptions options;
    options.seed = seed_;
    options.deliveries = kDeliveries;
    std::string objection;
    RestPlan found = plan_rest(rest, options, {}, objection);
    if (!found.found()) return objection.empty() ? "no plan was found" : objection;
    plan = std::move(found.sends);
    return "";
  }

  std::shared_ptr<LiveJob> graph_of(Schedule plan, std::string& objection) const {
    if (plan.empty() && begun_.empty()) return nullptr;
    auto live = std::make_shared<LiveJob>();
    live->zero = at_;
    live->link.assign(cut_.rest.link.begin(), cut_.rest.link.end());
    live->problem = problem_of_rest();
    const Residual& rest = cut_.rest;
    for (Send& send : plan) send.chunk = rest.chunk[send.chunk.index()];
    for (const OnlineBegun& begun : begun_) {
      for (Send send : begun.sends) {
        for (LinkId& link : send.links) link = rest.inverse_link[link];
        place_before_all(live->problem.topology, send, begun.moved);
        plan.push_back(std::move(send));
      }
    }
    try {
      live->graph.emplace(live->problem, std::vector<Schedule>{std::move(plan)});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsolved && error.code() != ErrorCode::verification_failed) {
        throw;
      }
      objection = error.what();
      return nullptr;
    }
    note_begun(*live);
    note_releases(*live);
    return live;
  }

  /// The job's chunks in its own numbers, held by whoever has them now.
  Problem problem_of_rest() const {
    const Residual& rest = cut_.rest;
    Problem problem;
    problem.topology = rest.problem.topology;
    problem.relays = rest.problem.relays;
    problem.jobs = job_.base.jobs;
    problem.jobs.front().start = Time{0};
    problem.chunks = job_.base.chunks;
    std::vector<char> left(problem.chunks.size(), 0);
    for (const ChunkId id : rest.problem.chunk_ids()) {
      Chunk chunk = rest.problem.chunks[id];
      chunk.job = JobId(0);
      left[rest.chunk[id.index()].index()] = 1;
      problem.chunks[rest.chunk[id.index()]] = std::move(chunk);
    }
    for (const ChunkId id : problem.chunk_ids()) {
      if (left[id.index()] != 0) continue;  // nobody lacks it
      Chunk& chunk = problem.chunks[id];
      chunk.ready = Time{0};
      chunk.origins.clear();
      chunk.contributors.clear();
    }
    for (const OnlineBegun& begun : begun_) {
      for (const Send& send : begun.sends) add_begun(send, problem);
    }
    return problem;
  }

  /// The sender holds what it sends; the receiver has to wait for it.
  void add_begun(const Send& send, Problem& problem) const {
    Chunk& chunk = problem.chunks[send.chunk];
    const SendTiming times = timing(job_.base.topology, send);
    if (send.op == Op::copy) {
      for (const NodeId leaf : times.leaves) {
        if (late(send.chunk, leaf)) std::erase(chunk.origins, leaf);
      }
    } else {
      for (const NodeId node : chunk.origins) insert(chunk.contributors, node);
      chunk.origins.clear();
    }
    for (const NodeId source : times.sources) {
      insert(chunk.is_reduction() || send.op != Op::copy ? chunk.contributors : chunk.origins,
             source);
    }
  }

  /// Does the node get what it is counted on to have only after the cut?
  bool late(ChunkId id, NodeId node) const {
    const ChunkId own = number_in_rest(id);
    return own.valid() && cut_.rest.release(own, node) > cut_.rest.problem.chunks[own].ready;
  }

  ChunkId number_in_rest(ChunkId id) const {
    const auto& numbers = cut_.rest.chunk;  // ascending
    const auto found = std::lower_bound(numbers.begin(), numbers.end(), id);
    const bool there = found != numbers.end() && *found == id;
    return there ? ChunkId(static_cast<std::size_t>(found - numbers.begin())) : ChunkId();
  }

  /// As a whole chunk that arrives when its rest does, or a little before.
  static void place_before_all(const Topology& topology, Send& send, Bytes moved) {
    Bandwidth full = topology.link(send.links.front()).bandwidth;
    for (const LinkId id : send.links) full = std::min(full, topology.link(id).bandwidth);
    const Time length = transmission_time(send.bytes - moved, full) - Time{1} - kLongAgo;
    constexpr Int128 kPicoseconds = 1'000'000'000'000;
    const Int128 rate = (Int128{send.bytes.value} * kPicoseconds + length.ps - 1) / length.ps;
    send.rate = Bandwidth{static_cast<std::int64_t>(rate)};
    send.start = kLongAgo;
    send.offset = Bytes{0};
  }

  void note_begun(LiveJob& live) const {
    const SendGraph& graph = *live.graph;
    for (std::size_t i = 0; i < graph.size(); ++i) {
      const auto task = static_cast<SendGraph::TaskId>(i);
      if (graph.task(task).alone_start != kLongAgo) continue;
      const Send send = send_of(live, task);
      for (std::size_t k = 0; k < begun_.size(); ++k) {
        const OnlineBegun& begun = begun_[k];
        const auto same = [&](const Send& other) {
          return other.chunk == send.chunk && other.op == send.op && other.links == send.links;
        };
        if (std::none_of(begun.sends.begin(), begun.sends.end(), same)) continue;
        live.begun.push_back({task, begun.moved, k});
        break;
      }
    }
  }

  /// The first send of a task, with links of the network.
  static Send send_of(const LiveJob& live, SendGraph::TaskId task) {
    Schedule sends;
    live.graph->append_piece(task, Time{0}, Bandwidth{1}, Bytes{0}, Bytes{1}, sends);
    for (LinkId& link : sends.front().links) link = live.link[link.index()];
    return sends.front();
  }

  /// What is on its way without being a task of the new graph.
  void note_releases(LiveJob& live) const {
    const Residual& rest = cut_.rest;
    const SendGraph& graph = *live.graph;
    live.not_before.assign(graph.size(), Time{0});
    Schedule sends;
    for (std::size_t i = 0; i < graph.size(); ++i) {
      const auto task = static_cast<SendGraph::TaskId>(i);
      if (graph.task(task).alone_start == kLongAgo) continue;
      sends.clear();
      graph.append_piece(task, Time{0}, Bandwidth{1}, Bytes{0}, Bytes{1}, sends);
      for (const Send& send : sends) {
        const ChunkId own = number_in_rest(send.chunk);
        if (!own.valid()) continue;
        const SendTiming times = timing(live.problem.topology, send);
        Time& from = live.not_before[i];
        const Chunk& chunk = live.problem.chunks[send.chunk];
        for (const NodeId source : times.sources) {
          const bool held = contains(chunk.origins, source) || contains(chunk.contributors, source);
          if (held) from = std::max(from, rest.release(own, source));
        }
        for (const Release& each : rest.unsettled[own]) {
          for (std::size_t k = 0; k < times.leaves.size(); ++k) {
            const Time lag = times.arrival[k] - times.duration;
            if (times.leaves[k] == each.node) from = std::max(from, each.at - lag + Time{1});
          }
        }
      }
    }
  }

  const OnlineJob& job_;
  const std::vector<OnlineBegun>& begun_;
  const OnlineNetwork& network_;
  const Time at_;
  const std::uint64_t seed_;
  Cut cut_;
};

}  // namespace

OnlineRest plan_online_rest(const OnlineJob& job, const std::vector<OnlineBegun>& begun,
                            const OnlineNetwork& network, Time at, std::uint64_t seed) {
  return Rest(job, begun, network, at, seed).run();
}

Time online_finish(const OnlineJob& job, const OnlineNetwork& network, Time at) {
  const Cut end = cut(with_network(job, network), network.failures, all_sends(job), at);
  if (!end.lost.empty() || !end.rest.problem.chunks.empty()) {
    throw Error(ErrorCode::internal,
                "job '" + job.job().name + "' has no sends left, and somebody lacks something");
  }
  return end.landed;
}

}  // namespace stellwerk
