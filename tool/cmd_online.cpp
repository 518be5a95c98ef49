// stellwerk online: events in, plan increments out, one line of JSON for each.
#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/stop.hpp"
#include "stellwerk/base/version.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/io/online_log.hpp"
#include "stellwerk/io/online_text.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "stellwerk/io/sha256.hpp"
#include "stellwerk/io/topology_file.hpp"
#include "tool/commands.hpp"
#include "tool/output_file.hpp"
#include "tool/parse.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  std::optional<std::string> topology, events, planner, keys, round, relays, seed;
  std::optional<std::string> log, output, have, check, plan;
};

OnlineOptions planning_options(const Options& options) {
  OnlineOptions result;
  const std::string planner = options.planner.value_or("rounds");
  if (planner == "list") {
    result.method = OnlineMethod::list;
  } else if (planner == "rounds") {
    result.method = OnlineMethod::rounds;
  } else if (planner == "fair") {
    result.method = OnlineMethod::fair;
  } else {
    throw Error(ErrorCode::usage, "--planner: '" + planner + "' is not list, rounds or fair");
  }
  const std::string keys = options.keys.value_or("smith");
  if (keys != "smith" && keys != "edf") {
    throw Error(ErrorCode::usage, "--keys: '" + keys + "' is neither smith nor edf");
  }
  result.keys = keys == "smith" ? OnlineKeys::smith : OnlineKeys::edf;
  if (options.round) {
    result.round = parse_time_option("--round", *options.round);
    if (result.round <= Time{0}) throw Error(ErrorCode::usage, "--round must be positive");
  }
  const std::string relays = options.relays.value_or("all");
  if (relays != "all" && relays != "members") {
    throw Error(ErrorCode::usage, "--relays: '" + relays + "' is neither all nor members");
  }
  result.relays = relays == "all" ? Relays::all : Relays::members;
  if (options.seed) {
    result.seed = static_cast<std::uint64_t>(parse_integer("--seed", *options.seed, 0));
  }
  return result;
}

/// What the decisions depend on, beside the events.
std::string log_header(const Topology& topology, const OnlineOptions& options) {
  constexpr const char* kMethods[] = {"list", "rounds", "fair"};
  return fmt::format(
      "{{\"format\": \"stellwerk.online-log/1\", \"version\": \"{}\", \"topology\": \"{}\", "
      "\"planner\": \"{}\", \"keys\": \"{}\", \"round_ps\": {}, \"relays\": \"{}\", \"seed\": {}}}",
      kVersion, sha256(format_topology(topology)),
      kMethods[static_cast<std::size_t>(options.method)],
      options.keys == OnlineKeys::smith ? "smith" : "edf", options.round.ps,
      options.relays == Relays::all ? "all" : "members", options.seed);
}

/// Lines of a file or of standard input that are not blank.
class EventLines {
 public:
  explicit EventLines(const std::optional<std::string>& path) {
    if (!path || *path == "-") return;
    label_ = *path;
    // A folder can be opened, and would be read as no lines at all.
    std::error_code ignored;
    if (std::filesystem::is_directory(*path, ignored))
      throw Error(ErrorCode::unreadable_input, *path + ": is a folder: name a file in it");
    file_.open(*path);
    if (!file_) throw Error(ErrorCode::unreadable_input, *path + ": cannot be read");
    in_ = &file_;
  }

  bool next(std::string& line) {
    while (!StopCondition::interrupted() && std::getline(*in_, line)) {
      ++number_;
      const std::size_t first = line.find_first_not_of(" \t\r");
      if (first == std::string::npos) continue;
      line = line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
      return true;
    }
    return false;
  }
  std::string label() const { return label_ + ", line " + std::to_string(number_); }

 private:
  std::ifstream file_;
  std::istream* in_ = &std::cin;
  std::string label_ = "standard input";
  std::int64_t number_ = 0;
};

/// Decides what is new, and remembers it.
class Session {
 public:
  explicit Session(const Options& options)
      : topology_(load_topology(*options.topology)),
        planning_(planning_options(options)),
        reader_(topology_),
        planner_(topology_, planning_) {
    if (options.output) {
      output_ = std::make_unique<LineFile>(*options.output);
      told_ = output_->lines();
      if (told_ > 0) {
        const std::string label = *options.output + ", line " + std::to_string(told_);
        if (parse_online_increment(output_->last(), label).number != told_) {
          throw Error(ErrorCode::unreadable_input,
                      label + ": is not increment " + std::to_string(told_) +
                          ": name another file for the output, or remove this one");
        }
      }
    }
    if (options.have) told_ = parse_integer("--have", *options.have, 0);
    if (options.log) {
      log_ = std::make_unique<OnlineLog>(*options.log, log_header(topology_, planning_));
      replay(*options.log);
    }
    if (told_ > decided_) {
      throw Error(ErrorCode::unreadable_input,
                  fmt::format("there are {} increments already, and {} in the log: {}", told_,
                              decided_, "give the log that they belong to with --log"));
    }
  }

  void take(const std::string& line, const std::string& label) {
    const OnlineLine event = reader_.parse(line, label);
    const std::int64_t number = event.number.value_or(position_ + 1);
    position_ = number;
    if (number > decided_ + 1) {
      throw Error(ErrorCode::unreadable_input,
                  fmt::format("{}: is event {}, and {} is due: feed the events from there on",
                              label, number, decided_ + 1));
    }
    if (number <= decided_) {
      const OnlineLogEntry* known =
          log_ ? &log_->entries()[static_cast<std::size_t>(number - 1)] : nullptr;
      if (known != nullptr && known->event == line) return;
      throw Error(ErrorCode::unreadable_input,
                  fmt::format("{}: event {} was another one before: {}", label, number,
                              known != nullptr ? known->event : "events are numbered 1, 2, ..."));
    }
    const std::string increment = decide(event.input, label);
    if (log_) log_->append({decided_, line, sha256(increment)});
    tell(increment);
  }

 private:
  std::string decide(const OnlineInput& input, const std::string& label) {
    try {
      const OnlineIncrement increment = planner_.apply(input);
      decided_ = increment.number;
      return format_online_increment(increment);
    } catch (const Error& error) {
      throw Error(error.code(), label + ": " + error.what());
    }
  }

  /// Decides all that is in the log again, and tells what nobody has been told.
  void replay(const std::string& path) {
    for (const OnlineLogEntry& entry : log_->entries()) {
      const std::string label = path + ", line " + std::to_string(entry.number + 1);
      const std::string increment = decide(reader_.parse(entry.event, label).input, label);
      if (sha256(increment) != entry.increment) {
        throw Error(ErrorCode::unreadable_input,
                    label +
                        ": another program decided this, and differently: go on with that one, "
                        "or begin a new log");
      }
      tell(increment);
    }
  }

  void tell(const std::string& increment) {
    if (decided_ <= told_) return;
    told_ = decided_;
    if (output_) {
      output_->append(increment);
      return;
    }
    fmt::print("{}\n", increment);
    std::fflush(stdout);
  }

  const Topology topology_;
  const OnlineOptions planning_;
  const OnlineReader reader_;
  OnlinePlanner planner_;
  std::unique_ptr<LineFile> output_;
  std::unique_ptr<OnlineLog> log_;
  std::int64_t decided_ = 0;   // increments
  std::int64_t told_ = 0;      // of them
  std::int64_t position_ = 0;  // of the last event that was fed
};

/// Judges events and increments that were written to files.
int check(const Options& options) {
  const Topology topology = load_topology(*options.topology);
  const OnlineOptions planning = planning_options(options);
  if (options.plan) check_writable(*options.plan);
  const OnlineReader reader(topology);
  OnlineRecord record(topology, planning.relays);
  EventLines events(options.events), increments(options.check);
  std::string event, increment;
  std::int64_t count = 0;
  while (increments.next(increment)) {
    if (!events.next(event)) {
      throw Error(ErrorCode::verification_failed,
                  increments.label() + ": there is no event for it");
    }
    record.add(reader.parse(event, events.label()).input,
               parse_online_increment(increment, increments.label()));
    ++count;
  }
  std::int64_t unanswered = 0;
  if (options.events && *options.events != "-") {
    while (events.next(event)) ++unanswered;
  }
  EventfulPlan plan = record.plan();
  const Verdict verdict = verify_sends(plan.problem, plan.sends, plan.events);
  if (!verdict.valid()) {
    throw Error(
        ErrorCode::verification_failed,
        *options.check + ": not valid: " + to_string(*verdict.violation) + ": " + verdict.message);
  }
  if (const std::string wrong = record.wrong_finish(verdict.job_finish); !wrong.empty()) {
    throw Error(ErrorCode::verification_failed, *options.check + ": " + wrong);
  }
  const std::vector<Job>& jobs = plan.problem.jobs;
  double weight = 0, flow = 0;
  for (const OnlineIncrement::Finished& each : record.finished()) {
    const Job& job = jobs[static_cast<std::size_t>(each.job)];
    weight += static_cast<double>(job.weight);
    flow += static_cast<double>(job.weight) * (each.at - job.start).seconds();
  }
  Table table;
  table.add(
      {"increments",
       fmt::format("{}{}", count,
                   unanswered == 0 ? "" : fmt::format(" for {} events", count + unanswered))});
  table.add(
      {"jobs", fmt::format("{}, {} of them finished", jobs.size(), record.finished().size())});
  table.add({"sends", fmt::format("{}, {} of them cut", plan.sends.size(), record.cuts())});
  if (weight > 0) {
    table.add(
        {"mean weighted flow", to_string(Time{static_cast<std::int64_t>(flow / weight * 1e12)})});
  }
  table.add({"transfer time", to_string(verdict.transfer_time)});
  table.add({"verified", count > 0 ? "yes: sends and finish times, with the events"
                                   : "nothing to verify: there is no increment in the file"});
  fmt::print("{}", table.text());
  if (!options.plan) return 0;
  plan.result.planner = "online";
  plan.result.version = kVersion;
  plan.result.seed = planning.seed;
  plan.result.job_finish = verdict.job_finish;
  plan.result.transfer_time = verdict.transfer_time;
  plan.result.termination.reason = Termination::Reason::feasible;
  write_plan(plan, *options.plan);
  fmt::print("written to {}\n", *options.plan);
  return 0;
}

int run(const Options& options) {
  if (!options.topology) {
    throw Error(ErrorCode::usage, "--topology is missing: name one, as in --topology rail:8x8");
  }
  if (options.check) {
    if (!options.events) {
      throw Error(ErrorCode::usage, "--check needs the events, too: --events FILE");
    }
    return check(options);
  }
  if (options.plan) {
    throw Error(ErrorCode::usage, "--plan goes with --check, which puts increments together");
  }
  if (options.have && options.output) {
    throw Error(ErrorCode::usage, "--have is for standard output: a file says itself what it has");
  }
  Session session(options);
  EventLines events(options.events);
  std::string line;
  while (events.next(line)) session.take(line, events.label());
  return 0;
}

}  // namespace

RunCommand declare_online(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.value({"-t,--topology", "T", "a built-in topology (see 'topo list') or a file",
                   "--topology rail:8x8"},
                  options->topology);
  arguments.value(
      {"--events", "FILE", "events, one a line (default: standard input)", "--events events.jsonl"},
      options->events);
  arguments.value({"-o,--output", "FILE", "append the increments there (default: standard output)",
                   "-o plan.jsonl"},
                  options->output);
  arguments.value(
      {"--log", "FILE", "remember there what was decided, and go on from it after a restart",
       "--log online.log"},
      options->log);
  arguments.value(
      {"--have", "N", "the reader of standard output has N increments already: begin behind them",
       "--have 17"},
      options->have);
  arguments.value({"--planner", "P",
                   "who gets a link: the most urgent ('list'), likewise with keys chosen every "
                   "round ('rounds', default), or all at fair rates ('fair')",
                   "--planner list"},
                  options->planner);
  arguments.value({"--keys", "K",
                   "what is urgent: little work for its weight ('smith', default), or a deadline "
                   "that follows from start and time alone ('edf')",
                   "--keys edf"},
                  options->keys);
  arguments.value({"--round", "TIME", "of rounds: how long one is (default 100us)", "--round 50us"},
                  options->round);
  arguments.value({"--relays", "R",
                   "may GPUs outside a job forward its data where its own cannot do without: all "
                   "(default) or members",
                   "--relays members"},
                  options->relays);
  arguments.value({"--seed", "N", "start of the random sequence (default 1)", "--seed 7"},
                  options->seed);
  arguments.value({"--check", "FILE",
                   "plan nothing: judge the increments in FILE, beside the events in --events",
                   "--check plan.jsonl"},
                  options->check);
  arguments.value({"--plan", "FILE", "with --check: write the whole plan (.zst: compressed)",
                   "--plan plan.json.zst"},
                  options->plan);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
