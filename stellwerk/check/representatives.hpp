// The chunks of a compressed plan, and samples of its images.
#pragma once

#include "stellwerk/check/quotient.hpp"

namespace stellwerk::check {

/// chunks_differ, unless the images of the chunks under the group are exactly the chunks of the
/// jobs. `slot` does not matter. Precondition: the chunks name nodes and jobs that exist, and
/// `quotient` is built and not trivial.
Judgement judge_representatives(const Problem& problem, Quotient& quotient);

/// The same plan, by other representatives: everything mapped by one element of the group.
struct ImagePlan {
  Problem problem;
  Schedule sends;
};
ImagePlan image_of(const Problem& problem, const Schedule& sends, const Permutation& element,
                   const LinkImages& images);

}  // namespace stellwerk::check
