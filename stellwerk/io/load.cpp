#include "stellwerk/io/load.hpp"

#include <filesystem>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/formats.hpp"
#include "stellwerk/io/machine_topology.hpp"
#include "stellwerk/io/text.hpp"
#include "stellwerk/io/topology_file.hpp"

namespace stellwerk {
namespace {

bool is_file(const std::string& spec) {
  std::error_code ignored;
  if (!std::filesystem::exists(spec, ignored)) return false;
  if (!std::filesystem::is_directory(spec, ignored)) return true;
  if (is_catalogue_name(spec)) return false;
  throw Error(ErrorCode::unreadable_input, one_line(spec) + ": is a folder: name a topology file");
}

/// A file of our own, or one that nobody knows and that our reader shall complain of.
bool is_own(std::string_view text, const MachineHints& hints) {
  if (hints.format) return false;
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return true;
  const bool json = text[start] == '{' || text[start] == '[';
  return json &&
         (text.substr(0, 4096).find("stellwerk.") != std::string_view::npos || !recognise(text));
}

/// The reader of whole topologies, if the file is of such a kind.
const FormatRow* topology_row(std::string_view text, const MachineHints& hints) {
  const FormatRow* row = hints.format ? &find_format(*hints.format) : recognise(text);
  return row && row->read_topology ? row : nullptr;
}

void check_foreign_size(const std::string& text, const std::string& spec) {
  if (static_cast<std::int64_t>(text.size()) > kMaxForeignBytes) {
    throw Error(ErrorCode::unreadable_input,
                one_line(spec) + ": too large for the description of a machine (more than 64 MiB)");
  }
}

Machine machine_of(const std::string& text, const std::string& spec, const MachineHints& hints) {
  check_foreign_size(text, spec);
  return filled(read_machine(text, spec, hints.format), hints.gpu);
}

}  // namespace

Topology load_topology(const std::string& spec, const MachineHints& hints) {
  if (is_file(spec)) {
    const std::string text = read_file(spec);
    if (is_own(text, hints)) return parse_topology(text, spec);
    if (const FormatRow* row = topology_row(text, hints)) {
      check_size(*row, text, spec);
      return row->read_topology(text, spec);
    }
    return machine_topology(machine_of(text, spec, hints), spec);
  }
  if (is_catalogue_name(spec)) return catalogue_topology(spec);
  std::string names;
  for (const CatalogueRow& row : catalogue()) {
    names += (names.empty() ? "" : ", ") + std::string(row.pattern);
  }
  throw Error(
      ErrorCode::unreadable_input,
      in_quotes(spec) + " is neither a file nor a topology of the catalogue (" + names + ")");
}

std::optional<Machine> load_machine(const std::string& spec, const MachineHints& hints) {
  if (!is_file(spec)) return std::nullopt;
  const std::string text = read_file(spec);
  if (is_own(text, hints) || topology_row(text, hints)) return std::nullopt;
  return machine_of(text, spec, hints);
}

std::optional<ClusterFabric> load_fabric(const std::string& spec, const MachineHints& hints) {
  if (!is_file(spec)) return std::nullopt;
  const std::string text = read_file(spec);
  if (is_own(text, hints)) return std::nullopt;
  const FormatRow* row = hints.format ? &find_format(*hints.format) : recognise(text);
  if (!row || !row->read_fabric) return std::nullopt;
  check_size(*row, text, spec);
  return read_fabric(text, spec, std::string(row->name));
}

}  // namespace stellwerk
