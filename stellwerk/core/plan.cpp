#include "stellwerk/core/plan.hpp"

namespace stellwerk {

const char* to_string(Certificate::Kind kind) {
  switch (kind) {
    case Certificate::Kind::none:
      return "none";
    case Certificate::Kind::cut:
      return "cut";
    case Certificate::Kind::metric:
      return "metric";
    case Certificate::Kind::latency:
      return "latency";
    case Certificate::Kind::partition:
      return "partition";
    case Certificate::Kind::chunk_cut:
      return "chunk_cut";
    case Certificate::Kind::dynamic_cut:
      return "dynamic_cut";
    case Certificate::Kind::gossip:
      return "gossip";
  }
  return "none";
}

const char* to_string(Termination::Reason reason) {
  switch (reason) {
    case Termination::Reason::optimal:
      return "optimal";
    case Termination::Reason::feasible:
      return "feasible";
    case Termination::Reason::infeasible:
      return "infeasible";
    case Termination::Reason::no_solution:
      return "no_solution";
    case Termination::Reason::unsupported:
      return "unsupported";
  }
  return "no_solution";
}

}  // namespace stellwerk
