// Lines of Key=Value words. A tree: SwitchName=s with Switches= or Nodes=. Blocks: BlockName=b Nodes=..., which share a
// fast network; here each is a switch, below one more. Sizes of blocks and speeds of links say nothing about rates.
#include <algorithm>
#include <map>
#include <set>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/fabric.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  ClusterFabric read(std::string_view text) {
    fabric_.format = "Slurm topology.conf";
    for (line_ = 1; !text.empty(); ++line_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      read_line(text.substr(0, std::min(end, text.find('#'))));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (fabric_.switches.empty()) fail("there is neither SwitchName= nor BlockName= in it");
    connect();
    return std::move(fabric_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::unreadable_input,
                one_line(file_) + ":" + std::to_string(line_) + ": " + what);
  }

  void read_line(std::string_view line) {
    std::map<std::string, std::string> values;
    while (true) {
      const std::size_t start = line.find_first_not_of(" \t\r");
      if (start == std::string_view::npos) break;
      line.remove_prefix(start);
      const std::size_t stop = std::min(line.find_first_of(" \t\r"), line.size());
      const std::string_view word = line.substr(0, stop);
      line.remove_prefix(stop);
      const std::size_t equals = word.find('=');
      if (equals == std::string_view::npos) fail(in_quotes(word) + " is not of the form Key=Value");
      if (!values.emplace(lower_case(word.substr(0, equals)), word.substr(equals + 1)).second)
        fail("key " + in_quotes(word.substr(0, equals)) + " is there twice");
    }
    if (values.contains("switchname")) {
      add(values.at("switchname"), values, false);
    } else if (values.contains("blockname")) {
      add(values.at("blockname"), values, true);
    }
  }

  std::vector<std::string> list(const std::string& text) const {
    auto names = expand_hostlist(text);
    if (!names) fail(in_quotes(text) + " is not a list of hosts like n[1-4,7]");
    return *std::move(names);
  }

  void add(const std::string& name, const std::map<std::string, std::string>& values, bool block) {
    const std::size_t at = fabric_.switches.size();
    if (!position_.emplace(name, at).second) fail(in_quotes(name) + " is there twice");
    fabric_.switches.push_back({name, name});
    blocks_ = blocks_ || block;
    trees_ = trees_ || !block;
    const auto nodes = values.find("nodes"), switches = values.find("switches");
    if (nodes == values.end() && switches == values.end())
      fail(in_quotes(name) + " has neither Nodes= nor Switches=");
    if (nodes != values.end()) {
      for (std::string& host : list(nodes->second)) {
        if (!hosts_.insert(host).second) fail("node " + in_quotes(host) + " is below two switches");
        fabric_.ports.push_back({std::move(host), "", at, std::nullopt, ""});
      }
    }
    if (switches != values.end()) children_.push_back({at, list(switches->second), line_});
  }

  void connect() {
    std::set<std::size_t> below;
    for (const auto& [parent, names, line] : children_) {
      line_ = line;
      for (const std::string& name : names) {
        const auto child = position_.find(name);
        if (child == position_.end()) fail("switch " + in_quotes(name) + " is not in the file");
        if (child->second == parent || !below.insert(child->second).second)
          fail("switch " + in_quotes(name) + " is below two switches, or itself");
        fabric_.cables.push_back({parent, child->second, std::nullopt, ""});
      }
    }
    if (blocks_ && !trees_ && fabric_.switches.size() > 1) {
      const std::size_t blocks = fabric_.switches.size();
      fabric_.switches.push_back({"core", ""});
      for (std::size_t b = 0; b < blocks; ++b)
        fabric_.cables.push_back({blocks, b, std::nullopt, ""});
      fabric_.notes.push_back("blocks: each is taken as a switch, and one more joins them");
    }
  }

  struct Children {
    std::size_t parent;
    std::vector<std::string> names;
    std::size_t line;
  };

  const std::string& file_;
  std::size_t line_ = 0;
  ClusterFabric fabric_;
  std::map<std::string, std::size_t> position_;
  std::set<std::string> hosts_;
  std::vector<Children> children_;
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
