// List scheduling of given sends into gaps: the engine of compact and justify.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "stellwerk/check/capacity.hpp"
#include "stellwerk/check/precedence.hpp"
#include "stellwerk/check/send_shapes.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// How much of one resource is claimed, over time.
class CapacityProfile {
 public:
  /// `least_amount` and `least_duration` are those of any claim to come: what is too small for them
  /// counts as taken.
  CapacityProfile(std::int64_t capacity, std::int64_t least_amount, std::int64_t least_duration)
      : capacity_(capacity), least_amount_(least_amount), least_duration_(least_duration) {}

  /// The first instant >= `from` from which `amount` is free for `duration`.
  std::int64_t earliest(std::int64_t from, std::int64_t duration, std::int64_t amount) const;
  /// Precondition: earliest(begin, duration, amount) == begin.
  void claim(std::int64_t begin, std::int64_t duration, std::int64_t amount);

 private:
  using Steps = std::map<std::int64_t, std::int64_t>;  // from this instant on, that much is claimed
  Steps::iterator cut(std::int64_t at);

  std::int64_t capacity_, least_amount_, least_duration_;
  Steps steps_;
};

/// Puts sends, one after the other, at the earliest instant that their data and resources allow,
/// gaps included. Transit buffers are not looked at.
class SerialSchedule {
 public:
  /// Both must outlive it.
  SerialSchedule(const Problem& problem, const Schedule& sends);

  /// Starts by send when sends are taken by ascending `priority` (ties by number) among those whose
  /// predecessors are placed. Nothing if the order in which partial sums merge cannot be kept.
  std::optional<std::vector<std::int64_t>> forwards(
      const std::vector<std::int64_t>& priority) const;
  /// The same in reversed time, so that every arrival is at `horizon` or earlier; starts may come
  /// out negative. Sends are taken by descending `priority`.
  std::optional<std::vector<std::int64_t>> backwards(const std::vector<std::int64_t>& priority,
                                                     std::int64_t horizon) const;

  /// The finish of a schedule with these starts.
  Time finish(const std::vector<std::int64_t>& starts) const;
  /// Last arrival of a send relative to its start, ps.
  std::int64_t last_arrival(std::size_t send) const { return shapes_.last_arrival(send); }

 private:
  struct Direction;
  std::optional<std::vector<std::int64_t>> place(const Direction& direction,
                                                 const std::vector<std::int64_t>& priority,
                                                 std::vector<std::int64_t> earliest) const;
  std::vector<CapacityProfile> empty_profiles() const;

  const Problem& problem_;
  const Schedule& sends_;
  SendShapes shapes_;
  CapacityUses uses_;
  Precedence precedence_;
};

}  // namespace stellwerk
