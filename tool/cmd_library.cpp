// stellwerk library: programs for a whole range of sizes, ready to install.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/core/expansion.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/msccl_writer.hpp"
#include "stellwerk/io/mscclpp_writer.hpp"
#include "stellwerk/io/text.hpp"
#include "stellwerk/plan/portfolio.hpp"
#include "stellwerk/plan/size_ranges.hpp"
#include "tool/commands.hpp"
#include "tool/parse.hpp"
#include "tool/plan_options.hpp"
#include "tool/problem_options.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

/// Every step costs a runtime time that no plan counts.
constexpr int kMaxChunks = 16;

struct LibraryOptions {
  std::optional<std::string> topology, collectives, sizes, target, slack, max_chunks, output;
  MachineHints hints;
  PlannerOptions planner;
  LimitOptions limits;
  bool in_place = false;
};

/// A plan whose program the runtime can hold.
struct Candidate {
  Plan plan;
  std::int64_t largest = 0;  ///< call that the program can serve; 0: no limit
  /// The program's file for calls of these sizes; 0 for `most`: no limit.
  std::function<std::string(const std::string& name, std::int64_t least, std::int64_t most)> format;
};

struct File {
  std::string path, contents;
};

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::usage, message); }

class Library {
 public:
  Library(const LibraryOptions& options, Topology topology)
      : options_(options),
        topology_(std::move(topology)),
        target_(options.target.value_or("rccl")),
        suffix_(target_ == "mscclpp" ? ".json" : ".xml") {
    const std::initializer_list<std::string_view> targets = {"msccl", "azure", "rccl", "mscclpp"};
    if (std::find(targets.begin(), targets.end(), target_) == targets.end())
      refuse("--target " + in_quotes(target_) + " is none of msccl, azure, rccl, mscclpp" +
             did_you_mean(target_, targets));
    planning_ = plan_options(options.planner);
  }

  /// Plans and chooses; adds programs to the files, lines to the table.
  void make(Collective collective, const std::vector<Bytes>& sizes, const std::string& folder,
            std::vector<File>& files, Table& table, std::string& csv) {
    std::vector<Candidate> candidates;
    for (const Bytes size : sizes) {
      candidates.push_back(plan_for(collective, size));
      if (isatty(2))
        fmt::print(stderr, "{} {}: {}\n", to_string(collective), to_string(size),
                   to_string(candidates.back().plan.result.transfer_time));
    }
    std::vector<std::vector<Time>> times;
    for (const Candidate& candidate : candidates) {
      times.emplace_back();
      for (const Bytes size : sizes) {
        const bool fits = candidate.largest == 0 || size.value <= candidate.largest;
        times.back().push_back(fits ? finish_at_size(candidate.plan, size) : Time::max());
      }
    }
    const double slack = options_.slack ? parse_ratio("--slack", *options_.slack) : 0.02;
    const std::vector<SizeRange> ranges = fewest_ranges(times, slack);
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      const SizeRange& range = ranges[r];
      const Plan& plan = candidates[range.plan].plan;
      // In between, the smaller size's program is used up to where the next one's begins.
      const std::int64_t least = r == 0 ? 0 : sizes[range.first].value;
      const std::int64_t most = r + 1 < ranges.size() ? sizes[ranges[r + 1].first].value - 1
                                                      : candidates[range.plan].largest;
      const std::string name = fmt::format("{}-{}", to_string(collective), r);
      const std::string path = (std::filesystem::path(folder) / (name + suffix_)).string();
      files.push_back({path, candidates[range.plan].format(name, least, most)});
      table.add({std::string(to_string(collective)), to_string(Bytes{least}),
                 most == 0 ? "no limit" : to_string(Bytes{most}), plan.result.planner,
                 std::to_string(plan.problem.jobs[0].chunks),
                 to_string(times[range.plan][range.first]),
                 to_string(times[range.plan][range.last]), path});
      csv += fmt::format("{},{},{},{},{},{}{}\n", to_string(collective), least, most,
                         plan.result.planner, plan.problem.jobs[0].chunks, name, suffix_);
    }
  }

 private:
  /// The best plan whose program fits: with fewer chunks if need be.
  Candidate plan_for(Collective collective, Bytes size) const {
    Job job;
    job.name = to_string(collective);
    job.collective = collective;
    job.ranks = topology_.gpus();
    job.size = size;
    job.auto_chunks = true;
    const int most =
        options_.max_chunks
            ? static_cast<int>(parse_integer("--max-chunks", *options_.max_chunks, 1, 1024))
            : kMaxChunks;
    while (true) {
      PortfolioRequest request{
          topology_, {job}, Relays::members, options_.planner.planner.value_or(""), planning_};
      Plan plan = make_plan(std::move(request), stop_condition(options_.limits), nullptr, judge);
      const int chunks = plan.problem.jobs[0].chunks;
      job.auto_chunks = false;
      job.chunks = most;
      if (chunks > most) continue;
      expand(plan);
      try {
        Candidate candidate = with_program(plan);
        if (candidate.largest > 0 && size.value > candidate.largest) {
          throw Error(ErrorCode::usage, "--sizes: " + to_string(size) + " is more than " + target_ +
                                            " serves with one program, " +
                                            to_string(Bytes{candidate.largest}) +
                                            " here: end the range below");
        }
        candidate.plan = std::move(plan);
        return candidate;
      } catch (const Error& error) {
        if (chunks == 1 || error.code() != ErrorCode::unsolved) throw;
        job.chunks = chunks / 2;
      }
    }
  }

  /// All but the plan itself. Throws Error(unsolved) if the runtime cannot hold it.
  Candidate with_program(const Plan& plan) const {
    if (target_ == "mscclpp") {
      lower::PutProgram program = lower::lower_to_puts(plan, options_.in_place, mscclpp_limits());
      const std::int64_t largest = largest_call(program);
      return {{},
              largest,
              [program = std::move(program)](const std::string& name, std::int64_t least,
                                             std::int64_t most) {
                return format_mscclpp(program, {name, least, most});
              }};
    }
    const MscclDialect dialect = parse_msccl_dialect(target_);
    lower::Program program = lower::lower_plan(plan, options_.in_place, msccl_limits(dialect));
    return {{},
            0,
            [program = std::move(program), dialect](const std::string& name, std::int64_t least,
                                                    std::int64_t most) {
              MscclFile file;
              file.name = name;
              file.min_bytes = least;
              file.max_bytes = most;
              return format_msccl_xml(program, dialect, file);
            }};
  }

  const LibraryOptions& options_;
  Topology topology_;
  std::string target_, suffix_;
  PlanOptions planning_;
};

int run(const LibraryOptions& options) {
  if (!options.topology) refuse("--topology is missing: name one, as in --topology dgx1");
  if (!options.collectives)
    refuse("--collectives is missing, as in --collectives allgather,allreduce");
  if (!options.output) refuse("--output is missing: name a folder");
  const std::vector<Bytes> sizes = parse_sizes("--sizes", options.sizes.value_or("1K..1G"));
  const std::vector<Collective> collectives = parse_collectives(*options.collectives);
  Library library(options, load_topology(*options.topology, options.hints));
  std::error_code error;
  const bool made = std::filesystem::create_directories(*options.output, error);
  if (error)
    throw Error(ErrorCode::unreadable_input,
                *options.output + ": cannot be made: " + error.message());
  if (std::filesystem::directory_iterator(*options.output) !=
      std::filesystem::directory_iterator()) {
    throw Error(ErrorCode::unreadable_input,
                *options.output +
                    ": is not empty: runtimes read every file of such a folder; name a new one");
  }
  Table table;
  table.add({"collective", "from", "to", "planner", "chunks", "time at the least size",
             "at the largest", "file"});
  std::string csv = "collective,min_bytes,max_bytes,planner,chunks,file\n";
  // Nothing is written until everything is there: runtimes would take half a library for a whole one.
  std::vector<File> files;
  try {
    for (const Collective collective : collectives)
      library.make(collective, sizes, *options.output, files, table, csv);
  } catch (...) {
    if (made) std::filesystem::remove(*options.output, error);
    throw;
  }
  // Beside the folder: in it every file must be a program.
  files.push_back({*options.output + ".csv", csv});
  std::vector<FileContents> contents;
  for (const File& file : files) contents.push_back({file.path, file.contents});
  write_files(contents);
  fmt::print("{}selection table: {}.csv\n", table.text(), *options.output);
  return 0;
}

}  // namespace

RunCommand declare_library(Arguments& arguments) {
  const auto options = std::make_shared<LibraryOptions>();
  arguments.value({"-t,--topology", "T", "a built-in topology or a file", "--topology dgx1"},
                  options->topology);
  declare(arguments, options->hints);
  arguments.value(
      {"--collectives", "LIST", "which, separated by commas", "--collectives allgather,allreduce"},
      options->collectives);
  arguments.value(
      {"--sizes", "SIZES", "sizes to plan for: a list or a range (default 1K..1G, by fours)",
       "--sizes 1K..1G"},
      options->sizes);
  arguments.value(
      {"--target", "RUNTIME", "msccl, azure, rccl (default), mscclpp", "--target azure"},
      options->target);
  arguments.flag(
      {"--in-place", "", "for calls whose input and output are one buffer", "--in-place"},
      options->in_place);
  arguments.value({"--slack", "RATIO",
                   "how much slower than the best plan for a size another one may be that saves a "
                   "file (default 2%)",
                   "--slack 5%"},
                  options->slack);
  arguments.value({"--max-chunks", "N",
                   "cut blocks into at most N chunks: every step costs a runtime time that no plan "
                   "counts (default 16)",
                   "--max-chunks 4"},
                  options->max_chunks);
  declare(arguments, options->planner);
  declare(arguments, options->limits);
  arguments.value(
      {"-o,--output", "FOLDER",
       "a new folder for the programs; the selection table is written beside it, as FOLDER.csv",
       "-o programs"},
      options->output);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
