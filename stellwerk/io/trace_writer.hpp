// A plan as pictures and tables of others: trace events (Perfetto, chrome://tracing) and CSV.
#pragma once

#include <string>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// Chrome's trace event format, JSON: a process a node, a track for every link that leaves it (and more of them where sends share its
/// bandwidth), a slice for every send on every link of its tree, arrows from a chunk's arrival to where it goes on. Times in
/// microseconds with six decimals: exact. Precondition: the plan is not compressed.
std::string format_trace(const Plan& plan);

/// One line a send: chunk, op, from, to (leaves, separated by blanks), offset, bytes, rate, start and arrivals in ps, links.
std::string format_sends_csv(const Plan& plan);

}  // namespace stellwerk
