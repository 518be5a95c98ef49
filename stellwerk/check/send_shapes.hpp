// The timings of all sends of a schedule, flattened: what SendTiming says of one send, without a
// heap block for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "stellwerk/base/ids.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// Every send has *events*: the first byte enters a link, leaves a source, the last byte reaches a
/// leaf. Events of all sends are numbered through: of one send first its links (in their order),
/// then its sources, then its leaves. The numbering depends on the links alone, so that an event
/// means the same under another network.
class SendShapes {
 public:
  /// Precondition: the links of every send form a valid tree.
  SendShapes(const Topology& topology, const Schedule& sends);

  /// A range of event numbers.
  struct Range {
    std::int32_t first;
    std::int32_t last;
    std::int32_t size() const { return last - first; }
  };

  std::size_t size() const { return duration_.size(); }
  /// How long each link is in use, ps.
  std::int64_t duration(std::size_t send) const { return duration_[send]; }
  Range links(std::size_t send) const { return {first_link_[send], first_source_[send]}; }
  Range sources(std::size_t send) const { return {first_source_[send], first_leaf_[send]}; }
  Range leaves(std::size_t send) const { return {first_leaf_[send], first_link_[send + 1]}; }

  /// When the event happens, relative to the start of its send, ps.
  std::int64_t offset(std::int32_t event) const { return offset_[static_cast<std::size_t>(event)]; }
  /// The link of a link event.
  LinkId link(std::int32_t event) const { return LinkId(place_[static_cast<std::size_t>(event)]); }
  /// The node of a source or leaf event.
  NodeId node(std::int32_t event) const { return NodeId(place_[static_cast<std::size_t>(event)]); }
  std::size_t events() const { return offset_.size(); }

  /// Offset of the last arrival of a send, ps.
  std::int64_t last_arrival(std::size_t send) const;

 private:
  void add_event(std::int32_t place, std::int64_t offset);
  bool add_path(const Topology& topology, const Send& send, std::int64_t duration);
  void add_any(const Topology& topology, const Send& send);

  std::vector<std::int64_t> duration_;
  std::vector<std::int32_t> first_link_, first_source_, first_leaf_;
  std::vector<std::int32_t> place_;
  std::vector<std::int64_t> offset_;
};

}  // namespace stellwerk
