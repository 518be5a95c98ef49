#include "stellwerk/bench/suites.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace stellwerk {
namespace {

constexpr std::int64_t kMegabyte = 1'000'000;
constexpr std::int64_t kGigabyte = 1'000'000'000;

struct Fabric {
  std::int64_t gpus;
  const char* name;
};
constexpr std::array kFabrics = {
    Fabric{64, "rail:8x8"},
    Fabric{64, "torus:8x8"},
    Fabric{64, "leaf-spine:8x8,per-leaf=4"},
    Fabric{256, "rail:32x8"},
    Fabric{256, "torus:16x16"},
    Fabric{256, "leaf-spine:32x8"},
    Fabric{1024, "rail:128x8"},
    Fabric{1024, "torus:32x32"},
    Fabric{1024, "torus:8x8x16"},
    Fabric{1024, "leaf-spine:128x8"},
    Fabric{1024, "fat-tree:4x4x8"},
    Fabric{1024, "boxes:128x8"},
    Fabric{1056, "dragonfly:8x4x4"},
    Fabric{4096, "rail:512x8"},
    Fabric{4096, "torus:16x16x16"},
    Fabric{16384, "rail:2048x8"},
    Fabric{16384, "torus:16x32x32"},
};

struct Task {
  Collective collective;
  std::int64_t size;
};
constexpr std::array kTasks = {
    Task{Collective::allgather, kGigabyte}, Task{Collective::allgather, kMegabyte},
    Task{Collective::alltoall, kGigabyte}, Task{Collective::allreduce, kGigabyte},
    Task{Collective::allreduce, kMegabyte}};

/// What others reach, on one core of the same kind of machine. SCCL and ForestColl count bandwidth
/// only; TACOS's is the best of 20 runs, its time that of one. For 16 x 16 grids ForestColl's time
/// is that of its bound alone.
struct Peer {
  const char* topology;
  std::int64_t size;
  std::optional<PeerFigure> sccl, tacos, forestcoll;
};
const std::vector<Peer>& peers() {
  static const std::vector<Peer> list = {
      {"dgx1", kGigabyte, PeerFigure{171.4, 39}, PeerFigure{168.1, 0.008}, PeerFigure{171.4, 0.13}},
      {"dgx1", std::int64_t{64} << 20, std::nullopt, PeerFigure{162.2, 0.008}, std::nullopt},
      {"dgx1", std::int64_t{1} << 20, std::nullopt, PeerFigure{105.2, 0.008}, std::nullopt},
      {"mesh:4x4", kGigabyte, PeerFigure{100, 65}, PeerFigure{106.5, 0.002},
       PeerFigure{106.7, 0.5}},
      {"torus:4x4", kGigabyte, PeerFigure{200, 84}, PeerFigure{213.0, 0.002},
       PeerFigure{213.3, 0.7}},
      {"mesh:8x8", kGigabyte, std::nullopt, PeerFigure{101.0, 0.15}, PeerFigure{101.6, 22}},
      {"torus:8x8", kGigabyte, std::nullopt, PeerFigure{198.8, 0.10}, PeerFigure{203.2, 57}},
      {"mesh:16x16", kGigabyte, std::nullopt, PeerFigure{99.4, 1.3}, PeerFigure{100.4, 34}},
      {"torus:16x16", kGigabyte, std::nullopt, PeerFigure{195.8, 0.6}, PeerFigure{200.8, 39}},
      {"torus:32x32", kGigabyte, std::nullopt, PeerFigure{193.1, 81}, std::nullopt},
      {"dgx-a100:2,fabric=switch", kGigabyte, std::nullopt, PeerFigure{308.6, 0.02},
       PeerFigure{346.7, 4.6}},
      {"dgx-a100:4,fabric=switch", kGigabyte, std::nullopt, std::nullopt, PeerFigure{266.7, 1.0}},
      {"mi250:2", kGigabyte, std::nullopt, std::nullopt, PeerFigure{354.1, 1.1}},
  };
  return list;
}

std::string peer_text(const std::optional<PeerFigure>& figure) {
  return figure ? fmt::format("{:.1f} GB/s ({:.3g} s)", figure->algbw_gb, figure->seconds) : "-";
}

template <class Row>
Column<Row> shown(std::string heading, std::function<std::string(const Row&)> text) {
  return {std::move(heading), "", std::move(text), nullptr};
}

}  // namespace

std::vector<MeasuredCase> scale_cases(const Case& common, std::int64_t least_gpus,
                                      std::int64_t most_gpus, std::optional<std::int64_t> relabel) {
  std::vector<MeasuredCase> rows;
  for (const Fabric& fabric : kFabrics) {
    if (fabric.gpus < least_gpus || fabric.gpus > most_gpus) continue;
    for (const Task& task : kTasks) {
      Case what = common;
      what.topology = fabric.name;
      if (relabel) what.topology += ",relabel=" + std::to_string(*relabel);
      what.collective = task.collective;
      what.size = Bytes{task.size};
      rows.push_back({what, {}});
      rows.back().result.gpus = fabric.gpus;
    }
  }
  return rows;
}

const std::vector<Column<MeasuredCase>>& scale_columns() {
  using Row = MeasuredCase;
  static const std::vector<Column<Row>> columns = [] {
    std::vector<Column<Row>> result = {
        shown<Row>("topology", [](const Row& r) { return r.what.topology; }),
        shown<Row>("GPUs", [](const Row& r) { return std::to_string(r.result.gpus); }),
        shown<Row>("collective",
                   [](const Row& r) {
                     return std::string(to_string(r.what.collective)) + " " +
                            to_string(r.what.size);
                   }),
        shown<Row>("transfer time",
                   [](const Row& r) {
                     return r.result.planned ? to_string(r.result.transfer_time) : std::string("-");
                   }),
        shown<Row>("bound", [](const Row& r) { return time_text(r.result.bound); }),
        shown<Row>("gap", [](const Row& r) { return gap_text(r.result); }),
        shown<Row>("solver time",
                   [](const Row& r) {
                     return r.result.planned ? seconds_text(r.result.solver_time_s)
                                             : std::string("-");
                   }),
        shown<Row>("CPU", [](const Row& r) { return seconds_text(r.result.core_seconds); }),
        shown<Row>("peak memory",
                   [](const Row& r) { return to_string(Bytes{r.result.peak_rss_bytes}); }),
        shown<Row>("group",
                   [](const Row& r) {
                     return r.result.planned ? std::to_string(r.result.symmetry) : std::string("-");
                   }),
        shown<Row>("planner",
                   [](const Row& r) {
                     return r.result.planner +
                            (r.result.planner.empty() || r.result.note.empty() ? "" : "; ") +
                            r.result.note;
                   }),
    };
    const std::vector<Column<Row>> plain = plain_columns();
    result.insert(result.end(), plain.begin(), plain.end());
    return result;
  }();
  return columns;
}

std::vector<PeerRow> peer_rows(const Case& common) {
  std::vector<PeerRow> rows;
  for (const Peer& peer : peers()) {
    PeerRow row;
    row.measured.what = common;
    row.measured.what.topology = peer.topology;
    row.measured.what.collective = Collective::allgather;
    row.measured.what.size = Bytes{peer.size};
    row.sccl = peer.sccl;
    row.tacos = peer.tacos;
    row.forestcoll = peer.forestcoll;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<double> share_of_optimum(const PeerRow& row) {
  double best = 0;
  for (const auto& figure : {row.sccl, row.forestcoll}) {
    if (figure) best = std::max(best, figure->algbw_gb * 1e9);
  }
  if (best == 0 || !row.measured.result.algbw) return std::nullopt;
  return *row.measured.result.algbw / best;
}

const std::vector<Column<PeerRow>>& peer_columns() {
  using Row = PeerRow;
  static const std::vector<Column<Row>> columns = [] {
    const auto figure = [](std::string heading, std::string key,
                           std::optional<PeerFigure> Row::* part) {
      return Column<Row>{std::move(heading), std::move(key),
                         [part](const Row& r) { return peer_text(r.*part); },
                         [part](const Row& r) {
                           return r.*part ? number((r.*part)->algbw_gb * 1e9) : std::string();
                         }};
    };
    std::vector<Column<Row>> result = {
        shown<Row>("topology", [](const Row& r) { return r.measured.what.topology; }),
        shown<Row>("size", [](const Row& r) { return to_string(r.measured.what.size); }),
        shown<Row>("algbw", [](const Row& r) { return rate_text(r.measured.result.algbw); }),
        shown<Row>("gap", [](const Row& r) { return gap_text(r.measured.result); }),
        shown<Row>(
            "solver time",
            [](const Row& r) { return fmt::format("{:.3f} s", r.measured.result.solver_time_s); }),
        figure("SCCL", "sccl_algbw", &Row::sccl),
        figure("TACOS", "tacos_algbw", &Row::tacos),
        figure("ForestColl", "forestcoll_algbw", &Row::forestcoll),
        {"of the latency-free optimum", "share_of_optimum",
         [](const Row& r) {
           const auto share = share_of_optimum(r);
           return share ? fmt::format("{:.2f}%", 100 * *share) : std::string("-");
         },
         [](const Row& r) { return number(share_of_optimum(r)); }},
        {"over TACOS", "over_tacos",
         [](const Row& r) {
           return r.tacos && r.measured.result.algbw
                      ? fmt::format(
                            "{:+.2f}%",
                            100 * (*r.measured.result.algbw / (r.tacos->algbw_gb * 1e9) - 1))
                      : std::string("-");
         },
         [](const Row& r) {
           return r.tacos && r.measured.result.algbw
                      ? number(*r.measured.result.algbw / (r.tacos->algbw_gb * 1e9))
                      : std::string();
         }},
        shown<Row>("note", [](const Row& r) { return r.measured.result.note; }),
    };
    const std::vector<Column<Row>> plain = lifted(plain_columns(), &Row::measured);
    result.insert(result.end(), plain.begin(), plain.end());
    return result;
  }();
  return columns;
}

}  // namespace stellwerk
