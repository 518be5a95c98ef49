// stellwerk bench replan: link failures at half time, and random events.
#include <fmt/core.h>

#include <map>
#include <memory>

#include "stellwerk/base/error.hpp"
#include "stellwerk/bench/random_events.hpp"
#include "stellwerk/bench/replan_suite.hpp"
#include "tool/commands.hpp"
#include "tool/parse.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  std::optional<std::string> only, events, count, first;
};

std::string percent(const FailureRow::Figure& figure) {
  return fmt::format("{:+.1f}% ({:+.1f}%)", 100 * figure.mean, 100 * figure.most);
}

void print_failures(const Options& options) {
  std::optional<int> events;
  if (options.events) {
    events = static_cast<int>(parse_integer("--events", *options.events, 0, 1000));
    if (*events == 0) return;
  }
  fmt::print("A link fails at half time: mean (most) over the events\n\n");
  Table table;
  table.add({"topology", "demand", "chunks", "plan", "delay", "bound's", "finish/bound", "chunks'",
             "restart", "waiting T/10", "CPU s", "verified"});
  for (const FailureCase& what : failure_cases()) {
    const std::string name = fmt::format("{} {}", what.topology, to_string(what.collective));
    if (options.only && name.find(*options.only) == std::string::npos) continue;
    const FailureRow row = measure_failures(what, events);
    table.add({what.topology, fmt::format("{} {}", to_string(what.collective), what.size),
               std::to_string(what.chunks), to_string(row.transfer_time), percent(row.delay),
               percent(row.bound_delay),
               fmt::format("{:.3f} ({:.3f})", row.over_bound.mean, row.over_bound.most),
               fmt::format("{:.3f} ({:.3f})", row.over_chunked.mean, row.over_chunked.most),
               percent(row.restart), percent(row.waiting),
               fmt::format("{:.3f} ({:.3f})", row.seconds.mean, row.seconds.most),
               fmt::format("{} of {}", row.verified, row.events)});
  }
  fmt::print("{}\n", table.text());
}

/// The exit status.
int print_random(const Options& options) {
  using Outcome = EventCase::Outcome;
  const std::int64_t count =
      options.count ? parse_integer("--count", *options.count, 0, 1'000'000) : 1000;
  const std::int64_t first =
      options.first ? parse_integer("--first", *options.first, 0, 1'000'000'000) : 1;
  std::map<Outcome, std::int64_t> outcomes;
  std::int64_t events = 0;
  double most = 0;
  for (std::int64_t seed = first; events < count; ++seed) {
    for (const EventCase& each : random_event_cases(static_cast<std::uint64_t>(seed))) {
      if (events == count) break;
      ++outcomes[each.outcome];
      if (each.outcome == Outcome::no_plan) continue;
      ++events;
      most = std::max(most, each.seconds);
      if (each.outcome != Outcome::verified && each.outcome != Outcome::refused) {
        fmt::print("problem {}: {}; {}: {}\n", seed, each.problem, each.event, each.message);
      }
    }
  }
  if (events == 0) return 0;
  fmt::print("{} random events in the middle of random plans, the first of problem {}\n\n", events,
             first);
  Table table;
  table.add({"verified", "refused, proven", "refused, not proven", "not valid", "most CPU s"});
  table.add({std::to_string(outcomes[Outcome::verified]),
             std::to_string(outcomes[Outcome::refused]),
             std::to_string(outcomes[Outcome::refused_wrongly]),
             std::to_string(outcomes[Outcome::invalid]), fmt::format("{:.3f}", most)});
  fmt::print("{}", table.text());
  const bool good = outcomes[Outcome::refused_wrongly] + outcomes[Outcome::invalid] == 0;
  return good ? 0 : static_cast<int>(ErrorCode::verification_failed);
}

int run(const Options& options) {
  print_failures(options);
  return options.only ? 0 : print_random(options);
}

}  // namespace

RunCommand declare_bench_replan(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.value({"--only", "TEXT",
                   "only failures whose topology and collective contain TEXT; no random events",
                   "--only rail:16x8"},
                  options->only);
  arguments.value({"--events", "N", "links that fail, a row; 0: none (default 8, large fabrics 4)",
                   "--events 16"},
                  options->events);
  arguments.value({"--count", "N", "how many random events (default 1000)", "--count 100"},
                  options->count);
  arguments.value({"--first", "N", "the number of the first random problem, its seed (default 1)",
                   "--first 17"},
                  options->first);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
