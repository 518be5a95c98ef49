// Planners and baselines side by side, on the same simulator.
#pragma once

#include <string>
#include <vector>

#include "stellwerk/bench/cells.hpp"

namespace stellwerk {

/// Every size with every planner; `planners` are names, or "auto" for the portfolio.
std::vector<MeasuredCase> compare_cases(const Case& common, const std::vector<Bytes>& sizes,
                                        const std::vector<std::string>& planners);

const std::vector<Column<MeasuredCase>>& compare_columns();

}  // namespace stellwerk
