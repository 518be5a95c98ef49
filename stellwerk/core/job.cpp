#include "stellwerk/core/job.hpp"

#include <algorithm>
#include <map>

namespace stellwerk {
namespace {

Bytes divide_up(Bytes size, std::int64_t parts) {
  return {size.value / parts + (size.value % parts != 0 ? 1 : 0)};
}

std::int64_t rank_count(const Job& job) { return static_cast<std::int64_t>(job.ranks.size()); }

/// Row and column sums of an alltoallv matrix, the diagonal (local) included as in the buffers.
std::pair<std::vector<Bytes>, std::vector<Bytes>> sums(const Job& job) {
  const std::size_t n = job.ranks.size();
  std::vector<Bytes> rows(n), columns(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      rows[i] += job.matrix[i][j];
      columns[j] += job.matrix[i][j];
    }
  }
  return {rows, columns};
}

}  // namespace

Bytes block_bytes(const Job& job) {
  return row(job.collective).whole_buffer ? job.size : divide_up(job.size, rank_count(job));
}

Bytes effective_size(const Job& job) {
  if (job.collective == Collective::alltoallv) {
    const auto [rows, columns] = sums(job);
    return std::max(*std::max_element(rows.begin(), rows.end()),
                    *std::max_element(columns.begin(), columns.end()));
  }
  if (job.collective == Collective::custom) {
    Bytes total;
    for (const CustomChunk& chunk : job.custom) total += chunk.bytes;
    return total;
  }
  const Bytes block = block_bytes(job);
  return row(job.collective).whole_buffer ? block : rank_count(job) * block;
}

OutputBytes output_bytes(const Job& job) {
  switch (job.collective) {
    case Collective::alltoallv: {
      const auto columns = sums(job).second;
      const auto [smallest, largest] = std::minmax_element(columns.begin(), columns.end());
      return {*smallest, *largest};
    }
    case Collective::custom: {
      std::map<NodeId, Bytes> received;
      for (const CustomChunk& chunk : job.custom) {
        for (const NodeId node : chunk.destinations) received[node] += chunk.bytes;
      }
      OutputBytes result{Bytes{received.empty() ? 0 : received.begin()->second.value}, Bytes{}};
      for (const auto& [node, bytes] : received) {
        result.smallest = std::min(result.smallest, bytes);
        result.largest = std::max(result.largest, bytes);
      }
      return result;
    }
    case Collective::reducescatter:
    case Collective::scatter: {
      const Bytes block = block_bytes(job);
      return {block, block};
    }
    case Collective::allgather:
    case Collective::allreduce:
    case Collective::alltoall:
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::gather:
    case Collective::sendrecv:
      break;
  }
  const Bytes size = effective_size(job);
  return {size, size};
}

}  // namespace stellwerk
