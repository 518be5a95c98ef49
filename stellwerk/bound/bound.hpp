// Lower bounds on the transfer time: never from the planner that is judged, each with a
// certificate.
#pragma once

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// The best lower bound found for ANY way of cutting the blocks into chunks: latency, cut, metric
/// (for demands without copies) and partition (for sums that everybody wants), with its
/// certificate. Polls `stop`; what has been proven by then is returned.
Bound lower_bound(const Problem& problem, const StopCondition& stop = {});

/// The best lower bound found for this problem's chunks moved whole: never below `lower_bound`.
Bound lower_bound_chunked(const Problem& problem, const Bound& any_chunking,
                          const StopCondition& stop = {});

/// The bottleneck in words: "the cut into h1.gpu0 .. h1.gpu7 (8 GPUs), crossed by
/// h0.gpu0->h1.gpu1".
std::string describe(const Certificate& certificate, const Problem& problem);

}  // namespace stellwerk
