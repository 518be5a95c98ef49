// topograph: its models in YAML ("switches", a mapping of names to the switches below them, and "blocks", each a leaf
// switch with its nodes), and what it exports as JSON ("instances", each with the switches above it, leaf first). Both give a
// tree without rates. Domains of accelerators (NVL72) are no part of the fabric and are named in a note.
#include <map>

#include "stellwerk/io/fabric.hpp"
#include "stellwerk/io/fabric_tree.hpp"
#include "stellwerk/io/json.hpp"
#include "stellwerk/io/text.hpp"
#include "stellwerk/io/yaml.hpp"

namespace stellwerk {
namespace {

using yaml::Value;

std::string place_of(const Value& value) { return ":" + std::to_string(value.line); }

/// Instances with the switches above them: the links between two layers are listed once an instance.
class Layers {
 public:
  explicit Layers(FabricTree& tree) : tree_(tree) {}

  void add(const std::string& host, const std::vector<std::string>& layers,
           const std::string& place) {
    if (layers.empty()) tree_.fail(place, "no switch is named above " + in_quotes(host));
    std::size_t below = tree_.switch_named(layers[0], place);
    tree_.add_host(below, host, place);
    for (std::size_t k = 1; k < layers.size(); ++k) {
      const std::size_t above = tree_.switch_named(layers[k], place);
      const auto [entry, added] = parent_.emplace(below, above);
      if (entry->second != above)
        tree_.fail(place, "switch " + in_quotes(layers[k - 1]) + " is below two switches");
      if (added) tree_.add_child(above, layers[k - 1], place);
      below = above;
    }
  }

 private:
  FabricTree& tree_;
  std::map<std::size_t, std::size_t> parent_;
};

class ModelReader {
 public:
  explicit ModelReader(const std::string& file) : tree_(file, "topograph model") {}

  ClusterFabric read(const Value& root) {
    const Value* switches = root.find("switches");
    const Value* blocks = root.find("blocks");
    if (blocks == nullptr)
      tree_.fail(place_of(root), "there is no 'blocks' in it, which says where the nodes are");
    if (switches != nullptr) {
      // First all of them, so that a name that is only listed below another is known as a leaf.
      for (const auto& [name, value] : switches->members) tree_.declare(name, place_of(value));
      for (const auto& [name, value] : switches->members) read_switch(name, value);
    }
    if (blocks->kind != Value::Kind::sequence)
      tree_.fail(place_of(*blocks), "'blocks' is not a list");
    for (const Value& block : blocks->items) read_block(block);
    if (domains_)
      tree_.note(
          "domains of accelerators are not part of the fabric: give their machine to compose");
    return tree_.finish(switches == nullptr);
  }

 private:
  void read_switch(const std::string& name, const Value& value) {
    const Value* below = value.find("switches");
    if (below == nullptr) return;
    for (const Value& child : below->items) {
      tree_.switch_named(child.text, place_of(child));
      tree_.add_child(tree_.switch_named(name, place_of(child)), child.text, place_of(child));
    }
  }

  void read_block(const Value& block) {
    const Value* leaf = block.find("switch");
    const Value* nodes = block.find("nodes");
    if (leaf == nullptr || nodes == nullptr)
      tree_.fail(place_of(block), "a block needs 'switch' and 'nodes'");
    domains_ = domains_ || block.find("annotations") != nullptr;
    const std::size_t at = tree_.switch_named(leaf->text, place_of(block));
    if (nodes->kind == Value::Kind::scalar) add_nodes(at, *nodes);
    for (const Value& node : nodes->items) add_nodes(at, node);
  }

  void add_nodes(std::size_t at, const Value& list) {
    for (const std::string& host : tree_.hostlist(list.text, place_of(list)))
      tree_.add_host(at, host, place_of(list));
  }

  FabricTree tree_;
  bool domains_ = false;
};

}  // namespace

bool looks_like_topograph_model(std::string_view text) {
  const std::string_view start = text.substr(0, 65'536);
  return start.starts_with("switches:") || start.starts_with("blocks:") ||
         start.find("\nswitches:") != std::string_view::npos ||
         start.find("\nblocks:") != std::string_view::npos;
}

ClusterFabric read_topograph_model(std::string_view text, const std::string& file) {
  return ModelReader(file).read(yaml::parse(text, file));
}

bool looks_like_topograph_graph(std::string_view text) {
  const std::string_view start = text.substr(0, 65'536);
  return start.find("\"instances\"") != std::string_view::npos &&
         start.find("\"network_layers\"") != std::string_view::npos;
}

ClusterFabric read_topograph_graph(std::string_view text, const std::string& file) {
  const json::Document document(text, file);
  const json::Place root(document);
  FabricTree tree(file, "topograph graph");
  Layers layers(tree);
  const json::Place instances = root.at("instances");
  for (std::size_t k = 0; k < instances.size(); ++k) {
    const json::Place instance = instances[k];
    const json::Place id = instance.at("id"), above = instance.at("network_layers");
    std::vector<std::string> names;
    for (std::size_t l = 0; !above.is_null() && l < above.size(); ++l)
      names.emplace_back(above[l].text());
    layers.add(std::string(id.text()), names, ": " + instance.pointer());
  }
  return tree.finish(false);
}

}  // namespace stellwerk
