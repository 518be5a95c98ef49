#include "stellwerk/lower/transfers.hpp"

#include <map>
#include <string>

#include "stellwerk/base/error.hpp"

namespace stellwerk::lower {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::unsolved, "not expressible: " + what);
}

bool has_buffers(Collective collective) {
  switch (collective) {
    case Collective::allgather:
    case Collective::reducescatter:
    case Collective::allreduce:
    case Collective::alltoall:
    case Collective::broadcast:
    case Collective::reduce:
      return true;
    default:
      return false;
  }
}

/// Every rank's blocks must be cut alike: a runtime counts in chunks.
void check_chunks(const Problem& problem) {
  const Job& job = problem.jobs.front();
  std::map<std::int64_t, int> count;
  const std::size_t n = job.ranks.size();
  std::size_t blocks = n;
  if (job.collective == Collective::alltoall) blocks = n * (n - 1);
  if (row(job.collective).whole_buffer) blocks = 1;
  if (problem.chunks.size() != blocks * static_cast<std::size_t>(job.chunks)) {
    refuse("blocks are too small for " + std::to_string(job.chunks) +
           " chunks each: plan with fewer (--chunks)");
  }
}

}  // namespace

std::vector<Transfer> transfers(const Plan& plan) {
  const Problem& problem = plan.problem;
  const Topology& topology = problem.topology;
  if (problem.jobs.size() != 1)
    refuse("the plan is for " + std::to_string(problem.jobs.size()) +
           " jobs: a program runs one collective");
  const Job& job = problem.jobs.front();
  if (!has_buffers(job.collective))
    refuse("runtimes have no " + std::string(to_string(job.collective)) +
           " with programs of its own");
  check_chunks(problem);
  std::map<NodeId, int> rank;
  for (std::size_t r = 0; r < job.ranks.size(); ++r) rank[job.ranks[r]] = static_cast<int>(r);
  const auto rank_of = [&](NodeId node) {
    const auto found = rank.find(node);
    if (found == rank.end())
      refuse(topology.node(node).name +
             " forwards data but is no rank: plan with --relays members");
    return found->second;
  };
  std::vector<Transfer> result;
  for (const Send& send : plan.sends) {
    const SendTiming times = timing(topology, send);
    if (send.bytes != problem.chunks[send.chunk].bytes)
      refuse("a send moves a part of a chunk only");
    if (times.leaves.size() != 1) {
      refuse("a switch multicasts from " + topology.node(times.sources.front()).name + " to " +
             std::to_string(times.leaves.size()) +
             " GPUs at once: plan on a topology without multicast");
    }
    if (times.sources.size() != 1) refuse("a switch sums: plan on a topology without reduce");
    result.push_back({rank_of(times.sources[0]), rank_of(times.leaves[0]), send.chunk, send.op,
                      send.start, send.start + times.arrival[0]});
  }
  return result;
}

}  // namespace stellwerk::lower
