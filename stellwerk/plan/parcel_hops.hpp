// Paths cut at storing nodes: what is scheduled.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stellwerk/core/send.hpp"
#include "stellwerk/plan/parcel_routing.hpp"

namespace stellwerk {

/// A way from one storing node over switches to the next; parcels share them.
struct ParcelHop {
  std::uint32_t begin, end;  ///< links, in ParcelHops::links
  std::int64_t rate;         ///< of the slowest link
  std::int64_t latency;      ///< of all links
};

/// All hops of all parcels. A *move* is one hop of one parcel; moves of a parcel follow each other.
class ParcelHops {
 public:
  ParcelHops(const Topology& topology, const ParcelDemand& demand, const ParcelPaths& paths);

  const Topology& topology() const { return *topology_; }
  const std::vector<Parcel>& parcels() const { return demand_->parcels; }

  std::size_t moves() const { return hop_of_.size(); }
  std::uint32_t first_move(std::size_t parcel) const { return first_[parcel]; }
  std::uint32_t end_move(std::size_t parcel) const { return first_[parcel + 1]; }
  std::uint32_t parcel(std::size_t move) const { return parcel_of_[move]; }
  bool is_last(std::size_t move) const { return first_[parcel_of_[move] + 1] == move + 1; }

  const std::vector<ParcelHop>& hops() const { return hops_; }
  const ParcelHop& hop(std::size_t move) const { return hops_[hop_of_[move]]; }
  std::uint32_t hop_number(std::size_t move) const { return hop_of_[move]; }
  std::span<const LinkId> links(const ParcelHop& hop) const {
    return std::span(links_).subspan(hop.begin, hop.end - hop.begin);
  }
  /// Those of all hops, one after the other.
  const std::vector<LinkId>& all_links() const { return links_; }
  /// Latency before each link, as many as links.
  std::span<const std::int64_t> offsets(const ParcelHop& hop) const {
    return std::span(offsets_).subspan(hop.begin, hop.end - hop.begin);
  }
  /// How long a move occupies its links at a rate.
  std::int64_t duration(std::size_t move, std::int64_t rate) const {
    return transmission_time(parcels()[parcel_of_[move]].bytes, Bandwidth{rate}).ps;
  }
  std::int64_t duration(std::size_t move) const { return duration(move, hop(move).rate); }

  /// Seconds that each link is busy.
  const std::vector<double>& busy() const { return busy_; }

  /// Whole-chunk sends with these starts and rates (empty: those of the hops).
  Schedule sends(const std::vector<std::int64_t>& starts,
                 const std::vector<std::int64_t>& rates) const;

 private:
  const Topology* topology_;
  const ParcelDemand* demand_;
  std::vector<ParcelHop> hops_;
  std::vector<LinkId> links_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::uint32_t> first_, hop_of_, parcel_of_;
  std::vector<double> busy_;
};

}  // namespace stellwerk
