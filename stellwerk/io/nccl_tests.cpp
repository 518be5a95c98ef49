#include "stellwerk/io/nccl_tests.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/json.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

constexpr std::size_t kMostRanks = 1 << 20;
constexpr std::size_t kMostRows = 1 << 20;

/// A measured time: positive and below a day.
std::optional<double> microseconds(std::string_view text) {
  const auto value = whole_number<double>(text);
  if (!value || !(*value > 0 && *value < 1e11)) return std::nullopt;
  return value;
}

/// What mpirun --tag-output ("[1,0]<stdout>:") and srun --label ("0: ") put before a line.
std::string_view without_prefix(std::string_view line) {
  if (line.starts_with("[")) {
    const std::size_t tag = line.substr(0, 64).find("<std");
    const std::size_t colon = tag == std::string_view::npos ? tag : line.find(">:", tag);
    if (colon != std::string_view::npos) return line.substr(colon + 2);
  }
  const std::size_t digits = line.find_first_not_of("0123456789");
  if (digits != std::string_view::npos && digits > 0 && line.substr(digits).starts_with(": "))
    return line.substr(digits + 2);
  return line;
}

/// Where the log says which test it is, by the name of its program.
std::optional<Collective> collective_of_program(std::string_view name) {
  static const std::map<std::string_view, Collective> programs = {
      {"all_reduce_perf", Collective::allreduce},
      {"all_gather_perf", Collective::allgather},
      {"reduce_scatter_perf", Collective::reducescatter},
      {"alltoall_perf", Collective::alltoall},
      {"broadcast_perf", Collective::broadcast},
      {"reduce_perf", Collective::reduce},
      {"gather_perf", Collective::gather},
      {"scatter_perf", Collective::scatter},
      {"sendrecv_perf", Collective::sendrecv}};
  const auto found = programs.find(name.substr(name.find_last_of('/') + 1));
  return found == programs.end() ? std::nullopt : std::optional(found->second);
}

/// What both forms fill in.
class Builder {
 public:
  explicit Builder(const std::string& file) : file_(file) { log_.name = file; }

  void rank(std::int64_t rank, std::string_view host, std::int64_t device, std::string_view model) {
    if (rank < 0 || rank >= static_cast<std::int64_t>(kMostRanks)) return;
    if (!ranks_.insert(rank).second) return;
    log_.ranks = std::max(log_.ranks, static_cast<std::size_t>(rank) + 1);
    hosts_.insert(std::string(host));
    ++devices_[{std::string(host), device}];
    if (!model.empty() && log_.models.size() < 16 &&
        std::find(log_.models.begin(), log_.models.end(), model) == log_.models.end())
      log_.models.emplace_back(model);
  }

  void row(NcclTestsLog::Row row, double bus_over_alg, std::string_view redop, bool root,
           bool blank_redop) {
    if (log_.rows.size() >= kMostRows) fail("more than " + std::to_string(kMostRows) + " rows");
    // The ratio of the largest row is the most exact one.
    if (row.bytes >= largest_ && bus_over_alg > 0) {
      largest_ = row.bytes;
      ratio_ = bus_over_alg;
    }
    reduces_ = reduces_ || (!redop.empty() && redop != "none");
    rooted_ = rooted_ || root;
    blank_redop_ = blank_redop_ || blank_redop;
    log_.rows.push_back(row);
  }
  void program(std::string_view name) {
    if (const auto collective = collective_of_program(name)) stated_ = collective;
  }
  void note(std::string text) { log_.notes.push_back(std::move(text)); }

  NcclTestsLog finish() {
    if (log_.rows.empty()) fail("there is no row of measurements in it");
    if (log_.ranks == 0) fail("there is no line '# Rank ...' that says who took part");
    if (ranks_.size() != log_.ranks)
      note(std::to_string(log_.ranks - ranks_.size()) + " lines of ranks are missing");
    std::size_t most = 1;
    for (const auto& [device, count] : devices_) most = std::max(most, count);
    log_.hosts = hosts_.size();
    if (most > 1) {
      log_.hosts = hosts_.size() * most;
      note("several ranks have one host's name and device: taken as " + std::to_string(log_.hosts) +
           " hosts");
    }
    if (stated_) {
      log_.collectives = {*stated_};
    } else {
      guess();
    }
    return std::move(log_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::unreadable_input, one_line(file_) + ": " + what);
  }

  /// What the columns and the ratio of bus and algorithm bandwidth allow.
  void guess() {
    for (const CollectiveRow& row : stellwerk::collectives()) {
      const Collective c = row.collective;
      if (c == Collective::custom || c == Collective::alltoallv) continue;
      const double factor = busbw_factor(c, log_.ranks);
      if (ratio_ > 0 && std::abs(ratio_ - factor) > 0.02 * factor) continue;
      if (row.reduction != reduces_) continue;
      if (row.rooted != rooted_) continue;
      // Old layouts leave the cell of redop blank for AllToAll, and have no such column for AllGather.
      if (c != Collective::alltoall && c != Collective::sendrecv && blank_redop_) continue;
      log_.collectives.push_back(c);
    }
  }

  const std::string& file_;
  NcclTestsLog log_;
  std::set<std::int64_t> ranks_;
  std::set<std::string> hosts_;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> devices_;
  std::optional<Collective> stated_;
  std::int64_t largest_ = 0;
  double ratio_ = 0;
  bool reduces_ = false, rooted_ = false, blank_redop_ = false;
};

/// Lines of text. A row is "size count type [redop] [root] time algbw busbw wrong time algbw busbw wrong ...": what is at the
/// front varies, so times are counted from the end, by the columns of the heading.
class TextReader {
 public:
  explicit TextReader(const std::string& file) : builder_(file) {}

  NcclTestsLog read(std::string_view text) {
    for (std::size_t number = 1; !text.empty(); ++number) {
      // Longer lines are none of nccl-tests.
      const auto lines = split_lines(without_prefix(take_line(text).substr(0, 4096)));
      if (!lines.empty() && !lines[0].words.empty()) read_line(lines[0].words, number);
    }
    if (cut_ > 0) {
      builder_.note(std::to_string(cut_) + " rows are cut off by other output (the first in line " +
                    std::to_string(first_cut_) + ")");
    }
    if (wrong_ > 0) builder_.note(std::to_string(wrong_) + " rows with wrong results are left out");
    return builder_.finish();
  }

 private:
  using Words = std::vector<std::string_view>;

  void read_line(const Words& words, std::size_t line) {
    if (words[0] == "#" && words.size() > 1) {
      if (words[1] == "Rank") return read_rank(words);
      if (words[1] == "size") return read_heading(words);
      if (words[1] == "Collective" && words.size() == 5) builder_.program(words[4]);
      return;
    }
    const auto bytes = whole_number<std::int64_t>(words[0]);
    if (tail_ == 0 || !bytes || *bytes < 0 || words.size() < 3 ||
        !whole_number<std::int64_t>(words[1]))
      return;
    read_row(words, *bytes, line);
  }

  /// "#  Rank  0 Group  0 Pid 42 on host device  0 [0x00] NVIDIA H100".
  void read_rank(const Words& words) {
    const auto rank = whole_number<std::int64_t>(words.size() > 2 ? words[2] : "");
    const auto on = std::find(words.begin(), words.end(), "on");
    if (!rank || words.end() - on < 4 || on[2] != "device") return;
    const auto device = whole_number<std::int64_t>(on[3]);
    std::string model;
    for (auto word = on + 4; word < words.end(); ++word) {
      if (word->starts_with("[")) continue;
      model += (model.empty() ? "" : " ") + std::string(*word);
    }
    builder_.rank(*rank, on[1], device.value_or(-1), model);
  }

  void read_heading(const Words& words) {
    const auto time = std::find_if(words.begin(), words.end(), [](std::string_view word) {
      return word == "time" || word == "cputime";
    });
    const auto second = std::find_if(time == words.end() ? time : time + 1, words.end(),
                                     [&](std::string_view word) { return word == *time; });
    // Time, algbw and busbw at least.
    if (second == words.end() || second - time < 3 || words.end() - second < 3) return;
    first_ = static_cast<std::size_t>(words.end() - time);
    second_ = static_cast<std::size_t>(words.end() - second);
    // A timestamp is a date and a time.
    if (words.back() == "timestamp") {
      ++first_;
      ++second_;
    }
    tail_ = first_;
    redop_ = std::find(words.begin(), time, "redop") != time;
    root_ = std::find(words.begin(), time, "root") != time;
    wrong_column_ = std::find(time, words.end(), "#wrong") != words.end();
  }

  void read_row(const Words& words, std::int64_t bytes, std::size_t line) {
    const std::size_t front = words.size() > tail_ ? words.size() - tail_ : 0;
    const auto cell = [&](std::size_t from_end, std::size_t k) {
      return words[words.size() - from_end + k];
    };
    if (front < 3 || front > 5 || !whole_number<double>(cell(first_, 0)) ||
        !whole_number<double>(cell(first_, 2)) || !whole_number<double>(cell(second_, 2))) {
      if (cut_++ == 0) first_cut_ = line;
      return;
    }
    const auto bad = [&](std::size_t at) {
      const auto count = wrong_column_ && at > 3 ? whole_number<double>(cell(at, 3)) : std::nullopt;
      return count && *count > 0;
    };
    NcclTestsLog::Row row{bytes, std::nullopt, std::nullopt};
    if (!bad(first_)) row.out_of_place_us = microseconds(cell(first_, 0));
    if (!bad(second_)) row.in_place_us = microseconds(cell(second_, 0));
    wrong_ += bad(first_) || bad(second_);
    const std::size_t cells = 3 + (redop_ ? 1 : 0) + (root_ ? 1 : 0);
    const std::string_view redop = redop_ && front == cells ? words[3] : "";
    const auto root = root_ ? whole_number<std::int64_t>(words[front - 1]) : std::nullopt;
    const double alg = whole_number<double>(cell(first_, 1)).value_or(0);
    const double bus = whole_number<double>(cell(first_, 2)).value_or(0);
    builder_.row(row, alg > 0 ? bus / alg : 0, redop, root.value_or(-1) >= 0,
                 redop_ && front < cells);
  }

  Builder builder_;
  std::size_t tail_ = 0, first_ = 0, second_ = 0;  // columns from the end
  bool redop_ = false, root_ = false, wrong_column_ = false;
  std::size_t cut_ = 0, first_cut_ = 0, wrong_ = 0;
};

NcclTestsLog read_json(std::string_view text, const std::string& file) {
  const json::Document document(text, file);
  const json::Place top(document);
  Builder builder(file);
  if (const auto arguments = top.find("args"); arguments && arguments->size() > 0)
    builder.program((*arguments)[0].text());
  const json::Place config = top.at("config");
  if (const auto devices = config.find("devices")) {
    for (std::size_t k = 0; k < devices->size(); ++k) {
      const json::Place device = (*devices)[k];
      const json::Place rank = device.at("rank"), host = device.at("hostname"),
                        number = device.at("device"), model = device.at("device_info");
      builder.rank(rank.integer(), host.text(), number.integer(), model.text());
    }
  }
  const json::Place results = top.at("results");
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < results.size(); ++k) {
    const json::Place result = results[k];
    const json::Place size = result.at("size"), redop = result.at("redop");
    NcclTestsLog::Row row{size.integer(0, INT64_MAX), std::nullopt, std::nullopt};
    double ratio = 0;
    for (const bool in_place : {false, true}) {
      const auto part = result.find(in_place ? "in_place" : "out_of_place");
      if (!part || part->is_null()) continue;
      auto time = part->find("time");
      if (!time) time = part->find("cpu_time");
      if (!time) part->fail("there is no 'time' here");
      const json::Place alg = part->at("alg_bw"), bus = part->at("bus_bw");
      const auto errors = part->find("nwrong");
      if (errors && !errors->is_null() && errors->number() > 0) {
        ++wrong;
        continue;
      }
      if (!(time->number() > 0 && time->number() < 1e11)) continue;
      (in_place ? row.in_place_us : row.out_of_place_us) = time->number();
      if (alg.number() > 0) ratio = bus.number() / alg.number();
    }
    const json::Place root = result.at("root");
    std::string_view text_of_root = root.text();
    while (text_of_root.starts_with(" ")) text_of_root.remove_prefix(1);
    const auto number_of_root = whole_number<std::int64_t>(text_of_root);
    builder.row(row, ratio, redop.text(), number_of_root.value_or(-1) >= 0, false);
  }
  if (wrong > 0) builder.note(std::to_string(wrong) + " rows with wrong results are left out");
  return builder.finish();
}

}  // namespace

bool looks_like_nccl_tests(std::string_view text) {
  const auto has = [&](std::string_view what) { return text.find(what) != std::string_view::npos; };
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  // Our own plans are JSON that speaks of algbw and busbw, too.
  if (start != std::string_view::npos && text[start] == '{')
    return has("\"alg_bw\"") && has("\"bus_bw\"");
  return has("algbw") && has("busbw");
}

NcclTestsLog read_nccl_tests(std::string_view text, const std::string& file) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text[start] == '{') return read_json(text, file);
  return TextReader(file).read(text);
}

}  // namespace stellwerk
