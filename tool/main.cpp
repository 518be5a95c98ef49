// The command line: finds the subcommand, lets it declare and parse its arguments, and maps errors
// to exit statuses.
//
// 0 ok, 1 verification failed, 2 usage, 3 unreadable or contradictory input, 4 well-formed but
// unsolved, 5 internal.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/stop.hpp"
#include "stellwerk/base/version.hpp"
#include "stellwerk/io/text.hpp"
#include "tool/commands.hpp"

namespace stellwerk::tool {
namespace {

constexpr std::array kCommands = {
    Command{"plan", "plan a collective and write the plan",
            "--topology T (--collective C --size S | --jobs FILE) [options]",
            "Without --planner the portfolio tries all that suit and keeps the best. A run that is "
            "stopped by a limit or\n"
            "by Ctrl-C prints and writes the best plan found so far.\n",
            declare_plan},
    Command{"bound", "prove lower bounds on the transfer time",
            "--topology T (--collective C --size S | --jobs FILE) [options]", "", declare_bound},
    Command{"overlay", "several jobs, each by its own plan: the baseline of joint planning",
            "--topology T --jobs FILE [options]",
            "Every job is planned as if it were alone; then all run together and the network "
            "shares its links. The result\nis a plan of its own (pieces of sends at constant "
            "rates), verified like any other.\n",
            declare_overlay},
    Command{"verify", "judge plan files: sends, finish times, bounds", "",
            "Exit status 0 if all are valid, 1 if one is not.\n", declare_verify},
    Command{"simulate", "replay a plan, also on other latencies and bandwidths, or under noise",
            "[options]", "The order of sends and their dependencies stay, the clock does not.\n",
            declare_simulate},
    Command{"export", "write a plan as a program or report of another system",
            "--to FORMAT [options]",
            "What the format cannot express is refused, with the reason and what to change.\n",
            declare_export},
    Command{"import", "read a schedule of TE-CCL, TACCL or SCCL as a plan: verified, timed anew",
            "--chunk-size SIZE [options]", "", declare_import},
    Command{"library", "programs for a range of sizes, ready to install",
            "--topology T --collectives LIST -o FOLDER [options]",
            "Every size is planned for, with the time limit for each; neighbouring sizes share a "
            "program where that costs little.\n",
            declare_library},
    Command{"tune", "choose among NCCL's own algorithms, for its tuner plugin",
            "--topology T [options]",
            "Rings, trees and PAT with each protocol are simulated; for runtimes that load no "
            "programs.\n",
            declare_tune},
    Command{
        "replan", "plan anew from the middle of a plan when something happens",
        "--at TIME --event EVENT... [options]",
        "Events: 'link A->B down', 'link A->B up', 'link A->B bandwidth 25GB/s', 'gpu G lost', "
        "'gpu G back',\n"
        "'job FILE arrives', 'job NAME leaves'. Of several links from A to B the second is "
        "A->B#2; '#17' is the link of\n"
        "that number. What has started before is kept, what was in flight over a link that fails "
        "is lost, the rest is\n"
        "planned anew; the result is one plan with the events in it, which 'stellwerk verify' "
        "judges. Exit status 4 if\n"
        "data is lost or cannot be reached: the message says which and why.\n",
        declare_replan},
    Command{
        "online", "plan on line: events in, decisions out", "--topology T [options] < EVENTS",
        "An event is a line of JSON: {\"at\": \"155us\", \"arrives\": JOB}, with a job as in jobs "
        "files, or\n"
        "{\"at\": \"1ms\", \"event\": \"link A->B down\"}; other events: 'link A->B up', 'link "
        "A->B "
        "bandwidth 25GB/s',\n"
        "'gpu G lost', 'gpu G back', 'job NAME leaves', 'tick' (time has passed), 'end' (nothing "
        "follows). Every event is\n"
        "answered by a line with all that is decided before its instant (docs/online.md).\n",
        declare_online},
    Command{"topo show", "summarise a topology", "", "", declare_topo_show},
    Command{"topo list", "list the built-in topologies", "", "", declare_topo_list},
    Command{"topo convert", "write a topology in our own format", "[options]", "",
            declare_topo_convert},
    Command{
        "topo compose", "join copies of a machine by a network", "--fabric F [options]",
        "Hosts and NICs are plugged in where the fabric's file says; machines of one kind only.\n",
        declare_topo_compose},
    Command{
        "topo check", "say what is wrong with a topology", "",
        "Machines and networks between them, too. Exit status 1 if there is a fault: somebody is "
        "cut off, or a figure is\nunknown.\n",
        declare_topo_check},
    Command{"topo fit", "latency and bandwidth of links from nccl-tests", "[options]",
            "Every log gives one class of links: one host those within it, several hosts those "
            "between.\n",
            declare_topo_fit},
    Command{"compare", "planners and baselines side by side, over sizes",
            "--topology T --collective C --sizes SIZES [options]",
            "Every plan is made in a process of its own, verified, and timed by the same "
            "simulator. Under mpirun the\n"
            "processes share the work.\n",
            declare_compare},
    Command{"bench published", "plan what TE-CCL published, and compare", "[options]",
            "66 instances, and 22 of the true NDv2 x 2 beside them. (*): the published time is "
            "below a valid bound,\n"
            "because latencies below a tenth of an epoch are missing from it. Under mpirun the "
            "processes share the work.\n",
            declare_bench_published},
    Command{"bench scale", "plan for 64 to 16,384 GPUs", "[options]",
            "Names are taken from all nodes, so that structure must be found. Under mpirun the "
            "processes share the work.\n",
            declare_bench_scale},
    Command{"bench peers", "AllGather beside SCCL, TACOS and ForestColl", "[options]",
            "Their figures are from runs on one core of a similar machine. Under mpirun the "
            "processes share the work.\n",
            declare_bench_peers},
    Command{"bench random", "random problems beside every baseline", "[options]",
            "4 to 64 GPUs, every collective, always the same problems; the ten with the largest "
            "gaps are printed. Under\nmpirun the processes share the work.\n",
            declare_bench_random},
    Command{"bench jitter", "plans chosen under noise beside the nominal best and ring",
            "[options]", "p99 of the finish, on the runs that decided and on as many fresh ones.\n",
            declare_bench_jitter},
    Command{"bench experts", "AllToAllV of a mixture of experts on boxes and rails", "[options]",
            "The planner 'rails' alone; every plan is judged.\n", declare_bench_experts},
    Command{"stream", "plan AllToAllV for one byte matrix after the other",
            "--topology T < MATRICES",
            "Every line of standard input is a matrix, [[0, 4096, ...], ...]; every line of output "
            "says how its plan does.\n",
            declare_stream},
    Command{"place", "choose GPUs and the order of ranks by planned time",
            "--topology T --collective C --size S [options]",
            "Under Slurm the free GPUs are those of the job's hosts.\n", declare_place},
    Command{"cache list", "list the plans in the cache, those used last first", "[options]", "",
            declare_cache_list},
    Command{"cache show", "judge and describe a plan in the cache", "[options]", "",
            declare_cache_show},
    Command{"cache clear", "drop all plans from the cache", "[options]", "", declare_cache_clear},
    Command{"cache limit", "set how large the cache may become", "[options]",
            "What was not used for longest is dropped first.\n", declare_cache_limit},
    Command{"bench jobs", "several jobs: joint planning beside the overlays", "[options]",
            "Random problems with fixed seeds, every objective, every plan verified; then the 896 "
            "process groups of a training\nrun on 1,024 GPUs. Ratios are means over the problems; "
            "'worse' counts plans above an overlay, 'losses' those that\nwould be above fair "
            "sharing were it not a candidate.\n",
            declare_bench_jobs},
    Command{
        "bench replan", "plans that are interrupted: failing links, random events", "[options]",
        "A link fails at half time of a plan, for several fabrics; then random events hit random "
        "plans. Always the\n"
        "same ones. Every new plan is verified and every refusal proven; exit status 1 if one "
        "is not.\n",
        declare_bench_replan},
    Command{"bench online", "planning on line beside fair sharing, while links change", "[options]",
            "Every run is put together to one plan and judged, with its events.\n",
            declare_bench_online},
    Command{"planners", "list the planners and what they can do", "", "", declare_planners},
};

std::string overview() {
  std::string text =
      "Plans collective communication on GPU clusters, with proven bounds.\n"
      "\nUsage: stellwerk COMMAND [arguments]\n\nCommands:\n";
  for (const Command& command : kCommands)
    text += fmt::format("  {:<17}{}\n", command.name, command.summary);
  text += fmt::format("  {:<17}{}\n", "help COMMAND", "options of a command, with examples");
  text +=
      "\nOptions:\n"
      "  -h, --help    this text\n                e.g. stellwerk plan --help\n"
      "  --version     the version\n                e.g. stellwerk --version\n"
      "\nExample:\n  stellwerk plan --topology ndv2:2 --collective allgather --size 1GB -o "
      "plan.json\n";
  return text;
}

std::string help(const Command& command) {
  Arguments arguments;
  command.declare(arguments);
  std::string text = fmt::format("Usage: stellwerk {}{}", command.name, arguments.operand_usage());
  if (!command.usage.empty()) text += fmt::format(" {}", command.usage);
  std::string summary(command.summary);
  summary.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(summary.front())));
  text += fmt::format("\n\n{}.\n{}", summary, command.notes);
  return text + arguments.help();
}

/// The words that can follow `prefix` ("", or "topo ").
std::vector<std::string> known_words(const std::string& prefix) {
  std::vector<std::string> words;
  for (const Command& command : kCommands) {
    if (!command.name.starts_with(prefix)) continue;
    const std::string rest(command.name.substr(prefix.size()));
    const std::string word = rest.substr(0, rest.find(' '));
    if (words.empty() || words.back() != word) words.push_back(word);
  }
  if (prefix.empty()) words.insert(words.end(), {"help", "--help", "--version"});
  return words;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Takes one or two words off the front of `words`. Throws Error(usage) with the nearest command.
const Command& take_command(std::vector<std::string>& words) {
  std::string name;
  while (true) {
    if (words.empty()) {
      throw Error(ErrorCode::usage,
                  "'" + name + "' needs one of: " + join(known_words(name + " ")));
    }
    const std::string prefix = name.empty() ? "" : name + " ";
    const std::string word = words.front();
    words.erase(words.begin());
    const auto known = known_words(prefix);
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      const std::string_view guess = nearest(word, {known.begin(), known.end()});
      throw Error(
          ErrorCode::usage,
          "unknown command " + in_quotes(prefix + word) +
              (guess.empty() ? "; see 'stellwerk --help'"
                             : "; did you mean " + in_quotes(prefix + std::string(guess)) + "?"));
    }
    name = prefix + word;
    const auto row = std::find_if(kCommands.begin(), kCommands.end(),
                                  [&](const Command& command) { return command.name == name; });
    if (row != kCommands.end()) return *row;
  }
}

bool is_help(const std::string& word) { return word == "--help" || word == "-h"; }

int print(const std::string& text) {
  fmt::print("{}", text);
  return 0;
}

int run(std::vector<std::string> words) {
  if (words.empty()) throw Error(ErrorCode::usage, "name a command; see 'stellwerk --help'");
  if (is_help(words.front())) return print(overview());
  if (words.front() == "--version") return print(fmt::format("stellwerk {}\n", kVersion));
  const bool asked_first = words.front() == "help";
  if (asked_first) {
    words.erase(words.begin());
    if (words.empty()) return print(overview());
  }
  for (const std::string group : {"topo", "bench", "cache"}) {
    const bool about_group =
        words.front() == group && (words.size() == 1 ? asked_first : is_help(words[1]));
    if (!about_group) continue;
    std::string text = "Usage: stellwerk " + group + " COMMAND [arguments]\n\nCommands:\n";
    for (const Command& command : kCommands) {
      if (command.name.starts_with(group + " "))
        text += fmt::format("  {:<17}{}\n", command.name, command.summary);
    }
    return print(text);
  }
  const Command& command = take_command(words);
  if (asked_first || std::any_of(words.begin(), words.end(), is_help)) return print(help(command));
  Arguments arguments;
  const RunCommand run_command = command.declare(arguments);
  arguments.parse(std::string(command.name), words);
  return run_command();
}

/// The first Ctrl-C asks planners for what they have; the second one kills.
extern "C" void on_interrupt(int signal_number) {
  StopCondition::interrupt_now();
  std::signal(signal_number, SIG_DFL);
}

int main(int argc, char** argv) {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  int status = 0;
  try {
    status = run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const Error& error) {
    fmt::print(stderr, "stellwerk: {}\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "stellwerk: out of memory: plan fewer chunks or a smaller problem\n");
    return static_cast<int>(ErrorCode::unsolved);
  } catch (const std::exception& error) {
    fmt::print(stderr, "stellwerk: internal error: {}\n", error.what());
    return static_cast<int>(ErrorCode::internal);
  }
  // A result that did not reach its reader is no success: a full disk, for example.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    fmt::print(stderr, "stellwerk: cannot write to standard output: {}\n", std::strerror(errno));
    return static_cast<int>(ErrorCode::unreadable_input);
  }
  return status;
}

}  // namespace
}  // namespace stellwerk::tool

int main(int argc, char** argv) { return stellwerk::tool::main(argc, argv); }
