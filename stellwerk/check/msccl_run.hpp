// Runs an MSCCL program on symbolic data: every chunk is the list of addends that it holds. Shares nothing with the code that writes such
// programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/check/history.hpp"
#include "stellwerk/check/msccl_program.hpp"

namespace stellwerk::check {

/// What breaks the rules that every runtime has, whatever the data: one line each, with the line of the file. Empty if nothing
/// does.
std::vector<std::string> msccl_faults(const MscclProgram& program);

/// The limits of one runtime.
struct MscclTarget {
  const char* name;
  int steps;   ///< in a thread block, nops included
  int blocks;  ///< of a GPU
  int blocks_a_channel;
  int channels;
  int count;          ///< chunks of one step
  int awaited_block;  ///< highest number of a block that others may wait for
  int nodes;          ///< XML elements that the parser keeps: a GPU's own and every <gpu>
  std::vector<std::string_view> collectives;
  std::vector<std::string_view> needed;  ///< attributes of <algo> besides those that all need
  bool tabs;                             ///< are taken between elements
  bool exact;  ///< i_chunks and o_chunks must be 0 or what nchunksperloop makes them
};

/// microsoft/msccl, Azure's executor, RCCL; sources in docs/programs.md.
const std::vector<MscclTarget>& msccl_targets();

/// What keeps `target` from taking the program: limits that it exceeds, names that it does not know, attributes and syntax. One line
/// each.
std::vector<std::string> msccl_excesses(const MscclProgram& program, const MscclTarget& target);

/// How a run ended.
struct MscclOutcome {
  bool complete = false;             ///< every step was done
  std::string stuck;                 ///< if not: a step that waits, and for what
  std::optional<std::string> wrong;  ///< a chunk that does not hold what the collective promises
  std::optional<std::string>
      race;  ///< two steps that may come in either order and touch the same chunk, one of them writing

  bool races_looked_for = true;  ///< false where that would take too much memory

  bool right() const { return complete && !wrong; }
};

/// Runs the program with connections that hold `capacity` steps' worth of data before the sender has to wait (at
/// least 1). Precondition: no faults. A collective that is not known (msccl_knows) promises nothing, and any run of it is right. What was done with the data goes to `history`, if one
/// is given: complete only if the outcome is right.
MscclOutcome run_msccl(const MscclProgram& program, bool in_place, int capacity,
                       History* history = nullptr);

/// The least capacity at which the program completes, up to `most`; nothing if it does not.
std::optional<int> least_msccl_capacity(const MscclProgram& program, bool in_place, int most = 64);

}  // namespace stellwerk::check
