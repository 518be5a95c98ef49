#include "stellwerk/plan/network_state.hpp"

#include "stellwerk/base/error.hpp"

namespace stellwerk {

NetworkState after_events(const Problem& problem, const std::vector<Event>& events) {
  const Topology& topology = problem.topology;
  NetworkState state;
  IdVector<LinkId, Bandwidth> own(topology.links().size());  // apart from lost ends
  IdVector<LinkId, char> down(topology.links().size(), 0);
  for (const LinkId id : topology.link_ids()) own[id] = topology.link(id).bandwidth;
  state.bandwidth = own;
  state.failures.resize(topology.links().size());
  state.losses.resize(topology.nodes().size());
  state.lost.assign(topology.nodes().size(), 0);
  state.left.assign(problem.jobs.size(), Time::max());

  const auto update = [&](LinkId id, Time at) {
    const Link& link = topology.link(id);
    const bool dead = down[id] != 0 || state.lost[link.from] != 0 || state.lost[link.to] != 0;
    state.bandwidth[id] = dead ? Bandwidth{0} : own[id];
    if (dead) state.failures[id].push_back(at);
    state.any_failure = state.any_failure || dead;
  };
  for (const Event& event : events) {
    switch (event.kind) {
      case Event::Kind::link_down:
        down[event.link] = 1;
        update(event.link, event.at);
        break;
      case Event::Kind::link_up:
        down[event.link] = 0;
        own[event.link] = topology.link(event.link).bandwidth;
        update(event.link, event.at);
        break;
      case Event::Kind::link_bandwidth:
        down[event.link] = 0;
        own[event.link] = event.bandwidth;
        update(event.link, event.at);
        break;
      case Event::Kind::gpu_lost:
      case Event::Kind::gpu_back:
        state.lost[event.node] = event.kind == Event::Kind::gpu_lost ? 1 : 0;
        if (state.lost[event.node] != 0) {
          state.losses[event.node].push_back(event.at);
          state.any_failure = true;
        }
        for (const LinkId id : topology.out(event.node)) update(id, event.at);
        for (const LinkId id : topology.in(event.node)) update(id, event.at);
        break;
      case Event::Kind::job_arrives:
        break;
      case Event::Kind::job_leaves:
        if (!state.has_left(event.job)) state.left[event.job.index()] = event.at;
        break;
    }
  }
  return state;
}

void check_events(const Problem& problem, const std::vector<Event>& events) {
  Time last{0};
  for (const Event& event : events) {
    const auto fail = [&](const std::string& what) {
      throw Error(ErrorCode::unreadable_input,
                  "event " + std::string(to_string(event.kind)) + ": " + what);
    };
    if (event.at < last) fail("comes before an earlier one: give events in order of time");
    last = event.at;
    const auto need = [&](auto id, std::size_t count, const char* what) {
      if (!id.valid() || id.index() >= count) fail(std::string("there is no such ") + what);
    };
    switch (event.kind) {
      case Event::Kind::link_bandwidth:
        if (event.bandwidth.bytes_per_second <= 0) fail("the bandwidth must be positive");
        [[fallthrough]];
      case Event::Kind::link_down:
      case Event::Kind::link_up:
        need(event.link, problem.topology.links().size(), "link");
        break;
      case Event::Kind::gpu_lost:
      case Event::Kind::gpu_back:
        need(event.node, problem.topology.nodes().size(), "node");
        if (!problem.topology.stores(event.node)) fail("only GPUs and relays can be lost");
        break;
      case Event::Kind::job_arrives:
      case Event::Kind::job_leaves:
        need(event.job, problem.jobs.size(), "job");
        break;
    }
  }
}

}  // namespace stellwerk
