#include "stellwerk/io/teccl_schedule.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/io/json.hpp"
#include "stellwerk/io/text.hpp"
#include "stellwerk/plan/compact.hpp"

namespace stellwerk {
namespace {

constexpr int kMostNodes = 1 << 20;
constexpr std::size_t kMostFlows = 1'000'000;

/// Reads "Chunk 0 from 13 traveled over 13->12 in epoch 0 via switches 0, 3".
class FlowText {
 public:
  explicit FlowText(std::string_view text) : rest_(text) {}

  bool word(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  bool number(std::int64_t& value) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0 || value > kMostNodes) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return true;
  }
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::optional<TecclSchedule::Flow> parse_flow(std::string_view text) {
  FlowText rest(text);
  std::int64_t chunk = 0, origin = 0, from = 0, to = 0, epoch = 0;
  if (!rest.word("Chunk ") || !rest.number(chunk) || !rest.word(" from ") || !rest.number(origin) ||
      !rest.word(" traveled over ") || !rest.number(from) || !rest.word("->") || !rest.number(to) ||
      !rest.word(" in epoch ") || !rest.number(epoch)) {
    return std::nullopt;
  }
  TecclSchedule::Flow flow{static_cast<int>(chunk),
                           static_cast<int>(origin),
                           static_cast<int>(from),
                           static_cast<int>(to),
                           epoch,
                           {}};
  if (rest.word(" via switches ")) {
    do {
      std::int64_t node = 0;
      rest.word(" ");
      if (!rest.number(node)) return std::nullopt;
      flow.via.push_back(static_cast<int>(node));
    } while (rest.word(",") || rest.word("->"));
  }
  if (!rest.done()) return std::nullopt;
  return flow;
}

/// "GPU 12" or "Chunk 3".
int number_of(const json::Place& place, std::string_view key, std::string_view word) {
  FlowText rest(key);
  std::int64_t value = 0;
  if (!rest.word(word) || !rest.word(" ") || !rest.number(value) || !rest.done())
    place.fail("the key " + in_quotes(key) + " is not like '" + std::string(word) + " 0'");
  return static_cast<int>(value);
}

Time seconds_at(const json::Place& place) {
  const double seconds = place.number();
  if (!(seconds >= 0 && seconds < 1e6)) place.fail("is not a time in seconds");
  return Time{std::llround(seconds * 1e12)};
}

/// The schedule put on a topology.
class Importer {
 public:
  Importer(const TecclSchedule& schedule, Topology topology, Bytes chunk, const std::string& file)
      : schedule_(schedule), file_(file), bytes_(chunk) {
    plan_.problem.topology = std::move(topology);
  }

  Plan import() {
    make_demand();
    held_.resize(chunk_of_.size());
    for (const auto& [key, chunk] : chunk_of_) held_[chunk.index()][node(key.first)] = Time{0};
    for (std::size_t k = 0; k < schedule_.flows.size();) k = add_sends(k);
    check_demand();
    // Multicasts at the rate of their slowest link leave room beside them, which the order alone does not see.
    Simulation timed = simulate(plan_.problem, compact(plan_.problem, plan_.sends));
    plan_.sends = std::move(timed.sends);
    plan_.result.transfer_time = timed.transfer_time;
    plan_.result.job_finish = timed.job_finish;
    plan_.result.planner = "te-ccl";
    plan_.result.termination.reason = Termination::Reason::feasible;
    return std::move(plan_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::unreadable_input, one_line(file_) + ": " + what);
  }
  const Topology& topology() const { return plan_.problem.topology; }

  NodeId node(int number) const {
    if (number >= static_cast<int>(topology().nodes().size())) {
      fail("node " + std::to_string(number) + " is beyond the " +
           std::to_string(topology().nodes().size()) + " nodes of topology " + topology().name());
    }
    return NodeId(number);
  }

  /// Every chunk by (origin, number).
  void make_demand() {
    std::map<std::pair<int, int>, std::vector<NodeId>> wanted;
    std::set<int> ranks;
    for (const auto& demand : schedule_.demands) {
      wanted[{demand.origin, demand.chunk}].push_back(node(demand.destination));
      ranks.insert({demand.origin, demand.destination});
    }
    if (wanted.empty()) fail("6-Demand_Met is empty");
    Job job;
    job.name = "imported";
    for (const int rank : ranks) job.ranks.push_back(node(rank));
    const std::size_t cut = wanted.size() / ranks.size();
    bool gathers = wanted.size() % ranks.size() == 0;
    for (const auto& [chunk, destinations] : wanted) {
      gathers = gathers && static_cast<std::size_t>(chunk.second) < cut &&
                destinations.size() + 1 == ranks.size();
    }
    if (gathers) {
      job.collective = Collective::allgather;
      job.chunks = static_cast<int>(cut);
      job.size = static_cast<std::int64_t>(wanted.size()) * bytes_;
    } else {
      job.collective = Collective::custom;
      for (const auto& [chunk, destinations] : wanted) {
        CustomChunk custom;
        custom.bytes = bytes_;
        custom.origins = {node(chunk.first)};
        custom.destinations = destinations;
        job.custom.push_back(std::move(custom));
      }
    }
    plan_.problem = make_problem(std::move(plan_.problem.topology), {job});
    // Both kinds number chunks by origin, then by number.
    std::size_t next = 0;
    for (const auto& [chunk, destinations] : wanted) chunk_of_[chunk] = ChunkId(next++);
  }

  /// The link that joins two nodes; of parallel ones the first that is free.
  LinkId link(int from, int to) {
    std::optional<LinkId> best;
    for (const LinkId id : topology().out(node(from))) {
      if (topology().link(id).to != node(to)) continue;
      if (!best || free_[id] < free_[*best]) best = id;
    }
    if (!best)
      fail("topology " + topology().name() + " has no link " + topology().node(node(from)).name +
           "->" + topology().node(node(to)).name + " (" + std::to_string(from) + "->" +
           std::to_string(to) + ")");
    return *best;
  }

  static std::vector<std::pair<int, int>> way(const TecclSchedule::Flow& flow) {
    std::vector<std::pair<int, int>> result;
    int at = flow.from;
    for (const int next : flow.via) result.emplace_back(std::exchange(at, next), next);
    result.emplace_back(at, flow.to);
    return result;
  }
  Bandwidth rate(const TecclSchedule::Flow& flow) {
    Bandwidth least{INT64_MAX};
    for (const auto& [from, to] : way(flow))
      least = std::min(least, topology().link(link(from, to)).bandwidth);
    return least;
  }
  /// One send for both? Only at one rate: the slower would hold up the faster.
  bool multicast(const TecclSchedule::Flow& a, const TecclSchedule::Flow& b) {
    return a.chunk == b.chunk && a.origin == b.origin && a.from == b.from && a.epoch == b.epoch &&
           !a.via.empty() && !b.via.empty() && a.via.front() == b.via.front() && rate(a) == rate(b);
  }

  /// The flow k and those that share its first link; returns the number of the flow after them.
  std::size_t add_sends(std::size_t k) {
    const TecclSchedule::Flow& first = schedule_.flows[k];
    const auto found = chunk_of_.find({first.origin, first.chunk});
    const std::string name =
        "chunk " + std::to_string(first.chunk) + " from " + std::to_string(first.origin);
    if (found == chunk_of_.end()) fail(name + " moves, but nobody wants it");
    Send send;
    send.chunk = found->second;
    send.bytes = bytes_;
    std::set<std::pair<int, int>> used;
    std::size_t end = k;
    // Sorted, so that flows of one multicast are neighbours.
    while (end < schedule_.flows.size()) {
      const TecclSchedule::Flow& flow = schedule_.flows[end];
      if (end > k && !multicast(first, flow)) break;
      for (const auto& [from, to] : way(flow)) {
        if (used.insert({from, to}).second) send.links.push_back(link(from, to));
      }
      ++end;
    }
    auto& held = held_[send.chunk.index()];
    const auto has = held.find(node(first.from));
    if (has == held.end())
      fail(name + " leaves " + std::to_string(first.from) + " in epoch " +
           std::to_string(first.epoch) + " before it arrives there");
    send.rate = topology().link(send.links.front()).bandwidth;
    for (const LinkId id : send.links)
      send.rate = std::min(send.rate, topology().link(id).bandwidth);
    const SendTiming times = timing(topology(), send);
    send.start = has->second;
    for (std::size_t h = 0; h < send.links.size(); ++h)
      send.start = std::max(send.start, free_[send.links[h]] - times.entry[h]);
    for (std::size_t h = 0; h < send.links.size(); ++h)
      free_[send.links[h]] = send.start + times.entry[h] + times.duration;
    for (std::size_t leaf = 0; leaf < times.leaves.size(); ++leaf) {
      const auto [entry, added] =
          held.emplace(times.leaves[leaf], send.start + times.arrival[leaf]);
      if (!added) entry->second = std::min(entry->second, send.start + times.arrival[leaf]);
    }
    plan_.sends.push_back(std::move(send));
    return end;
  }

  void check_demand() {
    for (const ChunkId id : plan_.problem.chunk_ids()) {
      for (const NodeId destination : plan_.problem.chunks[id].destinations) {
        if (!held_[id.index()].contains(destination))
          fail("the flows never bring chunk " + std::to_string(id.value) + " to " +
               topology().node(destination).name);
      }
    }
    sort_sends(topology(), plan_.sends);
  }

  const TecclSchedule& schedule_;
  const std::string& file_;
  Bytes bytes_;
  Plan plan_;
  std::map<std::pair<int, int>, ChunkId> chunk_of_;
  std::vector<std::map<NodeId, Time>> held_;
  std::map<LinkId, Time> free_;
};

}  // namespace

TecclSchedule parse_teccl_schedule(std::string_view text, const std::string& file) {
  const json::Document document(text, file);
  const json::Place root(document);
  TecclSchedule schedule;
  schedule.epoch = seconds_at(root.at("1-Epoch_Duration"));
  schedule.finish = seconds_at(root.at("4-Collective_Finish_Time"));
  const json::Place flows = root.at("7-Flows");
  if (flows.size() > kMostFlows) flows.fail("more than " + std::to_string(kMostFlows) + " flows");
  for (std::size_t k = 0; k < flows.size(); ++k) {
    const json::Place place = flows[k];
    auto flow = parse_flow(place.text());
    if (!flow)
      place.fail(in_quotes(place.text()) +
                 " is not like 'Chunk 0 from 1 traveled over 2->3 in epoch 4'");
    schedule.flows.push_back(*std::move(flow));
  }
  const auto key = [](const TecclSchedule::Flow& f) {
    return std::tuple(f.epoch, f.chunk, f.origin, f.from, f.via.empty() ? -1 : f.via.front());
  };
  std::stable_sort(schedule.flows.begin(), schedule.flows.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
  const json::Place origins = root.at("6-Demand_Met");
  for (std::size_t i = 0; i < origins.members().size(); ++i) {
    const json::Place destinations = origins.member(i);
    for (std::size_t j = 0; j < destinations.members().size(); ++j) {
      const json::Place chunks = destinations.member(j);
      for (std::size_t k = 0; k < chunks.members().size(); ++k) {
        schedule.demands.push_back({number_of(destinations, origins.members()[i].key, "GPU"),
                                    number_of(chunks, destinations.members()[j].key, "GPU"),
                                    number_of(chunks, chunks.members()[k].key, "Chunk")});
      }
    }
  }
  std::sort(schedule.demands.begin(), schedule.demands.end());
  return schedule;
}

Topology teccl_network(const TecclSchedule& schedule, Bytes chunk) {
  std::set<int> gpus, passed;
  std::set<std::pair<int, int>> pairs;
  for (const TecclSchedule::Flow& flow : schedule.flows) {
    int at = flow.from;
    for (const int next : flow.via) {
      passed.insert(next);
      pairs.insert({std::exchange(at, next), next});
    }
    pairs.insert({at, flow.to});
    gpus.insert({flow.from, flow.to});
  }
  int last = 0;
  for (const int node : gpus) last = std::max(last, node);
  for (const int node : passed) last = std::max(last, node);
  IdVector<NodeId, Node> nodes(static_cast<std::size_t>(last) + 1);
  for (int k = 0; k <= last; ++k) {
    nodes[NodeId(k)].name = "n" + std::to_string(k);
    if (!gpus.contains(k)) nodes[NodeId(k)].kind = NodeKind::switch_;
    nodes[NodeId(k)].multicast = !gpus.contains(k);
  }
  IdVector<LinkId, Link> links;
  const double rate = static_cast<double>(chunk.value) * 1e12 /
                      static_cast<double>(std::max<std::int64_t>(1, schedule.epoch.ps));
  const Bandwidth bandwidth{std::max<std::int64_t>(1, std::llround(rate))};
  for (const auto& [from, to] : pairs)
    links.push_back(
        {NodeId(from), NodeId(to), Time{0}, bandwidth, "used by the schedule: a chunk an epoch"});
  return Topology("te-ccl", "the links that a TE-CCL schedule uses", std::move(nodes),
                  std::move(links));
}

Plan teccl_plan(const TecclSchedule& schedule, Topology topology, Bytes chunk,
                const std::string& file) {
  return Importer(schedule, std::move(topology), chunk, file).import();
}

}  // namespace stellwerk
