#include "stellwerk/io/load.hpp"

#include <filesystem>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/text.hpp"
#include "stellwerk/io/topology_file.hpp"

namespace stellwerk {

Topology load_topology(const std::string& spec) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(spec, ignored);
  const bool folder = std::filesystem::is_directory(spec, ignored);
  if (exists && !(folder && is_catalogue_name(spec))) {
    if (folder) {
      throw Error(ErrorCode::unreadable_input,
                  one_line(spec) + ": is a folder: name a topology file");
    }
    return read_topology(spec);
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

}  // namespace stellwerk
