#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "stellwerk/check/mscclpp_motion.hpp"
#include "stellwerk/check/mscclpp_run.hpp"

namespace stellwerk::check {
namespace {

/// Pipelines are run through so many units at most, so that scratch comes round.
constexpr std::int64_t kMostUnits = 256;
/// Beyond these sizes a run would take too long or too much memory.
constexpr std::int64_t kMostCells = 8'000'000, kMostMoves = 200'000'000;
/// Parts that the slices of all groups of thread blocks have in common.
constexpr int kMostSlices = 64;

bool too_large(const MscclppProgram& program, std::int64_t units) {
  const MscclppSizes sizes = mscclpp_sizes(program);
  std::int64_t cells = 0, moves = 0;
  for (const MscclppGpu& gpu : program.gpus) {
    cells += (std::int64_t{sizes.input} + sizes.output + 2 * gpu.scratch) * units;
    cells += std::accumulate(gpu.semaphores.begin(), gpu.semaphores.end(), std::int64_t{0});
  }
  for_each_mscclpp_step(program, [&](const MscclppGpu&, const MscclppBlock&,
                                     const MscclppStep& step, const std::string&) {
    for (const auto* ranges : {&step.src, &step.dst}) {
      for (const MscclppRange& range : *ranges) {
        const bool all = range.where == MscclppRange::Where::switch_;
        moves += range.count * units * (all ? static_cast<std::int64_t>(program.gpus.size()) : 1);
      }
    }
    // The steps of a pipeline are run once a unit, and may do nothing but signal.
    if (step.op == MscclppOp::pipeline)
      moves += std::int64_t{step.chunks} * units * static_cast<std::int64_t>(step.inner.size());
    moves = std::min(moves, kMostMoves + 1);
  });
  return cells > kMostCells || moves > kMostMoves;
}

}  // namespace

std::vector<std::string> mscclpp_excesses(const MscclppProgram& program) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> most;  // value, limit
  const auto count = [&](const char* what, std::size_t value, std::size_t limit) {
    auto& entry = most[what];
    entry = {std::max(entry.first, value), limit};
  };
  for (const MscclppGpu& gpu : program.gpus) {
    count("semaphores of a GPU", gpu.semaphores.size(), 16);
    for (const MscclppBlock& block : gpu.blocks) {
      for (const auto& list : block.channels) count("channels of a thread block", list.size(), 16);
      for (const auto& list : block.buffers)
        count("remote buffers of a thread block", list.size(), 16);
      std::size_t ops = block.steps.size();
      for (const MscclppStep& step : block.steps) ops += step.inner.size();
      count("operations of a thread block", ops, 64);
    }
  }
  for_each_mscclpp_step(program, [&](const MscclppGpu&, const MscclppBlock&,
                                     const MscclppStep& step, const std::string&) {
    count("channels of an operation", step.channels.size(), 8);
    count("buffers of an operation", std::max(step.src.size(), step.dst.size()), 10);
    count("operations of a pipeline", step.inner.size(), 255);
    if (step.op == MscclppOp::barrier)
      count("barriers of a GPU", static_cast<std::size_t>(step.barrier) + 1, 16);
  });
  std::vector<std::string> result;
  for (const auto& [what, entry] : most) {
    if (entry.first > entry.second) {
      result.push_back(what + ": " + std::to_string(entry.first) + " of at most " +
                       std::to_string(entry.second));
    }
  }
  return result;
}

std::vector<std::string> mscclpp_traps(const MscclppProgram& program) {
  std::set<std::string> traps;
  if (program.gpus[0].input == 0 || program.gpus[0].output == 0)
    traps.insert("the runtime divides by input_chunks and output_chunks; one of them is 0");
  for_each_mscclpp_step(program, [&](const MscclppGpu&, const MscclppBlock&,
                                     const MscclppStep& step, const std::string&) {
    if (step.op == MscclppOp::flush) traps.insert("flush counts dst_buff, and so flushes nothing");
    if (step.op == MscclppOp::put_flush) traps.insert("pwsf sends from a wrong place");
    for (std::size_t k = 0; step.op == MscclppOp::get && k < step.src.size(); ++k) {
      if (step.src[k].offset != step.dst[k].offset)
        traps.insert("get mixes up the two offsets where they differ");
    }
    if (step.op == MscclppOp::put && step.channel == MscclppChannel::memory &&
        std::any_of(step.src.begin(), step.src.end(),
                    [&](const MscclppRange& range) { return range.buffer != step.src[0].buffer; }))
      traps.insert("put through memory reads all sources from the buffer of the first");
  });
  return {traps.begin(), traps.end()};
}

std::optional<std::string> mscclpp_unjudged(const MscclppProgram& program) {
  if (!mscclpp_knows(program.collective))
    return "what '" + program.collective + "' promises is not known";
  std::optional<std::string> result;
  const auto unjudged = [&](const std::string& place, const std::string& what) {
    if (!result) result = place + ": " + what;
  };
  std::set<std::int64_t> units;
  bool packets = false, plain_scratch = false, plain_outside = false;
  int slices = 1;
  std::map<std::tuple<int, int, bool>, std::set<int>> users;  // of semaphores: blocks
  for_each_mscclpp_step(program, [&](const MscclppGpu& gpu, const MscclppBlock& block,
                                     const MscclppStep& step, const std::string& place) {
    if (step.slices > kMostSlices) return unjudged(place, "a group of more than 64 thread blocks");
    slices = std::min(std::lcm(slices, step.slices), kMostSlices + 1);
    if (moves_packets(step.op)) {
      packets = true;
      if (step.channel == MscclppChannel::port) unjudged(place, "packets through ports");
    }
    for (const MscclppMotion& motion : mscclpp_motions(step)) {
      for (const auto* sides : {&motion.from, &motion.to}) {
        for (const MscclppSide& side : *sides) {
          if (side.packets) continue;
          const auto& way =
              step.channel == MscclppChannel::port ? block.buffers[1] : block.buffers[0];
          const char buffer =
              side.range.where == MscclppRange::Where::local ? side.range.buffer
              : side.range.where == MscclppRange::Where::remote
                  ? gpu.remote[static_cast<std::size_t>(
                                   way[static_cast<std::size_t>(side.range.id)])]
                        .buffer
                  : gpu.switches[static_cast<std::size_t>(
                                     block.channels[2][static_cast<std::size_t>(side.range.id)])]
                        .buffer;
          plain_scratch = plain_scratch || buffer == 's';
          const bool outside =
              std::any_of(block.steps.begin(), block.steps.end(),
                          [&](const MscclppStep& other) { return &other == &step; });
          plain_outside = plain_outside || (buffer == 's' && outside);
        }
      }
    }
    for (const int id : step.semaphores)
      users[{gpu.id, id, step.op == MscclppOp::acquire}].insert(block.id);
    if (step.op != MscclppOp::pipeline) return;
    units.insert(step.unit);
    for (const MscclppStep& inner : step.inner) {
      const auto& ranges = inner.src.empty() ? inner.dst : inner.src;
      if (!ranges.empty() && ranges[0].count != step.chunks)
        unjudged(place, "a pipeline through " + std::to_string(step.chunks) +
                            " chunks with an operation on " + std::to_string(ranges[0].count));
    }
  });
  if (result) return result;
  if (too_large(program, units.empty() ? slices : static_cast<int>(kMostUnits)))
    return "too large to be run";
  if (slices > kMostSlices) return "groups of thread blocks of sizes that have little in common";
  if (packets && plain_scratch) return "packets and plain data in the same scratch";
  if (!units.empty()) {
    if (plain_outside && program.reuse_resources)
      return "scratch of a fixed size used outside of pipelines";
    if (units.size() > 1) return "pipelines with different units";
    if (packets) return "pipelines with packets";
    if (slices > 1) return "pipelines with groups of thread blocks";
    for (const MscclppGpu& gpu : program.gpus) {
      if (program.reuse_resources && gpu.scratch > 0 &&
          (std::int64_t{1} << 26) / gpu.scratch / *units.begin() + 2 > kMostUnits)
        return "pipelines whose unit is so small that scratch holds more than " +
               std::to_string(kMostUnits) + " of them";
      if (program.reuse_resources && gpu.scratch > 0 &&
          (std::int64_t{1} << 26) / gpu.scratch < *units.begin())
        return "pipelines whose unit is larger than a chunk of scratch";
    }
  }
  for (const auto& [key, blocks] : users) {
    if (blocks.size() > 1)
      return "GPU " + std::to_string(std::get<0>(key)) + ", semaphore " +
             std::to_string(std::get<1>(key)) + ": several thread blocks on one side";
  }
  return std::nullopt;
}

}  // namespace stellwerk::check
