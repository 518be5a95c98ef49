#include "stellwerk/io/astra_network.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

constexpr std::int64_t kMostNpus = 65'536;
constexpr std::int64_t kMostLinks = 4'000'000;

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  Topology read(std::string_view text) {
    for (line_ = 1; !text.empty(); ++line_) {
      const std::string_view line = take_line(text);
      read_line(line.substr(0, line.find('#')));
    }
    const std::vector<std::string>& kinds = list("topology");
    const std::size_t dimensions = kinds.size();
    std::vector<std::int64_t> sizes;
    npus_ = 1;
    for (const std::string& word : list("npus_count", dimensions)) {
      sizes.push_back(std::llround(number(word, "npus_count", 1, kMostNpus)));
      npus_ *= sizes.back();
      if (npus_ > kMostNpus) fail("npus_count: more than " + std::to_string(kMostNpus) + " NPUs");
    }
    for (std::int64_t k = 0; k < npus_; ++k) add("npu" + std::to_string(k), NodeKind::gpu);
    std::int64_t stride = 1;
    for (std::size_t d = 0; d < dimensions; ++d) {
      rate_ = Bandwidth{
          std::llround(number(list("bandwidth", dimensions)[d], "bandwidth", 1e-6, 1e6) * 1e9)};
      latency_ =
          Time{std::llround(number(list("latency", dimensions)[d], "latency", 0, 1e9) * 1e3)};
      add_dimension(kinds[d], d, stride, sizes[d]);
      stride *= sizes[d];
    }
    return Topology("astra-sim", "from an ASTRA-sim analytical network", std::move(nodes_),
                    std::move(links_));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::unreadable_input, one_line(file_) + ": " + what);
  }

  void read_line(std::string_view line) {
    line = trimmed(line);
    if (line.empty()) return;
    const std::size_t colon = line.find(':');
    const std::string place = "line " + std::to_string(line_) + ": ";
    if (colon == std::string_view::npos)
      fail(place + in_quotes(line) + " is not of the form key: [ ... ]");
    std::string_view value = trimmed(line.substr(colon + 1));
    if (value.size() < 2 || value.front() != '[' || value.back() != ']')
      fail(place + in_quotes(value) + " is not a list in brackets");
    value = value.substr(1, value.size() - 2);
    std::vector<std::string> words;
    while (true) {
      const std::size_t comma = std::min(value.find(','), value.size());
      words.emplace_back(trimmed(value.substr(0, comma)));
      if (comma == value.size()) break;
      value.remove_prefix(comma + 1);
    }
    const std::string key(trimmed(line.substr(0, colon)));
    if (!values_.emplace(key, std::move(words)).second)
      fail(place + in_quotes(key) + " is there twice");
  }

  const std::vector<std::string>& list(const std::string& key, std::size_t size = 0) const {
    const auto found = values_.find(key);
    if (found == values_.end()) fail("there is no " + key);
    if (size > 0 && found->second.size() != size) {
      fail(key + " has " + std::to_string(found->second.size()) + " entries, topology has " +
           std::to_string(size));
    }
    return found->second;
  }

  double number(const std::string& word, const char* key, double least, double most) const {
    const auto value = whole_number<double>(word);
    if (!value || !(*value >= least && *value <= most))
      fail(std::string(key) + ": " + in_quotes(word) + " is not a number that can be");
    return *value;
  }

  NodeId add(std::string name, NodeKind kind) {
    Node node;
    node.name = std::move(name);
    node.kind = kind;
    nodes_.push_back(std::move(node));
    return NodeId(nodes_.size() - 1);
  }
  void connect(NodeId a, NodeId b) {
    if (static_cast<std::int64_t>(links_.size()) > kMostLinks)
      fail("more than " + std::to_string(kMostLinks) + " links");
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
      links_.push_back({from, to, latency_, rate_, "from the file"});
  }

  /// The groups of NPUs that differ in one coordinate only.
  void add_dimension(const std::string& kind, std::size_t number, std::int64_t stride,
                     std::int64_t size) {
    if (kind != "Ring" && kind != "FullyConnected" && kind != "Switch")
      fail("topology: " + in_quotes(kind) + " is none of Ring, FullyConnected, Switch");
    for (std::int64_t first = 0; first < npus_; ++first) {
      if ((first / stride) % size != 0) continue;
      const auto member = [&](std::int64_t k) {
        return NodeId(static_cast<std::size_t>(first + k * stride));
      };
      if (kind == "Switch") {
        const NodeId hub =
            add("switch" + std::to_string(number) + "." + std::to_string(first), NodeKind::switch_);
        for (std::int64_t k = 0; k < size; ++k) connect(member(k), hub);
      } else if (kind == "Ring") {
        for (std::int64_t k = 0; k + 1 < size; ++k) connect(member(k), member(k + 1));
        if (size > 2) connect(member(size - 1), member(0));
      } else {
        for (std::int64_t a = 0; a < size; ++a) {
          for (std::int64_t b = a + 1; b < size; ++b) connect(member(a), member(b));
        }
      }
    }
  }

  const std::string& file_;
  std::size_t line_ = 0;
  std::map<std::string, std::vector<std::string>> values_;
  std::int64_t npus_ = 1;
  Bandwidth rate_;
  Time latency_;
  IdVector<NodeId, Node> nodes_;
  IdVector<LinkId, Link> links_;
};

}  // namespace

bool looks_like_astra_network(std::string_view text) {
  return text.find("npus_count:") != std::string_view::npos &&
         text.find("topology:") != std::string_view::npos;
}

Topology read_astra_network(std::string_view text, const std::string& file) {
  return Reader(file).read(text);
}

}  // namespace stellwerk
