// What a file says about the network between machines: switches, the cables between them, and which port of
// which machine is plugged in where.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/base/units.hpp"

namespace stellwerk {

struct ClusterFabric {
  struct Switch {
    std::string name;  ///< unique
    std::string id;    ///< GUID, or the name in the file
  };
  /// The same in both directions; parallel ones are one entry each.
  struct Cable {
    std::size_t a = 0, b = 0;  ///< positions in `switches`
    std::optional<Bandwidth> bandwidth;
    std::string source;
  };
  /// Where a NIC of a machine is plugged in.
  struct Port {
    std::string host;
    std::string
        nic;  ///< "mlx5_5"; empty if the file knows machines only: then all of its NICs are meant
    std::size_t at = 0;  ///< position in `switches`
    std::optional<Bandwidth> bandwidth;
    std::string source;
  };

  std::string name;
  std::string file;  ///< as the user named it, for messages; empty if there is none
  std::string format;
  std::vector<Switch> switches;
  std::vector<Cable> cables;
  std::vector<Port> ports;
  std::vector<std::string> notes;

  /// Machines in the order in which the file names them.
  std::vector<std::string> hosts() const;
};

/// "n[1-4,07-09],login" -> n1, n2, n3, n4, n07, n08, n09, login: Slurm's lists of hosts. Nothing if the text is none
/// or names more than `most`.
std::optional<std::vector<std::string>> expand_hostlist(std::string_view text,
                                                        std::size_t most = 1 << 20);

bool looks_like_ibnetdiscover(std::string_view text);
/// ibnetdiscover's text. Rates follow from width and speed ("4xNDR"). Throws Error(unreadable_input) that begins with
/// `file` and the line: cables that lead nowhere, ports that are there twice, ends that disagree.
ClusterFabric read_ibnetdiscover(std::string_view text, const std::string& file);

bool looks_like_slurm_topology(std::string_view text);
/// Slurm's topology.conf: a tree of switches, or blocks (each a switch below one more). It has no rates. Throws
/// Error(unreadable_input) that begins with `file` and the line.
ClusterFabric read_slurm_topology(std::string_view text, const std::string& file);

bool looks_like_slurm_yaml(std::string_view text);
/// Slurm's topology.yaml: trees and blocks, as above; "flat" is refused, since it says nothing.
ClusterFabric read_slurm_yaml(std::string_view text, const std::string& file);

bool looks_like_topograph_model(std::string_view text);
/// A model of topograph (YAML): switches, and blocks of nodes. It has no rates. Errors as above.
ClusterFabric read_topograph_model(std::string_view text, const std::string& file);

bool looks_like_topograph_graph(std::string_view text);
/// What topograph exports as JSON: instances with the switches above them. Errors name a JSON pointer.
ClusterFabric read_topograph_graph(std::string_view text, const std::string& file);

}  // namespace stellwerk
