#include "tool/noise_options.hpp"

#include "stellwerk/base/error.hpp"
#include "tool/parse.hpp"

namespace stellwerk::tool {

void declare(Arguments& arguments, NoiseOptions& options, bool with_seed) {
  arguments.value(
      {"--noise", "MODEL",
       "link:X (every link up to X slower), send:X (every send longer by X on average), late:TIME "
       "(every GPU late by up to TIME), or several with commas",
       "--noise send:30%,late:20us"},
      options.noise);
  arguments.value({"--runs", "K", "runs with noise (default 200)", "--runs 1000"}, options.runs);
  arguments.value({"--executor", "E",
                   "with noise: 'strict' keeps the order on every link (default), 'priority' lets "
                   "links do what can be done",
                   "--executor priority"},
                  options.executor);
  if (with_seed) {
    arguments.value({"--seed", "N", "start of the random sequence (default 1)", "--seed 7"},
                    options.seed);
  }
}

NoiseStudy noise_study(const NoiseOptions& options, const std::optional<std::string>& seed) {
  NoiseStudy study;
  if (!options.noise) {
    if (options.runs || options.executor) {
      throw Error(ErrorCode::usage, std::string(options.runs ? "--runs" : "--executor") +
                                        " needs --noise, as in --noise send:30%");
    }
    return study;
  }
  study.noise = parse_noise(*options.noise);
  if (options.runs)
    study.runs = static_cast<int>(parse_integer("--runs", *options.runs, 1, 1'000'000));
  if (options.executor) study.discipline = parse_discipline(*options.executor);
  const std::optional<std::string>& chosen = options.seed ? options.seed : seed;
  if (chosen) study.seed = static_cast<std::uint64_t>(parse_integer("--seed", *chosen, 0));
  return study;
}

}  // namespace stellwerk::tool
