#include "stellwerk/check/send_shapes.hpp"

#include <algorithm>

namespace stellwerk {

SendShapes::SendShapes(const Topology& topology, const Schedule& sends) {
  const std::size_t count = sends.size();
  duration_.reserve(count);
  first_link_.reserve(count + 1);
  first_source_.reserve(count);
  first_leaf_.reserve(count);
  std::size_t events = 0;
  for (const Send& send : sends) events += send.links.size() + 2;
  place_.reserve(events);
  offset_.reserve(events);
  for (const Send& send : sends) {
    const std::int64_t duration = transmission_time(send.bytes, send.rate).ps;
    duration_.push_back(duration);
    first_link_.push_back(static_cast<std::int32_t>(offset_.size()));
    if (!add_path(topology, send, duration)) add_any(topology, send);
  }
  first_link_.push_back(static_cast<std::int32_t>(offset_.size()));
}

std::int64_t SendShapes::last_arrival(std::size_t send) const {
  const Range range = leaves(send);
  std::int64_t latest = offset(range.first);
  for (std::int32_t event = range.first + 1; event < range.last; ++event) {
    latest = std::max(latest, offset(event));
  }
  return latest;
}

void SendShapes::add_event(std::int32_t place, std::int64_t offset) {
  place_.push_back(place);
  offset_.push_back(offset);
}

/// The common case, one link or a path through switches; false (and nothing added) for trees.
bool SendShapes::add_path(const Topology& topology, const Send& send, std::int64_t duration) {
  for (std::size_t i = 1; i < send.links.size(); ++i) {
    if (topology.link(send.links[i]).from != topology.link(send.links[i - 1]).to) return false;
  }
  std::int64_t at = 0;
  for (const LinkId id : send.links) {
    add_event(id.value, at);
    at += topology.link(id).latency.ps;
  }
  first_source_.push_back(static_cast<std::int32_t>(offset_.size()));
  add_event(topology.link(send.links.front()).from.value, 0);
  first_leaf_.push_back(static_cast<std::int32_t>(offset_.size()));
  add_event(topology.link(send.links.back()).to.value, at + duration);
  return true;
}

void SendShapes::add_any(const Topology& topology, const Send& send) {
  const SendTiming shape = timing(topology, send);
  for (std::size_t i = 0; i < send.links.size(); ++i)
    add_event(send.links[i].value, shape.entry[i].ps);
  first_source_.push_back(static_cast<std::int32_t>(offset_.size()));
  // Sources come in the order of their first links, which tell when their first bytes leave.
  for (std::size_t i = 0, k = 0; i < send.links.size() && k < shape.sources.size(); ++i) {
    if (topology.link(send.links[i]).from != shape.sources[k]) continue;
    add_event(shape.sources[k].value, shape.entry[i].ps);
    ++k;
  }
  first_leaf_.push_back(static_cast<std::int32_t>(offset_.size()));
  for (std::size_t i = 0; i < shape.leaves.size(); ++i) {
    add_event(shape.leaves[i].value, shape.arrival[i].ps);
  }
}

}  // namespace stellwerk
