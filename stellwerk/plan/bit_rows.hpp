// Sets of small numbers as rows of bits: who holds what, who wants what.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stellwerk {

/// `rows` sets of numbers in [0, columns), all empty at first.
class BitRows {
 public:
  using Word = std::uint64_t;
  static constexpr std::size_t kBits = 64;

  BitRows() = default;
  BitRows(std::size_t rows, std::size_t columns)
      : words_((columns + kBits - 1) / kBits), bits_(rows * words_, 0) {}

  std::size_t words() const { return words_; }  ///< of a row
  const Word* row(std::size_t r) const { return bits_.data() + r * words_; }
  Word* row(std::size_t r) { return bits_.data() + r * words_; }

  bool test(std::size_t r, std::size_t c) const {
    return (row(r)[c / kBits] >> (c % kBits) & 1) != 0;
  }
  void set(std::size_t r, std::size_t c) { row(r)[c / kBits] |= Word{1} << (c % kBits); }
  void reset(std::size_t r, std::size_t c) { row(r)[c / kBits] &= ~(Word{1} << (c % kBits)); }

 private:
  std::size_t words_ = 0;
  std::vector<Word> bits_;
};

/// Calls `visit(number)` for the numbers in `word`, whose lowest bit stands for `first`.
template <class Visit>
void for_each_bit(BitRows::Word word, std::size_t first, const Visit& visit) {
  for (; word != 0; word &= word - 1)
    visit(first + static_cast<std::size_t>(std::countr_zero(word)));
}

}  // namespace stellwerk
