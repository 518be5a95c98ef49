#include "stellwerk/io/msccl_xml.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "stellwerk/base/error.hpp"
#include "stellwerk/io/text.hpp"
#include "stellwerk/io/xml.hpp"

namespace stellwerk {
namespace {

using check::MscclBlock;
using check::MscclGpu;
using check::MscclProgram;
using check::MscclRange;
using check::MscclStep;
using check::parse_msccl_op;

/// Sizes beyond these are no programs but bombs.
constexpr std::int64_t kMostGpus = 65'536;
constexpr std::int64_t kMostChunks = 1 << 22;
/// Runtimes take some hundred steps a thread block.
constexpr std::size_t kMostSteps = 16'384;

constexpr std::string_view kBlanks = " \t\r\n";

/// Takes off what is up to and with `end`; all of it if there is no `end`.
void skip(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + end.size());
}

/// Takes a tag off the beginning. Is there, where an attribute begins, anything but one blank before it?
bool skip_tag(std::string_view& text) {
  bool crooked = false;
  while (!text.empty() && text[0] != '>') {
    if (text[0] == '"' || text[0] == '\'') {
      const char quote = text[0];
      text.remove_prefix(1);
      skip(text, {&quote, 1});
      if (text.empty()) break;
      crooked = crooked || std::string_view(" />\t\r\n").find(text[0]) == std::string_view::npos;
    } else if (kBlanks.find(text[0]) != std::string_view::npos) {
      const std::string_view blanks =
          text.substr(0, std::min(text.find_first_not_of(kBlanks), text.size()));
      text.remove_prefix(blanks.size());
      const bool end = text.empty() || text[0] == '>' || text[0] == '/';
      crooked = crooked || (!end && blanks != " ");
    } else {
      text.remove_prefix(1);
    }
  }
  skip(text, ">");
  return crooked;
}

/// Precondition: well-formed XML.
check::MscclSyntax syntax_of(std::string_view text) {
  check::MscclSyntax syntax;
  while (!text.empty()) {
    if (text.starts_with("<!--")) {
      skip(text, "-->");
    } else if (text.starts_with("<?")) {
      syntax.declaration = true;
      skip(text, "?>");
    } else if (text[0] == '<') {
      syntax.blanks = skip_tag(text) || syntax.blanks;
    } else {
      syntax.tabs = syntax.tabs || text[0] == '\t';
      text.remove_prefix(1);
    }
  }
  return syntax;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  MscclProgram read() {
    parse_xml(text_, file_, document_);
    count_lines();
    const pugi::xml_node algo = document_.child("algo");
    if (!algo) fail(document_.first_child(), "there is no element <algo>");
    MscclProgram program;
    program.syntax = syntax_of(text_);
    for (const char* key : {"name", "proto", "outofplace", "minBytes", "maxBytes"}) {
      if (!algo.attribute(key)) program.syntax.missing.emplace_back(key);
    }
    program.name = algo.attribute("name").value();
    program.collective = needed(algo, "coll");
    program.protocol = algo.attribute("proto").value();
    program.channels = static_cast<int>(integer(algo, "nchannels", 1, 1 << 16));
    program.chunks = static_cast<int>(integer(algo, "nchunksperloop", 1, kMostChunks));
    const std::int64_t gpus = integer(algo, "ngpus", 1, kMostGpus);
    program.in_place = integer(algo, "inplace", 0, 1) == 1;
    program.out_of_place = integer_or(algo, "outofplace", program.in_place ? 0 : 1, 0, 1) == 1;
    program.min_bytes = integer_or(algo, "minBytes", 0, 0, INT64_MAX);
    program.max_bytes = integer_or(algo, "maxBytes", 0, 0, INT64_MAX);
    for (const pugi::xml_node gpu : algo.children("gpu")) program.gpus.push_back(read_gpu(gpu));
    if (static_cast<std::int64_t>(program.gpus.size()) != gpus) {
      fail(algo, "ngpus=" + std::to_string(gpus) + ", but there are " +
                     std::to_string(program.gpus.size()) + " elements <gpu>");
    }
    return program;
  }

 private:
  [[noreturn]] void fail(const pugi::xml_node& node, const std::string& what) const {
    throw Error(ErrorCode::unreadable_input,
                one_line(file_) + ":" + std::to_string(line(node)) + ": " + what);
  }

  /// Where every line begins, so that each step's line costs a search and not a scan.
  void count_lines() {
    for (std::size_t at = 0; at < text_.size(); ++at) {
      if (text_[at] == '\n') ends_.push_back(at);
    }
  }
  std::size_t line(const pugi::xml_node& node) const {
    const std::ptrdiff_t offset = node.offset_debug();
    return 1 + static_cast<std::size_t>(
                   std::lower_bound(ends_.begin(), ends_.end(),
                                    static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0))) -
                   ends_.begin());
  }

  const char* needed(const pugi::xml_node& node, const char* key) const {
    const pugi::xml_attribute attribute = node.attribute(key);
    if (!attribute) fail(node, std::string("<") + node.name() + "> has no attribute " + key);
    return attribute.value();
  }
  std::int64_t integer(const pugi::xml_node& node, const char* key, std::int64_t least,
                       std::int64_t most) const {
    const std::string_view text = needed(node, key);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
      fail(node, std::string(key) + "=" + in_quotes(text) + " is not a number from " +
                     std::to_string(least) + " to " + std::to_string(most));
    }
    return value;
  }
  std::int64_t integer_or(const pugi::xml_node& node, const char* key, std::int64_t otherwise,
                          std::int64_t least, std::int64_t most) const {
    return node.attribute(key) ? integer(node, key, least, most) : otherwise;
  }
  int number(const pugi::xml_node& node, const char* key, std::int64_t least = -1) const {
    return static_cast<int>(integer(node, key, least, kMostChunks));
  }

  MscclGpu read_gpu(const pugi::xml_node& node) const {
    MscclGpu gpu;
    gpu.line = line(node);
    gpu.id = number(node, "id", 0);
    gpu.input = number(node, "i_chunks", 0);
    gpu.output = number(node, "o_chunks", 0);
    gpu.scratch = number(node, "s_chunks", 0);
    for (const pugi::xml_node tb : node.children("tb")) {
      MscclBlock block;
      block.line = line(tb);
      block.id = number(tb, "id", 0);
      block.send = number(tb, "send");
      block.receive = number(tb, "recv");
      block.channel = number(tb, "chan", 0);
      for (const pugi::xml_node step : tb.children("step")) {
        if (block.steps.size() == kMostSteps)
          fail(tb, "more than " + std::to_string(kMostSteps) +
                       " steps in a thread block: no runtime takes them, so they are not read");
        block.steps.push_back(read_step(step, block.steps.size()));
      }
      gpu.blocks.push_back(std::move(block));
    }
    return gpu;
  }

  MscclRange range(const pugi::xml_node& step, const char* buffer, const char* offset) const {
    const std::string_view name = needed(step, buffer);
    if (name != "i" && name != "o" && name != "s")
      fail(step, std::string(buffer) + "=" + in_quotes(name) + " is none of i, o, s");
    return {name[0], number(step, offset)};
  }

  MscclStep read_step(const pugi::xml_node& node, std::size_t place) const {
    MscclStep step;
    step.line = line(node);
    if (number(node, "s", 0) != static_cast<int>(place))
      fail(node, "s=" + in_quotes(needed(node, "s")) + " is at place " + std::to_string(place));
    const std::string_view type = needed(node, "type");
    const auto op = parse_msccl_op(type);
    if (!op)
      fail(node, "type=" + in_quotes(type) + " is none of s, r, rcs, rrc, rrs, rrcs, re, cpy, nop");
    step.op = *op;
    step.src = range(node, "srcbuf", "srcoff");
    step.dst = range(node, "dstbuf", "dstoff");
    step.count = number(node, "cnt", 0);
    step.wait_block = number(node, "depid");
    step.wait_step = number(node, "deps");
    step.awaited = integer(node, "hasdep", 0, 1) == 1;
    return step;
  }

  std::string_view text_;
  const std::string& file_;
  pugi::xml_document document_;
  std::vector<std::size_t> ends_;
};

}  // namespace

bool looks_like_msccl_xml(std::string_view text) {
  while (true) {
    const std::size_t start = text.find('<');
    if (start == std::string_view::npos) return false;
    text.remove_prefix(start);
    const bool comment = text.starts_with("<!--");
    if (!comment && !text.starts_with("<?")) return text.starts_with("<algo");
    skip(text, comment ? "-->" : "?>");
  }
}

check::MscclProgram read_msccl_xml(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

}  // namespace stellwerk
