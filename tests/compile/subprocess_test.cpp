#include "runtime/compile/subprocess.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <mutex>
#include <thread>

#include "runtime/cache/interrupt.h"
#include "runtime/compile/compiler.h"
#include "runtime/compile/shortage.h"
#include "runtime/compile/temporary_folder.h"
#include "tests/compile/testing.h"

namespace ingot::runtime {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::vector<std::string> shell(const std::string& text) { return {"/bin/sh", "-c", text}; }

bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 10'000 && !condition(); ++i) std::this_thread::sleep_for(1ms);
  return condition();
}

bool is_running(const std::string& process) { return !process.empty() && ::kill(std::stoi(process), 0) == 0; }

/// A command that writes its process id and its child's, and then hangs with its child.
std::vector<std::string> hanging_command(const Scratch& scratch) {
  const std::string path = scratch.path();
  return shell("sleep 100 & echo $! > " + path + "/child.new; mv " + path + "/child.new " + path +
               "/child; echo $$ > " + path + "/self.new; mv " + path + "/self.new " + path + "/self; sleep 100");
}

std::string process_in(const fs::path& file) {
  eventually([&] { return fs::exists(file); });
  return read_file(file);
}

/// Simulates a host program's signals during its lifetime.
class FakeSignals {
 public:
  struct Interrupt {};
  explicit FakeSignals(std::chrono::milliseconds after) {
    interrupt_time = std::chrono::steady_clock::now() + after;
    main_thread = std::this_thread::get_id();
    set_signals({[] { return std::this_thread::get_id() == main_thread; },
                 [] {
                   if (std::chrono::steady_clock::now() > interrupt_time) throw Interrupt();
                 }});
  }
  ~FakeSignals() { set_signals({}); }

 private:
  static inline std::chrono::steady_clock::time_point interrupt_time;
  static inline std::thread::id main_thread;
};

TEST(Interrupt, EndsAProgramAndItsChildren) {
  const Scratch scratch;
  const FakeSignals signals(200ms);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(interruptibly([&] { run_program(hanging_command(scratch), "/"); }), FakeSignals::Interrupt);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  for (const char* name : {"self", "child"}) {
    const std::string process = process_in(scratch.path() / name);
    EXPECT_TRUE(eventually([&] { return !is_running(process); })) << name;
  }
}

TEST(Interrupt, EndsAProgramThatHasClosedItsOutput) {
  const FakeSignals signals(100ms);
  EXPECT_THROW(interruptibly([] { run_program(shell("exec >&- 2>&-; sleep 100"), "/"); }), FakeSignals::Interrupt);
}

TEST(Interrupt, PassesResultsAndExceptionsOn) {
  const FakeSignals signals(1h);
  std::string output;
  interruptibly([&] { output = run_program(shell("echo text"), "/").output; });
  EXPECT_EQ(output, "text\n");
  EXPECT_THROW(interruptibly([] { throw std::out_of_range("mine"); }), std::out_of_range);
}

TEST(Interrupt, HandlesNoSignalsOnOtherThreads) {
  const FakeSignals signals(0ms);
  std::thread([] { interruptibly([] { run_program(shell("sleep 0.1"), "/"); }); }).join();
}

TEST(Subprocess, EndsIfItsParentIsKilled) {
  const Scratch scratch;
  const pid_t parent = ::fork();
  if (parent == 0) {
    run_program(hanging_command(scratch), "/");
    ::_exit(0);
  }
  const std::string self = process_in(scratch.path() / "self"), child = process_in(scratch.path() / "child");
  ASSERT_TRUE(is_running(self));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(eventually([&] { return !is_running(self) && !is_running(child); }));
}

TEST(Subprocess, NamesTheExhaustedResource) {
#ifdef INGOT_SANITIZED
  GTEST_SKIP() << "explained: the sanitizer reads objects through a pipe, for which no descriptors are left";
#endif
  const std::string answer = in_child([]() -> std::string {
    const rlimit few = {3, 3};
    ::setrlimit(RLIMIT_NOFILE, &few);
    return environment_error([] { run_program(shell("true"), "/"); });
  });
  EXPECT_NE(answer.find("no file descriptors left"), std::string::npos) << answer;
  EXPECT_NE(exhausted_resource_in("cc1plus: fatal error: x.h: Too many open files").find("ulimit -n"),
            std::string::npos);
  EXPECT_NE(exhausted_resource_in("error closing x.s: File too large").find("ulimit -f"), std::string::npos);
  EXPECT_EQ(exhausted_resource_in("error: expected ‘;’"), "");
}

fs::path make_old_folder(const Scratch& scratch, const std::string& name, int64_t age) {
  const fs::path folder = scratch.path() / name;
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::owner_all);
  write_file(folder / "kernel.cpp", "int x;");
  const timespec then = {std::time(nullptr) - age, 0};
  const timespec times[2] = {then, then};
  ::utimensat(AT_FDCWD, folder.c_str(), times, 0);
  return folder;
}

TEST(TemporaryFolder, SweepsLeftoversOfDeadProcesses) {
  const Scratch scratch;
  const fs::path dead = make_old_folder(scratch, "ingot-compile-dead00", 60),
                 alive = make_old_folder(scratch, "ingot-compile-alive0", 60),
                 fresh = make_old_folder(scratch, "ingot-compile-fresh0", 0),
                 other = make_old_folder(scratch, "another", 60),
                 shared = make_old_folder(scratch, "ingot-compile-shared", 60);
  fs::permissions(shared, fs::perms::owner_all | fs::perms::others_read);
  const int lock = ::open(alive.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  sweep_temporary_folders(scratch.path());
  EXPECT_FALSE(fs::exists(dead));
  for (const fs::path& folder : {alive, fresh, other, shared}) EXPECT_TRUE(fs::exists(folder)) << folder;
  ::close(lock);
}

TEST(TemporaryFolder, UsesAnotherFolderIfTmpdirFails) {
  const Scratch scratch;
  write_file(scratch.path() / "file", "");
  for (const std::string& folder : {std::string("/nonexistent"), (scratch.path() / "file").string(),
                                    "/" + std::string(4090, 'x'), "/tmp" + std::string(4000, '/')}) {
    const std::string answer = in_child([&]() -> std::string {
      ::setenv("TMPDIR", folder.c_str(), 1);
      return HostCompiler::compile("int number;", "number", false).substr(1, 3);
    });
    EXPECT_EQ(answer, "ELF") << folder.substr(0, 20);
  }
}

TEST(HostCompiler, IncludesHeaderPathsInItsIdentity) {
  const std::string before = HostCompiler::identity();
  ::setenv("CPATH", "/elsewhere", 1);
  EXPECT_NE(HostCompiler::identity(), before);
  ::unsetenv("CPATH");
  EXPECT_EQ(HostCompiler::identity(), before);
}

}  // namespace
}  // namespace ingot::runtime
