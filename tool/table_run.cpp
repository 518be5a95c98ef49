#include "tool/table_run.hpp"

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/load.hpp"
#include "tool/parse.hpp"

namespace stellwerk::tool {

void declare(Arguments& arguments, TableOptions& options, const std::string& gap,
             const std::string& time_limit, const std::string& parallel) {
  arguments.value(
      {"--csv", "FILE", "write the table for programs; rows go to FILE.partial as they come",
       "--csv table.csv"},
      options.csv);
  arguments.value({"--markdown", "FILE", "write the table as Markdown", "--markdown table.md"},
                  options.markdown);
  arguments.value(
      {"--time-limit", "TIME", "for each plan (default " + time_limit + ")", "--time-limit 5s"},
      options.time_limit);
  arguments.value({"--gap", "RATIO",
                   "stop planning when this near to the bound (default " + gap + ")", "--gap 0.1%"},
                  options.gap);
  arguments.value({"--parallel", "N", "plans at once (default " + parallel + ")", "--parallel 2"},
                  options.parallel);
  arguments.value({"--threads", "N", "threads for each plan (default 1)", "--threads 2"},
                  options.threads);
  arguments.value({"--seed", "N", "start of the random sequence (default 1)", "--seed 7"},
                  options.seed);
  arguments.value(
      {"--memory-limit", "SIZE", "for each plan (default: none)", "--memory-limit 8GiB"},
      options.memory_limit);
}

Case common_case(const TableOptions& options, double gap, double limit_s) {
  Case what;
  what.gap = options.gap ? parse_ratio("--gap", *options.gap) : gap;
  what.limit_s = options.time_limit
                     ? parse_time_option("--time-limit", *options.time_limit).seconds()
                     : limit_s;
  if (options.memory_limit) {
    what.memory_limit_bytes = parse_size_option("--memory-limit", *options.memory_limit).value;
    if (what.memory_limit_bytes <= 0) {
      throw Error(ErrorCode::usage, "--memory-limit must be positive");
    }
  }
  if (options.seed) {
    what.seed = static_cast<std::uint64_t>(parse_integer("--seed", *options.seed, 0));
  }
  if (options.threads) {
    what.threads = static_cast<int>(parse_integer("--threads", *options.threads, 1, 1024));
  }
  return what;
}

int parallel_cases(const TableOptions& options, int otherwise) {
  return options.parallel
             ? static_cast<int>(parse_integer("--parallel", *options.parallel, 1, 1024))
             : otherwise;
}

std::string status_text(const RunnerStatus& status, const std::vector<Case>& cases) {
  std::string text = fmt::format("{} of {} done", status.done, status.count);
  for (std::size_t i = 0; i < status.running.size(); ++i) {
    const Case& what = cases[status.running[i]];
    text +=
        fmt::format("{}{} {} {}{}", i == 0 ? "; " : ", ", what.topology, to_string(what.collective),
                    to_string(what.size), what.planner.empty() ? "" : " " + what.planner);
  }
  return text;
}

void check_topologies(const std::vector<Case>& cases) {
  std::set<std::string> seen;
  for (const Case& what : cases) {
    if (seen.insert(what.topology).second) load_topology(what.topology);
  }
}

}  // namespace stellwerk::tool
