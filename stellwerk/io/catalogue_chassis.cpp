// Machines that the literature plans for: DGX-1V, Azure NDv2, DGX-2. The numbers are those of TACCL
// (NSDI 2023) and TE-CCL (SIGCOMM 2024), so that results can be compared with theirs.
#include <array>

#include "stellwerk/io/catalogue_draft.hpp"

namespace stellwerk {
namespace {

/// NVLinks between the GPUs of a DGX-1V (the hybrid cube mesh): 0, 1 or 2 links of 25 GB/s.
constexpr std::array<std::array<int, 8>, 8> kCubeMesh = {{{0, 2, 1, 1, 2, 0, 0, 0},
                                                          {2, 0, 1, 2, 0, 1, 0, 0},
                                                          {1, 1, 0, 2, 0, 0, 2, 0},
                                                          {1, 2, 2, 0, 0, 0, 0, 1},
                                                          {2, 0, 0, 0, 0, 2, 1, 1},
                                                          {0, 1, 0, 0, 2, 0, 1, 2},
                                                          {0, 0, 2, 0, 1, 1, 0, 2},
                                                          {0, 0, 0, 1, 1, 2, 2, 0}}};

void add_cube_meshes(CatalogueDraft& draft, std::int64_t chassis) {
  for (std::int64_t h = 0; h < chassis; ++h) {
    const std::string host = "h" + std::to_string(h);
    for (int g = 0; g < 8; ++g) {
      draft.add(host + ".gpu" + std::to_string(g), NodeKind::gpu, host);
    }
  }
  for (std::int64_t h = 0; h < chassis; ++h) {
    for (std::size_t a = 0; a < 8; ++a) {
      for (std::size_t b = 0; b < 8; ++b) {
        const int width = kCubeMesh[a][b];
        if (width == 0) continue;
        const auto first = static_cast<std::size_t>(8 * h);
        draft.connect(NodeId(first + a), NodeId(first + b),
                      megabytes_per_second(std::int64_t{25000} * width), nanoseconds(700),
                      "DGX-1V: " + std::to_string(width) +
                          " NVLink 2 of 25 GB/s; 0.7 us as in TACCL (NSDI 2023)");
      }
    }
  }
}

constexpr Bandwidth kNic = megabytes_per_second(12500);
constexpr const char* kNicSource = "NDv2: InfiniBand of 100 Gbit/s; 1.3 us as in TACCL (NSDI 2023)";

}  // namespace

CatalogueDraft draft_dgx1(CatalogueName& name) {
  name.expect_no_shape();
  CatalogueDraft draft;
  draft.name = "dgx1";
  draft.note = "DGX-1V, 25 GB/s a NVLink, 0.7 us";
  add_cube_meshes(draft, 1);
  return draft;
}

CatalogueDraft draft_ndv2(CatalogueName& name) {
  const std::int64_t chassis = name.dimensions(1, 1, "ndv2:2").front();
  check_catalogue_size(name, 8.0 * static_cast<double>(chassis) + 1,
                       34.0 * static_cast<double>(chassis));
  CatalogueDraft draft;
  draft.name = "ndv2-" + std::to_string(chassis);
  draft.note = std::to_string(chassis) +
               " NDv2 chassis (DGX-1V each); between chassis gpu0 sends and gpu1 receives";
  add_cube_meshes(draft, chassis);
  const std::string source = kNicSource;
  const auto gpu = [](std::int64_t h, std::int64_t g) {
    return NodeId(static_cast<std::size_t>(8 * h + g));
  };
  if (chassis == 2) {
    draft.connect(gpu(0, 0), gpu(1, 1), kNic, nanoseconds(1300), source);
    draft.connect(gpu(1, 0), gpu(0, 1), kNic, nanoseconds(1300), source);
  } else if (chassis > 2) {
    const NodeId ib = draft.add("ib", NodeKind::switch_, "");
    draft.nodes[ib].multicast = true;
    for (std::int64_t h = 0; h < chassis; ++h) {
      draft.connect(gpu(h, 0), ib, kNic, nanoseconds(1300), source);
    }
    for (std::int64_t h = 0; h < chassis; ++h) {
      draft.connect(ib, gpu(h, 1), kNic, nanoseconds(1300), source);
    }
  }
  return draft;
}

// TE-CCL's configuration of two NDv2 names node 0 as a switch. Its results are optimal for that
// network, not for two NDv2, so this is what they have to be compared on.
CatalogueDraft draft_ndv2_as_published(CatalogueName& name) {
  name.expect_no_shape();
  CatalogueDraft draft;
  draft.name = "ndv2-2-as-published";
  draft.note =
      "what TE-CCL's published 2-chassis results were computed on: node 0 is a copying switch by "
      "accident, 15 GPUs take part";
  add_cube_meshes(draft, 2);
  draft.nodes[NodeId(0)].kind = NodeKind::switch_;
  draft.nodes[NodeId(0)].multicast = true;
  draft.connect(NodeId(0), NodeId(9), kNic, nanoseconds(1300), kNicSource);
  draft.connect(NodeId(8), NodeId(1), kNic, nanoseconds(1300), kNicSource);
  return draft;
}

CatalogueDraft draft_dgx2(CatalogueName& name) {
  const std::int64_t chassis = name.dimensions(1, 1, "dgx2:2").front();
  if (chassis > 2) {
    name.fail(
        "there are published numbers for one and two DGX-2 only, joined by direct links that do "
        "not extend to more: use rail:BOXESx16 for a fabric of many");
  }
  CatalogueDraft draft;
  draft.name = "dgx2-" + std::to_string(chassis);
  draft.note = std::to_string(chassis) +
               " DGX-2 chassis: 16 GPUs on a copying NVSwitch; between chassis odd GPUs send and "
               "even ones receive";
  constexpr int kGpus = 16;
  for (std::int64_t h = 0; h < chassis; ++h) {
    const std::string host = "h" + std::to_string(h);
    for (int g = 0; g < kGpus; ++g) {
      draft.add(host + ".gpu" + std::to_string(g), NodeKind::gpu, host);
    }
    draft.nodes[draft.add(host + ".nvswitch", NodeKind::switch_, host)].multicast = true;
  }
  const auto gpu = [](std::int64_t h, std::int64_t g) {
    return NodeId(static_cast<std::size_t>((kGpus + 1) * h + g));
  };
  const std::string inside =
      "DGX-2: NVSwitch, 125 GB/s a GPU, 0.35 us a hop as in TE-CCL (SIGCOMM 2024)";
  for (std::int64_t h = 0; h < chassis; ++h) {
    for (std::int64_t g = 0; g < kGpus; ++g) {
      const NodeId nvswitch = gpu(h, kGpus);
      draft.connect(gpu(h, g), nvswitch, megabytes_per_second(125000), nanoseconds(350), inside);
      draft.connect(nvswitch, gpu(h, g), megabytes_per_second(125000), nanoseconds(350), inside);
    }
  }
  const std::string between =
      "DGX-2: a NIC of 100 Gbit/s for two GPUs, 2.6 us as in TE-CCL (SIGCOMM 2024)";
  for (std::int64_t h = 0; h < chassis && chassis == 2; ++h) {
    for (std::int64_t g = 1; g < kGpus; g += 2) {
      draft.connect(gpu(h, g), gpu(1 - h, g - 1), kNic, nanoseconds(2600), between);
    }
  }
  return draft;
}

}  // namespace stellwerk
