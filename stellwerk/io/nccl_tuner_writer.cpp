#include "stellwerk/io/nccl_tuner_writer.hpp"

#include <cstdint>
#include <limits>

namespace stellwerk {

std::string format_nccl_tuner(const Topology& topology, Collective collective,
                              const std::vector<Bytes>& sizes,
                              const std::vector<NcclOption>& options,
                              const std::vector<SizeRange>& ranges) {
  const auto hosts = host_count(topology);
  std::string text;
  for (std::size_t r = 0; r < ranges.size(); ++r) {
    const NcclOption& option = options[ranges[r].plan];
    const std::int64_t least = r == 0 ? 0 : sizes[ranges[r].first].value;
    const std::int64_t most = r + 1 == ranges.size() ? std::numeric_limits<std::int64_t>::max()
                                                     : sizes[ranges[r + 1].first].value - 1;
    text += std::string(to_string(collective)) + "," + std::to_string(least) + "," +
            std::to_string(most) + "," + std::string(option.algorithm) + "," +
            std::string(option.protocol) + ",-1," + (hosts ? std::to_string(*hosts) : "-1") + "," +
            std::to_string(topology.gpus().size()) + ",-1,-1\n";
  }
  return text;
}

}  // namespace stellwerk
