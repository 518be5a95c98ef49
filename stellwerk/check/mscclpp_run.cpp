// Problem: thread blocks of many GPUs write into each other's memory; nothing but signals, barriers, semaphores and flags in packets tells
// them when. Do they ever wait in a circle, does every output chunk end up as promised, and could two accesses to one place come in
// another order? Idea: run them round-robin on lists of addends instead of numbers. Signals are counted and nobody waits
// for room, so the run completes under every schedule or under none. Data are the same under every schedule only if all
// accesses to one place, one of them writing, are ordered: every actor (a thread block, the proxy of a port, the caller before
// and after the call) carries what it certainly knows to be done (vector clocks: Lamport, CACM 21(7), 1978; Mattern, 1989).
//
// Inside a thread block: its 1024 threads run ahead of each other until a `nop` or a barrier. What a wait learns is known to the
// waiting thread, and to all after the next nop; a signal tells what was done before the last nop. Two operations with no nop between
// them may touch one place only if the same thread does it: at the same distance from their beginnings, shared out the same way.
// Packets order word by word, so they tell of single events, not of all that their sender has done before.
// A proxy reads what a port puts some time later; signals through that port follow. Relaxed signals are taken to order
// data unless `strict`; then they tell only what was done before the call.
// The caller writes input and reads output before and after the call: whoever reaches memory of a GPU that may not have begun,
// or may be done, is in a race with it. Where calls use two halves of scratch in turn, three calls are run.
//
// Operations are taken to be done as a whole and in order, which real threads may outrun: so a run that is stuck may be one that real threads
// would get through by luck of which of them runs first.
// Cost: operations * (chunks of an operation + peers). Held to its word by mscclpp_run_test.cpp, and on files of others by
// mscclpp_json_test.cpp.
#include "stellwerk/check/mscclpp_run.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "stellwerk/check/mscclpp_memory.hpp"
#include "stellwerk/check/mscclpp_motion.hpp"
#include "stellwerk/check/mscclpp_wiring.hpp"
#include "stellwerk/check/mscclpp_worker.hpp"

namespace stellwerk::check {
namespace {

using Value = std::vector<std::uint32_t>;
using Worker = MscclppWorker;
using Turn = MscclppTurn;

/// How an operation is shared out among threads.
enum Stride : std::uint8_t { kCopies, kSums, kPackets, kSwitch, kProxy };

Stride stride_of(MscclppOp op) {
  switch (op) {
    case MscclppOp::put:
    case MscclppOp::get:
    case MscclppOp::copy:
      return kCopies;
    case MscclppOp::load_reduce_store:
    case MscclppOp::multi_store:
      return kSwitch;
    default:
      return moves_packets(op) ? kPackets : kSums;
  }
}

struct Proxy {
  std::uint32_t actor = 0;
  MscclppKnowledge knows;
  std::vector<std::string> names;  ///< of its events
};

struct Barrier {
  std::vector<Worker*> waiting;
  MscclppKnowledge knows;
};

class MscclppRun {
 public:
  MscclppRun(const MscclppProgram& program, bool strict, History* history)
      : program_(program),
        strict_(strict),
        history_(history),
        memory_(program),
        wiring_(program),
        n_(static_cast<int>(program.gpus.size())) {
    if (history_) history_->begin(n_, mscclpp_sizes(program).input * memory_.units());
    std::uint32_t actor = static_cast<std::uint32_t>(n_);  // the callers come first
    workers_.resize(program.gpus.size());
    proxies_.resize(program.gpus.size());
    for (std::size_t g = 0; g < program.gpus.size(); ++g) {
      const MscclppGpu& gpu = program.gpus[g];
      for (const MscclppBlock& block : gpu.blocks) {
        Worker worker;
        worker.actor = actor++;
        owner_.emplace_back(static_cast<int>(g), block.id);
        worker.turns = mscclpp_turns(block, memory_.units());
        workers_[g].push_back(std::move(worker));
      }
      proxies_[g].resize(gpu.channels[1].size());
    }
    for (auto& list : proxies_) {
      for (Proxy& proxy : list) proxy.actor = actor++;
    }
    call_.assign(program.gpus.size(), 0);
    barriers_.resize(program.gpus.size());
    for (int g = 0; g < n_; ++g) begin_call(g, {});
  }

  MscclppOutcome run() {
    outcome_.calls = memory_.calls();
    for (bool moved = true; moved;) {
      moved = false;
      for (int g = 0; g < n_; ++g) {
        for (Worker& worker : workers_[static_cast<std::size_t>(g)]) {
          while (call_[static_cast<std::size_t>(g)] <= memory_.calls() && advance(g, worker))
            moved = true;
        }
        if (end_call(g)) moved = true;
      }
    }
    outcome_.complete = true;
    for (int g = 0; g < n_ && outcome_.complete; ++g) {
      if (call_[static_cast<std::size_t>(g)] > memory_.calls()) continue;
      for (Worker& worker : workers_[static_cast<std::size_t>(g)]) {
        if (worker.done()) continue;
        outcome_.complete = false;
        blocked(g, worker);
        outcome_.stuck = name(g, worker) + " waits " + reason_;
        break;
      }
    }
    if (outcome_.complete) {
      outcome_.left_over = wiring_.left_over();
      if (!outcome_.left_over) outcome_.left_over = lost_;
    }
    return std::move(outcome_);
  }

 private:
  const MscclppBlock& block(int g, const Worker& worker) const {
    const int id = owner_[worker.actor - static_cast<std::uint32_t>(n_)].second;
    return program_.gpus[static_cast<std::size_t>(g)].blocks[static_cast<std::size_t>(id)];
  }
  /// Numbers of the GPU's channels that the step names.
  std::vector<int> channels(int g, const Worker& worker, const MscclppStep& step) const {
    std::vector<int> result;
    const auto& list = block(g, worker).channels[static_cast<std::size_t>(step.channel)];
    for (const int place : step.channels) result.push_back(list[static_cast<std::size_t>(place)]);
    return result;
  }

  // --- Names -------------------------------------------------------------------------------------

  static std::string name_of_turn(int g, int id, const Turn& turn) {
    return "GPU " + std::to_string(g) + ", block " + std::to_string(id) + ", op " +
           std::to_string(turn.number) + " (" + to_string(turn.step->op) + ")" +
           (turn.unit >= 0 ? " for unit " + std::to_string(turn.unit) : "");
  }
  std::string name(int g, const Worker& worker) const {
    return name_of_turn(g, block(g, worker).id, worker.turns[worker.at]);
  }
  std::string name(const MscclppEvent& event) const {
    if (event.actor < static_cast<std::uint32_t>(n_))
      return "the caller of GPU " + std::to_string(event.actor) +
             (event.index == 0 ? " before the call" : " after call " + std::to_string(event.index));
    const std::size_t number = event.actor - static_cast<std::uint32_t>(n_);
    if (number < owner_.size()) {
      const auto& [g, id] = owner_[number];
      const Worker& worker = workers_[static_cast<std::size_t>(g)][static_cast<std::size_t>(id)];
      return name_of_turn(g, id, worker.turns[event.index % worker.turns.size()]);
    }
    for (const auto& list : proxies_) {
      for (const Proxy& proxy : list) {
        if (proxy.actor == event.actor) return proxy.names[event.index];
      }
    }
    return "";
  }
  void race(int g, const MscclppCell& cell, const MscclppEvent& a, const MscclppEvent& b) {
    if (outcome_.race) return;
    outcome_.race = memory_.place(g, cell) + " of GPU " + std::to_string(g) + ": " + name(a) +
                    " and " + name(b) + " may come in either order";
  }

  // --- Calls -------------------------------------------------------------------------------------

  void begin_call(int g, MscclppKnowledge knows) {
    int& call = call_[static_cast<std::size_t>(g)];
    const MscclppEvent caller{static_cast<std::uint32_t>(g), static_cast<std::uint32_t>(call)};
    knows.learn(caller.actor, caller.index + 1);
    memory_.prepare(g, caller, call == 0 ? history_ : nullptr);
    ++call;
    const auto shared = std::make_shared<const MscclppKnowledge>(knows);
    for (Worker& worker : workers_[static_cast<std::size_t>(g)]) {
      worker.begin(knows, shared);
    }
  }

  /// Once all blocks of the GPU are done.
  bool end_call(int g) {
    int& call = call_[static_cast<std::size_t>(g)];
    auto& workers = workers_[static_cast<std::size_t>(g)];
    const bool done =
        std::all_of(workers.begin(), workers.end(), [](const Worker& w) { return w.done(); });
    if (!done || call > memory_.calls()) return false;
    MscclppKnowledge knows;
    for (const Worker& worker : workers) knows.join(worker.at_end());
    const MscclppEvent caller{static_cast<std::uint32_t>(g), static_cast<std::uint32_t>(call)};
    const auto [begin, end] = memory_.caller_cells(g);
    for (MscclppCell* cell = begin; cell != end; ++cell) {
      if (!knows.covers(cell->writer.event) && cell->writer.event != caller)
        race(g, *cell, cell->writer.event, caller);
      for (const MscclppTouch& reader : cell->readers) {
        if (!knows.covers(reader.event)) race(g, *cell, reader.event, caller);
      }
    }
    judge(g);
    begin_call(g, std::move(knows));
    return true;
  }

  void judge(int g) {
    const MscclppSizes sizes = mscclpp_sizes(program_);
    for (int k = 0; k < sizes.output && !outcome_.wrong; ++k) {
      for (int unit = 0; unit < memory_.units() && !outcome_.wrong; ++unit) {
        const auto wanted = memory_.promised(g, k, unit);
        const MscclppCell& cell = memory_.at(g, 'o', k, unit, 1);
        const auto& held = cell.value;
        if (wanted && written_down(g)) history_->result(g, cell.id);
        if (!wanted || (held && *held == *wanted)) continue;
        outcome_.wrong = "GPU " + std::to_string(g) + ", output chunk " + std::to_string(k) +
                         " holds " + memory_.text(held.get()) + " instead of " +
                         memory_.text(wanted.get());
      }
    }
  }

  /// Does the history want to know what the GPU does now?
  bool written_down(int g) const { return history_ && call_[static_cast<std::size_t>(g)] == 1; }

  // --- Data --------------------------------------------------------------------------------------

  struct Where {
    int gpu;
    MscclppCell* cell;
  };

  /// All places of one unit of a side: several for a switch.
  std::vector<Where> places(int g, const Worker& worker, const MscclppStep& step,
                            const MscclppRange& range, int unit) {
    const MscclppGpu& gpu = program_.gpus[static_cast<std::size_t>(g)];
    const MscclppBlock& here = block(g, worker);
    const int call = call_[static_cast<std::size_t>(g)];
    const auto at = [&](int rank, char buffer) {
      return Where{rank, &memory_.at(rank, buffer, range.offset, unit, call)};
    };
    switch (range.where) {
      case MscclppRange::Where::remote: {
        const int id = here.buffers[static_cast<std::size_t>(step.channel)]
                                   [static_cast<std::size_t>(range.id)];
        const MscclppRemote& remote = gpu.remote[static_cast<std::size_t>(id)];
        return {at(remote.rank, remote.buffer)};
      }
      case MscclppRange::Where::switch_: {
        const int id = here.channels[2][static_cast<std::size_t>(range.id)];
        std::vector<Where> result;
        for (const int rank : gpu.switches[static_cast<std::size_t>(id)].ranks)
          result.push_back(at(rank, gpu.switches[static_cast<std::size_t>(id)].buffer));
        return result;
      }
      default:
        return {at(g, range.buffer)};
    }
  }

  /// First and last unit (exclusive) that the turn moves, counted through the chunks of its ranges.
  std::pair<int, int> units(const Turn& turn, int count) const {
    if (turn.unit >= 0) return {turn.unit, turn.unit + 1};
    const int all = count * memory_.units();
    const MscclppStep& step = *turn.step;
    return {all / step.slices * step.slice, all / step.slices * (step.slice + 1)};
  }

  /// Is everything here that the packets of the turn bring?
  bool packets_missing(int g, const Worker& worker, const Turn& turn) {
    if (!moves_packets(turn.step->op)) return false;
    for (const MscclppMotion& motion : mscclpp_motions(*turn.step)) {
      for (const MscclppSide& side : motion.from) {
        if (!side.packets) continue;
        const auto [begin, end] = units(turn, side.range.count);
        for (int unit = begin; unit < end; ++unit) {
          const Where where = places(g, worker, *turn.step, side.range, unit)[0];
          if (where.cell->packet_of !=
              static_cast<std::uint32_t>(call_[static_cast<std::size_t>(g)]))
            return true;
        }
      }
    }
    return false;
  }

  /// Is what `touch` says ordered before `now`?
  bool ordered(const MscclppKnowledge& knows, const MscclppTouch& touch,
               const MscclppTouch& now) const {
    if (knows.covers(touch.event)) return true;
    // The same thread.
    return touch.event.actor == now.event.actor && touch.distance == now.distance &&
           touch.stride == now.stride;
  }
  void read(const MscclppKnowledge& knows, const Where& where, const MscclppTouch& now) {
    MscclppCell& cell = *where.cell;
    if (!ordered(knows, cell.writer, now)) race(where.gpu, cell, cell.writer.event, now.event);
    cell.readers.push_back(now);
  }
  void write(const MscclppKnowledge& knows, const Where& where, const MscclppTouch& now) {
    MscclppCell& cell = *where.cell;
    if (!ordered(knows, cell.writer, now)) race(where.gpu, cell, cell.writer.event, now.event);
    for (const MscclppTouch& reader : cell.readers) {
      if (!ordered(knows, reader, now)) race(where.gpu, cell, reader.event, now.event);
    }
    cell.readers.clear();
    cell.writer = now;
    cell.packet_of = 0;
    cell.packet = nullptr;
  }

  void move(int g, Worker& worker, const Turn& turn) {
    const MscclppStep& step = *turn.step;
    const auto motions = mscclpp_motions(step);
    const bool port = step.channel == MscclppChannel::port &&
                      (step.op == MscclppOp::put || step.op == MscclppOp::put_signal ||
                       step.op == MscclppOp::put_flush);
    for (std::size_t m = 0; m < motions.size(); ++m) {
      MscclppEvent event{worker.actor, worker.events};
      const MscclppKnowledge* knows = &worker.all;
      if (port) {
        Proxy& proxy = proxies_[static_cast<std::size_t>(g)]
                               [static_cast<std::size_t>(channels(g, worker, step)[m])];
        proxy.knows.join(worker.all);
        event = {proxy.actor, static_cast<std::uint32_t>(proxy.names.size())};
        proxy.names.push_back(name(g, worker));
        proxy.knows.learn(event.actor, event.index + 1);
        knows = &proxy.knows;
      }
      const auto [begin, end] = units(turn, motions[m].from[0].range.count);
      for (int unit = begin; unit < end; ++unit) {
        const MscclppTouch now{event, static_cast<std::uint32_t>(unit - begin),
                               port ? kProxy : stride_of(step.op)};
        move_unit(g, worker, step, motions[m], unit, now, *knows);
      }
    }
  }

  void move_unit(int g, Worker& worker, const MscclppStep& step, const MscclppMotion& motion,
                 int unit, const MscclppTouch& now, const MscclppKnowledge& known) {
    const MscclppKnowledge* knows = &known;
    MscclppKnowledge more;  // from packets
    if (moves_packets(step.op)) {
      more = known;
      for (const MscclppSide& side : motion.from) {
        if (!side.packets) continue;
        const Where where = places(g, worker, step, side.range, unit)[0];
        more.join(*where.cell->packet);
        more.learn(where.cell->writer.event);
      }
      worker.others.join(more);
      knows = &more;
    }
    History* history = written_down(g) ? history_ : nullptr;
    const History::Step here{g, block(g, worker).id, worker.turns[worker.at].number};
    const auto in_switch = [](const MscclppSide& side) {
      return side.range.where == MscclppRange::Where::switch_;
    };
    std::shared_ptr<const Value> sum;
    History::Id id = History::kNothing;
    for (const MscclppSide& side : motion.from) {
      for (const Where& where : places(g, worker, step, side.range, unit)) {
        read(*knows, where, now);
        if (history) {
          id = history->sum(
              id, history->transfer(where.cell->id, where.gpu, g, here, in_switch(side)), g);
        }
        const auto& value = where.cell->value;
        if (!value) continue;
        if (!sum) {
          sum = value;
          continue;
        }
        Value both(sum->size() + value->size());
        std::merge(sum->begin(), sum->end(), value->begin(), value->end(), both.begin());
        sum = std::make_shared<const Value>(std::move(both));
      }
    }
    MscclppShared packet;
    for (const MscclppSide& side : motion.to) {
      for (const Where& where : places(g, worker, step, side.range, unit)) {
        write(*knows, where, now);
        where.cell->value = sum;
        where.cell->id = history ? history->transfer(id, g, where.gpu, here, in_switch(side))
                                 : History::kNothing;
        if (!side.packets) continue;
        if (!packet) packet = std::make_shared<const MscclppKnowledge>(*knows);
        where.cell->packet = packet;
        where.cell->packet_of = static_cast<std::uint32_t>(call_[static_cast<std::size_t>(g)]);
      }
    }
  }

  // --- Turns -------------------------------------------------------------------------------------

  /// Must the next turn wait? Then `reason_` says for what.
  bool blocked(int g, Worker& worker) {
    const Turn& turn = worker.turns[worker.at];
    const MscclppStep& step = *turn.step;
    const auto kind = static_cast<std::size_t>(step.channel);
    switch (step.op) {
      case MscclppOp::wait:
      case MscclppOp::relaxed_wait:
        for (const int channel : channels(g, worker, step)) {
          if (!wiring_.inbox(g, kind, channel).empty()) continue;
          reason_ = "for a signal of GPU " +
                    std::to_string(program_.gpus[static_cast<std::size_t>(g)]
                                       .channels[kind][static_cast<std::size_t>(channel)]) +
                    " on " + (kind == 0 ? "memory" : "port") + " channel " +
                    std::to_string(channel);
          return true;
        }
        return false;
      case MscclppOp::acquire:
        for (const int id : step.semaphores) {
          if (!wiring_.semaphore(g, id).empty()) continue;
          reason_ = "for semaphore " + std::to_string(id);
          return true;
        }
        return false;
      case MscclppOp::barrier:
        reason_ = "for other blocks at barrier " + std::to_string(step.barrier);
        return worker.arrived;
      default:
        reason_ = "for packets";
        return packets_missing(g, worker, turn);
    }
  }

  /// The k-th channel of an operation is the k-th thread's, which counts on it alone.
  void take_threads(int g, Worker& worker, const MscclppStep& step, bool waits) {
    const std::vector<int> numbers = channels(g, worker, step);
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      const auto kind = static_cast<std::size_t>(step.channel);
      if (worker.take(kind, numbers[k], waits, k) || outcome_.race) continue;
      outcome_.race = name(g, worker) + ": another thread of the block uses " +
                      (kind == 0 ? "memory" : "port") + " channel " + std::to_string(numbers[k]) +
                      " and there is no nop in between";
    }
  }

  void send(int g, Worker& worker, const MscclppStep& step, bool relaxed) {
    take_threads(g, worker, step, false);
    const std::vector<int> numbers = channels(g, worker, step);
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      const int channel = numbers[k];
      const MscclppShared knows = worker.told(k);
      MscclppSignal signal{knows, worker.at_begin, relaxed};
      const auto kind = static_cast<std::size_t>(step.channel);
      if (step.channel == MscclppChannel::port) {
        // It follows what the proxy was given before.
        Proxy& proxy = proxies_[static_cast<std::size_t>(g)][static_cast<std::size_t>(channel)];
        proxy.knows.join(*knows);
        signal.knows = std::make_shared<const MscclppKnowledge>(proxy.knows);
        signal.relaxed = false;
      }
      if (std::deque<MscclppSignal>* queue = wiring_.other_end(g, kind, channel)) {
        queue->push_back(std::move(signal));
      } else if (!lost_) {
        lost_ = name(g, worker) + " signals on a channel that has no other end";
      }
    }
  }

  bool advance(int g, Worker& worker) {
    if (worker.done() || blocked(g, worker)) return false;
    const Turn& turn = worker.turns[worker.at];
    const MscclppStep& step = *turn.step;
    switch (step.op) {
      case MscclppOp::nop:
        break;
      case MscclppOp::barrier:
        return arrive(g, worker, step);
      case MscclppOp::signal:
      case MscclppOp::relaxed_signal:
        send(g, worker, step, step.op == MscclppOp::relaxed_signal);
        break;
      case MscclppOp::wait:
      case MscclppOp::relaxed_wait:
        take_threads(g, worker, step, true);
        for (std::size_t k = 0; k < step.channels.size(); ++k) {
          auto& queue = wiring_.inbox(g, static_cast<std::size_t>(step.channel),
                                      channels(g, worker, step)[k]);
          const bool relaxed = queue.front().relaxed || step.op == MscclppOp::relaxed_wait;
          worker.thread(k).join(relaxed && strict_ ? *queue.front().at_begin
                                                   : *queue.front().knows);
          queue.pop_front();
        }
        break;
      case MscclppOp::flush:
      case MscclppOp::put_flush:
        if (step.op == MscclppOp::put_flush) {
          move(g, worker, turn);
          send(g, worker, step, false);
        }
        for (std::size_t k = 0; k < step.channels.size(); ++k) {
          const int channel = channels(g, worker, step)[k];
          worker.thread(k).join(
              proxies_[static_cast<std::size_t>(g)][static_cast<std::size_t>(channel)].knows);
        }
        break;
      case MscclppOp::put_signal:
        move(g, worker, turn);
        send(g, worker, step, false);
        break;
      case MscclppOp::acquire:
        for (std::size_t k = 0; k < step.semaphores.size(); ++k) {
          const int id = step.semaphores[k];
          auto& queue = wiring_.semaphore(g, id);
          if (queue.front()) worker.thread(k).join(*queue.front());
          queue.pop_front();
        }
        break;
      case MscclppOp::release:
        for (std::size_t k = 0; k < step.semaphores.size(); ++k) {
          const int id = step.semaphores[k];
          wiring_.semaphore(g, id).push_back(worker.told(k));
        }
        break;
      default:
        move(g, worker, turn);
        break;
    }
    ++worker.events;
    ++worker.at;
    if (step.op == MscclppOp::nop) worker.meet();
    return true;
  }

  bool arrive(int g, Worker& worker, const MscclppStep& step) {
    Barrier& barrier = barriers_[static_cast<std::size_t>(g)][step.barrier];
    worker.arrived = true;
    ++worker.events;
    worker.meet();
    barrier.knows.join(worker.all);
    barrier.waiting.push_back(&worker);
    if (static_cast<int>(barrier.waiting.size()) < step.blocks) return true;
    for (Worker* other : barrier.waiting) {
      other->all.join(barrier.knows);
      other->arrived = false;
      ++other->at;
    }
    barrier = Barrier{};
    return true;
  }

  const MscclppProgram& program_;
  bool strict_;
  History* history_;
  MscclppMemory memory_;
  MscclppWiring wiring_;
  int n_;
  std::vector<std::pair<int, int>> owner_;  ///< GPU and block, of workers by actor
  std::vector<std::vector<Worker>> workers_;
  std::vector<std::vector<Proxy>> proxies_;  ///< of port channels
  std::vector<std::map<int, Barrier>> barriers_;
  std::vector<int> call_;  ///< that the GPU is in, from 1
  std::optional<std::string> lost_;
  std::string reason_;
  MscclppOutcome outcome_;
};

}  // namespace

MscclppOutcome run_mscclpp(const MscclppProgram& program, bool strict, History* history) {
  return MscclppRun(program, strict, history).run();
}

}  // namespace stellwerk::check
