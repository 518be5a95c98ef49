#include "stellwerk/io/mscclpp_json.hpp"

#include <algorithm>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/json.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

using check::MscclppBlock;
using check::MscclppChannel;
using check::MscclppGpu;
using check::MscclppOp;
using check::MscclppProgram;
using check::MscclppRange;
using check::MscclppStep;
using json::Place;

/// Sizes beyond these are no programs but bombs.
constexpr std::int64_t kMostGpus = 65'536;
constexpr std::int64_t kMostChunks = 1 << 22;
/// MSCCL++ runs 64 operations a thread block, and 16 channels.
constexpr std::size_t kMostSteps = 16'384, kMostNumbers = 1 << 17;

/// Notes the keys of `place` that are not in `known`, as the runtime passes them over.
using Unknown = std::vector<std::string>;
void look(const Place& place, std::initializer_list<std::string_view> known, Unknown& unknown) {
  constexpr std::size_t kMost = 4;
  if (unknown.size() >= kMost) return;
  for (std::size_t k = 0; k < place.members().size() && unknown.size() < kMost; ++k) {
    const std::string_view key = place.members()[k].key;
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const Place member = place.member(k);
    unknown.push_back(member.pointer() + ": a key that is not known here");
  }
}

int number(const Place& place, std::int64_t most = kMostChunks) {
  return static_cast<int>(place.integer(0, most));
}
int number_at(const Place& place, std::string_view key) {
  const Place value = place.at(key);
  return number(value);
}
std::vector<int> numbers_at(const Place& place, std::string_view key) {
  const Place list = place.at(key);
  if (list.size() > kMostNumbers)
    list.fail("has " + std::to_string(list.size()) + " entries: at most " +
              std::to_string(kMostNumbers) + " are read");
  std::vector<int> result;
  for (std::size_t k = 0; k < list.size(); ++k) {
    const Place value = list[k];
    result.push_back(number(value));
  }
  return result;
}
bool flag_or(const Place& place, std::string_view key, bool otherwise) {
  const auto value = place.find(key);
  return value ? value->boolean() : otherwise;
}
std::string text_at(const Place& place, std::string_view key) {
  const Place value = place.at(key);
  return std::string(value.text());
}

/// Calls `each` for every element of the list; a missing list is empty.
template <class Each>
void for_each(const Place& place, std::string_view key, Each each) {
  const auto list = place.find(key);
  if (!list) return;
  for (std::size_t k = 0; k < list->size(); ++k) {
    const Place element = (*list)[k];
    each(element);
  }
}

char buffer_at(const Place& place, std::string_view key) {
  const Place value = place.at(key);
  const std::string_view text = value.text();
  if (text != "i" && text != "o" && text != "s")
    value.fail(in_quotes(text) + " is none of i, o, s");
  return text[0];
}

MscclppChannel channel_kind(const Place& value) {
  const std::string_view text = value.text();
  if (text == "memory") return MscclppChannel::memory;
  if (text == "port") return MscclppChannel::port;
  if (text == "switch") return MscclppChannel::switch_;
  value.fail(in_quotes(text) + " is none of memory, port, switch");
}
MscclppChannel channel_kind_at(const Place& place, std::string_view key) {
  const Place value = place.at(key);
  return channel_kind(value);
}

void append(std::vector<int>& list, const std::vector<int>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

std::vector<MscclppRange> read_ranges(const Place& op, std::string_view key, Unknown& unknown) {
  std::vector<MscclppRange> result;
  for_each(op, key, [&](const Place& place) {
    look(place, {"type", "index", "size", "buffer_id", "switch_channel_id"}, unknown);
    MscclppRange range;
    if (place.find("buffer_id")) {
      range.where = MscclppRange::Where::remote;
      range.id = number_at(place, "buffer_id");
    } else if (place.find("switch_channel_id")) {
      range.where = MscclppRange::Where::switch_;
      range.id = number_at(place, "switch_channel_id");
    } else {
      range.buffer = buffer_at(place, "type");
    }
    range.offset = number_at(place, "index");
    range.count = number_at(place, "size");
    result.push_back(range);
  });
  return result;
}

MscclppStep read_step(const Place& op, bool inside, Unknown& unknown) {
  look(op,
       {"name", "channel_type", "channel_ids", "src_buff", "dst_buff", "tbg_info", "barrier_id",
        "num_threadblocks", "semaphore_ids", "reduce_op", "iter_context", "ops"},
       unknown);
  MscclppStep step;
  const Place name = op.at("name");
  const auto known = check::parse_mscclpp_op(name.text());
  if (!known) name.fail("no operation " + in_quotes(name.text()) + " is known here");
  step.op = *known;
  if (const auto kind = op.find("channel_type"); kind && kind->text() != "none")
    step.channel = channel_kind(*kind);
  if (op.find("channel_ids")) step.channels = numbers_at(op, "channel_ids");
  step.src = read_ranges(op, "src_buff", unknown);
  step.dst = read_ranges(op, "dst_buff", unknown);
  if (const auto group = op.find("tbg_info")) {
    step.slice = number_at(*group, "tb_id");
    step.slices = number_at(*group, "tbg_size");
  }
  if (step.op == MscclppOp::barrier) {
    step.barrier = number_at(op, "barrier_id");
    step.blocks = number_at(op, "num_threadblocks");
  }
  if (op.find("semaphore_ids")) step.semaphores = numbers_at(op, "semaphore_ids");
  if (const auto reduction = op.find("reduce_op"); reduction && reduction->text() != "sum")
    reduction->fail("only sum is judged here");
  if (step.op == MscclppOp::pipeline) {
    if (inside) op.fail("a pipeline in a pipeline");
    const Place context = op.at("iter_context");
    const Place unit = context.at("unit_size");
    step.unit = unit.integer(1, INT64_MAX);
    step.chunks = number_at(context, "num_chunks");
    for_each(op, "ops",
             [&](const Place& inner) { step.inner.push_back(read_step(inner, true, unknown)); });
  }
  return step;
}

MscclppBlock read_block(const Place& place, Unknown& unknown) {
  look(place, {"id", "ops", "channels", "remote_buffer_refs"}, unknown);
  MscclppBlock block;
  block.id = number_at(place, "id");
  for_each(place, "channels", [&](const Place& list) {
    append(block.channels[static_cast<std::size_t>(channel_kind_at(list, "channel_type"))],
           numbers_at(list, "channel_ids"));
  });
  for_each(place, "remote_buffer_refs", [&](const Place& list) {
    const MscclppChannel kind = channel_kind_at(list, "access_channel_type");
    if (kind == MscclppChannel::switch_) list.fail("remote buffers are not reached by switches");
    append(block.buffers[static_cast<std::size_t>(kind)], numbers_at(list, "remote_buffer_ids"));
  });
  for_each(place, "ops", [&](const Place& op) {
    if (block.steps.size() == kMostSteps)
      place.fail("has more than " + std::to_string(kMostSteps) +
                 " operations: no runtime takes them, so they are not read");
    block.steps.push_back(read_step(op, false, unknown));
  });
  return block;
}

MscclppGpu read_gpu(const Place& place, Unknown& unknown) {
  look(place,
       {"id", "input_chunks", "output_chunks", "scratch_chunks", "threadblocks", "channels",
        "remote_buffers", "semaphores"},
       unknown);
  MscclppGpu gpu;
  gpu.id = number_at(place, "id");
  gpu.input = number_at(place, "input_chunks");
  gpu.output = number_at(place, "output_chunks");
  gpu.scratch = number_at(place, "scratch_chunks");
  for_each(place, "channels", [&](const Place& channel) {
    const MscclppChannel kind = channel_kind_at(channel, "channel_type");
    if (kind != MscclppChannel::switch_) {
      return append(gpu.channels[static_cast<std::size_t>(kind)],
                    numbers_at(channel, "connected_to"));
    }
    // Older files say "buff".
    const char buffer = buffer_at(channel, channel.find("buffer_type") ? "buffer_type" : "buff");
    for_each(channel, "rank_groups", [&](const Place& group) {
      gpu.switches.push_back({buffer, numbers_at(group, "ranks")});
    });
  });
  for_each(place, "remote_buffers", [&](const Place& buffer) {
    check::MscclppRemote remote;
    remote.rank = number_at(buffer, "rank");
    remote.buffer = buffer_at(buffer, "type");
    for_each(buffer, "access_channel_types", [&](const Place& kind) {
      const MscclppChannel access = channel_kind(kind);
      if (access == MscclppChannel::switch_)
        kind.fail("remote buffers are not reached by switches");
      remote.access[static_cast<std::size_t>(access)] = true;
    });
    gpu.remote.push_back(remote);
  });
  for_each(place, "semaphores", [&](const Place& semaphore) {
    gpu.semaphores.push_back(number_at(semaphore, "init_value"));
  });
  for_each(place, "threadblocks", [&](const Place& block) {
    if (gpu.blocks.size() == kMostSteps)
      block.fail("a GPU has more than " + std::to_string(kMostSteps) + " thread blocks");
    gpu.blocks.push_back(read_block(block, unknown));
  });
  return gpu;
}

}  // namespace

bool looks_like_mscclpp(std::string_view text) {
  const auto has = [&](std::string_view what) { return text.find(what) != std::string_view::npos; };
  return has("\"gpus\"") && (has("\"threadblocks\"") || has("\"inplace\""));
}

check::MscclppProgram read_mscclpp(std::string_view text, const std::string& file) {
  const json::Document document(text, file);
  const Place root(document);
  MscclppProgram program;
  look(root,
       {"name", "collective", "protocol", "inplace", "reuse_resources", "gpus",
        "num_threads_per_block", "use_double_scratch_buffer", "buffer_alignment",
        "min_message_size", "max_message_size"},
       program.passed_over);
  if (!root.find("num_threads_per_block"))
    program.passed_over.emplace_back("there is no num_threads_per_block: MSCCL++ takes 1024");
  program.name = text_at(root, "name");
  program.collective = text_at(root, "collective");
  program.protocol = text_at(root, "protocol");
  const Place in_place = root.at("inplace");
  program.in_place = in_place.boolean();
  program.reuse_resources = flag_or(root, "reuse_resources", false);
  program.double_scratch = flag_or(root, "use_double_scratch_buffer", false);
  const Place gpus = root.at("gpus");
  if (gpus.size() < 1 || static_cast<std::int64_t>(gpus.size()) > kMostGpus)
    gpus.fail("there must be 1 to " + std::to_string(kMostGpus) + " GPUs");
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    const Place gpu = gpus[g];
    program.gpus.push_back(read_gpu(gpu, program.passed_over));
  }
  return program;
}

}  // namespace stellwerk
