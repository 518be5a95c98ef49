#include "stellwerk/plan/keyed_schedule.hpp"
#include "stellwerk/plan/overlay.hpp"

namespace stellwerk {

GraphSchedule overlay_fifo(const SendGraph& graph, const StopCondition& stop) {
  KeyedRules rules;
  rules.job_queues = true;
  return keyed_schedule(graph, rules, stop);
}

}  // namespace stellwerk
