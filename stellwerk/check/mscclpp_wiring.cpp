#include "stellwerk/check/mscclpp_wiring.hpp"

#include <algorithm>

namespace stellwerk::check {

MscclppWiring::MscclppWiring(const MscclppProgram& program) : program_(program) {
  for (std::size_t g = 0; g < program.gpus.size(); ++g) {
    const MscclppGpu& gpu = program.gpus[g];
    for (std::size_t kind = 0; kind < 2; ++kind) {
      signals_[kind].emplace_back(gpu.channels[kind].size());
      for (std::size_t c = 0; c < gpu.channels[kind].size(); ++c) {
        ends_[kind][{static_cast<int>(g), gpu.channels[kind][c]}].push_back(static_cast<int>(c));
      }
    }
    semaphores_.emplace_back();
    for (const int value : gpu.semaphores)
      semaphores_.back().emplace_back(static_cast<std::size_t>(value));
  }
}

std::deque<MscclppSignal>& MscclppWiring::inbox(int gpu, std::size_t kind, int channel) {
  return signals_[kind][static_cast<std::size_t>(gpu)][static_cast<std::size_t>(channel)];
}

std::deque<MscclppSignal>* MscclppWiring::other_end(int gpu, std::size_t kind, int channel) {
  const auto& list = program_.gpus[static_cast<std::size_t>(gpu)].channels[kind];
  const int peer = list[static_cast<std::size_t>(channel)];
  const auto& mine = ends_[kind][{gpu, peer}];
  const auto& theirs = ends_[kind][{peer, gpu}];
  const auto place =
      static_cast<std::size_t>(std::find(mine.begin(), mine.end(), channel) - mine.begin());
  return place < theirs.size() ? &inbox(peer, kind, theirs[place]) : nullptr;
}

std::deque<MscclppShared>& MscclppWiring::semaphore(int gpu, int number) {
  return semaphores_[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(number)];
}

std::optional<std::string> MscclppWiring::left_over() const {
  for (std::size_t kind = 0; kind < 2; ++kind) {
    for (std::size_t g = 0; g < signals_[kind].size(); ++g) {
      for (std::size_t c = 0; c < signals_[kind][g].size(); ++c) {
        const std::size_t count = signals_[kind][g][c].size();
        if (count == 0) continue;
        return std::to_string(count) + " signal" + (count == 1 ? "" : "s") + " on " +
               (kind == 0 ? "memory" : "port") + " channel " + std::to_string(c) + " of GPU " +
               std::to_string(g) + " that nobody waits for";
      }
    }
  }
  for (std::size_t g = 0; g < semaphores_.size(); ++g) {
    for (std::size_t s = 0; s < semaphores_[g].size(); ++s) {
      const auto began = static_cast<std::size_t>(program_.gpus[g].semaphores[s]);
      if (semaphores_[g][s].size() == began) continue;
      return "semaphore " + std::to_string(s) + " of GPU " + std::to_string(g) + " ends at " +
             std::to_string(semaphores_[g][s].size()) + " and began at " + std::to_string(began);
    }
  }
  return std::nullopt;
}

}  // namespace stellwerk::check
