// stellwerk planners: the table of planners.
#include <fmt/core.h>

#include "stellwerk/plan/planner.hpp"
#include "tool/commands.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {

RunCommand declare_planners(Arguments& /*arguments*/) {
  return [] {
    Table table;
    table.add(
        {"planner", "kind", "reductions", "copies", "compressed", "objectives", "what it does"});
    for (const PlannerRow& row : planners()) {
      const auto mark = [](bool value) { return std::string(value ? "yes" : "-"); };
      table.add({std::string(row.name), std::string(to_string(row.kind)), mark(row.reductions),
                 mark(row.copies), mark(row.compressed), mark(row.objectives),
                 std::string(row.summary)});
    }
    fmt::print("{}", table.text());
    return 0;
  };
}

}  // namespace stellwerk::tool
