// Plans that were made before, by the hash of the problem and of all options that decide the plan.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stellwerk/base/units.hpp"
#include "stellwerk/core/job.hpp"
#include "stellwerk/core/plan.hpp"

namespace stellwerk {

/// What a plan follows from. Equal texts, equal plans: topology and jobs as files, the options
/// (name and value, in any order), the version of this program.
std::string cache_key(const Topology& topology, const std::vector<Job>& jobs, Relays relays,
                      std::vector<std::pair<std::string, std::string>> options);

/// One line about an entry.
struct CacheEntry {
  std::string key;
  std::string summary;  ///< of the problem, in words
  std::string planner;
  Time transfer_time;
  Bytes bytes;              ///< in the cache, compressed
  std::int64_t stored = 0;  ///< seconds since 1970
  std::int64_t used = 0;
};

/// A cache in one file. Several processes may use it at once, and each may die at any instant: an
/// entry is there whole or not at all (SQLite's transactions, with a rollback journal, which also
/// works on network file systems whose locks do). Waits up to 10 s for others.
class PlanCache {
 public:
  /// Opens or creates, with its folder. Throws Error(unreadable_input) naming the file: it is something else, or
  /// of another version, or cannot be opened.
  explicit PlanCache(const std::string& path);
  ~PlanCache();
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  /// The plan as it was stored, as in a file; whoever takes it must judge it. Nothing if there is
  /// none, or if it cannot be read (then it is dropped). It becomes the one used last.
  std::optional<Plan> get(const std::string& key);
  /// Stores or replaces; drops what was not used for longest until the limit is kept. A plan larger
  /// than the limit is not stored.
  void put(const std::string& key, std::string_view summary, const Plan& plan);
  void drop(const std::string& key);
  void clear();

  /// Used last first.
  std::vector<CacheEntry> entries();
  Bytes limit();
  /// Takes effect at once, and stays.
  void set_limit(Bytes bytes);

 private:
  struct Database;
  std::unique_ptr<Database> database_;
};

/// 1 GiB.
inline constexpr Bytes kDefaultCacheLimit{std::int64_t{1} << 30};

/// $STELLWERK_CACHE, or plans.sqlite in the user's cache folder ($XDG_CACHE_HOME, ~/.cache).
/// Throws Error(usage) if neither a home nor any of these is known.
std::string default_cache_path();

}  // namespace stellwerk
