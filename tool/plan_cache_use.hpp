// How `plan` uses the plan cache: as a help that may fail, never as a judge.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stellwerk/io/plan_cache.hpp"
#include "stellwerk/plan/portfolio.hpp"
#include "tool/problem_options.hpp"

namespace stellwerk::tool {

/// The file that --cache[=FILE] names.
std::string cache_path(const std::string& value);

/// A problem's place in the cache. Trouble with the file becomes a warning on stderr.
class CachedPlanning {
 public:
  /// `given` are all options of the command line; those that do not decide the plan are left out.
  CachedPlanning(const std::string& path, const StatedProblem& problem,
                 const std::vector<std::pair<std::string, std::string>>& given);

  /// A plan of exactly this problem that `judge` accepts; others are dropped from the cache.
  std::optional<Plan> find(const Judge& judge);
  /// Plans that Ctrl-C cut short are not stored.
  void store(const Plan& plan);

 private:
  StatedProblem problem_;
  std::string path_, key_;
  std::optional<PlanCache> cache_;
};

}  // namespace stellwerk::tool
