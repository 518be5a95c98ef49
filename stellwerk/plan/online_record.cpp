// Increments put together again. What planned them is not asked: a record of inputs and increments that
// were written to files is judged as well.
#include <algorithm>

#include "stellwerk/base/error.hpp"
#include "stellwerk/plan/online.hpp"

namespace stellwerk {
namespace {

[[noreturn]] void contradict(const OnlineIncrement& increment, const std::string& what) {
  throw Error(ErrorCode::verification_failed,
              "increment " + std::to_string(increment.number) + ": " + what);
}

}  // namespace

OnlineRecord::OnlineRecord(Topology topology, Relays relays)
    : topology_(std::move(topology)), relays_(relays) {}

void OnlineRecord::add(const OnlineInput& input, const OnlineIncrement& increment) {
  if (increment.number != ++inputs_ || increment.at != input.at) {
    contradict(increment, "belongs to another event: input " + std::to_string(inputs_) + " is at " +
                              to_exact_string(input.at));
  }
  switch (input.kind) {
    case OnlineInput::Kind::change: {
      Event event = input.change;
      event.at = input.at;
      events_.push_back(event);
      break;
    }
    case OnlineInput::Kind::arrival: {
      Job job = input.job;
      job.start = std::max(job.start, input.at);
      if (job.auto_chunks) job.auto_chunks = false;
      jobs_.push_back(std::move(job));
      left_.push_back(0);
      break;
    }
    case OnlineInput::Kind::departure: {
      const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                      [&](const Job& job) { return job.name == input.name; });
      if (found == jobs_.end()) contradict(increment, "no job '" + input.name + "' could leave");
      leave(static_cast<std::size_t>(found - jobs_.begin()), input.at);
      break;
    }
    case OnlineInput::Kind::tick:
    case OnlineInput::Kind::end:
      break;
  }
  const auto check_job = [&](std::int32_t job) {
    if (job < 0 || static_cast<std::size_t>(job) >= jobs_.size()) {
      contradict(increment, "there is no job " + std::to_string(job));
    }
  };
  for (const OnlineIncrement::Cut& cut : increment.cuts) {
    if (cut.number < 0 || cut.number >= static_cast<std::int64_t>(sends_.size())) {
      contradict(increment, "cuts send " + std::to_string(cut.number) + ", which there is not");
    }
    Send& send = sends_[static_cast<std::size_t>(cut.number)].second;
    if (cut.bytes < Bytes{0} || cut.bytes > send.bytes) {
      contradict(increment, "send " + std::to_string(cut.number) + " has no " +
                                std::to_string(cut.bytes.value) + " bytes to be cut to");
    }
    send.bytes = cut.bytes;
    ++cuts_;
  }
  for (const OnlineIncrement::Begun& begun : increment.sends) {
    check_job(begun.job);
    if (begun.number != static_cast<std::int64_t>(sends_.size())) {
      contradict(increment, "has send " + std::to_string(begun.number) + " where " +
                                std::to_string(sends_.size()) + " comes next");
    }
    sends_.emplace_back(begun.job, begun.send);
  }
  for (const OnlineIncrement::Finished& each : increment.finished) {
    check_job(each.job);
    finished_.push_back(each);
  }
  if (input.kind == OnlineInput::Kind::change && input.change.kind == Event::Kind::gpu_lost) {
    // Jobs that were done by then want nothing of that GPU any more, should it come back.
    for (const OnlineIncrement::Finished& each : finished_) {
      const auto j = static_cast<std::size_t>(each.job);
      const std::vector<NodeId>& ranks = jobs_[j].ranks;
      if (each.at > input.at) continue;
      if (std::find(ranks.begin(), ranks.end(), input.change.node) != ranks.end()) {
        leave(j, input.at);
      }
    }
  }
  for (const OnlineIncrement::Trouble& each : increment.dropped) {
    check_job(each.job);
    leave(static_cast<std::size_t>(each.job), increment.at);
  }
}

void OnlineRecord::leave(std::size_t job, Time at) {
  if (left_[job] != 0) return;
  left_[job] = 1;
  events_.push_back({Event::Kind::job_leaves, at, {}, {}, JobId(job), {}});
}

std::string OnlineRecord::wrong_finish(const std::vector<Time>& job_finish) const {
  for (const OnlineIncrement::Finished& each : finished_) {
    const auto j = static_cast<std::size_t>(each.job);
    const Time real = job_finish[j];
    // What a GPU had that was lost later does not count any more.
    if (real == each.at || (left_[j] != 0 && real < each.at)) continue;
    return "job '" + jobs_[j].name + "' is done at " + to_exact_string(real) + ", not at " +
           to_exact_string(each.at);
  }
  return "";
}

EventfulPlan OnlineRecord::plan() const {
  EventfulPlan plan;
  if (jobs_.empty()) {
    plan.problem.topology = topology_;
    return plan;
  }
  plan.problem = make_problem(topology_, jobs_, relays_);
  plan.events = events_;
  std::vector<std::size_t> first(jobs_.size() + 1, 0);
  for (const Chunk& chunk : plan.problem.chunks) ++first[chunk.job.index() + 1];
  for (std::size_t j = 1; j < first.size(); ++j) first[j] += first[j - 1];
  for (const auto& [job, send] : sends_) {
    if (send.bytes.value == 0) continue;
    const auto j = static_cast<std::size_t>(job);
    if (send.chunk.index() >= first[j + 1] - first[j]) {
      throw Error(ErrorCode::verification_failed,
                  "job '" + jobs_[j].name + "' has no chunk " + std::to_string(send.chunk.value));
    }
    plan.sends.push_back(send);
    plan.sends.back().chunk = ChunkId(first[j] + send.chunk.index());
  }
  sort_sends(topology_, plan.sends);
  return plan;
}

}  // namespace stellwerk
