// The wire format is small enough to write by hand: fields of messages are a tag (number << 3 | type) and a varint or bytes.
// Numbers are those of Chakra's schema 0.0.4, as ASTRA-sim's own traces have them.
#include "stellwerk/io/chakra_writer.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "stellwerk/lower/operations.hpp"

namespace stellwerk {
namespace {

using lower::Operation;

class Message {
 public:
  void number(int field, std::uint64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(value);
  }
  void bytes(int field, std::string_view value) {
    varint((static_cast<std::uint64_t>(field) << 3) | 2);
    varint(value.size());
    data_ += value;
  }
  /// A repeated number, packed.
  void numbers(int field, const std::vector<std::size_t>& values) {
    if (values.empty()) return;
    Message packed;
    for (const std::size_t value : values) packed.varint(value);
    bytes(field, packed.data_);
  }
  const std::string& data() const { return data_; }
  /// With its length before it.
  std::string delimited() const {
    Message length;
    length.varint(data_.size());
    return length.data_ + data_;
  }

 private:
  void varint(std::uint64_t value) {
    while (value >= 128) {
      data_ += static_cast<char>((value & 127) | 128);
      value >>= 7;
    }
    data_ += static_cast<char>(value);
  }
  std::string data_;
};

// Fields.
constexpr int kMetadataAttribute = 2;
constexpr int kId = 1, kName = 2, kType = 3, kDataDependencies = 5, kAttribute = 10;
constexpr int kAttributeName = 1, kInt32 = 7, kInt64 = 9, kString = 29;
// Types of nodes.
constexpr std::uint64_t kCompute = 4, kSend = 5, kReceive = 6;

std::string attribute(std::string_view name, int field, std::uint64_t value) {
  Message message;
  message.bytes(kAttributeName, name);
  message.number(field, value);
  return message.data();
}
std::string attribute(std::string_view name, std::string_view value) {
  Message message;
  message.bytes(kAttributeName, name);
  message.bytes(kString, value);
  return message.data();
}

class Trace {
 public:
  Trace(const Problem& problem, const std::vector<lower::Transfer>& transfers)
      : problem_(problem), transfers_(transfers) {}

  std::string of(const lower::RankOperations& rank) {
    std::string text = metadata();
    done_.clear();
    next_ = 0;
    std::map<std::pair<bool, int>, std::size_t> last;  // of every connection, by node
    for (const Operation& operation : rank.operations) {
      std::vector<std::size_t> after;
      for (const std::size_t other : operation.after) after.push_back(done_[other]);
      const bool moves = operation.sends() || operation.receives();
      std::vector<std::size_t> in_turn;  // the one before it on its connection
      if (moves) {
        const auto [entry, first] = last.try_emplace({operation.sends(), operation.peer}, next_);
        if (!first) in_turn.push_back(std::exchange(entry->second, next_));
      }
      if (operation.kind == Operation::Kind::receive_reduce) {
        // What arrives is added by a node of its own: it need not wait for what it is added to.
        after.push_back(communicate(text, operation, in_turn));
        done_.push_back(compute(text, after));
      } else if (moves) {
        after.insert(after.end(), in_turn.begin(), in_turn.end());
        done_.push_back(communicate(text, operation, after));
      } else {
        done_.push_back(compute(text, after));
      }
    }
    return text;
  }

 private:
  std::string metadata() const {
    Message message;
    message.bytes(kMetadataAttribute, attribute("schema", "1.0.2-chakra.0.0.4"));
    message.bytes(kMetadataAttribute,
                  attribute("collective", to_string(problem_.jobs.front().collective)));
    message.bytes(kMetadataAttribute, attribute("planner", "stellwerk"));
    return message.delimited();
  }

  static std::vector<std::size_t> sorted(std::vector<std::size_t> list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }

  std::size_t communicate(std::string& text, const Operation& operation,
                          std::vector<std::size_t> after) {
    const bool sends = operation.sends();
    const std::uint64_t type = sends ? kSend : kReceive;
    Message node;
    node.number(kId, next_);
    node.bytes(kName, std::string(sends ? "COMM_SEND_" : "COMM_RECV_") +
                          std::to_string(operation.transfer));
    node.number(kType, type);
    node.numbers(kDataDependencies, sorted(std::move(after)));
    node.bytes(kAttribute, attribute("comm_type", kInt64, type));
    const Bytes bytes = problem_.chunks[transfers_[operation.transfer].chunk].bytes;
    node.bytes(kAttribute, attribute("comm_size", kInt64, static_cast<std::uint64_t>(bytes.value)));
    node.bytes(kAttribute, attribute(sends ? "comm_dst" : "comm_src", kInt32,
                                     static_cast<std::uint64_t>(operation.peer)));
    node.bytes(kAttribute, attribute("comm_tag", kInt32, operation.transfer));
    text += node.delimited();
    return next_++;
  }

  std::size_t compute(std::string& text, std::vector<std::size_t> after) {
    Message node;
    node.number(kId, next_);
    node.bytes(kName, "COMP_" + std::to_string(next_));
    node.number(kType, kCompute);
    node.numbers(kDataDependencies, sorted(std::move(after)));
    text += node.delimited();
    return next_++;
  }

  const Problem& problem_;
  const std::vector<lower::Transfer>& transfers_;
  std::vector<std::size_t> done_;  ///< the node that finishes each operation
  std::size_t next_ = 0;
};

}  // namespace

std::vector<std::string> format_chakra(const Plan& plan, bool in_place) {
  const std::vector<lower::Transfer> transfers = lower::transfers(plan);
  const lower::Buffers buffers(plan.problem, in_place);
  std::vector<std::string> result;
  Trace trace(plan.problem, transfers);
  for (const lower::RankOperations& rank : lower::operations(plan.problem, transfers, buffers))
    result.push_back(trace.of(rank));
  return result;
}

}  // namespace stellwerk
