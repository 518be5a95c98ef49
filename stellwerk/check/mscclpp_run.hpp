// Runs an execution plan of MSCCL++ on symbolic data: every chunk is the list of addends that it holds. Shares nothing with the code that
// writes such plans.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stellwerk/check/history.hpp"
#include "stellwerk/check/mscclpp_program.hpp"

namespace stellwerk::check {

/// What breaks the rules of the format, whatever the data: one line each. Empty if nothing does.
std::vector<std::string> mscclpp_faults(const MscclppProgram& program);

/// Limits of the runtime that the program exceeds, one line each; what is beyond them overwrites its tables.
std::vector<std::string> mscclpp_excesses(const MscclppProgram& program);

/// What is right by the rules and goes wrong in version 0.9.0 of the runtime, one line each.
std::vector<std::string> mscclpp_traps(const MscclppProgram& program);

/// What run_mscclpp does not model; nothing if it models everything in the program. Precondition: no faults.
std::optional<std::string> mscclpp_unjudged(const MscclppProgram& program);

/// Chunks of a GPU's input and output. A buffer that the file leaves out (0) follows from the collective. Precondition: no faults.
struct MscclppSizes {
  int input = 0, output = 0;
};
MscclppSizes mscclpp_sizes(const MscclppProgram& program);

/// How a run ended.
struct MscclppOutcome {
  bool complete = false;             ///< every operation was done
  std::string stuck;                 ///< if not: an operation that waits, and for what
  std::optional<std::string> wrong;  ///< a chunk that does not hold what the collective promises
  std::optional<std::string>
      race;  ///< two accesses to one chunk, one of them writing, that may come in either
             ///< order; the caller's own before and after the call count as well
  std::optional<std::string> left_over;  ///< a signal or a semaphore that the next call would find
  int calls = 1;                         ///< how many in a row were run

  bool right() const { return complete && !wrong && !race && !left_over; }
};

/// Runs the program. With `strict`, relaxed signals order no data: what they order otherwise comes out as a race.
/// Precondition: no faults, nothing that is not judged. What the first call did with the data goes to `history`, if one is given:
/// complete only if the outcome is right.
MscclppOutcome run_mscclpp(const MscclppProgram& program, bool strict, History* history = nullptr);

}  // namespace stellwerk::check
