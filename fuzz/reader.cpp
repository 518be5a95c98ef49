// One libFuzzer target a reader (scripts/fuzz): whatever the text, the reader returns or throws Error with one line.
#include <cstdlib>
#include <string>
#include <string_view>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/msccl_run.hpp"
#include "stellwerk/check/mscclpp_run.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/astra_network.hpp"
#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/fabric.hpp"
#include "stellwerk/io/jobs_file.hpp"
#include "stellwerk/io/link_fit.hpp"
#include "stellwerk/io/machine_topology.hpp"
#include "stellwerk/io/matrix_file.hpp"
#include "stellwerk/io/msccl_xml.hpp"
#include "stellwerk/io/mscclpp_json.hpp"
#include "stellwerk/io/nccl_topology.hpp"
#include "stellwerk/io/online_text.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "stellwerk/io/planner_topologies.hpp"
#include "stellwerk/io/rocm_topology.hpp"
#include "stellwerk/io/sccl_algorithm.hpp"
#include "stellwerk/io/smi_matrix.hpp"
#include "stellwerk/io/teccl_schedule.hpp"
#include "stellwerk/io/topology_file.hpp"
#include "stellwerk/lower/lift.hpp"

namespace stellwerk {
namespace {

[[maybe_unused]] void use(const Machine& machine) {
  machine_topology(filled(machine, "h100"), "f");
}

/// The program on networks with a link between all GPUs, and without.
[[maybe_unused]] void lift(const check::History& history, const std::string& collective) {
  if (history.gpus() > 16 || history.size() > 10'000) return;
  for (const char* network : {"full:", "ring:", "switch:"}) {
    try {
      Topology topology = catalogue_topology(network + std::to_string(history.gpus()));
      const lower::Lifted lifted =
          lower::lift(history, collective, Bytes{1'000'000}, std::move(topology), "f");
      if (!verify_sends(lifted.plan.problem, lifted.plan.sends).valid()) std::abort();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::internal) std::abort();
    }
  }
}

void read(std::string_view text) {
#if defined(FUZZ_NCCL_TOPOLOGY)
  use(read_nccl_topology(text, "f"));
#elif defined(FUZZ_NVIDIA_SMI)
  use(read_smi_matrix(text, "f"));
#elif defined(FUZZ_ROCM_SMI)
  use(read_rocm_topology(text, "f"));
#elif defined(FUZZ_IBNETDISCOVER)
  read_ibnetdiscover(text, "f");
#elif defined(FUZZ_SLURM)
  read_slurm_topology(text, "f");
#elif defined(FUZZ_SLURM_YAML)
  read_slurm_yaml(text, "f");
#elif defined(FUZZ_TOPOGRAPH)
  read_topograph_model(text, "f");
#elif defined(FUZZ_TOPOGRAPH_GRAPH)
  read_topograph_graph(text, "f");
#elif defined(FUZZ_MSCCL_XML)
  const check::MscclProgram program = read_msccl_xml(text, "f");
  // Sizes that fit a test: a few numbers can ask for a gigabyte.
  if (program.chunks > 1000 || program.gpus.size() > 100) return;
  for (const check::MscclGpu& gpu : program.gpus) {
    if (gpu.input > 1000 || gpu.output > 1000 || gpu.scratch > 1000) return;
  }
  for (const check::MscclTarget& target : check::msccl_targets())
    check::msccl_excesses(program, target);
  if (!check::msccl_faults(program).empty()) return;
  check::History history;
  if (check::run_msccl(program, program.in_place, 1, &history).right())
    lift(history, program.collective);
#elif defined(FUZZ_MSCCLPP)
  const check::MscclppProgram program = read_mscclpp(text, "f");
  // As above.
  for (const check::MscclppGpu& gpu : program.gpus) {
    if (gpu.input > 1000 || gpu.output > 1000 || gpu.scratch > 1000) return;
    for (const int value : gpu.semaphores) {
      if (value > 1000) return;
    }
  }
  if (!check::mscclpp_faults(program).empty() || check::mscclpp_unjudged(program)) return;
  check::mscclpp_excesses(program);
  check::mscclpp_traps(program);
  check::History history;
  if (check::run_mscclpp(program, false, &history).right()) lift(history, program.collective);
  check::run_mscclpp(program, true);
#elif defined(FUZZ_TECCL)
  const TecclSchedule schedule = parse_teccl_schedule(text, "f");
  for (const TecclSchedule::Flow& flow : schedule.flows) {
    if (flow.from > 100 || flow.to > 100) return;
    for (const int node : flow.via) {
      if (node > 100) return;
    }
  }
  teccl_plan(schedule, teccl_network(schedule, Bytes{1000}), Bytes{1000}, "f");
#elif defined(FUZZ_SCCL)
  const ScclAlgorithm algorithm = parse_sccl_algorithm(text, "f");
  if (algorithm.ranks > 64) return;
  try {
    sccl_plan(algorithm, catalogue_topology("full:" + std::to_string(algorithm.ranks)), Bytes{1000},
              "f");
  } catch (const Error& error) {
    // An order in which no sender ever holds what it sends is found by the replay.
    if (error.code() != ErrorCode::verification_failed) throw;
  }
#elif defined(FUZZ_TACCL)
  read_taccl_topology(text, "f");
#elif defined(FUZZ_TECCL_INPUT)
  read_teccl_input(text, "f");
#elif defined(FUZZ_ASTRA_NETWORK)
  if (text.size() < 1000) read_astra_network(text, "f");
#elif defined(FUZZ_NCCL_TESTS)
  fit_links(read_nccl_tests(text, "f"), Collective::allreduce, false);
#elif defined(FUZZ_TOPOLOGY)
  parse_topology(text, "f");
#elif defined(FUZZ_PLAN)
  const EventfulPlan plan = parse_eventful_plan(text, "f");
  if (plan.events.empty()) judge(plan);
#elif defined(FUZZ_JOBS)
  static const Topology kRing = catalogue_topology("ring:8");
  parse_jobs(text, "f", kRing);
#elif defined(FUZZ_MATRIX)
  parse_matrix(text, "f");
#elif defined(FUZZ_ONLINE)
  static const OnlineReader kReader(catalogue_topology("ring:8"));
  kReader.parse(text, "f");
#else
#error "name a reader"
#endif
}

}  // namespace
}  // namespace stellwerk

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  try {
    stellwerk::read(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const stellwerk::Error& error) {
    const std::string message = error.what();
    if (message.empty() || message.find('\n') != std::string::npos) std::abort();
  }
  return 0;
}
