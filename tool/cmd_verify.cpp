// stellwerk verify: judges plan files, and programs of runtimes.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/core/expansion.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/formats.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "tool/commands.hpp"
#include "tool/verify_program.hpp"

namespace stellwerk::tool {
namespace {

/// The exit status that one file asks for.
int judge_file(const std::string& path, bool in_full) {
  if (path.ends_with(".xml")) return judge_msccl(read_file(path, kMaxForeignBytes), path);
  if (holds_mscclpp(path)) return judge_mscclpp(read_file(path, kMaxForeignBytes), path);
  EventfulPlan plan = read_eventful_plan(path);
  if (in_full) expand(plan);
  const Verdict verdict = verify(plan);
  if (!verdict.valid()) {
    fmt::print("{}: not valid: {}: {}\n", path, to_string(*verdict.violation), verdict.message);
    return static_cast<int>(ErrorCode::verification_failed);
  }
  const std::int64_t images = images_of_chunks(plan.problem);
  const std::int64_t sends = images * static_cast<std::int64_t>(plan.sends.size());
  fmt::print("{}: valid, {} in {} send{}{}\n", path, to_string(verdict.transfer_time), sends,
             sends == 1 ? "" : "s",
             images == 1 ? "" : fmt::format(" ({} representatives)", plan.sends.size()));
  return 0;
}

/// Every file is judged; the gravest status is the answer.
int run(const std::vector<std::string>& paths, bool in_full) {
  int status = 0;
  for (const std::string& path : paths) {
    try {
      status = std::max(status, judge_file(path, in_full));
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
  arguments.operands(
      {"PLAN", "", "plan files, MSCCL algorithms (.xml) and execution plans of MSCCL++",
       "stellwerk verify plan.json other.json.zst"},
      *paths);
  const auto in_full = std::make_shared<bool>(false);
  arguments.flag({"--expand", "",
                  "judge every send of a compressed plan, not representatives through the group",
                  "stellwerk verify plan.json --expand"},
                 *in_full);
  return [paths, in_full] { return run(*paths, *in_full); };
}

}  // namespace stellwerk::tool
