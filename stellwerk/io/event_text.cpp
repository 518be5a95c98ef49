#include "stellwerk/io/event_text.hpp"

#include <optional>
#include <vector>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

constexpr const char* kForms =
    "link A->B down, link A->B up, link A->B bandwidth 25GB/s, gpu G lost, gpu G back, job FILE "
    "arrives, job NAME leaves";

[[noreturn]] void fail(std::string_view text, const std::string& what) {
  throw Error(ErrorCode::usage, "--event " + in_quotes(text) + ": " + what);
}

NodeId find_node(std::string_view text, const Topology& topology, std::string_view name) {
  if (const auto node = topology.find(name)) return *node;
  std::vector<std::string_view> names;
  for (const Node& node : topology.nodes()) names.push_back(node.name);
  fail(text, "there is no node " + in_quotes(name) + did_you_mean(name, names));
}

LinkId find_link(std::string_view text, const Topology& topology, std::string_view name) {
  if (name.starts_with('#')) {
    const auto position = whole_number<std::size_t>(name.substr(1));
    if (!position || *position >= topology.links().size()) {
      fail(text, "there is no link " + std::string(name) + ": there are " +
                     std::to_string(topology.links().size()) + ", counted from 0");
    }
    return LinkId(*position);
  }
  const std::size_t arrow = name.find("->");
  if (arrow == std::string_view::npos) {
    fail(text, in_quotes(name) + " is no link: name its ends, as in h0.gpu0->h1.gpu1");
  }
  std::string_view head = name.substr(arrow + 2);
  std::size_t which = 1;  // of several parallel ones
  bool numbered = false;
  if (const std::size_t hash = head.rfind('#');
      hash != std::string_view::npos && !topology.find(head)) {
    if (const auto position = whole_number<std::size_t>(head.substr(hash + 1));
        position && *position > 0) {
      which = *position;
      numbered = true;
      head = head.substr(0, hash);
    }
  }
  const NodeId from = find_node(text, topology, name.substr(0, arrow));
  const NodeId to = find_node(text, topology, head);
  std::vector<LinkId> between;
  for (const LinkId id : topology.out(from)) {
    if (topology.link(id).to == to) between.push_back(id);
  }
  if (between.empty()) {
    fail(text, "no link leads from " + topology.node(from).name + " to " + topology.node(to).name);
  }
  if (which > between.size() || (!numbered && between.size() > 1)) {
    fail(text, std::to_string(between.size()) + " links lead from " + topology.node(from).name +
                   " to " + topology.node(to).name + ": say which, as in " +
                   topology.link_name(between.back()));
  }
  return between[which - 1];
}

JobId find_job(std::string_view text, const Problem& problem, std::string_view name) {
  std::vector<std::string_view> names;
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    if (problem.jobs[j].name == name) return JobId(j);
    names.push_back(problem.jobs[j].name);
  }
  fail(text, "there is no job " + in_quotes(name) + did_you_mean(name, names));
}

/// Takes a word off the end of `text`.
std::string_view last_word(std::string_view& text) {
  text = trimmed(text);
  const std::size_t space = text.rfind(' ');
  std::string_view word = space == std::string_view::npos ? text : text.substr(space + 1);
  text = trimmed(space == std::string_view::npos ? std::string_view{} : text.substr(0, space));
  return word;
}

}  // namespace

EventText parse_event(std::string_view text, const Problem& problem) {
  using Kind = Event::Kind;
  std::string_view rest = trimmed(text);
  const std::size_t space = rest.find(' ');
  const std::string_view what = rest.substr(0, space);
  if (space == std::string_view::npos) fail(text, std::string("say one of: ") + kForms);
  rest = trimmed(rest.substr(space));
  EventText result;
  Event& event = result.event;
  std::string_view verb = last_word(rest);
  if (what == "link") {
    if (verb == "down" || verb == "up") {
      event.kind = verb == "down" ? Kind::link_down : Kind::link_up;
    } else {
      const std::string_view bandwidth = verb;
      if (last_word(rest) != "bandwidth") {
        fail(text, "a link goes down, up or to a bandwidth, as in 'link A->B bandwidth 25GB/s'");
      }
      event.kind = Kind::link_bandwidth;
      try {
        event.bandwidth = parse_bandwidth(bandwidth);
      } catch (const Error& error) {
        fail(text, error.what());
      }
    }
    event.link = find_link(text, problem.topology, rest);
    return result;
  }
  if (what == "gpu") {
    if (verb != "lost" && verb != "back") fail(text, "a GPU is lost or back");
    event.kind = verb == "lost" ? Kind::gpu_lost : Kind::gpu_back;
    event.node = find_node(text, problem.topology, rest);
    if (!problem.topology.stores(event.node)) {
      fail(text, in_quotes(rest) + " is a switch: name its links instead");
    }
    return result;
  }
  if (what == "job") {
    if (verb == "arrives") {
      event.kind = Kind::job_arrives;
      result.jobs_file = std::string(rest);
      if (rest.empty()) fail(text, "name the file that describes the job");
      return result;
    }
    if (verb != "leaves") fail(text, "a job (a file) arrives or (a name) leaves");
    event.kind = Kind::job_leaves;
    event.job = find_job(text, problem, rest);
    return result;
  }
  fail(text, std::string("say one of: ") + kForms);
}

}  // namespace stellwerk
