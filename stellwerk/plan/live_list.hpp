// Links on line by fixed keys: the most urgent send takes all its links, at full rate.
#pragma once

#include <memory>

#include "stellwerk/plan/live_tasks.hpp"

namespace stellwerk {

/// A ready task takes its links if all that hold one of them are less urgent, and interrupts those; a
/// link that falls free goes to the most urgent task that can have all its links.
std::unique_ptr<LiveTasks> make_live_list(IdVector<LinkId, Bandwidth> bandwidth);

}  // namespace stellwerk
