// The plan cache on SQLite, and the one file that knows of it.
//
// Problem. Jobs of a cluster ask for the same plans again and again, from many processes at once, on
// a file system that they share; and processes are killed.
//
// Idea. One table in one SQLite file. An entry is written in one transaction, so it is there whole or
// not at all; the rollback journal brings a transaction that died half-way back to its start. The
// hash in the key stands for everything that decides the plan. Whoever takes a plan out judges it
// again (this folder does not know the verifier), so not even a damaged file yields a wrong one.
//
// Least recently used: every get and put takes the next number of a sequence; put drops the lowest
// ones until the sum of sizes is within the limit.
//
// Tests: plan_cache_test.cpp (rules, a damaged file, processes killed at random); for a minute of
// eight processes scripts/cache_stress.
#include "stellwerk/io/plan_cache.hpp"

#include <sqlite3.h>
#include <zstd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "stellwerk/base/error.hpp"
#include "stellwerk/base/version.hpp"
#include "stellwerk/io/file.hpp"
#include "stellwerk/io/jobs_file.hpp"
#include "stellwerk/io/plan_file.hpp"
#include "stellwerk/io/sha256.hpp"
#include "stellwerk/io/text.hpp"
#include "stellwerk/io/topology_file.hpp"

namespace stellwerk {
namespace {

constexpr int kPatienceMs = 10'000;
constexpr int kApplication = 0x53746c77;  // "Stlw"
constexpr int kSchema = 1;

constexpr const char* kCreate =
    "CREATE TABLE plans (key TEXT PRIMARY KEY, summary TEXT NOT NULL, planner TEXT NOT NULL,"
    " transfer_ps INTEGER NOT NULL, bytes INTEGER NOT NULL, stored INTEGER NOT NULL,"
    " used INTEGER NOT NULL, turn INTEGER NOT NULL, plan BLOB NOT NULL);"
    "CREATE INDEX plans_by_turn ON plans (turn);"
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value INTEGER NOT NULL);";

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string packed(std::string_view text) {
  std::string result(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size =
      ZSTD_compress(result.data(), result.size(), text.data(), text.size(), ZSTD_CLEVEL_DEFAULT);
  if (ZSTD_isError(size) != 0) throw Error(ErrorCode::internal, ZSTD_getErrorName(size));
  result.resize(size);
  return result;
}

/// Nothing for what no packed() gave.
std::optional<std::string> unpacked(std::string_view bytes) {
  const unsigned long long size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN ||
      size > static_cast<unsigned long long>(kMaxFileBytes)) {
    return std::nullopt;
  }
  std::string result(static_cast<std::size_t>(size), '\0');
  const std::size_t got = ZSTD_decompress(result.data(), result.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(got) != 0 || got != result.size()) return std::nullopt;
  return result;
}

}  // namespace

std::string cache_key(const Topology& topology, const std::vector<Job>& jobs, Relays relays,
                      std::vector<std::pair<std::string, std::string>> options) {
  std::sort(options.begin(), options.end());
  std::string text = "stellwerk " + std::string(kVersion) + "\n" + format_topology(topology) +
                     "\n" + format_jobs(jobs, topology) + "\n" +
                     (relays == Relays::all ? "all" : "members") + "\n";
  // Lengths keep apart what could be read two ways.
  for (const auto& [name, value] : options) {
    text += name + " " + std::to_string(value.size()) + " " + value + "\n";
  }
  return sha256(text);
}

/// The connection, and statements with their errors turned into exceptions.
struct PlanCache::Database {
  explicit Database(const std::string& the_path) : path(the_path) {}
  ~Database() { sqlite3_close(connection); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[noreturn]] void fail(int code) const {
    const std::string what = sqlite3_errstr(code & 0xff);
    const std::string name = one_line(path);
    switch (code & 0xff) {
      case SQLITE_NOTADB:
        throw Error(ErrorCode::unreadable_input,
                    name + ": is not a plan cache: name another file with --cache=FILE");
      case SQLITE_CORRUPT:
        throw Error(ErrorCode::unreadable_input,
                    name + ": the plan cache is damaged: delete the file");
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        throw Error(ErrorCode::unreadable_input,
                    name + ": other processes keep the plan cache locked: try again");
      default:
        throw Error(ErrorCode::unreadable_input,
                    name + ": plan cache: " + what + ": check the file, its folder and the disk");
    }
  }
  void check(int code) const {
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) fail(code);
  }
  void run(const char* sql) const {
    check(sqlite3_exec(connection, sql, nullptr, nullptr, nullptr));
  }

  std::string path;
  sqlite3* connection = nullptr;
};

namespace {

/// A prepared statement with its parameters.
class Statement {
 public:
  template <class Database>
  Statement(const Database& database, const char* sql)
      : fail_([&database](int code) { database.check(code); }) {
    fail_(sqlite3_prepare_v2(database.connection, sql, -1, &statement_, nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int place, std::int64_t value) {
    fail_(sqlite3_bind_int64(statement_, place, value));
    return *this;
  }
  Statement& bind(int place, std::string_view text) {
    fail_(sqlite3_bind_text64(statement_, place, text.data(), text.size(), SQLITE_TRANSIENT,
                              SQLITE_UTF8));
    return *this;
  }
  /// `bytes` must outlive the statement.
  Statement& bind_bytes(int place, std::string_view bytes) {
    fail_(sqlite3_bind_blob64(statement_, place, bytes.data(), bytes.size(), SQLITE_STATIC));
    return *this;
  }
  /// Is there another row?
  bool step() {
    const int code = sqlite3_step(statement_);
    fail_(code);
    return code == SQLITE_ROW;
  }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) const {
    const auto* data = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    const int size = sqlite3_column_bytes(statement_, column);
    return data == nullptr ? "" : std::string(data, static_cast<std::size_t>(size));
  }

 private:
  std::function<void(int)> fail_;
  sqlite3_stmt* statement_ = nullptr;
};

/// Everything until commit(), or nothing.
template <class Database>
class Transaction {
 public:
  explicit Transaction(const Database& database) : database_(database) {
    database_.run("BEGIN IMMEDIATE");
  }
  ~Transaction() {
    if (!done_) sqlite3_exec(database_.connection, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    database_.run("COMMIT");
    done_ = true;
  }

 private:
  const Database& database_;
  bool done_ = false;
};

template <class Database>
std::int64_t number(const Database& database, const char* sql) {
  Statement statement(database, sql);
  return statement.step() ? statement.integer(0) : 0;
}

constexpr const char* kNextTurn = "SELECT coalesce(max(turn), 0) + 1 FROM plans";

template <class Database>
std::int64_t limit_of(const Database& database) {
  Statement statement(database, "SELECT value FROM settings WHERE name = 'limit'");
  return statement.step() ? statement.integer(0) : kDefaultCacheLimit.value;
}

/// Drops what was not used for longest, within a transaction.
template <class Database>
void keep_limit(const Database& database, std::int64_t limit) {
  std::int64_t total = number(database, "SELECT coalesce(sum(bytes), 0) FROM plans");
  while (total > limit) {
    std::int64_t turn = 0;
    {
      Statement oldest(database, "SELECT turn, bytes FROM plans ORDER BY turn LIMIT 1");
      if (!oldest.step()) return;
      turn = oldest.integer(0);
      total -= oldest.integer(1);
    }
    Statement(database, "DELETE FROM plans WHERE turn = ?").bind(1, turn).step();
  }
}

}  // namespace

PlanCache::PlanCache(const std::string& path) : database_(std::make_unique<Database>(path)) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;  // opening says what is wrong
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  const int code =
      sqlite3_open_v2(path.c_str(), &database_->connection,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  database_->check(code);
  sqlite3_busy_timeout(database_->connection, kPatienceMs);
  if (number(*database_, "PRAGMA user_version") == kSchema &&
      number(*database_, "PRAGMA application_id") == kApplication) {
    return;
  }
  // New, or not ours. Another process may be making it at this moment.
  database_->run("PRAGMA auto_vacuum = FULL");
  Transaction transaction(*database_);
  const std::int64_t tables = number(*database_, "SELECT count(*) FROM sqlite_master");
  const std::int64_t application = number(*database_, "PRAGMA application_id");
  const std::int64_t version = number(*database_, "PRAGMA user_version");
  if (tables > 0 && application != kApplication) database_->fail(SQLITE_NOTADB);
  if (tables > 0 && version != kSchema) {
    throw Error(ErrorCode::unreadable_input,
                one_line(path) + ": a plan cache of another version: name another file");
  }
  if (tables == 0) {
    database_->run(kCreate);
    database_->run(("PRAGMA application_id = " + std::to_string(kApplication)).c_str());
    database_->run(("PRAGMA user_version = " + std::to_string(kSchema)).c_str());
  }
  transaction.commit();
}

PlanCache::~PlanCache() = default;

std::optional<Plan> PlanCache::get(const std::string& key) {
  std::string bytes;
  {
    Statement find(*database_, "SELECT plan FROM plans WHERE key = ?");
    if (!find.bind(1, key).step()) return std::nullopt;
    bytes = find.text(0);
  }
  std::optional<Plan> plan;
  try {
    if (const std::optional<std::string> text = unpacked(bytes)) {
      plan = parse_plan(*text, "cached plan");
    }
  } catch (const Error&) {
    plan.reset();  // as good as none
  }
  if (!plan) {
    drop(key);
    return std::nullopt;
  }
  try {
    Transaction transaction(*database_);
    const std::int64_t turn = number(*database_, kNextTurn);
    Statement(*database_, "UPDATE plans SET used = ?, turn = ? WHERE key = ?")
        .bind(1, now())
        .bind(2, turn)
        .bind(3, key)
        .step();
    transaction.commit();
  } catch (const Error&) {
    return plan;  // a cache that cannot be written to, or is busy, can still be read
  }
  return plan;
}

void PlanCache::put(const std::string& key, std::string_view summary, const Plan& plan) {
  const std::string bytes = packed(format_plan(plan));
  const auto size = static_cast<std::int64_t>(bytes.size());
  Transaction transaction(*database_);
  const std::int64_t limit = limit_of(*database_);
  if (size > limit) return;
  const std::int64_t turn = number(*database_, kNextTurn);
  Statement(*database_,
            "INSERT OR REPLACE INTO plans (key, summary, planner, transfer_ps, bytes, stored, used,"
            " turn, plan) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
      .bind(1, key)
      .bind(2, summary)
      .bind(3, plan.result.planner)
      .bind(4, plan.result.transfer_time.ps)
      .bind(5, size)
      .bind(6, now())
      .bind(7, now())
      .bind(8, turn)
      .bind_bytes(9, bytes)
      .step();
  keep_limit(*database_, limit);
  transaction.commit();
}

void PlanCache::drop(const std::string& key) {
  Statement(*database_, "DELETE FROM plans WHERE key = ?").bind(1, key).step();
}

void PlanCache::clear() { database_->run("DELETE FROM plans"); }

std::vector<CacheEntry> PlanCache::entries() {
  std::vector<CacheEntry> entries;
  Statement rows(*database_,
                 "SELECT key, summary, planner, transfer_ps, bytes, stored, used FROM plans"
                 " ORDER BY turn DESC");
  while (rows.step()) {
    entries.push_back({rows.text(0), rows.text(1), rows.text(2), Time{rows.integer(3)},
                       Bytes{rows.integer(4)}, rows.integer(5), rows.integer(6)});
  }
  return entries;
}

Bytes PlanCache::limit() { return Bytes{limit_of(*database_)}; }

void PlanCache::set_limit(Bytes bytes) {
  Transaction transaction(*database_);
  Statement(*database_, "INSERT OR REPLACE INTO settings (name, value) VALUES ('limit', ?)")
      .bind(1, bytes.value)
      .step();
  keep_limit(*database_, bytes.value);
  transaction.commit();
}

std::string default_cache_path() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string file = variable("STELLWERK_CACHE"); !file.empty()) return file;
  if (const std::string folder = variable("XDG_CACHE_HOME"); !folder.empty()) {
    return folder + "/stellwerk/plans.sqlite";
  }
  if (const std::string home = variable("HOME"); !home.empty()) {
    return home + "/.cache/stellwerk/plans.sqlite";
  }
  throw Error(ErrorCode::usage, "no home folder for a plan cache: name a file, as in --cache=FILE");
}

}  // namespace stellwerk
