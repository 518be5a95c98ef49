#include "process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/support/paths.hpp"

namespace stellwerk::tests {
namespace {

constexpr const char* kOut = ".stdout";
constexpr const char* kErr = ".stderr";

void redirect(const std::filesystem::path& path, int flags, int target) {
  const int file = open(path.c_str(), flags, 0600);
  if (file < 0 || dup2(file, target) < 0) _exit(126);
}

}  // namespace

Sandbox::Sandbox() {
  std::string name = (std::filesystem::temp_directory_path() / "stellwerk-cli-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = name;
}

Sandbox::~Sandbox() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Sandbox::write(const std::string& name, const std::string& contents) const {
  std::ofstream(path(name), std::ios::binary) << contents;
}

std::string Sandbox::read(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(path(name), std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> Sandbox::files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name != kOut && name != kErr) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

pid_t Sandbox::start(const std::vector<std::string>& arguments) const {
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), testing::kToolPath);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    redirect("/dev/null", O_RDONLY, STDIN_FILENO);
    redirect(path(kOut), O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect(path(kErr), O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    if (chdir(folder_.c_str()) != 0) _exit(126);
    execv(argv[0], argv.data());
    _exit(127);
  }
  return child;
}

Outcome Sandbox::wait(pid_t process) const {
  int status = 0;
  if (waitpid(process, &status, 0) != process) throw std::runtime_error("cannot wait");
  Outcome outcome;
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = read(kOut);
  outcome.err = read(kErr);
  return outcome;
}

Outcome Sandbox::run(const std::vector<std::string>& arguments) const {
  return wait(start(arguments));
}

Outcome Sandbox::run(const std::string& arguments) const { return run(split(arguments)); }

std::vector<std::string> split(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace stellwerk::tests
