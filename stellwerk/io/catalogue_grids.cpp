// Regular direct networks: GPUs joined by equal links, both ways.
#include "stellwerk/io/catalogue_draft.hpp"

namespace stellwerk {
namespace {

/// What all links of these families are like.
struct Wire {
  Bandwidth bandwidth;
  Time latency;
  std::string source;

  explicit Wire(CatalogueName& name) {
    const Bandwidth usual = megabytes_per_second(50000);
    bandwidth = name.take_bandwidth("bandwidth", usual);
    latency = name.take_time("latency", nanoseconds(700));
    source = name.family() + ": " + to_exact_string(bandwidth) + " (NVLink 2 or 3, two links, is " +
             to_exact_string(usual) + ") and " + to_exact_string(latency) +
             " (0.7us: NVLink in TACCL, NSDI 2023)";
  }
};

void connect(CatalogueDraft& draft, std::size_t from, std::size_t to, const Wire& wire) {
  draft.connect(NodeId(from), NodeId(to), wire.bandwidth, wire.latency, wire.source);
}

void add_numbered_gpus(CatalogueDraft& draft, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    draft.add("gpu" + std::to_string(i), NodeKind::gpu, "");
  }
}

/// A grid, node by node in row-major order; of each node the links along the first dimension first,
/// upwards before downwards. `wrap` joins the ends of a dimension, unless they are neighbours.
CatalogueDraft draft_grid(CatalogueName& name, bool wrap) {
  const auto sizes = name.dimensions(2, 3, name.family() + ":4x4");
  double count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<double>(size);
  check_catalogue_size(name, count, 2 * count * static_cast<double>(sizes.size()));
  if (count < 2) name.fail("a network of one GPU has nothing to plan: make it larger");
  const Wire wire(name);
  CatalogueDraft draft;
  draft.name = name.family() + "-" + name.shape();
  const auto nodes = static_cast<std::size_t>(count);
  const auto extent = [&](std::size_t d) { return static_cast<std::size_t>(sizes[d]); };
  const auto coordinates = [&](std::size_t node) {
    std::vector<std::size_t> result(sizes.size());
    for (std::size_t d = sizes.size(); d-- > 0;) {
      result[d] = node % extent(d);
      node /= extent(d);
    }
    return result;
  };
  for (std::size_t node = 0; node < nodes; ++node) {
    std::string text = "gpu";
    for (const std::size_t c : coordinates(node)) {
      text += (text.size() > 3 ? "." : "") + std::to_string(c);
    }
    draft.add(text, NodeKind::gpu, "");
  }
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto at = coordinates(node);
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      std::size_t stride = 1;
      for (std::size_t e = d + 1; e < sizes.size(); ++e) stride *= extent(e);
      const bool ring = wrap && extent(d) > 2;
      const std::size_t line = node - at[d] * stride;  // first node of the line along d
      if (at[d] + 1 < extent(d) || ring) {
        connect(draft, node, line + (at[d] + 1) % extent(d) * stride, wire);
      }
      if (at[d] > 0 || ring) {
        connect(draft, node, line + (at[d] + extent(d) - 1) % extent(d) * stride, wire);
      }
    }
  }
  return draft;
}

}  // namespace

CatalogueDraft draft_mesh(CatalogueName& name) { return draft_grid(name, false); }
CatalogueDraft draft_torus(CatalogueName& name) { return draft_grid(name, true); }

CatalogueDraft draft_ring(CatalogueName& name) {
  const auto nodes = static_cast<std::size_t>(name.dimensions(1, 1, "ring:8").front());
  if (nodes < 2) name.fail("a ring needs at least two GPUs");
  const Wire wire(name);
  CatalogueDraft draft;
  draft.name = "ring-" + std::to_string(nodes);
  add_numbered_gpus(draft, nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    connect(draft, i, (i + 1) % nodes, wire);
    if (nodes > 2) connect(draft, i, (i + nodes - 1) % nodes, wire);
  }
  return draft;
}

CatalogueDraft draft_hypercube(CatalogueName& name) {
  const std::int64_t dimensions = name.dimensions(1, 1, "hypercube:4").front();
  if (dimensions > 19) check_catalogue_size(name, 1e9, 0);
  const std::size_t nodes = std::size_t{1} << dimensions;
  check_catalogue_size(name, static_cast<double>(nodes), static_cast<double>(nodes) * 20);
  const Wire wire(name);
  CatalogueDraft draft;
  draft.name = "hypercube-" + std::to_string(dimensions);
  add_numbered_gpus(draft, nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    for (std::int64_t d = 0; d < dimensions; ++d) {
      connect(draft, i, i ^ (std::size_t{1} << d), wire);
    }
  }
  return draft;
}

CatalogueDraft draft_full(CatalogueName& name) {
  const auto nodes = static_cast<std::size_t>(name.dimensions(1, 1, "full:8").front());
  check_catalogue_size(name, static_cast<double>(nodes),
                       static_cast<double>(nodes) * static_cast<double>(nodes - 1));
  if (nodes < 2) name.fail("a network of one GPU has nothing to plan: make it larger");
  const Wire wire(name);
  CatalogueDraft draft;
  draft.name = "full-" + std::to_string(nodes);
  add_numbered_gpus(draft, nodes);
  for (std::size_t a = 0; a < nodes; ++a) {
    for (std::size_t b = 0; b < nodes; ++b) {
      if (a != b) connect(draft, a, b, wire);
    }
  }
  return draft;
}

}  // namespace stellwerk
