#include "stellwerk/io/catalogue.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/rng.hpp"
#include "stellwerk/io/catalogue_draft.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

constexpr std::string_view kWireOptions = "bandwidth=50GB/s, latency=0.7us";

constexpr std::array kRows = {
    CatalogueRow{"dgx1", "dgx1", "", "DGX-1V: 8 GPUs on a hybrid cube mesh of NVLinks"},
    CatalogueRow{"ndv2", "ndv2:N", "",
                 "N Azure NDv2 chassis (a DGX-1V each): two are linked directly, more by a copying "
                 "switch"},
    CatalogueRow{"dgx2", "dgx2:N", "",
                 "one or two DGX-2: 16 GPUs on a copying switch, eight links each way between two"},
    CatalogueRow{"mesh", "mesh:AxB[xC]", kWireOptions, "a grid of GPUs"},
    CatalogueRow{"torus", "torus:AxB[xC]", kWireOptions, "a grid of GPUs whose ends are joined"},
    CatalogueRow{"ring", "ring:N", kWireOptions, "N GPUs in a ring, links both ways"},
    CatalogueRow{"hypercube", "hypercube:D", kWireOptions, "2^D GPUs, each with D neighbours"},
    CatalogueRow{"full", "full:N", kWireOptions, "N GPUs, all joined to all"},
    CatalogueRow{"rail", "rail:BOXESxGPUS", "nvlink=450GB/s, nic=50GB/s, multicast",
                 "boxes of GPUs on a switch each; GPU r of every box is on the switch of rail r"},
};

using DraftFunction = CatalogueDraft (*)(CatalogueName&);
constexpr std::array<DraftFunction, kRows.size()> kDrafts = {
    draft_dgx1, draft_ndv2,      draft_dgx2, draft_mesh, draft_torus,
    draft_ring, draft_hypercube, draft_full, draft_rail};

/// Both directions of one cable: a link and its opposite, the k-th of parallel ones with the k-th.
/// A link without an opposite is a cable by itself.
std::vector<std::vector<LinkId>> cables(const CatalogueDraft& draft, bool only_nics) {
  std::map<std::pair<NodeId, NodeId>, std::vector<std::size_t>> unpaired;  // places in `result`
  std::vector<std::vector<LinkId>> result;
  for (std::size_t i = 0; i < draft.links.size(); ++i) {
    const Link& link = draft.links[LinkId(i)];
    // A NIC leaves its host: for another one, or for a switch of the fabric.
    if (only_nics && draft.nodes[link.from].host == draft.nodes[link.to].host) continue;
    std::vector<std::size_t>& opposite = unpaired[{link.to, link.from}];
    if (!opposite.empty()) {
      result[opposite.front()].push_back(LinkId(i));
      opposite.erase(opposite.begin());
      continue;
    }
    unpaired[{link.from, link.to}].push_back(result.size());
    result.push_back({LinkId(i)});
  }
  return result;
}

/// Options degrade, fail, degrade-seed and what: some cables at half rate, some gone.
void degrade(CatalogueDraft& draft, CatalogueName& name) {
  const std::int64_t slow = name.take_integer("degrade").value_or(0);
  const std::int64_t gone = name.take_integer("fail").value_or(0);
  const auto seed = name.take_integer("degrade-seed");
  const auto what = name.take("what");
  if (slow == 0 && gone == 0) {
    if (seed || what) {
      name.fail(std::string(seed ? "degrade-seed" : "what") +
                " goes with degrade=K or fail=K: add one of them");
    }
    return;
  }
  if (what && *what != "nic" && *what != "any") {
    name.fail("what: " + in_quotes(*what) + " is neither nic nor any");
  }
  std::vector<std::vector<LinkId>> drawn;
  if (!what || *what == "nic") drawn = cables(draft, true);
  if (what && *what == "nic" && drawn.empty()) {
    name.fail("what: there are no links between hosts here: use what=any");
  }
  if (drawn.empty()) drawn = cables(draft, false);
  const auto count = static_cast<std::int64_t>(drawn.size());
  if (slow > count || gone > count - slow) {
    name.fail("degrade and fail together take more than the " + std::to_string(count) +
              " links there are");
  }
  Rng(static_cast<std::uint64_t>(seed.value_or(1))).shuffle(drawn);

  std::vector<bool> remove(draft.links.size(), false);
  for (std::int64_t k = 0; k < slow + gone; ++k) {
    for (const LinkId id : drawn[static_cast<std::size_t>(k)]) {
      if (k < gone) {
        remove[id.index()] = true;
        continue;
      }
      Link& link = draft.links[id];
      link.bandwidth = {std::max<std::int64_t>(1, link.bandwidth.bytes_per_second / 2)};
      link.source += "; at half rate (degraded)";
    }
  }
  IdVector<LinkId, Link> kept;
  for (std::size_t i = 0; i < draft.links.size(); ++i) {
    if (!remove[i]) kept.push_back(draft.links[LinkId(i)]);
  }
  draft.links = std::move(kept);
  if (slow > 0) draft.name += "-degrade" + std::to_string(slow);
  if (gone > 0) draft.name += "-fail" + std::to_string(gone);
  if (what) draft.name += "-" + *what;
  draft.name += "-seed" + std::to_string(seed.value_or(1));
}

const CatalogueRow* find_row(std::string_view family) {
  const auto found = std::find_if(kRows.begin(), kRows.end(),
                                  [&](const CatalogueRow& row) { return row.family == family; });
  return found == kRows.end() ? nullptr : &*found;
}

}  // namespace

std::span<const CatalogueRow> catalogue() { return kRows; }

std::string_view catalogue_common_options() {
  return "degrade=K, fail=K, degrade-seed=S, what=nic|any";
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
  CatalogueDraft draft = kDrafts[static_cast<std::size_t>(row - kRows.data())](name);
  degrade(draft, name);
  name.refuse_leftovers();
  return Topology(std::move(draft.name), std::move(draft.note), std::move(draft.nodes),
                  std::move(draft.links));
}

}  // namespace stellwerk
