// Compressed plans: representatives and a group of node permutations (docs/formats.md, "symmetry").
#pragma once

#include <vector>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// All elements of the group that `generators` generate, the identity first; breadth-first, so the
/// order depends on the generators alone. Precondition: permutations of the same `nodes` nodes.
/// Throws Error(unreadable_input) when the group is too large to be listed.
std::vector<Permutation> group_closure(const std::vector<Permutation>& generators,
                                       std::size_t nodes);

/// Turns representatives into the whole plan: chunks become those that the jobs ask for, and the
/// sends are the images of the representatives' sends, each once, in the order of the model.
/// Throws Error(unreadable_input): a generator that is no symmetry of the links, a chunk image that
/// the jobs do not ask for, or a plan too large to be expanded.
void expand(Plan& plan, const std::vector<Permutation>& generators);
/// By the problem's own symmetry, which it then no longer has. A plan without one stays as it is.
void expand(Plan& plan);

}  // namespace stellwerk
