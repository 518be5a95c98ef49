// Cuts as large as they have to be, by changing the pairs of nodes that were split off.
//
// A cut that is too small is one more constraint of the fitting: its pairs are scaled up to what it
// needs, rows and columns down to what they have, in turn, until all hold (projections onto convex
// sets, Bregman 1967), and the result is rounded again; a cut that rounding spoils is asked for more.
// What is missing in the end is exchanged: a pair inside the cut and a pair outside, through the
// same node, swap their ends, and both now lead across.
//
// Guarantee. True only if every terminal can be sent all copies. Cost: one max-flow per terminal and
// repair. Tests: logical_links_test.cpp.
#include <algorithm>
#include <map>
#include <utility>

#include "stellwerk/graph/arborescences.hpp"
#include "stellwerk/plan/logical_network.hpp"

namespace stellwerk {
namespace {

constexpr int kMostFits = 60;
constexpr int kPatience = 8;  // fits without progress
constexpr int kMostRepairs = 60;

std::size_t at(int number) { return static_cast<std::size_t>(number); }

class CutWidener {
 public:
  CutWidener(LogicalNetwork& network, const Terminals& terminals, Rng& rng,
             const StopCondition& stop)
      : network_(network), terminals_(terminals), rng_(rng), stop_(stop) {}

  bool run() {
    for (int e = 0; e < static_cast<int>(network_.edges.size()); ++e) {
      if (network_.edge(e).gone || network_.edge(e).pivot < 0) continue;
      pairs_of_[network_.edge(e).pivot].push_back(e);
      pair_[{network_.edge(e).in, network_.edge(e).out}] = e;
    }
    std::int64_t least = INT64_MAX;
    int since = 0;
    for (int fits = 0;; ++fits, ++since) {
      const std::int64_t lacks = find_cuts();
      if (lacks < least) {
        least = lacks;
        since = 0;
      }
      if (lacks == 0) return true;
      if (stop_.should_stop() || pairs_of_.empty()) return false;
      if (lacks <= static_cast<std::int64_t>(terminals_.nodes.size()) || fits == kMostFits ||
          since == kPatience) {
        const std::vector<LogicalEdge> before = network_.edges;
        if (exchange()) return true;
        if (fits == kMostFits || since == kPatience || stop_.should_stop()) return false;
        network_.edges = before;
        fresh_ = false;
      }
      fit_cuts();
      round_pairs();
    }
  }

 private:
  /// A set of terminals that must be entered by so much.
  struct Cut {
    std::vector<bool> set;
    std::int64_t need = 0;    // of pairs: fixed edges do the rest
    std::int64_t margin = 0;  // asked for because rounding spoilt it
    std::vector<int> pairs;   // that enter it
  };

  /// Adds the cuts that are too small, or raises their margins; returns what they lack together.
  std::int64_t find_cuts() {
    std::int64_t sum = 0;
    std::vector<std::vector<bool>> seen;
    for (int v = 0; v < static_cast<int>(terminals_.nodes.size()); ++v) {
      const std::vector<bool> set = deficient(v);
      if (set.empty() || std::find(seen.begin(), seen.end(), set) != seen.end()) continue;
      seen.push_back(set);
      auto known =
          std::find_if(cuts_.begin(), cuts_.end(), [&](const Cut& cut) { return cut.set == set; });
      if (known == cuts_.end()) {
        cuts_.push_back(make_cut(set));
        known = cuts_.end() - 1;
      }
      std::int64_t lacks = known->need;
      for (const int e : known->pairs) lacks -= network_.edge(e).copies;
      known->margin += lacks;
      sum += lacks;
    }
    return sum;
  }

  Cut make_cut(const std::vector<bool>& set) const {
    Cut cut{set, 0, 0, {}};
    for (std::size_t t = 0; t < set.size(); ++t) {
      if (!set[t]) cut.need += terminals_.copies[t];
    }
    for (int e = 0; e < static_cast<int>(network_.edges.size()); ++e) {
      const LogicalEdge& edge = network_.edge(e);
      if (edge.gone || set[at(network_.terminal_of(edge.from))] ||
          !set[at(network_.terminal_of(edge.to))])
        continue;
      if (edge.pivot < 0) {
        cut.need -= edge.copies;
      } else {
        cut.pairs.push_back(e);
      }
    }
    return cut;
  }

  /// Copies of a parent that its pairs with other switches do not have.
  std::map<int, std::int64_t> room_of_parents() const {
    std::map<int, std::int64_t> room;
    for (const auto& [pivot, pairs] : pairs_of_) {
      for (const int e : pairs) {
        for (const int parent : {network_.edge(e).in, network_.edge(e).out})
          room.emplace(parent, network_.edge(parent).copies);
      }
    }
    for (const LogicalEdge& edge : network_.edges) {
      if (!edge.gone || edge.pivot < 0) continue;
      for (const int parent : {edge.in, edge.out}) {
        const auto found = room.find(parent);
        if (found != room.end()) found->second -= edge.copies;
      }
    }
    return room;
  }

  /// Scales shares until all cuts that were met are large enough and no parent has too much.
  void fit_cuts() {
    const std::map<int, std::int64_t> room = room_of_parents();
    std::map<int, std::vector<int>> by_parent;
    for (const auto& [pivot, pairs] : pairs_of_) {
      for (const int e : pairs) {
        by_parent[network_.edge(e).in].push_back(e);
        by_parent[network_.edge(e).out].push_back(e);
      }
    }
    const auto scale = [&](const std::vector<int>& pairs, double limit, bool up) {
      double sum = 0;
      for (const int e : pairs) sum += network_.edge(e).share;
      if (sum <= 0 || (up ? sum >= limit : sum <= limit)) return false;
      for (const int e : pairs) network_.edge(e).share *= limit / sum;
      return true;
    };
    constexpr int kSweeps = 100;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      bool changed = false;
      for (const Cut& cut : cuts_) {
        const double wish = static_cast<double>(cut.need + cut.margin);
        changed = scale(cut.pairs, wish * (1 - 1e-6), true) || changed;
      }
      if (!changed && sweep > 0) break;
      for (const auto& [parent, pairs] : by_parent)
        scale(pairs, static_cast<double>(room.at(parent)), false);
    }
  }

  /// Whole numbers again, from the shares.
  void round_pairs() {
    fresh_ = false;
    const std::map<int, std::int64_t> room = room_of_parents();
    for (const auto& [pivot, pairs] : pairs_of_) {
      std::map<int, std::size_t> row, column;
      std::vector<int> in, out;
      std::vector<std::int64_t> row_left, column_left;
      for (const int e : pairs) {
        const LogicalEdge& edge = network_.edge(e);
        if (row.emplace(edge.in, in.size()).second) {
          in.push_back(edge.in);
          row_left.push_back(room.at(edge.in));
        }
        if (column.emplace(edge.out, out.size()).second) {
          out.push_back(edge.out);
          column_left.push_back(room.at(edge.out));
        }
      }
      std::vector<double> share(in.size() * out.size(), 0);
      for (const int e : pairs) {
        const LogicalEdge& edge = network_.edge(e);
        share[row[edge.in] * out.size() + column[edge.out]] = edge.share;
      }
      const std::vector<std::int64_t> whole =
          round_shares(network_, in, out, share, row_left, column_left, rng_);
      for (std::size_t i = 0; i < in.size(); ++i) network_.edge(in[i]).left = row_left[i];
      for (std::size_t j = 0; j < out.size(); ++j) network_.edge(out[j]).left = column_left[j];
      for (const int e : pairs) {
        LogicalEdge& edge = network_.edge(e);
        edge.copies = whole[row[edge.in] * out.size() + column[edge.out]];
      }
    }
  }

  /// Repairs one cut after the other by exchanges.
  bool exchange() {
    int repairs = 0;
    const int n = static_cast<int>(terminals_.nodes.size());
    // Round and round until all have been seen since the last repair.
    for (int v = 0, good = 0; good < n; v = (v + 1) % n) {
      if (stop_.should_stop()) return false;
      const std::vector<bool> cut = deficient(v);
      if (cut.empty()) {
        ++good;
        continue;
      }
      good = 0;
      if (++repairs > kMostRepairs || !widen_cut(cut)) return false;
      v = (v + n - 1) % n;  // the same again
    }
    return true;
  }

  std::vector<bool> deficient(int terminal) {
    if (!fresh_) {
      arcs_.clear();
      capacity_.clear();
      for (const LogicalEdge& edge : network_.edges) {
        if (edge.gone || edge.copies == 0) continue;
        arcs_.push_back({network_.terminal_of(edge.from), network_.terminal_of(edge.to)});
        capacity_.push_back(edge.copies);
      }
      graph_ = graph::Digraph(static_cast<int>(terminals_.nodes.size()), arcs_);
      fresh_ = true;
    }
    return graph::deficient_cut(graph_, capacity_, terminals_.copies, terminal);
  }

  /// Raises the capacity into the set to what it needs, by exchanges at one node after the other.
  bool widen_cut(const std::vector<bool>& set) {
    fresh_ = false;
    const auto inside = [&](int node) { return bool{set[at(network_.terminal_of(node))]}; };
    std::int64_t lacks = 0;
    for (std::size_t t = 0; t < terminals_.nodes.size(); ++t) {
      if (!set[t]) lacks += terminals_.copies[t];
    }
    for (const LogicalEdge& edge : network_.edges) {
      if (!edge.gone && !inside(edge.from) && inside(edge.to)) lacks -= edge.copies;
    }
    for (auto& [node, pairs] : pairs_of_) {
      if (lacks <= 0) break;
      lacks -= use_leftovers(pairs, inside, lacks);
      std::vector<int> within, without;
      for (const int e : pairs) {
        const LogicalEdge& edge = network_.edge(e);
        if (edge.copies == 0) continue;
        if (inside(edge.from) && inside(edge.to)) within.push_back(e);
        if (!inside(edge.from) && !inside(edge.to)) without.push_back(e);
      }
      rng_.shuffle(within);
      rng_.shuffle(without);
      lacks -= exchange_with_leftovers(within, without, node, inside, lacks);
      for (const int a : within) {
        for (const int b : without) {
          LogicalEdge& first = network_.edge(a);
          LogicalEdge& second = network_.edge(b);
          if (lacks <= 0 || first.copies == 0) break;
          const auto enters = pair_.find({second.in, first.out});
          const auto leaves = pair_.find({first.in, second.out});
          if (second.copies == 0 || enters == pair_.end() || leaves == pair_.end()) continue;
          const std::int64_t amount = std::min(
              {first.copies, second.copies, lacks, std::max<std::int64_t>(1, first.copies / 2)});
          first.copies -= amount;
          second.copies -= amount;
          network_.edge(enters->second).copies += amount;
          network_.edge(leaves->second).copies += amount;
          lacks -= amount;
        }
        if (lacks <= 0) break;
      }
    }
    return lacks <= 0;
  }

  template <class Inside>
  std::int64_t use_leftovers(const std::vector<int>& pairs, const Inside& inside,
                             std::int64_t lacks) {
    std::int64_t gained = 0;
    for (const int e : pairs) {
      LogicalEdge& edge = network_.edge(e);
      if (inside(edge.from) || !inside(edge.to)) continue;
      std::int64_t& in = network_.edge(edge.in).left;
      std::int64_t& out = network_.edge(edge.out).left;
      const std::int64_t amount = std::min({in, out, lacks - gained});
      if (amount <= 0) continue;
      edge.copies += amount;
      in -= amount;
      out -= amount;
      gained += amount;
    }
    return gained;
  }

  /// A pair inside gives its way out to an unused way in from outside, or a pair outside its way in
  /// to an unused way out.
  template <class Inside>
  std::int64_t exchange_with_leftovers(const std::vector<int>& within,
                                       const std::vector<int>& without, int node,
                                       const Inside& inside, std::int64_t lacks) {
    std::vector<int> ins, outs;  // of the node, with something left
    for (const int e : pairs_of_[node]) {
      const LogicalEdge& edge = network_.edge(e);
      if (!inside(edge.from) && network_.edge(edge.in).left > 0) ins.push_back(edge.in);
      if (inside(edge.to) && network_.edge(edge.out).left > 0) outs.push_back(edge.out);
    }
    for (std::vector<int>* list : {&ins, &outs}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    std::int64_t gained = 0;
    const auto move = [&](LogicalEdge& edge, const std::pair<int, int>& to, int freed, int taken) {
      const auto target = pair_.find(to);
      if (target == pair_.end()) return;
      const std::int64_t amount =
          std::min({edge.copies, network_.edge(taken).left, lacks - gained});
      if (amount <= 0) return;
      edge.copies -= amount;
      network_.edge(freed).left += amount;
      network_.edge(taken).left -= amount;
      network_.edge(target->second).copies += amount;
      gained += amount;
    };
    for (const int e : within) {
      for (const int in : ins)
        move(network_.edge(e), {in, network_.edge(e).out}, network_.edge(e).in, in);
    }
    for (const int e : without) {
      for (const int out : outs)
        move(network_.edge(e), {network_.edge(e).in, out}, network_.edge(e).out, out);
    }
    return gained;
  }

  LogicalNetwork& network_;
  const Terminals& terminals_;
  Rng& rng_;
  const StopCondition& stop_;
  std::map<int, std::vector<int>> pairs_of_;  // pairs by the node between them
  std::map<std::pair<int, int>, int> pair_;   // by edge in and edge out
  std::vector<Cut> cuts_;                     // that were too small at some time
  bool fresh_ = false;                        // is the graph that of the edges?
  std::vector<graph::Arc> arcs_;
  std::vector<std::int64_t> capacity_;
  graph::Digraph graph_;
};

}  // namespace

bool widen_cuts(LogicalNetwork& network, const Terminals& terminals, Rng& rng,
                const StopCondition& stop) {
  return CutWidener(network, terminals, rng, stop).run();
}

}  // namespace stellwerk
