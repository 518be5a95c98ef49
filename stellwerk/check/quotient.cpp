// Why it is enough to look at representatives: let G be a group of automorphisms of topology and
// jobs that acts freely on the ranks, and P the sends of the representatives. An automorphism keeps
// latencies, bandwidths, limits, ready times and who wants what, so g P is causal and delivers if P
// does, at the same times. Every chunk is owned by a rank, so its images are |G| different chunks.
// The load on link l at an instant is the sum over the uses of links e in the orbit of l, of rate
// times the number of elements that take e to l, which is |G| / |orbit|, a coset of l's stabiliser.
// So all images together keep l's limit if and only if the uses of P in its orbit, times that
// number, do. The same holds for nodes (tails and heads of uses, stays in buffers, groups).
//
// Is the group free? Let r be a rank and K the elements that keep it. If the images of r under
// words in the generators, w r, can be given images m(w r) with m(r) = x and m(s w r) = s m(w r) for
// all generators s, then K keeps x: k r = r has image k x. And if m exists for some x, it is found
// by a search from r and checked edge by edge. With x = s r for every generator s: k s r = s r, so
// s^-1 K s is part of K, and K is normal; hence, if K keeps one node of an orbit, it keeps all of
// it. So one m for every s r and every orbit proves that K keeps all nodes: it is trivial, and the
// group has as many elements as r has images; the converse is plain. Orbits of that size have
// trivial stabilisers. The cost is generators times (nodes + sum over orbits of |G|), and no
// element of the group but the generators is ever written down.
#include "stellwerk/check/quotient.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace stellwerk::check {

Judgement Quotient::wrong(std::string message) const {
  return found(Violation::wrong_symmetry, std::move(message));
}

Judgement Quotient::build() {
  const Symmetry& symmetry = problem_.symmetry;
  if (symmetry.trivial()) return {};
  images_.emplace(problem_.topology);
  for (std::size_t g = 0; g < symmetry.generators.size(); ++g) {
    if (auto finding = check_generator(g)) return finding;
  }
  if (problem_.jobs.empty()) return wrong("there is no job");
  for (std::size_t g = 0; g < symmetry.generators.size(); ++g) {
    for (const Job& job : problem_.jobs) {
      if (auto finding = check_job(g, job)) return finding;
    }
  }
  find_orbits();
  return check_freeness();
}

Judgement Quotient::check_generator(std::size_t number) {
  const Topology& topology = problem_.topology;
  const Permutation& g = problem_.symmetry.generators[number];
  const std::string name = "generator " + std::to_string(number);
  std::vector<bool> hit(topology.nodes().size(), false);
  bool permutation = g.size() == topology.nodes().size();
  for (std::size_t i = 0; i < g.size() && permutation; ++i) {
    permutation = g[i].valid() && g[i].index() < hit.size() && !hit[g[i].index()];
    if (permutation) hit[g[i].index()] = true;
  }
  if (!permutation) return wrong(name + " is no permutation of the nodes");

  for (const NodeId id : topology.node_ids()) {
    const Node& a = topology.node(id);
    const Node& b = topology.node(g[id.index()]);
    if (a.kind != b.kind || a.multicast != b.multicast || a.reduce != b.reduce ||
        a.max_groups != b.max_groups || a.buffer != b.buffer || a.injection != b.injection ||
        a.ejection != b.ejection) {
      return wrong(name + " takes " + a.name + " to " + b.name +
                   ", which differs in kind, capabilities or limits");
    }
    if (topology.out(id).size() != topology.out(g[id.index()]).size()) {
      return wrong(name + " takes " + a.name + " to " + b.name +
                   ", which more or fewer links leave");
    }
  }
  // Different links have different images: their ends or their places among parallel ones differ.
  // So the images are all links, since as many links leave a node as leave its image.
  IdVector<LinkId, LinkId> image(topology.links().size());
  for (const LinkId id : topology.link_ids()) {
    image[id] = images_->image(id, g);
    if (!image[id].valid()) {
      return wrong(name + " is no symmetry of the topology: link " + topology.link_name(id) +
                   " has no image");
    }
    const Link& a = topology.link(id);
    const Link& b = topology.link(image[id]);
    if (a.latency != b.latency || a.bandwidth != b.bandwidth) {
      return wrong(name + " takes link " + topology.link_name(id) + " to " +
                   topology.link_name(image[id]) + ", which differs in latency or bandwidth");
    }
  }
  link_images_.push_back(std::move(image));
  return {};
}

Judgement Quotient::check_job(std::size_t number, const Job& job) {
  const Permutation& g = problem_.symmetry.generators[number];
  const std::string what =
      "generator " + std::to_string(number) + " is no symmetry of job '" + job.name + "': ";
  const auto exists = [&](NodeId id) { return id.valid() && id.index() < g.size(); };
  std::vector<std::int32_t> position(g.size(), -1);
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    if (!exists(job.ranks[i])) return wrong("job '" + job.name + "' has a rank that is no node");
    position[job.ranks[i].index()] = static_cast<std::int32_t>(i);
  }
  std::vector<std::size_t> image(job.ranks.size());
  for (std::size_t i = 0; i < job.ranks.size(); ++i) {
    const NodeId to = g[job.ranks[i].index()];
    if (position[to.index()] < 0) {
      return wrong(what + problem_.topology.node(to).name + " is none of its ranks");
    }
    image[i] = static_cast<std::size_t>(position[to.index()]);
  }
  switch (job.collective) {
    case Collective::allgather:
    case Collective::reducescatter:
    case Collective::allreduce:
    case Collective::alltoall:
      return {};
    case Collective::sendrecv:
      for (std::size_t i = 0; i < image.size(); ++i) {
        if (image[(i + 1) % image.size()] != (image[i] + 1) % image.size()) {
          return wrong(what + "neighbours in its list of ranks must stay neighbours");
        }
      }
      return {};
    case Collective::alltoallv:
      if (job.matrix.size() != image.size()) return wrong(what + "its matrix has no such shape");
      for (std::size_t i = 0; i < image.size(); ++i) {
        if (job.matrix[i].size() != image.size()) {
          return wrong(what + "its matrix has no such shape");
        }
        for (std::size_t j = 0; j < image.size(); ++j) {
          if (i != j && job.matrix[i][j] != job.matrix[image[i]][image[j]]) {
            return wrong(what + "the matrix has different entries at " + std::to_string(i) + ", " +
                         std::to_string(j) + " and at their images");
          }
        }
      }
      return {};
    default:
      return wrong("job '" + job.name + "' is a " + std::string(to_string(job.collective)) +
                   ", of which there are no representatives: list all chunks");
  }
}

void Quotient::find_orbits() {
  const Topology& topology = problem_.topology;
  const auto& generators = problem_.symmetry.generators;
  constexpr std::uint32_t kNone = UINT32_MAX;
  node_.assign(topology.nodes().size(), kNone);
  generator_.assign(topology.nodes().size(), 0);
  parent_.assign(topology.nodes().size(), NodeId{});
  std::vector<NodeId> nodes;
  const auto search_node = [&](NodeId start) {
    if (node_[start] != kNone) return;
    const auto orbit = static_cast<std::uint32_t>(first_node_.size());
    first_node_.push_back(start);
    nodes.assign(1, start);
    node_[start] = orbit;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::uint32_t g = 0; g < generators.size(); ++g) {
        const NodeId next = generators[g][nodes[i].index()];
        if (node_[next] != kNone) continue;
        node_[next] = orbit;
        generator_[next] = g;
        parent_[next] = nodes[i];
        nodes.push_back(next);
      }
    }
    node_size_.push_back(static_cast<std::int64_t>(nodes.size()));
  };
  for (const Chunk& chunk : problem_.chunks) {
    if (chunk.owner.valid() && chunk.owner.index() < node_.size()) search_node(chunk.owner);
  }
  for (const NodeId id : topology.node_ids()) search_node(id);

  link_.assign(topology.links().size(), kNone);
  std::vector<LinkId> links;
  for (const LinkId start : topology.link_ids()) {
    if (link_[start] != kNone) continue;
    const auto orbit = static_cast<std::uint32_t>(first_link_.size());
    first_link_.push_back(start);
    links.assign(1, start);
    link_[start] = orbit;
    for (std::size_t i = 0; i < links.size(); ++i) {
      for (const auto& image : link_images_) {
        const LinkId next = image[links[i]];
        if (link_[next] != kNone) continue;
        link_[next] = orbit;
        links.push_back(next);
      }
    }
    link_size_.push_back(static_cast<std::int64_t>(links.size()));
  }
  link_images_.clear();
}

/// Whether the orbit `order` (a search from its first node) has a map m with m(first) = image and
/// m(s v) = s m(v) for all generators s.
bool Quotient::equivariant(const std::vector<NodeId>& order, NodeId image) {
  const auto& generators = problem_.symmetry.generators;
  const bool fixed = std::all_of(generators.begin(), generators.end(),
                                 [&](const Permutation& g) { return g[image.index()] == image; });
  if (fixed) return true;
  map_.resize(problem_.topology.nodes().size());
  map_[order.front()] = image;
  for (const NodeId id : order) {
    if (id == order.front()) continue;
    map_[id] = generators[generator_[id]][map_[parent_[id]].index()];
  }
  for (const NodeId id : order) {
    for (const Permutation& g : generators) {
      if (map_[g[id.index()]] != g[map_[id].index()]) return false;
    }
  }
  return true;
}

Judgement Quotient::check_freeness() {
  const NodeId rank = base(problem_.jobs.front().ranks.front());
  order_ = node_size_[node_[rank]];
  std::vector<NodeId> order = {rank};  // parents before children
  {
    std::vector<std::vector<NodeId>> children(problem_.topology.nodes().size());
    for (const NodeId id : problem_.topology.node_ids()) {
      if (node_[id] == node_[rank] && id != rank) children[parent_[id].index()].push_back(id);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto& next = children[order[i].index()];
      order.insert(order.end(), next.begin(), next.end());
    }
  }
  std::set<NodeId> images(first_node_.begin(), first_node_.end());
  for (const Permutation& g : problem_.symmetry.generators) images.insert(g[rank.index()]);
  for (const NodeId image : images) {
    if (equivariant(order, image)) continue;
    return wrong(
        "the group does not act freely on the ranks: some element but the identity keeps " +
        problem_.topology.node(rank).name);
  }
  for (const Job& job : problem_.jobs) {
    for (const NodeId id : job.ranks) {
      if (node_size_[node_[id]] == order_) continue;
      return wrong("the group does not act freely on the ranks: it has " + std::to_string(order_) +
                   " elements, but " + problem_.topology.node(id).name + " only " +
                   std::to_string(node_size_[node_[id]]) + " images");
    }
  }
  return {};
}

const Permutation& Quotient::to_base(NodeId rank) {
  if (to_base_of_ == rank) return to_base_;
  if (inverses_.empty()) {
    for (const Permutation& g : problem_.symmetry.generators) {
      Permutation inverse(g.size());
      for (std::size_t i = 0; i < g.size(); ++i) inverse[g[i].index()] = NodeId(i);
      inverses_.push_back(std::move(inverse));
    }
  }
  to_base_.resize(problem_.topology.nodes().size());
  for (const NodeId id : problem_.topology.node_ids()) to_base_[id.index()] = id;
  for (NodeId at = rank; at != base(rank); at = parent_[at]) {
    const Permutation& inverse = inverses_[generator_[at]];
    for (NodeId& image : to_base_) image = inverse[image.index()];
  }
  to_base_of_ = rank;
  return to_base_;
}

}  // namespace stellwerk::check
