// Topologies by name: "ndv2:2", "torus:4x4x4,latency=1us", "rail:16x8,degrade=2".
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "stellwerk/core/topology.hpp"

namespace stellwerk {

/// One family of names, for help texts and documents.
struct CatalogueRow {
  std::string_view family;   ///< what a name begins with
  std::string_view pattern;  ///< "torus:AxB[xC]"
  std::string_view options;  ///< what may follow after commas; empty: nothing of its own
  std::string_view summary;
};

std::span<const CatalogueRow> catalogue();

/// What every name takes, in the form of CatalogueRow::options.
std::string_view catalogue_common_options();

/// Does `name` begin with a family of the catalogue?
bool is_catalogue_name(std::string_view name);

/// Throws Error(usage): an unknown family (the message lists them), a bad shape or option (named),
/// more than a million nodes.
Topology catalogue_topology(std::string_view name);

}  // namespace stellwerk
