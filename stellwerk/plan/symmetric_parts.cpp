// Sums are collected along trees that were grown from their roots in the reversed network; then
// they spread from there. Where all tasks of both halves are scheduled together, a chunk spreads as
// soon as it is summed while others are still collected. Collecting is grown in the opposite order
// of chunks, so that the sum that is ready first spreads first.
#include "stellwerk/plan/symmetric_parts.hpp"

#include <algorithm>
#include <utility>

#include "stellwerk/plan/reversal.hpp"

namespace stellwerk::symmetric {

struct Parts::Part {
  Part(Problem part, std::vector<ChunkId> chunk_names, const Orbits& orbits, bool turned)
      : problem(std::move(part)),
        names(std::move(chunk_names)),
        quotient(problem.topology, orbits, turned),
        lanes(quotient) {}

  Problem problem;
  std::vector<ChunkId> names;  ///< in the whole problem
  Quotient quotient;
  Lanes lanes;
  std::optional<TreeGrower> grower;
  std::optional<PathRouter> router;
};

namespace {

/// Chunks of one kind, with their names.
struct Selection {
  Problem problem;
  std::vector<ChunkId> names;

  void add(Chunk chunk, ChunkId name) {
    problem.chunks.push_back(std::move(chunk));
    names.push_back(name);
  }
};

}  // namespace

Parts::Parts(const Problem& problem, const Orbits& orbits)
    : problem_(problem), quotient_(problem.topology, orbits) {
  Selection collect, trees, paths;
  ReductionSplit split;
  const bool sums = has_reductions(problem);
  if (sums) {
    split = split_reductions(problem);
    collect = {std::move(split.collect), std::move(split.collected)};
  }
  const IdVector<ChunkId, Chunk>& spread = sums ? split.spread.chunks : problem.chunks;
  for (std::size_t i = 0; i < spread.size(); ++i) {
    const Chunk& chunk = spread[ChunkId(i)];
    const ChunkId name = sums ? split.spreading[i] : ChunkId(i);
    if (chunk.destinations == chunk.origins) continue;
    const bool one = chunk.origins.size() == 1 && chunk.destinations.size() == 1;
    (one && !problem.chunks[name].is_reduction() ? paths : trees).add(chunk, name);
  }
  const auto complete = [&](Selection& selection, bool turned) -> std::unique_ptr<Part> {
    if (selection.names.empty()) return nullptr;
    Problem& part = selection.problem;
    if (!turned) part.topology = problem.topology;
    part.jobs = problem.jobs;
    part.relays = problem.relays;
    return std::make_unique<Part>(std::move(part), std::move(selection.names), orbits, turned);
  };
  collect_ = complete(collect, true);
  trees_ = complete(trees, false);
  paths_ = complete(paths, false);
  for (Part* part : {collect_.get(), trees_.get()}) {
    if (part != nullptr) part->grower.emplace(part->problem, part->quotient, part->lanes);
  }
  if (paths_) paths_->router.emplace(paths_->problem, paths_->quotient, paths_->lanes);
}

Parts::~Parts() = default;

std::size_t Parts::lanes() const {
  std::size_t most = 0;
  for (const Part* part : {collect_.get(), trees_.get(), paths_.get()}) {
    if (part == nullptr) continue;
    for (std::uint32_t o = 0; o < part->quotient.node_orbits(); ++o)
      most = std::max(most, part->lanes.from(o).size());
  }
  return most;
}

std::optional<Grown> Parts::grow(Part& part, const Rules& rules, bool last_first, Rng& rng,
                                 const StopCondition& stop) const {
  std::vector<ChunkId> order;
  for (const ChunkId id : part.problem.chunk_ids()) order.push_back(id);
  if (rules.shuffle) rng.shuffle(order);
  if (last_first) std::reverse(order.begin(), order.end());
  return part.grower->grow(order, rules.growth, rng, stop);
}

std::optional<Proposal> Parts::propose(const Rules& rules, Rng& rng, const StopCondition& stop) {
  Proposal result;
  TaskGraph& whole = result.graph;
  result.timed = rules.growth.contended && !paths_;
  std::vector<int> last(problem_.chunks.size(), -1);  // of sums: the task after which it is formed
  std::int64_t summed = 0;                            // when all of them are
  if (collect_) {
    const std::optional<Grown> grown = grow(*collect_, rules, true, rng, stop);
    if (!grown) return std::nullopt;
    summed = grown->finish;
    append(whole, turned(grown->graph, collect_->quotient), collect_->names);
    std::int64_t ready = 0;
    for (std::size_t i = 0; i < whole.tasks.size(); ++i) {
      Task& task = whole.tasks[i];
      task.release = problem_.chunks[task.chunk].ready.ps;
      ready = std::max(ready, task.release);
      result.starts.push_back(summed - grown->starts[i] - whole.shape(task).span);
    }
    summed += ready;
    for (std::int64_t& start : result.starts) start += ready;
    // One task without claims for each sum: what collects it before, what spreads it after.
    std::vector<char> inner(whole.tasks.size(), 0);
    for (const auto& [a, b] : whole.arcs) inner[static_cast<std::size_t>(a)] = 1;
    whole.shapes.emplace_back();
    for (std::size_t i = 0; i < inner.size(); ++i) {
      if (inner[i] != 0) continue;
      const ChunkId chunk = whole.tasks[i].chunk;
      if (last[chunk.index()] < 0) {
        last[chunk.index()] = static_cast<int>(whole.tasks.size());
        whole.tasks.push_back({static_cast<int>(whole.shapes.size()) - 1, chunk, Op::copy, 0, {}});
        result.starts.push_back(summed);
      }
      whole.arcs.emplace_back(static_cast<int>(i), last[chunk.index()]);
    }
  }
  result.finish = summed;
  if (trees_) {
    std::optional<Grown> grown = grow(*trees_, rules, false, rng, stop);
    if (!grown) return std::nullopt;
    const auto first = static_cast<std::size_t>(append(whole, grown->graph, trees_->names));
    std::vector<char> inner(whole.tasks.size(), 0);
    for (const auto& [a, b] : whole.arcs) inner[static_cast<std::size_t>(b)] = 1;
    for (std::size_t i = first; i < whole.tasks.size(); ++i) {
      const int after = last[whole.tasks[i].chunk.index()];
      if (after >= 0 && inner[i] == 0) whole.arcs.emplace_back(after, static_cast<int>(i));
      result.starts.push_back(summed + grown->starts[i - first]);
      result.finish =
          std::max(result.finish, result.starts.back() + whole.shape(whole.tasks[i]).span);
    }
  }
  if (paths_) {
    std::optional<TaskGraph> routed = paths_->router->route(rules.paths, rng, stop);
    if (!routed) return std::nullopt;
    append(whole, *routed, paths_->names);
  }
  if (!result.timed) result.starts.clear();
  return result;
}

}  // namespace stellwerk::symmetric
