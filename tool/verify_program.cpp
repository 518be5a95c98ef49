#include "tool/verify_program.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/msccl_run.hpp"
#include "stellwerk/check/mscclpp_run.hpp"
#include "stellwerk/io/msccl_xml.hpp"
#include "stellwerk/io/mscclpp_json.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk::tool {
namespace {

using namespace check;

constexpr int kWrong = static_cast<int>(ErrorCode::verification_failed);

/// One way to call it.
int judge_call(const MscclProgram& program, const std::string& path, bool in_place) {
  const char* call = in_place ? "in place" : "out of place";
  constexpr int kMostCapacity = 64;
  const auto capacity = least_msccl_capacity(program, in_place, kMostCapacity);
  const MscclOutcome outcome = run_msccl(program, in_place, capacity.value_or(kMostCapacity));
  if (!outcome.complete) {
    fmt::print("{}: not valid {}: never completes: {}\n", path, call, outcome.stuck);
    return kWrong;
  }
  if (outcome.wrong) {
    fmt::print("{}: not valid {}: {}\n", path, call, *outcome.wrong);
    return kWrong;
  }
  if (outcome.race) {
    fmt::print("{}: not valid {}: race: {}\n", path, call, *outcome.race);
    return kWrong;
  }
  // Where the file names no protocol, what the roomiest one holds.
  const int room = msccl_capacity(program.protocol).value_or(8);
  if (*capacity > room) {
    fmt::print(
        "{}: not valid {}: connections must hold {} steps, and with protocol {} they hold {}\n",
        path, call, *capacity, program.protocol.empty() ? "LL" : program.protocol, room);
    return kWrong;
  }
  fmt::print("{}: valid {}: {} of {} GPUs, {} steps; connections must hold {} step{}{}\n", path,
             call, program.collective, program.gpus.size(), program.steps(), *capacity,
             *capacity == 1 ? "" : "s",
             outcome.races_looked_for ? "" : "; too large to look for races");
  return 0;
}

}  // namespace

int judge_msccl(std::string_view text, const std::string& path) {
  const MscclProgram program = read_msccl_xml(text, path);
  if (const auto faults = msccl_faults(program); !faults.empty()) {
    for (const std::string& fault : faults)
      fmt::print("{}: not valid: {}\n", path, one_line(fault));
    return kWrong;
  }
  if (!msccl_knows(program.collective)) {
    throw Error(ErrorCode::unreadable_input,
                path + ": an MSCCL algorithm that is not judged here: what " +
                    in_quotes(program.collective) + " promises is not known" +
                    did_you_mean(program.collective, msccl_collectives()));
  }
  int status = 0;
  if (program.out_of_place || !program.in_place)
    status = std::max(status, judge_call(program, path, false));
  if (program.in_place) status = std::max(status, judge_call(program, path, true));
  for (const MscclTarget& target : msccl_targets()) {
    for (const std::string& excess : msccl_excesses(program, target))
      fmt::print("{}: not for {}: {}\n", path, target.name, one_line(excess));
  }
  return status;
}

int judge_mscclpp(std::string_view text, const std::string& path) {
  const MscclppProgram program = read_mscclpp(text, path);
  if (const auto faults = mscclpp_faults(program); !faults.empty()) {
    for (const std::string& fault : faults) fmt::print("{}: not valid: {}\n", path, fault);
    return kWrong;
  }
  if (const auto reason = mscclpp_unjudged(program)) {
    throw Error(ErrorCode::unreadable_input,
                path + ": an MSCCL++ plan that is not judged here: " + *reason);
  }
  const MscclppOutcome outcome = run_mscclpp(program, false);
  const char* call = program.in_place ? "in place" : "out of place";
  const auto wrong = [&](const std::string& what) {
    fmt::print("{}: not valid {}: {}\n", path, call, what);
    return kWrong;
  };
  if (!outcome.complete) return wrong("never completes: " + outcome.stuck);
  if (outcome.wrong) return wrong(*outcome.wrong);
  if (outcome.race) return wrong("race: " + *outcome.race);
  if (outcome.left_over) return wrong(*outcome.left_over);
  if (const auto excesses = mscclpp_excesses(program); !excesses.empty())
    return wrong("too much for MSCCL++: " + excesses.front());
  int scratch = 0;
  std::size_t blocks = 0;
  for (const MscclppGpu& gpu : program.gpus) {
    scratch = std::max(scratch, gpu.scratch);
    blocks = std::max(blocks, gpu.blocks.size());
  }
  fmt::print(
      "{}: valid {}: {} of {} GPUs, {} operations; at most {} thread block{} and {} chunk{} of "
      "scratch on a GPU\n",
      path, call, program.collective, program.gpus.size(), program.steps(), blocks,
      blocks == 1 ? "" : "s", scratch, scratch == 1 ? "" : "s");
  if (const MscclppOutcome strict = run_mscclpp(program, true); strict.race)
    fmt::print("{}: rests on relaxed signals: {}\n", path, *strict.race);
  for (const std::string& note : program.passed_over) fmt::print("{}: note: {}\n", path, note);
  for (const std::string& trap : mscclpp_traps(program))
    fmt::print("{}: trap of MSCCL++ 0.9.0: {}\n", path, trap);
  return 0;
}

}  // namespace stellwerk::tool
