// Instances for conformance tests: 3 to 6 nodes, a few chunks. Between them they have rings, lines,
// meshes, random graphs, stars and trees of switches of both kinds, relays, links of three speeds
// and four latencies, parallel links, subsets of ranks in any order, members only, one or two jobs
// with releases and weights, two hosts, every collective, explicit chunks (several origins, sums,
// sizes), and limits of nodes. A chunk takes 1 us on a link of speed 1; latencies are 0, 4%, 100% or
// 150% of that.
#include "tests/conformance/instances.hpp"

#include <algorithm>
#include <numeric>

#include "stellwerk/base/error.hpp"
#include "stellwerk/plan/reachability.hpp"
#include "stellwerk/plan/reversal.hpp"
#include "tests/support/networks.hpp"
#include "tests/support/sanitized.hpp"

namespace stellwerk::testing {
namespace {

class Generator {
 public:
  explicit Generator(int number)
      : rng_(0x5eed0000u + static_cast<std::uint64_t>(number)),
        collective_(
            collectives()[static_cast<std::size_t>(number) % collectives().size()].collective) {}

  Collective collective() const { return collective_; }
  const std::string& shape() const { return shape_; }

  Problem make() {
    while (true) {
      network_ = Network{};
      shape_.clear();
      gpus_ = collective_ == Collective::alltoall || collective_ == Collective::alltoallv
                  ? 3 + static_cast<int>(rng_.below(2))
                  : 3 + static_cast<int>(rng_.below(3));
      build();
      limit();
      Topology topology = network_.topology();
      std::vector<Job> jobs = {job(topology, collective_, "first")};
      if (rng_.below(4) == 0) jobs.push_back(second_job(topology));
      const Relays relays = rng_.below(4) == 0 ? Relays::members : Relays::all;
      Problem problem = make_problem(std::move(topology), std::move(jobs), relays);
      if (problem.chunks.size() > (limited_ ? kMostChunksWithLimits : kMostChunks)) continue;
      try {
        require_reachable(problem);
      } catch (const Error&) {
        continue;
      }
      return problem;
    }
  }

 private:
  // What milp proves optimal in a second.
  static constexpr std::size_t kMostChunks = 12;
  static constexpr std::size_t kMostChunksWithLimits = 8;

  double speed() {
    constexpr double kSpeeds[] = {1, 1, 1, 2, 0.5};
    return kSpeeds[rng_.below(5)];
  }
  Time latency() {
    constexpr std::int64_t kLatencies[] = {0, 0, 40, 1000, 1500};
    return Time{kLatencies[rng_.below(5)] * kNs};
  }
  /// A link each way, alike or not.
  void join(NodeId a, NodeId b) {
    const double there = speed();
    const Time delay = latency();
    network_.link(a, b, there, delay);
    if (mixed_ && rng_.below(3) == 0) {
      network_.link(b, a, speed(), latency());
    } else {
      network_.link(b, a, there, delay);
    }
  }
  NodeId some_switch() { return network_.switch_node(rng_.below(2) == 0, rng_.below(2) == 0); }

  void build() {
    mixed_ = rng_.below(2) == 0;
    for (int i = 0; i < gpus_; ++i) network_.nodes[network_.gpu()].host = i < 2 ? "a" : "b";
    switch (rng_.below(7)) {
      case 0:
        shape_ = "ring";
        for (int i = 0; i < gpus_; ++i) {
          network_.link(NodeId(i), NodeId((i + 1) % gpus_), speed(), latency());
          if (mixed_) network_.link(NodeId((i + 1) % gpus_), NodeId(i), speed(), latency());
        }
        break;
      case 1:
        shape_ = "line";
        for (int i = 0; i + 1 < gpus_; ++i) join(NodeId(i), NodeId(i + 1));
        break;
      case 2:
        shape_ = "mesh";
        for (int i = 0; i < gpus_; ++i) {
          for (int j = 0; j < i; ++j) join(NodeId(i), NodeId(j));
        }
        break;
      case 3: {
        shape_ = "star";
        const NodeId hub = some_switch();
        for (int i = 0; i < gpus_; ++i) join(NodeId(i), hub);
        break;
      }
      case 4: {
        shape_ = "two switches";
        const NodeId left = some_switch(), right = some_switch();
        for (int i = 0; i < gpus_; ++i) join(NodeId(i), i % 2 == 0 ? left : right);
        join(left, right);
        if (rng_.below(2) == 0) join(NodeId(0), right);
        break;
      }
      case 5: {
        shape_ = "random, relay";
        const NodeId relay = network_.relay();
        join(NodeId(0), relay);
        join(NodeId(1), relay);
        for (int i = 1; i < gpus_; ++i) join(NodeId(i), NodeId(static_cast<int>(rng_.below(i))));
        break;
      }
      default: {
        shape_ = "random, switch";
        const NodeId hub = some_switch();
        join(NodeId(0), hub);
        join(NodeId(1), hub);
        if (gpus_ > 3) join(NodeId(3), hub);
        for (int i = 1; i < gpus_; ++i) join(NodeId(i), NodeId(static_cast<int>(rng_.below(i))));
        for (int i = 0; i < 2; ++i) {
          const auto a = static_cast<int>(rng_.below(gpus_)),
                     b = static_cast<int>(rng_.below(gpus_));
          if (a != b) network_.link(NodeId(a), NodeId(b), speed(), latency());
        }
      }
    }
  }

  /// Limits of nodes, now and then.
  void limit() {
    limited_ = rng_.below(4) == 0;
    if (!limited_) return;
    shape_ += ", limits";
    for (Node& node : network_.nodes) {
      if (node.kind == NodeKind::switch_) {
        if (rng_.below(2) == 0) node.max_groups = static_cast<int>(rng_.below(2));
        continue;
      }
      if (rng_.below(3) == 0) node.injection = Bandwidth{kGb / (1 + rng_.between(0, 1))};
      if (rng_.below(3) == 0) node.ejection = Bandwidth{kGb / (1 + rng_.between(0, 1))};
      if (rng_.below(3) == 0) node.buffer = Bytes{kChunk.value * rng_.between(1, 2)};
    }
  }

  std::vector<int> some_ranks(int least) {
    std::vector<int> ranks;
    for (int i = 0; i < gpus_; ++i) ranks.push_back(i);
    rng_.shuffle(ranks);
    if (rng_.below(2) == 0) {
      ranks.resize(static_cast<std::size_t>(rng_.between(std::min(least, gpus_), gpus_)));
    }
    return ranks;
  }

  Job job(const Topology& topology, Collective collective, const std::string& name) {
    const std::vector<int> ranks = some_ranks(2);
    const bool many = collective == Collective::alltoall || collective == Collective::allgather ||
                      collective == Collective::allreduce;
    const int chunks = static_cast<int>(rng_.between(1, many && ranks.size() > 3 ? 1 : 2));
    Job result = collective_job(
        topology, collective == Collective::custom ? Collective::broadcast : collective, chunks,
        ranks);
    result.name = name;
    result.root = static_cast<int>(rng_.below(ranks.size()));
    if (rng_.below(4) == 0) result.start = Time{rng_.between(0, 6) * kUs / 2};
    if (collective == Collective::alltoallv) {
      for (auto& row : result.matrix) {
        for (Bytes& bytes : row) {
          if (bytes.value > 0) bytes = Bytes{kChunk.value * chunks * rng_.between(0, 2)};
        }
      }
      result.matrix[0][1] = Bytes{kChunk.value * chunks};
    }
    if (collective == Collective::custom) {
      result.collective = Collective::custom;
      result.root = 0;
      const std::int64_t count = rng_.between(1, 4);
      for (std::int64_t i = 0; i < count; ++i) result.custom.push_back(custom_chunk(ranks));
    }
    return result;
  }

  CustomChunk custom_chunk(std::vector<int> ranks) {
    rng_.shuffle(ranks);
    const Time ready{rng_.below(3) == 0 ? rng_.between(0, 6) * kUs / 2 : 0};
    const Bytes bytes{rng_.below(4) == 0 ? 1700 : kChunk.value};
    const auto n = static_cast<std::int64_t>(ranks.size());
    const auto first = ranks.begin();
    if (rng_.below(3) == 0) {
      const auto contributors = rng_.between(1, n);
      const std::vector<int> from(first, first + contributors);
      rng_.shuffle(ranks);
      return sum(from, {ranks.begin(), ranks.begin() + rng_.between(1, n)}, ready, bytes);
    }
    const auto origins = n > 2 && rng_.below(3) == 0 ? 2 : 1;
    // Now and then somebody wants what it has.
    const auto from = rng_.below(6) == 0 ? 0 : origins;
    const auto wanting = rng_.between(1, n - from);
    return data({first, first + origins}, {first + from, first + from + wanting}, ready, bytes);
  }

  Job second_job(const Topology& topology) {
    constexpr Collective kSmall[] = {Collective::broadcast, Collective::sendrecv,
                                     Collective::gather, Collective::reduce, Collective::scatter};
    Job result = job(topology, kSmall[rng_.below(5)], "second");
    result.weight = rng_.between(1, 5);
    return result;
  }

  Rng rng_;
  Collective collective_;
  Network network_;
  std::string shape_;
  int gpus_ = 0;
  bool mixed_ = false;
  bool limited_ = false;
};

}  // namespace

ConformanceInstance conformance_instance(int number) {
  Generator generator(number);
  ConformanceInstance instance;
  instance.collective = generator.collective();
  instance.problem = generator.make();
  instance.name = "instance " + std::to_string(number) + " (" +
                  std::string(to_string(instance.collective)) + ", " + generator.shape() + ")";
  return instance;
}

std::vector<int> conformance_numbers() {
  const int first = testing::rounds(264, 44);
  std::vector<int> numbers(static_cast<std::size_t>(first));
  std::iota(numbers.begin(), numbers.end(), 0);
  numbers.push_back(378);  // milp, sizes that differ: re-timing overfilled a transit buffer
  numbers.push_back(684);  // milp without copies: a chunk left a transit buffer and came back
  return numbers;
}

std::optional<EpochInstance> oracle_instance(const Problem& problem, const EpochGrid& grid) {
  constexpr std::size_t kMostNodes = 4;
  constexpr std::size_t kMostChunks = 3;
  const Topology& topology = problem.topology;
  if (topology.nodes().size() > kMostNodes || problem.chunks.size() > kMostChunks ||
      problem.chunks.empty() || problem.relays == Relays::members || has_reductions(problem)) {
    return std::nullopt;
  }
  const Bytes bytes = problem.chunks.front().bytes;
  EpochInstance result;
  for (const Node& node : topology.nodes()) {
    if (node.injection || node.ejection || node.buffer || node.max_groups) return std::nullopt;
    result.kinds.push_back(node.kind);
    result.multicast.push_back(node.multicast);
  }
  for (const LinkId id : topology.link_ids()) {
    const Link& link = topology.link(id);
    result.links.push_back({link.from.value, link.to.value, grid.latency(id),
                            grid.window(id, bytes),
                            static_cast<int>(1 / grid.share(id, bytes) + 1e-9)});
  }
  for (const Chunk& chunk : problem.chunks) {
    if (chunk.bytes != bytes) return std::nullopt;
    EpochChunk copy;
    for (const NodeId node : chunk.origins) copy.origins.push_back(node.value);
    for (const NodeId node : chunk.destinations) copy.destinations.push_back(node.value);
    copy.ready = grid.epoch_at_or_after(chunk.ready);
    result.chunks.push_back(std::move(copy));
  }
  return result;
}

std::vector<Problem> problems_of_copies(const Problem& problem) {
  if (!has_reductions(problem)) return {problem};
  ReductionSplit split = split_reductions(problem);
  std::vector<Problem> result;
  for (Problem* half : {&split.collect, &split.spread}) {
    if (!half->chunks.empty()) result.push_back(std::move(*half));
  }
  return result;
}

}  // namespace stellwerk::testing
