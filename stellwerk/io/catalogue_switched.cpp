// Fabrics whose GPUs hang on switches directly: one big switch, and dragonflies of routers.
#include "stellwerk/io/catalogue_boxes.hpp"

namespace stellwerk {

CatalogueDraft draft_switch(CatalogueName& name) {
  const auto gpus = static_cast<std::size_t>(name.dimensions(1, 1, "switch:16").front());
  if (gpus < 2) name.fail("a network of one GPU has nothing to plan: make it larger");
  check_catalogue_size(name, static_cast<double>(gpus) + 1, 2 * static_cast<double>(gpus));
  const Bandwidth bandwidth = name.take_bandwidth("bandwidth", megabytes_per_second(50000));
  const Time latency = name.take_time("latency", nanoseconds(350));
  const std::string source = "switch: " + to_exact_string(bandwidth) + " a GPU (two NVLink 2 or " +
                             "one NIC of 400 Gbit/s: 50GB/s), " + to_exact_string(latency) +
                             " a hop (0.35us: NVSwitch in TE-CCL, SIGCOMM 2024)";
  CatalogueDraft draft;
  draft.name = "switch-" + name.shape();
  const bool multicast = name.take_flag("multicast");
  if (multicast) draft.name += "-multicast";
  for (std::size_t i = 0; i < gpus; ++i) {
    draft.add("gpu" + std::to_string(i), NodeKind::gpu, "");
  }
  const NodeId middle = draft.add("switch", NodeKind::switch_, "");
  draft.nodes[middle].multicast = multicast;
  for (std::size_t i = 0; i < gpus; ++i) {
    connect_both(draft, NodeId(i), middle, bandwidth, latency, source);
  }
  return draft;
}

// The balanced dragonfly of Kim, Dally, Scott, Abts (ISCA 2008): groups of `a` routers, all joined
// to all; every router has `h` cables to other groups and `p` GPUs; a*h + 1 groups, so that any two
// share one cable. Cable number o = l*h + j of a group (of its router l) goes to the group o + 1
// further on, where it is cable g - 1 - (o + 1): the same for all groups.
CatalogueDraft draft_dragonfly(CatalogueName& name) {
  const auto sizes =
      name.dimensions(3, 3, "dragonfly:4x2x2 (routers a group x global links x GPUs a router)");
  const double groups_wanted = static_cast<double>(sizes[0]) * static_cast<double>(sizes[1]) + 1;
  const double routers_wanted = groups_wanted * static_cast<double>(sizes[0]);
  const double gpus_wanted = routers_wanted * static_cast<double>(sizes[2]);
  check_catalogue_size(
      name, routers_wanted + gpus_wanted,
      2 * gpus_wanted + routers_wanted * static_cast<double>(sizes[0] - 1 + sizes[1]));
  const auto a = static_cast<std::size_t>(sizes[0]), h = static_cast<std::size_t>(sizes[1]),
             p = static_cast<std::size_t>(sizes[2]);
  const std::size_t groups = a * h + 1;
  const Bandwidth bandwidth = name.take_bandwidth("bandwidth", megabytes_per_second(50000));
  const Bandwidth global = name.take_bandwidth("global", bandwidth);
  const bool multicast = name.take_flag("multicast");
  const auto source = [&](Bandwidth rate, const char* latency) {
    return "dragonfly: " + to_exact_string(rate) + " (400 Gbit/s: 50GB/s), " + latency +
           "; assumed latencies: 0.35us to a GPU, 0.5us in a group, 1us between groups";
  };

  CatalogueDraft draft;
  draft.name = "dragonfly-" + name.shape() + (multicast ? "-multicast" : "");
  draft.note = std::to_string(groups) + " groups of " + std::to_string(a) + " routers";
  std::vector<NodeId> router;
  std::vector<std::vector<NodeId>> gpus;
  for (std::size_t i = 0; i < groups; ++i) {
    for (std::size_t l = 0; l < a; ++l) {
      const std::string at = "g" + std::to_string(i) + ".r" + std::to_string(l);
      gpus.emplace_back();
      for (std::size_t k = 0; k < p; ++k) {
        gpus.back().push_back(draft.add(at + ".gpu" + std::to_string(k), NodeKind::gpu, ""));
        draft.nodes[gpus.back().back()].rack = "g" + std::to_string(i);
      }
      router.push_back(draft.add(at, NodeKind::switch_, ""));
      draft.nodes[router.back()].multicast = multicast;
      draft.nodes[router.back()].rack = "g" + std::to_string(i);
    }
  }
  const std::string to_gpu = source(bandwidth, "0.35us"), in_group = source(bandwidth, "0.5us"),
                    between = source(global, "1us");
  for (std::size_t r = 0; r < router.size(); ++r) {
    for (const NodeId gpu : gpus[r]) {
      connect_both(draft, gpu, router[r], bandwidth, nanoseconds(350), to_gpu);
    }
    const std::size_t group = r / a, l = r % a;
    for (std::size_t m = 0; m < a; ++m) {
      if (m != l) {
        draft.connect(router[r], router[group * a + m], bandwidth, nanoseconds(500), in_group);
      }
    }
    for (std::size_t j = 0; j < h; ++j) {
      const std::size_t ahead = l * h + j + 1;
      const std::size_t back = groups - ahead;  // from there to here
      const NodeId other = router[(group + ahead) % groups * a + (back - 1) / h];
      draft.connect(router[r], other, global, nanoseconds(1000), between);
    }
  }
  return draft;
}

}  // namespace stellwerk
