#include "stellwerk/io/teccl_writer.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/json.hpp"

namespace stellwerk {
namespace {

constexpr std::int64_t kEpochs = 1'000'000;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorCode::unsolved, "TE-CCL's schedules cannot say this plan: " + what);
}

/// One way of a send's tree: from its source through switches to a receiver.
struct Flow {
  std::size_t chunk = 0;
  NodeId from, to;
  std::vector<NodeId> via;
  std::int64_t epoch = 0;
  Time arrival;

  std::string hop() const {
    return std::to_string(from.value) + "->" + std::to_string(to.value) + " in epoch " +
           std::to_string(epoch);
  }
};

class Writer {
 public:
  explicit Writer(const Plan& plan) : plan_(plan), topology_(plan.problem.topology) {
    std::map<NodeId, std::size_t> count;
    for (const Chunk& chunk : plan.problem.chunks) {
      if (chunk.is_reduction()) refuse("it has sums");
      if (chunk.origins.size() != 1) refuse("a chunk has several origins");
      number_.push_back(count[chunk.origins[0]]++);
    }
    epoch_ = std::max<std::int64_t>(1, (plan.result.transfer_time.ps + kEpochs - 1) / kEpochs);
    for (const Send& send : plan.sends) add(send);
  }

  std::string text() {
    const double epoch = static_cast<double>(epoch_) * 1e-12;
    const double finish = plan_.result.transfer_time.seconds();
    std::string text = "{\n  \"1-Epoch_Duration\": " + json::number(epoch) +
                       ",\n  \"2-Expected_Epoch_Duration\": " + json::number(epoch) +
                       ",\n  \"3-Epochs_Required\": " +
                       std::to_string(plan_.result.transfer_time.ps / epoch_ + 1) +
                       ",\n  \"4-Collective_Finish_Time\": " + json::number(finish) +
                       ",\n  \"5-Algo_Bandwidth\": " + json::number(bandwidth(finish)) +
                       ",\n  \"6-Demand_Met\": {" + demand() + "},\n  \"7-Flows\": [";
    std::string separator = "\n    ";
    for (const Flow& flow : flows_) {
      text += separator + "\"Chunk " + name(flow.chunk) + " traveled over " + flow.hop();
      for (std::size_t k = 0; k < flow.via.size(); ++k)
        text += (k == 0 ? " via switches " : ", ") + std::to_string(flow.via[k].value);
      text += "\"";
      separator = ",\n    ";
    }
    return text + "\n  ],\n  \"8-Chunk paths\": {" + paths() + "}\n}\n";
  }

 private:
  NodeId origin(std::size_t chunk) const { return plan_.problem.chunks[ChunkId(chunk)].origins[0]; }
  /// "0 from 3".
  std::string name(std::size_t chunk) const {
    return std::to_string(number_[chunk]) + " from " + std::to_string(origin(chunk).value);
  }

  /// GB/s of the whole output, as TE-CCL counts it.
  double bandwidth(double seconds) const {
    const auto bytes = static_cast<double>(effective_size(plan_.problem.jobs.at(0)).value);
    return seconds > 0 ? bytes / seconds / 1e9 : 0;
  }

  void add(const Send& send) {
    const Chunk& chunk = plan_.problem.chunks[send.chunk];
    if (send.op != Op::copy) refuse("it has sums");
    if (send.bytes != chunk.bytes) refuse("a send moves a part of a chunk");
    const SendTiming times = timing(topology_, send);
    // The link over which each node of the tree is entered.
    std::map<NodeId, LinkId> by;
    for (const LinkId id : send.links) by.emplace(topology_.link(id).to, id);
    for (std::size_t leaf = 0; leaf < times.leaves.size(); ++leaf) {
      Flow flow{send.chunk.index(),     times.sources.at(0),
                times.leaves[leaf],     {},
                send.start.ps / epoch_, send.start + times.arrival[leaf]};
      for (NodeId at = topology_.link(by.at(flow.to)).from; at != flow.from;
           at = topology_.link(by.at(at)).from)
        flow.via.push_back(at);
      std::reverse(flow.via.begin(), flow.via.end());
      const auto [entry, added] = first_.try_emplace({flow.chunk, flow.to}, flows_.size());
      if (!added && flow.arrival < flows_[entry->second].arrival) entry->second = flows_.size();
      flows_.push_back(std::move(flow));
    }
  }

  /// {"GPU s": {"GPU d": {"Chunk c": seconds}}}.
  std::string demand() const {
    std::map<NodeId, std::map<NodeId, std::map<std::size_t, Time>>> met;
    for (std::size_t c = 0; c < plan_.problem.chunks.size(); ++c) {
      for (const NodeId destination : plan_.problem.chunks[ChunkId(c)].destinations) {
        const auto flow = first_.find({c, destination});
        if (flow != first_.end())
          met[origin(c)][destination][number_[c]] = flows_[flow->second].arrival;
      }
    }
    std::string text;
    for (const auto& [source, destinations] : met) {
      text += std::string(text.empty() ? "" : ",") + "\n    \"GPU " + std::to_string(source.value) +
              "\": {";
      std::string inner;
      for (const auto& [destination, chunks] : destinations) {
        inner += std::string(inner.empty() ? "" : ",") + "\n      \"GPU " +
                 std::to_string(destination.value) + "\": {";
        std::string times;
        for (const auto& [chunk, time] : chunks)
          times += std::string(times.empty() ? "" : ", ") + "\"Chunk " + std::to_string(chunk) +
                   "\": " + json::number(time.seconds());
        inner += times + "}";
      }
      text += inner + "\n    }";
    }
    return text + (text.empty() ? "" : "\n  ");
  }

  std::string paths() const {
    std::string text;
    for (std::size_t c = 0; c < plan_.problem.chunks.size(); ++c) {
      for (const NodeId destination : plan_.problem.chunks[ChunkId(c)].destinations) {
        const auto last = first_.find({c, destination});
        if (last == first_.end()) continue;
        std::vector<std::string> hops;
        for (auto flow = last; flow != first_.end() && hops.size() <= flows_.size();
             flow = first_.find({c, flows_[flow->second].from}))
          hops.push_back(flows_[flow->second].hop());
        std::reverse(hops.begin(), hops.end());
        text += std::string(text.empty() ? "" : ",") + "\n    \"Demand at " +
                std::to_string(destination.value) + " for chunk " + name(c) + " met by epoch " +
                std::to_string(flows_[last->second].arrival.ps / epoch_) + "\": [";
        for (std::size_t k = 0; k < hops.size(); ++k)
          text += (k == 0 ? "\"" : ", \"") + hops[k] + "\"";
        text += "]";
      }
    }
    return text + (text.empty() ? "" : "\n  ");
  }

  const Plan& plan_;
  const Topology& topology_;
  std::vector<std::size_t> number_;  // of a chunk among those of its origin
  std::int64_t epoch_ = 1;           // ps
  std::vector<Flow> flows_;
  std::map<std::pair<std::size_t, NodeId>, std::size_t> first_;  // the flow that brings it first
};

}  // namespace

std::string format_teccl(const Plan& plan) { return Writer(plan).text(); }

}  // namespace stellwerk
