// What the tool says about a plan, in one table.
#pragma once

#include <optional>
#include <string>

#include "stellwerk/core/plan.hpp"
#include "stellwerk/core/problem.hpp"

namespace stellwerk::tool {

/// The table of `plan`: times, bandwidths, bounds, gaps, effort, use of the network. Precondition:
/// the plan has been verified; `verified` says when, in words, and becomes the last row but one.
std::string plan_report(const Plan& plan, const std::string& verified);

/// "9.37%", with as many digits as are needed to tell it from 0; "0%, optimal" for 0.
std::string gap_text(Time transfer_time, Time bound);

/// "allgather of 1 GB over 16 GPUs", for each job.
std::string job_text(const Job& job);

/// "40.003 ms (cut)".
std::string bound_text(const Bound& bound);

}  // namespace stellwerk::tool
