// AllToAllV as a mixture of experts makes it: some experts are popular.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stellwerk/core/problem.hpp"
#include "stellwerk/plan/portfolio.hpp"

namespace stellwerk {

/// Every rank sends `total` / n; rank b gets of it in proportion to 1 / place(b)^skew, places at
/// random, each share varied by a factor in [0.5, 1.5) (Zipf's law; 0: nearly even). In thousandths.
struct ExpertDemand {
  int skew_thousandths = 0;
  Bytes total;
  std::uint64_t seed = 1;
};
std::vector<std::vector<Bytes>> expert_matrix(std::size_t ranks, const ExpertDemand& demand);

struct ExpertsRow {
  std::string topology;
  ExpertDemand demand;
  int chunks = 1;
  Time transfer_time, bound;
  double make_seconds = 0;  ///< from the matrix to chunks
  double plan_seconds = 0;  ///< the planner: from chunks to sends (this thread's CPU time)
  std::size_t sends = 0;

  double gap() const { return transfer_time.seconds() / bound.seconds() - 1; }
};

struct ExpertsOptions {
  std::uint64_t seeds = 3;
  std::string topology;  ///< only this one; empty: all
  int chunks = 0;        ///< only this count; 0: the best of several
};

/// The planner `rails` on rail:8x8 and rail:64x8, skews 0 to 1.5, 1 MB to 16 GB, at the best of 1, 2
/// and 4 chunks a pair (1 at 512 GPUs). Every plan is judged. Throws Error(verification_failed) if one is not valid.
void run_experts(const ExpertsOptions& options, const Judge& judge,
                 const std::function<void(const ExpertsRow&)>& finished);

}  // namespace stellwerk
