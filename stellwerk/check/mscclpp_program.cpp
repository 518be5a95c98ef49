#include "stellwerk/check/mscclpp_program.hpp"

#include <utility>

namespace stellwerk::check {
namespace {

constexpr std::array<std::pair<MscclppOp, const char*>, 29> kNames = {{
    {MscclppOp::nop, "nop"},
    {MscclppOp::barrier, "barrier"},
    {MscclppOp::put, "put"},
    {MscclppOp::put_signal, "pws"},
    {MscclppOp::put_flush, "pwsf"},
    {MscclppOp::get, "get"},
    {MscclppOp::copy, "copy"},
    {MscclppOp::signal, "signal"},
    {MscclppOp::wait, "wait"},
    {MscclppOp::relaxed_signal, "rlxsignal"},
    {MscclppOp::relaxed_wait, "rlxwait"},
    {MscclppOp::flush, "flush"},
    {MscclppOp::reduce, "re"},
    {MscclppOp::reduce_send, "res"},
    {MscclppOp::read_reduce, "rre"},
    {MscclppOp::read_reduce_send, "rres"},
    {MscclppOp::put_packets, "ppkt"},
    {MscclppOp::read_put_packets, "rppkt"},
    {MscclppOp::reduce_packets, "repkt"},
    {MscclppOp::reduce_send_packets, "respkt"},
    {MscclppOp::reduce_copy_packets, "recpkt"},
    {MscclppOp::reduce_copy_send_packets, "recspkt"},
    {MscclppOp::copy_packets, "cpkt"},
    {MscclppOp::unpack_packets, "upkt"},
    {MscclppOp::load_reduce_store, "glres"},
    {MscclppOp::multi_store, "gstore"},
    {MscclppOp::pipeline, "pipeline"},
    {MscclppOp::acquire, "sem_acquire"},
    {MscclppOp::release, "sem_release"},
}};

}  // namespace

const char* to_string(MscclppOp op) {
  for (const auto& [value, name] : kNames) {
    if (value == op) return name;
  }
  return "";
}

std::optional<MscclppOp> parse_mscclpp_op(std::string_view text) {
  for (const auto& [value, name] : kNames) {
    if (text == name) return value;
  }
  return std::nullopt;
}

std::size_t MscclppProgram::steps() const {
  std::size_t count = 0;
  for (const MscclppGpu& gpu : gpus) {
    for (const MscclppBlock& block : gpu.blocks) {
      count += block.steps.size();
      for (const MscclppStep& step : block.steps) count += step.inner.size();
    }
  }
  return count;
}

bool mscclpp_knows(std::string_view collective) {
  return collective == "allgather" || collective == "allreduce" || collective == "reducescatter" ||
         collective == "alltoall" || collective == "broadcast" || collective == "reduce";
}

}  // namespace stellwerk::check
