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
#include "stellwerk/io/text.hpp"
#include "tool/commands.hpp"
#include "tool/verify_program.hpp"

namespace stellwerk::tool {
namespace {

/// A file of our own, or JSON that our reader shall complain of.
bool is_own(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return true;
  return text[start] == '{' &&
         (text.substr(0, 4096).find("\"stellwerk.") != std::string_view::npos || !recognise(text));
}

int judge_foreign(std::string_view text, const std::string& path) {
  if (static_cast<std::int64_t>(text.size()) > kMaxForeignBytes) {
    throw Error(ErrorCode::unreadable_input,
                one_line(path) + ": too large for a program (more than 64 MiB)");
  }
  const FormatRow* row = recognise(text);
  if (row && row->name == "msccl-xml") return judge_msccl(text, path);
  if (row && row->name == "mscclpp") return judge_mscclpp(text, path);
  throw Error(ErrorCode::unreadable_input,
              one_line(path) + ": " +
                  (row ? "recognised as " + std::string(row->summary) : "not recognised") +
                  ", but a plan of Stellwerk, an MSCCL algorithm or an MSCCL++ execution plan is "
                  "wanted" +
                  (row && !row->remedy.empty() ? "; " + std::string(row->remedy) : ""));
}

/// The exit status that one file asks for.
int judge_file(const std::string& path, bool in_full) {
  std::string text = read_file(path);
  if (!is_own(text)) return judge_foreign(text, path);
  EventfulPlan plan = parse_eventful_plan(text, path);
  std::string().swap(text);
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
      {"PLAN", "", "plan files, MSCCL algorithms (XML) and execution plans of MSCCL++",
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
