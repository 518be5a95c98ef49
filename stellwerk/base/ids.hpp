// Strong integer identifiers: a NodeId cannot be used where a LinkId is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace stellwerk {

/// A position in a dense numbering (nodes, links, chunks, jobs), counted from 0; -1 means "none".
template <class Tag>
struct Id {
  std::int32_t value = -1;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t position) : value(static_cast<std::int32_t>(position)) {}
  constexpr explicit Id(int position) : value(position) {}

  constexpr std::size_t index() const { return static_cast<std::size_t>(value); }
  constexpr bool valid() const { return value >= 0; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using NodeId = Id<struct NodeTag>;
using LinkId = Id<struct LinkTag>;
using ChunkId = Id<struct ChunkTag>;
using JobId = Id<struct JobTag>;

/// A vector indexed by one kind of id.
template <class IdType, class T>
class IdVector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
  IdVector() = default;
  explicit IdVector(std::vector<T> values) : std::vector<T>(std::move(values)) {}

  typename std::vector<T>::reference operator[](IdType id) {
    return std::vector<T>::operator[](id.index());
  }
  typename std::vector<T>::const_reference operator[](IdType id) const {
    return std::vector<T>::operator[](id.index());
  }
};

/// The ids 0 .. size-1, for range-based loops.
template <class IdType>
class IdRange {
 public:
  class iterator {
   public:
    using value_type = IdType;
    using difference_type = std::ptrdiff_t;
    iterator() = default;
    explicit iterator(std::int32_t value) : value_(value) {}
    IdType operator*() const { return IdType(value_); }
    iterator& operator++() {
      ++value_;
      return *this;
    }
    iterator operator++(int) { return iterator(value_++); }
    friend bool operator==(iterator, iterator) = default;

   private:
    std::int32_t value_ = 0;
  };

  explicit IdRange(std::size_t size) : size_(static_cast<std::int32_t>(size)) {}
  iterator begin() const { return iterator(0); }
  iterator end() const { return iterator(size_); }
  std::size_t size() const { return static_cast<std::size_t>(size_); }

 private:
  std::int32_t size_;
};

}  // namespace stellwerk

template <class Tag>
struct std::hash<stellwerk::Id<Tag>> {
  std::size_t operator()(stellwerk::Id<Tag> id) const noexcept {
    return std::hash<std::int32_t>()(id.value);
  }
};
