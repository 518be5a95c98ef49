// Operations become thread blocks: all that a rank sends to (or receives from) one peer over one channel is one list, local work
// another. If steps exceed the limit, the connection is spread over more channels; if thread blocks do, lists of sends and
// lists of receives of one channel share a thread block. Every list is by key, and no list has a key twice, so the smallest
// operation left anywhere can always go on (operations.hpp). Dependencies are reduced with a clock a thread block: what is known
// to be done through others is not waited for again.
#include "stellwerk/lower/program.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "stellwerk/base/error.hpp"

namespace stellwerk::lower {
namespace {

[[noreturn]] void refuse(const Limits& limits, const std::string& what, const std::string& remedy) {
  throw Error(ErrorCode::unsolved,
              "not expressible for " + limits.target + ": " + what + ": " + remedy);
}

Step::Kind kind_of(Operation::Kind kind) {
  switch (kind) {
    case Operation::Kind::send:
      return Step::Kind::send;
    case Operation::Kind::receive:
      return Step::Kind::receive;
    case Operation::Kind::receive_reduce:
      return Step::Kind::receive_reduce;
    case Operation::Kind::reduce:
      return Step::Kind::reduce;
    case Operation::Kind::copy:
      return Step::Kind::copy;
  }
  return Step::Kind::wait;
}

/// How many channels each connection (from, to) uses, and which transfer goes over which.
class Channels {
 public:
  Channels(const std::vector<Transfer>& transfers, std::size_t ranks)
      : transfers_(transfers), ranks_(static_cast<int>(ranks)), place_(transfers.size()) {
    std::map<std::pair<int, int>, int> count;
    for (std::size_t t = 0; t < transfers.size(); ++t) {
      place_[t] = count[{transfers[t].from, transfers[t].to}]++;
    }
    for (const auto& [ends, transfers_of_it] : count) width_[ends] = 1;
  }

  /// A connection takes one channel more, in turn.
  void widen(int from, int to) { ++width_[{from, to}]; }
  /// Connections begin at one channel more, by how far apart their ends are.
  void spread() { ++spread_; }

  int of(std::size_t transfer) const {
    const Transfer& t = transfers_[transfer];
    const int apart = (t.to - t.from + ranks_) % ranks_;
    return apart % spread_ + spread_ * (place_[transfer] % width(t.from, t.to));
  }
  int width(int from, int to) const { return width_.at({from, to}); }
  int count() const {
    int widest = 1;
    for (const auto& [ends, width] : width_) widest = std::max(widest, width);
    return widest * spread_;
  }

 private:
  const std::vector<Transfer>& transfers_;
  int ranks_;
  std::vector<int> place_;  ///< of a transfer on its connection
  std::map<std::pair<int, int>, int> width_;
  int spread_ = 1;
};

/// One rank's operations on thread blocks.
class Assignment {
 public:
  Assignment(const RankOperations& rank, const Channels& channels, const Limits& limits)
      : rank_(rank), block_of_(rank.operations.size()), step_of_(rank.operations.size()) {
    group(channels);
    if (static_cast<int>(blocks_.size()) > limits.blocks) share();
    order_blocks();
    place_steps();
  }

  std::vector<ThreadBlock> blocks() && { return std::move(blocks_); }

 private:
  void group(const Channels& channels) {
    std::map<std::tuple<int, int, int>, std::size_t> number;  // kind, peer, channel
    for (std::size_t k = 0; k < rank_.operations.size(); ++k) {
      const Operation& operation = rank_.operations[k];
      const int kind = operation.sends() ? 1 : operation.receives() ? 0 : 2;
      const int channel = kind == 2 ? 0 : channels.of(operation.transfer);
      const auto [entry, added] =
          number.emplace(std::tuple(kind, operation.peer, channel), blocks_.size());
      if (added) {
        ThreadBlock block;
        block.channel = channel;
        (kind == 1 ? block.send : block.receive) = kind == 2 ? -1 : operation.peer;
        blocks_.push_back(std::move(block));
      }
      block_of_[k] = entry->second;
    }
  }

  /// A list of sends and a list of receives of one channel in one thread block.
  void share() {
    std::vector<std::size_t> into(blocks_.size());
    std::map<int, std::vector<std::size_t>> senders, receivers;  // by channel
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      into[b] = b;
      if (blocks_[b].send != -1) senders[blocks_[b].channel].push_back(b);
      if (blocks_[b].receive != -1) receivers[blocks_[b].channel].push_back(b);
    }
    for (auto& [channel, lists] : receivers) {
      auto& partners = senders[channel];
      for (std::size_t k = 0; k < std::min(lists.size(), partners.size()); ++k) {
        into[lists[k]] = partners[k];
        blocks_[partners[k]].receive = blocks_[lists[k]].receive;
      }
    }
    renumber(into);
  }

  /// Thread blocks that others wait for come first: runtimes hold their numbers in a few bits.
  void order_blocks() {
    std::vector<bool> awaited(blocks_.size());
    for (std::size_t k = 0; k < rank_.operations.size(); ++k) {
      for (const std::size_t other : rank_.operations[k].after) {
        if (block_of_[other] != block_of_[k]) awaited[block_of_[other]] = true;
      }
    }
    std::vector<std::size_t> order(blocks_.size());
    for (std::size_t b = 0; b < order.size(); ++b) order[b] = b;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return awaited[a] > awaited[b]; });
    std::vector<std::size_t> into(blocks_.size());
    std::vector<ThreadBlock> sorted;
    for (std::size_t b = 0; b < order.size(); ++b) {
      into[order[b]] = b;
      sorted.push_back(std::move(blocks_[order[b]]));
    }
    blocks_ = std::move(sorted);
    for (std::size_t& block : block_of_) block = into[block];
  }

  /// Drops the blocks that went into others.
  void renumber(const std::vector<std::size_t>& into) {
    std::vector<std::size_t> number(blocks_.size(), SIZE_MAX);
    std::vector<ThreadBlock> kept;
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (into[b] != b) continue;
      number[b] = kept.size();
      kept.push_back(std::move(blocks_[b]));
    }
    for (std::size_t& block : block_of_) block = number[into[block]];
    blocks_ = std::move(kept);
  }

  /// Steps in the order of keys, with waits for what is not known to be done.
  void place_steps() {
    const std::size_t n = blocks_.size();
    // known[b][c]: how many steps of c are done whenever the next step of b runs; after[k]: the same once operation k is done.
    std::vector<std::vector<int>> known(n, std::vector<int>(n)), after(rank_.operations.size());
    for (std::size_t k = 0; k < rank_.operations.size(); ++k) {
      const Operation& operation = rank_.operations[k];
      const std::size_t b = block_of_[k];
      std::vector<std::size_t> waits;
      for (auto other = operation.after.rbegin(); other != operation.after.rend(); ++other) {
        const std::size_t c = block_of_[*other];
        if (c == b || known[b][c] > step_of_[*other]) continue;
        waits.push_back(*other);
        for (std::size_t d = 0; d < n; ++d) known[b][d] = std::max(known[b][d], after[*other][d]);
      }
      Step step;
      step.kind = kind_of(operation.kind);
      step.source = operation.source;
      step.target = operation.target;
      for (std::size_t w = 0; w < waits.size(); ++w) {
        const int block = static_cast<int>(block_of_[waits[w]]), at = step_of_[waits[w]];
        blocks_[static_cast<std::size_t>(block)].steps[static_cast<std::size_t>(at)].awaited = true;
        Step wait;
        Step& carrier = w + 1 < waits.size() ? wait : step;
        carrier.wait_block = block;
        carrier.wait_step = at;
        if (w + 1 < waits.size()) blocks_[b].steps.push_back(wait);
      }
      step_of_[k] = static_cast<int>(blocks_[b].steps.size());
      blocks_[b].steps.push_back(step);
      known[b][b] = step_of_[k] + 1;
      after[k] = known[b];
    }
  }

  const RankOperations& rank_;
  std::vector<std::size_t> block_of_;
  std::vector<int> step_of_;
  std::vector<ThreadBlock> blocks_;
};

void check_limits(const Program& program, const Limits& limits) {
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    const RankProgram& rank = program.ranks[r];
    const std::string of = " of rank " + std::to_string(r);
    const auto expect = [&](const std::string& what, int value, int limit, const char* remedy) {
      if (value > limit)
        refuse(limits,
               what + of + ": " + std::to_string(value) + " of at most " + std::to_string(limit),
               remedy);
    };
    int elements = 1 + static_cast<int>(program.ranks.size()), awaited = -1;
    std::map<int, int> on_channel;
    for (std::size_t b = 0; b < rank.blocks.size(); ++b) {
      const ThreadBlock& block = rank.blocks[b];
      elements += 1 + static_cast<int>(block.steps.size());
      expect("steps in a thread block", static_cast<int>(block.steps.size()), limits.steps,
             "plan with fewer chunks (--chunks)");
      expect("thread blocks on a channel", ++on_channel[block.channel], limits.blocks_a_channel,
             "plan with fewer peers for each GPU, or for fewer GPUs");
      for (const Step& step : block.steps) awaited = std::max(awaited, step.wait_block);
    }
    expect("thread blocks", static_cast<int>(rank.blocks.size()), limits.blocks,
           "plan with fewer chunks (--chunks) or fewer peers");
    expect("thread blocks that others wait for", awaited, limits.awaited_block,
           "plan with fewer chunks (--chunks)");
    expect("steps and thread blocks", elements, limits.elements,
           "plan with fewer chunks (--chunks)");
  }
  if (program.channels > limits.channels) {
    refuse(limits,
           "channels: " + std::to_string(program.channels) + " of at most " +
               std::to_string(limits.channels),
           "plan with fewer chunks (--chunks)");
  }
}

}  // namespace

Program lower_plan(const Plan& plan, bool in_place, const Limits& limits) {
  const std::vector<Transfer> moves = transfers(plan);
  const Buffers buffers(plan.problem, in_place);
  const std::vector<RankOperations> ranks = operations(plan.problem, moves, buffers);
  Channels channels(moves, ranks.size());
  Program program;
  program.collective = plan.problem.jobs.front().collective;
  program.in_place = in_place;
  program.chunks = buffers.chunks();
  program.root = plan.problem.jobs.front().root;
  while (true) {
    program.ranks.clear();
    std::set<std::pair<int, int>> narrow;
    bool crowded = false;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      RankProgram rank;
      rank.input = buffers.input_size();
      rank.output = buffers.output_size();
      rank.scratch = ranks[r].scratch;
      rank.blocks = Assignment(ranks[r], channels, limits).blocks();
      std::map<int, int> on_channel;
      for (const ThreadBlock& block : rank.blocks) {
        crowded = crowded || ++on_channel[block.channel] > limits.blocks_a_channel;
        if (static_cast<int>(block.steps.size()) <= limits.steps) continue;
        if (block.send != -1) narrow.insert({static_cast<int>(r), block.send});
        if (block.receive != -1) narrow.insert({block.receive, static_cast<int>(r)});
      }
      program.ranks.push_back(std::move(rank));
    }
    if (narrow.empty() && !crowded) break;
    for (const auto& [from, to] : narrow) channels.widen(from, to);
    if (crowded) channels.spread();
    if (channels.count() > limits.channels) break;
  }
  program.channels = channels.count();
  check_limits(program, limits);
  return program;
}

}  // namespace stellwerk::lower
