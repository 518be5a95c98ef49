// What the families of the catalogue are written with. Not for use outside io/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stellwerk/core/topology.hpp"

namespace stellwerk {

/// A positive ratio as somebody wrote it: "2", "1.5", "3:1".
struct Ratio {
  std::int64_t numerator = 1;
  std::int64_t denominator = 1;
  std::string text = "1";
};

/// A name of the catalogue, taken apart: family[:shape][,option[=value]]...
class CatalogueName {
 public:
  explicit CatalogueName(std::string_view name);

  const std::string& family() const { return family_; }
  const std::string& shape() const { return shape_; }

  /// Throws Error(usage) that begins with the name.
  [[noreturn]] void fail(const std::string& what) const;

  /// The shape as `low` to `high` numbers separated by x, each at least 1.
  std::vector<std::int64_t> dimensions(std::size_t low, std::size_t high,
                                       std::string_view example) const;
  void expect_no_shape() const;

  // Options: each is taken at most once, and refuse_leftovers names what nobody took.
  std::optional<std::string> take(std::string_view key);
  Bandwidth take_bandwidth(std::string_view key, Bandwidth otherwise);
  Time take_time(std::string_view key, Time otherwise);
  std::optional<std::int64_t> take_integer(std::string_view key);
  /// A number from 1 to `most`.
  std::int64_t take_count(std::string_view key, std::int64_t otherwise, std::int64_t most);
  /// At least 1/1000 and less than 10^6; 1 when absent.
  Ratio take_ratio(std::string_view key);
  bool take_flag(std::string_view key);
  /// Is the option given and not yet taken?
  bool has(std::string_view key) const;
  void refuse_leftovers() const;

 private:
  std::string name_;
  std::string family_;
  std::string shape_;
  bool has_shape_ = false;
  std::vector<std::pair<std::string, std::string>> options_;
  std::vector<std::string> known_;
};

/// A topology in the making.
struct CatalogueDraft {
  std::string name;
  std::string note;
  IdVector<NodeId, Node> nodes;
  IdVector<LinkId, Link> links;

  NodeId add(std::string node_name, NodeKind kind, std::string host);
  void connect(NodeId from, NodeId to, Bandwidth bandwidth, Time latency,
               const std::string& source);
};

/// Throws Error(usage) when a topology of this size is more than the catalogue makes.
void check_catalogue_size(const CatalogueName& name, double nodes, double links);

inline constexpr Bandwidth megabytes_per_second(std::int64_t value) { return {value * 1'000'000}; }
inline constexpr Time nanoseconds(std::int64_t value) { return {value * 1000}; }

CatalogueDraft draft_dgx1(CatalogueName& name);
CatalogueDraft draft_ndv2(CatalogueName& name);
CatalogueDraft draft_ndv2_as_published(CatalogueName& name);
CatalogueDraft draft_dgx2(CatalogueName& name);
CatalogueDraft draft_mesh(CatalogueName& name);
CatalogueDraft draft_torus(CatalogueName& name);
CatalogueDraft draft_ring(CatalogueName& name);
CatalogueDraft draft_hypercube(CatalogueName& name);
CatalogueDraft draft_full(CatalogueName& name);
CatalogueDraft draft_switch(CatalogueName& name);
CatalogueDraft draft_rail(CatalogueName& name);
CatalogueDraft draft_boxes(CatalogueName& name);
CatalogueDraft draft_leaf_spine(CatalogueName& name);
CatalogueDraft draft_fat_tree(CatalogueName& name);
CatalogueDraft draft_dragonfly(CatalogueName& name);
CatalogueDraft draft_dgx_a100(CatalogueName& name);
CatalogueDraft draft_dgx_h100(CatalogueName& name);
CatalogueDraft draft_dgx_b200(CatalogueName& name);
CatalogueDraft draft_nvl72(CatalogueName& name);
CatalogueDraft draft_mix(CatalogueName& name);
CatalogueDraft draft_mi250(CatalogueName& name);
CatalogueDraft draft_mi300x(CatalogueName& name);
CatalogueDraft draft_random(CatalogueName& name);
CatalogueDraft draft_random_boxes(CatalogueName& name);

/// Options degrade, fail, degrade-seed and what: some cables at half rate, some gone.
void degrade(CatalogueDraft& draft, CatalogueName& name);
/// Option sums: switches add and copy what they pass on.
void let_switches_add(CatalogueDraft& draft, CatalogueName& name);

/// Option relabel=SEED: nodes and links in random order, names and labels that say nothing.
void relabel(CatalogueDraft& draft, CatalogueName& name);

}  // namespace stellwerk
