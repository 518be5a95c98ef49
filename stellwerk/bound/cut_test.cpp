#include "stellwerk/bound/cut.hpp"

#include <gtest/gtest.h>

#include "stellwerk/bound/least.hpp"
#include "stellwerk/core/problem.hpp"

namespace stellwerk::bound {
namespace {

TEST(Least, OpensGatesOneByOne) {
  constexpr std::int64_t kByte = 1'000'000'000'000;  // bytes/s that carry one byte a ps
  EXPECT_EQ(least({{kByte, 10}}, 5), Time{15});
  EXPECT_EQ(least({{kByte, 10}, {2 * kByte, 20}}, 5), Time{15});
  EXPECT_EQ(least({{kByte, 10}, {2 * kByte, 20}}, 10), Time{20});
  EXPECT_EQ(least({{kByte, 10}, {2 * kByte, 20}}, 13), Time{21});
  EXPECT_EQ(least({{kByte, 10}, {2 * kByte, 20}}, 14), Time{22});  // 21.33 rounded up
  EXPECT_EQ(least({{kByte, graph::kUnreachable}}, 1), std::nullopt);
  EXPECT_EQ(least({}, 1), std::nullopt);
}

/// a0 -> a1 => b0 -> b1: two pairs joined by one slow link; all links have latency 1 us.
Problem two_pairs() {
  IdVector<NodeId, Node> nodes(4);
  const char* names[] = {"a0", "a1", "b0", "b1"};
  for (std::size_t v = 0; v < 4; ++v) nodes[NodeId(v)].name = names[v];
  IdVector<LinkId, Link> links;
  const auto both = [&](std::size_t u, std::size_t v, std::int64_t bandwidth) {
    links.push_back({NodeId(u), NodeId(v), Time{1'000'000}, Bandwidth{bandwidth}, ""});
    links.push_back({NodeId(v), NodeId(u), Time{1'000'000}, Bandwidth{bandwidth}, ""});
  };
  both(0, 1, 10'000'000'000);
  both(1, 2, 1'000'000'000);
  both(2, 3, 10'000'000'000);
  Topology topology("pairs", "", std::move(nodes), std::move(links));
  Job job;
  job.name = "ag";
  job.ranks = topology.gpus();
  job.size = Bytes{4'000};  // blocks of 1000 bytes: 1 us on the slow link
  job.start = Time{500'000};
  return make_problem(std::move(topology), {job});
}

TEST(Cut, CountsWhatMustEnter) {
  const Problem problem = two_pairs();
  const Network network(problem.topology);
  const Demand demand(problem);
  Certificate certificate;
  certificate.kind = Certificate::Kind::cut;
  certificate.set = {NodeId(2), NodeId(3)};
  // 2 us for two blocks, 1 us into b0, ready at 0.5 us.
  EXPECT_EQ(cut_value(certificate, network, demand), Time{3'500'000});
  certificate.target = NodeId(3);  // and 1 us more to b1
  EXPECT_EQ(cut_value(certificate, network, demand), Time{4'500'000});
  // b1 alone: three blocks at 10 GB/s.
  certificate.set = {NodeId(3)};
  EXPECT_EQ(cut_value(certificate, network, demand), Time{300'000 + 1'000'000 + 500'000});
  certificate.set = {NodeId(0), NodeId(1), NodeId(2)};
  certificate.target.reset();  // b1's block must come out
  EXPECT_EQ(cut_value(certificate, network, demand), Time{100'000 + 1'000'000 + 500'000});
}

TEST(DynamicCut, WaitsForTheFarSources) {
  const Problem problem = two_pairs();
  const Network network(problem.topology);
  const Demand demand(problem);
  Certificate certificate;
  certificate.kind = Certificate::Kind::dynamic_cut;
  certificate.set = {NodeId(2), NodeId(3)};
  certificate.target = NodeId(3);
  // a1 has its own block at once.
  EXPECT_EQ(dynamic_cut_value(certificate, network, demand), Time{4'500'000});
  // a0's block alone: ready, 1 us to a1, 1 us over, 1 us on, and 1 us of bandwidth.
  certificate.from = {NodeId(0)};
  EXPECT_EQ(dynamic_cut_value(certificate, network, demand), Time{4'500'000});
  certificate.target.reset();
  EXPECT_EQ(dynamic_cut_value(certificate, network, demand), Time{3'500'000});
  certificate.to = {NodeId(3)};
  EXPECT_EQ(dynamic_cut_value(certificate, network, demand), Time{4'500'000});
  // Nothing comes from there.
  certificate.to = {NodeId(2)};
  certificate.from = {};
  EXPECT_EQ(dynamic_cut_value(certificate, network, demand), Time{3'500'000});
}

TEST(SearchCuts, FindsTheBestTargetOfASet) {
  const Problem problem = two_pairs();
  const Network network(problem.topology);
  const Demand demand(problem);
  Best best;
  NodeSet set{false, false, true, true};
  search_cuts(set, std::nullopt, network, demand, best);
  EXPECT_EQ(best.value(), Time{4'500'000});
  EXPECT_EQ(best.bound().certificate.kind, Certificate::Kind::cut);
  EXPECT_EQ(best.bound().certificate.target, NodeId(3));
  search_dynamic_cuts(set, std::nullopt, network, demand, Time{3'500'000}, best);
  EXPECT_EQ(best.value(), Time{4'500'000});
  EXPECT_EQ(best.bound().certificate.kind, Certificate::Kind::cut);  // the simpler one stays
}

}  // namespace
}  // namespace stellwerk::bound
