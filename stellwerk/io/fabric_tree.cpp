#include "stellwerk/io/fabric_tree.hpp"

#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/graph/union_find.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {

FabricTree::FabricTree(const std::string& file, std::string format) : file_(file) {
  fabric_.format = std::move(format);
}

void FabricTree::fail(const std::string& place, const std::string& what) const {
  throw Error(ErrorCode::unreadable_input, one_line(file_) + place + ": " + what);
}

std::size_t FabricTree::add_switch(const std::string& name, const std::string& place) {
  if (fabric_.switches.size() >= kMaxFabricNodes)
    fail(place, "more than " + std::to_string(kMaxFabricNodes) + " switches");
  fabric_.switches.push_back({name, name});
  return fabric_.switches.size() - 1;
}

std::size_t FabricTree::declare(const std::string& name, const std::string& place) {
  if (!position_.emplace(name, fabric_.switches.size()).second)
    fail(place, in_quotes(name) + " is there twice");
  return add_switch(name, place);
}

std::size_t FabricTree::switch_named(const std::string& name, const std::string& place) {
  const auto [entry, added] = position_.emplace(name, fabric_.switches.size());
  return added ? add_switch(name, place) : entry->second;
}

std::vector<std::string> FabricTree::hostlist(const std::string& text,
                                              const std::string& place) const {
  auto names = expand_hostlist(text, kMaxFabricNodes);
  if (!names) fail(place, in_quotes(text) + " is not a list of hosts like n[1-4,7]");
  return *std::move(names);
}

void FabricTree::add_host(std::size_t at, const std::string& host, const std::string& place) {
  if (!hosts_.insert(host).second)
    fail(place, "node " + in_quotes(host) + " is below two switches");
  if (hosts_.size() > kMaxFabricNodes)
    fail(place, "more than " + std::to_string(kMaxFabricNodes) + " hosts");
  fabric_.ports.push_back({host, "", at, std::nullopt, ""});
}

void FabricTree::add_child(std::size_t parent, const std::string& name, const std::string& place) {
  // A line of some bytes can name 200,000: few lines would fill the memory.
  if (children_.size() == kMaxFabricNodes)
    fail(place, "more than " + std::to_string(kMaxFabricNodes) + " switches below others");
  children_.push_back({parent, name, place});
}

ClusterFabric FabricTree::finish(bool blocks) {
  if (fabric_.switches.empty()) fail("", "there is no switch in it");
  std::set<std::size_t> below;
  graph::UnionFind joined(fabric_.switches.size());
  for (const auto& [parent, name, place] : children_) {
    const auto child = position_.find(name);
    if (child == position_.end()) fail(place, "switch " + in_quotes(name) + " is not in the file");
    if (child->second == parent || !below.insert(child->second).second)
      fail(place, "switch " + in_quotes(name) + " is below two switches, or itself");
    if (joined.root(parent) == joined.root(child->second))
      fail(place, "switch " + in_quotes(name) + " is below itself by way of others");
    joined.join(parent, child->second);
    fabric_.cables.push_back({parent, child->second, std::nullopt, ""});
  }
  if (blocks && fabric_.switches.size() > 1) {
    const std::size_t count = fabric_.switches.size();
    fabric_.switches.push_back(
        {position_.contains("core") ? "core (joins all blocks)" : "core", ""});
    for (std::size_t b = 0; b < count; ++b) fabric_.cables.push_back({count, b, std::nullopt, ""});
    note("blocks: each is taken as a switch, and one more joins them");
  }
  return std::move(fabric_);
}

}  // namespace stellwerk
