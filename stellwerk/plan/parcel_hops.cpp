#include "stellwerk/plan/parcel_hops.hpp"

#include <algorithm>
#include <unordered_map>

namespace stellwerk {
namespace {

std::uint64_t hash(std::span<const LinkId> links) {
  std::uint64_t value = 0;
  for (const LinkId link : links) {
    value = (value + static_cast<std::uint64_t>(link.value) + 1) * 0x9e3779b97f4a7c15ULL;
    value ^= value >> 29;
  }
  return value;
}

}  // namespace

ParcelHops::ParcelHops(const Topology& topology, const ParcelDemand& demand,
                       const ParcelPaths& paths)
    : topology_(&topology), demand_(&demand), busy_(topology.links().size(), 0) {
  std::unordered_multimap<std::uint64_t, std::uint32_t> known;
  const auto number_of = [&](std::span<const LinkId> links) {
    const std::uint64_t key = hash(links);
    const auto [first, last] = known.equal_range(key);
    for (auto it = first; it != last; ++it) {
      const auto other = this->links(hops_[it->second]);
      if (std::equal(links.begin(), links.end(), other.begin(), other.end())) return it->second;
    }
    ParcelHop hop{static_cast<std::uint32_t>(links_.size()), 0, INT64_MAX, 0};
    for (const LinkId id : links) {
      const Link& link = topology.link(id);
      links_.push_back(id);
      offsets_.push_back(hop.latency);
      hop.rate = std::min(hop.rate, link.bandwidth.bytes_per_second);
      hop.latency += link.latency.ps;
    }
    hop.end = static_cast<std::uint32_t>(links_.size());
    hops_.push_back(hop);
    const auto number = static_cast<std::uint32_t>(hops_.size() - 1);
    known.emplace(key, number);
    return number;
  };
  first_.reserve(demand.parcels.size() + 1);
  first_.push_back(0);
  for (std::size_t i = 0; i < demand.parcels.size(); ++i) {
    const std::span<const LinkId> path = paths.of(i);
    std::size_t begin = 0;
    for (std::size_t k = 0; k < path.size(); ++k) {
      const Link& link = topology.link(path[k]);
      busy_[path[k].index()] += static_cast<double>(demand.parcels[i].bytes.value) /
                                static_cast<double>(link.bandwidth.bytes_per_second);
      if (!topology.stores(link.to)) continue;
      hop_of_.push_back(number_of(path.subspan(begin, k + 1 - begin)));
      parcel_of_.push_back(static_cast<std::uint32_t>(i));
      begin = k + 1;
    }
    first_.push_back(static_cast<std::uint32_t>(hop_of_.size()));
  }
}

Schedule ParcelHops::sends(const std::vector<std::int64_t>& starts,
                           const std::vector<std::int64_t>& rates) const {
  Schedule result;
  result.reserve(moves());
  for (std::size_t m = 0; m < moves(); ++m) {
    const Parcel& own = parcels()[parcel_of_[m]];
    const std::span<const LinkId> links = this->links(hop(m));
    result.push_back({own.chunk, Op::copy, Time{starts[m]},
                      Bandwidth{rates.empty() ? hop(m).rate : rates[m]},
                      std::vector<LinkId>(links.begin(), links.end()), Bytes{0}, own.bytes});
  }
  return result;
}

}  // namespace stellwerk
