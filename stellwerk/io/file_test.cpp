#include "stellwerk/io/file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

namespace fs = std::filesystem;

class File : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "stellwerk-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string in_folder(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : fs::directory_iterator(folder_))
      result.push_back(entry.path().filename());
    return result;
  }
  static std::string raw(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void put(const std::string& path, const std::string& contents) {
    std::ofstream(path, std::ios::binary) << contents;
  }
  template <class Action>
  static std::string complaint(Action action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unreadable_input);
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(File, WhatIsWrittenIsRead) {
  for (const std::string name : {"plain.json", "packed.json.zst"}) {
    for (const std::string& contents :
         {std::string(), std::string("x\0y\n", 4), std::string(3'000'000, 'a')}) {
      write_file(in_folder(name), contents);
      EXPECT_EQ(read_file(in_folder(name)), contents) << name << contents.size();
    }
  }
  EXPECT_EQ(raw(in_folder("plain.json")), std::string(3'000'000, 'a'));
  EXPECT_LT(raw(in_folder("packed.json.zst")).size(), 10'000U);
  EXPECT_EQ(names().size(), 2U);
}

TEST_F(File, SeveralZstdFramesAreOneFile) {
  write_file(in_folder("a.zst"), std::string(1 << 20, 'a'));
  write_file(in_folder("b.zst"), "b");
  put(in_folder("c.zst"), raw(in_folder("a.zst")) + raw(in_folder("b.zst")));
  EXPECT_EQ(read_file(in_folder("c.zst")), std::string(1 << 20, 'a') + "b");
}

TEST_F(File, BrokenZstdIsRefused) {
  write_file(in_folder("a.zst"), std::string(100'000, 'a') + "end");
  const std::string good = raw(in_folder("a.zst"));
  put(in_folder("cut.zst"), good.substr(0, good.size() - 3));
  EXPECT_EQ(complaint([&] { read_file(in_folder("cut.zst")); }),
            in_folder("cut.zst") + ": the zstd data end too early: the file is cut off");
  put(in_folder("text.zst"), "{}");
  EXPECT_NE(complaint([&] { read_file(in_folder("text.zst")); }).find("text.zst: "),
            std::string::npos);
  put(in_folder("text.zst"), "{\"format\": \"stellwerk.topology/1\"}");
  EXPECT_NE(complaint([&] { read_file(in_folder("text.zst")); }).find("is not valid zstd data"),
            std::string::npos);
  put(in_folder("empty.zst"), "");
  EXPECT_NE(complaint([&] { read_file(in_folder("empty.zst")); }), "");
}

TEST_F(File, WhatExplodesIsRefusedBeforeItFillsTheMemory) {
  std::string large;
  large.resize(50'000'000, 'a');
  write_file(in_folder("bomb.zst"), large);
  EXPECT_LT(fs::file_size(in_folder("bomb.zst")), 10'000U);
  EXPECT_EQ(complaint([&] { read_file(in_folder("bomb.zst"), 1'000'000); }),
            in_folder("bomb.zst") +
                ": the contents are larger than 1000000 bytes, which is more than is read");
  // Few bytes for more than any plan's: refused at 64 MiB, not at 4 GiB.
  large.resize(80'000'000, 'a');
  write_file(in_folder("bomb.zst"), large);
  EXPECT_EQ(complaint([&] { read_file(in_folder("bomb.zst")); }),
            in_folder("bomb.zst") +
                ": unpacks to more than 2000 times its size: if it is meant, "
                "unpack it (zstd -d) and name that file");
  write_file(in_folder("large"), std::string(1001, 'a'));
  EXPECT_NE(complaint([&] { read_file(in_folder("large"), 1000); }), "");
  EXPECT_EQ(read_file(in_folder("large"), 1001).size(), 1001U);
}

TEST_F(File, MissingFilesAndFoldersAreNamed) {
  EXPECT_EQ(complaint([&] { read_file(in_folder("none")); }),
            in_folder("none") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(complaint([&] { read_file(folder_.string()); }),
            folder_.string() + ": cannot be read: Is a directory");
  EXPECT_EQ(complaint([&] { write_file(folder_.string(), "x"); }),
            folder_.string() + ": is a folder: name a file in it");
  EXPECT_EQ(complaint([&] { write_file(in_folder("none/file"), "x"); }),
            in_folder("none/file") + ": cannot be written: No such file or directory");
  EXPECT_EQ(complaint([&] { write_file("/dev/full", "x"); }),
            "/dev/full: cannot be written: No space left on device");
  EXPECT_TRUE(names().empty());
}

TEST_F(File, AnUnwritableFolderIsLeftAsItWas) {
  // Root may write everywhere, so it becomes somebody else for a moment.
  const uid_t self = ::geteuid();
  ::chmod(folder_.c_str(), 0555);
  if (self == 0) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const std::string message = complaint([&] { write_file(in_folder("file"), "x"); });
  if (self == 0) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  ::chmod(folder_.c_str(), 0755);
  EXPECT_EQ(message, in_folder("file") + ": cannot be written: Permission denied");
  EXPECT_TRUE(names().empty());
}

TEST_F(File, AFailureHalfwayKeepsTheOldFileAndLeavesNothingElse) {
  write_file(in_folder("file"), "old");
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &usual), 0);
  const rlimit small{100'000, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message =
      complaint([&] { write_file(in_folder("file"), std::string(200'000, 'n')); });
  ::setrlimit(RLIMIT_FSIZE, &usual);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message, in_folder("file") + ": cannot be written: File too large");
  EXPECT_EQ(raw(in_folder("file")), "old");
  EXPECT_EQ(names(), (std::vector<std::string>{"file"}));
}

TEST_F(File, LinksAndModesSurvive) {
  write_file(in_folder("real"), "old");
  ::chmod(in_folder("real").c_str(), 0640);
  fs::create_symlink("real", in_folder("link"));
  write_file(in_folder("link"), "new");
  EXPECT_TRUE(fs::is_symlink(in_folder("link")));
  EXPECT_EQ(raw(in_folder("real")), "new");
  EXPECT_EQ(fs::status(in_folder("real")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
}

TEST_F(File, DevicesAreWrittenTo) {
  write_file("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace stellwerk
