// A problem: one topology, its jobs, and the chunks that follow from them.
#pragma once

#include <vector>

#include "stellwerk/core/chunk.hpp"
#include "stellwerk/core/job.hpp"
#include "stellwerk/core/symmetry.hpp"
#include "stellwerk/core/topology.hpp"

namespace stellwerk {

/// May GPUs that are in no job forward data?
enum class Relays : std::uint8_t { all, members };

/// Made by make_problem or make_compressed_problem, then const; planners may assume that it is valid.
///
/// With a symmetry that is not trivial the problem is *compressed*: `chunks` are representatives, and what must be
/// moved is the union of their images under the group (a chunk's image has mapped origins, destinations, contributors
/// and owner). A schedule for it lists sends of the representatives only, and stands for all their images.
struct Problem {
  Topology topology;
  std::vector<Job> jobs;
  Relays relays = Relays::all;
  IdVector<ChunkId, Chunk> chunks;
  Symmetry
      symmetry;  ///< of topology and jobs, free on the jobs' ranks; trivial: `chunks` are all chunks

  IdRange<ChunkId> chunk_ids() const { return IdRange<ChunkId>(chunks.size()); }
  /// May node `id` receive a chunk of `job` that it does not want? Every relay and switch may; a GPU if it is in the
  /// job, or, with Relays::all, always.
  bool may_forward(NodeId id, JobId job) const;
};

/// The chunks of `job`. Block b cut into C chunks gives bytes that differ by at most one, larger first; a block of fewer
/// than C bytes has fewer chunks. `slot` is the chunk's position in the owner's buffer, counted in chunks of C a block:
/// allgather, allreduce, gather, reducescatter, scatter: rank of the block * C + k; alltoall: destination * C + k;
/// broadcast, reduce, sendrecv: k; alltoallv: running number in the sender's row; custom: running number.
std::vector<Chunk> make_chunks(const Job& job, JobId id);
/// Those of them whose owner is rank `position`, in the same order.
std::vector<Chunk> make_chunks_of(const Job& job, JobId id, std::size_t position);

/// Throws Error(unreadable_input) naming the job and the field: ranks that are no GPU or repeated, fewer than two ranks,
/// a root out of range, a matrix of the wrong shape, empty sizes, chunks without origin or destination, more data or
/// chunks than can be counted, and the like.
void check_job(const Topology& topology, const Job& job, std::int64_t images = 1);
/// The same for all jobs of a problem: at least one, and no name twice. `images`: how many chunks each one that is
/// listed stands for; only those that are listed count.
void check_jobs(const Topology& topology, const std::vector<Job>& jobs, std::int64_t images = 1);

/// Validates the jobs against the topology (check_jobs) and expands them.
Problem make_problem(Topology topology, std::vector<Job> jobs, Relays relays = Relays::all);

/// How many chunks each one that `problem` lists stands for: the order of its symmetry.
std::int64_t images_of_chunks(const Problem& problem);

/// Has every rank chunks of its own, and do all do the same? allgather, reducescatter, allreduce, alltoall, alltoallv (by
/// its matrix) and sendrecv.
bool compressible(Collective collective);

/// The same problem by representatives, never expanding it: for every orbit of ranks the chunks of the rank that comes
/// first in the job's list. Time and memory are linear in what the result holds and in generators * (nodes + links).
/// Preconditions: `symmetry` is one of the topology and of all jobs, and free on their ranks. What can be seen at
/// once is checked: throws Error(internal) unless every job's collective is compressible and its ranks are whole orbits
/// of one size. A trivial symmetry gives make_problem's result.
Problem make_compressed_problem(Topology topology, std::vector<Job> jobs, Relays relays,
                                Symmetry symmetry);

}  // namespace stellwerk
