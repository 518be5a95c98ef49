#include "stellwerk/io/nccl_graph_writer.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/plan_rings.hpp"

namespace stellwerk {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::unsolved, "not for NCCL's graphs: " + what);
}

/// Of "mlx5_1 (net 0)" what NCCL's own file says, 0; of "mlx5_1" the number of the name; nothing if there is none.
std::optional<int> number_of_nic(std::string_view nic) {
  if (nic.ends_with(')')) nic.remove_suffix(1);
  std::size_t begin = nic.size();
  while (begin > 0 && nic[begin - 1] >= '0' && nic[begin - 1] <= '9') --begin;
  if (begin == nic.size() || nic.size() - begin > 6) return std::nullopt;
  return std::stoi(std::string(nic.substr(begin)));
}

class GraphWriter {
 public:
  explicit GraphWriter(const Plan& plan)
      : topology_(plan.problem.topology),
        ranks_(plan.problem.jobs.front().ranks),
        rings_(plan_rings(plan)) {
    for (const NodeId rank : ranks_) {
      const std::string& host = host_of(rank);
      if (std::find(hosts_.begin(), hosts_.end(), host) == hosts_.end()) hosts_.push_back(host);
    }
    // A GPU's number in its host.
    std::map<std::string, int> count;
    for (const NodeId gpu : topology_.gpus()) device_.emplace(gpu, count[host_of(gpu)]++);
    for (PlanRing& ring : rings_) {
      auto found = pieces(ring);
      if (!found) {
        std::optional<PlanRing> back = turned(topology_, ring);
        if (back) found = pieces(*back);
        if (!found) {
          std::string way;
          for (std::size_t i = 0; i < ring.order.size(); ++i) {
            const std::string& host = host_of(ring.order[i]);
            if (i == 0 || host != host_of(ring.order[i - 1])) way += (i == 0 ? "" : ", ") + host;
          }
          refuse("NCCL joins hosts in the order of the ranks, and a ring visits " + way);
        }
        ring = std::move(*back);
      }
      pieces_.push_back(std::move(*found));
    }
  }

  std::vector<NcclGraph> graphs() const {
    std::vector<NcclGraph> result;
    for (std::size_t h = 0; h < hosts_.size(); ++h) result.push_back({hosts_[h], graph(h)});
    const bool same = std::all_of(result.begin(), result.end(), [&](const NcclGraph& graph) {
      return graph.text == result.front().text;
    });
    if (same) result = {{"", result.front().text}};
    return result;
  }

 private:
  /// What of a ring is in one host.
  struct Piece {
    std::vector<NodeId> gpus;
    int nic_in = 0, nic_out = 0;  ///< several hosts
  };

  const std::string& host_of(NodeId node) const { return topology_.node(node).host; }

  /// By host. NCCL joins the last GPU of a host with the first of the next one.
  std::optional<std::vector<Piece>> pieces(const PlanRing& ring) const {
    const std::size_t n = ring.order.size();
    if (hosts_.size() == 1) return {{{ring.order, 0, 0}}};
    std::size_t first = 0;  // where the ring comes into the first host
    while (first < n && (host_of(ring.order[first]) != hosts_[0] ||
                         host_of(ring.order[(first + n - 1) % n]) == hosts_[0]))
      ++first;
    std::vector<Piece> result;
    int last_out = 0;  // of the last host, from where the ring comes into the first
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = (first + i) % n, before = (at + n - 1) % n;
      const std::string& host = host_of(ring.order[at]);
      if (i == 0 || host != host_of(ring.order[before])) {
        if (result.size() == hosts_.size() || host != hosts_[result.size()]) return std::nullopt;
        result.emplace_back();
        result.back().nic_in = nic(ring.steps[before], ring.order[at], false);
        const int out = nic(ring.steps[before], ring.order[before], true);
        (i > 0 ? result[result.size() - 2].nic_out : last_out) = out;
      }
      result.back().gpus.push_back(ring.order[at]);
    }
    result.back().nic_out = last_out;
    return result;
  }

  /// Number of the NIC at one end of a step between hosts: what topo compose says of it, or else the rail.
  int nic(const std::vector<LinkId>& step, NodeId gpu, bool leaving) const {
    std::string last;
    const std::string mark = "; through " + host_of(gpu) + ".";
    for (const LinkId id : step) {
      const std::string& source = topology_.link(id).source;
      for (std::size_t at = source.find(mark); at != std::string::npos;
           at = source.find(mark, at + 1)) {
        const std::size_t begin = at + mark.size();
        const std::string name = source.substr(begin, source.find(';', begin) - begin);
        if (name.starts_with("pci") || name.starts_with("cpu")) continue;
        if (leaving || last.empty()) last = name;  // the one next to the network
      }
    }
    if (const auto number = number_of_nic(last)) return *number;
    if (const auto rail = topology_.node(gpu).rail) return *rail;
    refuse("the topology does not say which NIC joins " + topology_.node(gpu).name +
           " to other hosts: give its nodes rails, or make it with 'stellwerk topo compose'");
  }

  /// GB/s that a ring gets on its slowest link, in a host and between hosts. Rings that share a link share its rate.
  std::string speed(bool between) const {
    std::map<LinkId, int> rings;
    for (const PlanRing& ring : rings_) {
      for (const std::vector<LinkId>& step : ring.steps) {
        for (const LinkId id : step) ++rings[id];
      }
    }
    double least = std::numeric_limits<double>::max();
    for (const auto& [id, sharing] : rings) {
      const Link& link = topology_.link(id);
      if (hosts_.size() > 1 && (host_of(link.from) != host_of(link.to)) != between) continue;
      least = std::min(least, static_cast<double>(link.bandwidth.bytes_per_second) / 1e9 / sharing);
    }
    if (least == std::numeric_limits<double>::max()) return speed(true);  // a GPU a host
    std::string text = std::to_string(least);
    text.resize(text.find('.') + 2);
    return text;
  }

  /// Are all links in hosts NVLink?
  bool nvlink() const {
    for (const PlanRing& ring : rings_) {
      for (const std::vector<LinkId>& step : ring.steps) {
        for (const LinkId id : step) {
          const Link& link = topology_.link(id);
          if (host_of(link.from) == host_of(link.to) &&
              link.source.find("NVLink") == std::string::npos)
            return false;
        }
      }
    }
    return true;
  }

  std::string graph(std::size_t host) const {
    std::string text = "<graphs version=\"1\">\n  <graph id=\"0\" pattern=\"4\" crossnic=\"" +
                       std::string(crosses_nics() ? "1" : "0") + "\" nchannels=\"" +
                       std::to_string(pieces_.size()) + "\" speedintra=\"" + speed(false) +
                       "\" speedinter=\"" + speed(true) + "\" latencyinter=\"0\" typeintra=\"" +
                       (nvlink() ? "NVL" : "SYS") + "\" typeinter=\"PIX\" samechannels=\"0\">\n";
    for (const std::vector<Piece>& ring : pieces_) {
      const Piece& piece = ring[host];
      const auto net = [&](int nic) {
        if (hosts_.size() > 1) text += "      <net dev=\"" + std::to_string(nic) + "\"/>\n";
      };
      text += "    <channel>\n";
      net(piece.nic_in);
      for (const NodeId gpu : piece.gpus)
        text += "      <gpu dev=\"" + std::to_string(device_.at(gpu)) + "\"/>\n";
      net(piece.nic_out);
      text += "    </channel>\n";
    }
    return text + "  </graph>\n</graphs>\n";
  }

  /// Does a ring leave a host by another NIC than that by which it comes into the next?
  bool crosses_nics() const {
    return std::any_of(pieces_.begin(), pieces_.end(), [](const std::vector<Piece>& ring) {
      for (std::size_t h = 0; h < ring.size(); ++h) {
        if (ring[h].nic_out != ring[(h + 1) % ring.size()].nic_in) return true;
      }
      return false;
    });
  }

  const Topology& topology_;
  const std::vector<NodeId>& ranks_;
  std::vector<PlanRing> rings_;
  std::vector<std::string> hosts_;
  std::map<NodeId, int> device_;
  std::vector<std::vector<Piece>> pieces_;
};

}  // namespace

std::vector<NcclGraph> format_nccl_graphs(const Plan& plan) { return GraphWriter(plan).graphs(); }

}  // namespace stellwerk
