// Groups of chunks become thread blocks. All that a rank does with a group is done by one block, and by the block of the same
// number at every rank; groups have no place in common, so blocks of a rank never have to tell each other anything. A group goes to the
// block that has the least to do at its busiest rank, if the limits allow, or to another. If groups do not fit, more blocks are tried, then
// puts at different times in one operation, then the plan is refused. Every block has a channel of its own to every peer;
// the k-th channel from A to B is the other end of the k-th from B to A, since both number theirs by block.
#include "stellwerk/lower/put_program.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "stellwerk/base/error.hpp"
#include "stellwerk/lower/put_block.hpp"

namespace stellwerk::lower {
namespace {

/// Blocks that are used if fewer would do: more would share what a GPU can do at once.
constexpr int kSpread = 32;

[[noreturn]] void refuse(const PutLimits& limits, const std::string& what,
                         const std::string& remedy) {
  throw Error(ErrorCode::unsolved,
              "not expressible for " + limits.target + ": " + what + ": " + remedy);
}

class Packing {
 public:
  Packing(const Problem& problem, const Puts& puts, const PutLimits& limits, int blocks,
          bool merged)
      : puts_(puts), limits_(limits), merged_(merged), blocks_(static_cast<std::size_t>(blocks)) {
    const Job& job = problem.jobs.front();
    access_.assign(job.ranks.size(), std::vector<Access>(job.ranks.size(), Access::memory));
    for (std::size_t r = 0; r < job.ranks.size(); ++r) {
      for (std::size_t p = 0; p < job.ranks.size(); ++p) {
        if (problem.topology.node(job.ranks[r]).host != problem.topology.node(job.ranks[p]).host)
          access_[r][p] = Access::port;
      }
    }
  }

  /// The limit in the way if not all groups fit.
  std::optional<std::string> pack() {
    for (const ActionGroup& group : puts_.groups) {
      std::vector<std::size_t> order(blocks_.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::vector<std::size_t> load(blocks_.size());
      for (std::size_t b = 0; b < blocks_.size(); ++b) load[b] = busiest(blocks_[b], group);
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return load[a] < load[b]; });
      std::string excess;
      const bool fits = std::any_of(order.begin(), order.end(),
                                    [&](std::size_t b) { return add(blocks_[b], group, excess); });
      if (!fits) return excess;
    }
    return std::nullopt;
  }

  std::vector<PutRank> ranks(const Buffers& buffers) && {
    std::vector<PutRank> result(access_.size());
    for (std::size_t r = 0; r < result.size(); ++r) {
      PutRank& rank = result[r];
      rank.scratch = puts_.scratch[r];
      for (Block& block : blocks_) {
        const auto found = block.find(static_cast<int>(r));
        if (found != block.end()) number(rank, std::move(found->second.draft));
      }
      copy_own(rank, buffers.own_copies(static_cast<int>(r)));
    }
    return result;
  }

 private:
  struct Part {
    std::vector<Action> actions;
    BlockDraft draft;
  };
  using Block = std::map<int, Part>;  ///< by rank

  static std::size_t busiest(const Block& block, const ActionGroup& group) {
    std::size_t most = 0;
    for (const auto& [rank, actions] : group.of_rank) {
      const auto found = block.find(rank);
      if (found != block.end()) most = std::max(most, found->second.draft.ops.size());
    }
    return most;
  }

  bool add(Block& block, const ActionGroup& group, std::string& excess) const {
    std::map<int, Part> changed;
    for (const auto& [rank, actions] : group.of_rank) {
      Part part;
      const auto found = block.find(rank);
      if (found != block.end()) part.actions = found->second.actions;
      part.actions.insert(part.actions.end(), actions.begin(), actions.end());
      part.draft =
          draft_block(part.actions, access_[static_cast<std::size_t>(rank)], merged_, limits_);
      if (!part.draft.excess.empty()) {
        excess = part.draft.excess;
        return false;
      }
      changed[rank] = std::move(part);
    }
    for (auto& [rank, part] : changed) block[rank] = std::move(part);
    return true;
  }

  /// Positions of a draft become numbers of the rank's channels and remote buffers.
  static void number(PutRank& rank, BlockDraft draft) {
    PutBlock block;
    block.ops = std::move(draft.ops);
    for (std::size_t a = 0; a < 2; ++a) {
      for (const int peer : draft.peers[a]) {
        block.channels[a].push_back(static_cast<int>(rank.channels[a].size()));
        rank.channels[a].push_back(peer);
      }
      for (const RemoteBuffer& buffer : draft.buffers[a]) {
        const auto found = std::find(rank.remote.begin(), rank.remote.end(), buffer);
        block.buffers[a].push_back(static_cast<int>(found - rank.remote.begin()));
        if (found == rank.remote.end()) rank.remote.push_back(buffer);
      }
    }
    rank.blocks.push_back(std::move(block));
  }

  /// What a rank copies for itself touches no place of others: one operation a stretch, in a block that has room.
  void copy_own(PutRank& rank, const std::vector<std::pair<Place, Place>>& copies) const {
    for (std::size_t k = 0; k < copies.size();) {
      const auto& [from, to] = copies[k];
      PutOp op;
      op.kind = PutOp::Kind::copy;
      op.sources = {from};
      op.targets = {to};
      op.count = 0;
      while (k < copies.size() && copies[k].first.offset == from.offset + op.count &&
             copies[k].second.offset == to.offset + op.count) {
        ++op.count;
        ++k;
      }
      const auto shortest = std::min_element(
          rank.blocks.begin(), rank.blocks.end(),
          [](const PutBlock& a, const PutBlock& b) { return a.ops.size() < b.ops.size(); });
      const bool room = shortest != rank.blocks.end() &&
                        static_cast<int>(shortest->ops.size()) < limits_.operations;
      if (!room) rank.blocks.emplace_back();
      (room ? *shortest : rank.blocks.back()).ops.push_back(std::move(op));
    }
  }

  const Puts& puts_;
  const PutLimits& limits_;
  bool merged_;
  std::vector<std::vector<Access>> access_;
  std::vector<Block> blocks_;
};

}  // namespace

std::size_t PutProgram::operations() const {
  std::size_t count = 0;
  for (const PutRank& rank : ranks) {
    for (const PutBlock& block : rank.blocks) count += block.ops.size();
  }
  return count;
}

PutProgram lower_to_puts(const Plan& plan, bool in_place, const PutLimits& limits) {
  const std::vector<Transfer> moves = transfers(plan);
  for (const Transfer& move : moves) {
    if (move.arrival <= move.start)
      refuse(limits, "a transfer takes no time", "give links a bandwidth or a latency");
  }
  const Buffers buffers(plan.problem, in_place);
  const Puts actions = puts(plan.problem, moves, buffers);
  PutProgram program;
  program.collective = plan.problem.jobs.front().collective;
  program.in_place = in_place;
  const Buffers apart(plan.problem, false);
  program.input = apart.input_size();
  program.output = apart.output_size();
  program.root = plan.problem.jobs.front().root;
  std::string excess;
  for (const auto& [blocks, merged] : {std::pair(std::min(kSpread, limits.blocks), false),
                                       {limits.blocks, false},
                                       {limits.blocks, true}}) {
    Packing packing(plan.problem, actions, limits, blocks, merged);
    if (const auto in_the_way = packing.pack()) {
      excess = *in_the_way;
      continue;
    }
    program.ranks = std::move(packing).ranks(buffers);
    const bool fits = std::all_of(
        program.ranks.begin(), program.ranks.end(),
        [&](const PutRank& rank) { return static_cast<int>(rank.blocks.size()) <= limits.blocks; });
    if (fits) return program;
    excess = "copies of the own data find no room";
  }
  refuse(limits, excess + ", with " + std::to_string(limits.blocks) + " thread blocks",
         "plan with fewer chunks (--chunks), fewer GPUs, or fewer peers for each GPU");
}

}  // namespace stellwerk::lower
