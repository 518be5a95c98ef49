#include "stellwerk/check/byte_coverage.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "stellwerk/base/rng.hpp"

namespace stellwerk {
namespace {

TEST(ByteCoverage, TellsNewBytesFromOldOnesAsAListOfBytesDoes) {
  Rng rng(1);
  for (int round = 0; round < 500; ++round) {
    const std::int64_t total = rng.between(1, 30);
    ByteCoverage coverage(Bytes{total});
    std::vector<bool> bytes(static_cast<std::size_t>(total), false);
    for (int k = 0; k < 12; ++k) {
      const std::int64_t offset = rng.between(0, total - 1);
      const std::int64_t length = rng.between(1, total - offset);
      bool any_new = false;
      for (std::int64_t b = offset; b < offset + length; ++b) {
        any_new = any_new || !bytes[static_cast<std::size_t>(b)];
        bytes[static_cast<std::size_t>(b)] = true;
      }
      EXPECT_EQ(coverage.add(Bytes{offset}, Bytes{length}), any_new);
      EXPECT_EQ(coverage.complete(), std::count(bytes.begin(), bytes.end(), false) == 0);
    }
  }
}

}  // namespace
}  // namespace stellwerk
