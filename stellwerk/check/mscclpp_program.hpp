// An execution plan of MSCCL++ as its runtime reads it: for every GPU thread blocks, each a list of operations on its own memory, on that
// of others, and on channels. Semantics: docs/programs.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stellwerk::check {

enum class MscclppOp : std::uint8_t {
  nop,                       ///< the threads of the block wait for each other
  barrier,                   ///< thread blocks of a GPU wait for each other
  put,                       ///< put: remote dst[k] = src[k]
  put_signal,                ///< pws: the same and a signal
  put_flush,                 ///< pwsf: the same, and wait until the data have left
  get,                       ///< get: dst[k] = remote src[k]
  copy,                      ///< copy: dst = src
  signal,                    ///< signal
  wait,                      ///< wait
  relaxed_signal,            ///< rlxsignal: orders no data
  relaxed_wait,              ///< rlxwait: orders no data
  flush,                     ///< flush: wait until what was put has left
  reduce,                    ///< re: dst = sum of src
  reduce_send,               ///< res: the same, also to remote dst[1..]
  read_reduce,               ///< rre: dst = src[0] + remote src[1..]
  read_reduce_send,          ///< rres: the same, also to remote dst[1..]
  put_packets,               ///< ppkt: remote packets dst[k] = src[k]
  read_put_packets,          ///< rppkt: remote packets dst[k] = packets src
  reduce_packets,            ///< repkt: dst = src[0] + packets src[1..]
  reduce_send_packets,       ///< respkt: the same, also to remote packets dst[1..]
  reduce_copy_packets,       ///< recpkt: as repkt, also to packets dst[1]
  reduce_copy_send_packets,  ///< recspkt: the same, also to remote packets dst[2..]
  copy_packets,              ///< cpkt: packets dst = src
  unpack_packets,            ///< upkt: dst = packets src
  load_reduce_store,         ///< glres: dst of all GPUs of a switch = sum of src of all of them
  multi_store,               ///< gstore: dst of all GPUs of a switch = src
  pipeline,                  ///< repeats operations on one unit of the chunks after another
  acquire,                   ///< sem_acquire
  release,                   ///< sem_release
};

const char* to_string(MscclppOp op);
std::optional<MscclppOp> parse_mscclpp_op(std::string_view text);

enum class MscclppChannel : std::uint8_t { memory, port, switch_ };

/// Chunks of one buffer.
struct MscclppRange {
  enum class Where : std::uint8_t { local, remote, switch_ };
  Where where = Where::local;
  char buffer = 'i';  ///< local: 'i' input, 'o' output, 's' scratch
  int id = 0;         ///< otherwise: position in the block's list of remote buffers or of switches
  int offset = 0, count = 1;  ///< chunks
};

struct MscclppStep {
  MscclppOp op = MscclppOp::nop;
  MscclppChannel channel = MscclppChannel::memory;
  std::vector<int> channels;  ///< positions in the block's list
  std::vector<MscclppRange> src, dst;
  int slice = 0, slices = 1;    ///< the part of the data that this block does of a group of blocks
  int barrier = 0, blocks = 1;  ///< of barriers: number, and how many thread blocks meet
  std::vector<int> semaphores;
  std::int64_t unit = 0;           ///< of pipelines: bytes of a unit
  int chunks = 1;                  ///< of pipelines: chunks that it runs through
  std::vector<MscclppStep> inner;  ///< of pipelines
};

struct MscclppBlock {
  int id = 0;
  std::array<std::vector<int>, 3> channels;  ///< by kind: numbers in the GPU's list
  std::array<std::vector<int>, 2> buffers;   ///< memory, port: numbers of remote buffers
  std::vector<MscclppStep> steps;
};

struct MscclppRemote {
  int rank = 0;
  char buffer = 'i';
  std::array<bool, 2> access{};  ///< through memory, through ports
};

struct MscclppSwitch {
  char buffer = 'i';
  std::vector<int> ranks;
};

struct MscclppGpu {
  int id = 0;
  int input = 0, output = 0, scratch = 0;    ///< chunks
  std::array<std::vector<int>, 2> channels;  ///< memory, port: the rank at the other end
  std::vector<MscclppSwitch> switches;
  std::vector<MscclppRemote> remote;
  std::vector<int> semaphores;  ///< values in the beginning
  std::vector<MscclppBlock> blocks;
};

struct MscclppProgram {
  std::string name, collective, protocol;
  bool in_place = false;
  bool reuse_resources = false;  ///< scratch of 64 MiB, whatever the size of the call
  bool double_scratch = false;   ///< calls use two halves of the scratch in turn
  std::vector<MscclppGpu> gpus;
  std::vector<std::string>
      passed_over;  ///< what the file has and nothing is known of: the first few

  std::size_t steps() const;  ///< those in pipelines included, once
};

/// Is it known what this collective promises?
bool mscclpp_knows(std::string_view collective);

/// Calls `each(gpu, block, step, place)` for every step, those in pipelines too.
template <class Each>
void for_each_mscclpp_step(const MscclppProgram& program, Each each) {
  for (const MscclppGpu& gpu : program.gpus) {
    for (const MscclppBlock& block : gpu.blocks) {
      for (std::size_t s = 0; s < block.steps.size(); ++s) {
        const std::string place = "GPU " + std::to_string(gpu.id) + ", block " +
                                  std::to_string(block.id) + ", op " + std::to_string(s) + " (" +
                                  to_string(block.steps[s].op) + ")";
        each(gpu, block, block.steps[s], place);
        for (const MscclppStep& inner : block.steps[s].inner)
          each(gpu, block, inner, place + " " + to_string(inner.op));
      }
    }
  }
}

}  // namespace stellwerk::check
