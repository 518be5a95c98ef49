#include "stellwerk/core/event.hpp"

namespace stellwerk {

std::string_view to_string(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::link_down:
      return "link_down";
    case Event::Kind::link_up:
      return "link_up";
    case Event::Kind::link_bandwidth:
      return "link_bandwidth";
    case Event::Kind::gpu_lost:
      return "gpu_lost";
    case Event::Kind::gpu_back:
      return "gpu_back";
    case Event::Kind::job_arrives:
      return "job_arrives";
    case Event::Kind::job_leaves:
      return "job_leaves";
  }
  return "unknown";
}

std::string describe(const Event& event, const Problem& problem) {
  const std::string at = to_string(event.at) + ": ";
  const auto link = [&] { return at + "link " + problem.topology.link_name(event.link); };
  const auto gpu = [&] { return at + "gpu " + problem.topology.node(event.node).name; };
  const auto job = [&] { return at + "job " + problem.jobs[event.job.index()].name; };
  switch (event.kind) {
    case Event::Kind::link_down:
      return link() + " down";
    case Event::Kind::link_up:
      return link() + " up";
    case Event::Kind::link_bandwidth:
      return link() + " bandwidth " + to_string(event.bandwidth);
    case Event::Kind::gpu_lost:
      return gpu() + " lost";
    case Event::Kind::gpu_back:
      return gpu() + " back";
    case Event::Kind::job_arrives:
      return job() + " arrives";
    case Event::Kind::job_leaves:
      return job() + " leaves";
  }
  return at + "unknown event";
}

}  // namespace stellwerk
