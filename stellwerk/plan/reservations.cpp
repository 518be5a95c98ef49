#include "stellwerk/plan/reservations.hpp"

#include <map>

namespace stellwerk {

Reservations::Reservations(const Topology& topology)
    : topology_(&topology),
      injection_(topology.nodes().size(), -1),
      ejection_(topology.nodes().size(), -1),
      groups_(topology.nodes().size(), -1),
      buffer_(topology.nodes().size(), -1) {
  for (const Link& link : topology.links())
    timelines_.emplace_back(link.bandwidth.bytes_per_second);
  const auto limit = [&](int& number, std::int64_t capacity) {
    number = static_cast<int>(timelines_.size());
    timelines_.emplace_back(capacity);
  };
  for (const NodeId id : topology.node_ids()) {
    const Node& node = topology.node(id);
    if (node.injection) limit(injection_[id], node.injection->bytes_per_second);
    if (node.ejection) limit(ejection_[id], node.ejection->bytes_per_second);
    if (node.max_groups) limit(groups_[id], *node.max_groups);
    if (node.buffer) limit(buffer_[id], node.buffer->value);
  }
}

Footprint Reservations::footprint(const Send& send) const {
  Footprint result;
  footprint(send, result);
  return result;
}

void Reservations::footprint(const Send& send, Footprint& result) const {
  result.clear();
  const SendTiming times = timing(*topology_, send);
  const std::int64_t rate = send.rate.bytes_per_second;
  const auto occupy = [&](int resource, Time offset, std::int64_t amount) {
    if (resource >= 0) result.push_back({resource, offset, times.duration, amount});
  };
  std::map<NodeId, int> copies;  // outgoing links of the tree, per switch
  for (std::size_t i = 0; i < send.links.size(); ++i) {
    const Link& link = topology_->link(send.links[i]);
    occupy(send.links[i].value, times.entry[i], rate);
    if (topology_->stores(link.from)) occupy(injection_[link.from], times.entry[i], rate);
    if (topology_->stores(link.to)) occupy(ejection_[link.to], times.entry[i] + link.latency, rate);
    if (groups_[link.from] >= 0 && ++copies[link.from] == 2)
      occupy(groups_[link.from], times.entry[i], 1);
  }
}

Time Reservations::earliest(const Footprint& footprint, Time from) const {
  Time start = from;
  for (bool moved = true; moved;) {
    moved = false;
    for (const Occupation& item : footprint) {
      const Time fit = timelines_[static_cast<std::size_t>(item.resource)].earliest(
          start + item.offset, item.duration, item.amount);
      if (fit == Time::max()) return fit;
      if (fit - item.offset > start) {
        start = fit - item.offset;
        moved = true;
      }
    }
  }
  return start;
}

void Reservations::add(const Footprint& footprint, Time start) {
  for (const Occupation& item : footprint) {
    timelines_[static_cast<std::size_t>(item.resource)].add(start + item.offset, item.duration,
                                                            item.amount);
  }
}

void Reservations::remove(const Footprint& footprint, Time start) {
  for (const Occupation& item : footprint) {
    timelines_[static_cast<std::size_t>(item.resource)].add(start + item.offset, item.duration,
                                                            -item.amount);
  }
}

void Reservations::clear() {
  for (Timeline& timeline : timelines_) timeline.clear();
}

}  // namespace stellwerk
