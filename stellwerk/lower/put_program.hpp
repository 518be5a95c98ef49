// A program for one-sided runtimes: for every rank thread blocks that put data into the memory of others, signal and wait.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "stellwerk/lower/puts.hpp"

namespace stellwerk::lower {

/// How a rank reaches another one: by its threads' own stores (inside a machine), or through a proxy (between machines).
enum class Access : std::uint8_t { memory, port };

struct PutOp {
  enum class Kind : std::uint8_t {
    sync,        ///< the threads of the block wait for each other
    signal,      ///< on `channels`
    wait,        ///< for one signal more on each of `channels`
    put,         ///< `targets[k]` in remote buffer `buffers[k]` = `sources[k]`
    put_signal,  ///< the same on `channels[k]`, and a signal after each; ports only
    reduce,      ///< `targets[0]` = sum of `sources`
    copy,        ///< `targets[0]` = `sources[0]`
  };
  Kind kind = Kind::sync;
  Access access = Access::memory;
  bool relaxed = false;       ///< of signal and wait: says only that the rank has begun
  std::vector<int> channels;  ///< positions in the block's list for `access`
  std::vector<int> buffers;   ///< positions in the block's list for `access`
  std::vector<Place> sources, targets;
  int count = 1;  ///< chunks of each source and target
};

/// Memory of another rank.
struct RemoteBuffer {
  int rank = 0;
  Buffer buffer = Buffer::input;
  Access access = Access::memory;
  friend auto operator<=>(const RemoteBuffer&, const RemoteBuffer&) = default;
};

struct PutBlock {
  std::array<std::vector<int>, 2> channels;  ///< by access: numbers in the rank's list
  std::array<std::vector<int>, 2> buffers;   ///< by access: numbers in the rank's list
  std::vector<PutOp> ops;
};

struct PutRank {
  int scratch = 0;                           ///< chunks
  std::array<std::vector<int>, 2> channels;  ///< by access: the rank at the other end
  std::vector<RemoteBuffer> remote;
  std::vector<PutBlock> blocks;
};

struct PutProgram {
  Collective collective = Collective::allgather;
  bool in_place = false;
  int input = 0, output = 0;  ///< chunks
  int root = 0;               ///< rank, of rooted collectives
  std::vector<PutRank> ranks;

  std::size_t operations() const;
};

/// What a runtime can hold.
struct PutLimits {
  std::string target;
  int blocks = 80;                ///< of a rank: all must run at once
  int operations = 64;            ///< of a thread block
  int channels = 16;              ///< of a thread block and access
  int remote_buffers = 16;        ///< of a thread block and access
  int channels_an_operation = 8;  ///< also puts
  int addends = 10;
};

/// The program of a plan (expanded). Throws Error(unsolved) if the plan cannot be expressed (see transfers.hpp) or exceeds a limit,
/// with what to change.
PutProgram lower_to_puts(const Plan& plan, bool in_place, const PutLimits& limits);

}  // namespace stellwerk::lower
