// Slurm's topology.yaml: a list of topologies, each a tree of switches, blocks, or "flat" (no network known). The one with
// cluster_default counts, or else the first. A tree and blocks mean what they mean in topology.conf.
#include "stellwerk/io/fabric.hpp"
#include "stellwerk/io/fabric_tree.hpp"
#include "stellwerk/io/text.hpp"
#include "stellwerk/io/yaml.hpp"

namespace stellwerk {
namespace {

using yaml::Value;

std::string place_of(const Value& value) { return ":" + std::to_string(value.line); }

class Reader {
 public:
  explicit Reader(const std::string& file) : tree_(file, "Slurm topology.yaml") {}

  ClusterFabric read(const Value& root) {
    if (root.kind != Value::Kind::sequence || root.items.empty())
      tree_.fail(place_of(root), "a list of topologies is wanted: '- topology: name'");
    const Value* chosen = &root.items.front();
    for (const Value& item : root.items) {
      const Value* standard = item.find("cluster_default");
      if (standard != nullptr && lower_case(standard->text) == "true") chosen = &item;
    }
    if (root.items.size() > 1) {
      const Value* name = chosen->find("topology");
      tree_.note("of " + std::to_string(root.items.size()) + " topologies " +
                 (name ? in_quotes(name->text) : "the first") + " is used");
    }
    if (const Value* tree = chosen->find("tree")) return read_tree(*tree);
    if (const Value* block = chosen->find("block")) return read_blocks(*block);
    if (const Value* flat = chosen->find("flat")) {
      tree_.fail(place_of(*flat),
                 "a flat topology says nothing about the network: use --fabric switch");
    }
    tree_.fail(place_of(*chosen), "a topology of none of the kinds tree, block, flat");
  }

 private:
  const Value& member(const Value& value, const char* key) const {
    const Value* found = value.find(key);
    if (found == nullptr || found->kind == Value::Kind::null)
      tree_.fail(place_of(value), std::string("there is no '") + key + "' here");
    return *found;
  }
  const std::vector<Value>& list(const Value& value, const char* key) const {
    const Value& found = member(value, key);
    if (found.kind != Value::Kind::sequence)
      tree_.fail(place_of(found), in_quotes(key) + " is not a list");
    return found.items;
  }
  const std::string& word(const Value& value, const char* key) const {
    const Value& found = member(value, key);
    if (found.kind != Value::Kind::scalar)
      tree_.fail(place_of(found), in_quotes(key) + " is not a word");
    return found.text;
  }

  ClusterFabric read_tree(const Value& tree) {
    for (const Value& item : list(tree, "switches")) {
      const std::size_t at = tree_.declare(word(item, "switch"), place_of(item));
      const bool children = item.find("children") != nullptr, nodes = item.find("nodes") != nullptr;
      if (!children && !nodes)
        tree_.fail(place_of(item), "a switch with neither 'children' nor 'nodes'");
      if (children) {
        for (const std::string& child : tree_.hostlist(word(item, "children"), place_of(item)))
          tree_.add_child(at, child, place_of(item));
      }
      if (nodes) add_hosts(at, item);
    }
    return tree_.finish(false);
  }

  ClusterFabric read_blocks(const Value& block) {
    for (const Value& item : list(block, "blocks"))
      add_hosts(tree_.declare(word(item, "block"), place_of(item)), item);
    return tree_.finish(true);
  }

  void add_hosts(std::size_t at, const Value& item) {
    for (const std::string& host : tree_.hostlist(word(item, "nodes"), place_of(item)))
      tree_.add_host(at, host, place_of(item));
  }

  FabricTree tree_;
};

}  // namespace

bool looks_like_slurm_yaml(std::string_view text) {
  const std::string_view start = text.substr(0, 65'536);
  if (start.find("topology:") == std::string_view::npos) return false;
  for (const char* kind : {"tree:", "block:", "flat:", "torus3d:"}) {
    if (start.find(kind) != std::string_view::npos) return true;
  }
  return false;
}

ClusterFabric read_slurm_yaml(std::string_view text, const std::string& file) {
  return Reader(file).read(yaml::parse(text, file));
}

}  // namespace stellwerk
