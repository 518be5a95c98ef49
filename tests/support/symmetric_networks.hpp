// Networks with symmetries that are known, for tests.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/core/problem.hpp"
#include "stellwerk/core/send.hpp"
#include "stellwerk/core/symmetry.hpp"

namespace stellwerk::testing {

/// When the last chunk of the representatives arrives.
inline Time finish_of(const Problem& problem, const Schedule& sends) {
  Time finish{0};
  for (const Send& send : sends) {
    const SendTiming times = timing(problem.topology, send);
    for (const Time arrival : times.arrival) finish = std::max(finish, send.start + arrival);
  }
  return finish;
}

/// GPUs 0 .. n-1 in a cycle, with links to others and over switches and relays that all look the
/// same under the rotation by one: node k of a family of m (a divisor of n) is next to the GPUs
/// that are k modulo m. Families may be linked to each other, so that some links are not free.
/// Every GPU reaches the next one directly.
inline Topology cyclic_world(Rng& rng) {
  static const std::vector<int> kSizes = {4, 6, 8, 9, 12};
  const int n = kSizes[rng.below(kSizes.size())];
  IdVector<NodeId, Node> nodes;
  IdVector<LinkId, Link> links;
  const auto add = [&](NodeKind kind, const std::string& name, int count, bool multicast,
                       bool reduce) {
    const std::size_t first = nodes.size();
    for (int i = 0; i < count; ++i) {
      Node node;
      node.name = name + std::to_string(i);
      node.kind = kind;
      node.multicast = kind == NodeKind::switch_ && multicast;
      node.reduce = kind == NodeKind::switch_ && reduce;
      nodes.push_back(node);
    }
    return first;
  };
  struct Kind {
    Time latency;
    Bandwidth bandwidth;
  };
  const auto kind = [&] {
    return Kind{Time{rng.between(0, 3) * 350'000},
                Bandwidth{rng.between(1, 4) * 12'500'000'000 + rng.between(0, 1)}};
  };
  const auto link = [&](std::size_t from, std::size_t to, const Kind& k) {
    links.push_back({NodeId(from), NodeId(to), k.latency, k.bandwidth, ""});
  };
  add(NodeKind::gpu, "g", n, false, false);
  const auto size = static_cast<std::size_t>(n);
  for (std::size_t step = 1, more = rng.below(3);; step = 1 + rng.below(size - 1), --more) {
    const Kind k = kind();
    for (std::size_t i = 0; i < size; ++i) link(i, (i + step) % size, k);
    if (more == 0) break;
  }
  std::vector<std::pair<std::size_t, std::size_t>> families;  // first node, number of nodes
  for (std::size_t f = rng.below(4); f > 0; --f) {
    std::size_t m = 1 + rng.below(size);
    while (size % m != 0) --m;
    const bool relay = rng.below(4) == 0;
    const std::size_t first =
        add(relay ? NodeKind::relay : NodeKind::switch_, "f" + std::to_string(f) + ".",
            static_cast<int>(m), rng.below(2) == 0, rng.below(3) == 0);
    const Kind up = kind(), down = kind();
    for (std::size_t i = 0; i < size; ++i) {
      link(i, first + i % m, up);
      link(first + i % m, i, down);
    }
    for (const auto& [other, count] : families) {
      if (count % m != 0 || rng.below(2) == 0) continue;
      const Kind there = kind(), back = kind();
      for (std::size_t i = 0; i < count; ++i) {
        link(other + i, first + i % m, there);
        link(first + i % m, other + i, back);
      }
    }
    families.emplace_back(first, m);
  }
  if (rng.below(3) == 0) {
    const Bandwidth in{rng.between(1, 4) * 10'000'000'000}, out{rng.between(1, 4) * 10'000'000'000};
    for (std::size_t i = 0; i < size; ++i) {
      nodes[NodeId(i)].injection = out;
      nodes[NodeId(i)].ejection = in;
    }
  }
  if (rng.below(3) == 0) {
    const int groups = static_cast<int>(rng.between(0, 2 * n));
    for (Node& node : nodes) {
      if (node.multicast) node.max_groups = groups;
    }
  }
  return Topology("cyclic", "", std::move(nodes), std::move(links));
}

/// The rotation by one of a cyclic world.
inline Symmetry rotation(const Topology& topology) {
  Permutation g(topology.nodes().size());
  std::size_t first = 0;
  while (first < g.size()) {
    std::string family = topology.node(NodeId(first)).name;
    family = family.substr(0, family.find('.'));
    std::size_t end = first;
    while (end < g.size()) {
      std::string other = topology.node(NodeId(end)).name;
      other = other.substr(0, other.find('.'));
      if (other != family && (family[0] != 'g' || other[0] != 'g')) break;
      ++end;
    }
    for (std::size_t i = first; i < end; ++i)
      g[i] = NodeId(first + (i + 1 - first) % (end - first));
    first = end;
  }
  return {{g}};
}

/// The permutation that changes the numbers in the nodes' names: "h3.gpu5" is "h#.gpu#" with 3, 5.
inline Permutation renaming(
    const Topology& topology,
    const std::function<void(const std::string&, std::vector<int>&)>& change) {
  Permutation g;
  for (const Node& node : topology.nodes()) {
    std::string words;
    std::vector<int> numbers;
    for (std::size_t i = 0; i < node.name.size();) {
      if (node.name[i] < '0' || node.name[i] > '9') {
        words += node.name[i++];
        continue;
      }
      std::size_t length = 0;
      numbers.push_back(std::stoi(node.name.substr(i), &length));
      words += '#';
      i += length;
    }
    change(words, numbers);
    std::string name;
    std::size_t next = 0;
    for (const char c : words)
      name += c == '#' ? std::to_string(numbers[next++]) : std::string(1, c);
    g.push_back(topology.find(name).value());
  }
  return g;
}

/// The translations of torus, ring, full and switch; of boxes and rails; of ndv2 and dgx2.
inline Symmetry catalogue_symmetry(const std::string& name, const Topology& topology) {
  const std::string family = name.substr(0, name.find(':'));
  std::vector<int> shape;
  for (std::size_t i = family.size(); i < name.size() && name[i] != ','; i += 1) {
    if (name[i] < '0' || name[i] > '9') continue;
    std::size_t length = 0;
    shape.push_back(std::stoi(name.substr(i), &length));
    i += length - 1;
  }
  Symmetry result;
  const auto rename = [&](std::function<void(const std::string&, std::vector<int>&)> change) {
    result.generators.push_back(renaming(topology, change));
  };
  if (family == "torus" || family == "ring" || family == "full" || family == "switch") {
    int stride = 1;
    for (std::size_t k = shape.size(); k > 0; --k) {
      const int length = shape[k - 1];
      Permutation g;
      for (int i = 0; i < static_cast<int>(topology.nodes().size()); ++i) {
        const int at = i / stride % length;
        const bool fixed = topology.node(NodeId(i)).kind != NodeKind::gpu;
        g.push_back(NodeId(fixed ? i : i + ((at + 1) % length - at) * stride));
      }
      result.generators.push_back(std::move(g));
      stride *= length;
    }
    return result;
  }
  const int boxes = shape[0];
  rename([boxes](const std::string& words, std::vector<int>& numbers) {
    if (words[0] == 'h') numbers[0] = (numbers[0] + 1) % boxes;
  });
  if (family == "rail" || family == "dgx2") {
    const int gpus = family == "rail" ? shape[1] : 16;
    const int step = family == "rail" ? 1 : 2;
    rename([gpus, step](const std::string& words, std::vector<int>& numbers) {
      if (words == "h#.gpu#") numbers[1] = (numbers[1] + step) % gpus;
      if (words == "rail#") numbers[0] = (numbers[0] + 1) % gpus;
    });
  }
  return result;
}

}  // namespace stellwerk::testing
