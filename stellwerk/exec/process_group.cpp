// The only file that includes mpi.h. Process 0 has a thread that answers the others, so that nobody
// waits while it works on a task of its own; that thread makes all its MPI calls.
#include "stellwerk/exec/process_group.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

// NOLINTBEGIN(bugprone-casting-through-void): that is what MPI's names for its objects are made of

#ifdef STELLWERK_HAVE_MPI
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <vector>
#endif

namespace stellwerk {

#ifdef STELLWERK_HAVE_MPI

namespace {

enum Tag : int { kRequest = 1, kTask, kResult, kClosed };

/// Do the variables say that mpirun, srun or the like started this process?
bool started_in_a_group() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

}  // namespace

ProcessGroup::ProcessGroup() {
  if (!started_in_a_group()) return;
  // Tasks run in children that leave MPI alone.
  setenv("OMPI_MCA_mpi_warn_on_fork", "0", 0);
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

ProcessGroup::~ProcessGroup() {
  int up = 0, down = 0;
  MPI_Initialized(&up);
  MPI_Finalized(&down);
  if (up != 0 && down == 0) MPI_Finalize();
}

bool ProcessGroup::has_mpi() { return true; }

#else

ProcessGroup::ProcessGroup() = default;
ProcessGroup::~ProcessGroup() = default;

bool ProcessGroup::has_mpi() { return false; }

#endif

struct SharedQueue::State {
  bool first = true;  ///< this is process 0
  std::size_t count = 0;
  Sink sink;
  std::mutex mutex;
  std::size_t next = 0;
  bool closed = false;
  int open = 0;  ///< other processes that have not closed
  std::thread server;

  std::optional<std::size_t> take_here() {
    const std::lock_guard lock(mutex);
    if (next >= count) return std::nullopt;
    return next++;
  }
  void deliver_here(std::size_t task, const std::string& result) {
    const std::lock_guard lock(mutex);
    sink(task, result);
  }
  int still_open() {
    const std::lock_guard lock(mutex);
    return open;
  }

#ifdef STELLWERK_HAVE_MPI
  /// What process 0's thread does until all others have closed.
  void serve() {
    while (still_open() > 0) {
      int there = 0;
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
      if (there == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      int size = 0;
      MPI_Get_count(&status, MPI_BYTE, &size);
      std::vector<char> bytes(static_cast<std::size_t>(size));
      MPI_Recv(bytes.data(), size, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      if (status.MPI_TAG == kRequest) {
        const std::optional<std::size_t> task = take_here();
        const long long answer = task ? static_cast<long long>(*task) : -1;
        MPI_Send(&answer, 1, MPI_LONG_LONG, status.MPI_SOURCE, kTask, MPI_COMM_WORLD);
      } else if (status.MPI_TAG == kResult) {
        unsigned long long task = 0;
        std::memcpy(&task, bytes.data(), sizeof task);
        deliver_here(task, std::string(bytes.begin() + sizeof task, bytes.end()));
      } else {
        const std::lock_guard lock(mutex);
        --open;
      }
    }
  }
#endif
};

SharedQueue::SharedQueue(const ProcessGroup& group, std::size_t count, Sink sink)
    : state_(std::make_unique<State>()) {
  state_->first = group.rank() == 0;
  state_->count = count;
  state_->sink = std::move(sink);
#ifdef STELLWERK_HAVE_MPI
  if (state_->first && group.size() > 1) {
    state_->open = group.size() - 1;
    state_->server = std::thread([state = state_.get()] { state->serve(); });
  }
#endif
}

SharedQueue::~SharedQueue() {
  close([] {});
}

std::optional<std::size_t> SharedQueue::take() {
#ifdef STELLWERK_HAVE_MPI
  if (!state_->first) {
    long long answer = -1;
    MPI_Send(nullptr, 0, MPI_BYTE, 0, kRequest, MPI_COMM_WORLD);
    MPI_Recv(&answer, 1, MPI_LONG_LONG, 0, kTask, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (answer < 0) return std::nullopt;
    return static_cast<std::size_t>(answer);
  }
#endif
  return state_->take_here();
}

void SharedQueue::deliver(std::size_t task, const std::string& result) {
#ifdef STELLWERK_HAVE_MPI
  if (!state_->first) {
    const unsigned long long number = task;
    std::vector<char> bytes(sizeof number);
    std::memcpy(bytes.data(), &number, sizeof number);
    bytes.insert(bytes.end(), result.begin(), result.end());
    MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, kResult, MPI_COMM_WORLD);
    return;
  }
#endif
  state_->deliver_here(task, result);
}

void SharedQueue::stop() {
  const std::lock_guard lock(state_->mutex);
  state_->next = state_->count;
}

void SharedQueue::close(const std::function<void()>& idle) {
  if (state_->closed) return;
  state_->closed = true;
#ifdef STELLWERK_HAVE_MPI
  if (!state_->first) {
    MPI_Send(nullptr, 0, MPI_BYTE, 0, kClosed, MPI_COMM_WORLD);
    return;
  }
#endif
  while (state_->still_open() > 0) {
    idle();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  if (state_->server.joinable()) state_->server.join();
}

}  // namespace stellwerk

// NOLINTEND(bugprone-casting-through-void)
