#include "stellwerk/check/msccl_program.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stellwerk::check {
namespace {

constexpr std::array<std::pair<MscclOp, const char*>, 9> kNames = {
    {{MscclOp::send, "s"},
     {MscclOp::receive, "r"},
     {MscclOp::receive_copy_send, "rcs"},
     {MscclOp::receive_reduce_copy, "rrc"},
     {MscclOp::receive_reduce_send, "rrs"},
     {MscclOp::receive_reduce_copy_send, "rrcs"},
     {MscclOp::reduce, "re"},
     {MscclOp::copy, "cpy"},
     {MscclOp::nop, "nop"}}};

}  // namespace

const char* to_string(MscclOp op) {
  for (const auto& [value, name] : kNames) {
    if (value == op) return name;
  }
  return "";
}

std::optional<MscclOp> parse_msccl_op(std::string_view text) {
  for (const auto& [value, name] : kNames) {
    if (text == name) return value;
  }
  return std::nullopt;
}

bool receives(MscclOp op) {
  switch (op) {
    case MscclOp::receive:
    case MscclOp::receive_copy_send:
    case MscclOp::receive_reduce_copy:
    case MscclOp::receive_reduce_send:
    case MscclOp::receive_reduce_copy_send:
      return true;
    default:
      return false;
  }
}

bool sends(MscclOp op) {
  switch (op) {
    case MscclOp::send:
    case MscclOp::receive_copy_send:
    case MscclOp::receive_reduce_send:
    case MscclOp::receive_reduce_copy_send:
      return true;
    default:
      return false;
  }
}

const std::vector<std::string_view>& msccl_collectives() {
  static const std::vector<std::string_view> names = {"allgather",    "allreduce", "alltoall",
                                                      "broadcast",    "reduce",    "reduce_scatter",
                                                      "reducescatter"};
  return names;
}

bool msccl_knows(std::string_view collective) {
  const auto& names = msccl_collectives();
  return std::find(names.begin(), names.end(), collective) != names.end();
}

std::optional<int> msccl_capacity(std::string_view protocol) {
  // Of a connection's 8 slots a chunk takes 4 with Simple, and one with the others.
  if (protocol == "Simple") return 2;
  if (protocol == "LL" || protocol == "LL128") return 8;
  return std::nullopt;
}

std::size_t MscclProgram::steps() const {
  std::size_t count = 0;
  for (const MscclGpu& gpu : gpus) {
    for (const MscclBlock& block : gpu.blocks) count += block.steps.size();
  }
  return count;
}

}  // namespace stellwerk::check
