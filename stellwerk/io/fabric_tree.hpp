// What the readers of schedulers' files share: a tree of named switches with hosts below its leaves.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "stellwerk/io/fabric.hpp"

namespace stellwerk {

/// Networks of more switches, or of more hosts, are refused.
inline constexpr std::size_t kMaxFabricNodes = std::size_t{1} << 18;

/// Collects switches, their children and hosts, in any order. A place is what follows the file's name in a message: ":12"
/// (a line) or ": /instances/3" (a JSON pointer).
class FabricTree {
 public:
  FabricTree(const std::string& file, std::string format);

  [[noreturn]] void fail(const std::string& place, const std::string& what) const;

  /// A new switch; fails if there is one of this name.
  std::size_t declare(const std::string& name, const std::string& place);
  /// The switch of this name, which is added if there is none.
  std::size_t switch_named(const std::string& name, const std::string& place);

  /// "n[1-4,7]" as names; fails if it is no such list.
  std::vector<std::string> hostlist(const std::string& text, const std::string& place) const;
  /// Fails for a host that is below a switch already.
  void add_host(std::size_t at, const std::string& host, const std::string& place);
  /// The switch `name`, which may be declared later, is below `parent`.
  void add_child(std::size_t parent, const std::string& name, const std::string& place);
  void note(std::string text) { fabric_.notes.push_back(std::move(text)); }

  /// Connects; fails for children that are nowhere or below two switches, and if there is no switch. With `blocks` all
  /// switches are joined by one more.
  ClusterFabric finish(bool blocks);

 private:
  std::size_t add_switch(const std::string& name, const std::string& place);

  struct Child {
    std::size_t parent;
    std::string name, place;
  };
  std::string file_;
  ClusterFabric fabric_;
  std::map<std::string, std::size_t> position_;
  std::set<std::string> hosts_;
  std::vector<Child> children_;
};

}  // namespace stellwerk
