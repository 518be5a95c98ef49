#include "tool/import_program.hpp"

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

[[noreturn]] void not_valid(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::verification_failed, one_line(path) + ": not valid: " + one_line(why));
}

template <class Outcome>
void must_be_right(const Outcome& outcome, const std::string& path) {
  if (!outcome.complete) not_valid(path, "never completes: " + outcome.stuck);
  if (outcome.wrong) not_valid(path, *outcome.wrong);
  if (outcome.race) not_valid(path, "race: " + *outcome.race);
}

template <class Program>
LiftedProgram lifted(const Program& program, const History& history, Topology topology, Bytes size,
                     const std::string& path) {
  return {lower::lift(history, program.collective, size, std::move(topology), one_line(path)),
          fmt::format("{}, {} steps", program.name.empty() ? "no name" : one_line(program.name),
                      program.steps())};
}

}  // namespace

LiftedProgram import_msccl(std::string_view text, Topology topology, Bytes size,
                           const std::string& path) {
  const MscclProgram program = read_msccl_xml(text, path);
  if (const auto faults = msccl_faults(program); !faults.empty()) not_valid(path, faults.front());
  const bool in_place = program.in_place && !program.out_of_place;
  constexpr int kMostCapacity = 64;
  const int capacity =
      least_msccl_capacity(program, in_place, kMostCapacity).value_or(kMostCapacity);
  History history;
  must_be_right(run_msccl(program, in_place, capacity, &history), path);
  // Where the file names no protocol, what the roomiest one holds.
  const int room = msccl_capacity(program.protocol).value_or(8);
  if (capacity > room)
    not_valid(path,
              fmt::format("connections must hold {} steps, and they hold {}", capacity, room));
  LiftedProgram result = lifted(program, history, std::move(topology), size, path);
  result.lifted.plan.result.planner = "msccl";
  return result;
}

LiftedProgram import_mscclpp(std::string_view text, Topology topology, Bytes size,
                             const std::string& path) {
  const MscclppProgram program = read_mscclpp(text, path);
  if (const auto faults = mscclpp_faults(program); !faults.empty()) not_valid(path, faults.front());
  if (const auto reason = mscclpp_unjudged(program)) {
    throw Error(ErrorCode::unreadable_input,
                path + ": an MSCCL++ plan that is not judged here: " + *reason);
  }
  for_each_mscclpp_step(program, [&](const MscclppGpu&, const MscclppBlock&,
                                     const MscclppStep& step, const std::string& place) {
    if (step.op == MscclppOp::pipeline) {
      throw Error(ErrorCode::unreadable_input,
                  path + ": " + place +
                      ": how a pipeline cuts its chunks depends on the call, so it is no plan");
    }
  });
  History history;
  const MscclppOutcome outcome = run_mscclpp(program, false, &history);
  must_be_right(outcome, path);
  if (outcome.left_over) not_valid(path, *outcome.left_over);
  LiftedProgram result = lifted(program, history, std::move(topology), size, path);
  result.lifted.plan.result.planner = "mscclpp";
  return result;
}

}  // namespace stellwerk::tool
