// The runtime has traps that the writer keeps out of: it divides by input_chunks and output_chunks, also where a call is in place, so both
// are the true ones; `flush` and `pwsf` do not do what they say in its version 0.9.0, so ports are given back by signals;
// `get` mixes up its offsets, so data are only put. Places are 32 bits, so max_message_size says how large a call may be.
#include "stellwerk/io/mscclpp_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/json.hpp"

namespace stellwerk {
namespace {

using lower::Access;
using lower::Place;
using lower::PutOp;

char letter(lower::Buffer buffer) {
  switch (buffer) {
    case lower::Buffer::input:
      return 'i';
    case lower::Buffer::output:
      return 'o';
    case lower::Buffer::scratch:
      return 's';
  }
  return 'i';
}

const char* name_of(Access access) { return access == Access::memory ? "memory" : "port"; }

const char* name_of(const PutOp& op) {
  switch (op.kind) {
    case PutOp::Kind::sync:
      return "nop";
    case PutOp::Kind::signal:
      return op.relaxed ? "rlxsignal" : "signal";
    case PutOp::Kind::wait:
      return op.relaxed ? "rlxwait" : "wait";
    case PutOp::Kind::put:
      return "put";
    case PutOp::Kind::put_signal:
      return "pws";
    case PutOp::Kind::reduce:
      return "re";
    case PutOp::Kind::copy:
      return "copy";
  }
  return "";
}

std::string collective_name(Collective collective) {
  switch (collective) {
    case Collective::allgather:
    case Collective::allreduce:
    case Collective::alltoall:
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::reducescatter:
      return std::string(to_string(collective));
    default:
      throw Error(ErrorCode::unsolved,
                  "not expressible: MSCCL++ has no " + std::string(to_string(collective)));
  }
}

class Writer {
 public:
  Writer(const lower::PutProgram& program, const MscclppFile& file)
      : program_(program), file_(file), out_(std::back_inserter(text_)) {}

  std::string write() {
    fmt::format_to(
        out_,
        "{{\n\"name\": {},\n\"collective\": \"{}\",\n\"protocol\": \"Simple\",\n\"inplace\": {},\n"
        "\"reuse_resources\": false,\n\"num_threads_per_block\": 1024,\n"
        "\"use_double_scratch_buffer\": false,\n\"buffer_alignment\": 16,\n"
        "\"min_message_size\": {},\n\"max_message_size\": {},\n\"gpus\": [",
        json::quote(file_.name), collective_name(program_.collective), program_.in_place,
        file_.min_bytes,
        file_.max_bytes > 0 ? std::min(file_.max_bytes, largest_call(program_))
                            : largest_call(program_));
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) {
      text_ += r == 0 ? "\n" : ",\n";
      write_rank(r, program_.ranks[r]);
    }
    text_ += "]}\n";
    return std::move(text_);
  }

 private:
  void list(const std::vector<int>& numbers) {
    fmt::format_to(out_, "[{}]", fmt::join(numbers, ", "));
  }

  void write_rank(std::size_t r, const lower::PutRank& rank) {
    fmt::format_to(
        out_,
        "{{\"id\": {}, \"input_chunks\": {}, \"output_chunks\": {}, \"scratch_chunks\": {},\n"
        "  \"channels\": [",
        r, program_.input, program_.output, rank.scratch);
    lists(rank.channels, [&](Access access, const std::vector<int>& peers) {
      fmt::format_to(out_, "{{\"channel_type\": \"{}\", \"connected_to\": ", name_of(access));
      list(peers);
    });
    text_ += "],\n  \"remote_buffers\": [";
    for (std::size_t k = 0; k < rank.remote.size(); ++k) {
      const lower::RemoteBuffer& remote = rank.remote[k];
      fmt::format_to(
          out_, "{}{{\"rank\": {}, \"type\": \"{}\", \"access_channel_types\": [\"{}\"]}}",
          k == 0 ? "" : ", ", remote.rank, letter(remote.buffer), name_of(remote.access));
    }
    text_ += "],\n  \"semaphores\": [],\n  \"threadblocks\": [";
    for (std::size_t b = 0; b < rank.blocks.size(); ++b) {
      text_ += b == 0 ? "\n" : ",\n";
      write_block(b, rank.blocks[b]);
    }
    text_ += "]}";
  }

  /// The lists that are not empty, as objects that `begin` begins.
  template <class Begin>
  void lists(const std::array<std::vector<int>, 2>& by_access, Begin begin) {
    bool first = true;
    for (const Access access : {Access::memory, Access::port}) {
      const auto& numbers = by_access[static_cast<std::size_t>(access)];
      if (numbers.empty()) continue;
      if (!first) text_ += ", ";
      begin(access, numbers);
      text_ += "}";
      first = false;
    }
  }

  void write_block(std::size_t b, const lower::PutBlock& block) {
    fmt::format_to(out_, "  {{\"id\": {}, \"channels\": [", b);
    lists(block.channels, [&](Access access, const std::vector<int>& numbers) {
      fmt::format_to(out_, "{{\"channel_type\": \"{}\", \"channel_ids\": ", name_of(access));
      list(numbers);
    });
    text_ += "], \"remote_buffer_refs\": [";
    lists(block.buffers, [&](Access access, const std::vector<int>& numbers) {
      fmt::format_to(out_,
                     "{{\"access_channel_type\": \"{}\", \"remote_buffer_ids\": ", name_of(access));
      list(numbers);
    });
    text_ += "],\n   \"ops\": [";
    for (std::size_t k = 0; k < block.ops.size(); ++k) {
      text_ += k == 0 ? "\n" : ",\n";
      write_op(block.ops[k]);
    }
    text_ += "]}";
  }

  void write_op(const PutOp& op) {
    fmt::format_to(out_, "    {{\"name\": \"{}\"", name_of(op));
    const bool puts = op.kind == PutOp::Kind::put || op.kind == PutOp::Kind::put_signal;
    const bool control = op.kind == PutOp::Kind::signal || op.kind == PutOp::Kind::wait;
    if (control || puts) {
      text_ += ", \"channel_ids\": ";
      list(op.channels);
      fmt::format_to(out_, ", \"channel_type\": \"{}\"", name_of(op.access));
    }
    if (!op.sources.empty()) {
      text_ += ", \"src_buff\": [";
      places(op, op.sources, false);
      text_ += "], \"dst_buff\": [";
      places(op, op.targets, puts);
      text_ += "]";
    }
    if (op.kind == PutOp::Kind::reduce) text_ += ", \"reduce_op\": \"sum\"";
    text_ += "}";
  }

  void places(const PutOp& op, const std::vector<Place>& places, bool remote) {
    for (std::size_t k = 0; k < places.size(); ++k) {
      text_ += k == 0 ? "{" : ", {";
      if (remote) {
        fmt::format_to(out_, "\"buffer_id\": {}", op.buffers[k]);
      } else {
        fmt::format_to(out_, "\"type\": \"{}\"", letter(places[k].buffer));
      }
      fmt::format_to(out_, ", \"index\": {}, \"size\": {}}}", places[k].offset, op.count);
    }
  }

  const lower::PutProgram& program_;
  const MscclppFile& file_;
  std::string text_;
  std::back_insert_iterator<std::string> out_;
};

}  // namespace

std::int64_t largest_call(const lower::PutProgram& program) {
  int chunks = std::max(program.input, program.output);
  const std::int64_t call =
      program.collective == Collective::allgather ? program.output : program.input;
  for (const lower::PutRank& rank : program.ranks) chunks = std::max(chunks, rank.scratch);
  return std::int64_t{UINT32_MAX} / chunks * call;
}

lower::PutLimits mscclpp_limits() {
  lower::PutLimits limits;
  limits.target = "mscclpp";
  return limits;
}

std::string format_mscclpp(const lower::PutProgram& program, const MscclppFile& file) {
  if (program.root != 0) {
    throw Error(ErrorCode::unsolved,
                "not expressible: MSCCL++ plans have no root but rank 0, and this one is " +
                    std::to_string(program.root));
  }
  if (file.min_bytes > largest_call(program)) {
    throw Error(ErrorCode::unsolved,
                "not expressible for mscclpp: calls of more than " +
                    std::to_string(largest_call(program)) +
                    " bytes, whose places do not fit 32 bits: lower --min-bytes, or plan with "
                    "fewer chunks (--chunks)");
  }
  return Writer(program, file).write();
}

}  // namespace stellwerk
