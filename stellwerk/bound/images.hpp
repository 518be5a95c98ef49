// The demand of a compressed problem, image by image, without a list of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "stellwerk/bound/demand.hpp"
#include "stellwerk/bound/transversal.hpp"

namespace stellwerk::bound {

class Images;

/// The element of the group that takes a block to one of its images. Valid during the call that it
/// is handed to.
class Element {
 public:
  /// The identity.
  explicit Element(const Block& block) : source_(block.source), destination_(block.destination) {}
  /// The one that takes the rank `from` to `to`, with what it makes of the block's only source and
  /// destination (invalid where there are several).
  Element(const Images& images, NodeId from, NodeId to, NodeId source, NodeId destination)
      : images_(&images), from_(from), to_(to), source_(source), destination_(destination) {}

  NodeId operator()(NodeId node) const;
  NodeId inverse(NodeId node) const;
  /// The image's only source / destination; invalid if there are several.
  NodeId source() const { return source_; }
  NodeId destination() const { return destination_; }

 private:
  const Images* images_ = nullptr;
  mutable const Permutation* table_ = nullptr;  // t_to, once asked for
  NodeId from_, to_, source_, destination_;
};

/// Which chunks a certificate of a cut counts (docs/certificates.md, "Common definitions").
struct Selection {
  const NodeSet* set = nullptr;
  std::optional<NodeId> target;
  const NodeSet* from = nullptr;  ///< absent: all that is not in the set
  const NodeSet* to = nullptr;    ///< absent: all of the set; ignored if there is a target
};

/// What it comes to.
struct Tally {
  std::int64_t bytes = 0;
  Time ready = Time::max();         ///< the least
  std::vector<NodeId> wanting;      ///< W', ascending
  std::vector<std::int64_t> start;  ///< per node the least ready time of what it is a counted
                                    ///< source of; graph::kUnreachable if of nothing
};

/// Without symmetry every chunk is its own only image. Refers to problem and demand, which must
/// outlive it. Not safe for concurrent use; visits do not nest.
class Images {
 public:
  Images(const Problem& problem, const Demand& demand);

  const Problem& problem() const { return problem_; }
  const Demand& demand() const { return demand_; }
  bool compressed() const { return group_ != nullptr; }
  /// How many images a chunk has.
  std::int64_t order() const { return group_ ? group_->order() : 1; }
  /// One rank of each orbit, ascending; without symmetry every node that wants or holds something.
  const std::vector<NodeId>& bases() const { return bases_; }
  /// How many images a node wants and does not hold from the start.
  std::int64_t wanted_images(NodeId node) const { return wanted_images_[node.index()]; }
  /// Of how many images a node is a source.
  std::int64_t held_images(NodeId node) const { return held_images_[node.index()]; }
  /// The node that is to the base of a rank's orbit as `node` is to the rank.
  NodeId seen_from(NodeId rank, NodeId node) const {
    return group_ ? group_->to_base(rank, node) : node;
  }
  /// Does the group keep a partition, given by one label a node?
  bool keeps(const std::vector<int>& labels) const;
  NodeId base(NodeId rank) const { return group_ ? group_->base(rank) : rank; }

  /// Calls visit(block, element, images) for the images that `node` wants and does not hold from
  /// the start: the image of a block under the element, for that many equal images.
  template <class Visit>
  void for_each_wanted(NodeId node, const Visit& visit) const {
    for_each_of(node, List::wanted, visit);
  }
  /// The same for the images of which `node` is a source.
  template <class Visit>
  void for_each_held(NodeId node, const Visit& visit) const {
    for_each_of(node, List::held, visit);
  }
  /// The same for the images that count.
  template <class Visit>
  void for_each_counted(const Selection& selection, const Visit& visit) const;

  Tally tally(const Selection& selection) const;

  /// How many images have to be looked at for a tally.
  std::int64_t effort(const Selection& selection) const;

  /// Calls visit(node) for every source of an image.
  template <class Visit>
  void for_each_source(std::size_t block, const Element& element, const Visit& visit) const {
    if (element.source().valid()) return visit(element.source());
    const bool fixed = sources_fixed_[block];
    for (const NodeId node : demand_.block(block).sources()) visit(fixed ? node : element(node));
  }
  template <class Test>
  bool any_source(std::size_t block, const Element& element, const Test& test) const {
    if (element.source().valid()) return test(element.source());
    return any(demand_.block(block).sources(), sources_fixed_[block], element, test);
  }
  template <class Test>
  bool any_destination(std::size_t block, const Element& element, const Test& test) const {
    if (element.destination().valid()) return test(element.destination());
    return any(demand_.block(block).chunk->destinations, destinations_fixed_[block], element, test);
  }
  /// Are all images of the block the same but for size, slot and owner?
  bool all_alike(std::size_t block) const {
    return compressed() && sources_fixed_[block] && destinations_fixed_[block];
  }

 private:
  friend class Element;

  template <class Test>
  static bool any(const std::vector<NodeId>& nodes, bool fixed, const Element& element,
                  const Test& test) {
    for (const NodeId node : nodes) {
      if (test(fixed ? node : element(node))) return true;
    }
    return false;
  }
  bool fixed(const std::vector<NodeId>& nodes) const;

  /// One of the two lists of images by node.
  enum class List : std::uint8_t { wanted, held };

  template <class Test>
  bool any_of(NodeId node, List list, const Test& test) const {
    const auto blocks_of = [&](NodeId rank) {
      return list == List::wanted ? demand_.wanted_by(rank) : demand_.held_by(rank);
    };
    if (!compressed()) {
      for (const std::uint32_t i : blocks_of(node)) {
        if (test(i, Element(demand_.block(i)), std::int64_t{1})) return true;
      }
      return false;
    }
    if (!group_->moves(node)) return false;
    if (all_are_alike_) {
      for (const std::uint32_t i : blocks_of(node)) {
        if (test(i, Element(demand_.block(i)), order())) return true;
      }
      return false;
    }
    const Permutation* table = nullptr;  // not for a few
    std::size_t mates = 0;
    const auto seen_by_node = [&](NodeId mate) {
      constexpr std::size_t kFew = 16;
      if (table == nullptr && ++mates > kFew) table = &table_of(node);
      return table != nullptr ? (*table)[mate.index()] : group_->from_base(node, mate);
    };
    for (const NodeId rank : group_->orbit(node)) {
      const BlockSpan blocks = blocks_of(rank);
      const NodeId* mate = &mates_of(list)[demand_.place(blocks, list == List::wanted)];
      for (const std::uint32_t i : blocks) {
        const NodeId other = mate->valid() ? seen_by_node(*mate) : NodeId();
        ++mate;
        const Block& block = demand_.block(i);
        if (all_alike(i)) {
          if (rank == node && test(i, Element(block), order())) return true;
        } else if (list == List::wanted
                       ? test(i,
                              Element(*this, rank, node, other,
                                      block.destination.valid() ? node : NodeId()),
                              std::int64_t{1})
                       : test(i,
                              Element(*this, rank, node, block.source.valid() ? node : NodeId(),
                                      other),
                              std::int64_t{1})) {
          return true;
        }
      }
    }
    return false;
  }
  template <class Visit>
  void for_each_of(NodeId node, List list, const Visit& visit) const {
    any_of(node, list, [&](std::size_t block, const Element& element, std::int64_t images) {
      visit(block, element, images);
      return false;
    });
  }

  const std::vector<NodeId>& mates_of(List list) const {
    return list == List::wanted ? sources_seen_ : destinations_seen_;
  }
  const Permutation& table_of(NodeId rank) const;

  /// Flags of W and of F.
  struct Sides {
    NodeSet wanting, outside;
  };
  Sides sides(const Selection& selection) const;
  bool sources_count(std::size_t block, const Element& element, const NodeSet& outside) const;
  std::int64_t outside_effort(const Sides& sides) const;
  bool by_wanting(const Selection& selection, const Sides& sides) const;
  std::int64_t listed(const NodeSet& set, const std::vector<std::int64_t>& count) const;

  const Problem& problem_;
  const Demand& demand_;
  std::unique_ptr<Transversal> group_;  // null without symmetry
  std::vector<NodeId> bases_;
  std::vector<bool> sources_fixed_, destinations_fixed_;  // by block: the group keeps the set
  // By place in the lists of wanted and held blocks: the block's only source as its destination's
  // base would see it; its only destination as its source's.
  std::vector<NodeId> sources_seen_, destinations_seen_;
  bool single_destinations_ = false;                        // of every block
  bool all_are_alike_ = false;                              // all_alike holds for every block
  mutable std::unordered_map<NodeId, Permutation> tables_;  // some elements, by rank
  std::vector<std::int64_t> wanted_images_, held_images_;   // by node
};

inline NodeId Element::operator()(NodeId node) const {
  if (images_ == nullptr) return node;
  if (table_ == nullptr) table_ = &images_->table_of(to_);
  return (*table_)[images_->group_->to_base(from_, node).index()];
}

inline NodeId Element::inverse(NodeId node) const {
  if (images_ == nullptr) return node;
  return images_->group_->from_base(from_, images_->group_->to_base(to_, node));
}

template <class Visit>
void Images::for_each_counted(const Selection& selection, const Visit& visit) const {
  const Sides sides = this->sides(selection);
  // Images with several nodes on the side that is gone through come up for each of them.
  constexpr std::size_t kFew = 4'000'000;
  const std::size_t all = demand_.blocks().size() * (compressed() ? demand_.nodes() : 1);
  std::unordered_set<std::uint64_t> seen;
  std::vector<bool> flags;
  const NodeId marker = bases_.empty() ? NodeId(0) : bases_.front();
  const auto first_time = [&](std::size_t block, const Element& element, bool alone) {
    if (alone) return true;
    const std::size_t image =
        compressed() ? block * demand_.nodes() + element(marker).index() : block;
    if (all > kFew) return seen.insert(image).second;
    flags.resize(all);
    const bool fresh = !flags[image];
    flags[image] = true;
    return fresh;
  };
  const bool wanting_side = by_wanting(selection, sides);
  const NodeSet& gone_through = wanting_side ? sides.wanting : sides.outside;
  for (std::size_t v = 0; v < gone_through.size(); ++v) {
    if (!gone_through[v]) continue;
    if (wanting_side) {
      if (wanted_images_[v] == 0) continue;
      for_each_wanted(
          NodeId(v), [&](std::size_t block, const Element& element, std::int64_t images) {
            if (sources_count(block, element, sides.outside) &&
                first_time(block, element,
                           selection.target || demand_.block(block).destination.valid())) {
              visit(block, element, images);
            }
          });
    } else {
      if (held_images_[v] == 0) continue;
      for_each_held(NodeId(v), [&](std::size_t block, const Element& element, std::int64_t images) {
        if (sources_count(block, element, sides.outside) &&
            any_destination(block, element,
                            [&](NodeId node) { return sides.wanting[node.index()]; }) &&
            first_time(block, element, demand_.block(block).source.valid())) {
          visit(block, element, images);
        }
      });
    }
  }
}

}  // namespace stellwerk::bound
