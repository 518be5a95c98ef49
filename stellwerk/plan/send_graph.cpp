// From plans of single jobs to a graph of tasks.
//
// A send waits for what its sender must hold. Data: the first arrival of the chunk at the sender.
// The finished sum: the first copy of it, or all parts that were merged there before. A partial sum
// that is moved or shared: all parts merged before it left, and none that was merged after: such a
// later part may not *arrive* before this send starts, which is kept by not letting it start before.
// Where two nodes share their sums with each other each arrival has to wait for the other's start:
// such circles become one task, whose sends start together. A circle with a true wait in it has no
// such reading and is refused; no planner makes one.
//
// The waits are those of the alone plan, so every schedule of the graph in which windows on links do
// not collide is a valid plan: the same partial sums meet at the same nodes. Cost: linear in sends,
// but for the sums of one chunk that meet at one node (quadratic in their number). Test:
// send_graph_test.cpp.
#include "stellwerk/plan/send_graph.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/graph/digraph.hpp"
#include "stellwerk/graph/shortest_paths.hpp"

namespace stellwerk {
namespace {

struct Arc {
  SendGraph::TaskId from;
  SendGraph::TaskId to;
  Time lag;
};

/// Arcs as lists by their tails: `first` has one entry more than there are tails.
template <class Value, class ValueOf>
void group_by_tail(const std::vector<Arc>& arcs, std::size_t tails, std::vector<Value>& values,
                   std::vector<std::uint32_t>& first, const ValueOf& value) {
  first.assign(tails + 1, 0);
  for (const Arc& arc : arcs) ++first[static_cast<std::size_t>(arc.from) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  values.resize(arcs.size());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (const Arc& arc : arcs) values[next[static_cast<std::size_t>(arc.from)]++] = value(arc);
}

/// The sends in an order that keeps waits and orders and is otherwise that of their starts; those of
/// one gang side by side.
std::vector<std::int32_t> order_of(const Schedule& sends, const std::vector<std::int32_t>& gang,
                                   const std::vector<Arc>& waits, const std::vector<Arc>& orders) {
  const auto at = [](std::int32_t number) { return static_cast<std::size_t>(number); };
  std::vector<std::int32_t> by_start(sends.size());
  std::iota(by_start.begin(), by_start.end(), 0);
  std::sort(by_start.begin(), by_start.end(), [&](std::int32_t a, std::int32_t b) {
    return std::pair(sends[at(a)].start, a) < std::pair(sends[at(b)].start, b);
  });
  if (orders.empty()) return by_start;
  std::vector<std::vector<std::int32_t>> members(sends.size()), after(sends.size());
  std::vector<std::int32_t> behind(sends.size(), 0), place(sends.size(), -1);
  std::int32_t places = 0;
  for (const std::int32_t send : by_start) {
    const std::int32_t g = gang[at(send)];
    members[at(g)].push_back(send);
    if (place[at(g)] < 0) place[at(g)] = places++;
  }
  for (const auto* arcs : {&waits, &orders}) {
    for (const Arc& arc : *arcs) {
      const std::int32_t from = gang[at(arc.from)];
      const std::int32_t to = gang[at(arc.to)];
      if (from == to) continue;
      after[at(from)].push_back(to);
      ++behind[at(to)];
    }
  }
  std::priority_queue<std::pair<std::int32_t, std::int32_t>,
                      std::vector<std::pair<std::int32_t, std::int32_t>>, std::greater<>>
      ready;
  for (std::size_t g = 0; g < sends.size(); ++g) {
    if (place[g] >= 0 && behind[g] == 0) ready.emplace(place[g], static_cast<std::int32_t>(g));
  }
  std::vector<std::int32_t> order;
  while (!ready.empty()) {
    const std::int32_t g = ready.top().second;
    ready.pop();
    order.insert(order.end(), members[at(g)].begin(), members[at(g)].end());
    for (const std::int32_t next : after[at(g)]) {
      if (--behind[at(next)] == 0) ready.emplace(place[at(next)], next);
    }
  }
  return order;
}

/// An arrival of one chunk somewhere.
struct Arrival {
  NodeId node;
  Time at;
  Time lag;  ///< after the last byte has left
  std::int32_t send;
};

}  // namespace

std::string graph_objection(const Topology& topology) {
  for (const NodeId id : topology.node_ids()) {
    const Node& node = topology.node(id);
    const char* what = node.buffer       ? "a transit buffer"
                       : node.max_groups ? "a limit of multicast groups"
                       : node.injection  ? "an injection limit"
                       : node.ejection   ? "an ejection limit"
                                         : nullptr;
    if (what == nullptr) continue;
    return "jobs that share links are not planned together where nodes have limits: '" + node.name +
           "' has " + what;
  }
  return "";
}

struct SendGraph::Draft {
  std::vector<Arc> arrivals, starts;
};

SendGraph::SendGraph(const Problem& problem, const std::vector<Schedule>& alone)
    : problem_(&problem) {
  Draft draft;
  std::size_t sends = 0;
  for (const Schedule& schedule : alone) sends += schedule.size();
  tasks_.reserve(sends);
  sends_.reserve(sends);
  first_send_.push_back(0);
  first_use_.push_back(0);
  for (std::size_t j = 0; j < alone.size(); ++j) {
    first_of_job_.push_back(static_cast<TaskId>(tasks_.size()));
    add_job(JobId(j), alone[j], draft);
  }
  first_of_job_.push_back(static_cast<TaskId>(tasks_.size()));
  link_tasks(draft);
  order_links();
}

void SendGraph::add_job(JobId job, const Schedule& sends, Draft& draft) {
  const Topology& topology = problem_->topology;
  const Time release = problem_->jobs[job.index()].start;
  std::vector<SendTiming> times;
  times.reserve(sends.size());
  for (const Send& send : sends) times.push_back(timing(topology, send));

  std::vector<std::int32_t> by_chunk(sends.size());
  std::iota(by_chunk.begin(), by_chunk.end(), 0);
  const auto at = [&](std::int32_t k) -> const Send& { return sends[index(k)]; };
  std::sort(by_chunk.begin(), by_chunk.end(), [&](std::int32_t a, std::int32_t b) {
    return std::tuple(at(a).chunk, at(a).start, a) < std::tuple(at(b).chunk, at(b).start, b);
  });
  // Waits between sends of this job, by their numbers in `sends`.
  std::vector<Arc> waits, orders;
  std::vector<Arrival> arrivals;
  for (std::size_t begin = 0; begin < by_chunk.size();) {
    std::size_t end = begin;
    const ChunkId id = at(by_chunk[begin]).chunk;
    while (end < by_chunk.size() && at(by_chunk[end]).chunk == id) ++end;
    const Chunk& chunk = problem_->chunks[id];
    arrivals.clear();
    for (std::size_t k = begin; k < end; ++k) {
      const SendTiming& when = times[index(by_chunk[k])];
      for (std::size_t leaf = 0; leaf < when.leaves.size(); ++leaf) {
        arrivals.push_back({when.leaves[leaf], at(by_chunk[k]).start + when.arrival[leaf],
                            when.arrival[leaf] - when.duration, by_chunk[k]});
      }
    }
    std::sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
      return std::tuple(a.node, a.at, a.send) < std::tuple(b.node, b.at, b.send);
    });
    for (std::size_t k = begin; k < end; ++k) {
      const Send& send = at(by_chunk[k]);
      const bool partial = chunk.is_reduction() && send.op != Op::copy;
      for (const NodeId source : times[index(by_chunk[k])].sources) {
        const auto first =
            std::lower_bound(arrivals.begin(), arrivals.end(), source,
                             [](const Arrival& a, NodeId node) { return a.node < node; });
        const auto held = [&](const std::vector<NodeId>& nodes) {
          return std::find(nodes.begin(), nodes.end(), source) != nodes.end();
        };
        if (!chunk.is_reduction() && held(chunk.origins)) continue;
        bool any = held(chunk.contributors);
        // Of whole copies the first one is enough; of sums all parts are needed.
        auto copy = first;
        while (copy != arrivals.end() && copy->node == source && copy->at <= send.start &&
               at(copy->send).op != Op::copy) {
          ++copy;
        }
        const bool copied =
            copy != arrivals.end() && copy->node == source && copy->at <= send.start;
        if (!partial && copied) {
          waits.push_back({copy->send, by_chunk[k], copy->lag});
          continue;
        }
        for (auto a = first; a != arrivals.end() && a->node == source; ++a) {
          if (at(a->send).op == Op::copy) continue;
          if (a->at <= send.start) {
            waits.push_back({a->send, by_chunk[k], a->lag});
            any = true;
          } else if (partial && a->send != by_chunk[k]) {
            orders.push_back({by_chunk[k], a->send, Time{}});
          }
        }
        if (any) continue;
        throw Error(ErrorCode::verification_failed, "job '" + problem_->jobs[job.index()].name +
                                                        "': " + topology.node(source).name +
                                                        " sends chunk " + std::to_string(id.value) +
                                                        " before it holds it");
      }
    }
    begin = end;
  }

  // Circles of orders become one task.
  std::vector<std::int32_t> gang(sends.size());
  std::iota(gang.begin(), gang.end(), 0);
  if (!orders.empty()) {
    std::vector<graph::Arc> arcs;
    for (const Arc& arc : waits) arcs.push_back({arc.from, arc.to});
    for (const Arc& arc : orders) arcs.push_back({arc.from, arc.to});
    gang =
        graph::strong_components(graph::Digraph(static_cast<int>(sends.size()), std::move(arcs)));
    for (const Arc& arc : waits) {
      if (gang[index(arc.from)] != gang[index(arc.to)]) continue;
      throw Error(ErrorCode::unsolved, "job '" + problem_->jobs[job.index()].name +
                                           "': partial sums are shared in a circle");
    }
  }
  const std::vector<std::int32_t> order = order_of(sends, gang, waits, orders);
  std::vector<TaskId> task_of(sends.size());
  for (std::size_t i = 0; i < order.size();) {
    Task task;
    task.job = job;
    task.alone_start = at(order[i]).start;
    Time ready = release;
    const std::size_t first = i;
    for (; i < order.size() && gang[index(order[i])] == gang[index(order[first])]; ++i) {
      const Send& send = at(order[i]);
      const SendTiming& when = times[index(order[i])];
      task_of[index(order[i])] = static_cast<TaskId>(tasks_.size());
      task.bytes = send.bytes;
      ready = std::max(ready, problem_->chunks[send.chunk].ready);
      for (std::size_t k = 0; k < send.links.size(); ++k) {
        const Bandwidth bandwidth = topology.link(send.links[k]).bandwidth;
        const bool none = task.full.bytes_per_second == 0;
        task.full = none ? bandwidth : std::min(task.full, bandwidth);
        uses_.push_back({send.links[k], when.entry[k]});
      }
      for (const Time arrival : when.arrival) {
        task.last_arrival = std::max(task.last_arrival, arrival - when.duration);
      }
      sends_.push_back(send);
    }
    std::vector<LinkId> taken;
    for (std::size_t u = first_use_.back(); u < uses_.size(); ++u) taken.push_back(uses_[u].link);
    std::sort(taken.begin(), taken.end());
    if (std::adjacent_find(taken.begin(), taken.end()) != taken.end()) {
      throw Error(ErrorCode::unsolved,
                  "job '" + problem_->jobs[job.index()].name +
                      "': partial sums that must be shared at once would meet on a link");
    }
    task.duration = transmission_time(task.bytes, task.full);
    tasks_.push_back(task);
    ready_.push_back(ready);
    first_send_.push_back(static_cast<std::uint32_t>(sends_.size()));
    first_use_.push_back(static_cast<std::uint32_t>(uses_.size()));
  }
  for (const Arc& arc : waits) {
    draft.arrivals.push_back({task_of[index(arc.from)], task_of[index(arc.to)], arc.lag});
  }
  for (const Arc& arc : orders) {
    const TaskId from = task_of[index(arc.from)];
    const TaskId to = task_of[index(arc.to)];
    if (from != to) draft.starts.push_back({from, to, Time{}});
  }
}

void SendGraph::link_tasks(const Draft& draft) {
  waits_.assign(size(), 0);
  for (const Arc& arc : draft.arrivals) ++waits_[index(arc.to)];
  for (const Arc& arc : draft.starts) ++waits_[index(arc.to)];
  group_by_tail(draft.arrivals, size(), after_arrival_, first_after_arrival_,
                [](const Arc& arc) { return Successor{arc.lag, arc.to}; });
  group_by_tail(draft.starts, size(), after_start_, first_after_start_,
                [](const Arc& arc) { return arc.to; });
  for (std::size_t i = 0; i < size(); ++i) {
    std::sort(after_arrival_.begin() + first_after_arrival_[i],
              after_arrival_.begin() + first_after_arrival_[i + 1],
              [](const Successor& a, const Successor& b) {
                return std::pair(a.lag, a.task) < std::pair(b.lag, b.task);
              });
  }
}

void SendGraph::order_links() {
  std::vector<Time> latest(links());
  for (const Use& use : uses_) {
    Time& time = latest[use.link.index()];
    time = std::max(time, use.offset);
  }
  links_behind_.assign(size(), 0);
  next_on_link_.assign(uses_.size(), -1);
  struct Last {
    JobId job;
    std::size_t use = 0;
  };
  std::vector<Last> last(links());
  for (std::size_t i = 0; i < size(); ++i) {
    for (std::size_t u = first_use_[i]; u < first_use_[i + 1]; ++u) {
      const Use& use = uses_[u];
      tasks_[i].slack = std::max(tasks_[i].slack, latest[use.link.index()] - use.offset);
      Last& before = last[use.link.index()];
      if (before.job == tasks_[i].job) {
        next_on_link_[before.use] = static_cast<TaskId>(i);
        ++links_behind_[i];
      }
      before = {tasks_[i].job, u};
    }
  }
}

std::vector<Time> SendGraph::tails() const {
  std::vector<Time> result(size());
  // Tasks are in an order that keeps all waits.
  for (std::size_t i = size(); i-- > 0;) {
    const auto id = static_cast<TaskId>(i);
    Time after = tasks_[i].last_arrival;
    for (const Successor& next : after_arrival(id)) {
      after = std::max(after, next.lag + result[index(next.task)]);
    }
    result[i] = tasks_[i].duration + after;
  }
  return result;
}

void SendGraph::append_piece(TaskId id, Time start, Bandwidth rate, Bytes offset, Bytes bytes,
                             Schedule& schedule) const {
  for (std::size_t k = first_send_[index(id)]; k < first_send_[index(id) + 1]; ++k) {
    Send send = sends_[k];
    send.start = start;
    send.rate = rate;
    send.offset = offset;
    send.bytes = bytes;
    schedule.push_back(std::move(send));
  }
}

Schedule sends_of(const SendGraph& graph, const GraphSchedule& schedule) {
  Schedule sends;
  sends.reserve(schedule.pieces.size());
  for (const TaskPiece& piece : schedule.pieces) {
    graph.append_piece(piece.task, piece.start, piece.rate, piece.offset, piece.bytes, sends);
  }
  sort_sends(graph.problem().topology, sends);
  return sends;
}

}  // namespace stellwerk
