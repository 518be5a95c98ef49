#include "stellwerk/check/flights.hpp"

#include <algorithm>
#include <map>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/wide.hpp"

namespace stellwerk::check {
namespace {

constexpr const char* kTooLate = "it ends more than 26 days after the start of the plan";

/// ceil(bytes * 10^12 / rate) ps, or kHorizon where that is longer.
std::int64_t duration_of(std::int64_t bytes, std::int64_t rate) {
  constexpr std::int64_t kPicoseconds = 1'000'000'000'000;
  if (bytes < std::int64_t{1} << 23) {  // the product fits into 64 bits: a cheaper division
    const auto product = static_cast<std::uint64_t>(bytes) * kPicoseconds;
    const auto divisor = static_cast<std::uint64_t>(rate);
    const std::uint64_t quotient = product / divisor + (product % divisor != 0 ? 1 : 0);
    return static_cast<std::int64_t>(std::min<std::uint64_t>(quotient, kHorizon));
  }
  const Int128 product = static_cast<Int128>(bytes) * kPicoseconds;
  return static_cast<std::int64_t>(
      std::min<Int128>((product + rate - 1) / rate, static_cast<Int128>(kHorizon)));
}

}  // namespace

Judgement Flights::malformed(std::uint32_t id, const std::string& what) const {
  const Names names(problem_);
  return found(Violation::malformed_send,
               "send " + std::to_string(id) + ", " + names.send(sends_[id]) + ": " + what);
}

Flights::Mark& Flights::mark(std::uint32_t id, NodeId node) {
  Mark& mark = marks_[node];
  if (mark.send != id) mark = Mark{id, 0, 0, 0};
  return mark;
}

Judgement Flights::build() {
  if (sends_.size() >= UINT32_MAX) {
    throw Error(ErrorCode::unsolved, "a plan of " + std::to_string(sends_.size()) +
                                         " sends is too large to verify (limit 4294967294)");
  }
  std::size_t uses = 0;
  for (const Send& send : sends_) uses += send.links.size();
  if (uses >= UINT32_MAX) {
    throw Error(ErrorCode::unsolved, "a plan that uses links " + std::to_string(uses) +
                                         " times is too large to verify (limit 4294967294)");
  }
  if (problem_.relays == Relays::members) {
    members_.assign(problem_.jobs.size(), std::vector<bool>(problem_.topology.nodes().size()));
    for (std::size_t j = 0; j < problem_.jobs.size(); ++j) {
      for (const NodeId node : problem_.jobs[j].ranks) members_[j][node.index()] = true;
    }
  }
  marks_.assign(problem_.topology.nodes().size(), Mark{});
  durations_.resize(sends_.size());
  first_use_.reserve(sends_.size() + 1);
  uses_.reserve(uses);
  first_use_.push_back(0);
  for (std::uint32_t id = 0; id < sends_.size(); ++id) {
    if (auto finding = check_numbers(id)) return finding;
    if (auto finding = lay(id)) return finding;
    if (!changes_.none()) find_losses(id);
    first_use_.push_back(static_cast<std::uint32_t>(uses_.size()));
  }
  return {};
}

Judgement Flights::check_numbers(std::uint32_t id) {
  const Send& send = sends_[id];
  const auto bare = [&](const std::string& what) {  // where the chunk or link cannot be named
    return found(Violation::malformed_send, "send " + std::to_string(id) + ": " + what);
  };
  if (!send.chunk.valid() || send.chunk.index() >= problem_.chunks.size()) {
    return bare("there is no chunk " + std::to_string(send.chunk.value));
  }
  if (send.links.empty()) return bare("it uses no link");
  const auto& links = problem_.topology.links();
  for (const LinkId link : send.links) {
    if (!link.valid() || link.index() >= links.size()) {
      return bare("there is no link " + std::to_string(link.value));
    }
  }
  const Chunk& chunk = problem_.chunks[send.chunk];
  if (send.op != Op::copy && send.op != Op::reduce && send.op != Op::share) {
    return malformed(id, "unknown op");
  }
  if (send.op != Op::copy && !chunk.is_reduction()) {
    return malformed(id, "op " + std::string(to_string(send.op)) + " on a chunk that is no sum");
  }
  if (send.bytes.value <= 0 || send.offset.value < 0 ||
      send.offset.value > chunk.bytes.value - send.bytes.value) {
    return malformed(id, "bytes " + std::to_string(send.offset.value) + " + " +
                             std::to_string(send.bytes.value) + " are no range of a chunk of " +
                             std::to_string(chunk.bytes.value));
  }
  if (send.start.ps < 0) return malformed(id, "it starts before 0");
  if (send.start.ps > kHorizon) return malformed(id, kTooLate);
  if (send.rate.bytes_per_second <= 0) return malformed(id, "its rate is not positive");
  for (const LinkId link : send.links) {
    const Bandwidth most = changes_.none() ? links[link].bandwidth : Bandwidth{changes_.most(link)};
    if (send.rate > most) {
      const Names names(problem_);
      return found(Violation::link_capacity, "send " + std::to_string(id) + ", " +
                                                 names.send(send) + ": its rate of " +
                                                 to_string(send.rate) + " is more than the " +
                                                 to_string(most) + " of " + names.link(link));
    }
  }
  durations_[id] = duration_of(send.bytes.value, send.rate.bytes_per_second);
  return {};
}

Judgement Flights::lay(std::uint32_t id) {
  const Send& send = sends_[id];
  const Topology& topology = problem_.topology;
  const std::size_t first = uses_.size();
  if (send.links.size() == 1) {  // by far the most frequent
    const Link& link = topology.link(send.links.front());
    if (!topology.stores(link.from)) {
      return malformed(id, "it starts at " + topology.node(link.from).name + ", which is a switch");
    }
    if (!topology.stores(link.to)) {
      return malformed(id, "it ends at " + topology.node(link.to).name + ", which is a switch");
    }
    if (auto finding = check_receiver(id, link.to)) return finding;
    uses_.push_back({send.start.ps, send.links.front(), id});
  } else {
    const NodeId source = topology.link(send.links.front()).from;
    if (!topology.stores(source)) {
      return malformed(id, "it starts at " + topology.node(source).name + ", which is a switch");
    }
    // A second source makes it an in-tree.
    bool several = false;
    for (const LinkId link : send.links) {
      const NodeId tail = topology.link(link).from;
      several = several || (topology.stores(tail) && tail != source);
    }
    auto finding = several && send.op != Op::copy ? lay_in_tree(id) : lay_out_tree(id);
    if (finding) return finding;
  }
  for (std::size_t u = first; u < uses_.size(); ++u) {
    const Use& use = uses_[u];
    if (use.begin > kHorizon || last_in(use) > kHorizon) {
      return malformed(id, kTooLate);
    }
  }
  return {};
}

Judgement Flights::lay_out_tree(std::uint32_t id) {
  const Send& send = sends_[id];
  const Topology& topology = problem_.topology;
  const NodeId source = topology.link(send.links.front()).from;
  mark(id, source).at = send.start.ps;
  for (const LinkId link_id : send.links) {
    const Link& link = topology.link(link_id);
    if (!reached(id, link.from)) {
      return malformed(id, "link " + topology.link_name(link_id) +
                               " leaves a node that the links before it do not reach");
    }
    Mark& tail = mark(id, link.from);
    if (link.from == source && tail.out > 0) {
      return malformed(id, "two links leave its source " + topology.node(source).name);
    }
    if (link.from != source && topology.stores(link.from)) {
      return malformed(
          id, "it passes through " + topology.node(link.from).name + ", which is no switch");
    }
    if (reached(id, link.to)) {
      return malformed(id, "it enters " + topology.node(link.to).name + " twice");
    }
    ++tail.out;
    uses_.push_back({tail.at, link_id, id});
    Mark& head = mark(id, link.to);
    head.in = 1;
    head.at = tail.at + link.latency.ps;
    if (head.at > kHorizon) return malformed(id, kTooLate);
  }
  for (const LinkId link : send.links) {
    const NodeId head = topology.link(link).to;
    const Node& node = topology.node(head);
    const Mark& at_head = marks_[head];
    if (node.stores()) {
      if (auto finding = check_receiver(id, head)) return finding;
    } else if (at_head.out == 0) {
      return malformed(id, "it ends at " + node.name + ", which is a switch");
    } else if (at_head.out > 1) {
      if (!node.multicast) {
        return found(Violation::forbidden_node,
                     "send " + std::to_string(id) + ", " + Names(problem_).send(send) + ": " +
                         node.name + " would copy to " + std::to_string(at_head.out) +
                         " links, but has no multicast");
      }
      if (node.max_groups) groups_.push_back({at_head.at, head, id});
    }
  }
  return {};
}

Judgement Flights::lay_in_tree(std::uint32_t id) {
  const Send& send = sends_[id];
  const Topology& topology = problem_.topology;
  for (std::size_t i = 0; i < send.links.size(); ++i) {
    const Link& link = topology.link(send.links[i]);
    const std::string& name = topology.node(link.from).name;
    const bool known = reached(id, link.from);
    Mark& tail = mark(id, link.from);
    if (tail.out > 0)
      return malformed(id, "two links of a tree with several sources leave " + name);
    if (!topology.stores(link.from) && !known) {
      return malformed(id, "link " + topology.link_name(send.links[i]) +
                               " leaves a node that the links before it do not reach");
    }
    tail.out = 1;
    Mark& head = mark(id, link.to);
    if (head.out > 0) {
      return malformed(id, "it enters " + topology.node(link.to).name +
                               " after it has left it: list the links leaves first");
    }
    if (topology.stores(link.to) && i + 1 < send.links.size()) {
      return malformed(
          id, "a tree with several sources has one destination, the head of its last link");
    }
    ++head.in;
  }
  const NodeId root = topology.link(send.links.back()).to;
  if (!topology.stores(root)) {
    return malformed(id, "it ends at " + topology.node(root).name + ", which is a switch");
  }
  // From the destination back: latency to it, and what the switches must be able to do.
  marks_[root].at = 0;
  std::int64_t longest = 0;
  for (std::size_t i = send.links.size(); i-- > 0;) {
    const Link& link = topology.link(send.links[i]);
    const Node& node = topology.node(link.to);
    const Mark& head = marks_[link.to];
    if (!node.stores() && head.out == 0) {
      return malformed(id, "it ends at " + node.name + ", which is a switch");
    }
    if (!node.stores() && head.in > 1 && !node.reduce) {
      return found(Violation::forbidden_node, "send " + std::to_string(id) + ", " +
                                                  Names(problem_).send(send) + ": " + node.name +
                                                  " would merge " + std::to_string(head.in) +
                                                  " parts, but has no reduce");
    }
    marks_[link.from].at = head.at + link.latency.ps;
    longest = std::max(longest, marks_[link.from].at);
    if (longest > kHorizon) return malformed(id, kTooLate);
  }
  for (const LinkId link : send.links) {
    uses_.push_back({send.start.ps + longest - marks_[topology.link(link).from].at, link, id});
  }
  return check_receiver(id, root);
}

/// Which uses of the send that has just been laid carry something that is lost, and when.
void Flights::find_losses(std::uint32_t id) {
  const Topology& topology = problem_.topology;
  const std::size_t first = first_use_.back();
  const std::int64_t start = sends_[id].start.ps;
  lost_.resize(uses_.size(), kNever);
  bool any = false;
  std::size_t sources = 0;
  for (std::size_t u = first; u < uses_.size(); ++u) {
    const Use& use = uses_[u];
    const Link& link = topology.link(use.link);
    sources += topology.stores(link.from) ? 1 : 0;
    if (const auto at = changes_.failure(use.link, start, use.begin + durations_[id])) {
      lost_[u] = *at;
    }
    if (topology.stores(link.to)) {
      if (const auto at = changes_.loss(link.to, start, last_in(use))) {
        lost_[u] = std::min(lost_[u], *at);
      }
    }
    any = any || lost_[u] != kNever;
  }
  if (!any) return;
  if (sources > 1) {
    const std::int64_t at =
        *std::min_element(lost_.begin() + static_cast<std::ptrdiff_t>(first), lost_.end());
    std::fill(lost_.begin() + static_cast<std::ptrdiff_t>(first), lost_.end(), at);
    return;
  }
  // What is lost on a link is lost on those after it; a link is free when all that it leads to is.
  std::map<NodeId, std::size_t> into;
  for (std::size_t u = first; u < uses_.size(); ++u) {
    const Link& link = topology.link(uses_[u].link);
    if (const auto before = into.find(link.from); before != into.end()) {
      lost_[u] = std::min(lost_[u], lost_[before->second]);
    }
    into[link.to] = u;
  }
  std::map<NodeId, std::int64_t> beyond;  // by switch: when the last of what passes it is lost
  for (std::size_t u = uses_.size(); u-- > first;) {
    const Link& link = topology.link(uses_[u].link);
    if (!topology.stores(link.to)) lost_[u] = beyond.at(link.to);
    const auto [at, fresh] = beyond.try_emplace(link.from, lost_[u]);
    if (!fresh) at->second = std::max(at->second, lost_[u]);
  }
}

Judgement Flights::check_receiver(std::uint32_t id, NodeId node) const {
  if (members_.empty() || problem_.topology.node(node).kind != NodeKind::gpu) return {};
  const JobId job = problem_.chunks[sends_[id].chunk].job;
  if (members_[job.index()][node.index()]) return {};
  return found(Violation::forbidden_node,
               "send " + std::to_string(id) + ", " + Names(problem_).send(sends_[id]) + ": " +
                   problem_.topology.node(node).name +
                   " is not among the job's ranks, and relays is 'members'");
}

}  // namespace stellwerk::check
