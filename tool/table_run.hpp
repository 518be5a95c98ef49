// What the commands that measure whole tables have in common: options, progress, output.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stellwerk/bench/cells.hpp"
#include "stellwerk/bench/columns.hpp"
#include "stellwerk/bench/results_file.hpp"
#include "stellwerk/bench/runner.hpp"
#include "stellwerk/exec/process_group.hpp"
#include "stellwerk/io/file.hpp"
#include "tool/arguments.hpp"
#include "tool/output_file.hpp"
#include "tool/progress_line.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {

struct TableOptions {
  std::optional<std::string> csv, markdown, parallel;
  std::optional<std::string> gap, seed, threads, time_limit, memory_limit;
};

/// `gap` and `time_limit` are the defaults, for the help.
void declare(Arguments& arguments, TableOptions& options, const std::string& gap,
             const std::string& time_limit, const std::string& parallel);

/// What the options say of every case.
Case common_case(const TableOptions& options, double gap, double limit_s);
int parallel_cases(const TableOptions& options, int otherwise);

/// "12 of 88 done; ndv2:4 allgather 1 MB, dgx2:2 alltoall 4 KB".
std::string status_text(const RunnerStatus& status, const std::vector<Case>& cases);

/// Throws what is wrong with any of the topologies, before work starts.
void check_topologies(const std::vector<Case>& cases);

/// A table to be made.
template <class Row>
struct TableSpec {
  std::string title;  ///< of the Markdown file
  std::vector<Row> rows;
  MeasuredCase& (*measured)(Row&) = nullptr;  ///< the part of a row that is to be filled in
  std::vector<Column<Row>> columns;
  /// The rows that are printed (files have them all); null: all of them.
  std::function<std::vector<Row>(const std::vector<Row>&)> shown;
  /// Lines of cells below the table, also in the Markdown file; null: none.
  std::function<std::vector<std::vector<std::string>>(const std::vector<Row>&)> summary;
};

/// Measures the rows, shows how it goes, prints the table, writes files. Returns the exit status.
template <class Row>
int run_table(TableSpec<Row> spec, const TableOptions& options, const RunnerOptions& runner) {
  std::vector<Row>& rows = spec.rows;
  const std::vector<Column<Row>>& columns = spec.columns;
  std::vector<Case> cases;
  for (Row& row : rows) cases.push_back(spec.measured(row).what);
  check_topologies(cases);
  for (const auto& path : {options.csv, options.markdown}) {
    if (path) check_writable(*path);
  }
  const ProcessGroup group;
  std::optional<ResultsFile> file;
  if (options.csv && group.rank() == 0) file.emplace(*options.csv, csv_header(columns));

  struct Listener : RunnerListener {
    Listener(TableSpec<Row>& the_spec, const std::vector<Case>& the_cases,
             std::optional<ResultsFile>& the_file)
        : spec(the_spec), cases(the_cases), file(the_file), done(the_cases.size(), 0) {}
    TableSpec<Row>& spec;
    const std::vector<Case>& cases;
    std::optional<ResultsFile>& file;
    ProgressLine progress;
    std::vector<char> done;
    std::string failure;

    void finished(std::size_t which, const Measurement& measurement) override {
      spec.measured(spec.rows[which]).result = measurement;
      done[which] = 1;
      if (!file || !failure.empty()) return;
      try {
        file->add(csv_line(spec.columns, spec.rows[which]));
      } catch (const std::exception& error) {  // a full disk does not cost the other results
        failure = error.what();
      }
    }
    void status(const RunnerStatus& status) override {
      progress.report({status_text(status, cases), std::nullopt, std::nullopt});
    }
  };
  Listener listener(spec, cases, file);
  const bool complete = run_cases(cases, runner, group, listener);
  listener.progress.erase();
  if (group.rank() != 0) return 0;

  std::vector<Row> finished;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (listener.done[i] != 0) finished.push_back(rows[i]);
  }
  Table table;
  table.add(cells<Row>(columns, nullptr));
  for (const Row& row : spec.shown ? spec.shown(finished) : finished) {
    table.add(cells(columns, &row));
  }
  fmt::print("{}", table.text());
  std::string markdown_text = "# " + spec.title + "\n\n" + markdown(columns, finished);
  if (spec.summary) {
    const std::vector<std::vector<std::string>> lines = spec.summary(finished);
    Table means;
    for (const auto& line : lines) means.add(line);
    fmt::print("\n{}", means.text());
    markdown_text += "\n" + markdown_line(lines.front()) + markdown_rule(lines.front().size());
    for (std::size_t i = 1; i < lines.size(); ++i) markdown_text += markdown_line(lines[i]);
  }
  if (file && complete) {
    file->finish(csv(columns, finished));
    fmt::print("written to {}\n", file->path());
  }
  if (options.markdown) {
    const std::string path = *options.markdown + (complete ? "" : ".partial");
    write_file(path, markdown_text);
    fmt::print("written to {}\n", path);
  }
  if (!complete) {
    fmt::print("stopped by Ctrl-C: {} of {} rows{}\n", finished.size(), rows.size(),
               file ? ", kept in " + file->partial_path() : "");
  }
  if (!listener.failure.empty()) fmt::print(stderr, "stellwerk: {}\n", listener.failure);
  return finished.empty() ? 4 : 0;
}

}  // namespace stellwerk::tool
