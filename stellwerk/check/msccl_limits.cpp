// What only some of the runtimes of MSCCL XML refuse.
#include <algorithm>
#include <map>
#include <optional>

#include "stellwerk/check/msccl_run.hpp"

namespace stellwerk::check {
namespace {

std::string quoted(std::string_view name) { return "'" + std::string(name.substr(0, 60)) + "'"; }

std::string list(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

bool among(const std::vector<std::string_view>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The first GPU whose buffers microsoft/msccl finds too small or too large.
std::optional<std::string> inexact(const MscclProgram& program) {
  const int ranks = std::max(1, static_cast<int>(program.gpus.size()));
  const int input = program.gathers() ? program.chunks / ranks : program.chunks;
  const int output = program.scatters() ? program.chunks / ranks : program.chunks;
  const auto text = [](const char* what, int number, int wanted, int gpu) {
    return std::string(what) + " of gpu " + std::to_string(gpu) + ": " + std::to_string(number) +
           " instead of 0 or " + std::to_string(wanted) + ", which nchunksperloop asks for";
  };
  for (const MscclGpu& gpu : program.gpus) {
    if (gpu.input > 0 && gpu.input != input) return text("i_chunks", gpu.input, input, gpu.id);
    if (gpu.output > 0 && gpu.output != output) return text("o_chunks", gpu.output, output, gpu.id);
  }
  return std::nullopt;
}

/// What its reader does not understand.
std::vector<std::string> unreadable(const MscclProgram& program, const MscclTarget& target) {
  std::vector<std::string> result;
  if (!among(target.collectives, program.collective)) {
    result.push_back("coll " + quoted(program.collective) + " is none of " +
                     list(target.collectives));
  }
  std::vector<std::string_view> missing;
  for (const std::string& name : program.syntax.missing) {
    if (among(target.needed, name)) missing.push_back(name);
  }
  if (!missing.empty()) result.push_back("<algo> has no " + list(missing));
  if (program.syntax.declaration) result.push_back("its parser takes no <?xml ...?>");
  if (program.syntax.tabs && !target.tabs)
    result.push_back("its parser takes no tabs between elements");
  if (program.syntax.blanks)
    result.push_back("its parser takes one blank between attributes, and nothing else");
  if (target.exact) {
    if (const auto counts = inexact(program)) result.push_back(*counts);
  }
  return result;
}

}  // namespace

const std::vector<MscclTarget>& msccl_targets() {
  static const std::vector<std::string_view> newer = {
      "reduce", "broadcast", "allreduce", "reducescatter", "allgather", "send",
      "recv",   "gather",    "scatter",   "alltoall",      "alltoallv"};
  static const std::vector<std::string_view> sizes = {"minBytes", "maxBytes", "outofplace"};
  static const std::vector<MscclTarget> targets = {
      {"msccl",
       256,
       216,
       32,
       32,
       71,
       127,
       4096,
       {"allreduce", "allgather", "reduce", "broadcast", "alltoall", "reduce_scatter", "custom"},
       {"name", "proto"},
       true,
       true},
      {"azure", 64, 1024, 32, 32, 71, 127, 4096, newer, sizes, false, false},
      {"rccl", 64, 64, 32, 128, 71, 127, 4096, newer, sizes, false, false},
  };
  return targets;
}

std::vector<std::string> msccl_excesses(const MscclProgram& program, const MscclTarget& target) {
  std::vector<std::string> result = unreadable(program, target);
  const auto exceed = [&](const std::string& what, int value, int limit) {
    if (value > limit)
      result.push_back(what + ": " + std::to_string(value) + " of at most " +
                       std::to_string(limit));
  };
  exceed("channels", program.channels, target.channels);
  int steps = 0, blocks = 0, count = 0, awaited = 0, shared = 0, nodes = 0;
  for (const MscclGpu& gpu : program.gpus) {
    blocks = std::max(blocks, static_cast<int>(gpu.blocks.size()));
    std::map<int, int> on_channel;
    int own = static_cast<int>(program.gpus.size()) + 1;
    for (const MscclBlock& block : gpu.blocks) {
      shared = std::max(shared, ++on_channel[block.channel]);
      steps = std::max(steps, static_cast<int>(block.steps.size()));
      own += 1 + static_cast<int>(block.steps.size());
      for (const MscclStep& step : block.steps) {
        count = std::max(count, step.count);
        awaited = std::max(awaited, step.wait_block);
      }
    }
    nodes = std::max(nodes, own);
  }
  exceed("steps of a thread block", steps, target.steps);
  exceed("thread blocks of a GPU", blocks, target.blocks);
  exceed("thread blocks on a channel", shared, target.blocks_a_channel);
  exceed("chunks of a step (cnt)", count, target.count);
  exceed("number of a thread block that others wait for", awaited, target.awaited_block);
  exceed("XML elements for one GPU", nodes, target.nodes);
  return result;
}

}  // namespace stellwerk::check
