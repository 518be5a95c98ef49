// Individualisation and refinement on two copies of a partition: a vertex x is singled out in one
// copy, its image y in the other, and both are refined in step; cells of one vertex give images.
// Generators that such a search finds first are usually transpositions of a few vertices. What makes
// it find *semiregular* elements, which move every point in cycles of one length, is how x and y
// are chosen:
//
//   - x is the end of the path start, image of start, image of that, ... and y a point that is not
//     on a path yet, as long as there is one: cycles become as long as they can be. The first cycle
//     that closes fixes the length J for all others.
//   - Points move by one displacement: y must lie to x as the image of start lies to start (distance
//     and shortest paths). In a torus this leaves the translations; screws, glides and rotations of
//     plaquettes are symmetries too, but get in the way of the next generator.
//   - The second step decides where the journey goes (on, round a corner, back): one representative
//     of each way is tried, see `turn`.
//   - Other vertices (switches) may stay where they are, but turn round if they can, so that links
//     between them move, too.
//
// With a group H known, the search runs on the orbits of H: arcs from every vertex to its images
// under H's generators make what it finds commute with H, a cycle of orbits closes at an image of
// its start under one element h of H, the same for all cycles, and then H and the new symmetry s
// generate a group of order J |H| that acts freely: s^j h with 0 < j < J moves every orbit of points.
//
// A search that goes nowhere is cheap to give up: few candidates a choice, few dead ends.
// Everything found is checked in full. Test: free_group_test.cpp.
#include "stellwerk/graph/cycle_search.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "stellwerk/graph/displacement.hpp"

namespace stellwerk::graph {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Images so far, and the paths of group orbits that they form; undone step by step.
class PartialSymmetry {
 public:
  /// Points must move in cycles of orbits of one length, a divisor of `longest`.
  PartialSymmetry(const ColouredGraph& graph, const FreeGroup& group, std::int64_t longest)
      : graph_(graph),
        group_(group),
        longest_(longest),
        image_(at(graph.vertices()), -1),
        preimage_(image_),
        next_(image_),
        previous_(image_),
        first_(at(graph.vertices())),
        length_(at(graph.vertices()), 1) {
    std::iota(first_.begin(), first_.end(), 0);
    last_ = first_;
  }

  const VertexPermutation& images() const { return image_; }
  int image(int v) const { return image_[at(v)]; }
  int preimage(int v) const { return preimage_[at(v)]; }
  /// The common length of the cycles; 0: none has closed.
  std::int64_t cycle_length() const { return cycle_length_; }

  /// For the last orbit of a path: its first one and the number of orbits.
  int path_first(int orbit) const { return first_[at(orbit)]; }
  std::int64_t path_length(int first) const { return length_[at(first)]; }
  bool entered(int orbit) const { return previous_[at(orbit)] >= 0; }

  /// False if x cannot go to y.
  bool map(int x, int y) {
    if (image_[at(x)] >= 0) return image_[at(x)] == y;
    if (preimage_[at(y)] >= 0) return false;
    image_[at(x)] = y;
    preimage_[at(y)] = x;
    log_.push_back({Step::mapped, x, 0, 0});
    if (!graph_.is_point(x)) return true;
    if (x == y) return false;
    return join(group_.orbit(x), group_.orbit(y));
  }

  std::size_t mark() const { return log_.size(); }
  void undo(std::size_t mark) {
    while (log_.size() > mark) {
      const Step step = log_.back();
      log_.pop_back();
      switch (step.kind) {
        case Step::mapped:
          preimage_[at(image_[at(step.a)])] = -1;
          image_[at(step.a)] = -1;
          break;
        case Step::joined: {  // the path that ended in a and the one that began with b
          const int first = step.first;
          last_[at(step.b)] = last_[at(first)];
          first_[at(last_[at(first)])] = step.b;
          last_[at(first)] = step.a;
          first_[at(step.a)] = first;
          length_[at(first)] -= length_[at(step.b)];
          next_[at(step.a)] = previous_[at(step.b)] = -1;
          break;
        }
        case Step::closed:
          next_[at(step.a)] = previous_[at(step.b)] = -1;
          break;
        case Step::fixed_length:
          cycle_length_ = 0;
          break;
      }
    }
  }

 private:
  struct Step {
    enum Kind : std::uint8_t { mapped, joined, closed, fixed_length } kind;
    int a, b, first;
  };

  bool join(int from, int to) {
    if (next_[at(from)] >= 0) return next_[at(from)] == to;
    if (previous_[at(to)] >= 0) return false;
    const int first = first_[at(from)];
    next_[at(from)] = to;
    previous_[at(to)] = from;
    if (first == to) {
      log_.push_back({Step::closed, from, to, 0});
      const std::int64_t length = length_[at(first)];
      if (length < 2 || longest_ % length != 0) return false;
      if (cycle_length_ != 0) return length == cycle_length_;
      log_.push_back({Step::fixed_length, 0, 0, 0});
      cycle_length_ = length;
      return true;
    }
    log_.push_back({Step::joined, from, to, first});
    const int last = last_[at(to)];
    last_[at(first)] = last;
    first_[at(last)] = first;
    length_[at(first)] += length_[at(to)];
    return length_[at(first)] <= (cycle_length_ != 0 ? cycle_length_ : longest_);
  }

  const ColouredGraph& graph_;
  const FreeGroup& group_;
  std::int64_t longest_;
  std::vector<int> image_, preimage_;
  // Orbits by their least vertex. first_ holds for the last orbit of a path, last_ and length_ for
  // the first.
  std::vector<int> next_, previous_, first_, last_;
  std::vector<std::int64_t> length_;
  std::int64_t cycle_length_ = 0;
  std::vector<Step> log_;
};

}  // namespace

bool SearchBudget::exhausted() {
  constexpr std::int64_t kBetweenPolls = 100'000;  // a millisecond or two
  if (stopped_ || work > most) return true;
  if (work >= next_poll_) {
    next_poll_ = work + kBetweenPolls;
    stopped_ = should_stop && should_stop();
  }
  return stopped_;
}

/// One search from `start` to `to`.
class CycleSearch::Run {
 public:
  Run(CycleSearch& search, const CycleSearchOptions& options)
      : s_(search),
        options_(options),
        partial_(search.graph_, search.group_, search.most_ / search.group_.order()),
        displacement_(search.graph_) {}

  std::optional<Found> operator()(int to) {
    to_ = to;
    if (options_.displacement) reference_[base_cell(s_.start_)] = displacement(s_.start_, to);
    for (int v = 0; v < s_.graph_.vertices(); ++v) {
      const int cell = s_.one_.cell(v);
      if (s_.one_.size(cell) > 1) continue;
      if (!partial_.map(v, s_.two_.members(cell).front())) return std::nullopt;
    }
    if (s_.one_.discrete()) return complete();
    open_frame();
    int dead_ends = 0;
    std::int64_t steps = 0;
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      s_.two_.undo(frame.two_mark);
      partial_.undo(frame.partial_mark);
      if (frame.next == frame.candidates.size()) {
        s_.one_.undo(frame.one_mark);
        frames_.pop_back();
        if (++dead_ends > options_.failures) return std::nullopt;
        continue;
      }
      if (++steps > kMostSteps || s_.budget_.exhausted()) return std::nullopt;
      const int y = frame.candidates[frame.next++];
      if (!take(frame, y)) continue;
      if (!s_.one_.discrete()) {
        open_frame();
        continue;
      }
      if (auto found = complete()) return found;
      if (++dead_ends > options_.failures) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::int64_t kMostSteps = 100'000;

  /// A choice of the image of x.
  struct Frame {
    int x;
    std::vector<int> candidates;
    std::size_t next = 0;
    std::size_t one_mark, two_mark, partial_mark;
    bool refined = false;        ///< x is singled out in the first copy
    bool on_start_path = false;  ///< x is the end of the path of images that begins with start
    Trace trace;
  };

  int base_cell(int v) const { return s_.base_.cell(v); }
  // Arcs that a breadth-first search looks at cost less than those of a refinement.
  static constexpr std::int64_t kArcsAUnit = 8;
  Displacement displacement(int x, int y) {
    std::int64_t arcs = 0;
    const Displacement result = displacement_(x, y, arcs);
    s_.budget_.work += arcs / kArcsAUnit;
    return result;
  }
  bool lies_as(const Displacement& wanted, int x, int y) {
    std::int64_t arcs = 0;
    const bool result = displacement_.is(wanted, x, y, arcs);
    s_.budget_.work += arcs / kArcsAUnit;
    return result;
  }

  /// Singles out x and y and refines. False if that shows a difference or maps what cannot be.
  bool take(Frame& frame, int y) {
    if (!frame.refined) {
      s_.one_.individualise(frame.x);
      s_.one_.refine(s_.refinement_, frame.trace, s_.budget_.work);
      frame.refined = true;
    }
    s_.two_.individualise(y);
    if (!s_.two_.refine_like(s_.refinement_, frame.trace, s_.budget_.work)) return false;
    const auto& splits = s_.one_.splits();
    for (std::size_t i = frame.one_mark; i < splits.size(); ++i) {
      for (const int cell : {splits[i].first, splits[i].second}) {
        if (s_.one_.size(cell) == 1 &&
            !partial_.map(s_.one_.members(cell).front(), s_.two_.members(cell).front())) {
          return false;
        }
      }
    }
    if (options_.displacement && s_.graph_.is_point(frame.x) &&
        !reference_.contains(base_cell(frame.x))) {
      reference_[base_cell(frame.x)] = displacement(frame.x, y);
    }
    return true;
  }

  /// The vertex whose image is chosen next: the end of start's path; else a point, else another
  /// vertex, in a small cell, and there the end of a path.
  void choose(Frame& frame) {
    // Frames that follow start's path come before all others.
    if (frames_.empty() || frames_.back().on_start_path) {
      int end = frames_.empty() ? s_.start_ : frames_.back().x;
      do {
        if (partial_.image(end) < 0) {
          frame.x = end;
          frame.on_start_path = true;
          return;
        }
        end = partial_.image(end);
      } while (end != s_.start_);
    }
    int best = -1;
    bool best_is_point = false;
    for (int cell = s_.one_.first_large(); cell >= 0; cell = s_.one_.next_large(cell)) {
      const bool point = s_.graph_.is_point(s_.one_.members(cell).front());
      const bool better = best < 0 || (point && !best_is_point) ||
                          (point == best_is_point && s_.one_.size(cell) < s_.one_.size(best));
      if (!better) continue;
      best = cell;
      best_is_point = point;
    }
    assert(best >= 0);
    const auto members = s_.one_.members(best);
    const auto end_of_path = std::find_if(members.begin(), members.end(),
                                          [&](int v) { return partial_.preimage(v) >= 0; });
    frame.x = end_of_path != members.end() ? *end_of_path : members.front();
  }

  void open_frame() {
    Frame frame;
    choose(frame);
    frame.one_mark = s_.one_.splits().size();
    frame.two_mark = s_.two_.splits().size();
    frame.partial_mark = partial_.mark();
    frame.candidates =
        s_.graph_.is_point(frame.x) ? images_of_point(frame) : images_of_other(frame.x);
    frames_.push_back(std::move(frame));
  }

  /// The element of the group that the cycles close with, once it is known.
  const VertexPermutation* closing_element() {
    const std::int64_t length = partial_.cycle_length();
    if (length == 0) return nullptr;
    int end = s_.start_;
    for (std::int64_t i = 0; i < length; ++i) {
      end = partial_.image(end);
      if (end < 0) return nullptr;
    }
    if (closing_end_ != end) {
      closing_end_ = end;
      closing_ = s_.group_.element(s_.start_, end);
    }
    return &closing_;
  }

  /// The first vertex of the path of images that ends in v, and the number of vertices.
  std::pair<int, std::int64_t> path_to(int v) const {
    std::int64_t length = 1;
    for (; partial_.preimage(v) >= 0; ++length) v = partial_.preimage(v);
    return {v, length};
  }

  std::vector<int> images_of_point(const Frame& frame) {
    const int x = frame.x;
    const auto cell = s_.two_.members(s_.one_.cell(x));
    const int first = partial_.path_first(s_.group_.orbit(x));
    const std::int64_t length = partial_.path_length(first);
    const std::int64_t cycle = partial_.cycle_length();
    const bool second_step = !second_step_done_ && x == to_ && cycle == 0;
    const Displacement* wanted = nullptr;
    if (options_.displacement) {
      const auto found = reference_.find(base_cell(x));
      if (found != reference_.end()) wanted = &found->second;
    }
    int closes_at = -1;  // where the path must close, if that is known
    int path_begin = -1;
    if (length >= 2 || cycle == length) {
      path_begin = frame.on_start_path ? s_.start_ : path_to(x).first;
      if (cycle == length) {
        const VertexPermutation* h = closing_element();
        closes_at = h != nullptr ? (*h)[at(path_begin)] : path_begin;
      }
    }
    std::vector<int> fresh, closing;
    const std::size_t shift = options_.shuffle ? s_.rng_.below(cell.size()) : 0;
    for (std::size_t i = 0; i < cell.size(); ++i) {
      const int y = cell[(i + shift) % cell.size()];
      if (y == x || partial_.preimage(y) >= 0) continue;
      const int orbit = s_.group_.orbit(y);
      const bool closes = orbit == first;
      if (closes) {
        if (cycle == 0 ? length < 2 : (length != cycle || y != closes_at)) continue;
      } else if (partial_.entered(orbit) ||
                 (cycle > 0 && length + partial_.path_length(orbit) > cycle)) {
        continue;
      }
      if (wanted != nullptr && !lies_as(*wanted, x, y)) continue;
      (closes ? closing : fresh).push_back(y);
      if (!second_step && fresh.size() >= at(options_.tries)) break;
    }
    const auto home = std::find(closing.begin(), closing.end(), path_begin);
    if (home != closing.end()) std::iter_swap(closing.begin(), home);
    if (second_step) {
      second_step_done_ = true;
      std::map<int, std::vector<int>> kinds;
      for (const int y : fresh) kinds[s_.one_.cell(y)].push_back(y);
      std::vector<std::vector<int>> ways;
      for (auto& [kind, members] : kinds) ways.push_back(std::move(members));
      if (!closing.empty()) ways.push_back(closing);
      s_.turns_ = static_cast<int>(ways.size());
      if (options_.turn >= s_.turns_) return {};
      fresh = std::move(ways[at(options_.turn)]);
    } else {
      fresh.insert(fresh.end(), closing.begin(), closing.end());
    }
    if (fresh.size() > at(options_.tries)) fresh.resize(at(options_.tries));
    return fresh;
  }

  /// Cycles of other vertices should have as many orbits as their cell allows, a divisor of the
  /// length of the points' cycles.
  std::vector<int> images_of_other(int x) {
    const auto cell = s_.two_.members(s_.one_.cell(x));
    const auto [begin, length] = path_to(x);
    const VertexPermutation* h = closing_element();
    const bool trivial = h == nullptr || (*h)[at(s_.start_)] == s_.start_;
    const std::int64_t cycle = std::max<std::int64_t>(partial_.cycle_length(), 1);
    if (length == 1) {
      std::set<int> orbits;
      for (const int y : cell) orbits.insert(s_.group_.orbit(y));
      wanted_[x] =
          options_.rotate_others ? std::gcd(static_cast<std::int64_t>(orbits.size()), cycle) : 1;
    }
    const auto wanted = wanted_.find(begin);
    const std::int64_t orbits = wanted == wanted_.end() ? 1 : wanted->second;
    std::vector<int> fresh, closing, same_orbit;
    for (const int y : cell) {
      if (partial_.preimage(y) >= 0) continue;
      if (y == begin) {
        closing.push_back(y);
      } else if (s_.group_.orbit(y) == s_.group_.orbit(begin)) {
        same_orbit.push_back(y);
      } else {
        fresh.push_back(y);
      }
    }
    if (!trivial && orbits == cycle && length == cycle) closing.assign(1, (*h)[at(begin)]);
    if (!trivial) closing.insert(closing.end(), same_orbit.begin(), same_orbit.end());
    std::vector<int> result = length >= orbits ? closing : fresh;
    const std::vector<int>& then = length >= orbits ? fresh : closing;
    result.insert(result.end(), then.begin(), then.end());
    if (trivial) result.insert(result.end(), same_orbit.begin(), same_orbit.end());
    if (result.size() > at(options_.tries) + 1) result.resize(at(options_.tries) + 1);
    return result;
  }

  /// All vertices have images: is it what was looked for?
  std::optional<Found> complete() {
    const VertexPermutation& sigma = partial_.images();
    s_.budget_.work += 4 * static_cast<std::int64_t>(sigma.size());
    for (const int image : sigma) {
      if (image < 0) return std::nullopt;
    }
    if (!s_.graph_.is_automorphism(sigma)) return std::nullopt;
    if (options_.any_automorphism) return Found{sigma, 0};
    for (const VertexPermutation& g : s_.group_.generators()) {
      for (std::size_t v = 0; v < sigma.size(); ++v) {
        if (sigma[at(g[v])] != g[at(sigma[v])]) return std::nullopt;
      }
    }
    if (options_.displacement) {
      for (int v = 0; v < s_.graph_.vertices(); ++v) {
        if (!s_.graph_.is_point(v)) continue;
        const auto known = reference_.find(base_cell(v));
        if (known == reference_.end()) {
          reference_[base_cell(v)] = displacement(v, sigma[at(v)]);
        } else if (!lies_as(known->second, v, sigma[at(v)])) {
          return std::nullopt;
        }
      }
    }
    const std::int64_t index = relative_order(sigma);
    if (index < 2) return std::nullopt;
    return Found{sigma, index};
  }

  /// The J of the essay, if sigma permutes all orbits of points in cycles of length J and its J-th
  /// power is in the group; else 0.
  std::int64_t relative_order(const VertexPermutation& sigma) const {
    const auto cycle_of = [&](int v) {
      std::int64_t length = 0;
      int w = v;
      do {
        w = sigma[at(w)];
        ++length;
      } while (s_.group_.orbit(w) != s_.group_.orbit(v));
      return length;
    };
    const std::int64_t length = cycle_of(s_.start_);
    std::vector<char> seen(sigma.size(), 0);
    for (int v = 0; v < s_.graph_.vertices(); ++v) {
      if (!s_.graph_.is_point(v) || seen[at(s_.group_.orbit(v))] != 0) continue;
      if (cycle_of(v) != length) return 0;
      for (int w = v; seen[at(s_.group_.orbit(w))] == 0; w = sigma[at(w)]) {
        seen[at(s_.group_.orbit(w))] = 1;
      }
    }
    const VertexPermutation end = power(sigma, length);
    return end == s_.group_.element(s_.start_, end[at(s_.start_)]) ? length : 0;
  }

  CycleSearch& s_;
  const CycleSearchOptions& options_;
  PartialSymmetry partial_;
  DisplacementFinder displacement_;
  int to_ = -1;
  bool second_step_done_ = false;
  std::map<int, Displacement> reference_;  // of the points of a cell of the graph
  std::map<int, std::int64_t> wanted_;     // orbits in the cycle that begins with a vertex
  int closing_end_ = -1;
  VertexPermutation closing_;
  std::vector<Frame> frames_;
};

CycleSearch::CycleSearch(const ColouredGraph& graph, const FreeGroup& group,
                         const std::vector<VertexPermutation>& neighbours,
                         RefinementGraph::Arcs arcs, int start, std::int64_t most,
                         SearchBudget& budget, Rng& rng)
    : graph_(graph),
      group_(group),
      refinement_(graph, neighbours, arcs),
      start_(start),
      most_(most),
      budget_(budget),
      rng_(rng),
      base_(graph),
      one_(graph),
      two_(graph) {
  Trace ignored;
  const RefinementGraph plain(graph, {}, arcs);
  base_.refine(plain, ignored, budget.work);
  one_.refine(refinement_, ignored, budget.work);
  two_ = one_;
  two_mark_ = two_.splits().size();
  one_.individualise(start);
  one_.refine(refinement_, start_trace_, budget.work);
  one_mark_ = one_.splits().size();
}

CycleSearch::~CycleSearch() = default;

const OrderedPartition& CycleSearch::seen_from_start() const { return one_; }

bool CycleSearch::possible(int to) {
  const int start_cell = two_.cell(start_);
  if (two_.cell(to) != start_cell) return false;
  two_.individualise(to);
  const bool same = two_.refine_like(refinement_, start_trace_, budget_.work);
  two_.undo(two_mark_);
  return same;
}

std::optional<CycleSearch::Found> CycleSearch::run(int to, const CycleSearchOptions& options) {
  turns_ = 0;
  if (two_.cell(to) != two_.cell(start_)) return std::nullopt;
  two_.individualise(to);
  std::optional<Found> found;
  if (two_.refine_like(refinement_, start_trace_, budget_.work)) found = Run(*this, options)(to);
  one_.undo(one_mark_);
  two_.undo(two_mark_);
  return found;
}

}  // namespace stellwerk::graph
