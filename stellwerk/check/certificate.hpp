// Recomputes lower bounds from their certificates, in integers, independently of the code that
// found them.
#pragma once

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// The bound that the certificate proves for this problem (docs/certificates.md). Throws
/// Error(verification_failed) when the certificate is malformed or proves nothing.
Time proven_by(const Certificate& certificate, const Problem& problem);

}  // namespace stellwerk
