// What a collective's log can say, and what it cannot.
//
// Problem. nccl-tests prints how long a whole collective takes. A topology wants the latency and the bandwidth of links.
//
// Idea. Every algorithm of a runtime takes about alpha + beta * size: alpha is the launch and the messages that wait for each
// other, beta the bytes that the busiest link carries per byte of the size. The line is fitted with relative errors, since
// sizes range over nine decades, and robustly, since runtimes change protocol on the way and the middle lies above any line.
// If the collective is done by a ring (nccl-tests' "bus bandwidth" assumes it), every GPU passes on
// busbw_factor * size bytes and every host sends as many to others; AllToAll sends each pair's share directly.
//
// What can be identified. In one host: the rate at which a GPU sends. On several hosts: the slowest of the rings' links,
// which is taken to be that between hosts: all NICs of a host together. That is a lower bound on what links can carry; where
// switches reduce or multicast (NVLS), bus bandwidth can exceed a link's rate. What cannot: single links of a mesh (they are scaled
// together), links between switches, and which part of alpha is launch: alpha / steps is what a plan has to assume to
// predict the measured time of small sizes, and an upper bound on a link's latency.
//
// Reference: Hockney, Parallel Computing 20(3), 1994; Huber, Ann. Math. Statist. 35(1), 1964. Test: link_fit_test.cpp.
#include "stellwerk/io/link_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

constexpr double kHuber = 0.05;
constexpr int kRounds = 60;

[[noreturn]] void fail(const std::string& name, const std::string& what) {
  throw Error(ErrorCode::unreadable_input, one_line(name) + ": " + what);
}

/// Messages one after the other in a ring or, for those that are sent directly, one.
int ring_steps(Collective collective, std::size_t ranks) {
  const int around = static_cast<int>(ranks) - 1;
  switch (collective) {
    case Collective::allreduce:
      return 2 * around;
    case Collective::allgather:
    case Collective::reducescatter:
    case Collective::broadcast:
    case Collective::reduce:
      return around;
    default:
      return 1;
  }
}

/// Bytes per byte of the size that a GPU sends (one host), or a host sends to others.
double traffic(Collective collective, std::size_t ranks, std::size_t hosts) {
  if (hosts > 1 && collective == Collective::alltoall) {
    const double n = static_cast<double>(ranks), per_host = n / static_cast<double>(hosts);
    return per_host * (n - per_host) / n;
  }
  return busbw_factor(collective, ranks);
}

/// Links of the class, by whether they leave a host. Nodes without a host are switches between hosts, unless no node has one.
std::vector<LinkId> links_of_class(const Topology& topology, bool between_hosts) {
  std::set<std::string> hosts;
  for (const NodeId gpu : topology.gpus()) hosts.insert(topology.node(gpu).host);
  std::vector<LinkId> result;
  for (const LinkId id : topology.link_ids()) {
    const Link& link = topology.link(id);
    const std::string &from = topology.node(link.from).host, &to = topology.node(link.to).host;
    const bool leaves = hosts.size() > 1 && from != to;
    // Beyond a host's own ports no log can see.
    const bool inside = hosts.size() > 1 ? from == to && !from.empty() : true;
    if (between_hosts ? leaves : inside) result.push_back(id);
  }
  return result;
}

/// The fewest links of the class from a GPU (or a port of a host) to another one (of another host); 1 if nothing joins them.
int links_on_way(const Topology& topology, const std::vector<LinkId>& links, bool between_hosts) {
  std::map<NodeId, std::vector<NodeId>> next;
  for (const LinkId id : links) next[topology.link(id).from].push_back(topology.link(id).to);
  const auto is_end = [&](NodeId node) {
    return between_hosts ? !topology.node(node).host.empty()
                         : topology.node(node).kind == NodeKind::gpu;
  };
  const auto first = std::find_if(next.begin(), next.end(),
                                  [&](const auto& entry) { return is_end(entry.first); });
  if (first == next.end()) return 1;
  const std::string& host = topology.node(first->first).host;
  std::map<NodeId, int> distance{{first->first, 0}};
  std::vector<NodeId> queue{first->first};
  for (std::size_t k = 0; k < queue.size(); ++k) {
    const NodeId at = queue[k];
    const int hops = distance.at(at);
    if (k > 0 && is_end(at) && (!between_hosts || topology.node(at).host != host)) return hops;
    for (const NodeId to : next[at]) {
      if (distance.emplace(to, hops + 1).second) queue.push_back(to);
    }
  }
  return 1;
}

}  // namespace

AlphaBeta fit_line(std::span<const std::pair<std::int64_t, double>> points,
                   const std::string& file) {
  std::set<std::int64_t> sizes;
  for (const auto& [bytes, us] : points) sizes.insert(bytes);
  if (sizes.size() < 2) fail(file, "fewer than two sizes were measured: a line needs two");
  AlphaBeta fit;
  fit.points = points.size();
  std::vector<double> errors(points.size(), 0.0);
  const auto scale = static_cast<double>(*sizes.rbegin());
  for (int round = 0; round < kRounds; ++round) {
    // Minimises the sum of weight * ((a + b x - t) / t)^2, with x = size / largest size.
    double s1 = 0, sx = 0, sxx = 0, st = 0, sxt = 0;
    for (std::size_t k = 0; k < points.size(); ++k) {
      const double x = static_cast<double>(points[k].first) / scale, t = points[k].second;
      const double weight = (errors[k] <= kHuber ? 1 : kHuber / errors[k]) / (t * t);
      s1 += weight;
      sx += weight * x;
      sxx += weight * x * x;
      st += weight * t;
      sxt += weight * x * t;
    }
    const double determinant = s1 * sxx - sx * sx;
    double a = (st * sxx - sxt * sx) / determinant, b = (s1 * sxt - sx * st) / determinant;
    if (!(a >= 0)) {  // through the origin
      a = 0;
      b = sxt / sxx;
    }
    fit.alpha_us = a;
    fit.us_per_byte = b / scale;
    for (std::size_t k = 0; k < points.size(); ++k) {
      const double x = static_cast<double>(points[k].first) / scale, t = points[k].second;
      errors[k] = std::abs(a + b * x - t) / t;
    }
  }
  const std::size_t worst =
      static_cast<std::size_t>(std::max_element(errors.begin(), errors.end()) - errors.begin());
  fit.largest_error = errors[worst];
  fit.largest_at = points[worst].first;
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2),
                   errors.end());
  fit.median_error = errors[errors.size() / 2];
  return fit;
}

LinkFit fit_links(const NcclTestsLog& log, std::optional<Collective> collective, bool in_place) {
  std::string names;
  for (const Collective c : log.collectives)
    names += (names.empty() ? "" : " or ") + std::string(to_string(c));
  if (!collective && log.collectives.size() != 1) {
    fail(log.name, "the log does not tell its collective" +
                       (names.empty() ? std::string() : " (" + names + ")") +
                       ": name it with --collective");
  }
  if (!collective) collective = log.collectives[0];
  if (!names.empty() && std::find(log.collectives.begin(), log.collectives.end(), *collective) ==
                            log.collectives.end()) {
    fail(log.name, "the log is not of " + std::string(to_string(*collective)) + " but of " + names);
  }
  if (log.ranks < 2) fail(log.name, "one rank alone says nothing about links");
  std::vector<std::pair<std::int64_t, double>> points;
  for (const NcclTestsLog::Row& row : log.rows) {
    const auto& time = in_place ? row.in_place_us : row.out_of_place_us;
    if (row.bytes > 0 && time) points.emplace_back(row.bytes, *time);
  }
  LinkFit fit;
  fit.name = log.name;
  fit.collective = *collective;
  fit.between_hosts = log.hosts > 1;
  fit.steps = ring_steps(*collective, log.ranks);
  fit.line = fit_line(points, log.name);
  if (!(fit.line.us_per_byte > 0))
    fail(log.name, "times do not grow with size: measure larger sizes");
  const double rate = traffic(*collective, log.ranks, log.hosts) / fit.line.us_per_byte * 1e6;
  if (!(rate >= 1 && rate < 1e18)) fail(log.name, "the fitted bandwidth is out of all bounds");
  fit.rate = Bandwidth{std::llround(rate)};
  fit.step = Time{std::llround(fit.line.alpha_us * 1e6 / fit.steps)};
  return fit;
}

std::vector<LinkFit> tightest(const std::vector<LinkFit>& fits) {
  std::vector<LinkFit> result;
  for (const LinkFit& fit : fits) {
    const auto same = std::find_if(result.begin(), result.end(), [&](const LinkFit& other) {
      return other.between_hosts == fit.between_hosts;
    });
    if (same == result.end()) {
      result.push_back(fit);
      continue;
    }
    const Time step = std::min(same->step, fit.step);
    const std::string names = same->name + " and " + fit.name;
    if (fit.rate > same->rate) *same = fit;
    same->step = step;
    same->name = names;
  }
  return result;
}

Topology with_fit(const Topology& topology, const LinkFit& fit) {
  const std::vector<LinkId> links = links_of_class(topology, fit.between_hosts);
  // What leaves a GPU, or a host, over them.
  std::map<std::string, double> leaving;
  for (const LinkId id : links) {
    const Node& from = topology.node(topology.link(id).from);
    if (fit.between_hosts ? from.host.empty() : from.kind != NodeKind::gpu) continue;
    leaving[fit.between_hosts ? from.host : from.name] +=
        static_cast<double>(topology.link(id).bandwidth.bytes_per_second);
  }
  if (leaving.empty()) {
    fail(fit.name, "topology " + in_quotes(topology.name()) + " has no links " +
                       (fit.between_hosts ? "between hosts" : "within a host") +
                       ", which the log is about");
  }
  double least = leaving.begin()->second;
  for (const auto& [name, rate] : leaving) least = std::min(least, rate);
  const double factor = static_cast<double>(fit.rate.bytes_per_second) / least;
  const int ways = links_on_way(topology, links, fit.between_hosts);
  IdVector<LinkId, Link> changed = topology.links();
  for (const LinkId id : links) {
    Link& link = changed[id];
    link.bandwidth.bytes_per_second = std::max<std::int64_t>(
        1, std::llround(static_cast<double>(link.bandwidth.bytes_per_second) * factor));
    link.latency = Time{fit.step.ps / ways};
    link.source = "fit of " + one_line(fit.name) + " (" + std::string(to_string(fit.collective)) +
                  " as by a ring); launch is part of the latency";
  }
  return Topology(topology.name(), topology.note(), topology.nodes(), std::move(changed));
}

}  // namespace stellwerk
