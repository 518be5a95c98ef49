// The options that state a problem: topology and collective, or a jobs file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/core/problem.hpp"
#include "stellwerk/io/load.hpp"
#include "tool/arguments.hpp"

namespace stellwerk::tool {

struct ProblemOptions {
  std::optional<std::string> topology, collective, size, ranks, root, jobs, relays, chunks, matrix;
  MachineHints machine;
};

/// Options for files that describe a machine: --gpu and --format.
void declare(Arguments& arguments, MachineHints& hints);

void declare(Arguments& arguments, ProblemOptions& options);

/// What the options say; jobs are not yet checked against the topology (make_problem does that).
struct StatedProblem {
  Topology topology;
  std::vector<Job> jobs;
  Relays relays = Relays::all;
};

/// Throws Error(usage) for options that are missing or contradict each other,
/// Error(unreadable_input) for files.
StatedProblem state_problem(const ProblemOptions& options);

/// "h0.gpu0,3,8-15": names or numbers of nodes, and ranges of numbers. A name that looks like a
/// number or range is taken as a name.
std::vector<NodeId> parse_ranks(const Topology& topology, std::string_view text);

}  // namespace stellwerk::tool
