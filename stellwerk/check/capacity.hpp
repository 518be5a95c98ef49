// What sends share: links, injection and ejection of nodes, multicast groups of switches; and the
// order of their uses that a schedule implies.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "stellwerk/check/difference_constraints.hpp"
#include "stellwerk/check/precedence.hpp"
#include "stellwerk/check/send_shapes.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// One send's claim on one resource: `amount` of it during [start + begin, start + begin + duration
/// of the send).
struct CapacityUse {
  std::int32_t resource = 0;
  std::int32_t send = 0;
  std::int64_t begin = 0;   ///< ps
  std::int64_t amount = 0;  ///< bytes/s, or 1 for a multicast group
};

/// All claims of a schedule. Resources are numbered: links, then injection, ejection and groups by
/// node; only those with a limit are claimed.
class CapacityUses {
 public:
  /// `shapes` are those of `sends` under `topology`.
  CapacityUses(const Topology& topology, const Schedule& sends, const SendShapes& shapes);

  std::size_t resources() const { return capacity_.size(); }
  /// bytes/s, or a number of groups.
  std::int64_t capacity(std::size_t resource) const { return capacity_[resource]; }
  /// By send.
  const std::vector<CapacityUse>& all() const { return uses_; }
  /// uses of send i: all()[first(i) .. first(i + 1)).
  std::size_t first(std::size_t send) const { return first_[send]; }

 private:
  void add_groups(const Topology& topology, const Send& send, const SendShapes& shapes,
                  std::size_t number);

  std::vector<std::int64_t> capacity_;
  std::vector<CapacityUse> uses_;
  std::vector<std::size_t> first_;
};

/// Which of two uses of a resource comes first.
enum class UseOrder : std::uint8_t {
  by_window,  ///< the window that begins first
  by_rank,    ///< the send that comes first in `rank`: the same on all resources
};

/// A schedule's own times, against which the order is read.
struct NominalTimes {
  const SendShapes* shapes = nullptr;  ///< under the problem's own network
  const CapacityUses* uses = nullptr;  ///< likewise
  std::vector<std::int64_t> starts;    ///< per send, ps
  std::vector<std::int32_t> rank;      ///< per send: a total order that breaks ties
};

/// Adds arcs that keep the interval order of the uses of every resource, and instants (variables)
/// where they save arcs. `uses` and `shapes` belong to the network for which times are sought and
/// may have other durations, amounts and capacities; where the nominal windows claim more than
/// there is, they are put one after the other. `known` gets the nominal time of every new instant.
void add_capacity_order(const NominalTimes& nominal, UseOrder order, const CapacityUses& uses,
                        const SendShapes& shapes, std::vector<DifferenceArc>& arcs,
                        std::vector<std::int64_t>& lower, std::vector<std::int64_t>& known);

/// Likewise for the transit buffers of nodes that have one: a chunk that left before another came
/// stays so.
void add_buffer_order(const Problem& problem, const Schedule& sends, const NominalTimes& nominal,
                      const SendShapes& shapes, std::vector<DifferenceArc>& arcs,
                      std::vector<std::int64_t>& lower, std::vector<std::int64_t>& known);

}  // namespace stellwerk
