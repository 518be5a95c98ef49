// Problem: a program says in which order thread blocks move which data; what would it cost on our network, and how far is that from
// the bound? Idea: an interpreter has run it and written down where data went (check/history.hpp), so that places of memory, local
// copies and signals are gone. Chunks and addends are those of the collective's problem; what is left are transfers of one chunk, or of one
// partial sum, between two GPUs (moves.cpp), in rounds that keep partial sums as the program had them (order_moves.cpp). All moves of a
// round begin at one nominal instant; re-timing and gap filling then start each as early as data and links allow (check/simulate.hpp,
// plan/compact.hpp). Guarantee: the result is judged here; a valid plan that moves what the program moved. Its order on a link
// that several connections share is ours, since programs leave that open. Cost: that of re-timing. Held to its word by
// tests/conformance/programs_test.cpp, which takes plans to programs and back.
#include "stellwerk/lower/lift.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/simulate.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/lower/moves.hpp"
#include "stellwerk/plan/compact.hpp"

namespace stellwerk::lower {
namespace {

using check::History;

/// Of more, one order is timed.
constexpr std::size_t kFewMoves = 200'000;

std::optional<Collective> collective_of(std::string_view name) {
  if (name == "reduce_scatter") return Collective::reducescatter;
  for (const Collective known :
       {Collective::allgather, Collective::allreduce, Collective::alltoall,
        Collective::reducescatter, Collective::broadcast, Collective::reduce}) {
    if (name == to_string(known)) return known;
  }
  return std::nullopt;
}

class Lifting {
 public:
  Lifting(const History& history, Bytes size, const std::string& file)
      : history_(history), ranks_(history.gpus()), size_(size), file_(file) {}

  void state_problem(Collective collective, Topology topology) {
    const std::vector<NodeId> gpus = topology.gpus();
    if (gpus.size() != static_cast<std::size_t>(ranks_)) {
      fail("the program is for " + std::to_string(ranks_) + " GPUs, topology '" + topology.name() +
           "' has " + std::to_string(gpus.size()));
    }
    const int pieces = history_.pieces();
    if (pieces < 1) fail("the program has no input");
    const bool blocks = collective == Collective::alltoall ||
                        collective == Collective::reducescatter ||
                        collective == Collective::allreduce;
    Job job;
    job.name = "imported";
    job.ranks = gpus;
    job.size = size_;
    job.collective = collective;
    cut_ = blocks ? pieces / ranks_ : pieces;
    if (blocks && pieces % ranks_ != 0) {
      if (collective != Collective::allreduce)
        fail(std::to_string(pieces) + " chunks of input are no equal blocks for " +
             std::to_string(ranks_) + " GPUs");
      cut_ = pieces;
      all_custom(job);
    }
    job.chunks = job.collective == Collective::custom ? 1 : cut_;
    problem_ = make_problem(std::move(topology), {job});
    for (std::size_t r = 0; r < gpus.size(); ++r) rank_of_[gpus[r]] = static_cast<int>(r);
    const bool per_owner = collective == Collective::alltoall;
    for (const ChunkId id : problem_.chunk_ids()) {
      const Chunk& chunk = problem_.chunks[id];
      chunk_at_[{per_owner ? rank_of_.at(chunk.owner) : 0, chunk.slot}] = id;
    }
    const std::size_t n = gpus.size();
    std::size_t count = static_cast<std::size_t>(cut_);
    if (collective == Collective::alltoall) count *= n - 1;
    if (!row(job.collective).whole_buffer && job.collective != Collective::custom) count *= n;
    if (problem_.chunks.size() != count) {
      fail(to_string(size_) + " is too little for " + std::to_string(cut_) +
           " chunks a block: give a larger --size");
    }
  }

  Lifted lift() {
    std::string why;
    for (const bool waste : {true, false}) {
      Moves moves = moves_of(
          history_, problem_, [this](int rank, int piece) { return chunk_of(rank, piece); }, waste,
          file_);
      const Rounds rounds = order_moves(problem_, moves, file_);
      std::optional<Simulation> best;
      for (const auto* order : {&rounds.early, &rounds.late}) {
        if (best && moves.list.size() > kFewMoves) break;
        try {
          Simulation timed = simulate(problem_, compact(problem_, nominal(moves, *order)));
          const Verdict verdict = verify_sends(problem_, timed.sends);
          if (!verdict.valid()) throw Error(ErrorCode::verification_failed, verdict.message);
          if (!best || timed.transfer_time < best->transfer_time) best = std::move(timed);
        } catch (const Error& error) {
          if (error.code() != ErrorCode::verification_failed) throw;
          why = error.what();
        }
      }
      if (!best) continue;
      Lifted result;
      result.forwarded = moves.forwarded;
      result.left_out = moves.left_out;
      result.plan.problem = std::move(problem_);
      sort_sends(result.plan.problem.topology, best->sends);
      result.plan.sends = std::move(best->sends);
      result.plan.result.transfer_time = best->transfer_time;
      result.plan.result.job_finish = best->job_finish;
      result.plan.result.termination.reason = Termination::Reason::feasible;
      return result;
    }
    fail("no plan on topology '" + problem_.topology.name() + "': " + why);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::unreadable_input, file_ + ": " + what);
  }

  /// The buffer in `cut_` chunks that everybody sums.
  void all_custom(Job& job) const {
    job.collective = Collective::custom;
    for (int k = 0; k < cut_; ++k) {
      CustomChunk chunk;
      chunk.bytes = Bytes{size_.value / cut_ + (k < size_.value % cut_ ? 1 : 0)};
      chunk.contributors = job.ranks;
      chunk.destinations = job.ranks;
      if (chunk.bytes.value > 0) job.custom.push_back(std::move(chunk));
    }
    job.size = Bytes{};
  }

  std::optional<ChunkId> chunk_of(int rank, int piece) const {
    const Collective collective = problem_.jobs.front().collective;
    std::pair<int, std::int64_t> key{0, piece};
    if (collective == Collective::allgather) key.second += std::int64_t{rank} * cut_;
    if (collective == Collective::alltoall) key.first = rank;
    const auto found = chunk_at_.find(key);
    return found == chunk_at_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Round after round, each longer than any of its moves.
  Schedule nominal(const Moves& moves, const std::vector<std::int64_t>& rounds) const {
    std::vector<std::size_t> order(moves.list.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(rounds[a], a) < std::pair(rounds[b], b);
    });
    Schedule sends;
    Time longest;
    for (const std::size_t m : order) {
      const Move& move = moves.list[m];
      sends.push_back(whole_chunk_send(problem_.topology, problem_.chunks[move.chunk], move.chunk,
                                       move.op, Time{}, move.links));
      longest = std::max(longest, timing(problem_.topology, sends.back()).arrival.front());
    }
    constexpr std::int64_t kHorizon = std::int64_t{1} << 60;
    if (!order.empty() && longest.ps >= kHorizon / (rounds[order.back()] + 2))
      fail("takes too long on topology '" + problem_.topology.name() + "': more than two weeks");
    for (std::size_t k = 0; k < order.size(); ++k)
      sends[k].start = rounds[order[k]] * Time{longest.ps + 1};
    return sends;
  }

  const History& history_;
  int ranks_;
  Bytes size_;
  const std::string& file_;
  int cut_ = 0;  ///< chunks of a block
  Problem problem_;
  std::map<NodeId, int> rank_of_;
  std::map<std::pair<int, std::int64_t>, ChunkId> chunk_at_;  ///< by owner where it matters, slot
};

}  // namespace

Lifted lift(const History& history, std::string_view collective, Bytes size, Topology topology,
            const std::string& file) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::unreadable_input, file + ": " + what);
  };
  const std::optional<Collective> known = collective_of(collective);
  if (!known) fail("its collective promises nothing that a plan could be held to");
  if (history.full())
    fail("moves more than " + std::to_string(History::kMostItems) + " pieces of data");
  Lifting lifting(history, size, file);
  lifting.state_problem(*known, std::move(topology));
  return lifting.lift();
}

}  // namespace stellwerk::lower
