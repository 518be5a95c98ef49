// Lines of Key=Value words. A tree: SwitchName=s with Switches= or Nodes=. Blocks: BlockName=b Nodes=..., which share a
// fast network; here each is a switch, below one more. Sizes of blocks and speeds of links say nothing about rates.
#include <algorithm>
#include <map>

#include "stellwerk/io/fabric.hpp"
#include "stellwerk/io/fabric_tree.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& file) : tree_(file, "Slurm topology.conf") {}

  ClusterFabric read(std::string_view text) {
    std::string joined;  // of lines that end in a backslash, as Slurm reads them
    for (std::size_t number = 1; !text.empty(); ++number) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      // Only this line is searched: the rest may be long.
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      line = line.substr(0, line.find('#'));
      line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
      if (joined.empty()) line_ = number;
      const bool goes_on = line.ends_with('\\');
      if (goes_on) line.remove_suffix(1);
      joined.append(line).push_back(' ');
      if (goes_on) continue;
      read_line(joined);
      joined.clear();
    }
    if (!joined.empty()) read_line(joined);
    if (!blocks_ && !trees_) fail("there is neither SwitchName= nor BlockName= in it");
    return tree_.finish(blocks_ && !trees_);
  }

 private:
  std::string place() const { return ":" + std::to_string(line_); }
  [[noreturn]] void fail(const std::string& what) const { tree_.fail(place(), what); }

  void read_line(std::string_view line) {
    std::map<std::string, std::string> values;
    while (true) {
      const std::size_t start = line.find_first_not_of(" \t\r");
      if (start == std::string_view::npos) break;
      line.remove_prefix(start);
      const std::size_t stop = std::min(line.find_first_of(" \t\r"), line.size());
      const std::string_view word = line.substr(0, stop);
      line.remove_prefix(stop);
      if (values.empty() && lower_case(word) == "include") {
        fail("Include is not followed: put the lines of that file in its place");
      }
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos) fail(in_quotes(word) + " is not of the form Key=Value");
      if (!values.emplace(lower_case(word.substr(0, equals)), word.substr(equals + 1)).second)
        fail("key " + in_quotes(word.substr(0, equals)) + " is there twice");
    }
    if (values.contains("switchname")) {
      trees_ = true;
      add(values.at("switchname"), values);
    } else if (values.contains("blockname")) {
      blocks_ = true;
      add(values.at("blockname"), values);
    }
  }

  void add(const std::string& name, const std::map<std::string, std::string>& values) {
    const std::size_t at = tree_.declare(name, place());
    const auto nodes = values.find("nodes"), switches = values.find("switches");
    if (nodes == values.end() && switches == values.end())
      fail(in_quotes(name) + " has neither Nodes= nor Switches=");
    if (nodes != values.end()) {
      for (const std::string& host : tree_.hostlist(nodes->second, place()))
        tree_.add_host(at, host, place());
    }
    if (switches != values.end()) {
      for (const std::string& child : tree_.hostlist(switches->second, place()))
        tree_.add_child(at, child, place());
    }
  }

  FabricTree tree_;
  std::size_t line_ = 0;
  bool blocks_ = false, trees_ = false;
};

}  // namespace

bool looks_like_slurm_topology(std::string_view text) {
  const std::string start = lower_case(text.substr(0, 65'536));
  return start.find("switchname=") != std::string::npos ||
         start.find("blockname=") != std::string::npos;
}

ClusterFabric read_slurm_topology(std::string_view text, const std::string& file) {
  return Reader(file).read(text);
}

}  // namespace stellwerk
