// Which kind of file a text is: the table that the command line, the documents and the tests read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "stellwerk/core/topology.hpp"
#include "stellwerk/io/fabric.hpp"
#include "stellwerk/io/machine.hpp"

namespace stellwerk {

/// Foreign files that are larger are refused: 64 MiB.
inline constexpr std::int64_t kMaxForeignBytes = std::int64_t{64} << 20;

/// A kind of file that is not Stellwerk's own.
struct FormatRow {
  std::string_view name;     ///< for --format
  std::string_view summary;  ///< what it is and where it comes from
  bool (*looks_like)(std::string_view text);
  Machine (*read_machine)(std::string_view text, const std::string& file);       ///< or nullptr
  ClusterFabric (*read_fabric)(std::string_view text, const std::string& file);  ///< or nullptr
  Topology (*read_topology)(std::string_view text, const std::string& file);     ///< or nullptr
  std::string_view remedy;  ///< of what is not read here: what to do with it; may be empty
  /// Larger ones are refused. Of what describes one machine this is well above what its most devices take.
  std::int64_t max_bytes = kMaxForeignBytes;
};

/// In the order in which they are tried.
std::span<const FormatRow> formats();

/// The row of this name; Error(usage) with the names there are if there is none.
const FormatRow& find_format(std::string_view name);

/// The first row that the text looks like; nullptr if there is none.
const FormatRow* recognise(std::string_view text);

/// Refuses a text that is larger than files of its kind are.
void check_size(const FormatRow& row, std::string_view text, const std::string& file);

/// Reads a machine. `format` names the kind; without it the text decides. Throws Error(unreadable_input) that begins with
/// `file`, also for kinds that are recognised but not read.
Machine read_machine(std::string_view text, const std::string& file,
                     const std::optional<std::string>& format);
/// The same for a network between machines.
ClusterFabric read_fabric(std::string_view text, const std::string& file,
                          const std::optional<std::string>& format);

}  // namespace stellwerk
