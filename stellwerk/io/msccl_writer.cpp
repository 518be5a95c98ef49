// The runtimes' parsers are written by hand: no XML declaration, one blank between attributes, no tabs; every attribute that
// any of them needs is there.
#include "stellwerk/io/msccl_writer.hpp"

#include <fmt/format.h>

#include <iterator>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"

namespace stellwerk {
namespace {

using lower::Place;
using lower::Step;

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

const char* type_of(Step::Kind kind) {
  switch (kind) {
    case Step::Kind::send:
      return "s";
    case Step::Kind::receive:
      return "r";
    case Step::Kind::receive_reduce:
      return "rrc";
    case Step::Kind::reduce:
      return "re";
    case Step::Kind::copy:
      return "cpy";
    case Step::Kind::wait:
      return "nop";
  }
  return "";
}

const char* collective_name(Collective collective, MscclDialect dialect) {
  switch (collective) {
    case Collective::allgather:
      return "allgather";
    case Collective::allreduce:
      return "allreduce";
    case Collective::alltoall:
      return "alltoall";
    case Collective::broadcast:
      return "broadcast";
    case Collective::reduce:
      return "reduce";
    case Collective::reducescatter:
      return dialect == MscclDialect::msccl ? "reduce_scatter" : "reducescatter";
    default:
      throw Error(ErrorCode::unsolved,
                  "not expressible: MSCCL has no " + std::string(to_string(collective)));
  }
}

void write_step(std::back_insert_iterator<std::string> out, std::size_t place, const Step& step) {
  // What a step does not use still has to be legal.
  Place source = step.source, target = step.target;
  if (step.kind == Step::Kind::send) target = source;
  if (step.kind == Step::Kind::receive) source = target;
  const bool wait = step.kind == Step::Kind::wait;
  fmt::format_to(out,
                 "      <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" "
                 "dstoff=\"{}\" cnt=\"{}\" "
                 "depid=\"{}\" deps=\"{}\" hasdep=\"{}\"/>\n",
                 place, type_of(step.kind), wait ? 'i' : letter(source.buffer),
                 wait ? -1 : source.offset, wait ? 'o' : letter(target.buffer),
                 wait ? -1 : target.offset, wait ? 0 : 1, step.wait_block, step.wait_step,
                 step.awaited ? 1 : 0);
}

}  // namespace

MscclDialect parse_msccl_dialect(std::string_view name) {
  if (name == "msccl") return MscclDialect::msccl;
  if (name == "azure") return MscclDialect::azure;
  if (name == "rccl") return MscclDialect::rccl;
  throw Error(ErrorCode::usage, "--target " + in_quotes(name) + " is none of msccl, azure, rccl" +
                                    did_you_mean(name, {"msccl", "azure", "rccl"}));
}

lower::Limits msccl_limits(MscclDialect dialect) {
  switch (dialect) {
    case MscclDialect::msccl:
      return {"msccl", 256, 216, 32, 32, 127, 4096};
    case MscclDialect::azure:
      return {"azure", 64, 1024, 32, 32, 127, 4096};
    case MscclDialect::rccl:
      return {"rccl", 64, 64, 32, 32, 127, 4096};
  }
  return {};
}

std::string format_msccl_xml(const lower::Program& program, MscclDialect dialect,
                             const MscclFile& file) {
  if (program.root != 0) {
    throw Error(ErrorCode::unsolved,
                "not expressible: MSCCL has no root but rank 0, and this one is " +
                    std::to_string(program.root));
  }
  std::string text;
  const auto out = std::back_inserter(text);
  // 0 is no limit for RCCL; the others compare, and microsoft/msccl takes calls of fewer bytes only.
  const bool less = dialect == MscclDialect::msccl && file.max_bytes < INT64_MAX;
  const std::int64_t most = file.max_bytes > 0              ? file.max_bytes + (less ? 1 : 0)
                            : dialect == MscclDialect::rccl ? 0
                                                            : INT64_MAX;
  fmt::format_to(out,
                 "<algo name=\"{}\" proto=\"{}\" nchannels=\"{}\" nchunksperloop=\"{}\" "
                 "ngpus=\"{}\" coll=\"{}\" inplace=\"{}\" "
                 "outofplace=\"{}\" minBytes=\"{}\" maxBytes=\"{}\">\n",
                 file.name, file.protocol, program.channels, program.chunks, program.ranks.size(),
                 collective_name(program.collective, dialect), program.in_place ? 1 : 0,
                 program.in_place ? 0 : 1, file.min_bytes, most);
  for (std::size_t r = 0; r < program.ranks.size(); ++r) {
    const lower::RankProgram& rank = program.ranks[r];
    fmt::format_to(out, "  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", r,
                   rank.input, rank.output, rank.scratch);
    for (std::size_t b = 0; b < rank.blocks.size(); ++b) {
      const lower::ThreadBlock& block = rank.blocks[b];
      fmt::format_to(out, "    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", b, block.send,
                     block.receive, block.channel);
      for (std::size_t s = 0; s < block.steps.size(); ++s) write_step(out, s, block.steps[s]);
      text += "    </tb>\n";
    }
    text += "  </gpu>\n";
  }
  text += "</algo>\n";
  return text;
}

}  // namespace stellwerk
