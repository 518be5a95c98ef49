#include "tool/verify_program.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/msccl_run.hpp"
#include "stellwerk/io/msccl_xml.hpp"

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
    for (const std::string& fault : faults) fmt::print("{}: not valid: {}\n", path, fault);
    return kWrong;
  }
  int status = 0;
  if (program.out_of_place || !program.in_place)
    status = std::max(status, judge_call(program, path, false));
  if (program.in_place) status = std::max(status, judge_call(program, path, true));
  for (const MscclTarget& target : msccl_targets()) {
    for (const std::string& excess : msccl_excesses(program, target))
      fmt::print("{}: too much for {}: {}\n", path, target.name, excess);
  }
  return status;
}

}  // namespace stellwerk::tool
