#include "stellwerk/bench/random_events.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/bench/random_problem.hpp"
#include "stellwerk/bench/refusal.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/plan/planner.hpp"

namespace stellwerk {
namespace {

class Draw {
 public:
  Draw(Rng& rng, const EventfulPlan& plan, Time from)
      : rng_(rng), plan_(plan), problem_(plan.problem) {
    const std::int64_t end = std::max(from.ps + 1, plan.result.transfer_time.ps);
    what_.at = Time{rng.between(from.ps, end)};
  }

  Disturbance run() {
    draw();
    if (rng_.below(6) == 0) draw();
    return std::move(what_);
  }

 private:
  void draw() {
    using Kind = Event::Kind;
    const std::uint64_t dice = rng_.below(20);
    const Event* down = last(Kind::link_down, Kind::link_up);
    const Event* lost = last(Kind::gpu_lost, Kind::gpu_back);
    if (dice < 2 && down != nullptr) return add({Kind::link_up, {}, down->link, {}, {}, {}});
    if (dice < 4 && lost != nullptr) return add({Kind::gpu_back, {}, {}, lost->node, {}, {}});
    if (dice < 11) return add({Kind::link_down, {}, link(), {}, {}, {}});
    if (dice < 15) {
      const LinkId id = link();
      const std::int64_t now = problem_.topology.link(id).bandwidth.bytes_per_second;
      const std::int64_t fifths = rng_.between(1, 7);
      return add({Kind::link_bandwidth, {}, id, {}, {}, Bandwidth{now / 5 * fifths + 1}});
    }
    if (dice < 17) {
      const auto& gpus = problem_.topology.gpus();
      return add({Kind::gpu_lost, {}, {}, gpus[rng_.below(gpus.size())], {}, {}});
    }
    if (dice == 17) {
      return add({Kind::job_leaves, {}, {}, {}, JobId(rng_.below(problem_.jobs.size())), {}});
    }
    arrive();
  }

  void add(const Event& event) { what_.events.push_back(event); }

  /// The last event of one kind that no later one of the other kind follows.
  const Event* last(Event::Kind kind, Event::Kind undone) const {
    const Event* result = nullptr;
    for (const Event& event : plan_.events) {
      if (event.kind == kind) result = &event;
      if (event.kind == undone) result = nullptr;
    }
    return result;
  }

  /// Mostly one that is in use at that instant, or will be.
  LinkId link() {
    const std::size_t links = problem_.topology.links().size();
    if (rng_.below(4) != 0) {
      for (int tries = 0; tries < 50 && !plan_.sends.empty(); ++tries) {
        const Send& send = plan_.sends[rng_.below(plan_.sends.size())];
        const Time end = send.start + transmission_time(send.bytes, send.rate);
        if (end <= what_.at) continue;
        return send.links[rng_.below(send.links.size())];
      }
    }
    return LinkId(rng_.below(links));
  }

  void arrive() {
    static constexpr std::array kKinds = {Collective::allgather, Collective::alltoall,
                                          Collective::allreduce, Collective::broadcast,
                                          Collective::reducescatter};
    Job job;
    job.name = "late" + std::to_string(problem_.jobs.size() + what_.arriving.size());
    job.collective = kKinds[rng_.below(kKinds.size())];
    job.ranks = problem_.topology.gpus();
    rng_.shuffle(job.ranks);
    const auto most = std::min<std::size_t>(job.ranks.size(), 8);
    job.ranks.resize(2 + rng_.below(most - 1));
    job.size = Bytes{rng_.between(1000, 10'000'000)};
    job.start = what_.at;
    Event event;
    event.kind = Event::Kind::job_arrives;
    event.job = JobId(what_.arriving.size());
    what_.arriving.push_back(std::move(job));
    add(event);
  }

  Rng& rng_;
  const EventfulPlan& plan_;
  const Problem& problem_;
  Disturbance what_;
};

/// A valid plan by the first of some planners, in random order, that has one.
std::optional<EventfulPlan> some_plan(Rng& rng, const Problem& problem) {
  std::vector<std::string_view> names = {"greedy", "direct",       "ring", "recursive-doubling",
                                         "pat",    "hierarchical", "bruck"};
  rng.shuffle(names);
  names.emplace_back("greedy");
  for (const std::string_view name : names) {
    PlannerContext context;
    context.rng = Rng(rng.next());
    PlanOptions options;
    options.quick = true;
    PlannerOutcome outcome = find_planner(name).plan(problem, options, context);
    if (!outcome.has_plan()) continue;
    const Verdict verdict = verify_sends(problem, outcome.sends);
    if (!verdict.valid()) continue;
    EventfulPlan plan;
    plan.problem = problem;
    plan.sends = std::move(outcome.sends);
    plan.result.transfer_time = verdict.transfer_time;
    plan.result.job_finish = verdict.job_finish;
    plan.result.planner = name;
    sort_sends(problem.topology, plan.sends);
    return plan;
  }
  return std::nullopt;
}

std::string describe(const Disturbance& what, const EventfulPlan& plan) {
  std::string text = to_exact_string(what.at);
  for (const Event& event : what.events) {
    text += text.back() == 's' ? ": " : ", ";
    if (event.kind == Event::Kind::job_arrives) {
      text += "job " + what.arriving[event.job.index()].name + " arrives";
    } else {
      const std::string words = describe(event, plan.problem);
      text += words.substr(words.find(": ") + 2);
    }
  }
  return text;
}

}  // namespace

Disturbance random_disturbance(Rng& rng, const EventfulPlan& plan, Time from) {
  return Draw(rng, plan, from).run();
}

std::vector<EventCase> random_event_cases(std::uint64_t seed) {
  using Outcome = EventCase::Outcome;
  Rng rng(0xe7e9700000000000ULL + seed);
  const RandomProblem stated = random_problem(seed);
  std::vector<Job> jobs = stated.jobs;
  std::string demand;
  for (Job& job : jobs) {
    if (job.auto_chunks) job.chunks = static_cast<int>(rng.between(1, 3));
    job.auto_chunks = false;
    demand += fmt::format(" {} {}", to_string(job.collective), to_string(effective_size(job)));
  }
  const Problem problem = make_problem(catalogue_topology(stated.topology), jobs);
  std::optional<EventfulPlan> plan = some_plan(rng, problem);
  std::vector<EventCase> cases;
  if (!plan) return {EventCase{Outcome::no_plan, stated.topology + demand, "", "", 0, {}, {}}};
  const std::string name = stated.topology + demand + " " + plan->result.planner;
  const std::uint64_t count = 1 + rng.below(3);
  Time from{0};
  for (std::uint64_t i = 0; i < count; ++i) {
    const Disturbance what = random_disturbance(rng, *plan, from);
    EventCase each;
    each.problem = name;
    each.event = describe(what, *plan);
    each.before = plan->result.transfer_time;
    try {
      ReplanOptions options;
      options.seed = seed;
      options.bound = false;
      Replanned result = replan(*plan, what, options, {});
      const Verdict verdict = verify(result.plan);
      each.outcome = verdict.valid() ? Outcome::verified : Outcome::invalid;
      each.message = verdict.message;
      each.seconds = result.planning_s;
      each.after = result.plan.result.transfer_time;
      *plan = std::move(result.plan);
    } catch (const Error& error) {
      each.message = error.what();
      each.outcome = is_refusal_proven(*plan, what) ? Outcome::refused : Outcome::refused_wrongly;
    }
    cases.push_back(each);
    if (each.outcome != Outcome::verified) break;
    from = what.at;
  }
  return cases;
}

}  // namespace stellwerk
