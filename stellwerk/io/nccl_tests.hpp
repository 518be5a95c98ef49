// The output of nccl-tests and rccl-tests: how long a collective took, size by size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/core/collective.hpp"

namespace stellwerk {

struct NcclTestsLog {
  struct Row {
    std::int64_t bytes = 0;  ///< the larger side of the collective
    std::optional<double> out_of_place_us, in_place_us;
  };
  std::string name;                     ///< the file
  std::vector<Collective> collectives;  ///< those that it can be; one if the log tells
  std::size_t ranks = 0;
  std::size_t hosts = 0;
  std::vector<std::string> models;  ///< of the GPUs, as printed
  std::vector<Row> rows;            ///< in the order of the file
  std::vector<std::string> notes;   ///< what was left out or concluded, one line each
};

bool looks_like_nccl_tests(std::string_view text);

/// Text in the layouts since 2016 (with and without root, error or #wrong, per-iteration columns, timestamps), lines of other
/// output between, prefixes of mpirun and srun; or the JSON form. Rows that are cut off or whose data was wrong are left out
/// with a note. Throws Error(unreadable_input) that begins with `file` if there are no rows or no ranks.
NcclTestsLog read_nccl_tests(std::string_view text, const std::string& file);

}  // namespace stellwerk
