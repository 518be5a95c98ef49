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

TEST(Text, LinesAreNumberedAndTakenApart) {
  const auto lines = split_lines("a  b\r\n\n\tc");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].words, (std::vector<std::string_view>{"a", "b"}));
  EXPECT_TRUE(lines[1].words.empty());
  EXPECT_EQ(lines[2].number, 3u);
  EXPECT_EQ(lines[2].words, std::vector<std::string_view>{"c"});
  EXPECT_TRUE(split_lines("").empty());
  EXPECT_EQ(lower_case("SwitchName=Ä"), "switchname=Ä");
}

TEST(Text, NumbersAreTheWholeText) {
  EXPECT_EQ(whole_number<int>("-12"), -12);
  EXPECT_EQ(whole_number<double>("1.5e3"), 1500);
  for (const std::string_view bad : {"", " 1", "1 ", "1x", "+1", "99999999999"})
    EXPECT_EQ(whole_number<int>(bad), std::nullopt) << bad;
  EXPECT_EQ(whole_number<unsigned>("-1"), std::nullopt);
}

TEST(Text, LinesAreTakenOffOneByOne) {
  std::string_view rest = "a\r\n\nb";
  EXPECT_EQ(take_line(rest), "a\r");
  EXPECT_EQ(take_line(rest), "");
  EXPECT_EQ(take_line(rest), "b");
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(trimmed("\t a b \r"), "a b");
  EXPECT_EQ(trimmed(" \t"), "");
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
