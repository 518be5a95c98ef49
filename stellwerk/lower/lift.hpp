// From programs to plans: what a runtime executes, as sends with times.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "stellwerk/check/history.hpp"
#include "stellwerk/core/plan.hpp"

namespace stellwerk::lower {

struct Lifted {
  Plan plan;
  std::size_t forwarded = 0;  ///< transfers between GPUs that no link joins, which others pass on
  std::size_t left_out =
      0;  ///< transfers of the program that are no sends, since nothing depends on what they bring
};

/// The plan that does what a program did (see check/history.hpp), rank k being the k-th GPU of `topology`. `collective`: as the
/// program calls it; `size`: of the call. Transfers take the ways that ways.hpp tells, and wait for data and
/// links alone. An AllReduce whose chunks the GPUs do not divide is a custom job. Precondition: the program
/// is right. Throws Error(unreadable_input) that begins with `file`: another number of GPUs, a collective without promise, blocks smaller
/// than their chunks, and what plans cannot express, with the step.
Lifted lift(const check::History& history, std::string_view collective, Bytes size,
            Topology topology, const std::string& file);

}  // namespace stellwerk::lower
