// Packing of arborescences with multiplicities.
//
// Problem. Given capacities and a number of copies at every vertex, find that many spanning
// arborescences rooted at each, together within the capacities. Edmonds (1973): they exist if and
// only if every set of vertices is entered by at least as much capacity as there are copies with
// their root outside it; by max-flow min-cut, if and only if a source that feeds every root its
// copies can send the sum of all copies to every vertex.
//
// Idea (Tarjan, Inf. Proc. Letters 3, 1974; with multiplicities as in Berczi and Frank). Grow the
// trees of one root together, as a class: a set of vertices R that has been reached, and a number of
// copies m. To add arc x -> y with y outside R, the most copies that can take it without spoiling
// what is left is
//     min over sets A with y in A, x not in A of  capacity into A - copies that still have to enter A,
// a minimum cut: the flow to y when x is a source as well, less all other copies. If that is at least
// m, the whole class takes the arc; if it is less but positive the class splits; if it is zero the
// arc is dead for the class, for good. By the theorem some arc out of R is always alive.
//
// Which arc is tried first decides what the trees look like, not whether they exist: least length
// plus part of the path's length, so that slow links are used where they must be, and paths are
// short.
//
// Guarantee. A packing, whenever there is one, unless a class splits into more than kMostClasses
// parts at a time. Cost: one max-flow per vertex and class, and one per dead arc: about n^2 max-flows
// when few classes split. Tests: arborescences_test.cpp.
#include "stellwerk/graph/arborescences.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "stellwerk/graph/max_flow.hpp"

namespace stellwerk::graph {
namespace {

constexpr std::int64_t kPlenty = std::int64_t{1} << 60;
constexpr int kMostClasses = 256;  // of one root, unfinished at once

/// Dinic's algorithm on a network whose last arcs can be taken away again.
class Network {
 public:
  explicit Network(int vertices)
      : first_(static_cast<std::size_t>(vertices), -1),
        level_(first_.size()),
        next_(first_.size()) {}

  int add(int from, int to, std::int64_t capacity) {
    const int arc = static_cast<int>(arcs_.size());
    arcs_.push_back({to, first_[at(from)], capacity});
    first_[at(from)] = arc;
    arcs_.push_back({from, first_[at(to)], 0});
    first_[at(to)] = arc + 1;
    return arc;
  }
  /// Takes away the arc that was added last.
  void pop() {
    const int arc = static_cast<int>(arcs_.size()) - 2;
    first_[at(arcs_[at(arc)].to)] = arcs_[at(arc + 1)].next;
    first_[at(arcs_[at(arc + 1)].to)] = arcs_[at(arc)].next;
    arcs_.resize(at(arc));
  }
  std::int64_t& capacity(int arc) { return arcs_[at(arc)].capacity; }

  /// The value of a maximum flow, or `limit` if it is larger.
  std::int64_t flow(int source, int sink, std::int64_t limit) {
    residual_.resize(arcs_.size());
    for (std::size_t a = 0; a < arcs_.size(); ++a) residual_[a] = arcs_[a].capacity;
    std::int64_t value = 0;
    while (value < limit && label(source, sink)) {
      next_ = first_;
      value += augment(source, sink, limit - value);
    }
    return value;
  }

 private:
  struct Half {
    int to;
    int next;
    std::int64_t capacity;
  };
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }

  bool label(int source, int sink) {
    std::fill(level_.begin(), level_.end(), -1);
    level_[at(source)] = 0;
    queue_.assign(1, source);
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const int vertex = queue_[i];
      for (int a = first_[at(vertex)]; a >= 0; a = arcs_[at(a)].next) {
        const int to = arcs_[at(a)].to;
        if (residual_[at(a)] == 0 || level_[at(to)] >= 0) continue;
        level_[at(to)] = level_[at(vertex)] + 1;
        if (to == sink) return true;
        queue_.push_back(to);
      }
    }
    return false;
  }
  std::int64_t augment(int vertex, int sink, std::int64_t amount) {
    if (vertex == sink) return amount;
    std::int64_t sent = 0;
    for (int& a = next_[at(vertex)]; a >= 0; a = arcs_[at(a)].next) {
      const int to = arcs_[at(a)].to;
      if (residual_[at(a)] == 0 || level_[at(to)] != level_[at(vertex)] + 1) continue;
      const std::int64_t more = augment(to, sink, std::min(amount - sent, residual_[at(a)]));
      if (more == 0) {
        level_[at(to)] = -1;
        continue;
      }
      residual_[at(a)] -= more;
      residual_[at(a ^ 1)] += more;
      sent += more;
      if (sent == amount) return sent;
    }
    return sent;
  }

  std::vector<Half> arcs_;
  std::vector<int> first_;
  std::vector<std::int64_t> residual_;
  std::vector<int> level_, next_, queue_;
};

class Packer {
 public:
  Packer(const Digraph& graph, const std::vector<std::int64_t>& capacity,
         const std::vector<std::int64_t>& copies, const std::vector<std::int64_t>& length,
         const PackingOptions& options, Rng& rng, const StopCondition& stop)
      : graph_(graph),
        copies_(copies),
        length_(length),
        options_(options),
        rng_(rng),
        stop_(stop),
        vertices_(graph.vertices()),
        source_(vertices_),
        network_(vertices_ + 1 + kMostClasses) {
    for (int a = 0; a < graph.arcs(); ++a) {
      const Arc& arc = graph.arc(a);
      arc_.push_back(network_.add(arc.from, arc.to, capacity[at(a)]));
    }
    for (int v = 0; v < vertices_; ++v) feed_.push_back(network_.add(source_, v, copies[at(v)]));
  }

  std::optional<std::vector<Arborescence>> run() {
    std::vector<int> roots(at(vertices_));
    std::iota(roots.begin(), roots.end(), 0);
    rng_.shuffle(roots);
    for (const int root : roots) {
      if (copies_[at(root)] > 0 && !pack(root)) return std::nullopt;
    }
    return std::move(done_);
  }

 private:
  /// Copies of one root that have taken the same arcs so far.
  struct Class {
    std::int64_t copies;
    std::vector<char> reached;  // by vertex
    std::vector<char> dead;     // by arc
    std::vector<std::int64_t> depth;
    std::vector<int> vertices;  // reached, in order
    std::vector<int> arcs;
  };
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }

  bool pack(int root) {
    network_.capacity(feed_[at(root)]) = 0;
    std::int64_t rest = 0;  // copies of roots that have not begun
    for (const int feed : feed_) rest += network_.capacity(feed);
    std::vector<Class> open(1);
    open[0] = {copies_[at(root)],
               std::vector<char>(at(vertices_), 0),
               std::vector<char>(at(graph_.arcs()), 0),
               std::vector<std::int64_t>(at(vertices_), 0),
               {root},
               {}};
    open[0].reached[at(root)] = 1;
    while (!open.empty()) {
      Class current = std::move(open.back());
      open.pop_back();
      added_ = 0;
      class_node_ = vertices_ + 1;
      std::int64_t others = rest;
      bool fits = true;
      for (const Class& other : open) {
        others += other.copies;
        fits = fits && feed_class(other);
      }
      fits = fits && grow(current, others, open);
      for (; added_ > 0; --added_) network_.pop();
      if (!fits) return false;
      done_.push_back({root, current.copies, std::move(current.arcs)});
    }
    return true;
  }

  /// An unfinished class is a source at all vertices that it has reached.
  bool feed_class(const Class& other) {
    if (class_node_ == vertices_ + 1 + kMostClasses) return false;
    const int node = class_node_++;
    network_.add(source_, node, other.copies);
    ++added_;
    for (const int v : other.vertices) {
      network_.add(node, v, kPlenty);
      ++added_;
    }
    return true;
  }

  using Entry = std::pair<std::int64_t, int>;  // key, arc: least on top
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  void push_arcs(const Class& current, int vertex, Queue& queue) {
    for (const int a : graph_.out(vertex)) {
      if (current.reached[at(graph_.arc(a).to)] != 0 || current.dead[at(a)] != 0) continue;
      const std::int64_t room = network_.capacity(arc_[at(a)]);
      if (room == 0) continue;
      const std::int64_t length = length_[at(a)];
      // Ties are broken at random, and slightly towards arcs with much left.
      const std::int64_t noise =
          static_cast<std::int64_t>(rng_.below(128)) - std::min<std::int64_t>(room, 100);
      queue.emplace(
          current.depth[at(vertex)] * options_.depth_percent / 100 + length + length / 1000 * noise,
          a);
    }
  }

  bool grow(Class& current, std::int64_t others, std::vector<Class>& open) {
    Queue queue;
    for (const int v : current.vertices) push_arcs(current, v, queue);
    while (static_cast<int>(current.vertices.size()) < vertices_) {
      if (queue.empty()) return false;
      const int a = queue.top().second;
      queue.pop();
      const Arc& arc = graph_.arc(a);
      const std::int64_t room = network_.capacity(arc_[at(a)]);
      if (current.reached[at(arc.to)] != 0 || room == 0) continue;
      ++steps_;
      if (steps_ > options_.step_limit || (steps_ % 16 == 0 && stop_.should_stop())) return false;
      const std::int64_t wish = std::min(current.copies, room);
      network_.add(source_, arc.from, kPlenty);
      const std::int64_t flow = network_.flow(source_, arc.to, others + wish);
      network_.pop();
      const std::int64_t take = std::min(wish, flow - others);
      if (take <= 0) {
        current.dead[at(a)] = 1;
        continue;
      }
      if (take < current.copies) {
        open.push_back(current);
        open.back().copies -= take;
        current.copies = take;
        others += open.back().copies;
        if (!feed_class(open.back())) return false;
      }
      network_.capacity(arc_[at(a)]) -= current.copies;
      current.reached[at(arc.to)] = 1;
      current.depth[at(arc.to)] = current.depth[at(arc.from)] + length_[at(a)];
      current.vertices.push_back(arc.to);
      current.arcs.push_back(a);
      push_arcs(current, arc.to, queue);
    }
    return true;
  }

  const Digraph& graph_;
  const std::vector<std::int64_t>& copies_;
  const std::vector<std::int64_t>& length_;
  const PackingOptions& options_;
  Rng& rng_;
  const StopCondition& stop_;
  int vertices_;
  int source_;
  Network network_;
  std::vector<int> arc_;   // of the network, by arc of the graph
  std::vector<int> feed_;  // of the network, by vertex
  int added_ = 0;          // arcs for unfinished classes
  int class_node_ = 0;     // the next one's vertex
  std::int64_t steps_ = 0;
  std::vector<Arborescence> done_;
};

}  // namespace

std::vector<bool> deficient_cut(const Digraph& graph, const std::vector<std::int64_t>& capacity,
                                const std::vector<std::int64_t>& copies, int vertex) {
  MaxFlow flow(graph.vertices() + 1);
  flow.add_arcs(graph, capacity);
  for (int v = 0; v < graph.vertices(); ++v)
    flow.add_arc(graph.vertices(), v, copies[static_cast<std::size_t>(v)]);
  const std::int64_t need = std::accumulate(copies.begin(), copies.end(), std::int64_t{0});
  if (flow.run(graph.vertices(), vertex, need) >= need) return {};
  std::vector<bool> side = flow.source_side_of_nearest_cut();
  side.resize(static_cast<std::size_t>(graph.vertices()));
  side.flip();
  return side;
}

std::optional<std::vector<Arborescence>> pack_arborescences(
    const Digraph& graph, const std::vector<std::int64_t>& capacity,
    const std::vector<std::int64_t>& copies, const std::vector<std::int64_t>& length,
    const PackingOptions& options, Rng& rng, const StopCondition& stop) {
  return Packer(graph, capacity, copies, length, options, rng, stop).run();
}

}  // namespace stellwerk::graph
