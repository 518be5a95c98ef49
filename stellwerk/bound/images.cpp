// Problem: a compressed problem lists one chunk of each orbit; a bound has to count all images
// that enter a set, a million of them or a hundred million. Idea: the group acts freely on the
// ranks, so an image is known by where one rank goes: what a rank y wants are the chunks that any
// rank d of its orbit wants, each under the one element that takes d to y. So the images that
// enter a set are found from the set's members, or from the nodes outside it, whichever are fewer,
// and nothing is expanded. Where the group keeps both ends of a chunk as sets (AllReduce), its
// images differ in nothing that matters and are counted at once. Cost: the images that one side
// wants or holds, times the length of an element's word. Held to its word by images_test.cpp,
// against expanded problems.
#include "stellwerk/bound/images.hpp"

#include <algorithm>
#include <map>

namespace stellwerk::bound {

Images::Images(const Problem& problem, const Demand& demand)
    : problem_(problem),
      demand_(demand),
      sources_fixed_(demand.blocks().size(), false),
      destinations_fixed_(demand.blocks().size(), false),
      wanted_images_(demand.nodes(), 0),
      held_images_(demand.nodes(), 0) {
  single_destinations_ = std::all_of(demand.blocks().begin(), demand.blocks().end(),
                                     [](const Block& block) { return block.destination.valid(); });
  if (problem.symmetry.trivial()) {
    for (std::size_t v = 0; v < demand.nodes(); ++v) {
      wanted_images_[v] = static_cast<std::int64_t>(demand.wanted_by(NodeId(v)).size());
      held_images_[v] = static_cast<std::int64_t>(demand.held_by(NodeId(v)).size());
      if (wanted_images_[v] + held_images_[v] > 0) bases_.push_back(NodeId(v));
    }
    return;
  }
  NodeSet is_rank(demand.nodes(), false);
  for (const Job& job : problem.jobs) {
    for (const NodeId rank : job.ranks) is_rank[rank.index()] = true;
  }
  group_ = std::make_unique<Transversal>(demand.nodes(), problem.symmetry, members(is_rank));
  bases_ = group_->bases();
  for (std::size_t i = 0; i < demand.blocks().size(); ++i) {
    sources_fixed_[i] = fixed(demand.block(i).sources());
    destinations_fixed_[i] = fixed(demand.block(i).chunk->destinations);
  }
  all_are_alike_ = true;
  for (std::size_t i = 0; i < demand.blocks().size(); ++i) {
    all_are_alike_ = all_are_alike_ && all_alike(i);
  }
  for (const bool wanted : {true, false}) {
    std::vector<NodeId>& seen = wanted ? sources_seen_ : destinations_seen_;
    for (std::size_t v = 0; v < demand.nodes(); ++v) {
      const NodeId rank(v);
      for (const std::uint32_t i : wanted ? demand.wanted_by(rank) : demand.held_by(rank)) {
        const NodeId mate = wanted ? demand.block(i).source : demand.block(i).destination;
        seen.push_back(mate.valid() ? group_->to_base(rank, mate) : NodeId());
      }
    }
  }
  for (const NodeId base : bases_) {
    std::int64_t wanted = 0, held = 0;
    for_each_wanted(base, [&](std::size_t, const Element&, std::int64_t) { ++wanted; });
    for_each_held(base, [&](std::size_t, const Element&, std::int64_t) { ++held; });
    for (const NodeId rank : group_->orbit(base)) {
      wanted_images_[rank.index()] = wanted;
      held_images_[rank.index()] = held;
    }
  }
}

const Permutation& Images::table_of(NodeId rank) const {
  constexpr std::size_t kMostImages = 4'000'000;  // of nodes, in all tables
  const auto known = tables_.find(rank);
  if (known != tables_.end()) return known->second;
  if ((tables_.size() + 1) * demand_.nodes() > kMostImages) tables_.clear();
  return tables_.emplace(rank, group_->element(rank)).first->second;
}

bool Images::fixed(const std::vector<NodeId>& nodes) const {
  // Whole orbits only: as many members of each orbit as it has.
  if (nodes.empty()) return true;
  if (static_cast<std::int64_t>(nodes.size()) % order() != 0) return false;
  std::vector<std::int64_t> members_of(demand_.nodes(), 0);
  for (const NodeId node : nodes) ++members_of[base(node).index()];
  return std::all_of(members_of.begin(), members_of.end(),
                     [&](std::int64_t count) { return count == 0 || count == order(); });
}

bool Images::keeps(const std::vector<int>& labels) const {
  for (const Permutation& generator : problem_.symmetry.generators) {
    std::map<int, int> image;
    for (std::size_t v = 0; v < labels.size(); ++v) {
      const int to = labels[generator[v].index()];
      if (image.try_emplace(labels[v], to).first->second != to) return false;
    }
  }
  return true;
}

Images::Sides Images::sides(const Selection& selection) const {
  Sides result;
  if (selection.target) {
    result.wanting.assign(demand_.nodes(), false);
    result.wanting[selection.target->index()] = true;
  } else {
    result.wanting = selection.to != nullptr ? *selection.to : *selection.set;
  }
  if (selection.from != nullptr) {
    result.outside = *selection.from;
  } else {
    result.outside = *selection.set;
    result.outside.flip();
  }
  return result;
}

bool Images::sources_count(std::size_t block, const Element& element,
                           const NodeSet& outside) const {
  const auto is_outside = [&](NodeId node) { return outside[node.index()]; };
  if (demand_.block(block).reduction) return any_source(block, element, is_outside);
  return !any_source(block, element, [&](NodeId node) { return !is_outside(node); });
}

std::int64_t Images::listed(const NodeSet& set, const std::vector<std::int64_t>& count) const {
  std::int64_t result = 0;
  for (std::size_t v = 0; v < set.size(); ++v) result += set[v] ? count[v] : 0;
  return result;
}

std::int64_t Images::outside_effort(const Sides& sides) const {
  // An image with many destinations is looked at until one of them is wanting.
  const std::ptrdiff_t wanting = std::count(sides.wanting.begin(), sides.wanting.end(), true);
  const auto nodes = static_cast<std::int64_t>(demand_.nodes());
  return listed(sides.outside, held_images_) *
         (single_destinations_ ? 1 : nodes / std::max<std::int64_t>(1, wanting) + 1);
}

bool Images::by_wanting(const Selection& selection, const Sides& sides) const {
  return selection.target || listed(sides.wanting, wanted_images_) <= outside_effort(sides);
}

std::int64_t Images::effort(const Selection& selection) const {
  const Sides sides = this->sides(selection);
  return std::min(listed(sides.wanting, wanted_images_),
                  selection.target ? INT64_MAX : outside_effort(sides));
}

Tally Images::tally(const Selection& selection) const {
  Tally result;
  result.start.assign(demand_.nodes(), graph::kUnreachable);
  const Sides sides = this->sides(selection);
  std::vector<bool> done(demand_.blocks().size(), false);  // blocks whose sources are fixed
  for_each_counted(selection, [&](std::size_t i, const Element& element, std::int64_t images) {
    const Block& block = demand_.block(i);
    const Time ready = block.chunk->ready;
    result.bytes += block.bytes * images;
    result.ready = std::min(result.ready, ready);
    if (done[i]) return;
    done[i] = sources_fixed_[i];
    for_each_source(i, element, [&](NodeId node) {
      if (!sides.outside[node.index()]) return;
      std::int64_t& start = result.start[node.index()];
      start = std::min(start, ready.ps);
    });
  });
  for (std::size_t v = 0; v < sides.wanting.size(); ++v) {
    if (!sides.wanting[v] || wanted_images_[v] == 0) continue;
    if (any_of(NodeId(v), List::wanted, [&](std::size_t i, const Element& element, std::int64_t) {
          return sources_count(i, element, sides.outside);
        })) {
      result.wanting.push_back(NodeId(v));
    }
  }
  return result;
}

}  // namespace stellwerk::bound
