#include <cmath>
#include <vector>

#include "stellwerk/io/catalogue.hpp"
#include "stellwerk/io/json.hpp"
#include "stellwerk/io/planner_topologies.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

constexpr std::int64_t kMostGpus = 1024;

/// "23 us a megabyte" as a rate.
Bandwidth rate_of(const json::Place& place) {
  const double beta = place.number();
  if (!(beta >= 1e-6 && beta <= 1e9)) place.fail("is not the time of a megabyte in us");
  return Bandwidth{std::llround(1e12 / beta)};
}

Time time_of(const json::Place& place) {
  const double us = place.number();
  if (!(us >= 0 && us <= 1e6)) place.fail("is not a latency in us");
  return Time{std::llround(us * 1e6)};
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file)
      : document_(text, file), root_(document_) {}

  Topology read() {
    const json::Place name = root_.at("name"), alpha = root_.at("alpha"),
                      count = root_.at("gpus_per_node");
    name_ = name.text();
    if (name_.ends_with("KB") || name_.ends_with("kB")) {
      name.fail(
          in_quotes(name_) +
          ": figures for a chunk of other than 1 MB are in a unit that the file does not name");
    }
    alpha_ = time_of(alpha);
    gpus_ = count.integer(1, kMostGpus);
    for (std::int64_t g = 0; g < gpus_; ++g) {
      Node node;
      node.name = "gpu" + std::to_string(g);
      node.host = "h0";
      nodes_.push_back(std::move(node));
    }
    if (root_.find("links")) {
      add_matrix();
    } else {
      const json::Place betas = root_.at("node_betas_list");
      if (betas.size() == 1) {
        add_switch(betas);
      } else if (betas.size() == 2 && gpus_ == 8) {
        add_cube_mesh(betas);
      } else {
        betas.fail(
            std::to_string(betas.size()) + " rates for " + std::to_string(gpus_) +
            " GPUs: one (a switch), or two for the 8 GPUs of an NDv2, or 'links' are wanted");
      }
    }
    return Topology(name_, note(), std::move(nodes_), std::move(links_));
  }

 private:
  std::string note() const {
    std::string text = "one node of a TACCL topology";
    if (const auto nics = root_.find("nics_per_node"); nics && nics->integer() > 0) {
      const json::Place beta = root_.at("remote_beta"), alpha = root_.at("remote_alpha");
      text += "; its network (" + std::to_string(nics->integer()) + " NICs, " +
              to_string(rate_of(beta)) + ", " + to_string(time_of(alpha)) +
              ") joins nodes as TACCL's sketches say, which are not part of it";
    }
    return text;
  }

  void connect(std::size_t from, std::size_t to, Bandwidth rate, Time latency) {
    links_.push_back({NodeId(from), NodeId(to), latency, rate, "TACCL topology: alpha and beta"});
  }

  void add_matrix() {
    const json::Place links = root_.at("links"), betas = root_.at("betas");
    const auto n = static_cast<std::size_t>(gpus_);
    for (const json::Place* matrix : {&links, &betas}) {
      if (matrix->size() != n)
        matrix->fail("has " + std::to_string(matrix->size()) + " rows, gpus_per_node is " +
                     std::to_string(n));
    }
    for (std::size_t i = 0; i < n; ++i) {
      const json::Place row = links[i], rates = betas[i];
      for (const json::Place* part : {&row, &rates}) {
        if (part->size() != n)
          part->fail("has " + std::to_string(part->size()) + " entries, gpus_per_node is " +
                     std::to_string(n));
      }
      for (std::size_t j = 0; j < n; ++j) {
        const json::Place there = row[j], beta = rates[j];
        if (there.integer(0, 1 << 20) == 0) continue;
        if (i == j) there.fail("a GPU is linked to itself");
        // Both are indexed [destination][source].
        connect(j, i, rate_of(beta), alpha_);
      }
    }
  }

  void add_switch(const json::Place& betas) {
    Node hub;
    hub.name = "switch";
    hub.host = "h0";
    hub.kind = NodeKind::switch_;
    nodes_.push_back(std::move(hub));
    const json::Place beta = betas[0];
    const auto n = static_cast<std::size_t>(gpus_);
    const Time half{alpha_.ps / 2};
    for (std::size_t g = 0; g < n; ++g) {
      connect(g, n, rate_of(beta), half);
      connect(n, g, rate_of(beta), Time{alpha_.ps - half.ps});
    }
  }

  /// The wiring of the catalogue's dgx1: pairs of two NVLinks have the first rate, of one the second.
  void add_cube_mesh(const json::Place& betas) {
    const json::Place twice = betas[0], once = betas[1];
    const Topology mesh = catalogue_topology("dgx1");
    for (const Link& link : mesh.links()) {
      const bool two = link.bandwidth > Bandwidth{25'000'000'000};
      connect(link.from.index(), link.to.index(), rate_of(two ? twice : once), alpha_);
    }
  }

  json::Document document_;
  json::Place root_;
  std::string name_;
  Time alpha_;
  std::int64_t gpus_ = 0;
  IdVector<NodeId, Node> nodes_;
  IdVector<LinkId, Link> links_;
};

}  // namespace

bool looks_like_taccl_topology(std::string_view text) {
  const std::string_view start = text.substr(0, 65'536);
  const auto has = [&](std::string_view what) {
    return start.find(what) != std::string_view::npos;
  };
  return has("\"gpus_per_node\"") &&
         (has("\"node_betas_list\"") || has("\"invbws\"") || has("\"betas\""));
}

Topology read_taccl_topology(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

}  // namespace stellwerk
