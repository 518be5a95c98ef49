// What happens without joint planning: every job keeps the plan that it was given alone, and the
// network decides who gets which link when.
#pragma once

#include "stellwerk/base/stop.hpp"
#include "stellwerk/plan/send_graph.hpp"

namespace stellwerk {

/// A send is eligible when its job is released, its chunk is held and it heads its job's queue on
/// every link of its tree. Whole sends at full rate, all links of a tree at once, the earliest
/// eligible first. Stopped, the result is not complete.
GraphSchedule overlay_fifo(const SendGraph& graph, const StopCondition& stop = {});

/// All eligible sends share the links at max-min rates in whole bytes a second; whenever a rate
/// changes, a piece ends.
GraphSchedule overlay_fair(const SendGraph& graph, const StopCondition& stop = {});

}  // namespace stellwerk
