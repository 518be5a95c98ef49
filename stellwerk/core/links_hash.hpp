// A hash of lists of links, for tables of paths.
#pragma once

#include <cstdint>
#include <vector>

#include "stellwerk/base/ids.hpp"

namespace stellwerk {

/// Equal for equal lists, in the same order.
struct LinksHash {
  std::size_t operator()(const std::vector<LinkId>& links) const {
    std::uint64_t hash = links.size();
    for (const LinkId id : links) {
      hash = (hash ^ static_cast<std::uint64_t>(id.value)) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 29;
    }
    return static_cast<std::size_t>(hash);
  }
};

}  // namespace stellwerk
