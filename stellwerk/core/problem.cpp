#include "stellwerk/core/problem.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/wide.hpp"

namespace stellwerk {
namespace {

[[noreturn]] void refuse(const Job& job, const std::string& message) {
  throw Error(ErrorCode::unreadable_input, "job '" + job.name + "': " + message);
}

/// No start or ready time is later: 10^6 s, in ps.
constexpr Time kLatest{std::int64_t{1'000'000} * 1'000'000 * 1'000'000};
constexpr Int128 kMostBytes = Int128{1} << 60;
constexpr std::int64_t kMostChunks = 50'000'000;

/// How much a job asks for, counted before anything is expanded.
struct Demand {
  Int128 moved = 0;  ///< bytes times places where they are wanted or come from
  Int128 chunks = 0;
};

/// Precondition: the job is valid but perhaps too large.
Demand demand_of(const Job& job) {
  const auto n = static_cast<Int128>(job.ranks.size());
  Demand result;
  switch (job.collective) {
    case Collective::custom:
      for (const CustomChunk& chunk : job.custom) {
        const std::size_t places =
            chunk.origins.size() + chunk.contributors.size() + chunk.destinations.size();
        result.moved += static_cast<Int128>(chunk.bytes.value) * static_cast<Int128>(places);
      }
      result.chunks = static_cast<Int128>(job.custom.size());
      return result;
    case Collective::alltoallv:
      for (const std::vector<Bytes>& row : job.matrix) {
        for (const Bytes bytes : row) {
          result.moved += 2 * static_cast<Int128>(bytes.value);
          result.chunks += std::min<Int128>(job.chunks, bytes.value);
        }
      }
      return result;
    case Collective::broadcast:
    case Collective::reduce:
      result.chunks = std::min<Int128>(job.chunks, job.size.value);
      break;
    case Collective::alltoall:
      result.chunks = n * n * job.chunks;
      break;
    default:
      result.chunks = n * job.chunks;
  }
  // No collective moves more than its whole buffer between every pair, nor rounds up by more than
  // a byte a pair.
  result.moved = 2 * n * (job.size.value + n);
  return result;
}

void check_nodes(const Topology& topology, const Job& job, const std::vector<NodeId>& nodes,
                 const std::string& what) {
  std::unordered_set<NodeId> seen;
  for (const NodeId id : nodes) {
    if (!id.valid() || id.index() >= topology.nodes().size()) {
      refuse(job, what + ": there is no node " + std::to_string(id.value) + " in topology '" +
                      topology.name() + "'");
    }
    const Node& node = topology.node(id);
    if (node.kind != NodeKind::gpu) {
      refuse(job, what + ": '" + node.name + "' is a " + to_string(node.kind) +
                      ", only GPUs can take part");
    }
    if (!seen.insert(id).second) refuse(job, what + ": '" + node.name + "' is listed twice");
  }
}

void check_custom(const Topology& topology, const Job& job) {
  if (job.custom.empty()) refuse(job, "a custom job needs a list of chunks");
  const std::unordered_set<NodeId> members(job.ranks.begin(), job.ranks.end());
  for (std::size_t i = 0; i < job.custom.size(); ++i) {
    const CustomChunk& chunk = job.custom[i];
    const std::string place = "chunk " + std::to_string(i);
    if (chunk.bytes.value <= 0) refuse(job, place + ": bytes must be positive");
    if (chunk.ready.ps < 0) refuse(job, place + ": ready is negative");
    if (chunk.ready > kLatest) {
      refuse(job, place + ": a ready time of more than 10^6 s is surely a wrong unit");
    }
    if (chunk.origins.empty() == chunk.contributors.empty()) {
      refuse(job, place + ": give either origins, or contributors for a reduction");
    }
    if (chunk.destinations.empty()) refuse(job, place + ": destinations is empty");
    check_nodes(topology, job, chunk.origins, place + ", origins");
    check_nodes(topology, job, chunk.destinations, place + ", destinations");
    check_nodes(topology, job, chunk.contributors, place + ", contributors");
    for (const auto* list : {&chunk.origins, &chunk.destinations, &chunk.contributors}) {
      for (const NodeId node : *list) {
        if (!members.contains(node)) {
          refuse(job, place + ": '" + topology.node(node).name + "' is not among the job's ranks");
        }
      }
    }
  }
}

void check_matrix(const Job& job) {
  const std::size_t n = job.ranks.size();
  if (job.matrix.size() != n) {
    refuse(job, "bytes has " + std::to_string(job.matrix.size()) + " rows, but the job has " +
                    std::to_string(n) + " ranks");
  }
  bool any = false;
  for (std::size_t i = 0; i < n; ++i) {
    if (job.matrix[i].size() != n) {
      refuse(job, "row " + std::to_string(i) + " of bytes has " +
                      std::to_string(job.matrix[i].size()) + " entries, but the job has " +
                      std::to_string(n) + " ranks");
    }
    for (std::size_t j = 0; j < n; ++j) {
      if (job.matrix[i][j].value < 0)
        refuse(job, "bytes[" + std::to_string(i) + "][" + std::to_string(j) + "] is negative");
      any = any || (i != j && job.matrix[i][j].value > 0);
    }
  }
  if (!any) refuse(job, "bytes asks for no transfer between different ranks");
}

std::vector<NodeId> without(const std::vector<NodeId>& ranks, NodeId node) {
  std::vector<NodeId> result;
  result.reserve(ranks.size());
  for (const NodeId id : ranks) {
    if (id != node) result.push_back(id);
  }
  return result;
}

/// Cuts one block into chunks that share everything but bytes and slot.
void cut_block(std::vector<Chunk>& chunks, const Chunk& block, int parts, std::int64_t first_slot) {
  const std::int64_t bytes = block.bytes.value;
  const std::int64_t count = std::min<std::int64_t>(parts, bytes);
  for (std::int64_t k = 0; k < count; ++k) {
    Chunk chunk = block;
    chunk.bytes = Bytes{bytes / count + (k < bytes % count ? 1 : 0)};
    chunk.slot = first_slot + k;
    chunks.push_back(std::move(chunk));
  }
}

std::vector<Chunk> custom_chunks(const Job& job, JobId id) {
  std::vector<Chunk> chunks;
  for (const CustomChunk& custom : job.custom) {
    Chunk chunk;
    chunk.job = id;
    chunk.bytes = custom.bytes;
    chunk.origins = custom.origins;
    chunk.destinations = custom.destinations;
    chunk.contributors = custom.contributors;
    chunk.ready = std::max(job.start, custom.ready);
    chunk.owner = custom.origins.empty() ? custom.destinations.front() : custom.origins.front();
    chunk.slot = static_cast<std::int64_t>(chunks.size());
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

}  // namespace

void check_job(const Topology& topology, const Job& job, std::int64_t images) {
  if (job.name.empty()) refuse(job, "the job has no name: give it one");
  for (const char c : job.name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      refuse(job, "the name contains a control character: remove it");
    }
  }
  check_nodes(topology, job, job.ranks, "ranks");
  if (job.ranks.size() < 2 && job.collective != Collective::custom) {
    refuse(job,
           "a collective needs at least two ranks, " + std::to_string(job.ranks.size()) + " given");
  }
  if (job.start.ps < 0) refuse(job, "start is negative");
  if (job.start > kLatest) refuse(job, "a start after more than 10^6 s is surely a wrong unit");
  if (job.weight < 1) refuse(job, "weight must be at least 1");
  if (job.chunks < 1) refuse(job, "chunks must be at least 1");
  if (job.root < 0 ||
      static_cast<std::size_t>(job.root) >= std::max<std::size_t>(job.ranks.size(), 1)) {
    refuse(job, "root " + std::to_string(job.root) + " is not a position in the list of " +
                    std::to_string(job.ranks.size()) + " ranks");
  }
  if (job.collective == Collective::custom) {
    check_custom(topology, job);
  } else if (job.collective == Collective::alltoallv) {
    check_matrix(job);
  } else if (job.size.value <= 0) {
    refuse(job, "size must be positive");
  }
  // Sizes are bounded so that sums over chunks and nodes stay within 64 bits, and numbers of chunks
  // so that the list of them fits into memory.
  const Demand demand = demand_of(job);
  if (demand.moved > kMostBytes)
    refuse(job, "asks for more than 2^60 bytes in all: lower the size");
  if (demand.chunks / images > kMostChunks) {
    refuse(job, "is cut into more than " + std::to_string(kMostChunks) + " chunks: lower chunks");
  }
}

void check_jobs(const Topology& topology, const std::vector<Job>& jobs, std::int64_t images) {
  if (jobs.empty()) {
    throw Error(ErrorCode::unreadable_input, "there is no job: name a collective or a jobs file");
  }
  std::unordered_set<std::string> names;
  Demand total;
  for (const Job& job : jobs) {
    check_job(topology, job, images);
    if (!names.insert(job.name).second) {
      refuse(job, "another job has the same name: names must be unique");
    }
    const Demand demand = demand_of(job);
    total.moved += demand.moved;
    total.chunks += demand.chunks;
  }
  if (total.moved > kMostBytes || total.chunks / images > kMostChunks) {
    throw Error(ErrorCode::unreadable_input, "the jobs together ask for more than 2^60 bytes or " +
                                                 std::to_string(kMostChunks) +
                                                 " chunks: plan them apart");
  }
}

bool Problem::may_forward(NodeId id, JobId job) const {
  if (relays == Relays::all || topology.node(id).kind != NodeKind::gpu) return true;
  const std::vector<NodeId>& ranks = jobs[job.index()].ranks;
  return std::find(ranks.begin(), ranks.end(), id) != ranks.end();
}

std::vector<Chunk> make_chunks_of(const Job& job, JobId id, std::size_t position) {
  std::vector<Chunk> chunks;
  const std::vector<NodeId>& ranks = job.ranks;
  const std::size_t n = ranks.size();
  const std::size_t root = static_cast<std::size_t>(job.root);
  const NodeId rank = ranks[position];
  const int parts = job.chunks;
  const auto slot_of = [&](std::size_t block) { return static_cast<std::int64_t>(block) * parts; };
  Chunk block;
  block.job = id;
  block.ready = job.start;
  block.owner = rank;
  if (job.collective != Collective::alltoallv && job.collective != Collective::custom) {
    block.bytes = block_bytes(job);
  }
  switch (job.collective) {
    case Collective::allgather:
      block.origins = {rank};
      block.destinations = without(ranks, rank);
      cut_block(chunks, block, parts, slot_of(position));
      break;
    case Collective::reducescatter:
      block.contributors = ranks;
      block.destinations = {rank};
      cut_block(chunks, block, parts, slot_of(position));
      break;
    case Collective::allreduce:
      block.contributors = ranks;
      block.destinations = ranks;
      cut_block(chunks, block, parts, slot_of(position));
      break;
    case Collective::alltoall:
      block.origins = {rank};
      chunks.reserve((n - 1) *
                     static_cast<std::size_t>(std::min<std::int64_t>(parts, block.bytes.value)));
      for (std::size_t j = 0; j < n; ++j) {
        if (j == position) continue;
        block.destinations = {ranks[j]};
        cut_block(chunks, block, parts, slot_of(j));
      }
      break;
    case Collective::alltoallv:
      block.origins = {rank};
      for (std::size_t j = 0; j < n; ++j) {
        block.bytes = job.matrix[position][j];
        if (j == position || block.bytes.value == 0) continue;
        block.destinations = {ranks[j]};
        cut_block(chunks, block, parts, static_cast<std::int64_t>(chunks.size()));
      }
      break;
    case Collective::broadcast:
      if (position != root) break;
      block.origins = {rank};
      block.destinations = without(ranks, rank);
      cut_block(chunks, block, parts, 0);
      break;
    case Collective::reduce:
      if (position != root) break;
      block.contributors = ranks;
      block.destinations = {rank};
      cut_block(chunks, block, parts, 0);
      break;
    case Collective::gather:
      if (position == root) break;
      block.origins = {rank};
      block.destinations = {ranks[root]};
      cut_block(chunks, block, parts, slot_of(position));
      break;
    case Collective::scatter:
      if (position != root) break;
      block.origins = {rank};
      for (std::size_t j = 0; j < n; ++j) {
        if (j == root) continue;
        block.destinations = {ranks[j]};
        cut_block(chunks, block, parts, slot_of(j));
      }
      break;
    case Collective::sendrecv:
      block.origins = {rank};
      block.destinations = {ranks[(position + 1) % n]};
      cut_block(chunks, block, parts, 0);
      break;
    case Collective::custom:
      for (Chunk& chunk : custom_chunks(job, id)) {
        if (chunk.owner == rank) chunks.push_back(std::move(chunk));
      }
      break;
  }
  return chunks;
}

std::vector<Chunk> make_chunks(const Job& job, JobId id) {
  if (job.collective == Collective::custom) return custom_chunks(job, id);
  std::vector<Chunk> chunks;
  for (std::size_t position = 0; position < job.ranks.size(); ++position) {
    std::vector<Chunk> of_rank = make_chunks_of(job, id, position);
    // Most collectives have as many for every rank.
    if (chunks.empty()) chunks.reserve(of_rank.size() * job.ranks.size());
    for (Chunk& chunk : of_rank) chunks.push_back(std::move(chunk));
  }
  return chunks;
}

Problem make_problem(Topology topology, std::vector<Job> jobs, Relays relays) {
  Problem problem;
  check_jobs(topology, jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::vector<Chunk> of_job = make_chunks(jobs[i], JobId(i));
    if (i == 0) {
      problem.chunks = IdVector<ChunkId, Chunk>(std::move(of_job));
    } else {
      for (Chunk& chunk : of_job) problem.chunks.push_back(std::move(chunk));
    }
  }
  problem.topology = std::move(topology);
  problem.jobs = std::move(jobs);
  problem.relays = relays;
  return problem;
}

std::int64_t images_of_chunks(const Problem& problem) {
  if (problem.symmetry.trivial()) return 1;
  std::vector<bool> reached(problem.topology.nodes().size(), false);
  std::vector<NodeId> orbit = {problem.jobs.front().ranks.front()};
  reached[orbit.front().index()] = true;
  for (std::size_t i = 0; i < orbit.size(); ++i) {
    for (const Permutation& g : problem.symmetry.generators) {
      const NodeId image = g[orbit[i].index()];
      if (reached[image.index()]) continue;
      reached[image.index()] = true;
      orbit.push_back(image);
    }
  }
  return static_cast<std::int64_t>(orbit.size());
}

bool compressible(Collective collective) {
  switch (collective) {
    case Collective::allgather:
    case Collective::reducescatter:
    case Collective::allreduce:
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::sendrecv:
      return true;
    default:
      return false;
  }
}

Problem make_compressed_problem(Topology topology, std::vector<Job> jobs, Relays relays,
                                Symmetry symmetry) {
  if (symmetry.trivial()) return make_problem(std::move(topology), std::move(jobs), relays);
  const auto bug = [](const std::string& message) {
    throw Error(ErrorCode::internal, "compressed problem: " + message);
  };
  if (jobs.empty() || jobs.front().ranks.empty()) bug("there are no ranks");
  for (const Permutation& g : symmetry.generators) {
    if (g.size() != topology.nodes().size()) bug("a generator is no permutation of the nodes");
  }
  const Orbits orbits = find_orbits(topology, symmetry, jobs.front().ranks);
  check_jobs(topology, jobs, orbits.order);
  Problem problem;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Job& job = jobs[i];
    if (!compressible(job.collective)) {
      bug("'" + job.name + "' is a " + std::string(to_string(job.collective)));
    }
    std::vector<std::int64_t> seen(orbits.node_size.size(), 0);
    for (std::size_t position = 0; position < job.ranks.size(); ++position) {
      const std::uint32_t orbit = orbits.node[job.ranks[position]];
      if (orbits.node_size[orbit] != orbits.order) {
        bug("'" + job.name + "' has ranks on which the group does not act freely");
      }
      if (seen[orbit]++ > 0) continue;
      for (Chunk& chunk : make_chunks_of(job, JobId(i), position)) {
        problem.chunks.push_back(std::move(chunk));
      }
    }
    for (const std::int64_t count : seen) {
      if (count != 0 && count != orbits.order) bug("'" + job.name + "' has a part of an orbit");
    }
  }
  problem.topology = std::move(topology);
  problem.jobs = std::move(jobs);
  problem.relays = relays;
  problem.symmetry = std::move(symmetry);
  return problem;
}

}  // namespace stellwerk
