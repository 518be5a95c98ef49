#include "stellwerk/check/mscclpp_motion.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace stellwerk::check {
namespace {

/// One letter a place: l own data, p own packets, r remote data, q remote packets, w a switch; * repeats the last one any number of times.
struct Shape {
  MscclppOp op;
  std::string_view from, to;
  bool pairs;  ///< the k-th place goes to the k-th; else the sum of all to each
};

constexpr std::array kShapes = {
    Shape{MscclppOp::put, "ll*", "rr*", true},
    Shape{MscclppOp::put_signal, "ll*", "rr*", true},
    Shape{MscclppOp::put_flush, "ll*", "rr*", true},
    Shape{MscclppOp::get, "rr*", "ll*", true},
    Shape{MscclppOp::copy, "l", "l", false},
    Shape{MscclppOp::reduce, "ll*", "l", false},
    Shape{MscclppOp::reduce_send, "ll*", "lr*", false},
    Shape{MscclppOp::read_reduce, "lr*", "l", false},
    Shape{MscclppOp::read_reduce_send, "lr*", "lr*", false},
    Shape{MscclppOp::put_packets, "ll*", "qq*", true},
    Shape{MscclppOp::read_put_packets, "p", "qq*", false},
    Shape{MscclppOp::reduce_packets, "lp*", "l", false},
    Shape{MscclppOp::reduce_send_packets, "lp*", "lq*", false},
    Shape{MscclppOp::reduce_copy_packets, "lp*", "lp", false},
    Shape{MscclppOp::reduce_copy_send_packets, "lp*", "lpq*", false},
    Shape{MscclppOp::copy_packets, "l", "p", false},
    Shape{MscclppOp::unpack_packets, "p", "l", false},
    Shape{MscclppOp::load_reduce_store, "w", "w", false},
    Shape{MscclppOp::multi_store, "l", "w", false},
};

const Shape* shape(MscclppOp op) {
  const auto* found =
      std::find_if(kShapes.begin(), kShapes.end(), [&](const Shape& s) { return s.op == op; });
  return found == kShapes.end() ? nullptr : found;
}

/// The letter of the k-th place, or '-' if there must be none.
char letter(std::string_view pattern, std::size_t k) {
  const bool repeats = pattern.ends_with('*');
  const std::size_t fixed = pattern.size() - (repeats ? 2 : 0);
  if (k < fixed) return pattern[k];
  return repeats ? pattern[fixed] : '-';
}
std::size_t least(std::string_view pattern) {
  return pattern.size() - (pattern.ends_with('*') ? 2 : 0);
}

MscclppRange::Where where(char letter) {
  switch (letter) {
    case 'r':
    case 'q':
      return MscclppRange::Where::remote;
    case 'w':
      return MscclppRange::Where::switch_;
    default:
      return MscclppRange::Where::local;
  }
}

std::string fault_of(const std::vector<MscclppRange>& ranges, std::string_view pattern,
                     const char* what) {
  if (ranges.size() < least(pattern)) return std::string("too few entries in ") + what;
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    const char wanted = letter(pattern, k);
    if (wanted == '-') return std::string("too many entries in ") + what;
    if (ranges[k].where != where(wanted)) {
      return std::string(what) + " " + std::to_string(k) + " must be " +
             (wanted == 'w'                                  ? "at a switch"
              : where(wanted) == MscclppRange::Where::remote ? "a remote buffer"
                                                             : "a buffer of the GPU");
    }
    if (ranges[k].count < 1) return std::string(what) + " " + std::to_string(k) + " is empty";
  }
  return "";
}

MscclppSide side(const std::vector<MscclppRange>& ranges, std::size_t k, std::string_view pattern) {
  const char kind = letter(pattern, k);
  return {ranges[k], kind == 'p' || kind == 'q'};
}

}  // namespace

std::vector<MscclppMotion> mscclpp_motions(const MscclppStep& step) {
  const Shape* row = shape(step.op);
  if (row == nullptr) return {};
  std::vector<MscclppMotion> result(row->pairs ? step.dst.size() : 1);
  for (std::size_t k = 0; k < step.src.size(); ++k)
    result[row->pairs ? k : 0].from.push_back(side(step.src, k, row->from));
  for (std::size_t k = 0; k < step.dst.size(); ++k)
    result[row->pairs ? k : 0].to.push_back(side(step.dst, k, row->to));
  return result;
}

std::string mscclpp_shape_fault(const MscclppStep& step) {
  const Shape* row = shape(step.op);
  if (row == nullptr) {
    return step.src.empty() && step.dst.empty() ? "" : "moves no data, but names buffers";
  }
  if (std::string fault = fault_of(step.src, row->from, "src_buff"); !fault.empty()) return fault;
  if (std::string fault = fault_of(step.dst, row->to, "dst_buff"); !fault.empty()) return fault;
  if (row->pairs && step.src.size() != step.dst.size())
    return "has not as many entries in src_buff as in dst_buff";
  for (const auto* ranges : {&step.src, &step.dst}) {
    for (const MscclppRange& range : *ranges) {
      if (range.count != step.src[0].count) return "moves different numbers of chunks";
    }
  }
  return "";
}

bool moves_packets(MscclppOp op) {
  const Shape* row = shape(op);
  return row != nullptr && (row->from.find('p') != std::string_view::npos ||
                            row->to.find_first_of("pq") != std::string_view::npos);
}

}  // namespace stellwerk::check
