#include "stellwerk/io/online_text.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/event_text.hpp"
#include "stellwerk/io/parts.hpp"

namespace stellwerk {
namespace {

constexpr std::array kOps = {Op::copy, Op::reduce, Op::share};
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostIds = std::numeric_limits<std::int32_t>::max();

/// The event of a text; a departure is the only one that names a job.
OnlineInput input_at(const json::Place& place, const Problem& bare) {
  OnlineInput input;
  const std::string_view text = place.text();
  constexpr std::string_view kJob = "job ", kLeaves = " leaves";
  if (text == "tick" || text == "end") {
    input.kind = text == "end" ? OnlineInput::Kind::end : OnlineInput::Kind::tick;
  } else if (text.starts_with(kJob) && text.ends_with(kLeaves) &&
             text.size() > kJob.size() + kLeaves.size()) {
    input.kind = OnlineInput::Kind::departure;
    input.name = text.substr(kJob.size(), text.size() - kJob.size() - kLeaves.size());
  } else if (text.starts_with(kJob)) {
    place.fail("'" + std::string(text) +
               "': a job leaves here ('job NAME leaves'), and arrives with \"arrives\"");
  } else {
    try {
      input.kind = OnlineInput::Kind::change;
      input.change = parse_event(text, bare).event;
    } catch (const Error& error) {
      constexpr std::string_view kOption = "--event ";
      const std::string what = error.what();
      place.fail(what.starts_with(kOption) ? what.substr(kOption.size()) : what);
    }
  }
  return input;
}

void append(std::string& text, std::int64_t value) { text += std::to_string(value); }

template <class List, class Write>
void append_list(std::string& text, const char* name, const List& list, const Write& write) {
  if (list.empty()) return;
  text += ", \"" + std::string(name) + "\": [";
  bool first = true;
  for (const auto& each : list) {
    if (!first) text += ", ";
    first = false;
    write(each);
  }
  text += "]";
}

void append_send(std::string& text, const OnlineIncrement::Begun& begun) {
  const Send& send = begun.send;
  text += "[";
  append(text, begun.number);
  text += ",";
  append(text, begun.job);
  text += ",";
  append(text, send.chunk.value);
  text += ",\"" + std::string(to_string(send.op)) + "\",[";
  for (std::size_t k = 0; k < send.links.size(); ++k) {
    if (k > 0) text += ",";
    append(text, send.links[k].value);
  }
  text += "]";
  for (const std::int64_t value :
       {send.start.ps, send.rate.bytes_per_second, send.offset.value, send.bytes.value}) {
    text += ",";
    append(text, value);
  }
  text += "]";
}

json::Place entry(const json::Place& row, std::size_t position, std::size_t columns) {
  if (!row.is_array() || row.size() != columns) {
    row.fail("must be a list of " + std::to_string(columns) + " entries");
  }
  return row[position];
}

OnlineIncrement::Begun send_at(const json::Place& row) {
  constexpr std::size_t kColumns = 9;
  const auto number = [&](std::size_t k, std::int64_t most = kMost) {
    const json::Place place = entry(row, k, kColumns);
    return place.integer(0, most);
  };
  OnlineIncrement::Begun begun;
  begun.number = number(0);
  begun.job = static_cast<std::int32_t>(number(1, kMostIds));
  begun.send.chunk = ChunkId(static_cast<std::size_t>(number(2, kMostIds)));
  const json::Place op = entry(row, 3, kColumns);
  const auto found =
      std::find_if(kOps.begin(), kOps.end(), [&](Op each) { return to_string(each) == op.text(); });
  if (found == kOps.end()) op.fail("must be copy, reduce or share");
  begun.send.op = *found;
  const json::Place links = entry(row, 4, kColumns);
  for (std::size_t k = 0; k < links.size(); ++k) {
    const json::Place link = links[k];
    begun.send.links.emplace_back(static_cast<std::size_t>(link.integer(0, kMostIds)));
  }
  begun.send.start = Time{number(5)};
  begun.send.rate = Bandwidth{number(6)};
  begun.send.offset = Bytes{number(7)};
  begun.send.bytes = Bytes{number(8)};
  return begun;
}

OnlineIncrement::Trouble trouble_at(const json::Place& place) {
  place.expect_keys({"job", "why"});
  const json::Place job = place.at("job");
  return {static_cast<std::int32_t>(job.integer(0, kMostIds)), std::string(place.at("why").text())};
}

}  // namespace

OnlineLine OnlineReader::parse(std::string_view line, const std::string& label) const {
  const json::Document document(line, label);
  const json::Place root(document);
  root.expect_keys({"number", "at", "arrives", "event"});
  OnlineLine result;
  if (const auto number = root.find("number")) result.number = number->integer(1, kMost);
  const auto arrives = root.find("arrives");
  const auto event = root.find("event");
  if (arrives.has_value() == event.has_value()) {
    root.fail("give either \"arrives\", a job, or \"event\", as in \"link A->B down\" or \"tick\"");
  }
  if (arrives) {
    result.input.kind = OnlineInput::Kind::arrival;
    result.input.job = single_job_at(*arrives, bare_.topology);
  } else {
    result.input = input_at(*event, bare_);
  }
  result.input.at = root.at("at").time();
  return result;
}

std::string format_online_increment(const OnlineIncrement& increment) {
  std::string text = "{\"number\": ";
  append(text, increment.number);
  text += ", \"at_ps\": ";
  append(text, increment.at.ps);
  const auto trouble = [&](const OnlineIncrement::Trouble& each) {
    text += "{\"job\": ";
    append(text, each.job);
    text += ", \"why\": " + json::quote(each.why) + "}";
  };
  const auto pair = [&](std::int64_t a, std::int64_t b) {
    text += "[";
    append(text, a);
    text += ",";
    append(text, b);
    text += "]";
  };
  append_list(text, "cuts", increment.cuts,
              [&](const OnlineIncrement::Cut& cut) { pair(cut.number, cut.bytes.value); });
  append_list(text, "sends", increment.sends,
              [&](const OnlineIncrement::Begun& begun) { append_send(text, begun); });
  append_list(text, "finished", increment.finished,
              [&](const OnlineIncrement::Finished& each) { pair(each.job, each.at.ps); });
  append_list(text, "waiting", increment.waiting, trouble);
  append_list(text, "dropped", increment.dropped, trouble);
  return text + "}";
}

OnlineIncrement parse_online_increment(std::string_view line, const std::string& label) {
  const json::Document document(line, label);
  const json::Place root(document);
  root.expect_keys({"number", "at_ps", "cuts", "sends", "finished", "waiting", "dropped"});
  OnlineIncrement increment;
  const json::Place number = root.at("number");
  const json::Place at = root.at("at_ps");
  increment.number = number.integer(1, kMost);
  increment.at = Time{at.integer(0, kMost)};
  const auto for_rows = [&](const char* name, const auto& take) {
    const auto list = root.find(name);
    if (!list) return;
    for (std::size_t i = 0; i < list->size(); ++i) take((*list)[i]);
  };
  const auto pair_at = [&](const json::Place& row) {
    const json::Place first = entry(row, 0, 2);
    const json::Place second = entry(row, 1, 2);
    return std::pair(first.integer(0, kMost), second.integer(0, kMost));
  };
  for_rows("cuts", [&](const json::Place& row) {
    const auto [send, bytes] = pair_at(row);
    increment.cuts.push_back({send, Bytes{bytes}});
  });
  for_rows("sends", [&](const json::Place& row) { increment.sends.push_back(send_at(row)); });
  for_rows("finished", [&](const json::Place& row) {
    const auto [job, ps] = pair_at(row);
    increment.finished.push_back({static_cast<std::int32_t>(std::min(job, kMostIds)), Time{ps}});
  });
  for_rows("waiting",
           [&](const json::Place& row) { increment.waiting.push_back(trouble_at(row)); });
  for_rows("dropped",
           [&](const json::Place& row) { increment.dropped.push_back(trouble_at(row)); });
  return increment;
}

std::string format_online_input(const OnlineInput& input, const Topology& topology) {
  std::string text = "{\"at\": " + json::quote(to_exact_string(input.at));
  const auto event = [&](const std::string& what) {
    return text + ", \"event\": " + json::quote(what) + "}";
  };
  switch (input.kind) {
    case OnlineInput::Kind::tick:
      return event("tick");
    case OnlineInput::Kind::end:
      return event("end");
    case OnlineInput::Kind::departure:
      return event("job " + input.name + " leaves");
    case OnlineInput::Kind::change: {
      Problem bare;
      bare.topology = topology;
      Event change = input.change;
      change.at = input.at;
      // "12us: link A->B down"
      if (change.kind == Event::Kind::link_bandwidth) {
        return event("link " + topology.link_name(change.link) + " bandwidth " +
                     to_exact_string(change.bandwidth));
      }
      const std::string what = describe(change, bare);
      return event(what.substr(what.find(": ") + 2));
    }
    case OnlineInput::Kind::arrival:
      break;
  }
  std::string jobs;
  append_jobs(jobs, {input.job}, topology, JobForm::file, "");
  // The list on one line, without its brackets.
  std::string line;
  for (const char c : jobs) {
    if (c != '\n') line += c;
  }
  const std::size_t first = line.find('{');
  return text + ", \"arrives\": " + line.substr(first, line.rfind('}') - first + 1) + "}";
}

}  // namespace stellwerk
