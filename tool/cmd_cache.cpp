// stellwerk cache: looks into the plan cache, empties it, limits its size.
#include <fmt/core.h>

#include <ctime>
#include <memory>

#include "stellwerk/base/error.hpp"
#include "stellwerk/check/verify.hpp"
#include "stellwerk/io/plan_cache.hpp"
#include "tool/commands.hpp"
#include "tool/parse.hpp"
#include "tool/plan_cache_use.hpp"
#include "tool/report.hpp"
#include "tool/table.hpp"

namespace stellwerk::tool {
namespace {

struct Options {
  std::optional<std::string> file;
  std::string operand;
  std::string path() const { return cache_path(file.value_or("")); }
};

void declare_file(Arguments& arguments, Options& options) {
  arguments.value({"--cache", "FILE",
                   "the cache (default: $STELLWERK_CACHE, or plans.sqlite in the user's cache "
                   "folder)",
                   "--cache plans.sqlite"},
                  options.file);
}

std::string date(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  localtime_r(&time, &parts);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return {text, size};
}

int list(const Options& options) {
  PlanCache cache(options.path());
  Table table;
  table.add({"key", "problem", "planner", "transfer time", "size", "stored", "last used"});
  Bytes total;
  const std::vector<CacheEntry> entries = cache.entries();
  for (const CacheEntry& entry : entries) {
    total += entry.bytes;
    table.add({entry.key.substr(0, 12), entry.summary, entry.planner,
               to_string(entry.transfer_time), to_string(entry.bytes), date(entry.stored),
               date(entry.used)});
  }
  if (!entries.empty()) fmt::print("{}", table.text());
  fmt::print("{} plans, {} of at most {}, in {}\n", entries.size(), to_string(total),
             to_string(cache.limit()), options.path());
  return 0;
}

int show(const Options& options) {
  PlanCache cache(options.path());
  std::string key;
  for (const CacheEntry& entry : cache.entries()) {
    if (!entry.key.starts_with(options.operand)) continue;
    if (!key.empty()) {
      throw Error(ErrorCode::usage, "several keys begin with '" + options.operand +
                                        "': write more digits (see 'stellwerk cache list')");
    }
    key = entry.key;
  }
  const std::optional<Plan> plan = key.empty() ? std::nullopt : cache.get(key);
  if (!plan) {
    throw Error(ErrorCode::usage,
                "no key begins with '" + options.operand + "' (see 'stellwerk cache list')");
  }
  const Verdict verdict = verify(*plan);
  if (!verdict.valid()) {
    throw Error(ErrorCode::verification_failed,
                "the cached plan is not valid: " + std::string(to_string(*verdict.violation)) +
                    ": " + verdict.message);
  }
  fmt::print("{}", plan_report(*plan, "yes, now: sends, finish times and bounds"));
  return 0;
}

int clear(const Options& options) {
  PlanCache cache(options.path());
  const std::size_t count = cache.entries().size();
  cache.clear();
  fmt::print("{} plans dropped from {}\n", count, options.path());
  return 0;
}

int limit(const Options& options) {
  const Bytes bytes = parse_size_option("SIZE", options.operand);
  PlanCache cache(options.path());
  cache.set_limit(bytes);
  fmt::print("at most {} in {}\n", to_string(cache.limit()), options.path());
  return 0;
}

}  // namespace

RunCommand declare_cache_list(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  declare_file(arguments, *options);
  return [options] { return list(*options); };
}

RunCommand declare_cache_show(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.operand({"KEY", "", "the first digits of a key", "stellwerk cache show 3f9a"},
                    options->operand);
  declare_file(arguments, *options);
  return [options] { return show(*options); };
}

RunCommand declare_cache_clear(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  declare_file(arguments, *options);
  return [options] { return clear(*options); };
}

RunCommand declare_cache_limit(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.operand({"SIZE", "", "of all plans together", "stellwerk cache limit 500MB"},
                    options->operand);
  declare_file(arguments, *options);
  return [options] { return limit(*options); };
}

}  // namespace stellwerk::tool
