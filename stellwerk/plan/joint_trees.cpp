// In-trees and out-trees with common roots.
//
// Problem. Given how much of the data trees should sum and spread over every link, and how much should be
// rooted where (joint_rates.cpp): whole trees for whole chunks.
//
// Idea. With K copies of the data's parts, roots get whole numbers of them, links whole numbers of summing
// and of spreading copies, what rounding leaves to both alike; both kinds are packed by themselves
// (tree_packing.cpp), sums in the reversed network. Where a packing fails everything is given a
// little more time. The i-th chunk of a root takes its i-th in-tree and its i-th out-tree;
// all chunks' sends are scheduled together, so that what spreads overlaps with what is still summed.
//
// Guarantee. None on the schedule. Tests: joint_trees_test.cpp.
#include "stellwerk/plan/joint_trees.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "stellwerk/plan/tree_packing.hpp"
#include "stellwerk/plan/tree_schedule.hpp"

namespace stellwerk {
namespace {

/// Whole numbers in proportion to the shares, with this sum (largest remainders).
std::vector<std::int64_t> apportion(const std::vector<double>& shares, std::int64_t sum) {
  std::vector<std::int64_t> result;
  std::vector<std::pair<double, std::size_t>> remainders;
  std::int64_t rest = sum;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double share = shares[i] * static_cast<double>(sum);
    result.push_back(static_cast<std::int64_t>(std::floor(share + 1e-9)));
    rest -= result.back();
    remainders.emplace_back(static_cast<double>(result.back()) - share, i);
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t i = 0; rest > 0; i = (i + 1) % remainders.size(), --rest)
    ++result[remainders[i].second];
  return result;
}

/// Trees into the roots (of the reversed network) and out of them.
struct TreePair {
  TreePacking gather;
  TreePacking spread;
};

class JointTrees {
 public:
  JointTrees(const Problem& problem, const JointDemand& demand, Time target, bool quick,
             PlannerContext& context)
      : problem_(problem),
        demand_(demand),
        target_(target),
        quick_(quick),
        context_(context),
        reversed_(reversed(problem.topology)) {}

  JointTreePlan run() {
    const auto chunks = static_cast<std::int64_t>(demand_.chunks.size());
    const auto& nodes = problem_.topology.nodes();
    const bool switches = std::any_of(nodes.begin(), nodes.end(), [](const Node& node) {
      return node.kind == NodeKind::switch_;
    });
    std::vector<std::int64_t> tried;
    for (const std::int64_t wish : {2048, 256, 512, 128}) {
      std::int64_t copies = 1;  // the largest divisor that is not above the wish
      for (std::int64_t d = 1; d <= std::min(chunks, wish); ++d) {
        if (chunks % d == 0) copies = d;
      }
      if (std::find(tried.begin(), tried.end(), copies) != tried.end()) continue;
      tried.push_back(copies);
      for (const bool few : {true, false}) {
        if (context_.stop.should_stop() || best_.finish <= target_) return std::move(best_);
        if (!few && !switches) continue;
        const double before = context_.stop.seconds_left();
        if (before < longest_attempt_) return std::move(best_);
        attempt(copies, few);
        longest_attempt_ = std::max(longest_attempt_, before - context_.stop.seconds_left());
        if (quick_ && best_.finish != Time::max()) return std::move(best_);
      }
    }
    return std::move(best_);
  }

 private:
  /// What links can carry of so many copies, `extra` / 10,000 more than the rates say.
  std::pair<Terminals, Terminals> whole_rates(const std::vector<std::int64_t>& roots,
                                              std::int64_t copies, int extra,
                                              const Partners& partners) const {
    Terminals gather;
    gather.nodes = demand_.terminals;
    gather.copies = roots;
    gather.passable = demand_.passable;
    gather.injection.assign(problem_.topology.nodes().size(), -1);
    gather.ejection = gather.injection;
    gather.partners = partners;
    gather.partners.backwards = true;
    Terminals spread = gather;
    spread.partners.backwards = false;
    const double scale = static_cast<double>(copies) * (1 + extra / 10000.0);
    const double seconds = static_cast<double>(demand_.rates.length.ps) * 1e-12;
    double bytes = 0;
    for (const ChunkId id : demand_.chunks)
      bytes += static_cast<double>(problem_.chunks[id].bytes.value);
    for (const LinkId id : problem_.topology.link_ids()) {
      const double most =
          static_cast<double>(problem_.topology.link(id).bandwidth.bytes_per_second) * seconds /
          bytes * scale;
      const auto all = static_cast<std::int64_t>(std::floor(most + 1e-6));
      const double spreading = demand_.rates.spread[id] * scale;
      const double gathering = demand_.rates.gather[id] * scale;
      const double spare = std::max(0.0, static_cast<double>(all) - spreading - gathering);
      const std::int64_t share =
          std::min(all, static_cast<std::int64_t>(std::floor(spreading + spare / 2 + 0.5)));
      spread.capacity.push_back(share);
      gather.capacity.push_back(all - share);
    }
    return {std::move(gather), std::move(spread)};
  }

  std::optional<TreePair> pack(const std::vector<std::int64_t>& roots, std::int64_t copies,
                               bool few, Rng& rng) const {
    constexpr int kDepth = 30;
    const Partners partners{few, false, rng.next()};
    constexpr std::array kSteps = {0, 20, 50, 100, 200, 300, 500, 800, 1200, 2000};  // 1/10,000
    for (const int step : kSteps) {
      if (context_.stop.should_stop()) break;
      const auto [gather, spread] = whole_rates(roots, copies, step, partners);
      std::optional<TreePacking> out =
          pack_trees(problem_.topology, spread, kDepth, rng, context_.stop);
      if (!out) continue;
      std::optional<TreePacking> in = pack_trees(reversed_, gather, kDepth, rng, context_.stop);
      if (in) return TreePair{std::move(*in), std::move(*out)};
    }
    return std::nullopt;
  }

  void attempt(std::int64_t copies, bool few) {
    Rng rng(context_.rng.next());
    const std::vector<std::int64_t> roots = apportion(demand_.rates.root, copies);
    const std::optional<TreePair> trees = pack(roots, copies, few, rng);
    if (!trees) return;
    const std::int64_t pieces = static_cast<std::int64_t>(demand_.chunks.size()) / copies;
    TreeSchedule schedule(problem_);
    std::size_t next = 0;
    for (std::size_t t = 0; t < demand_.terminals.size(); ++t) {
      const int root = static_cast<int>(t);
      const std::vector<std::size_t> in = deal_trees(trees->gather.trees, root, pieces);
      const std::vector<std::size_t> out = deal_trees(trees->spread.trees, root, pieces);
      for (std::size_t j = 0; j < in.size(); ++j) {
        const ChunkId chunk = demand_.chunks[next++];
        const double turn = (static_cast<double>(j) + 0.5) / static_cast<double>(in.size());
        const std::vector<Wait> sums = schedule.gather(
            chunk, trees->gather, trees->gather.trees[in[j]], demand_.terminals, turn);
        schedule.spread(chunk, trees->spread, trees->spread.trees[out[j]], demand_.terminals, turn,
                        sums);
      }
    }
    using Order = TreeSchedule::Order;
    constexpr std::array kOrders = {Order::both, Order::turn};
    const std::span<const Order> orders(kOrders.data(), quick_ ? 1 : kOrders.size());
    const ListSchedule::Result result = schedule.schedule(
        orders, {demand_.rates.length, target_, best_.finish, quick_}, context_.stop);
    if (result.finish >= best_.finish) return;
    best_ = {schedule.with_times(result), result.finish};
    context_.report("trees into and out of " + std::to_string(copies) + " roots", best_.finish);
  }

  const Problem& problem_;
  const JointDemand& demand_;
  Time target_;
  bool quick_;
  PlannerContext& context_;
  Topology reversed_;
  JointTreePlan best_;
  double longest_attempt_ = 0;  // seconds; no other is begun with less left
};

}  // namespace

JointTreePlan plan_joint_trees(const Problem& problem, const JointDemand& demand, Time target,
                               bool quick, PlannerContext& context) {
  return JointTrees(problem, demand, target, quick, context).run();
}

}  // namespace stellwerk
