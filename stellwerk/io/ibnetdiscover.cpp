// Blocks of lines, one for every switch ("Switch 65 "S-guid" # "name"") and every channel adapter ("Ca 1 "H-guid" # "node001
// mlx5_5""), each followed by its ports: [1] "S-guid"[36] # "name" lid 7 4xNDR. Every cable is listed from both ends; a cable that
// only one end lists counts all the same (dumps are cut, adapters may be missing).
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/fabric.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

/// Reads one line from left to right.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  void skip_blanks() {
    const std::size_t start = rest_.find_first_not_of(" \t\r");
    rest_.remove_prefix(start == std::string_view::npos ? rest_.size() : start);
  }
  bool take(std::string_view what) {
    skip_blanks();
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }
  std::optional<std::int64_t> number() {
    skip_blanks();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  std::optional<std::string_view> quoted() {
    if (!take("\"")) return std::nullopt;
    const std::size_t end = rest_.find('"');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }
  /// Moves on behind `what`; false if it is not there.
  bool behind(std::string_view what) {
    const std::size_t at = rest_.find(what);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + what.size());
    return true;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// Gigabits per second of one lane, times ten; InfiniBand's names.
std::optional<std::int64_t> lane_rate(std::string_view name) {
  static const std::map<std::string_view, std::int64_t> rates = {
      {"SDR", 20},  {"DDR", 40},  {"QDR", 80},   {"FDR10", 100}, {"FDR", 136},
      {"EDR", 250}, {"HDR", 500}, {"NDR", 1000}, {"XDR", 2000}};
  const auto found = rates.find(name);
  return found == rates.end() ? std::nullopt : std::optional(found->second);
}

/// "4xNDR" at the end of a port's line.
std::optional<std::pair<Bandwidth, std::string>> rate_of(std::string_view line) {
  for (std::size_t at = line.find('x'); at != std::string_view::npos; at = line.find('x', at + 1)) {
    std::size_t start = at;
    while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9') --start;
    if (start == at || at - start > 2) continue;
    std::size_t end = at + 1;
    while (end < line.size() &&
           ((line[end] >= 'A' && line[end] <= 'Z') || (line[end] >= '0' && line[end] <= '9')))
      ++end;
    const auto lane = lane_rate(line.substr(at + 1, end - at - 1));
    if (!lane) continue;
    int width = 0;
    std::from_chars(line.data() + start, line.data() + at, width);
    if (width < 1) continue;
    return std::pair(Bandwidth{*lane * width * 12'500'000},
                     std::string(line.substr(start, end - start)));
  }
  return std::nullopt;
}

constexpr std::size_t kMostPorts = std::size_t{1} << 19;

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  ClusterFabric read() {
    fabric_.format = "ibnetdiscover";
    std::string_view rest = text_;
    for (line_ = 1; !rest.empty(); ++line_) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      read_line(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (owners_.empty()) fail("there is neither a Switch nor a Ca in it");
    if (plugs_.empty()) fail("no port of it is connected: is the text cut off?");
    build();
    return std::move(fabric_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { fail_at(line_, what); }
  [[noreturn]] void fail_at(std::size_t line, const std::string& what) const {
    throw Error(ErrorCode::unreadable_input,
                one_line(file_) + ":" + std::to_string(line) + ": " + what);
  }

  struct Owner {
    bool is_switch = false;
    std::string label;
    std::size_t line = 0;
  };
  struct End {
    std::string owner;  ///< GUID with S- or H-
    std::int64_t port = 0;
    friend auto operator<=>(const End&, const End&) = default;
  };
  struct Plug {
    End other;
    std::optional<Bandwidth> bandwidth;
    std::string rate;
    std::string label;  ///< of the other end
    std::size_t line = 0;
  };

  void read_line(std::string_view line) {
    Cursor cursor(line);
    const bool is_switch = cursor.take("Switch");
    if (is_switch || cursor.take("Ca") || cursor.take("Rt")) {
      if (!cursor.number()) return;
      const auto id = cursor.quoted();
      if (!id) fail("a " + std::string(is_switch ? "Switch" : "Ca") + " without an id in quotes");
      current_ = std::string(*id);
      if (owners_.size() == kMostPorts)
        fail("more than " + std::to_string(kMostPorts) + " switches and adapters");
      std::string label;
      if (cursor.behind("#")) label = std::string(cursor.quoted().value_or(""));
      if (!owners_.emplace(current_, Owner{is_switch, label, line_}).second)
        fail(in_quotes(current_) + " is there twice (first in line " +
             std::to_string(owners_[current_].line) + ")");
      return;
    }
    if (!cursor.take("[")) return;  // vendor, GUIDs, comments
    const auto port = cursor.number();
    if (!port || !cursor.take("]")) fail("a port without a number in brackets");
    if (current_.empty()) fail("a port before any Switch or Ca");
    cursor.take("(");
    if (cursor.rest().find('"') == std::string_view::npos)
      fail("port " + std::to_string(*port) + " leads nowhere");
    cursor.behind("\"");
    Plug plug;
    plug.line = line_;
    const std::size_t close = cursor.rest().find('"');
    if (close == std::string_view::npos) fail("the id of the other end has no closing quote");
    plug.other.owner = std::string(cursor.rest().substr(0, close));
    cursor.behind("\"");
    if (!cursor.take("[")) fail("the other end has no port in brackets");
    plug.other.port = cursor.number().value_or(0);
    if (cursor.behind("#")) plug.label = std::string(cursor.quoted().value_or(""));
    if (auto rate = rate_of(cursor.rest())) {
      plug.bandwidth = rate->first;
      plug.rate = rate->second;
    }
    const End here{current_, *port};
    if (!plugs_.emplace(here, std::move(plug)).second)
      fail("port " + std::to_string(*port) + " of " + in_quotes(current_) + " is there twice");
    if (plugs_.size() > kMostPorts) fail("more than " + std::to_string(kMostPorts) + " ports");
  }

  /// "MF0;switch001:MQM9701/U1" -> "switch001"; several chips of one chassis keep their part.
  static std::string switch_name(const std::string& label, const std::string& id) {
    std::string name = label;
    if (const std::size_t at = name.find(';'); at != std::string::npos) name = name.substr(at + 1);
    return name.empty() ? id : name;
  }

  std::size_t switch_at(const std::string& id) {
    const auto [entry, added] = switches_.emplace(id, fabric_.switches.size());
    if (added) {
      std::string name = switch_name(owners_.at(id).label, id);
      if (!names_.insert(name).second) name += " " + id;
      names_.insert(name);
      fabric_.switches.push_back({name, id});
    }
    return entry->second;
  }

  void build() {
    // An end that only its other end knows: an adapter without a block.
    for (const auto& [here, plug] : plugs_) {
      if (owners_.contains(plug.other.owner)) continue;
      if (plug.other.owner.starts_with("S-")) {
        fail_at(plug.line,
                "leads to switch " + in_quotes(plug.other.owner) + ", which is not in the file");
      }
      owners_.emplace(plug.other.owner, Owner{false, plug.label, plug.line});
    }
    std::size_t one_sided = 0;
    for (const auto& [here, plug] : plugs_) {
      const auto back = plugs_.find(plug.other);
      if (back == plugs_.end()) {
        ++one_sided;
      } else if (back->second.other != here) {
        fail_at(plug.line, "port " + std::to_string(here.port) + " of " + in_quotes(here.owner) +
                               " leads to " + in_quotes(plug.other.owner) + "[" +
                               std::to_string(plug.other.port) + "], which leads elsewhere (line " +
                               std::to_string(back->second.line) + ")");
      } else if (plug.other < here) {
        continue;  // told from the other end
      }
      add(here, plug);
    }
    if (one_sided > 0)
      fabric_.notes.push_back(std::to_string(one_sided) +
                              (one_sided == 1 ? " cable is" : " cables are") +
                              " listed from one end only");
    std::stable_sort(fabric_.ports.begin(), fabric_.ports.end(),
                     [](const ClusterFabric::Port& a, const ClusterFabric::Port& b) {
                       return std::tie(a.host, a.nic) < std::tie(b.host, b.nic);
                     });
  }

  void add(const End& here, const Plug& plug) {
    const Owner& a = owners_.at(here.owner);
    const Owner& b = owners_.at(plug.other.owner);
    const std::string source = plug.rate.empty() ? "" : plug.rate + " from the file";
    if (a.is_switch && b.is_switch) {
      fabric_.cables.push_back(
          {switch_at(here.owner), switch_at(plug.other.owner), plug.bandwidth, source});
      return;
    }
    if (!a.is_switch && !b.is_switch) {
      fabric_.notes.push_back("line " + std::to_string(plug.line) +
                              ": two adapters are joined without a switch: left out");
      return;
    }
    const Owner& adapter = a.is_switch ? b : a;
    const std::string& hub = a.is_switch ? here.owner : plug.other.owner;
    if (adapter.label.find("Aggregation Node") != std::string::npos)
      return;  // a switch's own port for SHARP
    const std::size_t blank = adapter.label.find(' ');
    ClusterFabric::Port port;
    port.host = adapter.label.substr(0, blank);
    if (port.host.empty()) port.host = a.is_switch ? plug.other.owner : here.owner;
    if (blank != std::string::npos) port.nic = adapter.label.substr(blank + 1);
    port.at = switch_at(hub);
    port.bandwidth = plug.bandwidth;
    port.source = source;
    fabric_.ports.push_back(std::move(port));
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t line_ = 0;
  ClusterFabric fabric_;
  std::string current_;
  std::map<std::string, Owner> owners_;
  std::map<End, Plug> plugs_;
  std::map<std::string, std::size_t> switches_;
  std::set<std::string> names_;
};

}  // namespace

bool looks_like_ibnetdiscover(std::string_view text) {
  return text.find("switchguid=") != std::string_view::npos ||
         text.find("caguid=") != std::string_view::npos;
}

ClusterFabric read_ibnetdiscover(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

}  // namespace stellwerk
