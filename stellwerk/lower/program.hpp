// A program for two-sided runtimes: for every rank thread blocks, each with at most one connection in and one out.
#pragma once

#include <string>
#include <vector>

#include "stellwerk/lower/operations.hpp"

namespace stellwerk::lower {

/// One step; see Operation for what it does.
struct Step {
  enum class Kind : std::uint8_t { send, receive, receive_reduce, reduce, copy, wait };
  Kind kind = Kind::wait;  ///< wait: nothing but one more dependency for the next step
  Place source, target;
  int wait_block = -1,
      wait_step = -1;    ///< a step of another thread block of the rank that must be done, or -1
  bool awaited = false;  ///< somebody waits for this step
};

struct ThreadBlock {
  int send = -1, receive = -1;  ///< ranks, or -1
  int channel = 0;
  std::vector<Step> steps;
};

struct RankProgram {
  int input = 0, output = 0, scratch = 0;  ///< chunks
  std::vector<ThreadBlock> blocks;
};

struct Program {
  Collective collective = Collective::allgather;
  bool in_place = false;
  int chunks = 0;  ///< of the larger buffer
  int root = 0;    ///< rank, of rooted collectives
  int channels = 1;
  std::vector<RankProgram> ranks;
};

/// What a runtime can hold.
struct Limits {
  std::string target;
  int steps = 64;   ///< of a thread block, waits included
  int blocks = 64;  ///< of a rank
  int blocks_a_channel = 32;
  int channels = 32;
  int awaited_block = 127;  ///< highest thread block that others may wait for
  int elements = 4096;      ///< thread blocks and steps of a rank, and ranks
};

/// The program of a plan (expanded): operations on thread blocks, one connection each, as many channels between two ranks as the
/// limit on steps asks for; dependencies that others imply are left out. Throws Error(unsolved) if the plan cannot be
/// expressed (see transfers.hpp) or exceeds a limit, with what to change.
Program lower_plan(const Plan& plan, bool in_place, const Limits& limits);

}  // namespace stellwerk::lower
