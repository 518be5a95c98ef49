#include "stellwerk/check/noise.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& what) {
  throw Error(ErrorCode::usage, "noise '" + std::string(text) + "': " + what);
}

/// "20%" or "0.2" in millionths.
std::int64_t parse_millionths(std::string_view whole, std::string_view text) {
  double scale = 1e6;
  if (text.ends_with('%')) {
    text.remove_suffix(1);
    scale = 1e4;
  }
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size() || !(value >= 0) || value > 1e6) {
    refuse(whole, "write a fraction or a percentage, as in link:20%");
  }
  return std::llround(value * scale);
}

std::string percentage(std::int64_t millionths) {
  std::string text = std::to_string(millionths / 10'000);
  const std::string rest = std::to_string(10'000 + millionths % 10'000).substr(1);
  const std::size_t last = rest.find_last_not_of('0');
  if (last != std::string::npos) text += "." + rest.substr(0, last + 1);
  return text + "%";
}

}  // namespace

NoiseModel parse_noise(std::string_view text) {
  NoiseModel model;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const std::size_t colon = part.find(':');
    const std::string_view kind = part.substr(0, colon);
    if (colon == std::string_view::npos || (kind != "link" && kind != "send" && kind != "late")) {
      refuse(text, "name link:FRACTION, send:FRACTION or late:TIME, as in send:30%,late:20us");
    }
    const std::string_view amount = part.substr(colon + 1);
    if (kind == "late") {
      try {
        model.late = parse_time(amount, true);
      } catch (const Error&) {
        refuse(text, "write a time with its unit, as in late:20us");
      }
      if (model.late < Time{0}) refuse(text, "nobody is early: write a positive time");
    } else {
      (kind == "link" ? model.link : model.send) = parse_millionths(text, amount);
    }
    begin = end + 1;
  }
  if (model.link >= kNoStretch) refuse(text, "a link that is slower by 100% stands still");
  return model;
}

std::string to_string(const NoiseModel& model) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ",") + part; };
  if (model.link > 0) add("link:" + percentage(model.link));
  if (model.send > 0) add("send:" + percentage(model.send));
  if (model.late > Time{0}) add("late:" + to_exact_string(model.late));
  return text.empty() ? "none" : text;
}

std::int64_t draw_exponential(Rng& rng) {
  // A run of uniform numbers goes down for as long as chance lets it. Runs of odd length happen with
  // probability exp(-first); each one of even length means one more whole unit.
  for (std::int64_t whole = 0;; ++whole) {
    const std::uint64_t first = rng.next();
    std::uint64_t last = first;
    bool odd = true;
    for (std::uint64_t next = rng.next(); next < last; next = rng.next()) {
      last = next;
      odd = !odd;
    }
    if (!odd) continue;
    const auto fraction = static_cast<std::int64_t>((Uint128{first} * kNoStretch) >> 64);
    return whole * kNoStretch + fraction;
  }
}

NoiseDraw draw_noise(const NoiseModel& model, const Topology& topology, std::size_t sends,
                     std::uint64_t seed, int run) {
  // Three sequences, so that what happens to links does not depend on how many sends there are.
  Rng fork(Rng(seed).next() ^ static_cast<std::uint64_t>(run));
  Rng links(fork.next());
  Rng nodes(fork.next());
  Rng each(fork.next());
  NoiseDraw draw;
  if (model.link > 0) {
    for (std::size_t i = 0; i < topology.links().size(); ++i) {
      const std::int64_t speed = kNoStretch - links.between(0, model.link);
      draw.link.push_back((kNoStretch * kNoStretch + speed - 1) / speed);
    }
  }
  if (model.late > Time{0}) {
    for (const Node& node : topology.nodes()) {
      const Time late{nodes.between(0, model.late.ps)};
      draw.late.push_back(node.kind == NodeKind::gpu ? late : Time{0});
    }
  }
  if (model.send > 0) {
    draw.send.reserve(sends);
    for (std::size_t i = 0; i < sends; ++i) {
      const Int128 extra = static_cast<Int128>(model.send) * draw_exponential(each) / kNoStretch;
      draw.send.push_back(kNoStretch + static_cast<std::int64_t>(extra));
    }
  }
  return draw;
}

}  // namespace stellwerk
