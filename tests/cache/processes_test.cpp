// Tests the store under errors of the system, and shared by several processes. Each case runs in its own process, which
// drops privileges, sets limits, or dies.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "runtime/cache/store.h"
#include "tests/scratch.h"

namespace ingot::runtime {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr uid_t kNobody = 65534;

/// Becomes another user, because root ignores file modes. The path must be open to that user.
bool drop_privileges() { return ::geteuid() != 0 || (::setegid(kNobody) == 0 && ::seteuid(kNobody) == 0); }

TEST(StoreFaults, ReadsFromAReadOnlyFolder) {
  const Scratch scratch;
  const fs::path folder = scratch.path() / "cache";
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(folder.c_str(), kNobody, kNobody), 0);
  }
  EXPECT_EQ(in_child([&]() -> std::string {
              if (!drop_privileges()) return "cannot become another user";
              Store(folder).publish("kernel", "key", "payload");
              if (::chmod(folder.c_str(), 0500) != 0) return "cannot change the mode";
              Store store(folder);
              if (store.find("kernel", "key") != "payload") return "no hit: " + store.status();
              store.publish("kernel", "new", "payload");
              store.publish("kernel", "newer", "payload");
              if (store.counters().write_errors != 1) return "it kept trying to write";
              if (!store.is_enabled() || store.find("kernel", "key") != "payload")
                return "no hit after the write error";
              const std::string expected = "writes are paused; cannot write kernel-";
              if (store.status().find(expected) == std::string::npos ||
                  store.status().find("Permission denied") == std::string::npos)
                return store.status();
              return {};
            }),
            "");
  ::chmod(folder.c_str(), 0700);
}

TEST(StoreFaults, MissesIfTheFolderCannotBeCreated) {
  const Scratch scratch;
  ASSERT_EQ(::chmod(scratch.path().c_str(), 0555), 0);
  EXPECT_EQ(in_child([&]() -> std::string {
              if (!drop_privileges()) return "cannot become another user";
              Store store(scratch.path() / "parent" / "cache");
              if (store.find("kernel", "key")) return "a hit";
              store.publish("kernel", "key", "payload");
              store.publish("kernel", "key", "payload");
              if (store.counters().write_errors != 1) return "it kept trying to write";
              return store.status().find("Permission denied") == std::string::npos ? store.status() : "";
            }),
            "");
  ::chmod(scratch.path().c_str(), 0700);
}

/// Simulates a full disk without mounting a file system: a limit on file sizes also fails half way through a write.
bool limit_files_to_64k() {
  const rlimit limit = {64 << 10, 64 << 10};
  return std::signal(SIGXFSZ, SIG_IGN) != SIG_ERR && ::setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

/// Publishes a small record, which fits on the disk, and a record of 100 KB, which does not. Returns the first error;
/// empty if the store behaves. The disk is a small file system, or has a limit on the sizes of files.
std::string overfill_disk(const fs::path& folder, Store store) {
  store.publish("kernel", "small", "payload");
  store.publish("kernel", "large", std::string(100'000, 'x'));
  if (store.counters().write_errors != 1) return "no write error: " + store.status();
  if (store.find("kernel", "large")) return "half a record was published";
  if (store.find("kernel", "small") != "payload") return "the other record is lost";
  if (names_in(folder).size() != 1) return "the temporary file stayed";
  return {};
}

TEST(StoreFaults, PausesWritesOnAFullDisk) {
  const Scratch scratch;
  const std::string answer = in_child([&]() -> std::string {
    if (!may_mount() || !mount_small_disk(scratch.path())) return "may not mount";
    StoreOptions options;
    options.pause = milliseconds(200);
    Store store(scratch.path(), options);
    if (std::string error = overfill_disk(scratch.path(), store); !error.empty()) return error;
    if (store.status().find("No space left on device") == std::string::npos) return store.status();
    store.publish("kernel", "paused", "payload");
    if (store.find("kernel", "paused")) return "it kept writing";
    std::this_thread::sleep_for(options.pause);
    store.publish("kernel", "later", "payload");
    if (store.find("kernel", "later") != "payload") return "it did not try again: " + store.status();
    return {};
  });
  if (answer == "may not mount")
    GTEST_SKIP() << "explained: this user may not mount a small file system; the next test covers this";
  EXPECT_EQ(answer, "");
}

TEST(StoreFaults, LeavesNothingAfterAFailedWrite) {
  const Scratch scratch;
  EXPECT_EQ(in_child([&]() -> std::string {
              if (!limit_files_to_64k()) return "cannot set the limit";
              Store store(scratch.path());
              if (std::string error = overfill_disk(scratch.path(), store); !error.empty()) return error;
              store.publish("kernel", "next", "payload");  // the error concerned this record only
              return store.find("kernel", "next") == "payload" ? "" : store.status();
            }),
            "");
}

/// Publishes and reads one key for a time, with payloads of all lengths. Returns an error in the payloads read.
std::string stress(const fs::path& folder, char letter, milliseconds time) {
  Store store(folder);
  uint64_t hits = 0;
  for (const auto end = steady_clock::now() + time; steady_clock::now() < end;) {
    for (size_t length = 1; length < 9000; length += 997) {
      store.publish("kernel", "key", std::string(length, letter));
      const std::optional<std::string> read = store.find("kernel", "key");
      if (!read) continue;
      ++hits;
      if (read->empty() || *read != std::string(read->size(), read->front())) return "a torn record";
    }
  }
  const StoreCounters counters = store.counters();
  if (counters.corrupt + counters.collisions + counters.read_errors + counters.write_errors != 0) return store.status();
  return hits == counters.publications ? "" : "a record was missing for a moment";
}

TEST(StoreProcesses, ShareOneKey) {
  const Scratch scratch;
  const fs::path folder = scratch.path() / "cache";
  std::string first_error;
  std::thread other([&] { first_error = in_child([&] { return stress(folder, 'a', milliseconds(1000)); }); });
  const std::string second_error = in_child([&] { return stress(folder, 'b', milliseconds(1000)); });
  other.join();
  EXPECT_EQ(first_error, "");
  EXPECT_EQ(second_error, "");
  EXPECT_EQ(names_in(folder).size(), 1u);
}

TEST(StoreProcesses, LeaveOnlyWholeRecordsWhenKilled) {
  const Scratch scratch;
  const std::string payload(50'000, 'x');
  for (int round = 0; round < 25; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      Store store(scratch.path());
      for (int i = 0;; ++i) store.publish("kernel", std::to_string(i % 20), payload);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(5000 + 1733 * round));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  Store store(scratch.path());
  uint64_t hits = 0;
  for (int i = 0; i < 20; ++i) {
    const std::optional<std::string> read = store.find("kernel", std::to_string(i));
    if (!read) continue;
    ++hits;
    EXPECT_EQ(*read, payload);
  }
  EXPECT_GT(hits, 0u);
  EXPECT_EQ(store.counters().corrupt, 0u);
}

}  // namespace
}  // namespace ingot::runtime
