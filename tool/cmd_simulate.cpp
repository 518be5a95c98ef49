// stellwerk simulate: replays a plan as an executor would, on its own network or on a changed one.
#include "stellwerk/check/simulate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/wide.hpp"
#include "stellwerk/check/noise_study.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/core/expansion.hpp"
#include "stellwerk/io/load.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "tool/commands.hpp"
#include "tool/noise_options.hpp"
#include "tool/parse.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  std::string plan;
  std::optional<std::string> topology, latency, bandwidth;
  NoiseOptions noise;
};

/// value * factor, rounded to the nearest integer.
std::int64_t scaled(std::int64_t value, Factor factor) {
  const Int128 product = static_cast<Int128>(value) * factor.numerator;
  const Int128 result = (product + factor.denominator / 2) / factor.denominator;
  if (result > std::numeric_limits<std::int64_t>::max()) {
    throw Error(ErrorCode::usage,
                "the factors make a link's latency or bandwidth too large to count");
  }
  return static_cast<std::int64_t>(result);
}

/// Throws Error(unreadable_input) unless the plan's sends make sense on `network`.
void check_same_shape(const Topology& own, const Topology& network, const std::string& path) {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::unreadable_input,
                path + ": " + what +
                    ": the nodes and links must be those of the plan's own topology '" +
                    own.name() + "'");
  };
  if (own.nodes().size() != network.nodes().size()) {
    refuse(fmt::format("has {} nodes instead of {}", network.nodes().size(), own.nodes().size()));
  }
  if (own.links().size() != network.links().size()) {
    refuse(fmt::format("has {} links instead of {}", network.links().size(), own.links().size()));
  }
  for (const NodeId node : own.node_ids()) {
    if (own.node(node).name != network.node(node).name ||
        own.node(node).kind != network.node(node).kind) {
      refuse(fmt::format("node {} is '{}' instead of '{}'", node.value, network.node(node).name,
                         own.node(node).name));
    }
  }
  for (const LinkId link : own.link_ids()) {
    if (own.link_name(link) != network.link_name(link)) {
      refuse(fmt::format("link {} is {} instead of {}", link.value, network.link_name(link),
                         own.link_name(link)));
    }
  }
}

Topology scaled_network(const Topology& base, Factor latency, Factor bandwidth) {
  IdVector<LinkId, Link> links = base.links();
  for (Link& link : links) {
    link.latency.ps = scaled(link.latency.ps, latency);
    link.bandwidth.bytes_per_second =
        std::max<std::int64_t>(1, scaled(link.bandwidth.bytes_per_second, bandwidth));
  }
  return Topology(base.name(), base.note(), base.nodes(), std::move(links));
}

std::string change_text(Time promised, Time replayed) {
  if (promised.ps == 0) return "";
  return fmt::format("{:+.2f}%", 100 * (replayed.seconds() / promised.seconds() - 1));
}

/// The plan under noise, on the network on which `replayed` was timed.
void add_noise(const Options& options, const Plan& plan, Schedule replayed, const Topology& network,
               Table& table) {
  const NoiseStudy study = noise_study(options.noise, std::nullopt);
  Problem problem = plan.problem;
  problem.topology = network;
  Executor executor(problem, replayed);
  const NoiseResult result = run_study(problem, executor, study, StopCondition());
  const Time promised = plan.result.transfer_time;
  for (const Quantile quantile : {Quantile::p50, Quantile::p99, Quantile::worst}) {
    const Time time = at(result.all, quantile);
    table.add({std::string(to_string(quantile)) + " with noise", to_string(promised),
               to_string(time), change_text(promised, time)});
  }
  for (std::size_t j = 0; j < problem.jobs.size() && problem.jobs.size() > 1; ++j) {
    table.add({"p99 of job '" + problem.jobs[j].name + "'", to_string(plan.result.job_finish[j]),
               to_string(result.jobs[j].p99),
               change_text(plan.result.job_finish[j], result.jobs[j].p99)});
  }
}

int run(const Options& options) {
  if (!options.noise.given()) noise_study(options.noise, std::nullopt);  // refuses what needs noise
  const Factor latency = options.latency ? parse_factor("--latency", *options.latency) : Factor{};
  const Factor bandwidth =
      options.bandwidth ? parse_factor("--bandwidth", *options.bandwidth) : Factor{};
  Plan plan = read_plan(options.plan);
  const Verdict verdict = verify(plan);
  if (!verdict.valid()) {
    throw Error(ErrorCode::verification_failed,
                options.plan + ": not valid, so there is nothing to replay: " +
                    to_string(*verdict.violation) + ": " + verdict.message);
  }
  expand(plan);  // other latencies and bandwidths may break the symmetry
  Topology network = plan.problem.topology;
  if (options.topology) {
    network = load_topology(*options.topology);
    check_same_shape(plan.problem.topology, network, *options.topology);
  }
  network = scaled_network(network, latency, bandwidth);
  const Simulation simulation = simulate(plan.problem, plan.sends, {&network});

  Table table;
  table.add({"", "promised", "replayed", "change"});
  table.add({"transfer time", to_string(plan.result.transfer_time),
             to_string(simulation.transfer_time),
             change_text(plan.result.transfer_time, simulation.transfer_time)});
  for (std::size_t j = 0; j < plan.problem.jobs.size() && plan.problem.jobs.size() > 1; ++j) {
    table.add({"job '" + plan.problem.jobs[j].name + "'", to_string(verdict.job_finish[j]),
               to_string(simulation.job_finish[j]),
               change_text(verdict.job_finish[j], simulation.job_finish[j])});
  }
  if (options.noise.given()) add_noise(options, plan, simulation.sends, network, table);
  fmt::print("{}", table.text());
  return 0;
}

}  // namespace

RunCommand declare_simulate(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.operand({"PLAN", "", "a plan file", "stellwerk simulate plan.json"}, options->plan);
  arguments.value(
      {"-t,--topology", "T", "latencies and bandwidths from here (same nodes and links)",
       "--topology measured.json"},
      options->topology);
  arguments.value({"--latency", "xF", "multiply every latency", "--latency x1.1"},
                  options->latency);
  arguments.value({"--bandwidth", "xF", "multiply every bandwidth", "--bandwidth x0.9"},
                  options->bandwidth);
  declare(arguments, options->noise, true);
  return [options] { return run(*options); };
}

}  // namespace stellwerk::tool
