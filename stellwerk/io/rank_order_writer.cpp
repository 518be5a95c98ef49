#include "stellwerk/io/rank_order_writer.hpp"

#include <map>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/plan_rings.hpp"

namespace stellwerk {

std::vector<NodeId> rank_order(const Plan& plan) {
  if (plan.problem.jobs.size() != 1)
    throw Error(ErrorCode::unsolved, "an order of ranks belongs to one job, and there are several");
  try {
    return plan_rings(plan).front().order;
  } catch (const Error&) {  // no rings
    return plan.problem.jobs.front().ranks;
  }
}

std::string format_rank_order(const Topology& topology, const std::vector<NodeId>& ranks,
                              std::string_view format) {
  // A GPU's number in its host.
  std::map<NodeId, int> number;
  std::map<std::string, int> count;
  for (const NodeId gpu : topology.gpus()) number.emplace(gpu, count[topology.node(gpu).host]++);
  std::string text;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Node& node = topology.node(ranks[i]);
    if (format == "names") {
      text += node.name + "\n";
      continue;
    }
    if (node.host.empty()) {
      throw Error(ErrorCode::unsolved, "GPU '" + node.name + "' has no host, and a " +
                                           std::string(format) +
                                           " names hosts: give the topology's nodes a host");
    }
    if (format == "hostfile") {
      text += node.host + "\n";
    } else if (format == "rank-gpus") {
      text += node.host + " " + std::to_string(number.at(ranks[i])) + "\n";
    } else {
      text += "rank " + std::to_string(i) + "=" + node.host + " slot=0:*\n";
    }
  }
  return text;
}

}  // namespace stellwerk
