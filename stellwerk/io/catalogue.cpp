#include "stellwerk/io/catalogue.hpp"

#include <algorithm>
#include <array>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/catalogue_draft.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

constexpr std::string_view kWireOptions = "bandwidth=50GB/s, latency=0.7us";
constexpr std::string_view kProductOptions = "fabric=rails|switch, multicast";

/// A row, and the function that builds its networks.
struct Family {
  CatalogueRow row;
  CatalogueDraft (*draft)(CatalogueName&);
};

constexpr std::array kFamilies = {
    Family{{"dgx1", "dgx1", "", "DGX-1V: 8 GPUs on a hybrid cube mesh of NVLinks"}, draft_dgx1},
    Family{{"ndv2", "ndv2:N", "",
            "N Azure NDv2 chassis (a DGX-1V each): two are linked directly, more by a copying "
            "switch"},
           draft_ndv2},
    Family{{"ndv2-2-as-published", "ndv2-2-as-published", "",
            "what TE-CCL published for two NDv2: the first GPU is a copying switch, 15 take part"},
           draft_ndv2_as_published},
    Family{{"dgx2", "dgx2:N", "",
            "one or two DGX-2: 16 GPUs on a copying switch, eight links each way between two"},
           draft_dgx2},
    Family{{"dgx-a100", "dgx-a100:N", kProductOptions, "N DGX A100: 8 GPUs, 300GB/s, NICs 25GB/s"},
           draft_dgx_a100},
    Family{{"dgx-h100", "dgx-h100:N", kProductOptions, "N DGX H100: 8 GPUs, 450GB/s, NICs 50GB/s"},
           draft_dgx_h100},
    Family{{"dgx-b200", "dgx-b200:N", kProductOptions, "N DGX B200: 8 GPUs, 900GB/s, NICs 50GB/s"},
           draft_dgx_b200},
    Family{{"nvl72", "nvl72:N", kProductOptions,
            "N racks GB200 NVL72: 72 GPUs, 900GB/s, NICs 50GB/s on four rails"},
           draft_nvl72},
    Family{{"mix", "mix:KIND:N+KIND:N", "slow-nic=x0.5, fabric=rails|switch, multicast",
            "boxes of several kinds (dgx-a100, dgx-h100, dgx-b200) on common rails; KIND:N/4 has "
            "four NICs a box; slow-nic: one NIC of the first box"},
           draft_mix},
    Family{{"mi250", "mi250:N", "",
            "N boxes of eight MI250: 16 GPUs on a mesh of Infinity Fabric, NICs 16GB/s"},
           draft_mi250},
    Family{{"mi300x", "mi300x:N", kProductOptions,
            "N boxes of eight MI300X, all joined to all, 64GB/s a pair; NICs 50GB/s"},
           draft_mi300x},
    Family{{"mesh", "mesh:AxB[xC]", kWireOptions, "a grid of GPUs"}, draft_mesh},
    Family{{"torus", "torus:AxB[xC]", kWireOptions, "a grid of GPUs whose ends are joined"},
           draft_torus},
    Family{{"ring", "ring:N", kWireOptions, "N GPUs in a ring, links both ways"}, draft_ring},
    Family{{"hypercube", "hypercube:D", kWireOptions, "2^D GPUs, each with D neighbours"},
           draft_hypercube},
    Family{{"full", "full:N", kWireOptions, "N GPUs, all joined to all"}, draft_full},
    Family{{"switch", "switch:N", "bandwidth=50GB/s, latency=0.35us, multicast",
            "N GPUs on one big switch"},
           draft_switch},
    Family{{"rail", "rail:BOXESxGPUS", "nvlink=450GB/s, nic=50GB/s, nics=1, multicast",
            "boxes of GPUs on a switch each; GPU r of every box is on the switch of rail r"},
           draft_rail},
    Family{{"boxes", "boxes:BOXESxGPUS", "nvlink=450GB/s, nic=50GB/s, nics=1, multicast",
            "boxes of GPUs on a switch each; all NICs are on one big switch"},
           draft_boxes},
    Family{{"leaf-spine", "leaf-spine:BOXESxGPUS",
            "nvlink, nic, per-leaf=8, spines=per-leaf, parallel=1, oversubscription=1, multicast",
            "boxes of GPUs; on every rail leaves for so many boxes each, and spines above"},
           draft_leaf_spine},
    Family{{"fat-tree", "fat-tree:PODSxLEAVESxBOXES",
            "nvlink, nic, gpus=8, aggs=BOXES, cores=LEAVES, parallel=1, oversubscription=1, "
            "core-oversubscription=1, multicast",
            "boxes of GPUs; on every rail three levels of switches: leaves, aggregation, cores"},
           draft_fat_tree},
    Family{{"dragonfly", "dragonfly:AxHxP", "bandwidth=50GB/s, global=bandwidth, multicast",
            "A*H+1 groups of A routers; a router has H cables to other groups and P GPUs"},
           draft_dragonfly},
    Family{{"random", "random:N",
            "degree=4, seed=1, directed, mixed, bandwidth=50GB/s, "
            "latency=0.7us",
            "a random regular graph of N GPUs; mixed draws rates and latencies, too"},
           draft_random},
    Family{{"random-boxes", "random-boxes:BOXES", "cross=2, seed=1",
            "boxes of 8 GPUs joined at random speeds, with few slow cables between boxes"},
           draft_random_boxes},
};

constexpr auto kRows = [] {
  std::array<CatalogueRow, kFamilies.size()> rows;
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = kFamilies[i].row;
  return rows;
}();

const CatalogueRow* find_row(std::string_view family) {
  const auto found = std::find_if(kRows.begin(), kRows.end(),
                                  [&](const CatalogueRow& row) { return row.family == family; });
  return found == kRows.end() ? nullptr : &*found;
}

}  // namespace

std::span<const CatalogueRow> catalogue() { return kRows; }

std::string_view catalogue_common_options() {
  return "degrade=K, fail=K, degrade-seed=S, what=nic|any, sums, relabel=SEED";
}

bool is_catalogue_name(std::string_view name) {
  return find_row(name.substr(0, name.find_first_of(":,"))) != nullptr;
}

Topology catalogue_topology(std::string_view text) {
  CatalogueName name(text);
  const CatalogueRow* row = find_row(name.family());
  if (row == nullptr) {
    std::string patterns;
    std::vector<std::string_view> families;
    for (const CatalogueRow& known : kRows) {
      patterns += (patterns.empty() ? "" : ", ") + std::string(known.pattern);
      families.push_back(known.family);
    }
    name.fail("there is no such topology" + did_you_mean(name.family(), families) +
              " (known: " + patterns + ")");
  }
  CatalogueDraft draft = kFamilies[static_cast<std::size_t>(row - kRows.data())].draft(name);
  degrade(draft, name);
  let_switches_add(draft, name);
  relabel(draft, name);
  name.refuse_leftovers();
  return Topology(std::move(draft.name), std::move(draft.note), std::move(draft.nodes),
                  std::move(draft.links));
}

}  // namespace stellwerk
