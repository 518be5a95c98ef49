// Links on line without a planner: all that can send share them at max-min fair rates.
#pragma once

#include <memory>

#include "stellwerk/plan/live_tasks.hpp"

namespace stellwerk {

/// What networks do by themselves, as a reference: rates in whole bytes a second, a job's sends pass
/// every link in the order of the job's own plan. Keys do not matter.
std::unique_ptr<LiveTasks> make_live_fair(IdVector<LinkId, Bandwidth> bandwidth);

}  // namespace stellwerk
