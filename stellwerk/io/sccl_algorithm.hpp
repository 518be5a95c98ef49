// Algorithms of SCCL, msccl-tools and TACCL (JSON) as plans.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

struct ScclAlgorithm {
  struct Send {
    int address = 0, from = 0, to = 0;
  };
  /// Data that `pre` hold and `post` want. Several of one address are addends of a sum.
  struct Chunk {
    int address = 0;
    std::vector<int> pre, post;  ///< sorted
  };
  std::string name;
  std::string collective;  ///< as the file calls it
  int ranks = 0;
  std::vector<Chunk> chunks;
  std::vector<std::vector<Send>> steps;
};

bool looks_like_sccl_algorithm(std::string_view text);

/// "msccl_type" or "sccl_type"; sends of three to six entries. Throws Error(unreadable_input) that begins with `file` and names
/// the place as a JSON pointer.
ScclAlgorithm parse_sccl_algorithm(std::string_view text, const std::string& file);

/// The algorithm on `topology`, rank k being its k-th GPU: step after step, then re-timed. Where two ranks have no link they are
/// joined by the shortest way through switches. AllGather, AllToAll, AllReduce or ReduceScatter if the chunks are theirs,
/// else a custom job. Throws Error(unreadable_input) that begins with `file`: too few GPUs, ranks that nothing joins,
/// chunks that are sent before they are there.
Plan sccl_plan(const ScclAlgorithm& algorithm, Topology topology, Bytes chunk,
               const std::string& file);

}  // namespace stellwerk
