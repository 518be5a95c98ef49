// Events as people write them: "link h0.gpu0->h1.gpu1 down".
#pragma once

#include <string>
#include <string_view>

#include "stellwerk/core/event.hpp"
#include "stellwerk/core/problem.hpp"

namespace stellwerk {

struct EventText {
  Event event;            ///< without an instant
  std::string jobs_file;  ///< job_arrives: where the jobs are; `event.job` is then not set
};

/// "link L down", "link L up", "link L bandwidth 25GB/s", "gpu G lost", "gpu G back", "job NAME
/// leaves", "job FILE arrives". A link is named by its ends, "A->B", the second of several parallel
/// ones "A->B#2"; or by its number, "#17". Throws Error(usage) that names what is wrong and what
/// would be right.
EventText parse_event(std::string_view text, const Problem& problem);

}  // namespace stellwerk
