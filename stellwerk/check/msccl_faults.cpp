#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "stellwerk/check/msccl_run.hpp"

namespace stellwerk::check {
namespace {

class Faults {
 public:
  explicit Faults(const MscclProgram& program) : program_(program) {}

  std::vector<std::string> find() {
    const bool divides =
        program_.gathers() || program_.scatters() || program_.collective == "alltoall";
    const int ranks = static_cast<int>(program_.gpus.size());
    if (divides && program_.chunks % ranks != 0) {
      faults_.push_back("nchunksperloop " + std::to_string(program_.chunks) +
                        " is not a multiple of the " + std::to_string(ranks) + " GPUs");
      return std::move(faults_);
    }
    // Where it is missing, only some runtimes mind.
    const auto& missing = program_.syntax.missing;
    if (!msccl_capacity(program_.protocol) &&
        std::find(missing.begin(), missing.end(), "proto") == missing.end()) {
      faults_.push_back("proto '" + program_.protocol.substr(0, 60) +
                        "' is none of Simple, LL, LL128");
    }
    for (std::size_t g = 0; g < program_.gpus.size(); ++g) {
      const MscclGpu& gpu = program_.gpus[g];
      if (gpu.id != static_cast<int>(g))
        add(gpu.line, "gpu " + std::to_string(gpu.id) + " is at place " + std::to_string(g));
      if (gpu.blocks.empty())
        add(gpu.line, "gpu " + std::to_string(gpu.id) + " has no thread block");
      if ((program_.gathers() && gpu.input > part()) ||
          (program_.scatters() && gpu.output > part())) {
        add(gpu.line, "the smaller buffer of gpu " + std::to_string(gpu.id) + " has more than " +
                          std::to_string(part()) + " chunks, its part of nchunksperloop");
      }
      check_gpu(gpu);
    }
    if (faults_.empty()) check_connections();
    return std::move(faults_);
  }

 private:
  void add(std::size_t line, const std::string& what) {
    faults_.push_back("line " + std::to_string(line) + ": " + what);
  }
  int part() const { return program_.chunks / static_cast<int>(program_.gpus.size()); }
  bool is_peer(int peer) const {
    return peer >= 0 && peer < static_cast<int>(program_.gpus.size());
  }

  void check_gpu(const MscclGpu& gpu) {
    for (std::size_t b = 0; b < gpu.blocks.size(); ++b) {
      const MscclBlock& block = gpu.blocks[b];
      if (block.id != static_cast<int>(b))
        add(block.line, "tb " + std::to_string(block.id) + " is at place " + std::to_string(b));
      if (block.channel < 0 || block.channel >= program_.channels)
        add(block.line, "chan " + std::to_string(block.channel) + " is not below nchannels");
      for (const int peer : {block.send, block.receive}) {
        if (peer != -1 && !is_peer(peer))
          add(block.line, "peer " + std::to_string(peer) + " is no GPU");
        if (peer == gpu.id) add(block.line, "the peer is the GPU itself");
      }
      bool nop_waits = false;  // since the last real step
      for (const MscclStep& step : block.steps) {
        check_step(gpu, block, step);
        if (step.op == MscclOp::nop) {
          nop_waits = nop_waits || step.wait_block != -1;
          continue;
        }
        // Runtimes refuse the whole file: of several waits the last one is the real step's.
        if (std::exchange(nop_waits, false) && step.wait_block == -1)
          add(step.line, "has depid=-1 after a nop that waits: the last wait must be its own");
      }
    }
  }

  void check_step(const MscclGpu& gpu, const MscclBlock& block, const MscclStep& step) {
    const auto size = [&](char buffer) {
      return buffer == 'i' ? gpu.input : buffer == 'o' ? gpu.output : gpu.scratch;
    };
    const auto inside = [&](const MscclRange& range, const char* what) {
      // In place one of the names may be left out; the other one tells the size.
      int room = size(range.buffer);
      if (room == 0 && program_.in_place && range.buffer != 's') {
        room = range.buffer == (program_.gathers()    ? 'i'
                                : program_.scatters() ? 'o'
                                                      : 'x')
                   ? part()
                   : std::max(gpu.input, gpu.output);
      }
      if (range.offset < 0 || range.offset + step.count > room) {
        add(step.line, std::string(what) + " " + range.buffer + "[" + std::to_string(range.offset) +
                           "] and " + std::to_string(step.count) +
                           " chunks are outside the buffer");
      }
    };
    if (step.op != MscclOp::nop && step.count < 1) add(step.line, "cnt must be positive");
    const bool reads = step.op == MscclOp::send || step.op == MscclOp::copy ||
                       step.op == MscclOp::reduce || step.op == MscclOp::receive_reduce_copy ||
                       step.op == MscclOp::receive_reduce_send ||
                       step.op == MscclOp::receive_reduce_copy_send;
    const bool writes = step.op != MscclOp::send && step.op != MscclOp::receive_reduce_send &&
                        step.op != MscclOp::nop;
    if (reads) inside(step.src, "the source");
    if (writes) inside(step.dst, "the destination");
    if (sends(step.op) && block.send == -1)
      add(step.line, "sends, but the thread block has no peer to send to");
    if (receives(step.op) && block.receive == -1)
      add(step.line, "receives, but the thread block has no peer to receive from");
    if (step.wait_block == -1) return;
    if (step.wait_block < 0 || step.wait_block >= static_cast<int>(gpu.blocks.size()))
      return add(step.line, "depid " + std::to_string(step.wait_block) + " is no thread block");
    if (step.wait_block == block.id) return add(step.line, "waits for its own thread block");
    const auto& others = gpu.blocks[static_cast<std::size_t>(step.wait_block)].steps;
    if (step.wait_step < 0 || step.wait_step >= static_cast<int>(others.size()))
      return add(step.line, "deps " + std::to_string(step.wait_step) + " is no step of tb " +
                                std::to_string(step.wait_block));
    const MscclStep& other = others[static_cast<std::size_t>(step.wait_step)];
    if (!other.awaited)
      add(step.line, "waits for a step (line " + std::to_string(other.line) +
                         ") that has hasdep=0: it would wait for ever");
    if (other.op == MscclOp::nop) add(step.line, "waits for a nop");
  }

  /// A connection belongs to one thread block at each end, and both speak of the same chunks.
  void check_connections() {
    struct Ends {
      std::vector<const MscclBlock*> from, to;
    };
    std::map<std::tuple<int, int, int>, Ends> connections;
    for (const MscclGpu& gpu : program_.gpus) {
      for (const MscclBlock& block : gpu.blocks) {
        const auto any = [&](bool (*does)(MscclOp)) {
          return std::any_of(block.steps.begin(), block.steps.end(),
                             [&](const MscclStep& s) { return does(s.op); });
        };
        if (any(sends)) connections[{gpu.id, block.send, block.channel}].from.push_back(&block);
        if (any(receives)) connections[{block.receive, gpu.id, block.channel}].to.push_back(&block);
      }
    }
    for (const auto& [key, ends] : connections) {
      const auto& [from, to, channel] = key;
      const std::string name = "from GPU " + std::to_string(from) + " to " + std::to_string(to) +
                               " on channel " + std::to_string(channel);
      for (const auto* side : {&ends.from, &ends.to}) {
        if (side->size() > 1)
          add((*side)[1]->line, "two thread blocks share the connection " + name);
      }
      if (ends.from.size() != 1 || ends.to.size() != 1) {
        if (ends.from.empty()) add(ends.to[0]->line, "receives " + name + ", which nobody sends");
        if (ends.to.empty()) add(ends.from[0]->line, "sends " + name + ", which nobody receives");
        continue;
      }
      const auto counts = [](const MscclBlock& block, bool (*does)(MscclOp)) {
        std::vector<std::pair<int, std::size_t>> result;
        for (const MscclStep& step : block.steps) {
          if (does(step.op)) result.emplace_back(step.count, step.line);
        }
        return result;
      };
      const auto sent = counts(*ends.from[0], sends), received = counts(*ends.to[0], receives);
      if (sent.size() != received.size()) {
        add(ends.to[0]->line, std::to_string(sent.size()) + " steps send " + name + ", but " +
                                  std::to_string(received.size()) + " receive");
        continue;
      }
      for (std::size_t k = 0; k < sent.size(); ++k) {
        if (sent[k].first != received[k].first)
          add(received[k].second, "receives " + std::to_string(received[k].first) + " chunks " +
                                      name + " where " + std::to_string(sent[k].first) +
                                      " are sent");
      }
    }
  }

  const MscclProgram& program_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> msccl_faults(const MscclProgram& program) {
  return Faults(program).find();
}

}  // namespace stellwerk::check
