#include "runtime/compile/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "runtime/cache/interrupt.h"
#include "runtime/compile/shortage.h"

namespace ingot::runtime {

namespace {

std::vector<char*> null_terminated(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_for(const std::filesystem::path& folder) {
  std::vector<std::string> result = {"LC_ALL=C", "TMPDIR=" + folder.string()};
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with("LC_ALL=") && !text.starts_with("TMPDIR=")) result.emplace_back(text);
  }
  return result;
}

/// Appends the available output. False at the end.
bool read_some(int descriptor, std::string& text) {
  char buffer[4096];
  const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
  if (count < 0) return errno == EINTR;
  text.append(buffer, static_cast<size_t>(count));
  return count > 0;
}

struct SpawnActions {
  SpawnActions() { ::posix_spawn_file_actions_init(&value); }
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&value); }
  posix_spawn_file_actions_t value;
};

/// Attributes of the new process. Signals that our process blocks or ignores must not affect the program, because a
/// compiler waits for its own children. The program gets its own session, so that Ctrl-C at the terminal reaches only
/// the host program, which decides which programs to end.
struct SpawnAttributes {
  SpawnAttributes() {
    ::posix_spawnattr_init(&value);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&value, &signals);
    ::sigaddset(&signals, SIGCHLD);
    ::sigaddset(&signals, SIGPIPE);
    ::sigaddset(&signals, SIGHUP);
    ::posix_spawnattr_setsigdefault(&value, &signals);
    ::posix_spawnattr_setflags(&value, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&value); }
  posix_spawnattr_t value;
};

/// Ties a program's life to this process by a terminal that controls the program's session. When this process ends, in
/// any way, its end of the terminal closes. The system then sends SIGHUP, which ends the program and its children. If
/// no terminal is available, the program continues after this process is killed.
class ControllingTerminal {
 public:
  ControllingTerminal() : descriptor_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    char name[64];
    if (descriptor_ >= 0 && ::grantpt(descriptor_) == 0 && ::unlockpt(descriptor_) == 0 &&
        ::ptsname_r(descriptor_, name, sizeof name) == 0 && ::access(name, R_OK | W_OK) == 0)
      name_ = name;
  }
  ~ControllingTerminal() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  ControllingTerminal(const ControllingTerminal&) = delete;
  ControllingTerminal& operator=(const ControllingTerminal&) = delete;

  /// Opens the terminal in the program: a session's first opened terminal becomes its controlling one.
  void add_to(posix_spawn_file_actions_t& actions) const {
    constexpr int kUnused = 3;  // a descriptor that the program does not use
    if (name_.empty()) return;
    ::posix_spawn_file_actions_addopen(&actions, kUnused, name_.c_str(), O_RDWR, 0);
  }

 private:
  int descriptor_;
  std::string name_;
};

/// A running program, in its own process group.
class RunningProgram {
 public:
  RunningProgram(pid_t process, int output) : process_(process), output_(output) {}
  /// Kills the group if the program was not waited for.
  ~RunningProgram() {
    if (output_ >= 0) ::close(output_);
    if (process_ == 0) return;
    ::kill(-process_, SIGKILL);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  /// Throws Interrupted if the work of this thread is abandoned.
  std::string read_to_end() {
    std::string text;
    pollfd ready{output_, POLLIN, 0};
    for (bool has_more = true; has_more;) {
      throw_if_interrupted();
      const int count = ::poll(&ready, 1, kInterruptMilliseconds);
      if (count > 0) has_more = read_some(output_, text);
    }
    return text;
  }

  /// Returns the program's status; -1 if the system does not report it. Throws Interrupted as
  /// `read_to_end` does.
  int wait() {
    for (useconds_t pause = 100;; pause = std::min<useconds_t>(2 * pause, 1000 * kInterruptMilliseconds)) {
      int status = 0;
      const pid_t waited = ::waitpid(process_, &status, WNOHANG);
      if (waited == 0) {
        throw_if_interrupted();
        ::usleep(pause);
      } else if (waited > 0 || errno != EINTR) {
        process_ = 0;
        return waited > 0 ? status : -1;
      }
    }
  }

 private:
  pid_t process_;
  int output_;
};

}  // namespace

Outcome run_program(const std::vector<std::string>& command, const std::filesystem::path& folder) {
  throw_if_interrupted();
  // Close on exec, so that a program that another thread starts does not hold our pipe open.
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0)
    throw_environment("cannot start " + command.front() + ": " + error_text(errno));

  const ControllingTerminal terminal;
  SpawnActions actions;
  ::posix_spawn_file_actions_addchdir_np(&actions.value, folder.c_str());
  ::posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions.value, pipe_ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions.value, pipe_ends[1], STDERR_FILENO);
  terminal.add_to(actions.value);

  const SpawnAttributes attributes;
  std::vector<std::string> arguments = command, environment = environment_for(folder);
  pid_t process = 0;
  const int error = ::posix_spawn(&process, command.front().c_str(), &actions.value, &attributes.value,
                                  null_terminated(arguments).data(), null_terminated(environment).data());
  ::close(pipe_ends[1]);
  RunningProgram running(error == 0 ? process : 0, pipe_ends[0]);
  if (error != 0) throw_environment("cannot start " + command.front() + ": " + error_text(error));

  Outcome outcome;
  outcome.output = running.read_to_end();
  const int status = running.wait();
  if (status < 0) {
    // The child's status is lost, because the host program ignores SIGCHLD or reaps unknown children. The caller checks
    // whether the program has written its output file.
    outcome.succeeded = true;
    outcome.ending = "ended with an unknown status";
  } else if (WIFSIGNALED(status)) {
    outcome.ending = "was killed by signal " + std::to_string(WTERMSIG(status));
  } else {
    outcome.succeeded = WEXITSTATUS(status) == 0;
    outcome.ending = "exited with " + std::to_string(WEXITSTATUS(status));
  }
  return outcome;
}

}  // namespace ingot::runtime
