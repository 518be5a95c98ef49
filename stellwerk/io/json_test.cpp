// The reader of JSON against an independent one, on texts changed at random; what is too much; what becomes of columns.
#include "stellwerk/io/json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/rng.hpp"

namespace stellwerk::json {
namespace {

using Other = nlohmann::json;

Other rebuilt(const Place& place) {
  if (place.is_null()) return nullptr;
  if (place.is_text()) return std::string(place.text());
  if (place.is_array()) {
    Other list = Other::array();
    for (std::size_t i = 0; i < place.size(); ++i) list.push_back(rebuilt(place[i]));
    return list;
  }
  if (place.is_object()) {
    Other object = Other::object();
    for (std::size_t i = 0; i < place.members().size(); ++i)
      object[std::string(place.members()[i].key)] = rebuilt(place.member(i));
    return object;
  }
  const std::string kind = place.kind();
  if (kind == "true" || kind == "false") return place.boolean();
  if (kind != "an integer") return place.number();
  try {
    return place.integer();
  } catch (const Error&) {
    return place.unsigned_integer();
  }
}

std::string message_of(std::string_view text, Origin origin = Origin::foreign) {
  try {
    const Document document(text, "f", origin);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Json, ReadsWhatAnIndependentReaderReads) {
  const std::vector<std::string> samples = {
      R"({"a": [1, 22, -3], "b": [[1, 2], [], [3]], "c": [[1], ["x"]], "d": {"e": null, "f": [true, false]}})",
      R"([[[0, 1], [2]], [[3]], [[], 4], "\u00e9\n\ud83d\ude00\\\/", 1.5e3, -0, 18446744073709551615])",
      "\xef\xbb\xbf{\"k\xc3\xa9y\": \"\xe2\x82\xac \xf0\x9f\x98\x80\", \"n\": [0.25, 1E+2, "
      "9223372036854775808, 0e-41, 123456789012345678901234567890]}",
      R"(  "text"  )",
      "-12",
      "[ ]",
      "{ }"};
  const std::string_view kChanges =
      "{}[],:\"\\0159.-+eEutrfalsn \n\x01\x7f\x80\xbf\xc3\xed\xa0\xf4";
  Rng rng(11);
  int read = 0, refused = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::string text = samples[rng.below(samples.size())];
    for (std::uint64_t k = rng.below(4); k > 0 && !text.empty(); --k) {
      const std::size_t at = rng.below(text.size());
      const char c = kChanges[rng.below(kChanges.size())];
      const std::uint64_t how = rng.below(3);
      if (how == 0) text[at] = c;
      if (how == 1) text.insert(at, 1, c);
      if (how == 2) text.erase(at, 1);
    }
    const Other expected = Other::parse(text, nullptr, false);
    const std::string message = message_of(text);
    // Ours alone: a key that is there twice, numbers that double does not hold.
    if (message.find("twice") != std::string::npos ||
        message.find("too large or too close") != std::string::npos ||
        message.find("too big") != std::string::npos)
      continue;
    ASSERT_EQ(expected.is_discarded(), !message.empty()) << text << "\n" << message;
    if (!message.empty()) {
      ++refused;
      continue;
    }
    ++read;
    const Document document(text, "f");
    ASSERT_EQ(rebuilt(Place(document)), expected) << text;
  }
  EXPECT_GT(read, 8000);
  EXPECT_GT(refused, 8000);
}

TEST(Json, TellsWhatIsWrongAndWhere) {
  const auto expect = [](std::string_view text, const std::string& message) {
    EXPECT_EQ(message_of(text), "f: " + message) << text;
  };
  const std::string place = ": this is not JSON: ";
  expect("[1,\n 2 3]",
         "line 2, column 4" + place + "Missing a comma or ']' after an array element");
  expect("{\"a\" 1}", "line 1, column 6" + place + "Missing a colon after a name of object member");
  expect("{a: 1}", "line 1, column 2" + place + "Missing a name for object member");
  expect("[\"\xc3\xa9\", +]", "line 1, column 7" + place + "Invalid value");
  expect("[\"ab", "line 1, column 5" + place +
                      "Missing a closing quotation mark in string (the text ends here)");
  expect("[\"\\x\"]", "line 1, column 3" + place + "Invalid escape character in string");
  expect("[\"\\ud800\"]", "line 1, column 3" + place + "The surrogate pair in string is invalid");
  expect("[\"\\udc00\"]", "half of a surrogate pair (\\uDC00 to \\uDFFF) stands alone in a text");
  expect("[1e999]", "line 1, column 2" + place + "Number too big to be stored in double");
  expect("{\"a\": [1e-999]}", "/a: a number that is too large or too close to 0");
  expect("{\"a\": [{\"b\": 1, \"b\": 2}]}",
         "/a/0/b: the key appears twice in one object: remove one of them");
}

// Once a list of lists was 56 bytes an entry and more: a hundred megabytes of [0], took 1.4 GB.
TEST(Json, ListsOfListsOfIntegersArePacked) {
  static_assert(sizeof(Value) == 16 && sizeof(Member) == 32);
  std::string text = "{\"links\": [";
  for (int i = 0; i < 1000; ++i) text += "[" + std::to_string(i) + "],";
  text += "[]]}";
  const Document document(text, "f");
  EXPECT_EQ(document.root().object[0].value.kind, Kind::rows);
  const Place root(document), links = root.at("links");
  ASSERT_EQ(links.size(), 1001U);
  const Place row = links[999], last = links[1000];
  ASSERT_EQ(row.integers().size(), 1U);
  EXPECT_EQ(row.integers()[0], 999);
  EXPECT_EQ(last.size(), 0U);
}

}  // namespace
}  // namespace stellwerk::json
