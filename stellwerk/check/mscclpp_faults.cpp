#include <algorithm>
#include <map>
#include <set>

#include "stellwerk/check/mscclpp_motion.hpp"
#include "stellwerk/check/mscclpp_run.hpp"

namespace stellwerk::check {
namespace {

bool uses_channels(MscclppOp op) {
  switch (op) {
    case MscclppOp::signal:
    case MscclppOp::wait:
    case MscclppOp::relaxed_signal:
    case MscclppOp::relaxed_wait:
    case MscclppOp::put_signal:
    case MscclppOp::put_flush:
    case MscclppOp::flush:
      return true;
    default:
      return false;
  }
}

class MscclppFaults {
 public:
  explicit MscclppFaults(const MscclppProgram& program) : program_(program) {}

  std::vector<std::string> find() {
    const int n = static_cast<int>(program_.gpus.size());
    for (int g = 0; g < n; ++g) {
      const MscclppGpu& gpu = program_.gpus[static_cast<std::size_t>(g)];
      const std::string name = "GPU " + std::to_string(g);
      if (gpu.id != g) add(name, "has id " + std::to_string(gpu.id));
      if (gpu.input != program_.gpus[0].input || gpu.output != program_.gpus[0].output)
        add(name, "has other numbers of chunks than GPU 0");
      if (gpu.input == 0 && gpu.output == 0) add(name, "has no chunks");
      for (const auto& list : gpu.channels) {
        for (const int peer : list) {
          if (peer >= n || peer == g)
            add(name, "a channel leads to " + std::to_string(peer) + ", which is no other GPU");
        }
      }
      for (const MscclppRemote& remote : gpu.remote) {
        if (remote.rank >= n || remote.rank == g)
          add(name,
              "a remote buffer is of " + std::to_string(remote.rank) + ", which is no other GPU");
      }
      for (const MscclppSwitch& one : gpu.switches) {
        if (std::find(one.ranks.begin(), one.ranks.end(), g) == one.ranks.end())
          add(name, "is not in the group of its own switch channel");
        for (const int rank : one.ranks) {
          if (rank >= n)
            add(name, "a switch reaches " + std::to_string(rank) + ", which is no GPU");
        }
      }
      for (std::size_t b = 0; b < gpu.blocks.size(); ++b) check_block(gpu, gpu.blocks[b], b);
    }
    if (faults_.empty()) check_sizes();
    if (faults_.empty()) {
      for_each_mscclpp_step(
          program_, [&](const MscclppGpu& gpu, const MscclppBlock& block, const MscclppStep& step,
                        const std::string& place) { check(gpu, block, step, place); });
      check_barriers();
    }
    return std::move(faults_);
  }

 private:
  void add(const std::string& place, const std::string& what) {
    faults_.push_back(place + ": " + what);
  }

  void check_block(const MscclppGpu& gpu, const MscclppBlock& block, std::size_t place) {
    const std::string name = "GPU " + std::to_string(gpu.id) + ", block " + std::to_string(place);
    if (block.id != static_cast<int>(place)) add(name, "has id " + std::to_string(block.id));
    const std::array<std::size_t, 3> room = {gpu.channels[0].size(), gpu.channels[1].size(),
                                             gpu.switches.size()};
    for (std::size_t kind = 0; kind < 3; ++kind) {
      for (const int id : block.channels[kind]) {
        if (static_cast<std::size_t>(id) >= room[kind])
          add(name, "channel " + std::to_string(id) + " is none of the GPU's");
      }
    }
    for (std::size_t kind = 0; kind < 2; ++kind) {
      for (const int id : block.buffers[kind]) {
        if (static_cast<std::size_t>(id) >= gpu.remote.size() ||
            !gpu.remote[static_cast<std::size_t>(id)].access[kind])
          add(name,
              "remote buffer " + std::to_string(id) + " is none that the GPU reaches that way");
      }
    }
  }

  void check_sizes() {
    if (!mscclpp_knows(program_.collective)) return;
    const int n = static_cast<int>(program_.gpus.size());
    const int input = program_.gpus[0].input, output = program_.gpus[0].output;
    const std::string& name = program_.collective;
    const MscclppSizes sizes = mscclpp_sizes(program_);
    if ((input > 0 && input != sizes.input) || (output > 0 && output != sizes.output)) {
      add(name, std::to_string(input) + " input chunks and " + std::to_string(output) +
                    " output chunks do not fit together");
    }
    if (name == "alltoall" && sizes.input % n != 0)
      add(name, "the chunks cannot be divided among " + std::to_string(n) + " GPUs");
  }

  /// The buffer that a range is in: whose, and which.
  std::vector<std::pair<int, char>> buffers(const MscclppGpu& gpu, const MscclppBlock& block,
                                            const MscclppStep& step, const MscclppRange& range,
                                            const std::string& place) {
    const auto in = [&](const std::vector<int>& list) {
      if (static_cast<std::size_t>(range.id) < list.size()) return true;
      add(place, "entry " + std::to_string(range.id) + " is not in the block's list");
      return false;
    };
    switch (range.where) {
      case MscclppRange::Where::remote: {
        if (step.channel == MscclppChannel::switch_) {
          add(place, "reaches a remote buffer through a switch");
          return {};
        }
        const auto& list = block.buffers[static_cast<std::size_t>(step.channel)];
        if (!in(list)) return {};
        const MscclppRemote& remote =
            gpu.remote[static_cast<std::size_t>(list[static_cast<std::size_t>(range.id)])];
        return {{remote.rank, remote.buffer}};
      }
      case MscclppRange::Where::switch_: {
        const auto& list = block.channels[static_cast<std::size_t>(MscclppChannel::switch_)];
        if (!in(list)) return {};
        const MscclppSwitch& one =
            gpu.switches[static_cast<std::size_t>(list[static_cast<std::size_t>(range.id)])];
        std::vector<std::pair<int, char>> result;
        for (const int rank : one.ranks) result.emplace_back(rank, one.buffer);
        return result;
      }
      default:
        return {{gpu.id, range.buffer}};
    }
  }

  void check(const MscclppGpu& gpu, const MscclppBlock& block, const MscclppStep& step,
             const std::string& place) {
    const auto& list = block.channels[static_cast<std::size_t>(step.channel)];
    for (const int id : step.channels) {
      if (static_cast<std::size_t>(id) >= list.size())
        return add(place, "channel " + std::to_string(id) + " is not in the block's list");
    }
    if (uses_channels(step.op)) {
      if (step.channels.empty()) return add(place, "names no channel");
      if (step.channel == MscclppChannel::switch_) return add(place, "cannot use a switch");
      if (std::set<int>(step.channels.begin(), step.channels.end()).size() != step.channels.size())
        return add(place, "two threads use one channel at once");
    }
    if (const std::string fault = mscclpp_shape_fault(step); !fault.empty())
      return add(place, fault);
    const bool port = step.channel == MscclppChannel::port;
    const bool puts = step.op == MscclppOp::put || step.op == MscclppOp::put_signal ||
                      step.op == MscclppOp::put_flush;
    if (step.op == MscclppOp::flush && !port) return add(place, "only ports are flushed");
    if (puts && port && step.channels.size() != step.dst.size())
      return add(place, "must name a channel for each entry");
    if (puts && !port && step.op != MscclppOp::put) return add(place, "is for ports only");
    if (step.slices < 1 || step.slice >= step.slices)
      return add(place,
                 "slice " + std::to_string(step.slice) + " of " + std::to_string(step.slices));
    for (const int id : step.semaphores) {
      if (static_cast<std::size_t>(id) >= gpu.semaphores.size())
        return add(place, "semaphore " + std::to_string(id) + " does not exist");
    }
    if ((step.op == MscclppOp::acquire || step.op == MscclppOp::release) &&
        std::set<int>(step.semaphores.begin(), step.semaphores.end()).size() !=
            step.semaphores.size())
      return add(place, "names a semaphore twice");
    const auto ways = mscclpp_motions(step);
    for (const MscclppMotion& motion : ways) {
      for (const auto* sides : {&motion.from, &motion.to}) {
        for (const MscclppSide& side : *sides) check_side(gpu, block, step, side, place);
      }
    }
    for (std::size_t k = 0; k < step.channels.size() && puts && port && faults_.empty(); ++k) {
      const int number = list[static_cast<std::size_t>(step.channels[k])];
      const int peer = gpu.channels[1][static_cast<std::size_t>(number)];
      if (buffers(gpu, block, step, step.dst[k], place)[0].first != peer)
        add(place, "entry " + std::to_string(k) + " is not at the GPU that its channel leads to");
    }
  }

  void check_side(const MscclppGpu& gpu, const MscclppBlock& block, const MscclppStep& step,
                  const MscclppSide& side, const std::string& place) {
    for (const auto& [rank, buffer] : buffers(gpu, block, step, side.range, place)) {
      if (side.packets && buffer != 's') return add(place, "packets must be in scratch");
      const MscclppSizes sizes = mscclpp_sizes(program_);
      const int room = buffer == 'i'   ? sizes.input
                       : buffer == 'o' ? sizes.output
                                       : program_.gpus[static_cast<std::size_t>(rank)].scratch;
      if (side.range.offset + side.range.count > room) {
        return add(place, std::string(1, buffer) + "[" + std::to_string(side.range.offset) +
                              "] and " + std::to_string(side.range.count) +
                              " chunks are outside the buffer of GPU " + std::to_string(rank));
      }
    }
  }

  /// A barrier counts arrivals: it must be as many blocks as it says, each as often as the others.
  void check_barriers() {
    for (const MscclppGpu& gpu : program_.gpus) {
      std::map<int, std::map<int, int>> times;  // barrier, block
      std::map<int, std::set<int>> wanted;
      for (const MscclppBlock& block : gpu.blocks) {
        for (const MscclppStep& step : block.steps) {
          if (step.op == MscclppOp::pipeline &&
              std::any_of(step.inner.begin(), step.inner.end(),
                          [](const MscclppStep& s) { return s.op == MscclppOp::barrier; }))
            add("GPU " + std::to_string(gpu.id), "a barrier in a pipeline");
          if (step.op != MscclppOp::barrier) continue;
          ++times[step.barrier][block.id];
          wanted[step.barrier].insert(step.blocks);
        }
      }
      for (const auto& [barrier, blocks] : times) {
        std::set<int> counts;
        for (const auto& [block, count] : blocks) counts.insert(count);
        if (counts.size() != 1 || wanted[barrier].size() != 1 ||
            *wanted[barrier].begin() != static_cast<int>(blocks.size())) {
          add("GPU " + std::to_string(gpu.id) + ", barrier " + std::to_string(barrier),
              "is not met by num_threadblocks blocks, each as often");
        }
      }
    }
  }

  const MscclppProgram& program_;
  std::vector<std::string> faults_;
};

}  // namespace

MscclppSizes mscclpp_sizes(const MscclppProgram& program) {
  const int n = static_cast<int>(program.gpus.size());
  const int input = program.gpus[0].input, output = program.gpus[0].output;
  if (program.collective == "allgather")
    return input > 0 ? MscclppSizes{input, input * n} : MscclppSizes{output / n, output};
  if (program.collective == "reducescatter")
    return output > 0 ? MscclppSizes{output * n, output} : MscclppSizes{input, input / n};
  if (!mscclpp_knows(program.collective)) return {input, output};
  return {std::max(input, output), std::max(input, output)};
}

std::vector<std::string> mscclpp_faults(const MscclppProgram& program) {
  return MscclppFaults(program).find();
}

}  // namespace stellwerk::check
