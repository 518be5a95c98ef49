#include "stellwerk/io/msccl_xml.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/msccl_run.hpp"
#include "stellwerk/io/file.hpp"
#include "tests/support/paths.hpp"

namespace stellwerk {
namespace {

const std::string kSwap =
    "<!-- two ranks swap -->\n<algo name=\"swap\" proto=\"Simple\" nchannels=\"1\" "
    "nchunksperloop=\"2\" ngpus=\"2\" coll=\"allgather\" inplace=\"1\">\n"
    "<gpu id=\"0\" i_chunks=\"0\" o_chunks=\"2\" s_chunks=\"0\"><copy i_off=\"0\"/><tb id=\"0\" "
    "send=\"1\" recv=\"1\" chan=\"0\">\n"
    "<step s=\"0\" type=\"s\" srcbuf=\"o\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" "
    "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
    "<step s=\"1\" type=\"r\" srcbuf=\"o\" srcoff=\"1\" dstbuf=\"o\" dstoff=\"1\" cnt=\"1\" "
    "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
    "</tb></gpu>\n<gpu id=\"1\" i_chunks=\"0\" o_chunks=\"2\" s_chunks=\"0\"><tb id=\"0\" "
    "send=\"0\" recv=\"0\" chan=\"0\">\n"
    "<step s=\"0\" type=\"s\" srcbuf=\"o\" srcoff=\"1\" dstbuf=\"o\" dstoff=\"1\" cnt=\"1\" "
    "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
    "<step s=\"1\" type=\"r\" srcbuf=\"o\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" "
    "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
    "</tb></gpu></algo>\n";

TEST(MscclXml, IsReadWithWhatOldFilesLeaveOut) {
  EXPECT_TRUE(looks_like_msccl_xml(kSwap));
  const check::MscclProgram program = read_msccl_xml(kSwap, "swap.xml");
  EXPECT_TRUE(program.in_place);
  EXPECT_FALSE(program.out_of_place);
  EXPECT_EQ(program.gpus[1].blocks[0].steps[1].line, 9u);
  EXPECT_TRUE(check::msccl_faults(program).empty());
  EXPECT_TRUE(check::run_msccl(program, true, 1).right());
}

TEST(MscclXml, WhatOnlyXmlAllowsIsNoted) {
  using Missing = std::vector<std::string>;
  const auto syntax = [](std::string text) { return read_msccl_xml(text, "swap.xml").syntax; };
  const check::MscclSyntax old = syntax(kSwap);
  EXPECT_EQ(old.missing, (Missing{"outofplace", "minBytes", "maxBytes"}));
  EXPECT_FALSE(old.declaration || old.tabs || old.blanks);
  const std::string declared = "<?xml version=\"1.0\"?>\n" + kSwap;
  EXPECT_TRUE(looks_like_msccl_xml(declared));
  EXPECT_TRUE(syntax(declared).declaration);
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kSwap;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  EXPECT_TRUE(syntax(with("\n<gpu", "\n\t<gpu")).tabs);
  EXPECT_FALSE(syntax(with("two ranks", "two\tranks")).tabs);
  EXPECT_FALSE(syntax(with("\"swap\"", "\"a\t > b\"")).tabs);
  EXPECT_TRUE(syntax(with(" ngpus", "  ngpus")).blanks);
  EXPECT_TRUE(syntax(with(" ngpus", "\nngpus")).blanks);
  EXPECT_FALSE(syntax(with("hasdep=\"0\"/>", "hasdep=\"0\" />")).blanks);
}

TEST(MscclXml, DamageIsRefusedWithItsLine) {
  const auto refused = [](const std::string& from, const std::string& to, const std::string& part) {
    std::string text = kSwap;
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    try {
      read_msccl_xml(text, "swap.xml");
      FAIL() << "accepted; wanted: " << part;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find("swap.xml:"), 0u) << error.what();
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  refused("type=\"r\"", "type=\"q\"", ":5: type='q' is none of s, r,");
  refused("ngpus=\"2\"", "ngpus=\"3\"", "ngpus=3, but there are 2 elements");
  refused("ngpus=\"2\"", "", "<algo> has no attribute ngpus");
  refused("s=\"1\" type", "s=\"2\" type", ":5: s='2' is at place 1");
  refused("srcbuf=\"o\"", "srcbuf=\"x\"", ":4: srcbuf='x' is none of i, o, s");
  refused("cnt=\"1\"", "cnt=\"one\"", "cnt='one' is not a number");
  // Half a million steps in one block took minutes to judge.
  std::string flood;
  for (int k = 0; k < 20'000; ++k)
    flood += "<step s=\"" + std::to_string(k) +
             "\" type=\"nop\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" "
             "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>";
  refused("<step", flood + "<step", ":3: more than 16384 steps in a thread block");
  refused("o_chunks=\"2\"", "o_chunks=\"99999999999\"",
          "o_chunks='99999999999' is not a number from 0");
}

/// Files of production and of research: what they compute is exact, in any order, and they need no more room than one step.
TEST(MscclXml, TheCorpusIsRightInEveryOrder) {
  const std::filesystem::path corpus =
      std::filesystem::path(testing::kSourceDir) / ".." / "shared" / "corpus" / "msccl_xml";
  if (!std::filesystem::is_directory(corpus)) GTEST_SKIP() << "SKIPPED: no ../shared here";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    const check::MscclProgram program =
        read_msccl_xml(read_file(entry.path().string()), entry.path().string());
    ASSERT_TRUE(check::msccl_faults(program).empty()) << entry.path();
    ASSERT_TRUE(check::msccl_knows(program.collective)) << entry.path();
    EXPECT_FALSE(program.syntax.declaration || program.syntax.tabs || program.syntax.blanks)
        << entry.path();
    for (const bool in_place : {false, true}) {
      if (in_place ? !program.in_place : !program.out_of_place) continue;
      const check::MscclOutcome outcome = check::run_msccl(program, in_place, 1);
      EXPECT_TRUE(outcome.right()) << entry.path() << outcome.stuck << outcome.wrong.value_or("");
      EXPECT_FALSE(outcome.race) << entry.path() << *outcome.race;
    }
    ++files;
  }
  EXPECT_EQ(files, 8u);
}

}  // namespace
}  // namespace stellwerk
