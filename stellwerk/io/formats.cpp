#include "stellwerk/io/formats.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/astra_network.hpp"
#include "stellwerk/io/msccl_xml.hpp"
#include "stellwerk/io/mscclpp_json.hpp"
#include "stellwerk/io/nccl_tests.hpp"
#include "stellwerk/io/nccl_topology.hpp"
#include "stellwerk/io/planner_topologies.hpp"
#include "stellwerk/io/rocm_topology.hpp"
#include "stellwerk/io/sccl_algorithm.hpp"
#include "stellwerk/io/smi_matrix.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

bool has(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

/// Rows that are recognised and no more.
constexpr FormatRow only(std::string_view name, std::string_view summary,
                         bool (*looks_like)(std::string_view), std::string_view remedy = "") {
  return {name, summary, looks_like, nullptr, nullptr, nullptr, remedy};
}

bool begins(std::string_view text, std::string_view what) {
  return has(text.substr(0, 4096), what);
}

/// What a kind is recognised by stands near the beginning; logs may have much before it.
constexpr std::size_t kSignsWithin = std::size_t{4} << 20;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

constexpr std::string_view kComposeRemedy =
    "join machines by it: stellwerk topo compose MACHINE --fabric FILE";

constexpr std::string_view kProgramRemedy =
    "judge it with stellwerk verify, or make a plan of it with stellwerk import";

constexpr std::array kFormats = {
    FormatRow{"nccl-topology", "NCCL or RCCL topology XML (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE)",
              looks_like_nccl_topology, read_nccl_topology, nullptr, nullptr, "", 16 * kMiB},
    FormatRow{"nvidia-smi", "the text of nvidia-smi topo -m", looks_like_smi_matrix,
              read_smi_matrix, nullptr, nullptr, "", 8 * kMiB},
    FormatRow{"rocm-smi", "the text of rocm-smi --showtopo or amd-smi topology",
              looks_like_rocm_topology, read_rocm_topology, nullptr, nullptr, "", 8 * kMiB},
    FormatRow{"ibnetdiscover", "the text of ibnetdiscover", looks_like_ibnetdiscover, nullptr,
              read_ibnetdiscover, nullptr, kComposeRemedy},
    FormatRow{"slurm", "Slurm topology.conf", looks_like_slurm_topology, nullptr,
              read_slurm_topology, nullptr, kComposeRemedy, 32 * kMiB},
    FormatRow{"slurm-yaml", "Slurm topology.yaml", looks_like_slurm_yaml, nullptr, read_slurm_yaml,
              nullptr, kComposeRemedy, 32 * kMiB},
    FormatRow{"topograph", "a model of topograph (YAML)", looks_like_topograph_model, nullptr,
              read_topograph_model, nullptr, kComposeRemedy, 32 * kMiB},
    FormatRow{"topograph-graph", "a graph of topograph (JSON)", looks_like_topograph_graph, nullptr,
              read_topograph_graph, nullptr, kComposeRemedy},
    FormatRow{"astra-network", "an ASTRA-sim analytical network (yml)", looks_like_astra_network,
              nullptr, nullptr, read_astra_network, "", kMiB},
    FormatRow{"teccl-input", "an input of TE-CCL (the network that it names)",
              looks_like_teccl_input, nullptr, nullptr, read_teccl_input, "", kMiB},
    FormatRow{"taccl-topology", "a topology of TACCL (one node of it)", looks_like_taccl_topology,
              nullptr, nullptr, read_taccl_topology, "", 32 * kMiB},
    // Before MSCCL XML: it may carry the XML that it was made from.
    only("chakra", "a Chakra execution trace",
         [](std::string_view text) { return begins(text, "schema") && begins(text, "chakra"); }),
    only("msccl-xml", "an MSCCL algorithm in XML", looks_like_msccl_xml, kProgramRemedy),
    only("nccl-graph", "NCCL graph XML (NCCL_GRAPH_FILE)",
         [](std::string_view text) { return begins(text, "<graphs"); }),
    only(
        "teccl-schedule", "a schedule of TE-CCL",
        [](std::string_view text) { return has(text, "\"7-Flows\""); },
        "read it with stellwerk import"),
    only("taccl-sketch", "a sketch of TACCL",
         [](std::string_view text) { return begins(text, "\"intranode_sketch\""); }),
    only("sccl", "an algorithm of SCCL, msccl-tools or TACCL (JSON)", looks_like_sccl_algorithm,
         "read it with stellwerk import"),
    only("mscclpp", "an MSCCL++ execution plan", looks_like_mscclpp, kProgramRemedy),
    only("nccl-tests", "the output of nccl-tests", looks_like_nccl_tests,
         "fit links to it: stellwerk topo fit LOG --topology T"),
    only("astra-system", "a system or memory file of ASTRA-sim",
         [](std::string_view text) {
           return begins(text, "\"scheduling-policy\"") || begins(text, "\"memory-type\"") ||
                  begins(text, "\"logical-dims\"");
         }),
    only("astra-htsim", "an htsim topology of ASTRA-sim",
         [](std::string_view text) { return begins(text, "Tiers ") && begins(text, "Podsize "); }),
};

/// The row that `format` names or the text looks like; refuses a text that no row of `wanted` reads.
template <class Wanted>
const FormatRow& row_for(std::string_view text, const std::string& file,
                         const std::optional<std::string>& format, const Wanted& wanted,
                         const char* what) {
  const FormatRow* row = format ? &find_format(*format) : recognise(text);
  if (row && wanted(*row)) {
    check_size(*row, text, file);
    return *row;
  }
  std::string list;
  for (const FormatRow& known : kFormats) {
    if (wanted(known)) list += (list.empty() ? "" : ", ") + std::string(known.summary);
  }
  throw Error(ErrorCode::unreadable_input,
              one_line(file) + ": " +
                  (row ? "recognised as " + std::string(row->summary) : "not recognised") +
                  ", but " + what + " is wanted: " + list +
                  (row && !row->remedy.empty() ? "; " + std::string(row->remedy) : ""));
}

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
              "format " + in_quotes(name) + " is none of " + list + did_you_mean(name, names));
}

const FormatRow* recognise(std::string_view text) {
  text = text.substr(0, kSignsWithin);
  for (const FormatRow& row : kFormats) {
    if (row.looks_like(text)) return &row;
  }
  return nullptr;
}

void check_size(const FormatRow& row, std::string_view text, const std::string& file) {
  if (static_cast<std::int64_t>(text.size()) <= row.max_bytes) return;
  throw Error(ErrorCode::unreadable_input,
              one_line(file) + ": too large for " + std::string(row.summary) + ": at most " +
                  std::to_string(row.max_bytes / kMiB) + " MiB are read");
}

Machine read_machine(std::string_view text, const std::string& file,
                     const std::optional<std::string>& format) {
  const FormatRow& row = row_for(
      text, file, format, [](const FormatRow& r) { return r.read_machine != nullptr; },
      "a topology of our own (stellwerk.topology/1) or a machine");
  Machine machine = row.read_machine(text, file);
  machine.name = std::filesystem::path(file).stem().string();
  return machine;
}

ClusterFabric read_fabric(std::string_view text, const std::string& file,
                          const std::optional<std::string>& format) {
  const FormatRow& row = row_for(
      text, file, format, [](const FormatRow& r) { return r.read_fabric != nullptr; },
      "a network between machines");
  ClusterFabric fabric = row.read_fabric(text, file);
  fabric.name = std::filesystem::path(file).filename().string();
  fabric.file = file;
  return fabric;
}

}  // namespace stellwerk
