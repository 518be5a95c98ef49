// Clusters of several kinds of boxes.
#include <gtest/gtest.h>

#include <map>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/catalogue.hpp"

namespace stellwerk {
namespace {

TEST(Mix, BoxesKeepTheirLinksAndShareRails) {
  const Topology mix = catalogue_topology("mix:dgx-a100:2+dgx-h100:1/4");
  EXPECT_EQ(mix.gpus().size(), 24U);
  EXPECT_EQ(mix.nodes().size(), 24U + 3 + 8);
  std::map<std::int64_t, int> links;  // by MB/s
  for (const Link& link : mix.links()) ++links[link.bandwidth.bytes_per_second / 1'000'000];
  const std::map<std::int64_t, int> expected = {
      {25'000, 2 * 16}, {50'000, 2 * 4}, {300'000, 2 * 16}, {450'000, 2 * 8}};
  EXPECT_EQ(links, expected);
  // The third box has NICs at every second GPU.
  const auto degree = [&](const char* name) { return mix.out(*mix.find(name)).size(); };
  EXPECT_EQ(degree("h2.gpu0"), 2U);
  EXPECT_EQ(degree("h2.gpu1"), 1U);
  EXPECT_EQ(degree("rail1"), 2U);
  EXPECT_EQ(degree("rail2"), 3U);
}

TEST(Mix, OneNicMayBeSlow) {
  const Topology mix = catalogue_topology("mix:dgx-h100:2,slow-nic=x0.5,fabric=switch");
  int slow = 0;
  for (const LinkId id : mix.link_ids()) {
    const Link& link = mix.link(id);
    if (link.bandwidth.bytes_per_second != 25'000'000'000) continue;
    ++slow;
    EXPECT_EQ(mix.node(mix.stores(link.from) ? link.from : link.to).name, "h0.gpu0");
  }
  EXPECT_EQ(slow, 2);
}

TEST(Mix, RefusesWhatItDoesNotKnow) {
  for (const char* name :
       {"mix", "mix:", "mix:dgx-a100", "mix:dgx1:2", "mix:dgx-a100:0", "mix:dgx-a100:2/3",
        "mix:dgx-a100:2+", "mix:dgx-a100:2,slow-nic=x2", "mix:dgx-a100:2,fabric=x"}) {
    EXPECT_THROW(catalogue_topology(name), Error) << name;
  }
}

}  // namespace
}  // namespace stellwerk
