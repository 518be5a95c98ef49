// What a program did with its data: which addends travelled from which GPU to which, where they were summed, and what came out. Places of
// memory are gone: a local copy is the same item.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stellwerk::check {

/// Written by the interpreters while a program runs, read by lower/lift.hpp. Items are numbered in the order of their making, so what an
/// item is made of has smaller numbers.
class History {
 public:
  using Id = std::uint32_t;
  /// No data: what nobody wrote.
  static constexpr Id kNothing = 0;
  /// More items are not written down; then full() is true.
  static constexpr std::size_t kMostItems = 1'000'000;

  /// A step of a thread block of a GPU.
  struct Step {
    int gpu = 0, block = 0, number = 0;
  };
  struct Item {
    enum class Kind : std::uint8_t { addend, transfer, sum };
    Kind kind = Kind::addend;
    bool in_switch = false;    ///< transfer: part of an operation that a switch does
    int gpu = 0;               ///< where it is
    int piece = 0;             ///< addend: position in the GPU's input
    Id first = 0, second = 0;  ///< transfer: of `first`; sum: of both
    int from = 0;              ///< transfer: the GPU that had it
    Step step;                 ///< transfer: who moved it
  };
  /// A piece of a GPU's output that the collective promises.
  struct Result {
    int gpu = 0;
    Id data = kNothing;
  };

  /// `pieces`: of a GPU's input; chunks are cut into pieces where thread blocks share them.
  void begin(int gpus, int pieces);
  Id addend(int gpu, int piece);
  /// The same data if `from` is `to`.
  Id transfer(Id data, int from, int to, Step step, bool in_switch = false);
  Id sum(Id a, Id b, int gpu);
  void result(int gpu, Id data);

  int gpus() const { return gpus_; }
  int pieces() const { return pieces_; }
  bool full() const { return full_; }
  std::size_t size() const { return items_.size(); }
  const Item& item(Id id) const { return items_[id]; }
  const std::vector<Result>& results() const { return results_; }

 private:
  Id add(const Item& item);

  int gpus_ = 0, pieces_ = 0;
  bool full_ = false;
  std::vector<Item> items_{1};  ///< the first stands for no data
  std::vector<Result> results_;
};

/// "GPU 1, thread block 2, step 3"
std::string to_string(const History::Step& step);

}  // namespace stellwerk::check
