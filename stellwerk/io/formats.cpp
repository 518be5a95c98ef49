#include "stellwerk/io/formats.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/nccl_topology.hpp"
#include "stellwerk/io/rocm_topology.hpp"
#include "stellwerk/io/smi_matrix.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

bool has(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

constexpr std::array kFormats = {
    FormatRow{"nccl-topology", "NCCL or RCCL topology XML (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE)",
              looks_like_nccl_topology, read_nccl_topology},
    FormatRow{"nvidia-smi", "the text of nvidia-smi topo -m", looks_like_smi_matrix,
              read_smi_matrix},
    FormatRow{"rocm-smi", "the text of rocm-smi --showtopo or amd-smi topology",
              looks_like_rocm_topology, read_rocm_topology},
    FormatRow{"ibnetdiscover", "the text of ibnetdiscover",
              [](std::string_view text) {
                return has(text, "\nSwitch\t") ||
                       (has(text, "vendid=") && has(text, "switchguid="));
              },
              nullptr},
    FormatRow{
        "slurm", "Slurm topology.conf",
        [](std::string_view text) { return has(text, "SwitchName=") || has(text, "BlockName="); },
        nullptr},
    FormatRow{"msccl-xml", "an MSCCL algorithm in XML",
              [](std::string_view text) { return has(text.substr(0, 4096), "<algo"); }, nullptr},
    FormatRow{"nccl-graph", "NCCL graph XML (NCCL_GRAPH_FILE)",
              [](std::string_view text) { return has(text.substr(0, 4096), "<graphs"); }, nullptr},
};

}  // namespace

std::span<const FormatRow> formats() { return kFormats; }

const FormatRow& find_format(std::string_view name) {
  std::vector<std::string_view> names;
  std::string list;
  for (const FormatRow& row : kFormats) {
    if (row.name == name) return row;
    names.push_back(row.name);
    list += (list.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error(ErrorCode::usage,
              "--format " + in_quotes(name) + " is none of " + list + did_you_mean(name, names));
}

const FormatRow* recognise(std::string_view text) {
  for (const FormatRow& row : kFormats) {
    if (row.looks_like(text)) return &row;
  }
  return nullptr;
}

Machine read_machine(std::string_view text, const std::string& file,
                     const std::optional<std::string>& format) {
  const FormatRow* row = format ? &find_format(*format) : recognise(text);
  if (!row) {
    std::string list;
    for (const FormatRow& known : kFormats) {
      if (known.read) list += (list.empty() ? "" : ", ") + std::string(known.summary);
    }
    throw Error(ErrorCode::unreadable_input,
                one_line(file) + ": neither a stellwerk.topology/1 file nor any of: " + list);
  }
  if (!row->read) {
    throw Error(ErrorCode::unreadable_input,
                one_line(file) + ": recognised as " + std::string(row->summary) +
                    ", which does not describe a machine that can be planned for");
  }
  Machine machine = row->read(text, file);
  machine.name = std::filesystem::path(file).stem().string();
  return machine;
}

}  // namespace stellwerk
