// Recomputes lower bounds from their certificates, in integers, independently of the code that
// found them.
#pragma once

#include "stellwerk/base/wide.hpp"
#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// The bound that the certificate proves for this problem (docs/certificates.md). Throws
/// Error(verification_failed) when the certificate is malformed or proves nothing.
Time proven_by(const Certificate& certificate, const Problem& problem);

/// What the objectives' bounds ask of a cut (kind `cut`) and one job of several.
struct CutLoad {
  Int128 bytes = 0;      ///< of the job's chunks that must enter the set
  Int128 bandwidth = 0;  ///< of all entry links together
  Time after;  ///< the least time from the entry into one of those links to a node that wants them
};
/// The same errors as proven_by.
CutLoad cut_load(const Certificate& cut, JobId job, const Problem& problem);

}  // namespace stellwerk
