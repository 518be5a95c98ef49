// stellwerk replan: what is left of a plan, planned anew when something happens.
#include <fmt/core.h>

#include <memory>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/core/expansion.hpp"
#include "stellwerk/io/event_text.hpp"
#include "stellwerk/io/jobs_file.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "stellwerk/plan/replan.hpp"
#include "tool/commands.hpp"
#include "tool/output_file.hpp"
#include "tool/parse.hpp"
#include "tool/plan_options.hpp"
#include "tool/report.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  std::string plan;
  std::optional<std::string> at, output, seed;
  std::vector<std::string> events;
  LimitOptions limits;
  bool quick = false;
};

Disturbance read_disturbance(const Options& options, const Problem& problem) {
  Disturbance what;
  if (!options.at) throw Error(ErrorCode::usage, "--at is missing: when it happens, as in 12us");
  what.at = parse_time_option("--at", *options.at);
  if (what.at < Time{0}) throw Error(ErrorCode::usage, "--at must not be negative");
  if (options.events.empty()) {
    throw Error(ErrorCode::usage,
                "--event is missing: what happens, as in 'link h0.gpu0->h1.gpu1 down'");
  }
  for (const std::string& text : options.events) {
    EventText event = parse_event(text, problem);
    if (event.jobs_file.empty()) {
      what.events.push_back(event.event);
      continue;
    }
    for (Job& job : read_jobs(event.jobs_file, problem.topology)) {
      if (job.auto_chunks) job.auto_chunks = false;  // one a block
      event.event.job = JobId(what.arriving.size());
      what.events.push_back(event.event);
      what.arriving.push_back(std::move(job));
    }
  }
  return what;
}

std::string delay_text(Time now, Time before) {
  if (before.ps == 0) return to_string(now);
  return fmt::format("{} ({:+.2f}%)", to_string(now), 100 * (now.seconds() / before.seconds() - 1));
}

int run(const Options& options) {
  const std::int64_t seed = options.seed ? parse_integer("--seed", *options.seed, 0) : 1;
  const StopCondition stop = stop_condition(options.limits);
  if (options.output) check_writable(*options.output);
  EventfulPlan plan = read_eventful_plan(options.plan);
  const Disturbance what = read_disturbance(options, plan.problem);
  if (const Verdict verdict = verify(plan); !verdict.valid()) {
    throw Error(ErrorCode::verification_failed,
                options.plan + ": not valid, so there is nothing to go on with: " +
                    to_string(*verdict.violation) + ": " + verdict.message);
  }
  expand(plan);
  ReplanOptions how;
  how.seed = static_cast<std::uint64_t>(seed);
  how.bound = !options.quick;
  const Replanned result = replan(plan, what, how, stop);
  if (const Verdict verdict = verify(result.plan); !verdict.valid()) {
    throw Error(ErrorCode::internal,
                "the new plan is not valid: " + std::string(to_string(*verdict.violation)) + ": " +
                    verdict.message);
  }
  if (options.output) write_plan(result.plan, *options.output);

  const Time finish = result.plan.result.transfer_time;
  Table table;
  for (std::size_t i = plan.events.size(); i < result.plan.events.size(); ++i) {
    table.add({i == plan.events.size() ? "event" : "",
               describe(result.plan.events[i], result.plan.problem)});
  }
  table.add({"transfer time, before", to_string(result.planned_finish)});
  table.add({"transfer time, now", delay_text(finish, result.planned_finish)});
  if (!options.quick) {
    table.add({"residual bound", to_string(result.residual_bound)});
    table.add({"residual bound, these chunks", to_string(result.residual_bound_chunked)});
    table.add({"gap to it, of the rest",
               gap_text(finish - what.at, std::max(Time{1}, result.residual_bound - what.at))});
    if (const auto restart = finish_of_restart(plan, what, stop)) {
      table.add({"starting from scratch", delay_text(*restart, result.planned_finish)});
    }
    const Time outage{result.planned_finish.ps / 10};
    if (const auto waiting = finish_of_waiting(plan, what, outage)) {
      table.add({fmt::format("waiting {} for the link", to_string(outage)),
                 delay_text(*waiting, result.planned_finish)});
    }
  }
  for (std::size_t j = 0; j < result.plan.problem.jobs.size(); ++j) {
    if (result.plan.problem.jobs.size() == 1) break;
    const Time job = result.plan.result.job_finish[j];
    table.add({"job '" + result.plan.problem.jobs[j].name + "'",
               j < plan.result.job_finish.size() ? delay_text(job, plan.result.job_finish[j])
                                                 : to_string(job)});
  }
  table.add({"sends", fmt::format("{} had started, {} of them lost; {} new ({})", result.kept,
                                  result.lost, result.fresh, result.how)});
  table.add({"planning time", fmt::format("{:.3f} s", result.planning_s)});
  table.add({"verified", "yes: sends and finish times, with the events"});
  fmt::print("{}", table.text());
  if (options.output) fmt::print("written to {}\n", *options.output);
  return 0;
}

}  // namespace

RunCommand declare_replan(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.operand({"PLAN", "", "a plan file", "stellwerk replan plan.json"}, options->plan);
  arguments.value({"--at", "TIME", "when it happens, from the start of the plan", "--at 12us"},
                  options->at);
  arguments.values({"--event", "EVENT", "what happens; may be given several times",
                    "--event 'link h0.gpu0->h1.gpu1 down'"},
                   options->events);
  arguments.value({"-o,--output", "FILE", "write the new plan (.zst: compressed)", "-o new.json"},
                  options->output);
  arguments.value({"--seed", "N", "of random choices (default 1)", "--seed 7"}, options->seed);
  arguments.flag(
      {"--quick", "", "the new plan alone: no residual bound, nothing beside it to compare with",
       "--quick"},
      options->quick);
  declare(arguments, options->limits);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
