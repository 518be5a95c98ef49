#include "tool/plan_cache_use.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/stop.hpp"
#include "tool/report.hpp"

namespace stellwerk::tool {
namespace {

/// What states the problem is in the key by what it says; what says where the plan goes is not.
constexpr std::array<std::string_view, 15> kNotInKey = {
    "--topology", "--collective", "--size",    "--ranks",        "--root",
    "--chunks",   "--jobs",       "--relays",  "--output",       "--expand",
    "--json",     "--cache",      "--threads", "--memory-limit", "--matrix"};

void warn(const std::string& what) {
  fmt::print(stderr, "stellwerk: {} (planning goes on without the cache)\n", what);
}

std::string summary_of(const StatedProblem& problem) {
  std::string text = problem.topology.name() + ": ";
  if (problem.jobs.size() == 1) return text + job_text(problem.jobs.front());
  return text + std::to_string(problem.jobs.size()) + " jobs";
}

}  // namespace

std::string cache_path(const std::string& value) {
  return value.empty() ? default_cache_path() : value;
}

CachedPlanning::CachedPlanning(const std::string& path, const StatedProblem& problem,
                               const std::vector<std::pair<std::string, std::string>>& given)
    : problem_(problem), path_(path) {
  std::vector<std::pair<std::string, std::string>> deciding;
  for (const auto& option : given) {
    if (std::find(kNotInKey.begin(), kNotInKey.end(), option.first) == kNotInKey.end()) {
      deciding.push_back(option);
    }
  }
  try {
    key_ = cache_key(problem.topology, problem.jobs, problem.relays, std::move(deciding));
    cache_.emplace(path);
  } catch (const Error& error) {
    warn(error.what());
  }
}

std::optional<Plan> CachedPlanning::find(const Judge& judge) {
  if (!cache_) return std::nullopt;
  try {
    std::optional<Plan> plan = cache_->get(key_);
    if (!plan) return std::nullopt;
    const auto same_jobs = [&] {
      if (plan->problem.jobs.size() != problem_.jobs.size()) return false;
      for (std::size_t j = 0; j < problem_.jobs.size(); ++j) {
        Job job = plan->problem.jobs[j];
        const Job& asked = problem_.jobs[j];
        if (asked.auto_chunks) {  // the plan says what was chosen
          job.chunks = asked.chunks;
          job.auto_chunks = true;
        }
        if (job != asked) return false;
      }
      return true;
    };
    const bool same = plan->problem.topology == problem_.topology &&
                      plan->problem.relays == problem_.relays && same_jobs();
    if (same && !judge(*plan)) return plan;
    warn(path_ + ": entry " + key_.substr(0, 12) + " is wrong, and dropped");
    cache_->drop(key_);
  } catch (const Error& error) {
    warn(error.what());
    cache_.reset();
  }
  return std::nullopt;
}

void CachedPlanning::store(const Plan& plan) {
  if (!cache_ || StopCondition::interrupted()) return;
  try {
    cache_->put(key_, summary_of(problem_), plan);
  } catch (const Error& error) {
    fmt::print(stderr, "stellwerk: {} (the plan is not in the cache)\n", error.what());
  }
}

}  // namespace stellwerk::tool
