// stellwerk bench: fixed tables, beside published results.
#include <memory>

#include "stellwerk/base/error.hpp"
#include "stellwerk/bench/published.hpp"
#include "stellwerk/bench/random_suite.hpp"
#include "stellwerk/bench/suites.hpp"
#include "stellwerk/io/text.hpp"
#include "tool/commands.hpp"
#include "tool/parse.hpp"
#include "tool/table_run.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  std::optional<std::string> reference, total_time, gpus, relabel, first, count, only;
  TableOptions table;
};

void declare_only(Arguments& arguments, Options& options) {
  arguments.value(
      {"--only", "TEXT", "only rows whose topology or group contains TEXT", "--only torus"},
      options.only);
}

/// Leaves rows that --only is about. Throws Error(usage) if there are none.
template <class Row>
std::vector<Row> chosen(std::vector<Row> rows, const std::optional<std::string>& only,
                        const std::function<std::string(const Row&)>& text) {
  if (!only) return rows;
  std::vector<Row> result;
  for (Row& row : rows) {
    if (text(row).find(*only) != std::string::npos) result.push_back(std::move(row));
  }
  if (result.empty()) {
    throw Error(ErrorCode::usage, "--only: no row has " + in_quotes(*only) +
                                      " in its topology or group: leave it out to see them all");
  }
  return result;
}

/// The headings, and a line for each of the rows.
template <class Row>
std::vector<std::vector<std::string>> summary_lines(const std::vector<Column<Row>>& columns,
                                                    const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> lines = {cells<Row>(columns, nullptr)};
  for (const Row& row : rows) lines.push_back(cells(columns, &row));
  return lines;
}

int run_published(const Options& options) {
  const std::string csv =
      options.reference ? read_file(*options.reference) : std::string(published_csv());
  const std::vector<PublishedInstance> instances =
      parse_published(csv, options.reference.value_or("the published results"));
  RunnerOptions runner;
  runner.parallel = parallel_cases(options.table, 2);
  runner.most_s = 20;
  if (!options.table.time_limit) {
    runner.total_s =
        options.total_time ? parse_time_option("--total-time", *options.total_time).seconds() : 110;
    if (runner.total_s <= 0) throw Error(ErrorCode::usage, "--total-time must be positive");
  } else if (options.total_time) {
    throw Error(ErrorCode::usage,
                "--total-time contradicts --time-limit, which is for each plan: give one of them");
  }
  TableSpec<PublishedRow> table;
  table.title = "Beside TE-CCL's published results";
  table.rows = chosen<PublishedRow>(
      published_rows(instances, common_case(options.table, 0.001, 10)), options.only,
      [](const PublishedRow& row) { return row.measured.what.topology + " " + row.group; });
  table.measured = [](PublishedRow& row) -> MeasuredCase& { return row.measured; };
  table.columns = published_columns();
  table.summary = [](const std::vector<PublishedRow>& rows) {
    return summary_lines(published_summary_columns(), summarise(rows));
  };
  return run_table(std::move(table), options.table, runner);
}

int run_scale(const Options& options) {
  const Case common = common_case(options.table, 0.01, 10);
  std::int64_t least = 1, most = 16384;
  if (options.gpus) {
    const std::size_t dots = options.gpus->find("..");
    least = parse_integer("--gpus", options.gpus->substr(0, dots), 1);
    most = dots == std::string::npos ? least
                                     : parse_integer("--gpus", options.gpus->substr(dots + 2), 1);
  }
  std::optional<std::int64_t> relabel = 11;
  if (options.relabel) {
    relabel = *options.relabel == "none"
                  ? std::nullopt
                  : std::optional(parse_integer("--relabel", *options.relabel, 0));
  }
  std::vector<MeasuredCase> rows = scale_cases(common, least, most, relabel);
  if (rows.empty()) {
    throw Error(ErrorCode::usage,
                "--gpus: there are fabrics of 64 to 16384 GPUs, none of " + *options.gpus);
  }
  RunnerOptions runner;
  runner.parallel = parallel_cases(options.table, 1);
  TableSpec<MeasuredCase> table;
  table.title = "From 64 to 16,384 GPUs";
  table.rows = chosen<MeasuredCase>(std::move(rows), options.only,
                                    [](const MeasuredCase& row) { return row.what.topology; });
  table.measured = [](MeasuredCase& row) -> MeasuredCase& { return row; };
  table.columns = scale_columns();
  return run_table(std::move(table), options.table, runner);
}

int run_peers(const Options& options) {
  RunnerOptions runner;
  runner.parallel = parallel_cases(options.table, 1);
  TableSpec<PeerRow> table;
  table.title = "AllGather beside SCCL, TACOS and ForestColl";
  table.rows = chosen<PeerRow>(peer_rows(common_case(options.table, 0.001, 10)), options.only,
                               [](const PeerRow& row) { return row.measured.what.topology; });
  table.measured = [](PeerRow& row) -> MeasuredCase& { return row.measured; };
  table.columns = peer_columns();
  return run_table(std::move(table), options.table, runner);
}

int run_random(const Options& options) {
  constexpr std::size_t kShown = 10;
  const auto number = [](const std::string& option, const std::optional<std::string>& text,
                         std::int64_t least, std::int64_t otherwise) {
    return static_cast<std::uint64_t>(text ? parse_integer(option, *text, least, 1'000'000)
                                           : otherwise);
  };
  RunnerOptions runner;
  runner.parallel = parallel_cases(options.table, 2);
  TableSpec<RandomRow> table;
  table.title = "Random problems";
  table.rows = chosen<RandomRow>(
      random_rows(common_case(options.table, 0.01, 2), number("--first", options.first, 0, 1),
                  number("--count", options.count, 1, 500)),
      options.only,
      [](const RandomRow& row) { return row.measured.what.topology + " " + row.demand; });
  table.measured = [](RandomRow& row) -> MeasuredCase& { return row.measured; };
  table.columns = random_columns();
  table.shown = [](const std::vector<RandomRow>& rows) { return worst(rows, kShown); };
  table.summary = [](const std::vector<RandomRow>& rows) {
    return summary_lines(random_summary_columns(), {summarise(rows)});
  };
  return run_table(std::move(table), options.table, runner);
}

}  // namespace

RunCommand declare_bench_published(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.value(
      {"--reference", "FILE", "published results as CSV (default: TE-CCL's, which are built in)",
       "--reference teccl_published.csv"},
      options->reference);
  arguments.value({"--total-time", "TIME",
                   "for the whole table; what early plans leave goes to later ones (default 110s)",
                   "--total-time 60s"},
                  options->total_time);
  declare_only(arguments, *options);
  declare(arguments, options->table, "0.1%", "a share of the total time", "2");
  return [options] { return run_published(*options); };
}

RunCommand declare_bench_scale(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.value(
      {"--gpus", "RANGE", "only fabrics of so many GPUs (default 64..16384)", "--gpus 64..1024"},
      options->gpus);
  arguments.value(
      {"--relabel", "SEED", "puts nodes and links in random order; 'none' leaves them (default 11)",
       "--relabel 12"},
      options->relabel);
  declare_only(arguments, *options);
  declare(arguments, options->table, "1%", "10s", "1");
  return [options] { return run_scale(*options); };
}

RunCommand declare_bench_peers(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  declare_only(arguments, *options);
  declare(arguments, options->table, "0.1%", "10s", "1");
  return [options] { return run_peers(*options); };
}

RunCommand declare_bench_random(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.value({"--count", "N", "how many problems (default 500)", "--count 50"},
                  options->count);
  arguments.value(
      {"--first", "N", "the number of the first one, its seed (default 1)", "--first 17"},
      options->first);
  declare_only(arguments, *options);
  declare(arguments, options->table, "1%", "2s", "2");
  return [options] { return run_random(*options); };
}

}  // namespace stellwerk::tool
