#include "stellwerk/check/mscclpp_memory.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace stellwerk::check {
namespace {

/// Units that pipelines run through where scratch grows with the call.
constexpr int kFewUnits = 3;

bool counts_before(const std::pair<std::uint32_t, std::uint32_t>& entry, std::uint32_t actor) {
  return entry.first < actor;
}

}  // namespace

bool MscclppKnowledge::covers(const MscclppEvent& event) const {
  if (event.actor == UINT32_MAX) return true;
  const auto entry = std::lower_bound(counts_.begin(), counts_.end(), event.actor, counts_before);
  if (entry != counts_.end() && entry->first == event.actor && entry->second > event.index)
    return true;
  return std::binary_search(single_.begin(), single_.end(), event);
}

void MscclppKnowledge::learn(std::uint32_t actor, std::uint32_t count) {
  const auto entry = std::lower_bound(counts_.begin(), counts_.end(), actor, counts_before);
  if (entry != counts_.end() && entry->first == actor) {
    entry->second = std::max(entry->second, count);
  } else {
    counts_.insert(entry, {actor, count});
  }
}

void MscclppKnowledge::learn(const MscclppEvent& event) {
  const auto place = std::lower_bound(single_.begin(), single_.end(), event);
  if (place == single_.end() || *place != event) single_.insert(place, event);
}

void MscclppKnowledge::join(const MscclppKnowledge& other) {
  if (this == &other) return;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> counts;
  counts.reserve(counts_.size() + other.counts_.size());
  auto a = counts_.begin();
  auto b = other.counts_.begin();
  while (a != counts_.end() || b != other.counts_.end()) {
    if (b == other.counts_.end() || (a != counts_.end() && a->first < b->first)) {
      counts.push_back(*a++);
    } else if (a == counts_.end() || b->first < a->first) {
      counts.push_back(*b++);
    } else {
      counts.emplace_back(a->first, std::max(a->second, b->second));
      ++a;
      ++b;
    }
  }
  counts_ = std::move(counts);
  if (other.single_.empty()) return;
  std::vector<MscclppEvent> single;
  std::set_union(single_.begin(), single_.end(), other.single_.begin(), other.single_.end(),
                 std::back_inserter(single));
  single_ = std::move(single);
}

MscclppMemory::MscclppMemory(const MscclppProgram& program)
    : program_(program), sizes_(mscclpp_sizes(program)) {
  std::int64_t unit = 0;
  for (const MscclppGpu& gpu : program.gpus) {
    for (const MscclppBlock& block : gpu.blocks) {
      for (const MscclppStep& step : block.steps) {
        if (step.op == MscclppOp::pipeline) unit = step.unit;
        units_ = std::lcm(units_, step.slices);
      }
    }
  }
  if (unit > 0) units_ = kFewUnits;
  for (const MscclppGpu& gpu : program.gpus) {
    // As the runtime divides its 64 MiB; two units more than fit show what happens when scratch comes round.
    const bool fixed = unit > 0 && program.reuse_resources && gpu.scratch > 0;
    scratch_units_.push_back(fixed ? static_cast<int>((std::int64_t{1} << 26) / gpu.scratch / unit)
                                   : 0);
    if (fixed) units_ = std::max(units_, scratch_units_.back() + 2);
  }
  for (std::size_t g = 0; g < program.gpus.size(); ++g) {
    if (scratch_units_[g] == 0) scratch_units_[g] = units_;
    const std::size_t scratch = static_cast<std::size_t>(program.gpus[g].scratch) *
                                static_cast<std::size_t>(scratch_units_[g]);
    cells_.emplace_back(shared_chunks() * static_cast<std::size_t>(units_) +
                        scratch * (program.double_scratch ? 2 : 1));
  }
}

std::size_t MscclppMemory::shared_chunks() const {
  return static_cast<std::size_t>(program_.in_place ? std::max(sizes_.input, sizes_.output)
                                                    : sizes_.input + sizes_.output);
}

MscclppCell& MscclppMemory::at(int gpu, char buffer, int offset, int unit, int call) {
  const auto g = static_cast<std::size_t>(gpu);
  auto& cells = cells_[g];
  if (buffer == 's') {
    const int room = scratch_units_[g];
    std::size_t at = shared_chunks() * static_cast<std::size_t>(units_);
    if (program_.double_scratch && call % 2 == 0) at += (cells.size() - at) / 2;
    const int chunk = offset + unit / units_, rest = unit % units_ % room;
    return cells[at + static_cast<std::size_t>(chunk * room + rest)];
  }
  int chunk = offset;
  if (!program_.in_place) {
    if (buffer == 'o') chunk += sizes_.input;
  } else {
    // The smaller buffer lies inside the larger one.
    if (program_.collective == "allgather" && buffer == 'i') chunk += gpu * sizes_.input;
    if (program_.collective == "reducescatter" && buffer == 'o') chunk += gpu * sizes_.output;
  }
  return cells[static_cast<std::size_t>(chunk * units_ + unit)];
}

void MscclppMemory::prepare(int gpu, const MscclppEvent& event, History* history) {
  const auto [begin, end] = caller_cells(gpu);
  for (MscclppCell* cell = begin; cell != end; ++cell) {
    *cell = MscclppCell{};
    cell->writer.event = event;
  }
  if (program_.collective == "broadcast" && gpu != 0) return;
  for (int chunk = 0; chunk < sizes_.input; ++chunk) {
    for (int unit = 0; unit < units_; ++unit) {
      MscclppCell& cell = at(gpu, 'i', chunk, unit, 1);
      cell.value = std::make_shared<const std::vector<std::uint32_t>>(
          std::vector<std::uint32_t>{addend(gpu, chunk, unit)});
      if (history) cell.id = history->addend(gpu, chunk * units_ + unit);
    }
  }
}

std::pair<MscclppCell*, MscclppCell*> MscclppMemory::caller_cells(int gpu) {
  auto& cells = cells_[static_cast<std::size_t>(gpu)];
  // Scratch is the runtime's, but the next call may begin: unless it uses another half, as if the caller touched it.
  const std::size_t count =
      program_.double_scratch ? shared_chunks() * static_cast<std::size_t>(units_) : cells.size();
  return {cells.data(), cells.data() + count};
}

std::shared_ptr<const std::vector<std::uint32_t>> MscclppMemory::promised(int gpu, int chunk,
                                                                          int unit) const {
  const int n = static_cast<int>(program_.gpus.size());
  const std::string& name = program_.collective;
  std::vector<std::uint32_t> value;
  const auto of_all = [&](int k) {
    for (int r = 0; r < n; ++r) value.push_back(addend(r, k, unit));
  };
  if (name == "allgather") {
    value = {addend(chunk / sizes_.input, chunk % sizes_.input, unit)};
  } else if (name == "alltoall") {
    const int part = sizes_.input / n;
    value = {addend(chunk / part, gpu * part + chunk % part, unit)};
  } else if (name == "broadcast") {
    value = {addend(0, chunk, unit)};
  } else if (name == "reducescatter") {
    of_all(gpu * sizes_.output + chunk);
  } else if (name == "reduce" && gpu != 0) {
    return nullptr;
  } else {
    of_all(chunk);
  }
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(value));
}

std::string MscclppMemory::text(const std::vector<std::uint32_t>* value) const {
  if (value == nullptr || value->empty()) return "nothing";
  std::string result;
  for (std::size_t k = 0; k < value->size() && k < 4; ++k) {
    const int number = static_cast<int>((*value)[k]) / units_;
    result += (k > 0 ? " + " : "") + std::string("chunk ") + std::to_string(number % sizes_.input) +
              " of GPU " + std::to_string(number / sizes_.input);
  }
  return value->size() > 4 ? result + " + " + std::to_string(value->size() - 4) + " more" : result;
}

std::string MscclppMemory::place(int gpu, const MscclppCell& cell) const {
  const auto g = static_cast<std::size_t>(gpu);
  const auto& cells = cells_[g];
  const auto index = static_cast<std::size_t>(&cell - cells.data());
  const std::size_t shared = shared_chunks() * static_cast<std::size_t>(units_);
  const auto units = static_cast<std::size_t>(units_);
  const auto named = [](char buffer, std::size_t chunk) {
    return std::string(1, buffer) + "[" + std::to_string(chunk) + "]";
  };
  if (index >= shared) {
    const std::size_t half = (cells.size() - shared) / (program_.double_scratch ? 2 : 1);
    return named('s', (index - shared) % half / static_cast<std::size_t>(scratch_units_[g]));
  }
  const std::size_t chunk = index / units;
  const auto input = static_cast<std::size_t>(sizes_.input);
  if (program_.in_place) return named(program_.collective == "allgather" ? 'o' : 'i', chunk);
  return chunk < input ? named('i', chunk) : named('o', chunk - input);
}

}  // namespace stellwerk::check
