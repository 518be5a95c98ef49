// Every chunk is owned by a rank, and the group is free on ranks: an orbit of chunks has exactly one
// member that is owned by the base of an orbit of ranks. So the images of the representatives are
// the jobs' chunks if and only if the representatives, each mapped to where its owner is the base
// of its orbit, are the chunks that the jobs give to the bases. Like chunks (which differ in their
// slots only) are interchangeable.
#include "stellwerk/check/representatives.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "stellwerk/base/error.hpp"

namespace stellwerk::check {
namespace {

std::vector<NodeId> sorted_image(const std::vector<NodeId>& nodes, const Permutation* g) {
  std::vector<NodeId> result = nodes;
  if (g != nullptr) {
    for (NodeId& node : result) node = (*g)[node.index()];
  }
  std::sort(result.begin(), result.end());
  return result;
}

/// What like chunks have in common.
struct Likeness {
  JobId job;
  NodeId owner;
  Bytes bytes;
  Time ready;
  std::vector<NodeId> origins, destinations, contributors;

  friend auto operator<=>(const Likeness&, const Likeness&) = default;
};

/// Of the chunk's image; null: of itself.
Likeness likeness(const Chunk& chunk, const Permutation* g) {
  return {chunk.job,
          g != nullptr ? (*g)[chunk.owner.index()] : chunk.owner,
          chunk.bytes,
          chunk.ready,
          sorted_image(chunk.origins, g),
          sorted_image(chunk.destinations, g),
          sorted_image(chunk.contributors, g)};
}

std::string describe(const Problem& problem, const Likeness& like) {
  return to_string(like.bytes) + " of " + problem.topology.node(like.owner).name + ", job '" +
         problem.jobs[like.job.index()].name + "'";
}

}  // namespace

Judgement judge_representatives(const Problem& problem, Quotient& quotient) {
  try {
    check_jobs(problem.topology, problem.jobs, quotient.order());
  } catch (const Error& error) {
    return found(Violation::chunks_differ, std::string("the jobs are not valid: ") + error.what());
  }
  std::map<Likeness, std::int64_t> wanted;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const Job& job = problem.jobs[j];
    for (std::size_t i = 0; i < job.ranks.size(); ++i) {
      if (quotient.base(job.ranks[i]) != job.ranks[i]) continue;
      for (const Chunk& chunk : make_chunks_of(job, JobId(j), i))
        ++wanted[likeness(chunk, nullptr)];
    }
  }
  for (const ChunkId id : problem.chunk_ids()) {
    const Chunk& chunk = problem.chunks[id];
    const bool moves = quotient.base(chunk.owner) != chunk.owner;
    const auto match =
        wanted.find(likeness(chunk, moves ? &quotient.to_base(chunk.owner) : nullptr));
    if (match == wanted.end() || match->second == 0) {
      return found(Violation::chunks_differ, "no job asks for the images of chunk " +
                                                 std::to_string(id.value) + ", " +
                                                 describe(problem, likeness(chunk, nullptr)) +
                                                 (match == wanted.end() ? "" : ", that often"));
    }
    --match->second;
  }
  for (const auto& [like, count] : wanted) {
    if (count == 0) continue;
    return found(Violation::chunks_differ, "no chunk of the plan has an image that is " +
                                               describe(problem, like) +
                                               ", which the job asks for");
  }
  return {};
}

ImagePlan image_of(const Problem& problem, const Schedule& sends, const Permutation& element,
                   const LinkImages& images) {
  const auto map = [&](std::vector<NodeId>& nodes) {
    for (NodeId& node : nodes) node = element[node.index()];
  };
  ImagePlan result{problem, sends};
  for (Chunk& chunk : result.problem.chunks) {
    chunk.owner = element[chunk.owner.index()];
    map(chunk.origins);
    map(chunk.destinations);
    map(chunk.contributors);
  }
  for (Send& send : result.sends) {
    for (LinkId& link : send.links) link = images.image(link, element);
  }
  return result;
}

}  // namespace stellwerk::check
