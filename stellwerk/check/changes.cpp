#include "stellwerk/check/changes.hpp"

#include <algorithm>

#include "stellwerk/check/flights.hpp"

namespace stellwerk::check {

Judgement Changes::check(std::size_t number) const {
  const Event& event = events_[number];
  const auto wrong = [&](const std::string& what) {
    return found(Violation::wrong_event, "event " + std::to_string(number) + ": " + what);
  };
  if (event.at.ps < 0 || event.at.ps > kHorizon) return wrong("its time is out of range");
  if (number > 0 && event.at < events_[number - 1].at) {
    return wrong("it comes before the event ahead of it");
  }
  const auto exists = [](auto id, std::size_t count) { return id.valid() && id.index() < count; };
  switch (event.kind) {
    case Event::Kind::link_bandwidth:
      if (event.bandwidth.bytes_per_second <= 0) return wrong("its bandwidth is not positive");
      [[fallthrough]];
    case Event::Kind::link_down:
    case Event::Kind::link_up:
      if (!exists(event.link, problem_.topology.links().size())) {
        return wrong("there is no link " + std::to_string(event.link.value));
      }
      return {};
    case Event::Kind::gpu_lost:
    case Event::Kind::gpu_back:
      if (!exists(event.node, problem_.topology.nodes().size()) ||
          !problem_.topology.stores(event.node)) {
        return wrong("node " + std::to_string(event.node.value) + " is no GPU or relay");
      }
      return {};
    case Event::Kind::job_arrives:
    case Event::Kind::job_leaves:
      if (!exists(event.job, problem_.jobs.size())) {
        return wrong("there is no job " + std::to_string(event.job.value));
      }
      if (event.kind == Event::Kind::job_arrives &&
          problem_.jobs[event.job.index()].start < event.at) {
        return wrong("job '" + problem_.jobs[event.job.index()].name +
                     "' starts before it arrives");
      }
      return {};
  }
  return wrong("it is of an unknown kind");
}

Judgement Changes::build() {
  if (none()) return {};
  if (!problem_.symmetry.trivial()) {
    return found(Violation::wrong_event, "a compressed plan cannot have events");
  }
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (auto finding = check(i)) return finding;
    apply(events_[i]);
  }
  for (const auto& [node, instants] : losses_) ever_lost_.push_back(node);
  find_shortages();
  return {};
}

void Changes::apply(const Event& event) {
  const auto state = [&](LinkId link) -> LinkState& {
    return links_
        .try_emplace(link,
                     LinkState{false, problem_.topology.link(link).bandwidth.bytes_per_second})
        .first->second;
  };
  switch (event.kind) {
    case Event::Kind::link_down:
      state(event.link).down = true;
      return note(event.link, event.at.ps);
    case Event::Kind::link_up:
      state(event.link) = {false, problem_.topology.link(event.link).bandwidth.bytes_per_second};
      return note(event.link, event.at.ps);
    case Event::Kind::link_bandwidth:
      state(event.link) = {false, event.bandwidth.bytes_per_second};
      return note(event.link, event.at.ps);
    case Event::Kind::gpu_lost:
    case Event::Kind::gpu_back: {
      const bool lost = event.kind == Event::Kind::gpu_lost;
      is_lost_[event.node] = lost;
      if (lost) losses_[event.node].push_back(event.at.ps);
      for (const auto links :
           {problem_.topology.out(event.node), problem_.topology.in(event.node)}) {
        for (const LinkId link : links) {
          state(link);
          note(link, event.at.ps);
        }
      }
      return;
    }
    case Event::Kind::job_arrives:
      return;
    case Event::Kind::job_leaves:
      leaves_.try_emplace(event.job, event.at.ps);
      return;
  }
}

/// Writes down what the link can carry from `at` on.
void Changes::note(LinkId link, std::int64_t at) {
  const Link& ends = problem_.topology.link(link);
  const LinkState& own = links_.at(link);
  const auto lost = [&](NodeId node) {
    const auto found = is_lost_.find(node);
    return found != is_lost_.end() && found->second;
  };
  const bool down = own.down || lost(ends.from) || lost(ends.to);
  steps_[link].push_back({at, down ? 0 : own.bandwidth});
}

void Changes::find_shortages() {
  for (const auto& [link, steps] : steps_) {
    const std::int64_t limit = most(link);
    const std::int64_t before = problem_.topology.link(link).bandwidth.bytes_per_second;
    if (before < limit) shortages_.push_back({link, INT64_MIN, steps.front().at, limit - before});
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::int64_t end = i + 1 < steps.size() ? steps[i + 1].at : INT64_MAX;
      const std::int64_t missing = limit - steps[i].bandwidth;
      if (missing > 0 && steps[i].at < end) {
        shortages_.push_back({link, steps[i].at, end, missing});
      }
    }
  }
}

std::optional<std::int64_t> Changes::failure(LinkId link, std::int64_t after,
                                             std::int64_t before) const {
  const auto found = steps_.find(link);
  if (found == steps_.end()) return std::nullopt;
  for (const Step& step : found->second) {
    if (step.bandwidth == 0 && step.at > after && step.at < before) return step.at;
  }
  return std::nullopt;
}

std::span<const std::int64_t> Changes::losses(NodeId node) const {
  const auto found = losses_.find(node);
  if (found == losses_.end()) return {};
  return found->second;
}

std::optional<std::int64_t> Changes::loss(NodeId node, std::int64_t after,
                                          std::int64_t before) const {
  for (const std::int64_t at : losses(node)) {
    if (at > after && at < before) return at;
  }
  return std::nullopt;
}

bool Changes::lost_at_end(NodeId node) const {
  const auto found = is_lost_.find(node);
  return found != is_lost_.end() && found->second;
}

std::optional<std::int64_t> Changes::leaves(JobId job) const {
  const auto found = leaves_.find(job);
  return found == leaves_.end() ? std::nullopt : std::optional(found->second);
}

std::int64_t Changes::most(LinkId link) const {
  std::int64_t result = problem_.topology.link(link).bandwidth.bytes_per_second;
  const auto found = steps_.find(link);
  if (found == steps_.end()) return result;
  for (const Step& step : found->second) result = std::max(result, step.bandwidth);
  return result;
}

std::int64_t Changes::bandwidth(LinkId link, std::int64_t instant) const {
  std::int64_t result = problem_.topology.link(link).bandwidth.bytes_per_second;
  const auto found = steps_.find(link);
  if (found == steps_.end()) return result;
  for (const Step& step : found->second) {
    if (step.at <= instant) result = step.bandwidth;
  }
  return result;
}

}  // namespace stellwerk::check
