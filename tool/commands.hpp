// The subcommands as a table: adding one is a file, a row and a section in the documentation.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "tool/arguments.hpp"

namespace stellwerk::tool {

/// Runs a subcommand whose arguments have been parsed; returns the exit status.
using RunCommand = std::function<int()>;

struct Command {
  std::string_view name;     ///< one word or two: "plan", "topo show"
  std::string_view summary;  ///< one line
  std::string_view usage;    ///< what must be given, without the name; operands are added
  std::string_view notes;    ///< more help; may be empty
  RunCommand (*declare)(Arguments& arguments);
};

RunCommand declare_plan(Arguments& arguments);
RunCommand declare_bound(Arguments& arguments);
RunCommand declare_overlay(Arguments& arguments);
RunCommand declare_verify(Arguments& arguments);
RunCommand declare_simulate(Arguments& arguments);
RunCommand declare_topo_show(Arguments& arguments);
RunCommand declare_topo_list(Arguments& arguments);
RunCommand declare_topo_convert(Arguments& arguments);
RunCommand declare_topo_compose(Arguments& arguments);
RunCommand declare_topo_fit(Arguments& arguments);
RunCommand declare_topo_check(Arguments& arguments);
RunCommand declare_stream(Arguments& arguments);
RunCommand declare_place(Arguments& arguments);
RunCommand declare_cache_list(Arguments& arguments);
RunCommand declare_cache_show(Arguments& arguments);
RunCommand declare_cache_clear(Arguments& arguments);
RunCommand declare_cache_limit(Arguments& arguments);
RunCommand declare_export(Arguments& arguments);
RunCommand declare_import(Arguments& arguments);
RunCommand declare_library(Arguments& arguments);
RunCommand declare_tune(Arguments& arguments);
RunCommand declare_replan(Arguments& arguments);
RunCommand declare_online(Arguments& arguments);
RunCommand declare_bench_online(Arguments& arguments);
RunCommand declare_planners(Arguments& arguments);
RunCommand declare_compare(Arguments& arguments);
RunCommand declare_bench_published(Arguments& arguments);
RunCommand declare_bench_scale(Arguments& arguments);
RunCommand declare_bench_peers(Arguments& arguments);
RunCommand declare_bench_random(Arguments& arguments);
RunCommand declare_bench_replan(Arguments& arguments);
RunCommand declare_bench_jitter(Arguments& arguments);
RunCommand declare_bench_jobs(Arguments& arguments);
RunCommand declare_bench_experts(Arguments& arguments);

}  // namespace stellwerk::tool
