// stellwerk topo check: is the description of a network sound?
#include <fmt/core.h>

#include <memory>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/io/soundness.hpp"
#include "tool/commands.hpp"
#include "tool/problem_options.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

std::vector<Finding> findings_of(const std::string& spec, const MachineHints& hints) {
  if (const auto fabric = load_fabric(spec, hints)) return findings(*fabric);
  if (const auto machine = load_machine(spec, hints)) return findings(*machine, spec);
  return findings(load_topology(spec, hints));
}

int run(const std::string& spec, const MachineHints& hints) {
  Table table;
  table.add({"level", "finding", "first"});
  std::size_t faults = 0, doubts = 0;
  const std::vector<Finding> list = findings_of(spec, hints);
  for (const Finding& finding : list) {
    table.add({to_string(finding.level), finding.what, finding.where});
    faults += finding.level == Finding::Level::fault;
    doubts += finding.level == Finding::Level::doubt;
  }
  if (faults + doubts == 0) {
    fmt::print("{}: nothing is wrong with it\n", spec);
  } else {
    fmt::print("{}: {} and {}\n", spec, faults == 1 ? "1 fault" : fmt::format("{} faults", faults),
               doubts == 1 ? "1 doubt" : fmt::format("{} doubts", doubts));
  }
  if (!list.empty()) fmt::print("\n{}", table.text());
  return faults > 0 ? static_cast<int>(ErrorCode::verification_failed) : 0;
}

}  // namespace

RunCommand declare_topo_check(Arguments& arguments) {
  const auto name = std::make_shared<std::string>();
  const auto hints = std::make_shared<MachineHints>();
  arguments.operand({"TOPOLOGY", "", "a built-in topology or a file (a machine or a network, too)",
                     "stellwerk topo check cluster.json"},
                    *name);
  declare(arguments, *hints);
  return [name, hints] { return run(*name, *hints); };
}

}  // namespace stellwerk::tool
