// Folded Clos fabrics for boxes of GPUs, one plane a rail: leaf-spine (two levels of switches) and
// fat-tree (three). GPU r of every box is on plane r; planes meet inside the boxes only.
#include <limits>

#include "stellwerk/base/wide.hpp"
#include "stellwerk/io/catalogue_boxes.hpp"

namespace stellwerk {
namespace {

constexpr Time kHop = nanoseconds(650);

/// What the two families have in common.
struct Clos {
  BoxKind box;
  Bandwidth nic;
  bool multicast = false;
  std::int64_t parallel = 1;
  std::string source;

  explicit Clos(CatalogueName& name) {
    box.bandwidth = name.take_bandwidth("nvlink", megabytes_per_second(450000));
    box.latency = nanoseconds(350);
    nic = name.take_bandwidth("nic", megabytes_per_second(50000));
    parallel = name.take_count("parallel", 1, 64);
    multicast = box.multicast = name.take_flag("multicast");
    box.source = name.family() + ": " + to_exact_string(box.bandwidth) +
                 " a GPU (18 NVLink 4 of an H100: 450GB/s), 0.35us to or from the box's switch";
    source = name.family() + ": NICs of " + to_exact_string(nic) +
             " (400 Gbit/s: 50GB/s), 0.65us a hop (half of 1.3us: InfiniBand in TACCL, NSDI 2023)";
  }

  NodeId add_switch(CatalogueDraft& draft, const std::string& name, std::size_t plane) const {
    const NodeId id = draft.add(name, NodeKind::switch_, "");
    draft.nodes[id].multicast = multicast;
    draft.nodes[id].rail = static_cast<int>(plane);
    return id;
  }

  /// The NIC of GPU g of the box to its leaf.
  void connect_nic(CatalogueDraft& draft, NodeId gpu, NodeId leaf) const {
    connect_both(draft, gpu, leaf, nic, kHop, source);
  }

  /// All cables from one switch up to another.
  void connect_up(CatalogueDraft& draft, NodeId low, NodeId high, Bandwidth bandwidth) const {
    for (std::int64_t k = 0; k < parallel; ++k) {
      connect_both(draft, low, high, bandwidth, kHop, source);
    }
  }
};

/// What each of `cables` uplinks of a switch gets when together they carry `down` / oversubscription.
Bandwidth uplink(const CatalogueName& name, Int128 down, std::int64_t cables, const Ratio& over) {
  const Int128 share = down * over.denominator / (static_cast<Int128>(cables) * over.numerator);
  if (share < 1) name.fail("oversubscription leaves less than 1 B/s for an uplink: lower it");
  if (share > std::numeric_limits<std::int64_t>::max()) {
    name.fail("the uplinks are wider than can be counted: use more of them");
  }
  return {static_cast<std::int64_t>(share)};
}

/// Bytes per second of so many links together.
Int128 times(Bandwidth bandwidth, std::int64_t count) {
  return static_cast<Int128>(bandwidth.bytes_per_second) * count;
}

std::string numbered(const std::string& what, std::size_t a, std::size_t b) {
  return what + std::to_string(a) + "." + std::to_string(b);
}

/// "-spines4" when the option was given.
void append(std::string& topology_name, std::string_view option, std::int64_t value,
            std::int64_t usual) {
  if (value != usual) topology_name += "-" + std::string(option) + std::to_string(value);
}

void append(std::string& topology_name, std::string_view option, const Ratio& ratio) {
  if (ratio.numerator != ratio.denominator) {
    topology_name += "-" + std::string(option) + ratio.text;
  }
}

}  // namespace

CatalogueDraft draft_leaf_spine(CatalogueName& name) {
  const auto sizes = name.dimensions(2, 2, "leaf-spine:16x8 (boxes x GPUs a box)");
  const auto count = static_cast<std::size_t>(sizes[0]);
  Clos clos(name);
  clos.box.gpus = static_cast<std::size_t>(sizes[1]);
  const std::int64_t per_leaf = name.take_count("per-leaf", 8, 1'000'000);
  const std::int64_t spines = name.take_count("spines", per_leaf, 1'000'000);
  const Ratio over = name.take_ratio("oversubscription");
  if (sizes[0] <= per_leaf) {
    name.fail("one leaf a rail holds all " + std::to_string(sizes[0]) +
              " boxes, so spines would carry nothing: lower per-leaf (" + std::to_string(per_leaf) +
              "), or use rail");
  }
  const std::size_t groups = (count - 1) / static_cast<std::size_t>(per_leaf) + 1;
  const double gpus = static_cast<double>(sizes[0]) * static_cast<double>(sizes[1]);
  const double leaves = static_cast<double>(groups) * static_cast<double>(sizes[1]);
  const double ups = leaves * static_cast<double>(spines) * static_cast<double>(clos.parallel);
  check_catalogue_size(name,
                       gpus + static_cast<double>(sizes[0]) + leaves +
                           static_cast<double>(spines) * static_cast<double>(sizes[1]),
                       4 * gpus + 2 * ups);
  const Bandwidth up = uplink(name, times(clos.nic, per_leaf), spines * clos.parallel, over);

  CatalogueDraft draft;
  draft.name = "leaf-spine-" + name.shape();
  append(draft.name, "per-leaf", per_leaf, 8);
  append(draft.name, "spines", spines, per_leaf);
  append(draft.name, "parallel", clos.parallel, 1);
  append(draft.name, "oversubscription", over);
  if (clos.multicast) draft.name += "-multicast";
  draft.note = std::to_string(groups) + " leaves and " + std::to_string(spines) +
               " spines a rail; " + std::to_string(per_leaf) + " boxes a leaf";
  const Boxes boxes = add_boxes(draft, clos.box, count);
  std::vector<std::vector<NodeId>> leaf(groups), spine(clos.box.gpus);
  for (std::size_t q = 0; q < groups; ++q) {
    for (std::size_t plane = 0; plane < clos.box.gpus; ++plane) {
      leaf[q].push_back(clos.add_switch(draft, numbered("leaf", q, plane), plane));
    }
  }
  for (std::size_t plane = 0; plane < clos.box.gpus; ++plane) {
    for (std::size_t s = 0; s < static_cast<std::size_t>(spines); ++s) {
      spine[plane].push_back(clos.add_switch(draft, numbered("spine", plane, s), plane));
    }
  }
  connect_boxes(draft, clos.box, boxes);
  for (std::size_t b = 0; b < count; ++b) {
    const std::size_t q = b / static_cast<std::size_t>(per_leaf);
    for (std::size_t plane = 0; plane < clos.box.gpus; ++plane) {
      draft.nodes[boxes[b][plane]].rack = "r" + std::to_string(q);
      clos.connect_nic(draft, boxes[b][plane], leaf[q][plane]);
    }
  }
  for (std::size_t q = 0; q < groups; ++q) {
    for (std::size_t plane = 0; plane < clos.box.gpus; ++plane) {
      for (const NodeId high : spine[plane]) clos.connect_up(draft, leaf[q][plane], high, up);
    }
  }
  return draft;
}

CatalogueDraft draft_fat_tree(CatalogueName& name) {
  const auto sizes = name.dimensions(3, 3, "fat-tree:4x4x8 (pods x leaves x boxes a leaf)");
  const auto pods = static_cast<std::size_t>(sizes[0]);
  const auto leaves = static_cast<std::size_t>(sizes[1]);
  const auto per_leaf = static_cast<std::size_t>(sizes[2]);
  Clos clos(name);
  clos.box.gpus = static_cast<std::size_t>(name.take_count("gpus", 8, 1024));
  const std::size_t planes = clos.box.gpus;
  const std::int64_t aggs = name.take_count("aggs", sizes[2], 1'000'000);
  const std::int64_t cores = name.take_count("cores", sizes[1], 1'000'000);
  const Ratio over = name.take_ratio("oversubscription");
  const Ratio core_over = name.take_ratio("core-oversubscription");
  if (pods < 2 || leaves < 2) {
    name.fail("three levels need at least two pods of two leaves: use leaf-spine");
  }
  const double width = static_cast<double>(planes);
  const double all_boxes =
      static_cast<double>(pods) * static_cast<double>(leaves) * static_cast<double>(per_leaf);
  const double all_aggs = static_cast<double>(pods) * width * static_cast<double>(aggs);
  const double cables = static_cast<double>(clos.parallel) * all_aggs *
                        (static_cast<double>(leaves) + static_cast<double>(cores));
  check_catalogue_size(
      name,
      all_boxes * (width + 1) + static_cast<double>(pods) * static_cast<double>(leaves) * width +
          all_aggs + width * static_cast<double>(aggs) * static_cast<double>(cores),
      4 * all_boxes * width + 2 * cables);
  const Bandwidth up = uplink(name, times(clos.nic, sizes[2]), aggs * clos.parallel, over);
  const Bandwidth to_core =
      uplink(name, times(up, clos.parallel) * sizes[1], cores * clos.parallel, core_over);

  CatalogueDraft draft;
  draft.name = "fat-tree-" + name.shape();
  append(draft.name, "gpus", static_cast<std::int64_t>(planes), 8);
  append(draft.name, "aggs", aggs, sizes[2]);
  append(draft.name, "cores", cores, sizes[1]);
  append(draft.name, "parallel", clos.parallel, 1);
  append(draft.name, "oversubscription", over);
  append(draft.name, "core-oversubscription", core_over);
  if (clos.multicast) draft.name += "-multicast";
  draft.note = "a rail of a pod has " + std::to_string(leaves) + " leaves and " +
               std::to_string(aggs) + " aggregation switches, each with " + std::to_string(cores) +
               " core switches above; " + std::to_string(per_leaf) + " boxes a leaf";
  const Boxes boxes = add_boxes(draft, clos.box, pods * leaves * per_leaf);
  // By pod and plane; cores by plane and aggregation switch.
  std::vector<std::vector<NodeId>> leaf(pods * planes), agg(pods * planes);
  std::vector<std::vector<std::vector<NodeId>>> core(planes);
  for (std::size_t p = 0; p < pods; ++p) {
    for (std::size_t plane = 0; plane < planes; ++plane) {
      const std::string pod = std::to_string(p) + ".";
      for (std::size_t q = 0; q < leaves; ++q) {
        leaf[p * planes + plane].push_back(
            clos.add_switch(draft, numbered("leaf" + pod, q, plane), plane));
      }
      for (std::size_t s = 0; s < static_cast<std::size_t>(aggs); ++s) {
        agg[p * planes + plane].push_back(
            clos.add_switch(draft, numbered("agg" + pod, plane, s), plane));
      }
    }
  }
  for (std::size_t plane = 0; plane < planes; ++plane) {
    for (std::size_t s = 0; s < static_cast<std::size_t>(aggs); ++s) {
      core[plane].emplace_back();
      for (std::size_t c = 0; c < static_cast<std::size_t>(cores); ++c) {
        core[plane].back().push_back(
            clos.add_switch(draft, numbered("core" + std::to_string(plane) + ".", s, c), plane));
      }
    }
  }
  connect_boxes(draft, clos.box, boxes);
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    const std::size_t p = b / (leaves * per_leaf), q = b / per_leaf % leaves;
    for (std::size_t plane = 0; plane < planes; ++plane) {
      draft.nodes[boxes[b][plane]].rack = "p" + std::to_string(p) + "r" + std::to_string(q);
      clos.connect_nic(draft, boxes[b][plane], leaf[p * planes + plane][q]);
    }
  }
  for (std::size_t i = 0; i < leaf.size(); ++i) {
    for (const NodeId low : leaf[i]) {
      for (const NodeId high : agg[i]) clos.connect_up(draft, low, high, up);
    }
  }
  for (std::size_t i = 0; i < agg.size(); ++i) {
    for (std::size_t s = 0; s < agg[i].size(); ++s) {
      for (const NodeId high : core[i % planes][s]) {
        clos.connect_up(draft, agg[i][s], high, to_core);
      }
    }
  }
  return draft;
}

}  // namespace stellwerk
