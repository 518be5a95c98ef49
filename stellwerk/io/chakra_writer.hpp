// Plans as Chakra execution traces, for ASTRA-sim's custom collectives.
#pragma once

#include <string>
#include <vector>

#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// One trace a rank (length-delimited protobuf: metadata, then nodes): a COMM_SEND and a COMM_RECV node for every transfer, with
/// the transfer's number as tag, and a COMP node for local work (sums, copies). Data dependencies are those of the operations
/// (lower/operations.hpp) and the order on every connection. Bytes are those of the plan: ASTRA-sim does not scale them. Throws
/// Error(unsolved) for what a two-sided runtime cannot do (lower/transfers.hpp). Precondition: the plan is not compressed.
std::vector<std::string> format_chakra(const Plan& plan, bool in_place);

}  // namespace stellwerk
