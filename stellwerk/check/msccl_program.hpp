// An MSCCL algorithm as its runtimes read it: for every GPU thread blocks, each a list of steps over three buffers and at most one
// connection in and one out. Semantics: docs/programs.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stellwerk::check {

enum class MscclOp : std::uint8_t {
  send,                      ///< s: send src
  receive,                   ///< r: dst = received
  receive_copy_send,         ///< rcs: dst = received, send it
  receive_reduce_copy,       ///< rrc: dst = src + received
  receive_reduce_send,       ///< rrs: send src + received, keep nothing
  receive_reduce_copy_send,  ///< rrcs: dst = src + received, send it
  reduce,                    ///< re: dst = dst + src
  copy,                      ///< cpy: dst = src
  nop,                       ///< nop: carries a dependency
};

const char* to_string(MscclOp op);
std::optional<MscclOp> parse_msccl_op(std::string_view text);

bool receives(MscclOp op);
bool sends(MscclOp op);

/// Chunks of one buffer: 'i' input, 'o' output, 's' scratch.
struct MscclRange {
  char buffer = 'i';
  int offset = 0;
};

struct MscclStep {
  MscclOp op = MscclOp::nop;
  MscclRange src, dst;
  int count = 1;         ///< chunks
  int wait_block = -1;   ///< thread block of the same GPU to wait for, or -1
  int wait_step = -1;    ///< until this step of it is done
  bool awaited = false;  ///< hasdep: the step tells that it is done
  std::size_t line = 0;
};

struct MscclBlock {
  int id = 0;
  int send = -1, receive = -1;  ///< peers, or -1
  int channel = 0;
  std::vector<MscclStep> steps;
  std::size_t line = 0;
};

struct MscclGpu {
  int id = 0;
  int input = 0, output = 0, scratch = 0;  ///< chunks
  std::vector<MscclBlock> blocks;
  std::size_t line = 0;
};

/// What XML allows and the parsers of runtimes, which are written by hand, do not.
struct MscclSyntax {
  bool declaration = false;          ///< <?xml ...?>
  bool tabs = false;                 ///< between elements
  bool blanks = false;               ///< anything but one blank between attributes
  std::vector<std::string> missing;  ///< attributes of <algo> that some runtimes need
};

struct MscclProgram {
  std::string name, collective, protocol = "Simple";
  int channels = 1;
  int chunks = 1;  ///< nchunksperloop: of the larger buffer
  bool in_place = false, out_of_place = true;
  std::int64_t min_bytes = 0, max_bytes = 0;
  std::vector<MscclGpu> gpus;
  MscclSyntax syntax;

  bool gathers() const { return collective == "allgather"; }
  /// Both spellings.
  bool scatters() const { return collective == "reduce_scatter" || collective == "reducescatter"; }
  std::size_t steps() const;
};

/// The collectives whose promise is known, as runtimes call them.
const std::vector<std::string_view>& msccl_collectives();
bool msccl_knows(std::string_view collective);

/// Steps that a connection holds before its sender has to wait; nothing for what is no protocol.
std::optional<int> msccl_capacity(std::string_view protocol);

}  // namespace stellwerk::check
