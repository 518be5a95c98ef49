// A send: one chunk, or a byte range of it, over a tree of links. A schedule is a list of sends.
#pragma once

#include <string_view>
#include <vector>

#include "stellwerk/base/ids.hpp"
#include "stellwerk/base/units.hpp"
#include "stellwerk/core/chunk.hpp"
#include "stellwerk/core/topology.hpp"

namespace stellwerk {

enum class Op : std::uint8_t {
  copy,    ///< data, or a finished sum
  reduce,  ///< moves the sender's partial sum to the receiver, which merges it
  share,   ///< as reduce, but the sender keeps its partial sum
};

std::string_view to_string(Op op);

/// See docs/model.md, "Sends", for what it means. The links are in an order in which every link's tail is the send's
/// source or the head of an earlier link (an in-tree reduction: leaves first).
struct Send {
  ChunkId chunk;
  Op op = Op::copy;
  Time start;
  Bandwidth rate;
  std::vector<LinkId> links;
  Bytes offset;  ///< first byte of the range
  Bytes bytes;   ///< length of the range; the chunk's size when it moves whole

  friend bool operator==(const Send&, const Send&) = default;
};

/// A send of the whole chunk at the smallest bandwidth of `links`.
Send whole_chunk_send(const Topology& topology, const Chunk& chunk, ChunkId id, Op op, Time start,
                      std::vector<LinkId> links);

/// When a send uses its links and reaches its leaves, relative to its start: the cut-through rule in one place.
struct SendTiming {
  std::vector<Time> entry;      ///< per link of the send: first byte enters at start + entry
  std::vector<NodeId> leaves;   ///< receivers: GPUs or relays
  std::vector<Time> arrival;    ///< per leaf: last byte is in at start + arrival
  std::vector<NodeId> sources;  ///< one; several for an in-tree reduction
  Time duration;                ///< bytes / rate: how long each link is in use
};

/// Precondition: `send.links` is a valid tree (the verifier judges that with its own code).
SendTiming timing(const Topology& topology, const Send& send);

/// The same into `result`, whose memory is used again: for passes over a million sends.
void timing(const Topology& topology, const Send& send, SendTiming& result);

/// Order of the model: (start, chunk, source), then links for determinism.
void sort_sends(const Topology& topology, std::vector<Send>& sends);

using Schedule = std::vector<Send>;

}  // namespace stellwerk
