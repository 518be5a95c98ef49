// When whole chunks are over an entry link, one after the other: the slots of `chunk_cut`
// (docs/certificates.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "stellwerk/base/wide.hpp"
#include "stellwerk/graph/shortest_paths.hpp"

namespace stellwerk::bound {

/// So many chunks share a time.
struct Group {
  std::int64_t time;
  std::int64_t chunks;
  friend bool operator<(const Group& a, const Group& b) { return a.time < b.time; }
};

/// The slots of one entry link, one after the other.
class Slots {
 public:
  Slots(std::vector<Group> releases, std::vector<Group> gates, std::int64_t bandwidth,
        std::int64_t rest, std::int64_t bytes)
      : releases_(std::move(releases)),
        gates_(std::move(gates)),
        bandwidth_(bandwidth),
        rest_(rest),
        step_(static_cast<Int128>(bytes) * 1'000'000'000'000) {
    std::sort(releases_.begin(), releases_.end());
    std::sort(gates_.begin(), gates_.end());
  }

  /// When the next slot is over; graph::kUnreachable if there is none.
  std::int64_t next() {
    if (release_ == releases_.size() || gate_ == gates_.size()) return graph::kUnreachable;
    finish_ = std::max(finish_, static_cast<Int128>(releases_[release_].time) * bandwidth_) + step_;
    const Int128 over = (finish_ + bandwidth_ - 1) / bandwidth_ + rest_;
    const Int128 slot = std::max<Int128>(over, gates_[gate_].time);
    advance(releases_, release_, of_release_);
    advance(gates_, gate_, of_gate_);
    return static_cast<std::int64_t>(std::min<Int128>(slot, graph::kUnreachable));
  }

 private:
  static void advance(const std::vector<Group>& groups, std::size_t& at, std::int64_t& used) {
    if (++used < groups[at].chunks) return;
    ++at;
    used = 0;
  }

  std::vector<Group> releases_, gates_;
  Int128 bandwidth_;
  std::int64_t rest_;
  Int128 step_;
  Int128 finish_ = 0;
  std::size_t release_ = 0, gate_ = 0;
  std::int64_t of_release_ = 0, of_gate_ = 0;
};

/// The n-th smallest slot of all links; graph::kUnreachable if there are fewer.
std::int64_t nth_slot(std::vector<Slots>& links, std::int64_t n);

}  // namespace stellwerk::bound
