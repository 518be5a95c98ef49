#include "stellwerk/bench/published.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

/// The fields of one line of CSV; quotes as in RFC 4180.
std::vector<std::string> split_csv(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

/// A CSV file that is read line by line, with the names of its columns.
class Lines {
 public:
  Lines(std::string_view csv, std::string name) : rest_(csv), name_(std::move(name)) {
    if (!advance()) refuse("is empty: give a CSV with a line of column names");
    header_ = fields_;
  }

  /// False after the last line. Empty lines are skipped.
  bool advance() {
    while (!rest_.empty()) {
      std::string_view line = take_line(rest_);
      ++number_;
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      if (line.empty()) continue;
      fields_ = split_csv(line);
      return true;
    }
    return false;
  }

  const std::string& text(std::string_view column) const {
    const auto found = std::find(header_.begin(), header_.end(), column);
    if (found == header_.end()) {
      refuse("has no column " + in_quotes(column) + ": is it a list of published results?");
    }
    const auto at = static_cast<std::size_t>(found - header_.begin());
    if (at >= fields_.size()) complain(column, "is missing");
    return fields_[at];
  }

  double positive(std::string_view column) const {
    const std::string& field = text(column);
    const auto value = whole_number<double>(field);
    if (!value || !std::isfinite(*value) || *value <= 0)
      complain(column, in_quotes(field) + " is not a positive number");
    return *value;
  }

  [[noreturn]] void complain(std::string_view column, const std::string& what) const {
    refuse("line " + std::to_string(number_) + ", " + std::string(column) + ": " + what);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::unreadable_input, name_ + ": " + what);
  }

  std::string_view rest_;
  std::string name_;
  std::size_t number_ = 0;
  std::vector<std::string> header_, fields_;
};

std::string title(Collective collective) {
  return collective == Collective::allgather ? "AllGather" : "AllToAll";
}

/// The topology of the catalogue that published results are for.
std::string topology_of(const PublishedInstance& instance) {
  if (instance.topology == "NDv2") {
    return instance.chassis == 2 ? "ndv2-2-as-published"
                                 : "ndv2:" + std::to_string(instance.chassis);
  }
  return "dgx2:" + std::to_string(instance.chassis);
}

/// The published time is below a valid bound: latencies below a tenth of an epoch are missing.
bool below_bound(const PublishedRow& row) {
  const Measurement& m = row.measured.result;
  return m.bound && row.published.finish_us < m.bound->seconds() * 1e6;
}

std::optional<double> geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace

std::vector<PublishedInstance> parse_published(std::string_view csv, const std::string& name) {
  Lines lines(csv, name);
  std::vector<PublishedInstance> instances;
  std::map<std::tuple<std::string, std::int64_t, Collective, std::string>, std::size_t> known;
  while (lines.advance()) {
    PublishedInstance instance;
    instance.topology = lines.text("topology");
    if (instance.topology != "NDv2" && instance.topology != "DGX2") {
      lines.complain("topology", in_quotes(instance.topology) + " is neither NDv2 nor DGX2");
    }
    const double chassis = lines.positive("chassis");
    instance.chassis = static_cast<std::int64_t>(chassis);
    if (static_cast<double>(instance.chassis) != chassis || instance.chassis > 1000) {
      lines.complain("chassis", in_quotes(lines.text("chassis")) + " is not a number of chassis");
    }
    const std::string& collective = lines.text("collective");
    if (collective != "allgather" && collective != "alltoall") {
      lines.complain("collective", in_quotes(collective) + " is neither allgather nor alltoall");
    }
    instance.collective = parse_collective(collective);
    instance.epoch_mode = lines.text("epoch_mode");
    instance.label = lines.text("output_size");
    try {
      if (parse_bytes(instance.label).value < 1) throw Error(ErrorCode::usage, "is not positive");
    } catch (const Error&) {
      lines.complain("output_size", in_quotes(instance.label) + " is not a size");
    }
    instance.finish_us = lines.positive("finish_us");
    instance.solver_s = lines.positive("solver_s");
    const bool double_chunks = instance.topology == "DGX2" &&
                               instance.collective == Collective::allgather &&
                               instance.epoch_mode == "Fast_Early_Stop";
    if (double_chunks) continue;
    const auto [entry, fresh] = known.emplace(
        std::tuple(instance.topology, instance.chassis, instance.collective, instance.label),
        instances.size());
    if (fresh) {
      instances.push_back(std::move(instance));
    } else if (instance.finish_us < instances[entry->second].finish_us) {
      instances[entry->second] = std::move(instance);
    }
  }
  if (instances.empty()) {
    throw Error(ErrorCode::unreadable_input, name + ": lists no results");
  }
  return instances;
}

std::vector<PublishedRow> published_rows(const std::vector<PublishedInstance>& instances,
                                         const Case& common) {
  std::vector<PublishedRow> rows, reported;
  for (const PublishedInstance& instance : instances) {
    PublishedRow row;
    row.measured.what = common;
    row.published = instance;
    Case& what = row.measured.what;
    what.topology = topology_of(instance);
    what.collective = instance.collective;
    const Bytes label = parse_bytes(instance.label);
    what.size = label;
    const std::string machine = instance.topology + " x " + std::to_string(instance.chassis);
    row.group = machine + " " + title(instance.collective);
    if (what.topology == "ndv2-2-as-published") {
      // 15 ranks, each of which contributes, or sends to each other, a sixteenth of the label.
      what.size = Bytes{(label.value * 15 + 15) / 16};
      PublishedRow real = row;
      real.measured.what.topology = "ndv2:2";
      real.measured.what.size = label;
      real.group = machine + " of 16 GPUs " + title(instance.collective);
      real.compared = false;
      reported.push_back(std::move(real));
    }
    rows.push_back(std::move(row));
  }
  rows.insert(rows.end(), reported.begin(), reported.end());
  // AllToAll plans are found soon: first, they leave time for the others. What is only reported
  // comes before what is compared, for the same reason.
  std::stable_sort(rows.begin(), rows.end(), [](const PublishedRow& a, const PublishedRow& b) {
    const auto place = [](const PublishedRow& row) {
      return std::pair(row.measured.what.collective != Collective::alltoall, row.compared);
    };
    return place(a) < place(b);
  });
  return rows;
}

std::optional<double> published_ratio(const PublishedRow& row) {
  const Measurement& m = row.measured.result;
  if (!m.planned || !row.compared) return std::nullopt;
  return m.transfer_time.seconds() * 1e6 / row.published.finish_us;
}

std::optional<double> bound_ratio(const PublishedRow& row) {
  const Measurement& m = row.measured.result;
  if (!m.planned || !m.bound || m.bound->ps <= 0) return std::nullopt;
  return m.transfer_time.seconds() / m.bound->seconds();
}

bool keeps_up(const PublishedRow& row) {
  if (!row.compared) return true;
  const std::optional<double> ratio = published_ratio(row);
  if (!ratio) return false;
  return *ratio <= 1 || (below_bound(row) && bound_ratio(row).value_or(2) <= 1.0005);
}

const std::vector<Column<PublishedRow>>& published_columns() {
  using Row = PublishedRow;
  static const std::vector<Column<Row>> columns = [] {
    std::vector<Column<Row>> result = {
        {"instance", "group", [](const Row& r) { return r.group; }, nullptr},
        {"size", "label", [](const Row& r) { return r.published.label; }, nullptr},
        {"transfer time", "",
         [](const Row& r) {
           const Measurement& m = r.measured.result;
           return m.planned ? to_string(m.transfer_time) : "-: " + m.note;
         },
         nullptr},
        {"bound", "", [](const Row& r) { return time_text(r.measured.result.bound); }, nullptr},
        {"gap", "", [](const Row& r) { return gap_text(r.measured.result); }, nullptr},
        {"solver time", "",
         [](const Row& r) {
           return r.measured.result.planned ? seconds_text(r.measured.result.solver_time_s)
                                            : std::string("-");
         },
         nullptr},
        {"published", "published_us",
         [](const Row& r) {
           return r.compared ? fmt::format("{:.6g} us", r.published.finish_us) : std::string("-");
         },
         [](const Row& r) { return r.compared ? number(r.published.finish_us) : std::string(); }},
        {"its solver time", "published_solver_s",
         [](const Row& r) {
           return r.compared ? fmt::format("{:.0f} s", r.published.solver_s) : std::string("-");
         },
         [](const Row& r) { return r.compared ? number(r.published.solver_s) : std::string(); }},
        {"ours / published", "ratio_to_published",
         [](const Row& r) {
           return ratio_text(published_ratio(r)) + (below_bound(r) && r.compared ? " (*)" : "") +
                  (keeps_up(r) ? "" : " behind");
         },
         [](const Row& r) { return number(published_ratio(r)); }},
    };
    const std::vector<Column<Row>> plain = lifted(plain_columns(), &Row::measured);
    result.insert(result.end(), plain.begin(), plain.end());
    return result;
  }();
  return columns;
}

std::vector<PublishedSummary> summarise(const std::vector<PublishedRow>& rows) {
  std::vector<std::string> groups;
  std::map<std::string, std::vector<const PublishedRow*>> members;
  const auto join = [&](const std::string& group, const PublishedRow& row) {
    std::vector<const PublishedRow*>& list = members[group];
    if (list.empty()) groups.push_back(group);
    list.push_back(&row);
  };
  for (const PublishedRow& row : rows) join(row.group, row);
  // What was published of one machine and collective, whatever the number of chassis.
  for (const PublishedRow& row : rows) {
    if (row.compared)
      join("all " + row.published.topology + " " + title(row.published.collective), row);
  }
  std::vector<PublishedSummary> result;
  for (const std::string& group : groups) {
    PublishedSummary summary;
    summary.group = group;
    std::vector<double> to_bound, to_published;
    for (const PublishedRow* row : members[group]) {
      if (row->measured.result.planned) ++summary.rows;
      if (const auto ratio = bound_ratio(*row)) to_bound.push_back(*ratio);
      if (const auto ratio = published_ratio(*row)) to_published.push_back(*ratio);
      if (!keeps_up(*row)) ++summary.behind;
      summary.solver_time_s += row->measured.result.solver_time_s;
    }
    summary.to_bound = geometric_mean(to_bound);
    summary.to_published = geometric_mean(to_published);
    for (const double ratio : to_bound)
      summary.worst_to_bound = std::max(summary.worst_to_bound, ratio);
    result.push_back(std::move(summary));
  }
  return result;
}

const std::vector<Column<PublishedSummary>>& published_summary_columns() {
  using Row = PublishedSummary;
  static const std::vector<Column<Row>> columns = {
      {"instances", "group", [](const Row& r) { return r.group; }, nullptr},
      {"plans", "plans", [](const Row& r) { return std::to_string(r.rows); }, nullptr},
      {"to the bound (geometric mean)", "to_bound",
       [](const Row& r) { return ratio_text(r.to_bound); },
       [](const Row& r) { return number(r.to_bound); }},
      {"worst", "worst_to_bound", [](const Row& r) { return ratio_text(r.worst_to_bound); },
       [](const Row& r) { return number(r.worst_to_bound); }},
      {"to the published time (geometric mean)", "to_published",
       [](const Row& r) { return ratio_text(r.to_published); },
       [](const Row& r) { return number(r.to_published); }},
      {"behind", "behind", [](const Row& r) { return std::to_string(r.behind); }, nullptr},
      {"solver time", "solver_time_s", [](const Row& r) { return seconds_text(r.solver_time_s); },
       [](const Row& r) { return number(r.solver_time_s); }},
  };
  return columns;
}

}  // namespace stellwerk
