// The options that state a study of noise.
#pragma once

#include <optional>
#include <string>

#include "stellwerk/check/noise_study.hpp"
#include "tool/arguments.hpp"

namespace stellwerk::tool {

struct NoiseOptions {
  std::optional<std::string> noise, runs, executor, seed;

  bool given() const { return noise.has_value(); }
};

/// `with_seed`: declares --seed, where the command has no such option yet.
void declare(Arguments& arguments, NoiseOptions& options, bool with_seed);

/// `seed` is used unless the options have their own. Throws Error(usage), also for --runs or
/// --executor without --noise.
NoiseStudy noise_study(const NoiseOptions& options, const std::optional<std::string>& seed);

}  // namespace stellwerk::tool
