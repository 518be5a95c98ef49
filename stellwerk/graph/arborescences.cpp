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
// Most of these flows say yes, and those that say no say it because of few sets (a box of GPUs whose
// ways in are all needed: no tree may enter it twice). So the trees of a root are first grown with
// regard only to sets that have been met before (entry_cuts.cpp), and then one flow to every vertex
// shows whether what is left is still enough. Where it is not, the cuts are added to the sets, and
// the root is begun again. As long as all goes well more and more roots are grown before the next
// look; after kMostRounds failures one root is grown with a flow for every arc.
//
// Which arc is tried first decides what the trees look like, not whether they exist: least length
// plus part of the path's length, so that slow links are used where they must be, and paths are
// short.
//
// Guarantee. A packing, whenever there is one, unless a class splits into more than kMostClasses
// parts at a time. Cost: n max-flows for every set that is met, and n log n of them besides. Tests:
// arborescences_test.cpp.
#include "stellwerk/graph/arborescences.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
#include <utility>

#include "stellwerk/graph/entry_cuts.hpp"
#include "stellwerk/graph/max_flow.hpp"
#include "stellwerk/graph/stacked_flow.hpp"

namespace stellwerk::graph {
namespace {

constexpr std::int64_t kPlenty = std::int64_t{1} << 60;
constexpr int kMostClasses = 256;  // of one root, unfinished at once
constexpr int kMostRounds = 30;    // in a row that find unknown sets

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
        network_(vertices_ + 1 + kMostClasses),
        cuts_(vertices_) {
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
    roots.erase(std::remove_if(roots.begin(), roots.end(),
                               [&](int root) { return copies_[at(root)] == 0; }),
                roots.end());
    std::size_t batch = 1;
    int failures = 0;
    for (std::size_t next = 0; next < roots.size();) {
      const std::size_t many = std::min(batch, roots.size() - next);
      if (failures < kMostRounds && !cuts_.full()) {
        if (pack_and_check({roots.data() + next, many})) {
          next += many;
          batch *= 2;
          failures = 0;
        } else {
          batch = std::max<std::size_t>(1, many / 2);
          ++failures;
        }
      } else {
        failed_ = !grow_all(roots[next], Care::flows).empty();
        ++next;
        failures = 0;
      }
      if (failed_) return std::nullopt;
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
    EntryCuts::Mask sets;  // reached
  };
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }

  enum class Care : std::uint8_t {
    known_sets,  ///< what is left may turn out not to be enough
    flows,
  };

  /// With regard to known sets; then looks for sets that have been entered too often. If there are
  /// any they are known from now on, and nothing else has changed.
  bool pack_and_check(std::span<const int> roots) {
    std::vector<std::int64_t> capacities;
    capacities.reserve(arc_.size());
    for (const int arc : arc_) capacities.push_back(network_.capacity(arc));
    const std::vector<std::int64_t> slacks = cuts_.slacks();
    const std::size_t before = done_.size();
    std::vector<Class> unfinished;
    for (const int root : roots) {
      unfinished = grow_all(root, Care::known_sets);
      if (!unfinished.empty() || failed_) break;
    }
    if (failed_) return false;
    const std::vector<std::vector<bool>> sets = violated_sets(unfinished);
    if (failed_ || (sets.empty() && unfinished.empty())) return !failed_;
    for (std::size_t a = 0; a < arc_.size(); ++a) network_.capacity(arc_[a]) = capacities[a];
    for (const int root : roots) network_.capacity(feed_[at(root)]) = copies_[at(root)];
    cuts_.set_slacks(slacks);
    done_.resize(before);
    for (const std::vector<bool>& set : sets) {
      const std::int64_t slack = slack_of(set);
      if (slack < 0) failed_ = true;  // there never was enough
      if (!cuts_.full()) cuts_.add(set, slack);
    }
    return false;
  }

  /// What can enter the set less what has to. Precondition: no root is unfinished.
  std::int64_t slack_of(const std::vector<bool>& set) const {
    std::int64_t slack = 0;
    for (int v = 0; v < vertices_; ++v) {
      if (!set[at(v)]) slack -= network_.capacity(feed_[at(v)]);
    }
    for (int a = 0; a < graph_.arcs(); ++a) {
      const Arc& arc = graph_.arc(a);
      if (!set[at(arc.from)] && set[at(arc.to)]) slack += network_.capacity(arc_[at(a)]);
    }
    return slack;
  }

  /// Sets into which less can be sent than has to be.
  std::vector<std::vector<bool>> violated_sets(const std::vector<Class>& unfinished) {
    std::vector<std::vector<bool>> sets;
    added_ = 0;
    class_node_ = vertices_ + 1;
    std::int64_t all = not_begun();
    for (const Class& each : unfinished) {
      all += each.copies;
      failed_ = failed_ || !feed_class(each);
    }
    for (int v = 0; v < vertices_ && !failed_; ++v) {
      failed_ = too_many_steps();
      if (network_.flow(source_, v, all) >= all) continue;
      std::vector<bool> set = network_.beyond_cut(vertices_);
      if (std::find(sets.begin(), sets.end(), set) == sets.end()) sets.push_back(std::move(set));
    }
    for (; added_ > 0; --added_) network_.pop();
    return sets;
  }

  /// Copies of roots that have not begun.
  std::int64_t not_begun() const {
    std::int64_t sum = 0;
    for (const int feed : feed_) sum += network_.capacity(feed);
    return sum;
  }

  bool too_many_steps() {
    ++steps_;
    return steps_ > options_.step_limit || (steps_ % 16 == 0 && stop_.should_stop());
  }

  /// Grows all trees of a root; returns the classes that cannot be finished, or some of them where it
  /// has failed for good.
  std::vector<Class> grow_all(int root, Care care) {
    network_.capacity(feed_[at(root)]) = 0;
    const std::int64_t rest = not_begun();
    std::vector<Class> open(1);
    open[0] = {copies_[at(root)],
               std::vector<char>(at(vertices_), 0),
               std::vector<char>(at(graph_.arcs()), 0),
               std::vector<std::int64_t>(at(vertices_), 0),
               {root},
               {},
               {}};
    open[0].reached[at(root)] = 1;
    cuts_.reach(open[0].sets, root);
    while (!open.empty()) {
      Class current = std::move(open.back());
      open.pop_back();
      added_ = 0;
      class_node_ = vertices_ + 1;
      std::int64_t others = rest;
      for (const Class& other : open) {
        others += other.copies;
        failed_ = failed_ || (care == Care::flows && !feed_class(other));
      }
      const bool grown = !failed_ && grow(current, others, open, care);
      for (; added_ > 0; --added_) network_.pop();
      failed_ = failed_ || stop_.should_stop() || (care == Care::flows && !grown);
      if (!grown || failed_) {
        open.push_back(std::move(current));
        return open;
      }
      done_.push_back({root, current.copies, std::move(current.arcs)});
    }
    return open;
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

  /// Until the tree spans all vertices; false if it cannot.
  bool grow(Class& current, std::int64_t others, std::vector<Class>& open, Care care) {
    Queue queue;
    for (const int v : current.vertices) push_arcs(current, v, queue);
    while (static_cast<int>(current.vertices.size()) < vertices_) {
      if (queue.empty()) return false;
      const int a = queue.top().second;
      queue.pop();
      const Arc& arc = graph_.arc(a);
      if (current.reached[at(arc.to)] != 0) continue;
      std::int64_t take = std::min({current.copies, network_.capacity(arc_[at(a)]),
                                    cuts_.room(current.sets, arc.from, arc.to)});
      if (take > 0 && care == Care::flows) {
        if (too_many_steps()) return false;
        take = taken_by_flow(arc, others, take);
      }
      if (take <= 0) {
        current.dead[at(a)] = 1;
        continue;
      }
      if (take < current.copies) {
        open.push_back(current);
        open.back().copies -= take;
        current.copies = take;
        others += open.back().copies;
        if (care == Care::flows && !feed_class(open.back())) return false;
        if (open.size() >= kMostClasses) return false;
      }
      network_.capacity(arc_[at(a)]) -= current.copies;
      cuts_.take(current.sets, arc.from, arc.to, current.copies);
      cuts_.reach(current.sets, arc.to);
      current.reached[at(arc.to)] = 1;
      current.depth[at(arc.to)] = current.depth[at(arc.from)] + length_[at(a)];
      current.vertices.push_back(arc.to);
      current.arcs.push_back(a);
      push_arcs(current, arc.to, queue);
    }
    return true;
  }

  /// Of so many copies that want the arc, those that can have it without spoiling what is left.
  std::int64_t taken_by_flow(const Arc& arc, std::int64_t others, std::int64_t wish) {
    network_.add(source_, arc.from, kPlenty);
    const std::int64_t flow = network_.flow(source_, arc.to, others + wish);
    network_.pop();
    return std::min(wish, flow - others);
  }

  const Digraph& graph_;
  const std::vector<std::int64_t>& copies_;
  const std::vector<std::int64_t>& length_;
  const PackingOptions& options_;
  Rng& rng_;
  const StopCondition& stop_;
  int vertices_;
  int source_;
  StackedFlow network_;
  std::vector<int> arc_;   // of the network, by arc of the graph
  std::vector<int> feed_;  // of the network, by vertex
  int added_ = 0;          // arcs for unfinished classes
  int class_node_ = 0;     // the next one's vertex
  EntryCuts cuts_;         // sets that were entered too often at some time
  bool failed_ = false;    // for good: stopped, or too many classes
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
