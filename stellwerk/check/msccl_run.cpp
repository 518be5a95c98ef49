// Problem: do these thread blocks, each running its list in order, ever wait for each other in a circle, and does every chunk end
// up as the collective promises, in whatever order they are scheduled? Idea: run them round-robin on lists of
// addends instead of numbers. With bounded connections such a network of sequential processes either completes under every fair
// schedule or under none, so one run decides about deadlock. The data are the same under every schedule only if all pairs of
// steps that touch one chunk (one of them writing) are ordered: vector clocks over program order, waits and
// messages tell (Lamport, CACM 21(7), 1978; Mattern, 1989). Cost: steps x (chunks of a step + thread blocks). Held to its
// word by msccl_run_test.cpp and, on files of production, by msccl_xml_test.cpp.
#include "stellwerk/check/msccl_run.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <deque>
#include <map>
#include <memory>
#include <tuple>

namespace stellwerk::check {
namespace {

/// Clocks take 4 bytes an entry.
constexpr std::size_t kMostClockEntries = 100'000'000;

/// The addends of a chunk, sorted; numbers are rank * chunks + place in the input. Empty: nothing was written.
using Value = std::vector<std::uint32_t>;
using Clock = std::vector<std::uint32_t>;

/// What a chunk holds, and which item of the history it is.
struct Data {
  Value value;
  History::Id id = History::kNothing;
};

struct Cell {
  Data data;
  // Who wrote last and who read since, as thread block and step.
  std::pair<std::size_t, std::uint32_t> writer{SIZE_MAX, 0};
  std::map<std::size_t, std::uint32_t> readers;
};

struct Message {
  std::vector<Data> chunks;
  std::shared_ptr<const Clock> clock;
};

class Run {
 public:
  Run(const MscclProgram& program, bool in_place, int capacity, History* history)
      : program_(program),
        in_place_(in_place),
        capacity_(static_cast<std::size_t>(capacity)),
        history_(history) {
    std::size_t blocks = 0;
    for (const MscclGpu& gpu : program.gpus) {
      first_block_.push_back(blocks);
      blocks += gpu.blocks.size();
    }
    at_.resize(blocks);
    std::size_t awaited = 0;
    for (const MscclGpu& gpu : program.gpus) {
      for (const MscclBlock& b : gpu.blocks) {
        awaited += static_cast<std::size_t>(std::count_if(
            b.steps.begin(), b.steps.end(), [](const MscclStep& s) { return s.awaited; }));
      }
    }
    outcome_.races_looked_for = (blocks + awaited) * blocks <= kMostClockEntries;
    clock_.assign(blocks, Clock(outcome_.races_looked_for ? blocks : 0));
    done_.resize(blocks);
    for (std::size_t g = 0; g < program.gpus.size(); ++g) {
      for (std::size_t b = 0; b < program.gpus[g].blocks.size(); ++b)
        done_[first_block_[g] + b].resize(program.gpus[g].blocks[b].steps.size());
    }
    lay_out();
  }

  MscclOutcome run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t g = 0; g < program_.gpus.size(); ++g) {
        for (std::size_t b = 0; b < program_.gpus[g].blocks.size(); ++b) {
          while (advance(g, b)) moved = true;
        }
      }
    }
    outcome_.complete = true;
    for (std::size_t g = 0; g < program_.gpus.size() && outcome_.complete; ++g) {
      for (std::size_t b = 0; b < program_.gpus[g].blocks.size(); ++b) {
        const MscclBlock& block = program_.gpus[g].blocks[b];
        const std::size_t at = at_[first_block_[g] + b];
        if (at == block.steps.size()) continue;
        outcome_.complete = false;
        outcome_.stuck = "GPU " + std::to_string(g) + ", tb " + std::to_string(b) + ", step " +
                         std::to_string(at) + " (" + to_string(block.steps[at].op) + ", line " +
                         std::to_string(block.steps[at].line) + ") waits ";
        blocked(g, b);
        outcome_.stuck += reason_;
        break;
      }
    }
    if (outcome_.complete) judge();
    return std::move(outcome_);
  }

 private:
  const MscclBlock& block(std::size_t g, std::size_t b) const { return program_.gpus[g].blocks[b]; }

  // --- Buffers -----------------------------------------------------------------------------------

  int part() const {
    return program_.chunks / std::max<int>(1, static_cast<int>(program_.gpus.size()));
  }
  bool is(const char* name) const { return program_.collective == name; }

  /// Chunks of a rank's input and output, whatever the file counts.
  int input_size() const { return program_.gathers() ? part() : program_.chunks; }
  int output_size() const { return program_.scatters() ? part() : program_.chunks; }

  void lay_out() {
    const std::size_t n = program_.gpus.size();
    if (history_) history_->begin(static_cast<int>(n), input_size());
    cells_.resize(n);
    for (std::size_t g = 0; g < n; ++g) {
      const MscclGpu& gpu = program_.gpus[g];
      const std::size_t input = static_cast<std::size_t>(
          std::max({gpu.input, input_size(), in_place_ ? std::max(gpu.output, output_size()) : 0}));
      const std::size_t output = static_cast<std::size_t>(
          std::max({gpu.output, output_size(), in_place_ ? std::max(gpu.input, input_size()) : 0}));
      base_.push_back({0, input, input + output});
      cells_[g].resize(input + output + static_cast<std::size_t>(gpu.scratch));
      for (int k = 0; k < input_size(); ++k) {
        if (is("broadcast") && g != 0) break;
        Data& data = cell(g, {'i', k}).data;
        data.value = {static_cast<std::uint32_t>(static_cast<int>(g) * program_.chunks + k)};
        if (history_) data.id = history_->addend(static_cast<int>(g), k);
      }
    }
  }

  /// In place the smaller buffer lies inside the larger one.
  Cell& cell(std::size_t g, const MscclRange& range) {
    std::size_t at = static_cast<std::size_t>(range.offset);
    if (range.buffer == 's') return cells_[g][base_[g][2] + at];
    if (!in_place_) return cells_[g][base_[g][range.buffer == 'i' ? 0 : 1] + at];
    const std::size_t own = g * static_cast<std::size_t>(part());
    if (program_.gathers() && range.buffer == 'i') at += own;
    if (program_.scatters() && range.buffer == 'o') at += own;
    return cells_[g][base_[g][0] + at];
  }

  // --- Order -------------------------------------------------------------------------------------

  void join(Clock& clock, const Clock& other) {
    for (std::size_t k = 0; k < clock.size(); ++k) clock[k] = std::max(clock[k], other[k]);
  }
  bool before(const std::pair<std::size_t, std::uint32_t>& event, std::size_t self) const {
    return !outcome_.races_looked_for || event.first == self ||
           clock_[self][event.first] > event.second;
  }
  std::string place(const std::pair<std::size_t, std::uint32_t>& event) const {
    std::size_t g = 0;
    while (g + 1 < first_block_.size() && first_block_[g + 1] <= event.first) ++g;
    const std::size_t b = event.first - first_block_[g];
    return "line " + std::to_string(block(g, b).steps[event.second].line);
  }
  void race(const std::pair<std::size_t, std::uint32_t>& a,
            const std::pair<std::size_t, std::uint32_t>& b, const MscclRange& range,
            std::size_t g) {
    if (outcome_.race) return;
    outcome_.race = "GPU " + std::to_string(g) + ", " + range.buffer + "[" +
                    std::to_string(range.offset) + "]: " + place(a) + " and " + place(b) +
                    " may come in either order";
  }

  const Data& read(std::size_t g, std::size_t self, MscclRange range, int k) {
    range.offset += k;
    Cell& c = cell(g, range);
    const std::pair<std::size_t, std::uint32_t> now{self, static_cast<std::uint32_t>(at_[self])};
    if (c.writer.first != SIZE_MAX && !before(c.writer, self)) race(c.writer, now, range, g);
    if (outcome_.races_looked_for) c.readers[self] = now.second;
    return c.data;
  }
  void write(std::size_t g, std::size_t self, MscclRange range, int k, Data data) {
    range.offset += k;
    Cell& c = cell(g, range);
    const std::pair<std::size_t, std::uint32_t> now{self, static_cast<std::uint32_t>(at_[self])};
    if (c.writer.first != SIZE_MAX && !before(c.writer, self)) race(c.writer, now, range, g);
    for (const auto& reader : c.readers) {
      if (!before(reader, self)) race(reader, now, range, g);
    }
    c.readers.clear();
    c.writer = now;
    c.data = std::move(data);
  }

  Data sum(std::size_t g, const Data& a, const Data& b) {
    Data result;
    result.value.resize(a.value.size() + b.value.size());
    std::merge(a.value.begin(), a.value.end(), b.value.begin(), b.value.end(),
               result.value.begin());
    if (history_) result.id = history_->sum(a.id, b.id, static_cast<int>(g));
    return result;
  }

  // --- Steps -------------------------------------------------------------------------------------

  static int gpu(std::size_t g) { return static_cast<int>(g); }
  History::Step place_of(std::size_t g, std::size_t b) const {
    return {gpu(g), static_cast<int>(b), static_cast<int>(at_[first_block_[g] + b])};
  }

  using Connection = std::tuple<int, int, int>;
  Connection out(std::size_t g, const MscclBlock& b) const {
    return {static_cast<int>(g), b.send, b.channel};
  }
  Connection in(std::size_t g, const MscclBlock& b) const {
    return {b.receive, static_cast<int>(g), b.channel};
  }

  /// Must the next step of a block wait? Then `reason_` says for what.
  bool blocked(std::size_t g, std::size_t b) {
    const MscclBlock& here = block(g, b);
    const MscclStep& step = here.steps[at_[first_block_[g] + b]];
    if (step.wait_block >= 0 && at_[first_block_[g] + static_cast<std::size_t>(step.wait_block)] <=
                                    static_cast<std::size_t>(step.wait_step)) {
      reason_ = "for step " + std::to_string(step.wait_step) + " of tb " +
                std::to_string(step.wait_block);
      return true;
    }
    if (receives(step.op) && messages_[in(g, here)].empty()) {
      reason_ = "for GPU " + std::to_string(here.receive) + " to send on channel " +
                std::to_string(here.channel);
      return true;
    }
    if (sends(step.op) && messages_[out(g, here)].size() >= capacity_) {
      reason_ = "for GPU " + std::to_string(here.send) + " to receive on channel " +
                std::to_string(here.channel);
      return true;
    }
    reason_.clear();
    return false;
  }

  /// Runs the next step of a block if it can.
  bool advance(std::size_t g, std::size_t b) {
    const MscclBlock& here = block(g, b);
    const std::size_t self = first_block_[g] + b;
    if (at_[self] == here.steps.size() || blocked(g, b)) return false;
    const MscclStep& step = here.steps[at_[self]];
    if (step.wait_block >= 0)
      join(clock_[self], *done_[first_block_[g] + static_cast<std::size_t>(step.wait_block)]
                               [static_cast<std::size_t>(step.wait_step)]);
    Message received;
    if (receives(step.op)) {
      auto& queue = messages_[in(g, here)];
      received = std::move(queue.front());
      queue.pop_front();
      join(clock_[self], *received.clock);
    }
    Message sent;
    for (int k = 0; k < step.count; ++k) {
      const std::size_t at = static_cast<std::size_t>(k);
      switch (step.op) {
        case MscclOp::send:
          sent.chunks.push_back(read(g, self, step.src, k));
          break;
        case MscclOp::receive:
          write(g, self, step.dst, k, std::move(received.chunks[at]));
          break;
        case MscclOp::receive_copy_send:
          sent.chunks.push_back(received.chunks[at]);
          write(g, self, step.dst, k, std::move(received.chunks[at]));
          break;
        case MscclOp::receive_reduce_copy:
          write(g, self, step.dst, k, sum(g, read(g, self, step.src, k), received.chunks[at]));
          break;
        case MscclOp::receive_reduce_send:
          sent.chunks.push_back(sum(g, read(g, self, step.src, k), received.chunks[at]));
          break;
        case MscclOp::receive_reduce_copy_send:
          sent.chunks.push_back(sum(g, read(g, self, step.src, k), received.chunks[at]));
          write(g, self, step.dst, k, Data(sent.chunks.back()));
          break;
        case MscclOp::reduce:
          write(g, self, step.dst, k,
                sum(g, read(g, self, step.dst, k), read(g, self, step.src, k)));
          break;
        case MscclOp::copy:
          write(g, self, step.dst, k, Data(read(g, self, step.src, k)));
          break;
        case MscclOp::nop:
          break;
      }
    }
    if (outcome_.races_looked_for) clock_[self][self] = static_cast<std::uint32_t>(at_[self]) + 1;
    if (step.awaited || sends(step.op)) {
      const auto now = std::make_shared<const Clock>(clock_[self]);
      if (step.awaited) done_[self][at_[self]] = now;
      if (sends(step.op)) {
        sent.clock = now;
        for (Data& data : sent.chunks) {
          if (history_) data.id = history_->transfer(data.id, gpu(g), here.send, place_of(g, b));
        }
        messages_[out(g, here)].push_back(std::move(sent));
      }
    }
    ++at_[self];
    return true;
  }

  // --- The promise -------------------------------------------------------------------------------

  std::uint32_t addend(std::size_t rank, int place) const {
    return static_cast<std::uint32_t>(static_cast<int>(rank) * program_.chunks + place);
  }
  Value of_all(int place) const {
    Value result;
    for (std::size_t r = 0; r < program_.gpus.size(); ++r) result.push_back(addend(r, place));
    return result;
  }

  /// What output chunk k of a rank must hold; nothing if the collective promises nothing there.
  std::optional<Value> promised(std::size_t g, int k) const {
    const int c = std::max(1, part());
    const std::size_t r = static_cast<std::size_t>(k / c);
    if (program_.gathers()) return Value{addend(r, k % c)};
    if (is("alltoall")) return Value{addend(r, static_cast<int>(g) * c + k % c)};
    if (is("allreduce")) return of_all(k);
    if (program_.scatters()) return of_all(static_cast<int>(g) * c + k);
    if (is("broadcast")) return Value{addend(0, k)};
    if (is("reduce")) return g == 0 ? std::optional(of_all(k)) : std::nullopt;
    return std::nullopt;
  }

  void judge() {
    for (std::size_t g = 0; g < program_.gpus.size(); ++g) {
      for (int k = 0; k < output_size(); ++k) {
        const auto wanted = promised(g, k);
        const Data& data = cell(g, {'o', k}).data;
        const Value& held = data.value;
        if (history_ && wanted) history_->result(gpu(g), data.id);
        if (!wanted || held == *wanted) continue;
        outcome_.wrong = "GPU " + std::to_string(g) + ", output chunk " + std::to_string(k) +
                         " holds " + text(held) + " instead of " + text(*wanted);
        return;
      }
    }
  }

  std::string text(const Value& value) const {
    if (value.empty()) return "nothing";
    std::string result;
    for (std::size_t k = 0; k < value.size() && k < 4; ++k) {
      const int number = static_cast<int>(value[k]);
      result += (k > 0 ? " + " : "") + std::string("chunk ") +
                std::to_string(number % program_.chunks) + " of GPU " +
                std::to_string(number / program_.chunks);
    }
    return value.size() > 4 ? result + " + " + std::to_string(value.size() - 4) + " more" : result;
  }

  const MscclProgram& program_;
  bool in_place_;
  std::size_t capacity_;
  History* history_;
  std::vector<std::size_t> first_block_;
  std::vector<std::size_t> at_;  ///< next step of every thread block
  std::vector<Clock> clock_;
  std::vector<std::vector<std::shared_ptr<const Clock>>> done_;  ///< of awaited steps
  std::vector<std::array<std::size_t, 3>> base_;
  std::vector<std::vector<Cell>> cells_;
  std::map<Connection, std::deque<Message>> messages_;
  std::string reason_;
  MscclOutcome outcome_;
};

}  // namespace

MscclOutcome run_msccl(const MscclProgram& program, bool in_place, int capacity, History* history) {
  assert(capacity >= 1);
  return Run(program, in_place, capacity, history).run();
}

std::optional<int> least_msccl_capacity(const MscclProgram& program, bool in_place, int most) {
  for (int capacity = 1; capacity <= most; ++capacity) {
    if (run_msccl(program, in_place, capacity).complete) return capacity;
  }
  return std::nullopt;
}

}  // namespace stellwerk::check
