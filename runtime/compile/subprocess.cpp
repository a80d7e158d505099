#include "runtime/compile/subprocess.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace ingot::runtime {

namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
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

std::string read_to_end(int descriptor) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer, static_cast<size_t>(count));
  }
}

struct SpawnActions {
  SpawnActions() { ::posix_spawn_file_actions_init(&value); }
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&value); }
  posix_spawn_file_actions_t value;
};

/// What our process blocks or ignores must not reach the program: a compiler waits for children of its own.
struct SpawnAttributes {
  SpawnAttributes() {
    ::posix_spawnattr_init(&value);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&value, &signals);
    ::sigaddset(&signals, SIGCHLD);
    ::sigaddset(&signals, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&value, &signals);
    ::posix_spawnattr_setflags(&value, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnAttributes() { ::posix_spawnattr_destroy(&value); }
  posix_spawnattr_t value;
};

}  // namespace

Outcome run_program(const std::vector<std::string>& command, const std::filesystem::path& folder) {
  // Closed on exec, so that a program which another thread starts does not hold our pipe open.
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_environment("cannot start " + command.front() + ": " + std::strerror(errno));

  SpawnActions actions;
  ::posix_spawn_file_actions_addchdir_np(&actions.value, folder.c_str());
  ::posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions.value, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions.value, ends[1], STDERR_FILENO);

  const SpawnAttributes attributes;
  std::vector<std::string> arguments = command, environment = environment_for(folder);
  pid_t process = 0;
  const int error = ::posix_spawn(&process, command.front().c_str(), &actions.value, &attributes.value,
                                  pointers(arguments).data(), pointers(environment).data());
  ::close(ends[1]);
  Outcome outcome;
  if (error == 0) outcome.output = read_to_end(ends[0]);
  ::close(ends[0]);
  if (error != 0) throw_environment("cannot start " + command.front() + ": " + std::strerror(error));

  int status = 0;
  pid_t waited;
  do {
    waited = ::waitpid(process, &status, 0);
  } while (waited < 0 && errno == EINTR);
  if (waited < 0) {
    // The host program ignores SIGCHLD, or reaps what it did not start: how the child ended is lost.
    outcome.succeeded = true;
    outcome.ending = "ended, nobody knows how";
  } else if (WIFSIGNALED(status)) {
    outcome.ending = "was killed by signal " + std::to_string(WTERMSIG(status));
  } else {
    outcome.succeeded = WEXITSTATUS(status) == 0;
    outcome.ending = "exited with " + std::to_string(WEXITSTATUS(status));
  }
  return outcome;
}

}  // namespace ingot::runtime
