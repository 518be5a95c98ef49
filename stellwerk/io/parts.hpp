// The pieces that our formats share: a topology and a list of jobs inside a document. Not for use
// outside io/.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stellwerk/core/job.hpp"
#include "stellwerk/core/topology.hpp"
#include "stellwerk/io/json.hpp"

namespace stellwerk {

/// Finds nodes by name, and guesses what a wrong name was meant to be.
class NodeNames {
 public:
  NodeNames() = default;
  explicit NodeNames(const Topology& topology);
  void reserve(std::size_t count) { ids_.reserve(count); }
  /// Repeated names keep their first node; false for those.
  bool add(std::string_view name, NodeId id);  ///< the text of `name` must outlive this
  /// The node that the string at `place` names; fails there if there is none.
  NodeId at(const json::Place& place) const;
  NodeId known(std::string_view name) const;

 private:
  std::unordered_map<std::string_view, NodeId> ids_;
};

/// A stellwerk.topology/1 object.
Topology topology_at(const json::Place& place);
/// Appends the object; `indent` is put before every line but the first.
void append_topology(std::string& text, const Topology& topology, std::string_view indent);

/// A plan's jobs are resolved: rank lists are written out and chunk counts are numbers.
enum class JobForm { file, plan };

/// The value of "jobs".
/// `images`: how many chunks one that is listed stands for.
std::vector<Job> jobs_at(const json::Place& place, const Topology& topology, JobForm form,
                         std::int64_t images = 1);
/// One job, as in a jobs file.
Job single_job_at(const json::Place& place, const Topology& topology);
/// Appends the array; `indent` is put before every line but the first.
void append_jobs(std::string& text, const std::vector<Job>& jobs, const Topology& topology,
                 JobForm form, std::string_view indent);

}  // namespace stellwerk
