// The whole plan is the union of the images of the representatives under the group. A chunk's image
// has mapped origins, destinations, contributors and owner; like chunks (same job, ends, bytes and
// ready time) are interchangeable, so the images of the k-th like representative become the k-th
// like chunk of the jobs. An element that maps a chunk to itself gives more sends of that same
// chunk; images that coincide then count once. Time and memory are linear in the size of the result plus
// |group| * nodes; expansion_test.cpp compares with plans written out in full.
#include "stellwerk/core/expansion.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

constexpr std::size_t kMostElements = std::size_t{1} << 16;
constexpr std::size_t kMostGroupEntries = std::size_t{1} << 26;  // elements times nodes
constexpr std::size_t kMostSends = 50'000'000;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCode::unreadable_input, message);
}

std::vector<NodeId> image(const std::vector<NodeId>& nodes, const Permutation& g) {
  std::vector<NodeId> result(nodes.size());
  std::transform(nodes.begin(), nodes.end(), result.begin(),
                 [&](NodeId id) { return g[id.index()]; });
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

Likeness likeness(const Chunk& chunk, const Permutation& g) {
  return {chunk.job,
          g[chunk.owner.index()],
          chunk.bytes,
          chunk.ready,
          image(chunk.origins, g),
          image(chunk.destinations, g),
          image(chunk.contributors, g)};
}

/// The jobs' chunks, handed out to representatives.
class LikeChunks {
 public:
  LikeChunks(const IdVector<ChunkId, Chunk>& chunks, const Permutation& identity) {
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      classes_[likeness(chunks[ChunkId(i)], identity)].free.push_back(ChunkId(i));
    }
  }

  /// The chunk that the image with this likeness of representative `representative` is; an invalid
  /// id if the jobs ask for no such chunk, or for fewer.
  ChunkId take(const Likeness& likeness, ChunkId representative) {
    const auto found = classes_.find(likeness);
    if (found == classes_.end()) return {};
    Class& c = found->second;
    for (const auto& [taker, chunk] : c.taken) {
      if (taker == representative) return chunk;
    }
    if (c.taken.size() == c.free.size()) return {};
    return c.taken.emplace_back(representative, c.free[c.taken.size()]).second;
  }

 private:
  struct Class {
    std::vector<ChunkId> free;
    std::vector<std::pair<ChunkId, ChunkId>> taken;
  };
  std::map<Likeness, Class> classes_;
};

}  // namespace

std::vector<Permutation> group_closure(const std::vector<Permutation>& generators,
                                       std::size_t nodes) {
  Permutation identity(nodes);
  for (std::size_t i = 0; i < nodes; ++i) identity[i] = NodeId(i);
  std::vector<Permutation> elements = {identity};
  std::set<Permutation> known = {identity};
  for (std::size_t i = 0; i < elements.size(); ++i) {
    for (const Permutation& generator : generators) {
      Permutation product(nodes);
      for (std::size_t v = 0; v < nodes; ++v) product[v] = generator[elements[i][v].index()];
      if (!known.insert(product).second) continue;
      elements.push_back(std::move(product));
      if (elements.size() > kMostElements || elements.size() * nodes > kMostGroupEntries) {
        refuse("the generators generate a group of more than " +
               std::to_string(std::min(kMostElements, kMostGroupEntries / nodes)) +
               " elements: take generators of a smaller group");
      }
    }
  }
  return elements;
}

void expand(Plan& plan, const std::vector<Permutation>& generators) {
  const Topology& topology = plan.problem.topology;
  const LinkImages links(topology);
  for (std::size_t i = 0; i < generators.size(); ++i) {
    for (const LinkId id : topology.link_ids()) {
      if (!links.image(id, generators[i]).valid()) {
        refuse("generator " + std::to_string(i) + " is no symmetry of the topology: link " +
               std::to_string(id.value) + " (" + topology.link_name(id) + ") has no image");
      }
    }
  }
  const std::vector<Permutation> group = group_closure(generators, topology.nodes().size());
  if (group.size() * plan.sends.size() > kMostSends) {
    refuse("the plan has more than " + std::to_string(kMostSends) + " sends when it is expanded");
  }
  const Problem whole = make_problem(topology, plan.problem.jobs, plan.problem.relays);
  LikeChunks like(whole.chunks, group.front());

  // chunk_image[r * |group| + g]
  std::vector<ChunkId> chunk_image(plan.problem.chunks.size() * group.size());
  for (const ChunkId r : plan.problem.chunk_ids()) {
    for (std::size_t g = 0; g < group.size(); ++g) {
      const ChunkId id = like.take(likeness(plan.problem.chunks[r], group[g]), r);
      if (!id.valid()) {
        refuse("the jobs do not ask for image " + std::to_string(g) + " of chunk " +
               std::to_string(r.value) + ", or not that often");
      }
      chunk_image[r.index() * group.size() + g] = id;
    }
  }

  Schedule sends;
  sends.reserve(group.size() * plan.sends.size());
  for (std::size_t g = 0; g < group.size(); ++g) {
    for (const Send& representative : plan.sends) {
      Send send = representative;
      send.chunk = chunk_image[representative.chunk.index() * group.size() + g];
      for (LinkId& link : send.links) link = links.image(link, group[g]);
      sends.push_back(std::move(send));
    }
  }
  const auto everything = [](const Send& s) {
    return std::tie(s.start, s.chunk, s.links, s.op, s.rate, s.offset, s.bytes);
  };
  bool keeps_a_chunk = false;  // some element but the identity
  for (const ChunkId r : plan.problem.chunk_ids()) {
    for (std::size_t g = 1; g < group.size() && !keeps_a_chunk; ++g) {
      keeps_a_chunk =
          chunk_image[r.index() * group.size() + g] == chunk_image[r.index() * group.size()];
    }
  }
  if (keeps_a_chunk) {
    std::sort(sends.begin(), sends.end(),
              [&](const Send& a, const Send& b) { return everything(a) < everything(b); });
    sends.erase(std::unique(sends.begin(), sends.end()), sends.end());
  }
  sort_sends(topology, sends);

  for (std::optional<Bound>* bound : {&plan.result.bound, &plan.result.bound_chunked}) {
    if (*bound && (*bound)->certificate.chunk) {
      ChunkId& chunk = *(*bound)->certificate.chunk;
      chunk = chunk_image[chunk.index() * group.size()];
    }
  }
  plan.problem.chunks = whole.chunks;
  plan.sends = std::move(sends);
}

void expand(Plan& plan) {
  const Symmetry symmetry = std::exchange(plan.problem.symmetry, {});
  if (!symmetry.trivial()) expand(plan, symmetry.generators);
}

}  // namespace stellwerk
