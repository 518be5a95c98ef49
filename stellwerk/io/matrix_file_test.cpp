#include "stellwerk/io/matrix_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

using ::testing::HasSubstr;

std::string complaint(std::string_view text) {
  try {
    parse_matrix(text, "m.csv");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MatrixFile, ReadsJsonAndCsvAlike) {
  const ByteMatrix expected = {{Bytes{0}, Bytes{4096}}, {Bytes{8192}, Bytes{0}}};
  EXPECT_EQ(parse_matrix("[[0, 4096], [8192, 0]]", "m"), expected);
  EXPECT_EQ(parse_matrix(" [[0, \"4KiB\"],\n [8192, 0]]\n", "m"), expected);
  EXPECT_EQ(parse_matrix("0,4096\n8192,0\n", "m"), expected);
  EXPECT_EQ(parse_matrix("# from, to\n0;\t4096\r\n\n8192 0", "m"), expected);
}

TEST(MatrixFile, NamesWhatIsWrong) {
  EXPECT_THAT(complaint("0,1\n2,x\n"), HasSubstr("m.csv: line 2, entry 2: 'x'"));
  EXPECT_THAT(complaint("0,-1\n2,0\n"), HasSubstr("line 1, entry 2"));
  EXPECT_THAT(complaint("0,1\n2,3,4\n"), HasSubstr("row 2 has 3 entries"));
  EXPECT_THAT(complaint("0,1\n"), HasSubstr("row 1 has 2 entries, and there are 1 rows"));
  // Seen before all rows are kept: fifty million of one entry took 2 GB.
  EXPECT_THAT(complaint("0\n0\n0\n"),
              HasSubstr("row 1 has 1 entries, and there are more than 1 rows"));
  EXPECT_THAT(complaint("[[0], [\"not read\"]]"),
              HasSubstr("row 1 has 1 entries, and there are 2 rows"));
  EXPECT_THAT(complaint(""), HasSubstr("holds no matrix"));
  EXPECT_THAT(complaint("[[0, 1.5], [1, 0]]"), HasSubstr("m.csv: /0/1"));
}

}  // namespace
}  // namespace stellwerk
