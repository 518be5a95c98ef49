#include "stellwerk/core/collective.hpp"

#include <array>
#include <string>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

using C = Collective;
constexpr std::array kRows = {
    CollectiveRow{C::allgather, "allgather", false, false, false,
                  "every rank gets every rank's block"},
    CollectiveRow{C::reducescatter, "reducescatter", true, false, false,
                  "rank i gets the sum of all blocks i"},
    CollectiveRow{C::allreduce, "allreduce", true, false, false,
                  "every rank gets the sum of all buffers"},
    CollectiveRow{C::alltoall, "alltoall", false, false, false,
                  "every ordered pair exchanges a block"},
    CollectiveRow{C::alltoallv, "alltoallv", false, false, false,
                  "as alltoall, sizes from a matrix"},
    CollectiveRow{C::broadcast, "broadcast", false, true, true,
                  "every rank gets the root's buffer"},
    CollectiveRow{C::reduce, "reduce", true, true, true, "the root gets the sum of all buffers"},
    CollectiveRow{C::gather, "gather", false, true, false, "the root gets every rank's block"},
    CollectiveRow{C::scatter, "scatter", false, true, false, "rank i gets block i of the root"},
    CollectiveRow{C::sendrecv, "sendrecv", false, false, true,
                  "rank i sends its buffer to rank i+1 mod n"},
    CollectiveRow{C::custom, "custom", false, false, false, "explicit chunks from a jobs file"},
};

}  // namespace

std::span<const CollectiveRow> collectives() { return kRows; }

const CollectiveRow& row(Collective collective) {
  return kRows[static_cast<std::size_t>(collective)];
}

std::string_view to_string(Collective collective) { return row(collective).name; }

Collective parse_collective(std::string_view name) {
  std::string names;
  for (const CollectiveRow& candidate : kRows) {
    if (candidate.name == name) return candidate.collective;
    names += (names.empty() ? "" : ", ") + std::string(candidate.name);
  }
  throw Error(ErrorCode::usage,
              "'" + std::string(name) + "' is not a collective: choose one of " + names);
}

double busbw_factor(Collective collective, std::size_t ranks) {
  const double n = static_cast<double>(ranks);
  switch (collective) {
    case Collective::allreduce:
      return 2 * (n - 1) / n;
    case Collective::allgather:
    case Collective::reducescatter:
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::gather:
    case Collective::scatter:
      return (n - 1) / n;
    default:
      return 1;
  }
}

}  // namespace stellwerk
