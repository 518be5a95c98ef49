// stellwerk verify: judges plan files.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "tool/commands.hpp"

namespace stellwerk::tool {
namespace {

/// The exit status that one file asks for.
int judge_file(const std::string& path) {
  const Plan plan = read_plan(path);
  const Verdict verdict = verify(plan);
  if (!verdict.valid()) {
    fmt::print("{}: not valid: {}: {}\n", path, to_string(*verdict.violation), verdict.message);
    return static_cast<int>(ErrorCode::verification_failed);
  }
  fmt::print("{}: valid, {} in {} send{}\n", path, to_string(verdict.transfer_time),
             plan.sends.size(), plan.sends.size() == 1 ? "" : "s");
  return 0;
}

/// Every file is judged; the gravest status is the answer.
int run(const std::vector<std::string>& paths) {
  int status = 0;
  for (const std::string& path : paths) {
    try {
      status = std::max(status, judge_file(path));
    } catch (const Error& error) {
      if (paths.size() == 1) throw;
      fmt::print(stderr, "stellwerk: {}\n", error.what());
      status = std::max(status, static_cast<int>(error.code()));
    }
  }
  return status;
}

}  // namespace

RunCommand declare_verify(Arguments& arguments) {
  const auto paths = std::make_shared<std::vector<std::string>>();
  arguments.operands({"PLAN", "", "plan files", "stellwerk verify plan.json other.json.zst"},
                     *paths);
  return [paths] { return run(*paths); };
}

}  // namespace stellwerk::tool
