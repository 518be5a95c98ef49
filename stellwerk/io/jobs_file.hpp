// Jobs as files: stellwerk.jobs/1 (docs/formats.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "stellwerk/core/job.hpp"
#include "stellwerk/core/topology.hpp"

namespace stellwerk {

inline constexpr std::string_view kJobsFormat = "stellwerk.jobs/1";

/// Node names are looked up in `topology`, and the jobs are valid for it (check_jobs). Throws
/// Error(unreadable_input): one line that names the file, the JSON pointer and the remedy.
std::vector<Job> read_jobs(const std::string& path, const Topology& topology);
/// `label` is what errors call the text.
std::vector<Job> parse_jobs(std::string_view text, const std::string& label,
                            const Topology& topology);

/// Reads back as exactly the same jobs.
std::string format_jobs(const std::vector<Job>& jobs, const Topology& topology);
/// All or nothing; see write_file.
void write_jobs(const std::vector<Job>& jobs, const Topology& topology, const std::string& path);

}  // namespace stellwerk
