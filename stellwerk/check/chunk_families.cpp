#include "stellwerk/check/chunk_families.hpp"

#include <algorithm>
#include <cassert>

namespace stellwerk::check {
namespace {

/// Sizes of `parts` pieces that differ by a byte at most, none empty.
std::vector<SizeCount> cut(Bytes block, int parts) {
  const std::int64_t count = std::min<std::int64_t>(parts, block.value);
  std::vector<SizeCount> sizes;
  if (count == 0) return sizes;
  const std::int64_t larger = block.value % count;
  if (larger > 0) sizes.push_back({Bytes{block.value / count + 1}, larger});
  sizes.push_back({Bytes{block.value / count}, count - larger});
  return sizes;
}

}  // namespace

std::vector<ChunkFamily> chunk_families(const Job& job) {
  using Shape = ChunkFamily::Shape;
  std::vector<ChunkFamily> families;
  const std::size_t n = job.ranks.size();
  for (std::size_t i = 0; i < n; ++i) {
    const NodeId owner = job.ranks[i];
    const auto add = [&](Shape shape, NodeId destination = {}) {
      families.push_back({shape, owner, destination, cut(block_bytes(job), job.chunks)});
    };
    switch (job.collective) {
      case Collective::allgather:
        add(Shape::to_others);
        break;
      case Collective::alltoall:
        add(Shape::each_other);
        break;
      case Collective::reducescatter:
        add(Shape::sum_to_owner);
        break;
      case Collective::allreduce:
        add(Shape::sum_to_all);
        break;
      case Collective::sendrecv:
        add(Shape::to_one, job.ranks[(i + 1) % n]);
        break;
      case Collective::alltoallv:
        for (std::size_t j = 0; j < n; ++j) {
          if (i == j || job.matrix[i][j].value == 0) continue;
          families.push_back(
              {Shape::to_one, owner, job.ranks[j], cut(job.matrix[i][j], job.chunks)});
        }
        break;
      default:
        assert(false);
    }
  }
  return families;
}

}  // namespace stellwerk::check
