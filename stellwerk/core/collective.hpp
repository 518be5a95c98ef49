// The collectives, as a table: names, who receives what, and the factors of nccl-tests.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace stellwerk {

enum class Collective : std::uint8_t {
  allgather,
  reducescatter,
  allreduce,
  alltoall,
  alltoallv,
  broadcast,
  reduce,
  gather,
  scatter,
  sendrecv,
  custom,
};

/// What distinguishes one collective from another; everything else follows from these columns.
struct CollectiveRow {
  Collective collective;
  std::string_view name;
  bool reduction;     ///< chunks have contributors
  bool rooted;        ///< `root` matters
  bool whole_buffer;  ///< the block is the whole buffer (S), not S / n
  std::string_view summary;
};

std::span<const CollectiveRow> collectives();
const CollectiveRow& row(Collective collective);
std::string_view to_string(Collective collective);

/// Throws Error(usage) that lists the names.
Collective parse_collective(std::string_view name);

/// busbw = algbw * factor, as in nccl-tests: AllReduce 2(n-1)/n; AllGather, ReduceScatter, AllToAll(V), Gather and
/// Scatter (n-1)/n; the others 1.
double busbw_factor(Collective collective, std::size_t ranks);

}  // namespace stellwerk
