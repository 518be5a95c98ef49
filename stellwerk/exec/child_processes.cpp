#include "stellwerk/exec/child_processes.hpp"

#include <fcntl.h>
#include <poll.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "stellwerk/base/error.hpp"

namespace stellwerk {
namespace {

constexpr int kThrew = 70;

void write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    done += static_cast<std::size_t>(count);
  }
}

[[noreturn]] void run_child(int pipe, const std::function<std::string()>& task) {
  setpgid(0, 0);  // Ctrl-C comes from the parent, once
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  int status = 0;
  std::string text;
  try {
    text = task();
  } catch (const std::exception& error) {
    status = kThrew;
    text = error.what();
  } catch (...) {
    status = kThrew;
    text = "an unknown error";
  }
  write_all(pipe, text);
  std::fflush(nullptr);
  _exit(status);  // destructors of what belongs to the parent must not run
}

}  // namespace

ChildProcesses::~ChildProcesses() {
  for (Child& child : children_) {
    kill(child.process, SIGKILL);
    close(child.pipe);
    waitpid(child.process, nullptr, 0);
  }
}

void ChildProcesses::start(std::size_t id, const std::function<std::string()>& task,
                           double most_seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    throw Error(ErrorCode::internal, std::string("no pipe: ") + std::strerror(errno));
  }
  std::fflush(nullptr);  // or the child would write it again
  const pid_t process = fork();
  if (process < 0) {
    close(ends[0]);
    close(ends[1]);
    throw Error(ErrorCode::internal, std::string("no process: ") + std::strerror(errno));
  }
  if (process == 0) {
    close(ends[0]);
    for (const Child& other : children_) close(other.pipe);
    run_child(ends[1], task);
  }
  close(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  const auto limit = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(most_seconds, 1e6)));
  children_.push_back({id, process, ends[0], {}, Clock::now() + limit});
}

bool ChildProcesses::drain(Child& child) {
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(child.pipe, buffer, sizeof buffer);
    if (count > 0) {
      child.text.append(buffer, static_cast<std::size_t>(count));
    } else if (count == 0) {
      return true;
    } else if (errno != EINTR) {
      return errno != EAGAIN && errno != EWOULDBLOCK;
    }
  }
}

ChildProcesses::Result ChildProcesses::reap(std::size_t at) {
  Child child = std::move(children_[at]);
  children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(at));
  close(child.pipe);
  int status = 0;
  while (waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
  }
  Result result{child.id, false, {}};
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    result.finished = true;
    result.text = std::move(child.text);
  } else if (WIFEXITED(status) && WEXITSTATUS(status) == kThrew) {
    result.text = std::move(child.text);
  } else if (child.killed) {
    result.text = "did not come to an end in time";
  } else if (WIFSIGNALED(status)) {
    result.text = std::string("died: ") + strsignal(WTERMSIG(status));
  } else {
    result.text = "died with status " + std::to_string(WEXITSTATUS(status));
  }
  return result;
}

std::optional<ChildProcesses::Result> ChildProcesses::wait(double seconds) {
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(seconds));
  while (!children_.empty()) {
    Clock::time_point until = end;
    for (Child& child : children_) {
      if (!child.killed && Clock::now() >= child.killed_at) {
        kill(child.process, SIGKILL);
        child.killed = true;
      }
      if (!child.killed) until = std::min(until, child.killed_at);
    }
    std::vector<pollfd> files;
    for (const Child& child : children_) files.push_back({child.pipe, POLLIN, 0});
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count() + 1;
    const int ready = poll(files.data(), static_cast<nfds_t>(files.size()),
                           static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000)));
    if (ready > 0) {
      for (std::size_t i = 0; i < files.size(); ++i) {
        if (files[i].revents != 0 && drain(children_[i])) return reap(i);
      }
    }
    // A signal, as from Ctrl-C, is for the caller to look into.
    if (ready < 0 || Clock::now() >= end) break;
  }
  return std::nullopt;
}

void ChildProcesses::interrupt() const {
  for (const Child& child : children_) kill(child.process, SIGINT);
}

}  // namespace stellwerk
