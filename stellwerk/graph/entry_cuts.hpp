// Sets of vertices that trees may not enter too often.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stellwerk::graph {

/// A pool of vertex sets, each with a slack: the capacity into it less the copies that still have to
/// enter it. A tree that enters a set once gives up as much need as it takes capacity; only when it
/// enters again it takes from the slack, which must not become negative.
class EntryCuts {
 public:
  static constexpr std::size_t kMost = 1024;
  /// Which sets a tree has reached.
  using Mask = std::array<std::uint64_t, kMost / 64>;

  explicit EntryCuts(int vertices) : holding_(static_cast<std::size_t>(vertices), Mask{}) {}

  std::size_t size() const { return slack_.size(); }
  /// No set can be added any more.
  bool full() const { return size() == kMost; }
  /// Precondition: not full; one entry a vertex; slack >= 0.
  void add(const std::vector<bool>& set, std::int64_t slack);

  /// The tree reaches the vertex.
  void reach(Mask& reached, int vertex) const;
  /// Of how many copies of a tree that has reached these sets may the arc from -> to become part?
  std::int64_t room(const Mask& reached, int from, int to) const;
  /// It becomes part of so many.
  void take(const Mask& reached, int from, int to, std::int64_t copies);

  /// By set, in the order in which they were added.
  const std::vector<std::int64_t>& slacks() const { return slack_; }
  /// Precondition: as many as there are sets.
  void set_slacks(std::vector<std::int64_t> slacks) { slack_ = std::move(slacks); }

 private:
  template <class Visit>
  void for_each_entered_again(const Mask& reached, int from, int to, const Visit& visit) const;

  std::vector<std::int64_t> slack_;
  std::vector<Mask> holding_;  // by vertex: the sets that hold it
};

}  // namespace stellwerk::graph
