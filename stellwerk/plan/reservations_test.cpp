#include "stellwerk/plan/reservations.hpp"

#include <gtest/gtest.h>

#include "tests/support/networks.hpp"

namespace stellwerk {
namespace {

using testing::kChunk;
using testing::kGb;
using testing::kNs;
using testing::kUs;
using testing::Network;

Send send(const Topology& topology, std::vector<LinkId> links) {
  return whole_chunk_send(topology, Chunk{JobId(0), kChunk, {}, {}, Time{0}, NodeId(), {}, 0},
                          ChunkId(0), Op::copy, Time{0}, std::move(links));
}

TEST(Reservations, ALinkServesOneSendAfterTheOther) {
  const Topology topology = testing::line(2).topology();
  Reservations reservations(topology);
  const Footprint footprint = reservations.footprint(send(topology, {LinkId(0)}));
  reservations.add(footprint, Time{0});
  EXPECT_EQ(reservations.earliest(footprint, Time{0}), Time{kUs});
  EXPECT_TRUE(reservations.fits(reservations.footprint(send(topology, {LinkId(1)})), Time{0}));
  reservations.remove(footprint, Time{0});
  EXPECT_TRUE(reservations.fits(footprint, Time{0}));
}

TEST(Reservations, LaterLinksAreUsedOneLatencyLater) {
  Network network = testing::star(2);
  for (Link& link : network.links) link.latency = Time{300 * kNs};
  const Topology topology = network.topology();
  Reservations reservations(topology);
  const Footprint footprint = reservations.footprint(send(topology, {LinkId(0), LinkId(3)}));
  // The way down is in use until 500 ns: the send may begin 300 ns before that.
  reservations.add({{reservations.link(LinkId(3)), Time{0}, Time{500 * kNs}, kGb}}, Time{0});
  EXPECT_EQ(reservations.earliest(footprint, Time{0}), Time{200 * kNs});
}

TEST(Reservations, InjectionAndEjectionAreShared) {
  Network network = testing::full_mesh(3);
  network.nodes[NodeId(0)].injection = Bandwidth{kGb};
  network.nodes[NodeId(2)].ejection = Bandwidth{kGb};
  const Topology topology = network.topology();  // 0: 0->1, 1: 0->2, 2: 1->0, 3: 1->2
  Reservations reservations(topology);
  reservations.add(reservations.footprint(send(topology, {LinkId(0)})), Time{0});
  EXPECT_EQ(reservations.earliest(reservations.footprint(send(topology, {LinkId(1)})), Time{0}),
            Time{kUs});
  const Footprint other = reservations.footprint(send(topology, {LinkId(3)}));
  EXPECT_TRUE(reservations.fits(other, Time{0}));
  reservations.add(other, Time{0});
  EXPECT_EQ(reservations.earliest(reservations.footprint(send(topology, {LinkId(1)})), Time{0}),
            Time{kUs});
}

TEST(Reservations, MulticastsShareTheGroupsOfASwitch) {
  Network network = testing::star(6, true);
  network.nodes[NodeId(6)].max_groups = 1;
  const Topology topology = network.topology();
  Reservations reservations(topology);
  reservations.add(reservations.footprint(send(topology, {LinkId(0), LinkId(7), LinkId(8)})),
                   Time{0});
  const Footprint multicast =
      reservations.footprint(send(topology, {LinkId(3), LinkId(10), LinkId(11)}));
  EXPECT_EQ(reservations.earliest(multicast, Time{0}), Time{kUs});
  const Footprint unicast = reservations.footprint(send(topology, {LinkId(3), LinkId(10)}));
  EXPECT_TRUE(reservations.fits(unicast, Time{0}));
}

TEST(Reservations, ASwitchWithoutGroupsNeverCopies) {
  Network network = testing::star(3, true);
  network.nodes[NodeId(3)].max_groups = 0;
  const Topology topology = network.topology();
  const Reservations reservations(topology);
  const Footprint multicast =
      reservations.footprint(send(topology, {LinkId(0), LinkId(4), LinkId(5)}));
  EXPECT_EQ(reservations.earliest(multicast, Time{0}), Time::max());
}

}  // namespace
}  // namespace stellwerk
