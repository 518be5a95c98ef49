#include "stellwerk/io/sccl_algorithm.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/io/json.hpp"
#include "stellwerk/io/text.hpp"
#include "stellwerk/plan/compact.hpp"

namespace stellwerk {
namespace {

constexpr int kMostRanks = 65'536;
constexpr std::size_t kMostSends = 1'000'000;

std::vector<int> ranks_at(const json::Place& list, int ranks) {
  std::vector<int> result;
  for (std::size_t k = 0; k < list.size(); ++k) {
    const json::Place rank = list[k];
    result.push_back(static_cast<int>(rank.integer(0, ranks - 1)));
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<int> without(const std::vector<int>& all, const std::vector<int>& some) {
  std::vector<int> result;
  std::set_difference(all.begin(), all.end(), some.begin(), some.end(), std::back_inserter(result));
  return result;
}

std::vector<int> together(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> result;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

/// What is at one address: one chunk, or the addends of a sum.
struct Item {
  std::vector<int> holders, wanted;  ///< of a sum: contributors, and who wants it
  bool sum = false;
};

class Importer {
 public:
  Importer(const ScclAlgorithm& algorithm, Topology topology, Bytes chunk, const std::string& file)
      : algorithm_(algorithm), file_(file), bytes_(chunk), gpus_(topology.gpus()) {
    plan_.problem.topology = std::move(topology);
  }

  Plan import() {
    if (gpus_.size() < static_cast<std::size_t>(algorithm_.ranks)) {
      fail("has " + std::to_string(algorithm_.ranks) + " ranks, topology " + topology().name() +
           " only " + std::to_string(gpus_.size()) + " GPUs");
    }
    gather_items();
    state_job();
    for (std::size_t s = 0; s < algorithm_.steps.size(); ++s) add_step(s);
    check_demand();
    sort_sends(topology(), plan_.sends);
    Simulation timed = simulate(plan_.problem, compact(plan_.problem, plan_.sends));
    plan_.sends = std::move(timed.sends);
    plan_.result.transfer_time = timed.transfer_time;
    plan_.result.job_finish = timed.job_finish;
    plan_.result.planner = "sccl";
    plan_.result.termination.reason = Termination::Reason::feasible;
    return std::move(plan_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::unreadable_input, one_line(file_) + ": " + what);
  }
  const Topology& topology() const { return plan_.problem.topology; }
  NodeId node(int rank) const { return gpus_[static_cast<std::size_t>(rank)]; }
  std::vector<NodeId> nodes(const std::vector<int>& ranks) const {
    std::vector<NodeId> result;
    for (const int rank : ranks) result.push_back(node(rank));
    return result;
  }

  void gather_items() {
    for (const ScclAlgorithm::Chunk& chunk : algorithm_.chunks) {
      const auto [entry, added] = items_.emplace(chunk.address, Item{chunk.pre, chunk.post, false});
      if (added) continue;
      Item& item = entry->second;
      if (item.wanted != chunk.post || without(chunk.pre, item.holders) != chunk.pre)
        fail("address " + std::to_string(chunk.address) +
             " holds chunks that are no addends of one sum");
      item.sum = true;
      item.holders = together(item.holders, chunk.pre);
    }
    if (items_.empty()) fail("the collective has no chunks");
    for (auto& [address, item] : items_) {
      if (!item.sum) item.wanted = without(item.wanted, item.holders);
    }
    std::erase_if(items_, [](const auto& entry) { return entry.second.wanted.empty(); });
    if (items_.empty()) fail("nobody wants anything that it does not have");
  }

  /// A collective of ours whose chunks are the items, or a custom job.
  void state_job() {
    Job job;
    job.name = "imported";
    for (int rank = 0; rank < algorithm_.ranks; ++rank) job.ranks.push_back(node(rank));
    const auto n = static_cast<std::size_t>(algorithm_.ranks);
    const bool sums = items_.begin()->second.sum;
    for (const Collective collective :
         sums ? std::vector{Collective::allreduce, Collective::reducescatter}
              : std::vector{Collective::allgather, Collective::alltoall}) {
      // AllToAll: the blocks that stay are no chunks of the algorithm.
      const std::size_t blocks = collective == Collective::alltoall ? n * (n - 1) : n;
      if (items_.size() % blocks != 0) continue;
      job.collective = collective;
      job.chunks = static_cast<int>(items_.size() / blocks);
      job.size = static_cast<std::int64_t>(static_cast<std::size_t>(job.chunks) * n) * bytes_;
      if (match(make_problem(topology(), {job}))) return;
    }
    job.collective = Collective::custom;
    job.chunks = 1;
    job.size = Bytes{};
    chunk_of_.clear();
    std::size_t next = 0;
    for (const auto& [address, item] : items_) {
      CustomChunk chunk;
      chunk.bytes = bytes_;
      (item.sum ? chunk.contributors : chunk.origins) = nodes(item.holders);
      chunk.destinations = nodes(item.wanted);
      job.custom.push_back(std::move(chunk));
      chunk_of_[address] = ChunkId(next++);
    }
    plan_.problem = make_problem(std::move(plan_.problem.topology), {job});
  }

  bool match(Problem problem) {
    std::map<std::pair<std::vector<NodeId>, std::vector<NodeId>>, std::vector<ChunkId>> free;
    for (std::size_t k = problem.chunks.size(); k-- > 0;) {
      const Chunk& chunk = problem.chunks[ChunkId(k)];
      std::vector<NodeId> from = chunk.contributors.empty() ? chunk.origins : chunk.contributors;
      std::vector<NodeId> to;
      std::sort(from.begin(), from.end());
      for (const NodeId id : chunk.destinations) {
        const bool has =
            chunk.contributors.empty() && std::find(from.begin(), from.end(), id) != from.end();
        if (!has) to.push_back(id);
      }
      std::sort(to.begin(), to.end());
      if (to.empty()) continue;
      free[{from, to}].push_back(ChunkId(k));
    }
    chunk_of_.clear();
    for (const auto& [address, item] : items_) {
      std::vector<NodeId> from = nodes(item.holders), to = nodes(item.wanted);
      std::sort(from.begin(), from.end());
      std::sort(to.begin(), to.end());
      const auto found = free.find({from, to});
      if (found == free.end() || found->second.empty()) return false;
      chunk_of_[address] = found->second.back();
      found->second.pop_back();
    }
    plan_.problem = std::move(problem);
    return true;
  }

  /// The links from one rank to another: one, or the fewest through switches.
  const std::vector<LinkId>& way(int from, int to) {
    const auto [entry, added] = ways_.try_emplace({from, to});
    if (!added) return entry->second;
    std::map<NodeId, LinkId> by;
    std::vector<NodeId> queue{node(from)};
    for (std::size_t k = 0; k < queue.size() && !by.contains(node(to)); ++k) {
      if (k > 0 && topology().stores(queue[k])) continue;
      for (const LinkId id : topology().out(queue[k])) {
        const NodeId head = topology().link(id).to;
        if (head != node(from) && by.emplace(head, id).second) queue.push_back(head);
      }
    }
    if (!by.contains(node(to))) {
      fail("topology " + topology().name() + " does not join rank " + std::to_string(from) + " (" +
           topology().node(node(from)).name + ") to rank " + std::to_string(to) + " (" +
           topology().node(node(to)).name + ") but through other GPUs");
    }
    for (NodeId at = node(to); at != node(from); at = topology().link(by.at(at)).from)
      entry->second.push_back(by.at(at));
    std::reverse(entry->second.begin(), entry->second.end());
    return entry->second;
  }

  /// The addends that `rank` has; of data, itself if it has it.
  std::vector<int>& held(int address, int rank) {
    const auto [entry, added] = held_.try_emplace({address, rank});
    if (added) {
      const Item& item = items_.at(address);
      if (std::binary_search(item.holders.begin(), item.holders.end(), rank))
        entry->second = {rank};
    }
    return entry->second;
  }

  bool complete(const Item& item, const std::vector<int>& set) const {
    return item.sum ? set == item.holders : !set.empty();
  }

  /// All sends of a step see what was there before it; it ends when all of it has arrived.
  void add_step(std::size_t s) {
    std::map<LinkId, Time> used;
    std::map<std::pair<int, int>, std::vector<int>> arrived;
    Time end = clock_;
    for (const ScclAlgorithm::Send& move : algorithm_.steps[s]) {
      if (!chunk_of_.contains(move.address)) continue;  // nobody wants it
      const Item& item = items_.at(move.address);
      const std::vector<int> set = held(move.address, move.from);
      if (set.empty()) {
        fail("/steps/" + std::to_string(s) + ": rank " + std::to_string(move.from) +
             " sends address " + std::to_string(move.address) + " before it has it");
      }
      // These algorithms only copy: a sender keeps its part of a sum.
      const Op op = complete(item, set) ? Op::copy : Op::share;
      const ChunkId id = chunk_of_.at(move.address);
      Send send = whole_chunk_send(topology(), plan_.problem.chunks[id], id, op, clock_,
                                   way(move.from, move.to));
      const SendTiming times = timing(topology(), send);
      for (std::size_t h = 0; h < send.links.size(); ++h)
        send.start = std::max(send.start, used[send.links[h]] - times.entry[h]);
      for (std::size_t h = 0; h < send.links.size(); ++h)
        used[send.links[h]] = send.start + times.entry[h] + times.duration;
      end = std::max(end, send.start + times.arrival.at(0));
      auto& target = arrived[{move.address, move.to}];
      if (op == Op::share &&
          (without(set, target) != set || without(set, held(move.address, move.to)) != set)) {
        fail("/steps/" + std::to_string(s) + ": address " + std::to_string(move.address) +
             " brings an addend to rank " + std::to_string(move.to) + " that it has already");
      }
      target = together(target, set);
      plan_.sends.push_back(std::move(send));
    }
    for (auto& [key, set] : arrived) {
      auto& target = held(key.first, key.second);
      target = together(target, set);
    }
    clock_ = end;
  }

  void check_demand() {
    for (const auto& [address, item] : items_) {
      for (const int rank : item.wanted) {
        if (!complete(item, held(address, rank)))
          fail("the steps never bring address " + std::to_string(address) + " to rank " +
               std::to_string(rank));
      }
    }
  }

  const ScclAlgorithm& algorithm_;
  const std::string& file_;
  Bytes bytes_;
  std::vector<NodeId> gpus_;
  Plan plan_;
  std::map<int, Item> items_;
  std::map<int, ChunkId> chunk_of_;
  std::map<std::pair<int, int>, std::vector<LinkId>> ways_;
  std::map<std::pair<int, int>, std::vector<int>> held_;
  Time clock_;
};

}  // namespace

bool looks_like_sccl_algorithm(std::string_view text) {
  const auto has = [&](std::string_view what) { return text.find(what) != std::string_view::npos; };
  return (has("\"msccl_type\"") || has("\"sccl_type\"")) && has("\"sends\"");
}

ScclAlgorithm parse_sccl_algorithm(std::string_view text, const std::string& file) {
  const json::Document document(text, file);
  const json::Place root(document), collective = root.at("collective"), steps = root.at("steps");
  const json::Place name = root.at("name"), kind = collective.at("name"),
                    nodes = collective.at("nodes"), chunks = collective.at("chunks");
  ScclAlgorithm result;
  result.name = name.text();
  result.collective = kind.text();
  result.ranks = static_cast<int>(nodes.integer(2, kMostRanks));
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    const json::Place chunk = chunks[k];
    const json::Place address = chunk.at("addr"), pre = chunk.at("pre"), post = chunk.at("post");
    result.chunks.push_back({static_cast<int>(address.integer(0, INT32_MAX)),
                             ranks_at(pre, result.ranks), ranks_at(post, result.ranks)});
    if (result.chunks.back().pre.empty()) pre.fail("nobody has this chunk");
  }
  std::size_t count = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const json::Place step = steps[s];
    const json::Place sends = step.at("sends");
    std::vector<ScclAlgorithm::Send>& list = result.steps.emplace_back();
    for (std::size_t k = 0; k < sends.size(); ++k) {
      const json::Place send = sends[k];
      if (send.size() < 3 || send.size() > 6)
        send.fail("has " + std::to_string(send.size()) +
                  " entries: 3 to 6 (address, from, to, ...) are wanted");
      if (++count > kMostSends) send.fail("more than " + std::to_string(kMostSends) + " sends");
      const json::Place address = send[0], from = send[1], to = send[2];
      list.push_back({static_cast<int>(address.integer(0, INT32_MAX)),
                      static_cast<int>(from.integer(0, result.ranks - 1)),
                      static_cast<int>(to.integer(0, result.ranks - 1))});
      if (list.back().from == list.back().to) send.fail("a rank sends to itself");
    }
  }
  return result;
}

Plan sccl_plan(const ScclAlgorithm& algorithm, Topology topology, Bytes chunk,
               const std::string& file) {
  return Importer(algorithm, std::move(topology), chunk, file).import();
}

}  // namespace stellwerk
