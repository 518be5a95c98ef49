#include "stellwerk/io/text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace stellwerk {
namespace {

TEST(Text, StaysOnOneLine) {
  EXPECT_EQ(one_line("a\nb\x7f\tü"), "a\\x0ab\\x7f\\x09ü");
  EXPECT_EQ(in_quotes("x"), "'x'");
  EXPECT_EQ(in_quotes(std::string(100, 'x')), "'" + std::string(60, 'x') + "...'");
  // Cut between letters, not within one.
  EXPECT_EQ(in_quotes(std::string(59, 'x') + "üüü"), "'" + std::string(59, 'x') + "...'");
}

TEST(Text, GuessesWhatIsClose) {
  EXPECT_EQ(nearest("h0.gpu7", {"h0.gpu6", "h1.gpu7"}), "h0.gpu6");  // the first of several
  EXPECT_EQ(nearest("allgathr", {"allreduce", "allgather"}), "allgather");
  EXPECT_EQ(nearest("knid", {"name", "kind"}), "kind");
  EXPECT_EQ(nearest("node", {"note", "nodes"}), "nodes");
  EXPECT_EQ(nearest("xyz", {"abc"}), "");
  EXPECT_EQ(nearest("", {"a"}), "");
  EXPECT_EQ(did_you_mean("gpu", {"cpu"}), "; did you mean 'cpu'?");
  EXPECT_EQ(did_you_mean("gpu", {"switch"}), "");
}

}  // namespace
}  // namespace stellwerk
