// The state of one greedy run: private to greedy_run.cpp (what happens when), greedy_setup.cpp (the
// network and the demand as the run sees them), greedy_choice.cpp (who gets what from whom) and
// greedy_start.cpp (what a send takes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stellwerk/plan/bit_rows.hpp"
#include "stellwerk/plan/event_queue.hpp"
#include "stellwerk/plan/greedy_run.hpp"

namespace stellwerk {

class GreedyRun::State {
 public:
  using Word = BitRows::Word;

  static constexpr int kTries = 4;  // senders tried for one chunk, heads for one way up
  static constexpr std::int32_t kNone = -1;
  static constexpr std::int64_t kPlenty = std::int64_t{1} << 62;  // no cap

  State(const GreedyInput& input, const GreedyStyle& style, Rng rng, const StopCondition& stop);

  bool run(Time give_up);
  Time finish() const { return finish_; }
  Schedule schedule() const;

 private:
  /// What a run asks of a link, close together.
  struct Wire {
    NodeId from, to;
    Time latency;
    Time least_before;  // Fabrics::least_before
    std::int32_t fabric;
    bool leaves_node, enters_node;  // as opposed to a switch
    bool capped_out, capped_in;     // by injection of the tail, ejection of the head
  };
  /// A send that has been started: links[first_link, first_link + links) of the pool.
  struct Flight {
    std::int32_t chunk;
    std::uint32_t first_link;
    std::uint32_t links;
    Time start;
    Bandwidth rate;
  };
  enum class What : std::uint8_t {
    ready,
    lands,   // what was in flight at the start
    clears,  // what it took
    freed,
    freed_late,
    left_switch,
    arrived,
    woken,
  };
  struct Event {
    What what;
    std::uint32_t flight;  // ready, lands: the chunk; woken: the node; clears: of Residual::busy
    std::uint32_t detail;  // freed_late, clears: a resource; left_switch, lands: a node;
                           // arrived: a link
  };
  /// The ways up into one switch, or into one fabric of several switches.
  struct Pool {
    std::vector<Word> free;      // nodes with an idle way up
    std::size_t count = 0;       // of them
    std::vector<Word> holdings;  // at least the union of what those nodes hold
    bool known = false;          // holdings have been collected at this instant
    bool fresh = false;          // ... and nothing has been taken since
  };
  /// The ways down from the switches of one fabric, and what has changed around it.
  struct Port {
    std::vector<LinkId> freed;                              // ways down that fell idle
    std::vector<LinkId> risen;                              // ways up that fell idle
    std::vector<std::pair<NodeId, std::int32_t>> arrivals;  // who got what
    std::vector<std::int32_t> pools;                        // of its switches
    std::int32_t pool = kNone;  // of all its switches, when there are several
    std::vector<Word> idle;     // positions in Fabric::down of ways down that can take more
    bool several_clusters = true;
    bool queued = false;
  };

  // Resources are links, then injections, then ejections of nodes.
  std::size_t resource(LinkId id) const { return id.index(); }
  std::size_t injection(NodeId id) const { return links_ + id.index(); }
  std::size_t ejection(NodeId id) const { return links_ + nodes_ + id.index(); }
  const Wire& link(LinkId id) const { return wires_[id]; }

  void set_up_network();
  void take_busy();
  void set_up_clusters();
  void find_faster();
  bool enters_cluster(LinkId id) const;
  void set_up_chunks();
  void advance();
  void look_for_work();
  void handle(const Event& event);
  void arrive(std::int32_t chunk, NodeId node);
  void release(std::size_t resource, Bandwidth rate);
  void link_changed(LinkId id);
  void queue_port(int fabric);
  void touch(LinkId direct);

  bool may_start(LinkId id) const { return residual_[id.index()] > 0; }
  bool can_send(NodeId node) const { return residual_[injection(node)] > 0; }
  bool can_receive(NodeId node) const { return residual_[ejection(node)] > 0; }
  std::int64_t possible_rate(const std::vector<LinkId>& path) const;

  /// What `head` may be given from another cluster (or from anywhere, under no rule); null: all.
  const Word* needs(NodeId head) const {
    return clustering_ == nullptr ? nullptr
                                  : needed_.row(static_cast<std::size_t>(clustering_->of[head]));
  }
  bool may_take_anything(NodeId head) const;
  bool pays(std::int32_t chunk, const std::vector<LinkId>& path, std::int64_t rate);
  std::int32_t rarest(const Word* held, const Word* wanted, const Word* mask);
  void work_direct(LinkId id);
  void work_port(int fabric);
  void serve_all(int fabric);
  void serve_arrival(int fabric, NodeId sender, std::int32_t chunk);
  void serve_rising(int fabric, LinkId up);
  bool serve_head(int fabric, LinkId down, bool many);
  bool serve_from_pool(std::int32_t pool, LinkId down, const Word* mask, bool many);
  bool serve_by_chunks(Pool& pool, LinkId down, const Word* mask);
  bool start_from(const Word* candidates, std::int32_t chunk, LinkId down);
  bool start_from(NodeId sender, std::int32_t chunk, LinkId down);
  bool allowed(NodeId sender, NodeId head, std::int32_t chunk, LinkId down) const;
  void collect_holdings(Pool& pool);
  void start(std::int32_t chunk, NodeId from, std::vector<LinkId>& path);
  void join_others(std::int32_t chunk, NodeId from, std::vector<LinkId>& path, std::int64_t rate);
  void promise(std::int32_t chunk, NodeId head);
  void update_pool(NodeId node, NodeId at_switch);
  void update_idle(LinkId down);

  const GreedyInput& input_;
  const Problem& problem_;
  const Topology& topology_;
  const Fabrics& fabrics_;
  const Clustering* clustering_ = nullptr;  // null: no rule
  GreedyStyle style_;
  Rng rng_;
  StopCondition stop_;
  std::size_t links_, nodes_;

  // Network.
  IdVector<LinkId, Wire> wires_;
  std::vector<std::int64_t> capacity_, residual_;
  std::vector<Port> ports_;
  std::vector<Pool> pools_;
  IdVector<NodeId, std::int32_t> pool_of_;      // of a switch
  IdVector<NodeId, std::vector<LinkId>> ups_;   // of a storing node
  IdVector<NodeId, std::int32_t> groups_left_;  // multicasts a switch may still start; -1: no limit
  IdVector<LinkId, std::size_t> position_;      // of a way down in Fabric::down
  std::vector<int> port_queue_;
  std::vector<LinkId> touched_;
  IdVector<LinkId, char> is_touched_;

  // Chunks.
  std::vector<ChunkId> chunk_;  // those that somebody lacks
  BitRows holds_, wants_;       // by node
  BitRows holders_, wanters_;   // by chunk
  BitRows needed_;              // by cluster: wanted there, and neither held nor coming
  std::vector<std::int32_t> copies_;
  std::vector<std::uint32_t> missing_;     // by chunk: destinations it is not even on the way to
  IdVector<NodeId, std::int32_t> wanted_;  // chunks that a node wants and that are not on their way
  IdVector<NodeId, double> lack_;          // their bytes / bandwidth into the node
  IdVector<NodeId, double> per_byte_;
  std::vector<double> cluster_lack_, cluster_per_byte_;
  IdVector<LinkId, double> faster_, cluster_faster_;
  IdVector<NodeId, Time>
      patience_;           ///< until when its slow links wait; max: they have not begun to
  std::int64_t left_ = 0;  // demands (not forwarders) whose chunk is not on its way

  // Progress.
  Time now_;
  Time finish_;
  EventQueue<Event> events_;
  std::vector<Event> instant_;
  std::vector<Flight> flights_;
  std::vector<LinkId> flight_links_;
  BitRows demanded_;  // by chunk: destinations, as opposed to forwarders
  // Scratch.
  std::vector<LinkId> path_, heads_;
  std::vector<Word> scratch_;
  std::int64_t last_bytes_ = -1, last_rate_ = -1;
  Time last_duration_;
};

}  // namespace stellwerk
