#include "stellwerk/io/trace_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace stellwerk {
namespace {

/// Names come from files.
std::string json_text(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? "\"\"" : std::string(1, c);
  return result + "\"";
}

std::string microseconds(std::int64_t ps) {
  return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000);
}

/// A send on one link.
struct Slice {
  std::size_t send = 0;
  LinkId link;
  std::int64_t begin = 0, end = 0;
  int lane = 0;
};

/// Slices of one link that overlap go side by side.
int lanes_of(std::vector<Slice*>& slices) {
  std::sort(slices.begin(), slices.end(), [](const Slice* a, const Slice* b) {
    return std::tie(a->begin, a->send) < std::tie(b->begin, b->send);
  });
  std::vector<std::int64_t> free;
  for (Slice* slice : slices) {
    const auto lane = std::find_if(free.begin(), free.end(),
                                   [&](std::int64_t end) { return end <= slice->begin; });
    slice->lane = static_cast<int>(lane - free.begin());
    if (lane == free.end()) {
      free.push_back(slice->end);
    } else {
      *lane = slice->end;
    }
  }
  return static_cast<int>(free.size());
}

class Trace {
 public:
  explicit Trace(const Plan& plan) : plan_(plan), topology_(plan.problem.topology) {}

  std::string text() {
    collect();
    out_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
    write_tracks();
    for (const Slice& slice : slices_) write_slice(slice);
    write_arrows();
    return out_ + "\n]}\n";
  }

 private:
  void collect() {
    for (std::size_t s = 0; s < plan_.sends.size(); ++s) {
      const Send& send = plan_.sends[s];
      const SendTiming times = timing(topology_, send);
      first_.push_back(slices_.size());
      for (std::size_t k = 0; k < send.links.size(); ++k) {
        const std::int64_t begin = (send.start + times.entry[k]).ps;
        slices_.push_back({s, send.links[k], begin, begin + times.duration.ps, 0});
      }
    }
    std::map<LinkId, std::vector<Slice*>> of_link;
    for (Slice& slice : slices_) of_link[slice.link].push_back(&slice);
    int next = 1;
    for (auto& [link, slices] : of_link) {
      first_track_[link] = next;
      lanes_[link] = lanes_of(slices);
      next += lanes_[link];
    }
  }

  template <class... Args>
  void event(fmt::format_string<Args...> text, Args&&... args) {
    out_ += comma_ ? ",\n" : "\n";
    comma_ = true;
    fmt::format_to(std::back_inserter(out_), text, std::forward<Args>(args)...);
  }

  int process(LinkId link) const { return topology_.link(link).from.value + 1; }

  void write_tracks() {
    std::map<NodeId, bool> named;
    for (const auto& [link, first] : first_track_) {
      const NodeId node = topology_.link(link).from;
      if (!named[node]) {
        event(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", node.value + 1,
              json_text(topology_.node(node).name));
        event(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})",
              node.value + 1, node.value);
        named[node] = true;
      }
      for (int lane = 0; lane < lanes_.at(link); ++lane) {
        event(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
              process(link), first + lane,
              json_text(topology_.link_name(link) +
                        (lane > 0 ? " (" + std::to_string(lane + 1) + ")" : "")));
      }
    }
  }

  void write_slice(const Slice& slice) {
    const Send& send = plan_.sends[slice.send];
    event(
        R"({{"ph":"X","name":"chunk {}","cat":"{}","ts":{},"dur":{},"pid":{},"tid":{},"args":{{"send":{},"bytes":{},"offset":{}}}}})",
        send.chunk.value, to_string(send.op), microseconds(slice.begin),
        microseconds(slice.end - slice.begin), process(slice.link), track(slice), slice.send,
        send.bytes.value, send.offset.value);
  }
  int track(const Slice& slice) const { return first_track_.at(slice.link) + slice.lane; }

  /// From the send that brought a chunk to each send that takes it on.
  void write_arrows() {
    std::map<std::pair<ChunkId, NodeId>, std::vector<std::pair<std::int64_t, std::size_t>>>
        arrivals;  // time, slice of the last link
    for (std::size_t s = 0; s < plan_.sends.size(); ++s) {
      const Send& send = plan_.sends[s];
      const SendTiming times = timing(topology_, send);
      for (std::size_t leaf = 0; leaf < times.leaves.size(); ++leaf) {
        for (std::size_t k = 0; k < send.links.size(); ++k) {
          if (topology_.link(send.links[k]).to != times.leaves[leaf]) continue;
          arrivals[{send.chunk, times.leaves[leaf]}].emplace_back(
              (send.start + times.arrival[leaf]).ps, first_[s] + k);
        }
      }
    }
    std::size_t arrow = 0;
    for (std::size_t s = 0; s < plan_.sends.size(); ++s) {
      const Send& send = plan_.sends[s];
      const auto found = arrivals.find({send.chunk, topology_.link(send.links.front()).from});
      if (found == arrivals.end()) continue;
      const std::pair<std::int64_t, std::size_t>* last = nullptr;
      for (const auto& arrival : found->second) {
        if (arrival.first <= send.start.ps && (!last || *last < arrival)) last = &arrival;
      }
      if (!last) continue;
      const Slice &from = slices_[last->second], &to = slices_[first_[s]];
      event(R"({{"ph":"s","id":{},"name":"chunk {}","cat":"forward","ts":{},"pid":{},"tid":{}}})",
            ++arrow, send.chunk.value, microseconds(from.begin), process(from.link), track(from));
      event(
          R"({{"ph":"f","bp":"e","id":{},"name":"chunk {}","cat":"forward","ts":{},"pid":{},"tid":{}}})",
          arrow, send.chunk.value, microseconds(to.begin), process(to.link), track(to));
    }
  }

  const Plan& plan_;
  const Topology& topology_;
  std::vector<Slice> slices_;
  std::vector<std::size_t> first_;  ///< slice of the first link of every send
  std::map<LinkId, int> first_track_, lanes_;
  std::string out_;
  bool comma_ = false;
};

}  // namespace

std::string format_trace(const Plan& plan) { return Trace(plan).text(); }

std::string format_sends_csv(const Plan& plan) {
  const Topology& topology = plan.problem.topology;
  std::string text = "send,chunk,op,from,to,offset,bytes,rate,start_ps,arrival_ps,links\n";
  for (std::size_t s = 0; s < plan.sends.size(); ++s) {
    const Send& send = plan.sends[s];
    const SendTiming times = timing(topology, send);
    std::vector<std::string> from, to, links;
    std::vector<std::int64_t> arrivals;
    for (const NodeId node : times.sources) from.push_back(topology.node(node).name);
    for (const NodeId node : times.leaves) to.push_back(topology.node(node).name);
    for (const Time arrival : times.arrival) arrivals.push_back((send.start + arrival).ps);
    for (const LinkId link : send.links) links.push_back(topology.link_name(link));
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{},{}\n", s,
                   send.chunk.value, to_string(send.op),
                   csv_text(fmt::format("{}", fmt::join(from, " "))),
                   csv_text(fmt::format("{}", fmt::join(to, " "))), send.offset.value,
                   send.bytes.value, send.rate.bytes_per_second, send.start.ps,
                   fmt::join(arrivals, " "), csv_text(fmt::format("{}", fmt::join(links, " "))));
  }
  return text;
}

}  // namespace stellwerk
