#include "stellwerk/io/catalogue_draft.hpp"

#include <algorithm>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

/// Digits only, at most `high`.
std::optional<std::int64_t> count_up_to(std::string_view text, std::int64_t high) {
  const auto value = whole_number<std::int64_t>(text);
  return value && text.front() != '-' && *value <= high ? value : std::nullopt;
}

}  // namespace

CatalogueName::CatalogueName(std::string_view name) : name_(name) {
  const std::size_t head = std::min(name.find(','), name.size());
  const std::size_t colon = name.substr(0, head).find(':');
  has_shape_ = colon != std::string_view::npos;
  family_ = name.substr(0, has_shape_ ? colon : head);
  if (has_shape_) shape_ = name.substr(colon + 1, head - colon - 1);
  for (std::size_t begin = head; begin < name.size();) {
    const std::size_t end = std::min(name.find(',', begin + 1), name.size());
    const std::string_view option = name.substr(begin + 1, end - begin - 1);
    const std::size_t equals = option.find('=');
    const std::string key(option.substr(0, equals));
    const std::string value(equals == option.npos ? std::string_view() : option.substr(equals + 1));
    if (key.empty()) fail("there is nothing between two commas or at the end");
    for (const auto& [other, unused] : options_) {
      if (other == key) fail(in_quotes(key) + " is given twice");
    }
    options_.emplace_back(key, value);
    begin = end;
  }
}

void CatalogueName::fail(const std::string& what) const {
  throw Error(ErrorCode::usage, "topology " + in_quotes(name_) + ": " + what);
}

std::vector<std::int64_t> CatalogueName::dimensions(std::size_t low, std::size_t high,
                                                    std::string_view example) const {
  const std::string remedy = ": write it as in " + std::string(example);
  if (!has_shape_ || shape_.empty()) fail("the size is missing" + remedy);
  std::vector<std::int64_t> result;
  std::string_view rest = shape_;
  for (;;) {
    const std::size_t end = std::min(rest.find('x'), rest.size());
    const auto value = count_up_to(rest.substr(0, end), 1'000'000);
    if (!value || *value < 1) {
      fail("the size " + in_quotes(rest.substr(0, end)) + " is not a number from 1 to 1000000" +
           remedy);
    }
    result.push_back(*value);
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  if (result.size() < low || result.size() > high) {
    fail("the size has " + std::to_string(result.size()) + " parts" + remedy);
  }
  return result;
}

void CatalogueName::expect_no_shape() const {
  if (has_shape_) fail(family_ + " has one size only: leave out ':" + shape_ + "'");
}

std::optional<std::string> CatalogueName::take(std::string_view key) {
  known_.emplace_back(key);
  const auto found = std::find_if(options_.begin(), options_.end(),
                                  [&](const auto& option) { return option.first == key; });
  if (found == options_.end()) return std::nullopt;
  std::string value = found->second;
  options_.erase(found);
  return value;
}

Bandwidth CatalogueName::take_bandwidth(std::string_view key, Bandwidth otherwise) {
  const auto text = take(key);
  if (!text) return otherwise;
  try {
    return parse_bandwidth(*text);
  } catch (const Error& error) {
    fail(std::string(key) + ": " + error.what());
  }
}

Time CatalogueName::take_time(std::string_view key, Time otherwise) {
  const auto text = take(key);
  if (!text) return otherwise;
  try {
    return parse_time(*text, true);
  } catch (const Error& error) {
    fail(std::string(key) + ": " + error.what());
  }
}

std::optional<std::int64_t> CatalogueName::take_integer(std::string_view key) {
  const auto text = take(key);
  if (!text) return std::nullopt;
  const auto value = count_up_to(*text, std::int64_t{1} << 62);
  if (!value) fail(std::string(key) + ": " + in_quotes(*text) + " is not a whole number");
  return value;
}

std::int64_t CatalogueName::take_count(std::string_view key, std::int64_t otherwise,
                                       std::int64_t most) {
  const auto text = take(key);
  if (!text) return otherwise;
  const auto value = count_up_to(*text, most);
  if (!value || *value < 1) {
    fail(std::string(key) + ": " + in_quotes(*text) + " is not a number from 1 to " +
         std::to_string(most));
  }
  return *value;
}

Ratio CatalogueName::take_ratio(std::string_view key) {
  const auto text = take(key);
  if (!text) return {};
  Ratio ratio{0, 1, *text};
  const std::size_t colon = std::min(text->find(':'), text->size());
  const std::size_t point = std::min(text->find('.'), text->size());
  const auto left = count_up_to(std::string_view(*text).substr(0, std::min(colon, point)), 999'999);
  if (left) ratio.numerator = *left;
  bool good = left.has_value();
  if (colon < text->size()) {
    const auto right = count_up_to(std::string_view(*text).substr(colon + 1), 999'999);
    good = good && right && *right > 0;
    ratio.denominator = right.value_or(1);
    ratio.text = std::to_string(ratio.numerator) + "to" + std::to_string(ratio.denominator);
  } else if (point < text->size()) {
    const std::string_view digits = std::string_view(*text).substr(point + 1);
    const auto right = count_up_to(digits, 999);
    good = good && right && digits.size() <= 3;
    for (std::size_t i = 0; i < digits.size() && i < 3; ++i) ratio.denominator *= 10;
    ratio.numerator = ratio.numerator * ratio.denominator + right.value_or(0);
  }
  if (!good || ratio.numerator == 0) {
    fail(std::string(key) + ": " + in_quotes(*text) +
         " is not a ratio: write it as in 2, 1.5 or 3:1");
  }
  return ratio;
}

bool CatalogueName::has(std::string_view key) const {
  return std::any_of(options_.begin(), options_.end(),
                     [&](const auto& option) { return option.first == key; });
}

bool CatalogueName::take_flag(std::string_view key) {
  const auto text = take(key);
  if (text && !text->empty()) fail(std::string(key) + " takes no value");
  return text.has_value();
}

void CatalogueName::refuse_leftovers() const {
  if (options_.empty()) return;
  const std::string& key = options_.front().first;
  std::string guess = did_you_mean(key, {known_.begin(), known_.end()});
  if (guess.empty()) {
    guess = ": there are";
    for (const std::string& known : known_) guess += " " + known;
  }
  fail("unknown option " + in_quotes(key) + guess);
}

NodeId CatalogueDraft::add(std::string node_name, NodeKind kind, std::string host) {
  Node node;
  node.name = std::move(node_name);
  node.kind = kind;
  node.host = std::move(host);
  nodes.push_back(std::move(node));
  return NodeId(nodes.size() - 1);
}

void CatalogueDraft::connect(NodeId from, NodeId to, Bandwidth bandwidth, Time latency,
                             const std::string& source) {
  links.push_back({from, to, latency, bandwidth, source});
}

void check_catalogue_size(const CatalogueName& name, double nodes, double links) {
  if (nodes > 1e6) name.fail("more than a million nodes is more than the catalogue makes");
  if (links > 2e7) name.fail("more than 20 million links is more than the catalogue makes");
}

}  // namespace stellwerk
