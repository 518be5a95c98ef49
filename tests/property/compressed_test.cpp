// The judge of compressed plans on trial: a compressed plan is valid if and only if what it stands
// for, written out in full, is. Small fabrics with symmetries of all kinds (links and switches that
// stay where they are, groups that are not abelian, subgroups), random jobs, limits and plans, right
// and damaged ones. Likewise certificates: they prove the same of representatives as of all chunks.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/rng.hpp"
#include "stellwerk/bound/bound.hpp"
#include "stellwerk/check/certificate.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/core/expansion.hpp"
#include "stellwerk/core/metrics.hpp"
#include "stellwerk/graph/problem_symmetry.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/plan/symmetric.hpp"

namespace stellwerk {
namespace {

constexpr std::array kFabrics = {
    "torus:3x3",
    "torus:2x4",
    "ring:6",
    "hypercube:3",
    "full:4",
    "switch:6,multicast",
    "boxes:3x2",
    "rail:3x2",
    "rail:2x3,multicast",
    "rail:3x2,nics=2",
    "dragonfly:2x1x2",
    "dgx1",
    "ndv2:3",
    "leaf-spine:4x2,per-leaf=2,multicast",
};
constexpr std::array kCollectives = {Collective::allgather,     Collective::alltoall,
                                     Collective::reducescatter, Collective::allreduce,
                                     Collective::alltoallv,     Collective::sendrecv};

/// Topologies are values that cannot be changed: this one is the same but for its nodes.
Topology with_nodes(const Topology& topology, const IdVector<NodeId, Node>& nodes) {
  return Topology(topology.name(), topology.note(), nodes, topology.links());
}

Job random_job(Rng& rng, std::vector<NodeId> ranks, std::size_t number) {
  Job job;
  job.name = "job " + std::to_string(number);
  job.collective = kCollectives[rng.below(kCollectives.size())];
  rng.shuffle(ranks);
  job.size = Bytes{rng.between(1, 100'000)};
  job.chunks = static_cast<int>(rng.between(1, 3));
  job.start = Time{rng.below(3) == 0 ? rng.between(0, 1'000'000) : 0};
  if (job.collective == Collective::alltoallv) {
    job.size = Bytes{};
    const std::size_t n = ranks.size();
    job.matrix.assign(n, std::vector<Bytes>(n, Bytes{rng.between(0, 2) * 1000}));
    job.matrix[rng.below(n)][rng.below(n)] = Bytes{rng.between(1, 5)};
    if (rng.below(2) == 0) {  // cyclic, with some luck a symmetry
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          job.matrix[i][j] = Bytes{static_cast<std::int64_t>((j + n - i) % 2) * 700};
        }
      }
    }
    job.matrix[0][1].value += job.matrix[0][1].value == 0 ? 1 : 0;
  }
  job.ranks = std::move(ranks);
  return job;
}

/// A problem by representatives with a group of at least two elements; nothing if there is none.
std::optional<Problem> random_problem(Rng& rng) {
  std::string name = kFabrics[rng.below(kFabrics.size())];
  if (rng.below(3) == 0) name += ",relabel=" + std::to_string(rng.below(5));
  const Topology topology = catalogue_topology(name);
  std::vector<NodeId> ranks = topology.gpus();
  // Ranks that are the images of one GPU under some symmetry of the fabric: a part of the GPUs.
  if (rng.below(3) == 0) {
    const FoundSymmetries found =
        find_symmetries(topology, {random_job(rng, ranks, 0)}, StopCondition());
    const Orbits orbits = find_orbits(topology, found.largest, ranks);
    const NodeId first = ranks[rng.below(ranks.size())];
    std::erase_if(ranks, [&](NodeId id) { return orbits.node[id] != orbits.node[first]; });
    if (ranks.size() < 2) return std::nullopt;
  }
  std::vector<Job> jobs = {random_job(rng, ranks, 0)};
  if (rng.below(4) == 0) jobs.push_back(random_job(rng, ranks, 1));
  for (Job& job : jobs) {
    if (job.collective == Collective::alltoallv) job.chunks = 1;
  }
  const FoundSymmetries found = find_symmetries(topology, jobs, StopCondition());
  Symmetry symmetry = rng.below(2) == 0 ? found.largest : found.link_free;
  if (symmetry.generators.size() > 1 && rng.below(3) == 0) {
    symmetry.generators.erase(symmetry.generators.begin() +
                              static_cast<std::ptrdiff_t>(rng.below(symmetry.generators.size())));
  }
  if (symmetry.trivial()) return std::nullopt;
  if (rng.below(3) == 0) {  // a cyclic subgroup
    Permutation g = symmetry.generators[rng.below(symmetry.generators.size())];
    const Permutation once = g;
    for (std::uint64_t e = rng.below(3); e > 0; --e) {
      for (NodeId& image : g) image = once[image.index()];
    }
    symmetry.generators = {g};
    if (std::is_sorted(g.begin(), g.end())) return std::nullopt;  // the identity
  }
  return make_compressed_problem(topology, jobs, rng.below(2) == 0 ? Relays::all : Relays::members,
                                 symmetry);
}

std::optional<Plan> random_plan(Rng& rng) {
  std::optional<Problem> problem = random_problem(rng);
  if (!problem) return std::nullopt;
  PlannerContext context;
  context.rng = Rng(rng.next());
  PlanOptions options;
  options.quick = true;
  PlannerOutcome outcome = plan_symmetric(*problem, options, context);
  if (!outcome.has_plan()) return std::nullopt;
  return Plan{std::move(*problem), std::move(outcome.sends), {}};
}

Plan expanded(const Plan& plan) {
  Plan whole = plan;
  whole.problem.symmetry = {};
  expand(whole, plan.problem.symmetry.generators);
  return whole;
}

/// By listing all elements: are they symmetries of topology and jobs, and free on the ranks?
bool symmetry_is_right(const Problem& problem) {
  const LinkImages links(problem.topology);
  std::set<NodeId> ranks;
  for (const Job& job : problem.jobs) ranks.insert(job.ranks.begin(), job.ranks.end());
  for (const Permutation& g : problem.symmetry.generators) {
    if (!links.automorphism(g)) return false;
    for (const Job& job : problem.jobs) {
      std::map<NodeId, std::size_t> position;
      for (std::size_t i = 0; i < job.ranks.size(); ++i) position[job.ranks[i]] = i;
      const auto image = [&](std::size_t i) {
        const auto found = position.find(g[job.ranks[i].index()]);
        return found == position.end() ? SIZE_MAX : found->second;
      };
      for (std::size_t i = 0; i < job.ranks.size(); ++i) {
        if (image(i) == SIZE_MAX) return false;
        for (std::size_t j = 0; j < job.ranks.size(); ++j) {
          if (i == j || image(j) == SIZE_MAX) continue;
          if (job.collective == Collective::alltoallv &&
              job.matrix[i][j] != job.matrix[image(i)][image(j)]) {
            return false;
          }
          if (job.collective == Collective::sendrecv &&
              (j == (i + 1) % job.ranks.size()) !=
                  (image(j) == (image(i) + 1) % job.ranks.size())) {
            return false;
          }
        }
      }
    }
  }
  const auto group = group_closure(problem.symmetry.generators, problem.topology.nodes().size());
  for (const Permutation& element : group) {
    if (element == group.front()) continue;
    for (const NodeId rank : ranks) {
      if (element[rank.index()] == rank) return false;
    }
  }
  return true;
}

/// Judges a plan both ways. `agree` counts plans for which the same rule is broken.
struct Comparison {
  int valid = 0;
  int invalid = 0;
  int other_rule = 0;
  std::map<Violation, int> rules;

  void compare(const Plan& plan) {
    const Verdict verdict = verify_sends(plan.problem, plan.sends);
    const bool right = symmetry_is_right(plan.problem);
    ASSERT_EQ(verdict.violation == Violation::wrong_symmetry, !right) << verdict.message;
    if (!right) {
      ++rules[Violation::wrong_symmetry];
      return;
    }
    const Plan whole = expanded(plan);
    const Verdict full = verify_sends(whole.problem, whole.sends);
    ASSERT_EQ(verdict.valid(), full.valid())
        << plan.problem.topology.name()
        << ": by the group: " << (verdict.valid() ? "valid" : verdict.message)
        << "; in full: " << (full.valid() ? "valid" : full.message);
    if (!verdict.valid()) {
      ++invalid;
      ++rules[*verdict.violation];
      // One that is broken in several ways may be refused for another reason.
      other_rule += verdict.violation != full.violation ? 1 : 0;
      return;
    }
    ++valid;
    EXPECT_EQ(verdict.transfer_time, full.transfer_time);
    EXPECT_EQ(verdict.job_finish, full.job_finish);
    EXPECT_EQ(verdict.rank_finish, full.rank_finish);
  }
};

TEST(CompressedVerify, RightPlansAreRightBothWays) {
  Rng rng(21);
  Comparison comparison;
  int plans = 0;
  while (plans < 150) {
    const auto plan = random_plan(rng);
    if (!plan) continue;
    ++plans;
    comparison.compare(*plan);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(comparison.valid, plans);
}

template <class List>
auto& any_of(Rng& rng, List& list) {
  return list.data()[rng.below(list.size())];
}

/// Limits of nodes near what is used, the same for all images of a node.
void add_limits(Rng& rng, Plan& plan) {
  const Topology& topology = plan.problem.topology;
  const Orbits orbits =
      find_orbits(topology, plan.problem.symmetry, plan.problem.jobs.front().ranks);
  IdVector<NodeId, Node> nodes = topology.nodes();
  std::vector<int> choice(orbits.node_size.size());
  std::vector<std::int64_t> amount(orbits.node_size.size());
  for (std::size_t o = 0; o < choice.size(); ++o) {
    choice[o] = static_cast<int>(rng.below(6));
    amount[o] = rng.between(1, 8);
  }
  for (const NodeId id : topology.node_ids()) {
    Node& node = nodes[id];
    const std::int64_t n = amount[orbits.node[id]];
    const Bandwidth rate{n * topology.link(topology.out(id).front()).bandwidth.bytes_per_second /
                         2};
    switch (choice[orbits.node[id]]) {
      case 0:
        if (node.stores()) node.injection = rate;
        break;
      case 1:
        if (node.stores()) node.ejection = rate;
        break;
      case 2:
        if (node.stores()) node.buffer = Bytes{n * plan.problem.chunks[ChunkId(0)].bytes.value / 2};
        break;
      case 3:
        if (!node.stores()) node.max_groups = static_cast<int>(n % 3);
        break;
      case 4:
        if (!node.stores()) node.multicast = !node.multicast;
        break;
      default:
        break;
    }
  }
  plan.problem.topology = with_nodes(topology, nodes);
}

/// One change to the sends or the symmetry, most often for the worse.
void damage(Rng& rng, Plan& plan) {
  const Topology& topology = plan.problem.topology;
  Send& send = any_of(rng, plan.sends);
  switch (rng.below(12)) {
    case 0:
      send.start.ps = std::max<std::int64_t>(0, send.start.ps - rng.between(1, 2'000'000));
      break;
    case 1:
      send.start.ps += rng.between(1, 2'000'000);
      break;
    case 2:
      send.rate.bytes_per_second = std::max<std::int64_t>(1, send.rate.bytes_per_second / 2);
      break;
    case 3:
      send.rate.bytes_per_second *= 2;
      break;
    case 4:
      plan.sends.erase(plan.sends.begin() + (&send - plan.sends.data()));
      break;
    case 5: {
      Send copy = send;
      plan.sends.push_back(copy);
      break;
    }
    case 6:
      any_of(rng, send.links) = LinkId(rng.below(topology.links().size()));
      break;
    case 7:
      std::swap(send.start, any_of(rng, plan.sends).start);
      break;
    case 8:
      send.chunk = ChunkId(rng.below(plan.problem.chunks.size()));
      break;
    case 9:
      if (send.bytes.value > 1) send.bytes.value -= 1;
      break;
    case 10: {
      Permutation& g = any_of(rng, plan.problem.symmetry.generators);
      if (rng.below(2) == 0) {
        std::swap(any_of(rng, g), any_of(rng, g));
      } else {
        Permutation square;
        for (const NodeId image : g) square.push_back(g[image.index()]);
        g = square;  // a smaller group: other representatives are missing
      }
      break;
    }
    default: {  // all of the plan, twice as fast
      for (Send& each : plan.sends) each.start.ps /= 2;
      break;
    }
  }
}

TEST(CompressedVerify, DamagedPlansAreJudgedAlike) {
  Rng rng(22);
  Comparison comparison;
  int plans = 0;
  // Damage to forbidden nodes is rare: until some has been seen.
  const auto enough = [&] {
    return plans >= 600 && (comparison.rules[Violation::forbidden_node] > 0 || plans >= 3000);
  };
  while (!enough()) {
    auto plan = random_plan(rng);
    if (!plan || plan->sends.empty()) continue;
    for (int k = 0; k < 5 && !plan->sends.empty(); ++k, ++plans) {
      Plan changed = *plan;
      if (rng.below(3) == 0) add_limits(rng, changed);
      if (rng.below(3) > 0) damage(rng, changed);
      sort_sends(changed.problem.topology, changed.sends);
      const auto order = group_closure(changed.problem.symmetry.generators,
                                       changed.problem.topology.nodes().size())
                             .size();
      const auto before =
          group_closure(plan->problem.symmetry.generators, plan->problem.topology.nodes().size())
              .size();
      if (order != before) continue;  // not the same demand: see the test of chunks
      comparison.compare(changed);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(comparison.valid, 100);
  EXPECT_GT(comparison.invalid, 200);
  EXPECT_LT(comparison.other_rule, comparison.invalid / 10);
  for (const Violation rule :
       {Violation::malformed_send, Violation::forbidden_node, Violation::not_held,
        Violation::link_capacity, Violation::node_capacity, Violation::buffer,
        Violation::demand_unmet, Violation::wrong_symmetry}) {
    EXPECT_GT(comparison.rules[rule], 0) << to_string(rule);
  }
}

/// The switch of a rail stays where it is when the boxes rotate: every multicast through it comes
/// three times.
TEST(CompressedVerify, ImagesShareTheGroupsOfASwitch) {
  const Topology fabric = catalogue_topology("rail:3x2,multicast");
  Permutation rotation;
  for (const NodeId id : fabric.node_ids()) {
    std::string name = fabric.node(id).name;
    const std::size_t box = name.find_first_of("012");
    if (name[0] == 'h') name[box] = static_cast<char>('0' + (name[box] - '0' + 1) % 3);
    ASSERT_TRUE(fabric.find(name)) << name;
    rotation.push_back(*fabric.find(name));
  }
  Job job;
  job.name = "job";
  job.ranks = fabric.gpus();
  job.size = Bytes{6000};
  Comparison comparison;
  for (int groups = 0; groups <= 6; ++groups) {
    for (int chunks = 1; chunks <= 2; ++chunks) {
      IdVector<NodeId, Node> nodes = fabric.nodes();
      for (Node& node : nodes) {
        if (!node.stores()) node.max_groups = groups;
      }
      job.chunks = 2;
      Plan plan;
      plan.problem =
          make_compressed_problem(with_nodes(fabric, nodes), {job}, Relays::all, {{rotation}});
      const Topology& topology = plan.problem.topology;
      for (int c = 0; c < chunks; ++c) {
        // Up to the rail, and down to the other boxes. Each link down is used twice a multicast.
        const NodeId owner = plan.problem.chunks[ChunkId(c)].owner;
        Send send = whole_chunk_send(topology, plan.problem.chunks[ChunkId(c)], ChunkId(c),
                                     Op::copy, Time{}, {topology.out(owner).back()});
        const NodeId rail = topology.link(send.links.front()).to;
        for (const LinkId down : topology.out(rail)) {
          if (topology.link(down).to != owner) send.links.push_back(down);
        }
        ASSERT_EQ(send.links.size(), 3U);
        send.rate.bytes_per_second /= 4;
        plan.sends.push_back(send);
      }
      const Verdict verdict = verify_sends(plan.problem, plan.sends);
      EXPECT_EQ(verdict.violation,
                groups >= 3 * chunks ? Violation::demand_unmet : Violation::groups)
          << verdict.message;
      comparison.compare(plan);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_EQ(comparison.other_rule, 0);
}

/// Chunks against jobs: other representatives of the same orbits are as good, all else is refused.
TEST(CompressedVerify, RepresentativesAreOneOfEveryOrbit) {
  Rng rng(23);
  int right = 0;
  int wrong = 0;
  for (int round = 0; round < 300; ++round) {
    auto problem = random_problem(rng);
    if (!problem) continue;
    Plan plan{std::move(*problem), {}, {}};
    const auto group =
        group_closure(plan.problem.symmetry.generators, plan.problem.topology.nodes().size());
    for (Chunk& chunk : plan.problem.chunks) {
      if (rng.below(2) == 0) continue;
      const Permutation& g = group[rng.below(group.size())];
      chunk.owner = g[chunk.owner.index()];
      for (auto* list : {&chunk.origins, &chunk.destinations, &chunk.contributors}) {
        for (NodeId& node : *list) node = g[node.index()];
      }
    }
    const auto differ = [&](const Plan& candidate) {
      return verify(candidate).violation == Violation::chunks_differ;
    };
    EXPECT_FALSE(differ(plan)) << verify(plan).message;
    EXPECT_NO_THROW(expanded(plan));
    ++right;

    Plan bad = plan;
    Chunk& chunk = any_of(rng, bad.problem.chunks);
    switch (rng.below(5)) {
      case 0:
        bad.problem.chunks.push_back(Chunk(chunk));
        break;
      case 1:
        bad.problem.chunks.erase(bad.problem.chunks.begin() + (&chunk - bad.problem.chunks.data()));
        break;
      case 2:
        chunk.bytes.value += 1;
        break;
      case 3:
        chunk.ready.ps += 1;
        break;
      default:
        chunk.destinations.pop_back();
        break;
    }
    if (verify(bad).violation == Violation::wrong_symmetry) continue;  // no chunks at all
    EXPECT_TRUE(differ(bad)) << round;
    ++wrong;
  }
  EXPECT_GT(right, 100);
  EXPECT_GT(wrong, 100);
}

TEST(CompressedVerify, RecordedFiguresAreChecked) {
  Rng rng(24);
  int checked = 0;
  while (checked < 30) {
    auto plan = random_plan(rng);
    if (!plan || plan->problem.jobs.size() > 1) continue;
    ++checked;
    const Verdict sends = verify_sends(plan->problem, plan->sends);
    ASSERT_TRUE(sends.valid()) << sends.message;
    plan->result.transfer_time = sends.transfer_time;
    plan->result.job_finish = sends.job_finish;
    plan->result.recorded = derive_metrics(*plan);
    EXPECT_TRUE(verify(*plan).valid()) << verify(*plan).message;
    Plan whole = expanded(*plan);
    EXPECT_TRUE(verify(whole).valid()) << verify(whole).message;

    Plan late = *plan;
    late.result.transfer_time.ps += 1;
    EXPECT_EQ(verify(late).violation, Violation::wrong_finish);
    Plan lies = *plan;
    lies.result.recorded->total.algbw = 1;
    EXPECT_EQ(verify(lies).violation, Violation::wrong_metric);
  }
}

/// What the images do to links and nodes, from the representatives alone.
TEST(CompressedUsage, IsThatOfAllImages) {
  Rng rng(26);
  for (int plans = 0; plans < 100;) {
    const auto plan = random_plan(rng);
    if (!plan) continue;
    ++plans;
    const Verdict verdict = verify_sends(plan->problem, plan->sends);
    ASSERT_TRUE(verdict.valid()) << verdict.message;
    const Plan whole = expanded(*plan);
    const Usage usage = measure_usage(plan->problem, plan->sends, verdict.transfer_time);
    const Usage full = measure_usage(whole.problem, whole.sends, verdict.transfer_time);
    EXPECT_EQ(usage.horizon, full.horizon);
    for (const LinkId id : plan->problem.topology.link_ids()) {
      EXPECT_EQ(usage.links[id].bytes, full.links[id].bytes);
      EXPECT_EQ(usage.links[id].busy, full.links[id].busy);
      EXPECT_EQ(usage.links[id].idle, full.links[id].idle);
      EXPECT_DOUBLE_EQ(usage.links[id].utilisation, full.links[id].utilisation);
    }
    EXPECT_DOUBLE_EQ(usage.mean_link_idle, full.mean_link_idle);
    EXPECT_EQ(usage.idle, full.idle);
    EXPECT_EQ(usage.peak_transit, full.peak_transit);
    EXPECT_EQ(usage.sent, full.sent);
    EXPECT_EQ(usage.needed, full.needed);
    EXPECT_EQ(usage.wasted_copies, full.wasted_copies);
    EXPECT_EQ(usage.wasted_bytes, full.wasted_bytes);
  }
}

// --- Certificates ------------------------------------------------------------------------------

std::vector<NodeId> some_of(Rng& rng, const std::vector<NodeId>& list) {
  std::vector<NodeId> result;
  for (const NodeId id : list) {
    if (rng.below(2) == 0) result.push_back(id);
  }
  return result;
}

/// A certificate that may or may not make sense. Lengths are the same for all images of a link.
Certificate random_certificate(Rng& rng, const Problem& problem) {
  using Kind = Certificate::Kind;
  const Topology& topology = problem.topology;
  std::vector<NodeId> nodes;
  for (const NodeId id : topology.node_ids()) nodes.push_back(id);
  Certificate result;
  constexpr std::array kKinds = {Kind::cut,    Kind::dynamic_cut, Kind::chunk_cut, Kind::latency,
                                 Kind::metric, Kind::partition,   Kind::gossip};
  result.kind = any_of(rng, kKinds);
  switch (result.kind) {
    case Kind::cut:
    case Kind::dynamic_cut:
    case Kind::chunk_cut:
      result.set = some_of(rng, nodes);
      if (rng.below(2) == 0 && !result.set.empty()) result.target = any_of(rng, result.set);
      if (result.kind == Kind::cut) break;
      if (!result.target && rng.below(2) == 0) result.to = some_of(rng, result.set);
      if (rng.below(3) == 0) {
        std::vector<NodeId> outside = nodes;
        std::erase_if(outside, [&](NodeId id) {
          return std::find(result.set.begin(), result.set.end(), id) != result.set.end();
        });
        result.from = some_of(rng, outside);
      }
      if (result.kind == Kind::chunk_cut && rng.below(2) == 0) {
        result.chunk = ChunkId(rng.below(problem.chunks.size()));
      }
      break;
    case Kind::latency:
      result.chunk = ChunkId(rng.below(problem.chunks.size()));
      result.target = any_of(rng, problem.chunks[*result.chunk].destinations);
      break;
    case Kind::metric: {
      const Orbits orbits = find_orbits(topology, problem.symmetry, problem.jobs.front().ranks);
      std::vector<std::int64_t> lengths;
      for (std::size_t o = 0; o < orbits.link_size.size(); ++o)
        lengths.push_back(rng.between(0, 4));
      for (const LinkId id : topology.link_ids())
        result.lengths.push_back(lengths[orbits.link[id]]);
      break;
    }
    default: {
      result.parts.resize(static_cast<std::size_t>(rng.between(2, 4)));
      for (const NodeId id : nodes) {
        if (result.kind == Kind::gossip && !topology.stores(id) && rng.below(2) == 0) continue;
        any_of(rng, result.parts).push_back(id);
      }
    }
  }
  return result;
}

TEST(CompressedCertificate, ProvesTheSameOfRepresentativesAsOfAll) {
  Rng rng(25);
  int proofs = 0;
  int refused = 0;
  std::map<Certificate::Kind, int> kinds;
  for (int round = 0; round < 400; ++round) {
    const auto problem = random_problem(rng);
    if (!problem || problem->chunks.empty()) continue;
    const Problem whole = make_problem(problem->topology, problem->jobs, problem->relays);
    for (int k = 0; k < 6; ++k) {
      const Certificate certificate = random_certificate(rng, *problem);
      Certificate of_whole = certificate;
      if (certificate.chunk) {
        const Chunk& chunk = problem->chunks[*certificate.chunk];
        const auto same = std::find(whole.chunks.begin(), whole.chunks.end(), chunk);
        ASSERT_NE(same, whole.chunks.end());
        of_whole.chunk = ChunkId(static_cast<std::size_t>(same - whole.chunks.begin()));
      }
      const auto proven = [](const Certificate& c, const Problem& p) -> std::optional<Time> {
        try {
          return proven_by(c, p);
        } catch (const Error&) {
          return std::nullopt;
        }
      };
      const auto full = proven(of_whole, whole);
      EXPECT_EQ(proven(certificate, *problem), full) << to_string(certificate.kind);
      ++(full ? proofs : refused);
      if (full) ++kinds[certificate.kind];
    }
  }
  EXPECT_GT(proofs, 500);
  EXPECT_GT(refused, 50);
  EXPECT_EQ(kinds.size(), 7U);
}

TEST(CompressedCertificate, LengthsMustBeSymmetric) {
  const Topology topology = catalogue_topology("ring:5");
  Job job;
  job.name = "job";
  job.ranks = topology.gpus();
  job.size = Bytes{1000};
  const Symmetry symmetry = find_symmetry(topology, {job}, StopCondition());
  const Problem problem = make_compressed_problem(topology, {job}, Relays::all, symmetry);
  Certificate certificate;
  certificate.kind = Certificate::Kind::metric;
  certificate.lengths.assign(topology.links().size(), 1);
  EXPECT_NO_THROW(proven_by(certificate, problem));
  certificate.lengths[3] = 2;
  EXPECT_THROW(proven_by(certificate, problem), Error);
}

}  // namespace
}  // namespace stellwerk
