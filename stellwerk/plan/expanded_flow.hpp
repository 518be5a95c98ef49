// The time-expanded flow LP: how much of each commodity enters each link in each epoch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stellwerk/base/stop.hpp"
#include "stellwerk/lp/model.hpp"
#include "stellwerk/plan/commodity.hpp"
#include "stellwerk/plan/epoch_grid.hpp"
#include "stellwerk/plan/flow_reach.hpp"

namespace stellwerk {

/// What enters a link in an epoch.
struct EpochFlow {
  LinkId link;
  int epoch;
  double bytes;
};

struct ExpandedFlow {
  std::vector<std::vector<EpochFlow>> flows;  ///< one list a commodity, by epoch, then link
};

/// About how many variables the model for one horizon has.
std::int64_t count_columns(const Problem& problem, const std::vector<Commodity>& commodities,
                           const EpochGrid& grid, std::int64_t epochs);

/// The model for one horizon; see expanded_flow.cpp.
class ExpandedModel {
 public:
  /// `store` false: nodes other than a commodity's sources pass on in the epoch of arrival, or keep
  /// for good.
  ExpandedModel(const Problem& problem, const std::vector<Commodity>& commodities,
                const EpochGrid& grid, int epochs, bool store);

  /// False: some sink is too far off for the horizon; the model is then not built.
  bool reachable() const { return reachable_; }
  const lp::Model& model() const { return model_; }
  ExpandedFlow flow(const std::vector<double>& values) const;

 private:
  struct Column {
    std::size_t commodity;
    LinkId link;
    int epoch;
  };

  void add_commodity(std::size_t c, const FlowReach& reach, bool store);
  void add_capacities(const EpochGrid& grid);

  const Topology& topology_;
  const std::vector<Commodity>& commodities_;
  FlowClock clock_;
  int epochs_;
  double unit_;  ///< bytes
  bool reachable_ = true;
  lp::Model model_;
  std::vector<Column> column_;  ///< of each variable that is a flow
  std::vector<lp::Variable> variable_;
  IdVector<LinkId, std::vector<std::vector<lp::Variable>>> entering_;  ///< [link][epoch]
  IdVector<NodeId, std::vector<std::vector<lp::Variable>>>
      in_transit_;  ///< [node][epoch], where a buffer limits it
};

}  // namespace stellwerk
