// Tables for NCCL's and RCCL's CSV tuner (ext-tuner/example, NCCL_TUNER_CONFIG_FILE).
#pragma once

#include <string>
#include <vector>

#include "stellwerk/plan/nccl_choice.hpp"
#include "stellwerk/plan/size_ranges.hpp"

namespace stellwerk {

/// The lines for one collective: collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,
/// regBuff. Ranges come without gaps, since the plugin falls back to ring and Simple between them: the first begins at 0, the
/// last has no end, each ends where the next begins. Channels are left to NCCL (-1); hosts too where GPUs have none.
std::string format_nccl_tuner(const Topology& topology, Collective collective,
                              const std::vector<Bytes>& sizes,
                              const std::vector<NcclOption>& options,
                              const std::vector<SizeRange>& ranges);

}  // namespace stellwerk
