#include "stellwerk/io/plan_file.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/quotient.hpp"
#include "stellwerk/core/expansion.hpp"
#include "stellwerk/core/metrics.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/parts.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

using json::Place;

constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kMostGenerators = 10'000, kMostRepeated = 1000;

// --- Reading ------------------------------------------------------------------------------------

/// Ids must exist: the rest of the library trusts them.
template <class IdType>
IdType id_of(const Place& place, std::int64_t value, std::size_t count, const char* what) {
  if (value < 0 || value >= static_cast<std::int64_t>(count)) {
    place.fail("there is no " + std::string(what) + " " + std::to_string(value) + ": there are " +
               std::to_string(count) + ", counted from 0");
  }
  return IdType(static_cast<std::size_t>(value));
}

template <class IdType>
std::vector<IdType> ids_at(const Place& place, std::size_t count, const char* what) {
  const json::Integers values = place.integers();
  // Nothing has to be listed twice: lists far beyond what there is are bombs, which are refused before they are copied.
  if (values.size() > count + kMostRepeated)
    place.fail("lists " + std::to_string(values.size()) + " entries, but there are only " +
               std::to_string(count) + " to list (" + what + "s)");
  std::vector<IdType> result;
  result.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.push_back(id_of<IdType>(place[i], values[i], count, what));
  }
  return result;
}

std::optional<Place> value_at(const Place& place, std::string_view key) {
  auto found = place.find(key);
  if (found && found->is_null()) return std::nullopt;
  return found;
}

template <class T>
T one_of(const Place& place, std::initializer_list<T> choices) {
  const std::string_view text = place.text();
  std::string names;
  for (const T choice : choices) {
    if (text == to_string(choice)) return choice;
    names += (names.empty() ? "" : ", ") + std::string(to_string(choice));
  }
  place.fail("must be one of " + names + ", not " + in_quotes(text));
}

Relays relays_at(const Place& place) {
  if (place.text() == "all") return Relays::all;
  if (place.text() == "members") return Relays::members;
  place.fail("must be \"all\" or \"members\", not " + in_quotes(place.text()));
}

Chunk chunk_at(const Place& place, const Problem& problem) {
  place.expect_keys(
      {"job", "bytes", "origins", "destinations", "ready_ps", "owner", "contributors", "slot"});
  const std::size_t nodes = problem.topology.nodes().size();
  Chunk chunk;
  const Place job = place.at("job");
  chunk.job = id_of<JobId>(job, job.integer(), problem.jobs.size(), "job");
  chunk.bytes = Bytes{place.at("bytes").integer()};
  chunk.origins = ids_at<NodeId>(place.at("origins"), nodes, "node");
  chunk.destinations = ids_at<NodeId>(place.at("destinations"), nodes, "node");
  if (const auto ready = place.find("ready_ps")) chunk.ready = Time{ready->integer()};
  const Place owner = place.at("owner");
  chunk.owner = id_of<NodeId>(owner, owner.integer(), nodes, "node");
  if (const auto list = value_at(place, "contributors")) {
    chunk.contributors = ids_at<NodeId>(*list, nodes, "node");
  }
  if (const auto slot = place.find("slot")) chunk.slot = slot->integer();
  return chunk;
}

/// A column of `sends`, as long as the first.
Place column_at(const Place& sends, std::string_view name, std::size_t count) {
  Place column = sends.at(name);
  if (column.size() != count) {
    column.fail("has " + std::to_string(column.size()) + " entries, but chunk has " +
                std::to_string(count) + ": entry k of every array is send k");
  }
  return column;
}

Schedule sends_at(const Place& place, const Problem& problem) {
  place.expect_keys({"chunk", "op", "start_ps", "rate", "links", "offset", "bytes"});
  const Place chunk = place.at("chunk");
  const std::size_t count = chunk.size();
  const Place op = column_at(place, "op", count);
  const Place links = column_at(place, "links", count);
  const json::Integers chunks = chunk.integers();
  const Place start_place = column_at(place, "start_ps", count);
  const Place rate_place = column_at(place, "rate", count);
  const json::Integers starts = start_place.integers();
  const json::Integers rates = rate_place.integers();
  const auto has_offset = value_at(place, "offset");
  const auto has_bytes = value_at(place, "bytes");
  if (has_offset.has_value() != has_bytes.has_value()) {
    place.fail("offset and bytes go together: give both arrays or neither");
  }
  json::Integers offsets, bytes;
  if (has_bytes) {
    column_at(place, "offset", count);
    column_at(place, "bytes", count);
    offsets = has_offset->integers();
    bytes = has_bytes->integers();
  }
  Schedule sends(count);
  for (std::size_t k = 0; k < count; ++k) {
    Send& send = sends[k];
    send.chunk = id_of<ChunkId>(chunk[k], chunks[k], problem.chunks.size(), "chunk");
    send.op = one_of(op[k], {Op::copy, Op::reduce, Op::share});
    send.start = Time{starts[k]};
    send.rate = Bandwidth{rates[k]};
    const Place tree = links[k];
    send.links = ids_at<LinkId>(tree, problem.topology.links().size(), "link");
    if (send.links.empty()) tree.fail("a send needs at least one link");
    send.offset = has_bytes ? Bytes{offsets[k]} : Bytes{0};
    send.bytes = has_bytes ? Bytes{bytes[k]} : problem.chunks[send.chunk].bytes;
  }
  return sends;
}

/// How many chunks of the jobs one that is listed can stand for.
std::int64_t most_images(const Topology& topology, const Symmetry& symmetry) {
  if (symmetry.trivial()) return 1;
  const LinkImages images(topology);
  for (const Permutation& g : symmetry.generators) {
    if (!images.automorphism(g)) return 1;
  }
  const Orbits orbits = find_orbits(topology, symmetry, topology.gpus());
  return *std::max_element(orbits.node_size.begin(), orbits.node_size.end());
}

Event event_at(const Place& place, const Problem& problem) {
  using Kind = Event::Kind;
  Event event;
  event.kind = one_of(place.at("kind"),
                      {Kind::link_down, Kind::link_up, Kind::link_bandwidth, Kind::gpu_lost,
                       Kind::gpu_back, Kind::job_arrives, Kind::job_leaves});
  event.at = Time{place.at("at_ps").integer()};
  std::vector<std::string_view> keys = {"kind", "at_ps"};
  const auto number = [&]<class IdType>(std::string_view key, std::size_t count, IdType& id) {
    keys.push_back(key);
    const Place at = place.at(key);
    id = id_of<IdType>(at, at.integer(), count, std::string(key).c_str());
  };
  switch (event.kind) {
    case Kind::link_bandwidth:
      keys.emplace_back("bandwidth");
      event.bandwidth = Bandwidth{place.at("bandwidth").integer()};
      [[fallthrough]];
    case Kind::link_down:
    case Kind::link_up:
      number("link", problem.topology.links().size(), event.link);
      break;
    case Kind::gpu_lost:
    case Kind::gpu_back:
      number("node", problem.topology.nodes().size(), event.node);
      break;
    case Kind::job_arrives:
    case Kind::job_leaves:
      number("job", problem.jobs.size(), event.job);
      break;
  }
  place.expect_keys(keys);
  return event;
}

std::vector<Permutation> generators_at(const Place& place, std::size_t nodes) {
  place.expect_keys({"generators"});
  const Place list = place.at("generators");
  // A minimal set has fewer than there are nodes; ours are not minimal, but far from this.
  if (list.size() > kMostGenerators)
    list.fail("has " + std::to_string(list.size()) + " entries: at most " +
              std::to_string(kMostGenerators) + " are read");
  std::vector<Permutation> result;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Place item = list[i];
    Permutation permutation = ids_at<NodeId>(item, nodes, "node");
    std::vector<bool> hit(nodes, false);
    for (const NodeId id : permutation) hit[id.index()] = true;
    if (permutation.size() != nodes || std::count(hit.begin(), hit.end(), false) != 0) {
      item.fail("must be a permutation of the " + std::to_string(nodes) + " nodes");
    }
    result.push_back(std::move(permutation));
  }
  return result;
}

/// Which fields a kind of certificate has.
struct CertificateFields {
  bool set = false;             ///< and target, which may be null
  bool part_of_demand = false;  ///< from, to and chunk, all optional
  bool lengths = false;
  bool chunk_and_target = false;
  bool parts = false;
};

CertificateFields fields_of(Certificate::Kind kind) {
  switch (kind) {
    case Certificate::Kind::none:
      return {};
    case Certificate::Kind::cut:
      return {.set = true};
    case Certificate::Kind::dynamic_cut:
    case Certificate::Kind::chunk_cut:
      return {.set = true, .part_of_demand = true};
    case Certificate::Kind::metric:
      return {.lengths = true};
    case Certificate::Kind::latency:
      return {.chunk_and_target = true};
    case Certificate::Kind::partition:
    case Certificate::Kind::gossip:
      return {.parts = true};
  }
  return {};
}

Certificate certificate_at(const Place& place, const Problem& problem) {
  using Kind = Certificate::Kind;
  const std::size_t nodes = problem.topology.nodes().size();
  Certificate result;
  result.kind =
      one_of(place.at("kind"), {Kind::none, Kind::cut, Kind::metric, Kind::latency, Kind::partition,
                                Kind::chunk_cut, Kind::dynamic_cut, Kind::gossip});
  const CertificateFields fields = fields_of(result.kind);
  const auto node = [&](const Place& at) { return id_of<NodeId>(at, at.integer(), nodes, "node"); };
  const auto chunk = [&](const Place& at) {
    return id_of<ChunkId>(at, at.integer(), problem.chunks.size(), "chunk");
  };
  std::vector<std::string_view> keys = {"kind"};
  if (fields.set) {
    keys.insert(keys.end(), {"set", "target"});
    result.set = ids_at<NodeId>(place.at("set"), nodes, "node");
    if (const auto target = value_at(place, "target")) result.target = node(*target);
  }
  if (fields.part_of_demand) {
    keys.insert(keys.end(), {"from", "to", "chunk"});
    if (const auto from = value_at(place, "from")) {
      result.from = ids_at<NodeId>(*from, nodes, "node");
    }
    if (const auto to = value_at(place, "to")) result.to = ids_at<NodeId>(*to, nodes, "node");
    if (const auto least = value_at(place, "chunk")) result.chunk = chunk(*least);
  }
  if (fields.lengths) {
    keys.emplace_back("lengths");
    const Place lengths = place.at("lengths");
    const std::size_t links = problem.topology.links().size();
    const json::Integers values = lengths.integers();
    result.lengths.assign(values.begin(), values.end());
    if (result.lengths.size() != links) {
      lengths.fail("must have one entry a link, " + std::to_string(links) + ", but has " +
                   std::to_string(result.lengths.size()));
    }
  }
  if (fields.chunk_and_target) {
    keys.insert(keys.end(), {"chunk", "target"});
    result.chunk = chunk(place.at("chunk"));
    result.target = node(place.at("target"));
  }
  if (fields.parts) {
    keys.emplace_back("parts");
    const Place parts = place.at("parts");
    if (parts.size() > nodes)
      parts.fail("has " + std::to_string(parts.size()) + " entries, but there are " +
                 std::to_string(nodes) + " nodes to divide");
    for (std::size_t i = 0; i < parts.size(); ++i) {
      result.parts.push_back(ids_at<NodeId>(parts[i], nodes, "node"));
    }
  }
  keys.emplace_back("jobs");
  if (const auto jobs = value_at(place, "jobs")) {
    result.jobs = ids_at<JobId>(*jobs, problem.jobs.size(), "job");
  }
  place.expect_keys(keys);
  return result;
}

std::optional<ObjectiveRecord> objective_at(const Place& result, const Problem& problem) {
  const auto place = value_at(result, "objective");
  if (!place) return std::nullopt;
  place->expect_keys({"name", "value", "bound", "gap", "bound_certificates"});
  ObjectiveRecord record;
  record.objective =
      one_of(place->at("name"), {Objective::makespan, Objective::weighted, Objective::slowdown});
  record.value = place->at("value").integer(0, kMaxInt64);
  const auto bound = value_at(*place, "bound");
  const auto proof = value_at(*place, "bound_certificates");
  if (bound.has_value() != proof.has_value()) {
    place->fail("bound and bound_certificates go together: a bound needs its certificates");
  }
  if (!bound) return record;
  record.bound = ObjectiveBound{bound->integer(0, kMaxInt64), {}};
  for (std::size_t i = 0; i < proof->size(); ++i) {
    record.bound->groups.push_back(certificate_at((*proof)[i], problem));
  }
  return record;
}

std::optional<Bound> bound_at(const Place& place, std::string_view value,
                              std::string_view certificate, const Problem& problem) {
  const auto time = value_at(place, value);
  const auto proof = value_at(place, certificate);
  if (time.has_value() != proof.has_value()) {
    place.fail(std::string(value) + " and " + std::string(certificate) +
               " go together: a bound needs its certificate");
  }
  if (!time) return std::nullopt;
  return Bound{Time{time->integer()}, certificate_at(*proof, problem)};
}

std::optional<double> figure_at(const Place& place, std::string_view key) {
  const auto found = value_at(place, key);
  return found ? std::optional(found->number()) : std::nullopt;
}

std::optional<Bytes> bytes_at(const Place& place, std::string_view key) {
  const auto found = value_at(place, key);
  return found ? std::optional(Bytes{found->integer()}) : std::nullopt;
}

Figures figures_at(const Place& place) {
  Figures result;
  result.size_bytes = bytes_at(place, "size_bytes");
  result.output_bytes = bytes_at(place, "output_bytes");
  result.output_bytes_smallest = bytes_at(place, "output_bytes_smallest");
  result.algbw = figure_at(place, "algbw");
  result.busbw = figure_at(place, "busbw");
  return result;
}

Termination termination_at(const Place& place) {
  using Reason = Termination::Reason;
  place.expect_keys({"reason", "limit"});
  Termination result;
  result.reason = one_of(place.at("reason"), {Reason::optimal, Reason::feasible, Reason::infeasible,
                                              Reason::no_solution, Reason::unsupported});
  if (const auto limit = place.find("limit")) {
    result.limit = one_of(*limit, {Limit::none, Limit::time, Limit::memory, Limit::interrupt});
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> options_at(const Place& place) {
  std::vector<std::pair<std::string, std::string>> result;
  for (std::size_t i = 0; i < place.members().size(); ++i) {
    const Place option = place.member(i);
    std::string value;
    if (option.is_text()) {
      value = option.text();
    } else if (option.kind() == "true" || option.kind() == "false") {
      value = option.kind();
    } else if (option.kind() == "an integer") {
      value = std::to_string(option.integer());
    } else {
      value = json::number(option.number());
    }
    result.emplace_back(place.members()[i].key, std::move(value));
  }
  return result;
}

Result result_at(const Place& place, const Problem& problem) {
  place.expect_keys({"transfer_time_ps",
                     "bound_ps",
                     "bound_kind",
                     "gap",
                     "bound_certificate",
                     "bound_chunked_ps",
                     "bound_chunked_certificate",
                     "gap_chunked",
                     "algbw",
                     "busbw",
                     "size_bytes",
                     "output_bytes",
                     "output_bytes_smallest",
                     "chunks_per_block",
                     "jobs",
                     "objective",
                     "planner",
                     "options",
                     "seed",
                     "version",
                     "termination",
                     "epoch",
                     "solver_time_s",
                     "core_seconds",
                     "peak_rss_bytes"});
  Result result;
  RecordedMetrics recorded;
  result.transfer_time = Time{place.at("transfer_time_ps").integer()};
  result.bound = bound_at(place, "bound_ps", "bound_certificate", problem);
  result.bound_chunked = bound_at(place, "bound_chunked_ps", "bound_chunked_certificate", problem);
  if (const auto kind = value_at(place, "bound_kind")) {
    const char* actual = result.bound ? to_string(result.bound->certificate.kind) : nullptr;
    if (actual == nullptr || kind->text() != actual) {
      kind->fail("is " + in_quotes(kind->text()) + ", but the bound's certificate is " +
                 (actual != nullptr ? in_quotes(actual) : "absent"));
    }
  }
  recorded.gap = figure_at(place, "gap");
  recorded.gap_chunked = figure_at(place, "gap_chunked");
  recorded.total = figures_at(place);
  if (const auto count = value_at(place, "chunks_per_block")) {
    recorded.chunks_per_block = count->integer();
  }

  const Place jobs = place.at("jobs");
  if (jobs.size() != problem.jobs.size()) {
    jobs.fail("has " + std::to_string(jobs.size()) + " entries, but the plan has " +
              std::to_string(problem.jobs.size()) + " jobs: one entry a job, in their order");
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Place job = jobs[i];
    job.expect_keys({"name", "finish_ps", "alone_ps", "slowdown", "size_bytes", "output_bytes",
                     "output_bytes_smallest", "algbw", "busbw"});
    const Place name = job.at("name");
    if (name.text() != problem.jobs[i].name) {
      name.fail("is " + in_quotes(name.text()) + ", but job " + std::to_string(i) + " is " +
                in_quotes(problem.jobs[i].name) + ": one entry a job, in their order");
    }
    result.job_finish.push_back(Time{job.at("finish_ps").integer()});
    recorded.jobs.push_back(figures_at(job));
    recorded.jobs.back().slowdown = figure_at(job, "slowdown");
    const auto alone = value_at(job, "alone_ps");
    if (i > 0 && alone.has_value() != !result.job_alone.empty()) {
      job.fail("alone_ps is there for some jobs only: give it for all of them or for none");
    }
    if (alone) result.job_alone.push_back(Time{alone->integer(1, kMaxInt64)});
  }
  result.objective = objective_at(place, problem);

  if (const auto planner = place.find("planner")) result.planner = planner->text();
  if (const auto options = place.find("options")) result.options = options_at(*options);
  if (const auto seed = place.find("seed")) result.seed = seed->unsigned_integer();
  if (const auto version = place.find("version")) result.version = version->text();
  if (const auto ended = place.find("termination")) result.termination = termination_at(*ended);
  if (const auto epoch = value_at(place, "epoch")) {
    epoch->expect_keys({"duration_ps", "epochs", "proven_epochs"});
    result.epoch = EpochRecord{Time{epoch->at("duration_ps").integer(0, kMaxInt64)},
                               epoch->at("epochs").integer(0, kMaxInt64), 0};
    if (const auto proven = epoch->find("proven_epochs")) {
      result.epoch->proven_epochs = proven->integer(0, kMaxInt64);
    }
  }
  if (const auto time = place.find("solver_time_s")) result.solver_time_s = time->number();
  if (const auto time = place.find("core_seconds")) result.core_seconds = time->number();
  if (const auto peak = place.find("peak_rss_bytes")) {
    result.peak_rss_bytes = peak->integer(0, kMaxInt64);
  }
  result.recorded = std::move(recorded);
  return result;
}

// --- Writing ------------------------------------------------------------------------------------

void append_number(std::string& text, std::int64_t value) {
  std::array<char, 24> buffer;
  char* const end = buffer.data() + buffer.size();
  char* begin = end;
  auto rest = value < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(value)
                        : static_cast<std::uint64_t>(value);
  do {
    *--begin = static_cast<char>('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (value < 0) *--begin = '-';
  text.append(begin, end);
}

template <class List, class Append>
void append_list(std::string& text, const List& list, Append append) {
  text += '[';
  bool first = true;
  for (const auto& item : list) {
    if (!first) text += ',';
    first = false;
    append(item);
  }
  text += ']';
}

template <class IdType>
void append_ids(std::string& text, const std::vector<IdType>& ids) {
  append_list(text, ids, [&](IdType id) { append_number(text, id.value); });
}

void append_chunk(std::string& text, const Chunk& chunk) {
  text += "{\"job\":";
  append_number(text, chunk.job.value);
  text += ",\"bytes\":";
  append_number(text, chunk.bytes.value);
  text += ",\"origins\":";
  append_ids(text, chunk.origins);
  text += ",\"destinations\":";
  append_ids(text, chunk.destinations);
  text += ",\"ready_ps\":";
  append_number(text, chunk.ready.ps);
  text += ",\"owner\":";
  append_number(text, chunk.owner.value);
  text += ",\"contributors\":";
  if (chunk.contributors.empty()) {
    text += "null";
  } else {
    append_ids(text, chunk.contributors);
  }
  text += ",\"slot\":";
  append_number(text, chunk.slot);
  text += '}';
}

void append_sends(std::string& text, const Problem& problem, const Schedule& sends) {
  const bool whole = std::all_of(sends.begin(), sends.end(), [&](const Send& send) {
    return send.offset.value == 0 && send.bytes == problem.chunks[send.chunk].bytes;
  });
  text += "{\n    \"chunk\": ";
  append_list(text, sends, [&](const Send& send) { append_number(text, send.chunk.value); });
  text += ",\n    \"op\": ";
  append_list(text, sends, [&](const Send& send) {
    text += '"';
    text += to_string(send.op);
    text += '"';
  });
  text += ",\n    \"start_ps\": ";
  append_list(text, sends, [&](const Send& send) { append_number(text, send.start.ps); });
  text += ",\n    \"rate\": ";
  append_list(text, sends,
              [&](const Send& send) { append_number(text, send.rate.bytes_per_second); });
  text += ",\n    \"links\": ";
  append_list(text, sends, [&](const Send& send) { append_ids(text, send.links); });
  text += ",\n    \"offset\": ";
  if (whole) {
    text += "null,\n    \"bytes\": null";
  } else {
    append_list(text, sends, [&](const Send& send) { append_number(text, send.offset.value); });
    text += ",\n    \"bytes\": ";
    append_list(text, sends, [&](const Send& send) { append_number(text, send.bytes.value); });
  }
  text += "\n  }";
}

void append_event(std::string& text, const Event& event) {
  text += "{\"at_ps\": " + std::to_string(event.at.ps) + ", \"kind\": \"";
  text += to_string(event.kind);
  text += '"';
  const auto add = [&](const char* key, std::int64_t value) {
    text += std::string(", \"") + key + "\": " + std::to_string(value);
  };
  if (event.link.valid()) add("link", event.link.value);
  if (event.node.valid()) add("node", event.node.value);
  if (event.job.valid()) add("job", event.job.value);
  if (event.kind == Event::Kind::link_bandwidth) {
    add("bandwidth", event.bandwidth.bytes_per_second);
  }
  text += '}';
}

std::string certificate_text(const Certificate& certificate) {
  const CertificateFields fields = fields_of(certificate.kind);
  std::string text = "{\"kind\": " + json::quote(to_string(certificate.kind));
  const auto node_list = [&](std::string_view key, const std::vector<NodeId>& nodes) {
    text += ", \"" + std::string(key) + "\": ";
    append_ids(text, nodes);
  };
  if (fields.set) node_list("set", certificate.set);
  if (fields.part_of_demand && !certificate.from.empty()) node_list("from", certificate.from);
  if (fields.part_of_demand && !certificate.to.empty()) node_list("to", certificate.to);
  if (fields.chunk_and_target || (fields.part_of_demand && certificate.chunk)) {
    text += ", \"chunk\": " + std::to_string(certificate.chunk.value_or(ChunkId{}).value);
  }
  if (fields.set || fields.chunk_and_target) {
    text += ", \"target\": ";
    text += certificate.target ? std::to_string(certificate.target->value) : "null";
  }
  if (fields.lengths) {
    text += ", \"lengths\": ";
    append_list(text, certificate.lengths,
                [&](std::int64_t length) { append_number(text, length); });
  }
  if (fields.parts) {
    text += ", \"parts\": ";
    append_list(text, certificate.parts,
                [&](const std::vector<NodeId>& part) { append_ids(text, part); });
  }
  if (!certificate.jobs.empty()) {
    text += ", \"jobs\": ";
    append_ids(text, certificate.jobs);
  }
  return text + "}";
}

std::string optional_number(const std::optional<double>& value) {
  return value ? json::number(*value) : "null";
}
std::string optional_number(const std::optional<Bytes>& value) {
  return value ? std::to_string(value->value) : "null";
}

/// The fields of an object, one after the other.
class Fields {
 public:
  Fields(std::string& text, std::string_view between) : text_(text), between_(between) {}
  void add(std::string_view key, const std::string& value) {
    if (!first_) text_ += between_;
    first_ = false;
    text_ += "\"" + std::string(key) + "\": " + value;
  }
  void add(const Figures& figures) {
    add("algbw", optional_number(figures.algbw));
    add("busbw", optional_number(figures.busbw));
    add("size_bytes", optional_number(figures.size_bytes));
    add("output_bytes", optional_number(figures.output_bytes));
    if (figures.output_bytes_smallest) {
      add("output_bytes_smallest", optional_number(figures.output_bytes_smallest));
    }
  }

 private:
  std::string& text_;
  std::string_view between_;
  bool first_ = true;
};

std::string time_text(const std::optional<Bound>& bound) {
  return bound ? std::to_string(bound->value.ps) : "null";
}
std::string kind_text(const std::optional<Bound>& bound) {
  return bound ? json::quote(to_string(bound->certificate.kind)) : "null";
}
std::string proof_text(const std::optional<Bound>& bound) {
  return bound ? certificate_text(bound->certificate) : "null";
}

std::string objective_text(const ObjectiveRecord& record) {
  std::string text = "{";
  Fields fields(text, ", ");
  fields.add("name", json::quote(to_string(record.objective)));
  fields.add("value", std::to_string(record.value));
  if (record.bound) {
    fields.add("bound", std::to_string(record.bound->value));
    const double bound = static_cast<double>(record.bound->value);
    fields.add("gap", bound > 0 ? json::number(static_cast<double>(record.value) / bound - 1)
                                : std::string("null"));
    std::string groups;
    append_list(groups, record.bound->groups,
                [&](const Certificate& group) { groups += certificate_text(group); });
    fields.add("bound_certificates", groups);
  }
  return text + "}";
}

/// `indent` is put before every line but the first.
void append_result(std::string& text, const Plan& plan, std::string_view indent) {
  const Result& result = plan.result;
  const RecordedMetrics derived = derive_metrics(plan);
  const std::string line = "\n" + std::string(indent);
  text += "{" + line + "  ";
  const std::string between = "," + line + "  ";
  Fields fields(text, between);
  fields.add("transfer_time_ps", std::to_string(result.transfer_time.ps));
  fields.add("bound_ps", time_text(result.bound));
  fields.add("bound_kind", kind_text(result.bound));
  fields.add("gap", optional_number(derived.gap));
  fields.add("bound_certificate", proof_text(result.bound));
  fields.add("bound_chunked_ps", time_text(result.bound_chunked));
  fields.add("gap_chunked", optional_number(derived.gap_chunked));
  fields.add("bound_chunked_certificate", proof_text(result.bound_chunked));
  fields.add(derived.total);
  fields.add("chunks_per_block",
             derived.chunks_per_block ? std::to_string(*derived.chunks_per_block) : "null");

  std::string jobs = "[";
  for (std::size_t i = 0; i < plan.problem.jobs.size(); ++i) {
    jobs += (i > 0 ? "," : "") + line + "    {";
    Fields job(jobs, ", ");
    job.add("name", json::quote(plan.problem.jobs[i].name));
    job.add("finish_ps", std::to_string(i < result.job_finish.size() ? result.job_finish[i].ps
                                                                     : result.transfer_time.ps));
    if (i < result.job_alone.size()) {
      job.add("alone_ps", std::to_string(result.job_alone[i].ps));
      job.add("slowdown", optional_number(derived.jobs[i].slowdown));
    }
    job.add(derived.jobs[i]);
    jobs += "}";
  }
  fields.add("jobs", jobs + "]");
  if (result.objective) fields.add("objective", objective_text(*result.objective));

  fields.add("planner", json::quote(result.planner));
  std::string options = "{";
  Fields option(options, ", ");
  for (const auto& [key, value] : result.options) {
    const std::string name = json::quote(key);
    option.add(std::string_view(name).substr(1, name.size() - 2), json::quote(value));
  }
  fields.add("options", options + "}");
  fields.add("seed", std::to_string(result.seed));
  fields.add("version", json::quote(result.version));
  fields.add("termination", "{\"reason\": " + json::quote(to_string(result.termination.reason)) +
                                ", \"limit\": " + json::quote(to_string(result.termination.limit)) +
                                "}");
  if (result.epoch) {
    fields.add("epoch", "{\"duration_ps\": " + std::to_string(result.epoch->duration.ps) +
                            ", \"epochs\": " + std::to_string(result.epoch->epochs) +
                            ", \"proven_epochs\": " + std::to_string(result.epoch->proven_epochs) +
                            "}");
  }
  fields.add("solver_time_s", json::number(result.solver_time_s));
  fields.add("core_seconds", json::number(result.core_seconds));
  fields.add("peak_rss_bytes", std::to_string(result.peak_rss_bytes));
  text += line + "}";
}

}  // namespace

EventfulPlan parse_eventful_plan(std::string_view text, const std::string& label) {
  const json::Document document(text, label, json::Origin::own);
  const Place root(document);
  json::expect_format(root, kPlanFormat);
  root.expect_keys(
      {"format", "topology", "jobs", "relays", "events", "chunks", "sends", "result", "symmetry"});
  EventfulPlan plan;
  Problem& problem = plan.problem;
  problem.topology = topology_at(root.at("topology"));
  const auto symmetry = value_at(root, "symmetry");
  if (symmetry) {
    problem.symmetry.generators = generators_at(*symmetry, problem.topology.nodes().size());
  }
  problem.jobs = jobs_at(root.at("jobs"), problem.topology, JobForm::plan,
                         most_images(problem.topology, problem.symmetry));
  if (const auto relays = root.find("relays")) problem.relays = relays_at(*relays);
  if (const auto events = value_at(root, "events")) {
    for (std::size_t i = 0; i < events->size(); ++i) {
      const Place event = (*events)[i];
      plan.events.push_back(event_at(event, problem));
    }
    if (symmetry && !plan.events.empty()) {
      events->fail("a plan with events cannot have a symmetry: leave out one of them");
    }
  }
  const Place chunks = root.at("chunks");
  problem.chunks.reserve(chunks.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    problem.chunks.push_back(chunk_at(chunks[i], problem));
  }
  plan.sends = sends_at(root.at("sends"), problem);
  plan.result = result_at(root.at("result"), problem);
  // Where representatives are not enough to judge by, the whole plan is.
  if (!problem.symmetry.trivial() && check::Quotient(problem).build()) {
    try {
      expand(plan);
    } catch (const Error& error) {
      symmetry->fail(error.what());
    }
  }
  return plan;
}

EventfulPlan read_eventful_plan(const std::string& path) {
  return parse_eventful_plan(read_file(path), path);
}

Plan parse_plan(std::string_view text, const std::string& label) {
  EventfulPlan plan = parse_eventful_plan(text, label);
  if (!plan.events.empty()) {
    throw Error(ErrorCode::unsolved,
                label +
                    ": things happen during this plan (events), which only `verify` and "
                    "`replan` can take into account; use the plan as it was before them");
  }
  return plan;  // NOLINT: there is nothing in it but a plan
}

Plan read_plan(const std::string& path) { return parse_plan(read_file(path), path); }

namespace {

std::string format(const Plan& plan, const std::vector<Event>& events) {
  std::string text = "{\n  \"format\": " + json::quote(kPlanFormat) + ",\n  \"topology\": ";
  append_topology(text, plan.problem.topology, "  ");
  text += ",\n  \"jobs\": ";
  append_jobs(text, plan.problem.jobs, plan.problem.topology, JobForm::plan, "  ");
  text += ",\n  \"relays\": ";
  text += plan.problem.relays == Relays::all ? "\"all\"" : "\"members\"";
  if (!plan.problem.symmetry.trivial()) {
    text += ",\n  \"symmetry\": {\"generators\": ";
    append_list(text, plan.problem.symmetry.generators,
                [&](const Permutation& g) { append_ids(text, g); });
    text += "}";
  }
  if (!events.empty()) {
    text += ",\n  \"events\": [";
    for (std::size_t i = 0; i < events.size(); ++i) {
      text += i > 0 ? ",\n    " : "\n    ";
      append_event(text, events[i]);
    }
    text += "\n  ]";
  }
  text += ",\n  \"chunks\": [";
  for (std::size_t i = 0; i < plan.problem.chunks.size(); ++i) {
    text += i > 0 ? ",\n    " : "\n    ";
    append_chunk(text, plan.problem.chunks[ChunkId(i)]);
  }
  text += "\n  ],\n  \"sends\": ";
  append_sends(text, plan.problem, plan.sends);
  text += ",\n  \"result\": ";
  append_result(text, plan, "  ");
  return text + "\n}\n";
}

}  // namespace

std::string format_plan(const Plan& plan) { return format(plan, {}); }
std::string format_plan(const EventfulPlan& plan) { return format(plan, plan.events); }

std::string format_result(const Plan& plan) {
  std::string text;
  append_result(text, plan, "");
  return text + "\n";
}

std::string format_bounds(const Bound& any_chunking, const Bound& chunked) {
  std::string text = "{\n  ";
  Fields fields(text, ",\n  ");
  fields.add("bound_ps", time_text(any_chunking));
  fields.add("bound_kind", kind_text(any_chunking));
  fields.add("bound_certificate", proof_text(any_chunking));
  fields.add("bound_chunked_ps", time_text(chunked));
  fields.add("bound_chunked_kind", kind_text(chunked));
  fields.add("bound_chunked_certificate", proof_text(chunked));
  return text + "\n}\n";
}

void write_plan(const Plan& plan, const std::string& path) { write_file(path, format_plan(plan)); }
void write_plan(const EventfulPlan& plan, const std::string& path) {
  write_file(path, format_plan(plan));
}

}  // namespace stellwerk
