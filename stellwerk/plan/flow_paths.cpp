// Flow decomposition.
//
// Without time: walk from a node with supply over links with flow left until a sink with unmet
// demand, take off the smallest amount on the way, repeat. The flow has no cycles (it is of least
// work), so every walk ends, after at most |links| + |sinks| walks.
//
// With epochs: parcels wait at nodes, first in, first out. Epoch by epoch every flow takes the
// oldest parcels at its tail, which gain one link and arrive at the head when the clock says so.
// Storing nodes send before switches, because a switch passes on in the epoch of arrival. What is
// left in the end lies at the sinks.
//
// Held to its word by: plan/lp_planner_test.cpp (amounts add up; integral flows give optimal
// plans).
#include "stellwerk/plan/flow_paths.hpp"

#include <algorithm>
#include <deque>
#include <map>

namespace stellwerk {
namespace {

// Amounts below this part of the commodity are the solver's noise.
constexpr double kNoise = 1e-7;

struct Parcel {
  FlowPath path;
  double bytes = 0;
};

class Warehouse {
 public:
  Warehouse(const Topology& topology, const Commodity& commodity, const FlowClock& clock)
      : topology_(topology),
        clock_(clock),
        noise_(kNoise * static_cast<double>(commodity.bytes.value)) {
    waiting_.resize(topology.nodes().size());
    unlimited_.assign(topology.nodes().size(), 0);
    for (const Commodity::Supply& supply : commodity.supplies) {
      for (const NodeId node : supply.nodes) {
        if (supply.nodes.size() > 1) {
          unlimited_[node] = 1;  // how much each of them gives is for the flow to say
        } else {
          arrivals_[clock.from(supply.ready)].push_back(
              {node, fresh(node, static_cast<double>(supply.bytes.value))});
        }
      }
    }
  }

  void run(const std::vector<EpochFlow>& flow) {
    std::size_t i = 0;
    while (i < flow.size()) {
      std::size_t end = i;
      while (end < flow.size() && flow[end].epoch == flow[i].epoch) ++end;
      receive_until(flow[i].epoch);
      for (std::size_t k = i; k < end; ++k) {
        if (topology_.stores(topology_.link(flow[k].link).from)) send(flow[k]);
      }
      receive_until(flow[i].epoch);
      for (std::size_t k = i; k < end; ++k) {
        if (!topology_.stores(topology_.link(flow[k].link).from)) send(flow[k]);
      }
      i = end;
    }
    receive_until(FlowReach::kNever);
  }

  std::vector<FlowPath> delivered(const Commodity& commodity) {
    std::vector<FlowPath> result;
    for (const Commodity::Sink& sink : commodity.sinks) {
      for (Parcel& parcel : waiting_[sink.node]) {
        if (parcel.bytes <= noise_ || parcel.path.links.empty()) continue;
        parcel.path.target = sink.node;
        parcel.path.bytes = parcel.bytes;
        result.push_back(std::move(parcel.path));
      }
    }
    return result;
  }

 private:
  static Parcel fresh(NodeId source, double bytes) { return {{source, {}, {}, 0, {}}, bytes}; }

  void receive_until(std::int64_t epoch) {
    while (!arrivals_.empty() && arrivals_.begin()->first <= epoch) {
      for (auto& [node, parcel] : arrivals_.begin()->second) {
        waiting_[node].push_back(std::move(parcel));
      }
      arrivals_.erase(arrivals_.begin());
    }
  }

  void send(const EpochFlow& flow) {
    const Link& link = topology_.link(flow.link);
    auto& queue = waiting_[link.from];
    double left = flow.bytes;
    while (left > noise_) {
      if (queue.empty()) {
        if (unlimited_[link.from] == 0) return;
        queue.push_back(fresh(link.from, left));
      }
      Parcel part = queue.front();
      if (part.bytes > left + noise_) {
        queue.front().bytes -= left;
        part.bytes = left;
      } else {
        queue.pop_front();
      }
      left -= part.bytes;
      part.path.links.push_back(flow.link);
      part.path.epochs.push_back(flow.epoch);
      arrivals_[flow.epoch + clock_.length[flow.link]].push_back({link.to, std::move(part)});
    }
  }

  const Topology& topology_;
  const FlowClock& clock_;
  double noise_;
  IdVector<NodeId, std::deque<Parcel>> waiting_;
  IdVector<NodeId, char> unlimited_;
  std::map<std::int64_t, std::vector<std::pair<NodeId, Parcel>>> arrivals_;
};

}  // namespace

std::vector<FlowPath> flow_paths(const Topology& topology, const Commodity& commodity,
                                 const LinkFlow& flow) {
  const double noise = kNoise * static_cast<double>(commodity.bytes.value);
  LinkFlow left = flow;
  IdVector<NodeId, double> wanted(topology.nodes().size(), 0.0);
  for (const Commodity::Sink& sink : commodity.sinks) {
    wanted[sink.node] += static_cast<double>(sink.bytes.value);
  }
  std::vector<FlowPath> result;
  for (const Commodity::Supply& supply : commodity.supplies) {
    double supplied = static_cast<double>(supply.bytes.value);
    for (const NodeId source : supply.nodes) {
      while (supplied > noise) {
        FlowPath path{source, source, {}, supplied, {}};
        // Pass through a sink that wants data only when nothing else is left to do.
        while (wanted[path.target] <= noise) {
          LinkId best;
          for (const LinkId id : topology.out(path.target)) {
            if (left[id] > noise && (!best.valid() || left[id] > left[best])) best = id;
          }
          if (!best.valid() || path.links.size() > topology.links().size()) break;
          path.links.push_back(best);
          path.bytes = std::min(path.bytes, left[best]);
          path.target = topology.link(best).to;
        }
        if (path.links.empty() || wanted[path.target] <= noise) {
          // A dead end is noise that the solver left, or (several sources) another one has to give
          // the rest.
          if (path.links.empty()) break;
          left[path.links.back()] = 0;
          continue;
        }
        path.bytes = std::min(path.bytes, wanted[path.target]);
        for (const LinkId id : path.links) left[id] -= path.bytes;
        wanted[path.target] -= path.bytes;
        supplied -= path.bytes;
        result.push_back(std::move(path));
      }
    }
  }
  return result;
}

std::vector<FlowPath> flow_paths(const Topology& topology, const Commodity& commodity,
                                 const std::vector<EpochFlow>& flow, const FlowClock& clock) {
  Warehouse warehouse(topology, commodity, clock);
  warehouse.run(flow);
  return warehouse.delivered(commodity);
}

}  // namespace stellwerk
