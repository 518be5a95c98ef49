// stellwerk topo compose: copies of a machine and a network between them.
#include <fmt/core.h>

#include <filesystem>
#include <memory>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/compose.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/formats.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/io/machine_topology.hpp"
#include "stellwerk/io/text.hpp"
#include "stellwerk/io/topology_file.hpp"
#include "tool/commands.hpp"
#include "tool/parse.hpp"
#include "tool/problem_options.hpp"

namespace stellwerk::tool {
namespace {

struct ComposeOptions {
  std::string machine;
  MachineHints hints;
  std::optional<std::string> fabric, fabric_format, count, hosts, nic_speed, uplink_speed, output;
};

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::usage, message); }

ClusterFabric stated_fabric(const ComposeOptions& options, const Machine& machine,
                            std::size_t count) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(*options.fabric, ignored)) {
    return read_fabric(read_file(*options.fabric, kMaxForeignBytes), *options.fabric,
                       options.fabric_format);
  }
  if (count == 0)
    refuse("--count is missing: how many machines does --fabric " + *options.fabric + " join?");
  return generated_fabric(*options.fabric, machine, count);
}

int compose(const ComposeOptions& options) {
  if (!options.fabric)
    refuse("--fabric is missing: 'rails', 'switch', or a file (ibnetdiscover, Slurm, topograph)");
  const auto machine = load_machine(options.machine, options.hints);
  if (!machine) {
    std::error_code ignored;
    if (!std::filesystem::exists(options.machine, ignored))
      throw Error(ErrorCode::unreadable_input,
                  in_quotes(options.machine) + " is no file: compose joins copies of a machine " +
                      "from its file, not topologies of the catalogue");
    throw Error(ErrorCode::unreadable_input,
                one_line(options.machine) + ": not the file of a machine (NCCL topology XML, " +
                    "nvidia-smi topo -m, rocm-smi)");
  }
  if (machine->count(Device::Kind::nic) == 0)
    throw Error(ErrorCode::unreadable_input,
                one_line(options.machine) + ": there is no NIC in it that a network could be " +
                    "plugged into: take a file that names the NICs (NCCL_TOPO_DUMP_FILE " +
                    "of NCCL or RCCL, nvidia-smi topo -m)");
  NetworkRates rates;
  if (options.nic_speed) rates.nic = parse_bandwidth_option("--nic-speed", *options.nic_speed);
  if (options.uplink_speed)
    rates.uplink = parse_bandwidth_option("--uplink-speed", *options.uplink_speed);
  const std::size_t count =
      options.count ? static_cast<std::size_t>(parse_integer("--count", *options.count, 1, 65'536))
                    : 0;
  const ClusterFabric fabric = stated_fabric(options, *machine, count);
  std::vector<std::string> hosts;
  if (options.hosts) {
    auto list = expand_hostlist(*options.hosts);
    if (!list) refuse("--hosts '" + *options.hosts + "' is not a list like node[001-004],login1");
    hosts = *std::move(list);
    if (count > 0 && hosts.size() != count) {
      refuse("--count " + *options.count + " disagrees with --hosts, which names " +
             std::to_string(hosts.size()) + ": leave one of them out");
    }
  } else if (count > 0) {
    hosts = fabric.hosts();
    if (hosts.size() < count) {
      refuse("--count " + *options.count + ": " + one_line(*options.fabric) + " has only " +
             std::to_string(hosts.size()) + (hosts.size() == 1 ? " host" : " hosts"));
    }
    hosts.resize(count);
  }
  const Machine cluster = composed(*machine, fabric, hosts, rates);
  const Topology topology = machine_topology(cluster, options.machine);
  for (const std::string& note : cluster.notes)
    fmt::print(stderr, "stellwerk: note: {}\n", one_line(note));
  if (options.output) {
    write_topology(topology, *options.output);
    fmt::print(stderr, "stellwerk: {} GPUs, {} nodes and {} links in all: {}\n",
               topology.gpus().size(), topology.nodes().size(), topology.links().size(),
               *options.output);
  } else {
    fmt::print("{}", format_topology(topology));
  }
  return 0;
}

}  // namespace

RunCommand declare_topo_compose(Arguments& arguments) {
  const auto options = std::make_shared<ComposeOptions>();
  arguments.operand(
      {"MACHINE", "", "the file of one machine (NCCL topology XML, nvidia-smi topo -m, rocm-smi)",
       "stellwerk topo compose ndv5-topo.xml --gpu h100 --count 2 --fabric rails --nic-speed "
       "400Gbps"},
      options->machine);
  declare(arguments, options->hints);
  arguments.value(
      {"--fabric", "F",
       "what joins the machines: 'rails' (a switch for all first NICs, one for all second, "
       "...), 'switch' (one for all), or a file: ibnetdiscover, Slurm topology.conf or "
       "topology.yaml, topograph model or graph",
       "--fabric ibnetdiscover.txt"},
      options->fabric);
  arguments.value({"--fabric-format", "NAME",
                   "kind of the fabric's file, where it is not recognised: ibnetdiscover, slurm, "
                   "slurm-yaml, topograph, topograph-graph",
                   "--fabric-format slurm-yaml"},
                  options->fabric_format);
  arguments.value({"--count", "N", "how many machines (of a file: the first N)", "--count 4"},
                  options->count);
  arguments.value(
      {"--hosts", "LIST", "which hosts of the file, in Slurm's notation", "--hosts node[001-004]"},
      options->hosts);
  arguments.value({"--nic-speed", "RATE", "of a NIC, where no file says it", "--nic-speed 400Gbps"},
                  options->nic_speed);
  arguments.value({"--uplink-speed", "RATE", "of a cable between switches, where no file says it",
                   "--uplink-speed 800Gbps"},
                  options->uplink_speed);
  arguments.value(
      {"-o,--output", "FILE", "write to a file (.zst: compressed) instead of standard output",
       "-o cluster.json"},
      options->output);
  return [options] { return compose(*options); };
}

}  // namespace stellwerk::tool
