#include "stellwerk/check/mscclpp_worker.hpp"

namespace stellwerk::check {

std::vector<MscclppTurn> mscclpp_turns(const MscclppBlock& block, int units) {
  std::vector<MscclppTurn> result;
  for (std::size_t s = 0; s < block.steps.size(); ++s) {
    const MscclppStep& step = block.steps[s];
    if (step.op != MscclppOp::pipeline) {
      result.push_back({&step, static_cast<int>(s), -1});
      continue;
    }
    for (int unit = 0; unit < step.chunks * units; ++unit) {
      for (const MscclppStep& inner : step.inner)
        result.push_back({&inner, static_cast<int>(s), unit});
    }
  }
  return result;
}

void MscclppWorker::begin(const MscclppKnowledge& knows, const MscclppShared& shared) {
  at = 0;
  all = knows;
  some.clear();
  others = {};
  threads.clear();
  at_begin = shared;
}

void MscclppWorker::meet() {
  all = at_end();
  some.clear();
  others = {};
  threads.clear();
}

MscclppKnowledge MscclppWorker::at_end() const {
  MscclppKnowledge knows = all;
  for (const MscclppKnowledge& one : some) knows.join(one);
  knows.join(others);
  knows.learn(actor, events);
  return knows;
}

MscclppKnowledge& MscclppWorker::thread(std::size_t k) {
  if (some.size() <= k) some.resize(k + 1);
  return some[k];
}

MscclppShared MscclppWorker::told(std::size_t k) const {
  auto knows = std::make_shared<MscclppKnowledge>(all);
  if (k < some.size()) knows->join(some[k]);
  return knows;
}

bool MscclppWorker::take(std::size_t kind, int channel, bool waits, std::size_t k) {
  const auto [user, added] = threads.emplace(std::tuple(kind, channel, waits), k);
  return added || user->second == k;
}

}  // namespace stellwerk::check
