// List scheduling along the clock with shared rates: given sends, who waits for whom and how urgent
// each is, it chooses starts and rates. For planners that have chosen paths.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"

namespace stellwerk {

/// `after` starts when `before` has arrived at one of its leaves: `latency` past its last byte's
/// entry into the network.
struct Wait {
  std::int32_t before = 0;
  std::int32_t after = 0;
  Time latency;
};

/// Who waits for whom when whole chunks move as in `sends`: a copy for what brought the chunk to its
/// sender (the first by start, if several did), or for all parts of the sum; a reduce for the parts
/// that came in. Precondition: whole chunks, no share sends.
std::vector<Wait> find_waits(const Problem& problem, const Schedule& sends);

class ListSchedule {
 public:
  struct Result {
    std::vector<Time> starts;
    std::vector<Bandwidth> rates;
    Time finish = Time::max();  ///< last arrival of any send; max: not run
  };

  /// Takes paths and bytes from `sends`, their starts and rates are ignored. `ready`: not before;
  /// one a send, or empty.
  ListSchedule(const Topology& topology, const Schedule& sends, const std::vector<Wait>& waits,
               std::vector<Time> ready = {});

  std::size_t size() const { return path_of_.size(); }

  /// Whenever something changes, sends that can start do so, least `key` first (ties by number): those
  /// whose data are there and whose links, caps and groups have room for at least half of the rate
  /// that the path allows. Transit buffers are not looked at. Precondition: one key a send.
  /// Stopped, it gives a result that was not run.
  Result forwards(const std::vector<std::int64_t>& key, const StopCondition& stop = {}) const {
    return run(true, key, stop);
  }
  /// The same in reversed time: starts are those of the reversed sends, counted back from the end.
  Result backwards(const std::vector<std::int64_t>& key, const StopCondition& stop = {}) const {
    return run(false, key, stop);
  }

  /// For each send the time from its start to the end of the longest chain of waits after it, at full
  /// rates.
  std::vector<Time> tails() const;

  /// Arrival minus start of a send at that rate.
  Time duration(std::size_t send, Bandwidth rate) const;

  /// Forward-backward passes from `first`: each send's key is its place in the pass before. Stops at
  /// the target, when a round changes nothing, or with `stop`. Returns the best forward pass.
  Result improve(Result first, int rounds, Time target, const StopCondition& stop) const;

 private:
  struct Need {
    std::int32_t resource = 0;
    bool whole = false;  ///< one multicast group, not a rate
    Time delay[2];       ///< backwards, forwards: how much later than at the earliest it is used
  };
  struct Path {
    std::uint32_t first_need = 0;
    std::uint32_t needs = 0;
    Bandwidth rate;  ///< the most that it allows
    Time latency;    ///< of the farthest leaf
  };
  class Pass;
  friend class Pass;

  Result run(bool forwards, const std::vector<std::int64_t>& key, const StopCondition& stop) const;
  void add_path(const Topology& topology, const Send& send);
  void link_waits(const std::vector<Wait>& waits);

  std::vector<Path> paths_;
  std::vector<Need> needs_;
  std::vector<std::int64_t> capacity_;             // by resource
  std::vector<std::uint32_t> first_user_, users_;  // paths by resource
  std::vector<std::int32_t> path_of_;              // by send
  std::vector<Bytes> bytes_;                       // by send
  std::vector<Time> full_;                         // by send: transmission time at full rate
  std::vector<Time> ready_;
  // Waits by the send that is waited for, and by the one that waits.
  std::vector<std::uint32_t> first_after_, first_before_;
  std::vector<Wait> after_, before_;
};

/// `sends` with the starts and rates of a result.
Schedule with_times(Schedule sends, const ListSchedule::Result& result);

}  // namespace stellwerk
