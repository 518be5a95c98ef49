// What can be done to any network of the catalogue: cables at half rate or gone, and new names and
// numbers for everything, so that nobody can learn the structure from them.
#include <algorithm>
#include <map>

#include "stellwerk/base/rng.hpp"
#include "stellwerk/io/catalogue_draft.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

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

}  // namespace

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

void let_switches_add(CatalogueDraft& draft, CatalogueName& name) {
  if (!name.take_flag("sums")) return;
  bool any = false;
  for (std::size_t i = 0; i < draft.nodes.size(); ++i) {
    Node& node = draft.nodes[NodeId(i)];
    if (node.kind != NodeKind::switch_) continue;
    node.multicast = node.reduce = any = true;
  }
  if (!any) name.fail("sums: it has no switches that could add");
  draft.name += "-sums";
}

void relabel(CatalogueDraft& draft, CatalogueName& name) {
  const auto seed = name.take_integer("relabel");
  if (!seed) return;
  Rng rng(static_cast<std::uint64_t>(*seed));
  std::vector<NodeId> order;  // old numbers
  for (std::size_t i = 0; i < draft.nodes.size(); ++i) order.emplace_back(i);
  rng.shuffle(order);
  IdVector<NodeId, NodeId> place(order.size());  // new numbers
  IdVector<NodeId, Node> nodes;
  std::map<NodeKind, std::size_t> count;
  for (const NodeId old : order) {
    place[old] = NodeId(nodes.size());
    Node node = std::move(draft.nodes[old]);
    node.name = to_string(node.kind) + std::to_string(count[node.kind]++);
    node.host.clear();
    node.rack.clear();
    node.rail.reset();
    nodes.push_back(std::move(node));
  }
  std::vector<Link> links(draft.links.begin(), draft.links.end());
  rng.shuffle(links);
  draft.nodes = std::move(nodes);
  draft.links = {};
  for (Link& link : links) {
    link.from = place[link.from];
    link.to = place[link.to];
    draft.links.push_back(std::move(link));
  }
  draft.name += "-relabel" + std::to_string(*seed);
  draft.note.clear();
}

}  // namespace stellwerk
