// The problem: given a graph with points, a group of symmetries, as large as possible, of which no
// element but the identity keeps a point where it is. Symmetry groups of networks are huge (any
// permutation of equal boxes), so generators and orbits of the whole group do not help: products of
// generators at random are never free. Elements of the right kind must be looked for.
//
// 1. Bounds. The cells of the refined partition are unions of orbits and every orbit of points has
//    as many elements as the group: its order divides the greatest common divisor of the cells'
//    numbers of points. Where that is 1 (almost every single defect), nothing is left to do. The
//    points whose traces are like that of one point are a union of orbits, too.
// 2. Twins (twins.hpp) are merged, the rest is solved, lifted, and a rotation of all twins added.
// 3. Growth: CycleSearch gives one symmetry after another that commutes with what there is and
//    extends it freely; of the candidates of a step the one with the longest cycles, preferring
//    those that leave all arcs free. The result is abelian. Repeated in a portfolio: with and
//    without the rule of displacement, longest or shortest cycles first, at random.
// 4. Where that stops below the bound: symmetries that turn generators round or into each other
//    (dihedral and other groups that are not abelian), accepted if the whole is free.
//
// No guarantee to find the largest; free_group_search_test.cpp compares with brute force on small
// graphs, and with the theory on large ones: tori, hypercubes, rails, Clos networks.
#include "stellwerk/graph/free_group_search.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/graph/cycle_search.hpp"
#include "stellwerk/graph/free_group.hpp"
#include "stellwerk/graph/refinement.hpp"
#include "stellwerk/graph/twins.hpp"

namespace stellwerk::graph {
namespace {

using Arcs = RefinementGraph::Arcs;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

bool all_free(double share) { return share > 1 - 1e-12; }

/// How to choose among the symmetries that a step could add.
enum class Pick : std::uint8_t { longest, shortest, longest_of_random, first_of_random };

class Portfolio {
 public:
  Portfolio(const ColouredGraph& graph, SearchBudget& budget, std::uint64_t seed)
      : graph_(graph), budget_(budget), rng_(seed) {
    OrderedPartition cells(graph);
    Trace ignored;
    cells.refine(RefinementGraph(graph, {}, Arcs::directed), ignored, budget.work);
    std::map<int, std::int64_t> points;
    for (int v = 0; v < graph.vertices(); ++v) {
      if (graph.is_point(v)) ++points[cells.cell(v)];
    }
    std::int64_t smallest = 0;
    for (const auto& [cell, count] : points) {
      result_.bound = smallest == 0 ? count : std::gcd(result_.bound, count);
      if (smallest != 0 && count >= smallest) continue;
      smallest = count;
      start_ = *std::min_element(cells.members(cell).begin(), cells.members(cell).end());
      start_cell_.assign(cells.members(cell).begin(), cells.members(cell).end());
    }
    std::sort(start_cell_.begin(), start_cell_.end());
    possible_.assign(at(graph.vertices()), 1);
  }

  std::int64_t bound() const { return result_.bound; }

  FreeGroups run() {
    if (result_.bound == 1) return result_;
    find_distances();
    const std::int64_t began = budget_.work;
    std::int64_t reached = 0;  // work until the bound was met
    struct Round {
      bool displacement;
      Pick pick;
    };
    constexpr Round kRounds[] = {{true, Pick::longest},           {true, Pick::shortest},
                                 {false, Pick::longest},          {false, Pick::shortest},
                                 {true, Pick::longest_of_random}, {false, Pick::longest_of_random},
                                 {true, Pick::first_of_random},   {false, Pick::first_of_random},
                                 {true, Pick::longest_of_random}, {false, Pick::longest_of_random},
                                 {true, Pick::first_of_random},   {false, Pick::first_of_random}};
    int number = 0;
    for (const Round& round : kRounds) {
      if (number == 1 && result_.largest.order < result_.bound) compare_traces();
      if (done() || budget_.exhausted()) break;
      CycleSearchOptions options;
      options.displacement = round.displacement;
      options.shuffle = round.pick >= Pick::longest_of_random;
      options.failures = number < 4 ? 3 : 60;
      FreeGroup group(graph_.vertices());
      while (group.order() < result_.bound && !budget_.exhausted()) {
        if (!grow(group, options, round.pick)) break;
        keep(group);
      }
      ++number;
      if (result_.largest.order == result_.bound) {
        if (reached == 0) reached = budget_.work - began;
        if (number >= 10 ||
            budget_.work - began > 3 * std::max(reached, std::int64_t{10'000'000})) {
          break;
        }
      }
    }
    if (result_.largest.order < result_.bound) extend_without_commuting();
    return result_;
  }

 private:
  bool done() const {
    return result_.largest.order == result_.bound && all_free(result_.largest.free_arcs);
  }

  void keep(const FreeGroup& group) {
    const FoundGroup found{group.generators(), group.order(),
                           free_arcs(graph_, group.generators(), group.order())};
    const auto rank = [](const FoundGroup& g) { return std::pair(g.order, g.free_arcs); };
    if (rank(found) > rank(result_.largest)) result_.largest = found;
    if (all_free(found.free_arcs) && found.order > result_.arc_free.order) result_.arc_free = found;
  }

  void find_distances() {
    distance_.assign(at(graph_.vertices()), graph_.vertices());
    std::vector<int> reached = {start_};
    distance_[at(start_)] = 0;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (const auto& half : graph_.out(reached[i])) {
        if (distance_[at(half.vertex)] < graph_.vertices()) continue;
        distance_[at(half.vertex)] = distance_[at(reached[i])] + 1;
        reached.push_back(half.vertex);
      }
    }
  }

  /// Points whose traces are not that of start are not in its orbit. Tightens the bound.
  void compare_traces() {
    if (compared_) return;
    compared_ = true;
    constexpr std::int64_t kMostWork = 100'000'000;
    const FreeGroup none(graph_.vertices());
    CycleSearch search(graph_, none, {}, Arcs::directed, start_, result_.bound, budget_, rng_);
    const std::int64_t begin = budget_.work;
    std::int64_t count = 0;
    for (const int v : start_cell_) {
      if (budget_.work - begin > kMostWork || budget_.exhausted()) return;
      possible_[at(v)] = v == start_ || search.possible(v) ? 1 : 0;
      count += possible_[at(v)];
    }
    result_.bound = std::gcd(result_.bound, count);
  }

  /// Where start could go: one point of every kind, as seen from start, and of every orbit.
  std::vector<int> candidates(const CycleSearch& search, const FreeGroup& group) const {
    const OrderedPartition& seen = search.seen_from_start();
    const auto key = [&](int v) {
      return std::tuple(distance_[at(v)], seen.size(seen.cell(v)), v);
    };
    std::map<int, int> nearest;  // by cell
    for (const int v : start_cell_) {
      if (possible_[at(v)] == 0 || group.orbit(v) == group.orbit(start_)) continue;
      const auto [known, fresh] = nearest.emplace(seen.cell(v), v);
      if (!fresh && key(v) < key(known->second)) known->second = v;
    }
    std::vector<int> result;
    for (const auto& [cell, v] : nearest) result.push_back(v);
    std::sort(result.begin(), result.end(), [&](int a, int b) { return key(a) < key(b); });
    std::set<int> orbits;
    std::erase_if(result, [&](int v) { return !orbits.insert(group.orbit(v)).second; });
    return result;
  }

  /// Adds one symmetry to the group. False if none was found.
  bool grow(FreeGroup& group, CycleSearchOptions options, Pick pick) {
    CycleSearch search(graph_, group, group.generators(), Arcs::directed, start_, result_.bound,
                       budget_, rng_);
    // Where every point looks different from start, traces are cheap and tell all.
    if (group.order() == 1 && search.seen_from_start().discrete()) {
      compare_traces();
      if (result_.bound == 1) return false;
    }
    std::vector<int> images = candidates(search, group);
    const bool random = pick >= Pick::longest_of_random;
    if (random) rng_.shuffle(images);
    const int most_tried = random ? 4 : 10;
    constexpr int kLeastTried = 3;
    constexpr std::int64_t kPatience = 50'000'000;  // half a second
    const std::int64_t began = budget_.work;
    std::optional<CycleSearch::Found> best;
    bool best_is_free = false;
    int tried = 0;
    const auto enough = [&] {
      return best_is_free && tried >= kLeastTried && budget_.work - began > kPatience;
    };
    const auto perfect = [&] {
      return best && best_is_free && group.order() * best->index == result_.bound;
    };
    for (const int v : images) {
      if (tried >= most_tried || budget_.exhausted()) break;
      if (enough()) break;
      if (!search.possible(v)) continue;
      ++tried;
      constexpr int kMostTurns = 8;
      for (options.turn = 0; options.turn < kMostTurns; ++options.turn) {
        auto found = search.run(v, options);
        if (found && result_.bound % (group.order() * found->index) == 0) {
          auto generators = group.generators();
          generators.push_back(found->symmetry);
          const bool is_free =
              all_free(free_arcs(graph_, generators, group.order() * found->index));
          const bool better =
              !best || (is_free && !best_is_free) ||
              (is_free == best_is_free &&
               (pick == Pick::shortest ? found->index < best->index : found->index > best->index));
          if (better) {
            best = std::move(found);
            best_is_free = is_free;
          }
        }
        if (options.turn + 1 >= search.turns() || perfect() || enough()) break;
      }
      if (perfect() || (best && best_is_free && pick == Pick::first_of_random)) break;
    }
    if (!best) return false;
    group.extend(std::move(best->symmetry), best->index);
    return true;
  }

  FreeGroup rebuild(const FoundGroup& found) const {
    FreeGroup group(graph_.vertices());
    for (std::size_t i = 0; i < found.generators.size(); ++i) {
      group.extend(found.generators[i], i == 0 ? found.order : 1);
    }
    return group;
  }

  void extend_without_commuting() {
    FreeGroup group = rebuild(result_.largest);
    extend(group, false);
    constexpr int kRestarts = 6;
    for (int i = 0; i < kRestarts && result_.largest.order > 1; ++i) {
      if (result_.largest.order == result_.bound || budget_.exhausted()) return;
      FreeGroup fresh(graph_.vertices());
      extend(fresh, true);
    }
  }

  /// Extends the group until nothing is found.
  void extend(FreeGroup& group, bool first_found) {
    bool any = true;
    while (any && group.order() < result_.bound && !budget_.exhausted()) {
      any = false;
      for (const auto& [arcs, with_group] :
           {std::pair(Arcs::undirected, true), {Arcs::alike, true}, {Arcs::directed, false}}) {
        if (with_group && group.order() == 1) continue;
        any = extend_once(group, arcs, with_group, first_found);
        if (any) break;
      }
      if (any) keep(group);
    }
  }

  bool extend_once(FreeGroup& group, Arcs arcs, bool with_group, bool first_found) {
    const FreeGroup none(graph_.vertices());
    const std::vector<VertexPermutation> no_generators;
    CycleSearch search(graph_, none, with_group ? group.generators() : no_generators, arcs, start_,
                       result_.bound, budget_, rng_);
    std::vector<int> images;
    for (const int v : start_cell_) {
      if (possible_[at(v)] != 0 && group.orbit(v) != group.orbit(start_)) images.push_back(v);
    }
    rng_.shuffle(images);
    std::optional<VertexPermutation> best;
    std::int64_t best_order = 0;
    constexpr int kMostTried = 24;
    constexpr int kMostTurns = 4;
    int tried = 0;
    for (const int v : images) {
      if (tried >= kMostTried || budget_.exhausted() || best_order == result_.bound) break;
      if (!search.possible(v)) continue;
      ++tried;
      CycleSearchOptions options;
      options.displacement = false;
      options.any_automorphism = true;
      options.failures = 60;
      options.shuffle = !with_group || tried > 8;
      for (options.turn = 0; options.turn < kMostTurns; ++options.turn) {
        options.rotate_others = options.turn % 2 == 0;
        if (auto found = search.run(v, options)) {
          auto generators = group.generators();
          generators.push_back(found->symmetry);
          const auto order = free_order(graph_, generators, result_.bound);
          budget_.work += graph_.vertices() * order.value_or(1);
          if (order && *order > group.order() && *order > best_order &&
              result_.bound % *order == 0) {
            best = std::move(found->symmetry);
            best_order = *order;
          }
        }
        if (options.turn + 1 >= search.turns()) break;
      }
      if (best && first_found) break;
    }
    if (!best) return false;
    group.extend(std::move(*best), best_order / group.order());
    return true;
  }

  const ColouredGraph& graph_;
  SearchBudget& budget_;
  Rng rng_;
  int start_ = 0;
  std::vector<int> start_cell_;  ///< points that look like start
  std::vector<char> possible_;   ///< may be in the orbit of start
  bool compared_ = false;
  std::vector<int> distance_;  ///< from start
  FreeGroups result_;
};

void keep_better(FoundGroup& known, FoundGroup other) {
  if (std::pair(other.order, other.free_arcs) > std::pair(known.order, known.free_arcs)) {
    known = std::move(other);
  }
}

/// The vertices in the order of breadth-first searches: neighbours near each other. Refinement of
/// large graphs in random order is a third as fast, for want of cache.
std::vector<int> local_order(const ColouredGraph& graph) {
  std::vector<int> order;
  std::vector<char> seen(at(graph.vertices()), 0);
  for (int v = 0; v < graph.vertices(); ++v) {
    if (seen[at(v)] != 0) continue;
    seen[at(v)] = 1;
    std::size_t next = order.size();
    order.push_back(v);
    for (; next < order.size(); ++next) {
      const int u = order[next];
      for (const auto halves : {graph.out(u), graph.in(u)}) {
        for (const auto& half : halves) {
          if (seen[at(half.vertex)] != 0) continue;
          seen[at(half.vertex)] = 1;
          order.push_back(half.vertex);
        }
      }
    }
  }
  return order;
}

/// The graph whose vertex i is `order[i]`.
ColouredGraph renumbered(const ColouredGraph& graph, const std::vector<int>& order) {
  const VertexPermutation number = inverse(order);
  std::vector<int> colours;
  std::vector<char> points;
  std::vector<ColouredGraph::Arc> arcs;
  for (const int v : order) {
    colours.push_back(graph.colour(v));
    points.push_back(graph.is_point(v) ? 1 : 0);
    for (const auto& half : graph.out(v)) {
      arcs.push_back({number[at(v)], number[at(half.vertex)], half.label});
    }
  }
  return {std::move(colours), std::move(points), arcs};
}

FreeGroups search(const ColouredGraph& graph, const FreeGroupOptions& options) {
  SearchBudget budget;
  budget.most = options.most_work != 0 ? options.most_work
                                       : 300'000'000 + std::int64_t{30'000} * graph.vertices();
  budget.should_stop = options.should_stop;
  Portfolio whole(graph, budget, options.seed);
  const auto twins = Twins::find(graph);
  if (!twins) {
    FreeGroups result = whole.run();
    result.complete = !budget.exhausted();
    return result;
  }
  const FreeGroups reduced = Portfolio(twins->reduced(), budget, options.seed).run();
  FreeGroups result;
  result.bound = whole.bound();
  const auto consider = [&](const FoundGroup& found, bool turn) {
    FoundGroup lifted;
    for (const auto& g : found.generators) lifted.generators.push_back(twins->lift(g));
    if (turn) lifted.generators.push_back(twins->rotation());
    lifted.order = found.order * (turn ? twins->period() : 1);
    lifted.free_arcs = free_arcs(graph, lifted.generators, lifted.order);
    if (all_free(lifted.free_arcs)) keep_better(result.arc_free, lifted);
    keep_better(result.largest, std::move(lifted));
  };
  consider(reduced.largest, true);
  consider(reduced.largest, false);
  consider(reduced.arc_free, false);
  // The rotation leaves all other vertices, hence the arcs between them, where they are.
  if (!all_free(result.largest.free_arcs)) {
    const FreeGroups direct = whole.run();
    keep_better(result.largest, direct.largest);
    keep_better(result.arc_free, direct.arc_free);
  }
  result.complete = !budget.exhausted();
  return result;
}

}  // namespace

FreeGroups find_free_groups(const ColouredGraph& graph, const FreeGroupOptions& options) {
  const std::vector<int> order = local_order(graph);
  FreeGroups result = search(renumbered(graph, order), options);
  const VertexPermutation number = inverse(order);
  for (FoundGroup* group : {&result.largest, &result.arc_free}) {
    for (VertexPermutation& g : group->generators) g = product(product(number, g), order);
  }
  return result;
}

}  // namespace stellwerk::graph
