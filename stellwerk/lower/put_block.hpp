// One thread block of a program of puts: actions become operations.
#pragma once

#include <string>
#include <vector>

#include "stellwerk/lower/put_program.hpp"

namespace stellwerk::lower {

/// A block whose channels are not numbered yet.
struct BlockDraft {
  std::vector<PutOp> ops;                 ///< channels and buffers are positions in the lists below
  std::array<std::vector<int>, 2> peers;  ///< by access: a channel to each
  std::array<std::vector<RemoteBuffer>, 2> buffers;
  std::string excess;  ///< the limit that is exceeded; empty if none is
};

/// The operations of `actions`, in their order. With `merged`, puts that nothing separates become one operation even if the plan
/// starts them at different times. `access[p]` is how the rank reaches rank p.
BlockDraft draft_block(std::vector<Action> actions, const std::vector<Access>& access, bool merged,
                       const PutLimits& limits);

}  // namespace stellwerk::lower
