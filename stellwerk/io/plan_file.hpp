// Plans as files: stellwerk.plan/1 (docs/formats.md).
#pragma once

#include <string>
#include <string_view>

#include "stellwerk/core/event.hpp"
#include "stellwerk/core/plan.hpp"

namespace stellwerk {

inline constexpr std::string_view kPlanFormat = "stellwerk.plan/1";

/// The plan as the file says it. One that is stored compressed stays so (Problem::symmetry) if its
/// group acts freely on the ranks of its jobs; otherwise it is expanded. Chunks, sends and figures are
/// taken over as they are: whether they are right is for the verifier. What is checked is that the
/// file is well-formed and that everything it refers to exists. Throws Error(unreadable_input): one
/// line that names the file, the JSON pointer and the remedy.
/// A plan with events is refused: see read_eventful_plan.
Plan read_plan(const std::string& path);
/// `label` is what errors call the text.
Plan parse_plan(std::string_view text, const std::string& label);

/// The same, with the events, if there are any.
EventfulPlan read_eventful_plan(const std::string& path);
EventfulPlan parse_eventful_plan(std::string_view text, const std::string& label);

/// A compressed plan is written compressed: see expanded(). Derived figures (derive_metrics) are computed, not taken from
/// `plan.result.recorded`. Reads back as the same plan.
std::string format_plan(const Plan& plan);
std::string format_plan(const EventfulPlan& plan);
/// The plan's `result` object alone.
std::string format_result(const Plan& plan);
/// Bounds without a plan: the fields of a result that say what has been proven.
std::string format_bounds(const Bound& any_chunking, const Bound& chunked);
/// All or nothing; see write_file.
void write_plan(const Plan& plan, const std::string& path);
void write_plan(const EventfulPlan& plan, const std::string& path);

}  // namespace stellwerk
