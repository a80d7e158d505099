#include "runtime/cache/store.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <thread>

#include "tests/scratch.h"

namespace ingot::runtime {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

fs::path only_file(const fs::path& folder) {
  const std::vector<std::string> names = names_in(folder);
  EXPECT_EQ(names.size(), 1u) << testing::PrintToString(names);
  return folder / (names.empty() ? "" : names.front());
}

void set_age(const fs::path& file, std::chrono::hours age) {
  const timespec then = {std::time(nullptr) - std::chrono::seconds(age).count(), 0};
  const timespec times[2] = {then, then};
  ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
}

TEST(Store, FindsPublishedRecords) {
  const Scratch scratch;
  Store store(scratch.path());
  const std::string payload("\0binary\xff", 8);
  EXPECT_EQ(store.find("kernel", "key"), std::nullopt);
  store.publish("kernel", "key", payload);
  store.publish("program", "key", "");
  EXPECT_EQ(store.find("kernel", "key"), payload);
  EXPECT_EQ(store.find("program", "key"), "");
  EXPECT_EQ(store.find("kernel", "kex"), std::nullopt);
  EXPECT_EQ(Store(scratch.path()).find("kernel", "key"), payload);
  const StoreCounters counters = store.counters();
  EXPECT_EQ(counters.hits, 2u);
  EXPECT_EQ(counters.misses, 2u);
  EXPECT_EQ(counters.publications, 2u);
  EXPECT_EQ(store.status(), scratch.path().string() + ": in use");
}

TEST(Store, FindsTheLastPublicationOfAKey) {
  const Scratch scratch;
  Store store(scratch.path());
  store.publish("kernel", "key", "first");
  store.publish("kernel", "key", "second");
  EXPECT_EQ(store.find("kernel", "key"), "second");
  EXPECT_EQ(store.usage().files, 1u);
}

TEST(Store, MakesItsFolderPrivateOnTheFirstPublication) {
  const Scratch scratch;
  const fs::path folder = scratch.path() / "parent" / "cache";
  Store store(folder / "");
  EXPECT_EQ(store.find("kernel", "key"), std::nullopt);
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_EQ(store.status(), folder.string() + ": not created yet");
  store.publish("kernel", "key", "payload");
  EXPECT_EQ(store.find("kernel", "key"), "payload");
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
  EXPECT_EQ(store.counters().read_errors, 0u);
}

TEST(Store, SurvivesTheDeletionOfItsFolder) {
  const Scratch scratch;
  const fs::path folder = scratch.path() / "cache";
  Store store(folder);
  store.publish("kernel", "key", "payload");
  fs::remove_all(folder);
  EXPECT_EQ(store.find("kernel", "key"), std::nullopt);
  store.publish("kernel", "key", "again");
  EXPECT_EQ(store.find("kernel", "key"), "again");
  EXPECT_EQ(store.counters().write_errors, 0u);
}

TEST(Store, MissesAndRenamesATruncatedRecord) {
  const Scratch scratch;
  Store store(scratch.path());
  store.publish("kernel", "a key", "the payload");
  const fs::path path = only_file(scratch.path());
  const std::string whole = read_file(path);
  for (size_t length = 0; length < whole.size(); ++length) {
    write_file(path, whole.substr(0, length));
    EXPECT_EQ(store.find("kernel", "a key"), std::nullopt) << length;
    EXPECT_FALSE(fs::exists(path)) << length;
    EXPECT_EQ(store.counters().corrupt, length + 1);
  }
  store.publish("kernel", "a key", "the payload");
  EXPECT_EQ(store.find("kernel", "a key"), "the payload");
  EXPECT_EQ(store.counters().read_errors, 0u);
  EXPECT_NE(store.status().find("was damaged and has been renamed to .bad"), std::string::npos) << store.status();
}

TEST(Store, MissesAndRenamesARecordWithAFlippedBit) {
  const Scratch scratch;
  Store store(scratch.path());
  store.publish("kernel", "a key", "the payload");
  const fs::path path = only_file(scratch.path());
  const std::string whole = read_file(path);
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write_file(path, damaged);
    EXPECT_EQ(store.find("kernel", "a key"), std::nullopt) << bit;
    EXPECT_FALSE(fs::exists(path)) << bit;
  }
  EXPECT_EQ(store.counters().corrupt, 8 * whole.size());
  EXPECT_EQ(store.counters().collisions, 0u);
  EXPECT_EQ(store.usage().files, 1u) << "moved files must not pile up";
}

TEST(Store, MissesAnotherKeyWithTheSameHash) {
  const Scratch scratch;
  StoreOptions options;
  options.hash = [](std::string_view) { return "same"; };
  Store store(scratch.path(), options);
  store.publish("kernel", "one", "payload of one");
  EXPECT_EQ(store.find("kernel", "two"), std::nullopt);
  EXPECT_EQ(store.find("kernel", "one"), "payload of one");
  store.publish("kernel", "two", "payload of two");
  EXPECT_EQ(store.find("kernel", "two"), "payload of two");
  EXPECT_EQ(store.find("kernel", "one"), std::nullopt);
  EXPECT_EQ(store.counters().collisions, 2u);
  EXPECT_EQ(store.counters().corrupt, 0u);
}

TEST(Store, DistinguishesReadErrorsFromCorruption) {
  const Scratch scratch;
  Store store(scratch.path());
  store.publish("kernel", "key", "payload");
  const fs::path path = only_file(scratch.path());
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_EQ(store.find("kernel", "key"), std::nullopt);
  EXPECT_TRUE(fs::exists(path));
  EXPECT_EQ(store.counters().read_errors, 1u);
  EXPECT_EQ(store.counters().corrupt, 0u);
  EXPECT_NE(store.status().find("it is not a regular file"), std::string::npos) << store.status();
}

TEST(Store, RenamesAFolderThatHasARecordsName) {
  const Scratch scratch;
  Store store(scratch.path());
  store.publish("kernel", "key", "payload");
  const fs::path path = only_file(scratch.path());
  fs::remove(path);
  fs::create_directory(path);
  write_file(path / "somebody's", "");
  store.publish("kernel", "key", "payload");
  EXPECT_EQ(store.find("kernel", "key"), "payload");
  EXPECT_EQ(store.counters().write_errors, 0u);
  EXPECT_EQ(names_in(scratch.path()).size(), 2u) << "the folder was removed, or the temporary file stayed";
}

/// A file put into the folder while others could write there is not loaded once the folder is private.
class StoreFilesOfOthers : public testing::TestWithParam<std::string> {};

TEST_P(StoreFilesOfOthers, LoadsOnlyFilesThatOtherUsersCannotWrite) {
  const Scratch scratch, elsewhere;
  Store store(scratch.path());
  store.publish("kernel", "key", "payload");
  const fs::path path = only_file(scratch.path());
  std::string reason = GetParam();
  if (reason == "it belongs to another user") {
    if (::geteuid() != 0) GTEST_SKIP() << "explained: only root can give a file away";
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  } else if (reason == "it has another hard link") {
    fs::create_hard_link(path, elsewhere.path() / "theirs");
  } else {
    ASSERT_EQ(::chmod(path.c_str(), reason.ends_with("0620)") ? 0620 : 0602), 0);
  }
  EXPECT_EQ(store.find("kernel", "key"), std::nullopt);
  EXPECT_EQ(store.counters().read_errors, 1u);
  EXPECT_EQ(store.counters().corrupt, 0u);
  EXPECT_NE(store.status().find(reason), std::string::npos) << store.status();
  store.publish("kernel", "key", "another");
  EXPECT_EQ(store.find("kernel", "key"), "another");
}

INSTANTIATE_TEST_SUITE_P(All, StoreFilesOfOthers,
                         testing::Values("it belongs to another user", "it has another hard link",
                                         "others may write to it (mode 0620)", "others may write to it (mode 0602)"),
                         [](const testing::TestParamInfo<std::string>& reason) {
                           std::string name;
                           for (const char c : reason.param)
                             name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

TEST(Store, DoesNotFollowALinkInTheFolder) {
  const Scratch scratch, elsewhere;
  Store store(scratch.path());
  store.publish("kernel", "key", "payload");
  const fs::path path = only_file(scratch.path());
  fs::rename(path, elsewhere.path() / "moved");
  fs::create_symlink(elsewhere.path() / "moved", path);
  EXPECT_EQ(store.find("kernel", "key"), std::nullopt);
  EXPECT_EQ(store.counters().read_errors, 1u);
}

TEST(Store, RejectsAFolderThatOthersMayWriteTo) {
  for (const fs::perms others : {fs::perms::others_write, fs::perms::group_write}) {
    const Scratch scratch;
    Store(scratch.path()).publish("kernel", "key", "payload");
    fs::permissions(scratch.path(), fs::perms::owner_all | others);
    Store store(scratch.path());
    EXPECT_FALSE(store.is_enabled());
    EXPECT_EQ(store.find("kernel", "key"), std::nullopt);
    store.publish("kernel", "other", "payload");
    EXPECT_EQ(names_in(scratch.path()).size(), 1u);
    EXPECT_NE(store.status().find("refused: others may write to it (mode 07"), std::string::npos) << store.status();
    EXPECT_NE(store.status().find("remove it or move it away"), std::string::npos) << store.status();
    EXPECT_EQ(store.counters().write_errors + store.counters().read_errors, 0u);
  }
}

TEST(Store, RejectsAFolderOfAnotherUser) {
  const Scratch scratch;
  fs::path folder = "/";  // root's
  if (::geteuid() == 0) {
    folder = scratch.path() / "theirs";
    fs::create_directory(folder);
    ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
    ASSERT_EQ(::chown(folder.c_str(), 12345, 12345), 0);
  }
  Store store(folder);
  EXPECT_FALSE(store.is_enabled());
  store.publish("kernel", "key", "payload");
  EXPECT_EQ(store.find("kernel", "key"), std::nullopt);
  EXPECT_NE(store.status().find("refused: it belongs to another user"), std::string::npos) << store.status();
}

TEST(Store, FollowsALinkToItsFolder) {
  const Scratch scratch;
  const fs::path folder = scratch.path() / "cache", link = scratch.path() / "link";
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::owner_all);
  fs::create_directory_symlink(folder, link);
  Store store(link);
  store.publish("kernel", "key", "payload");
  EXPECT_EQ(Store(folder).find("kernel", "key"), "payload");
  fs::permissions(folder, fs::perms::all);
  EXPECT_FALSE(Store(link).is_enabled());
}

TEST(Store, MissesIfTheParentIsAFile) {
  const Scratch scratch;
  write_file(scratch.path() / "file", "");
  Store store(scratch.path() / "file" / "cache");
  EXPECT_EQ(store.find("kernel", "key"), std::nullopt);
  store.publish("kernel", "key", "payload");
  EXPECT_EQ(store.counters().write_errors, 1u);
  EXPECT_NE(store.status().find("Not a directory"), std::string::npos) << store.status();
}

TEST(Store, EvictsTheOldestOfItsOwnFiles) {
  const Scratch scratch;
  write_file(scratch.path() / "somebody's", std::string(5000, 'x'));
  StoreOptions options;
  options.max_bytes = 3500;
  options.sweep_every = 1;
  Store store(scratch.path(), options);
  for (const std::string key : {"a", "b", "c"}) {
    const std::vector<std::string> before = names_in(scratch.path());
    store.publish("kernel", key, std::string(1000, 'x'));
    for (const std::string& name : names_in(scratch.path())) {
      if (!std::ranges::binary_search(before, name))
        set_age(scratch.path() / name, std::chrono::hours(key == "b" ? 20 : 10));
    }
  }
  store.publish("kernel", "d", std::string(1000, 'x'));
  EXPECT_EQ(store.find("kernel", "b"), std::nullopt);
  for (const std::string key : {"a", "c", "d"}) EXPECT_TRUE(store.find("kernel", key)) << key;
  EXPECT_TRUE(fs::exists(scratch.path() / "somebody's"));
  EXPECT_EQ(store.counters().evictions, 1u);
}

TEST(Store, RenewsTheDateOfFilesInUse) {
  const Scratch scratch;
  Store store(scratch.path());
  store.publish("kernel", "key", "payload");
  const fs::path path = only_file(scratch.path());
  set_age(path, std::chrono::hours(48));
  const auto before = fs::last_write_time(path);
  EXPECT_TRUE(store.find("kernel", "key"));
  EXPECT_GT(fs::last_write_time(path), before + std::chrono::hours(47));
}

TEST(Store, SweepsLeftoversOfDeadProcesses) {
  const Scratch scratch;
  StoreOptions options;
  options.sweep_every = 1;
  Store store(scratch.path(), options);
  const fs::path old = scratch.path() / "kernel-0.ingot-v1.0.tmp", fresh = scratch.path() / "kernel-0.ingot-v1.1.tmp",
                 future = scratch.path() / "kernel-0.ingot-v1.2.tmp";
  for (const fs::path& path : {old, fresh, future}) write_file(path, "half a rec");
  set_age(old, std::chrono::hours(2));
  set_age(future, std::chrono::hours(-2));
  store.publish("kernel", "key", "payload");
  EXPECT_FALSE(fs::exists(old));
  EXPECT_FALSE(fs::exists(future)) << "of a clock that was wrong";
  EXPECT_TRUE(fs::exists(fresh)) << "another process may be writing it";
}

TEST(Store, DoesNotKeepRecordsAboveItsLimit) {
  const Scratch scratch;
  StoreOptions options;
  options.max_bytes = 1000;
  Store store(scratch.path(), options);
  store.publish("kernel", "key", std::string(1000, 'x'));
  EXPECT_EQ(store.find("kernel", "key"), std::nullopt);
  EXPECT_NE(store.status().find("larger than the limit of the folder"), std::string::npos) << store.status();
}

TEST(Store, ClearsItsOwnFilesOnly) {
  const Scratch scratch;
  write_file(scratch.path() / "somebody's", "");
  Store store(scratch.path());
  store.publish("kernel", "a", "1");
  store.publish("program", "b", "2");
  EXPECT_EQ(store.usage().files, 2u);
  EXPECT_EQ(store.clear(), 2u);
  EXPECT_EQ(names_in(scratch.path()), std::vector<std::string>{"somebody's"});
  EXPECT_EQ(store.find("kernel", "a"), std::nullopt);
}

TEST(Store, IsSafeFromSeveralThreads) {
  const Scratch scratch;
  Store store(scratch.path() / "cache");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const std::string key = std::to_string((i * 7 + t) % 10);
        if (const auto found = store.find("kernel", key); found && *found != "payload of " + key) ++wrong;
        store.publish("kernel", key, "payload of " + key);
        if (store.find("kernel", key) != "payload of " + key) ++wrong;
        if (i % 25 == 0) store.status(), store.usage();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(store.counters().publications, 400u);
  EXPECT_EQ(store.counters().corrupt, 0u);
  EXPECT_EQ(names_in(store.folder()).size(), 10u);
}

TEST(Store, StoresNothingWhenOff) {
  Store store = Store::off("no reason");
  store.publish("kernel", "key", "payload");
  EXPECT_EQ(store.find("kernel", "key"), std::nullopt);
  EXPECT_FALSE(store.is_enabled());
  EXPECT_EQ(store.status(), "off: no reason");
  EXPECT_EQ(store.usage().files + store.clear(), 0u);
}

/// Returns the store of a process with these variables, and no others of Ingot's.
Store with_environment(const std::vector<std::pair<const char*, std::string>>& variables) {
  for (const char* name : {"INGOT_CACHE", "INGOT_CACHE_DIR", "INGOT_CACHE_MAX", "XDG_CACHE_HOME", "HOME"})
    ::unsetenv(name);
  for (const auto& [name, value] : variables) ::setenv(name, value.c_str(), 1);
  return Store::from_environment();
}

TEST(StoreEnvironment, SelectsTheFolder) {
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "/";
  EXPECT_EQ(with_environment({{"HOME", "/h"}}).folder(), "/h/.cache/ingot");
  EXPECT_EQ(with_environment({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}).folder(), "/x/ingot");
  EXPECT_EQ(with_environment({{"HOME", "/h"}, {"XDG_CACHE_HOME", "relative"}}).folder(), "/h/.cache/ingot");
  EXPECT_EQ(with_environment({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}, {"INGOT_CACHE_DIR", "/c/"}}).folder(), "/c");
  EXPECT_EQ(with_environment({}).status(), "off: neither INGOT_CACHE_DIR nor HOME names a folder");
  EXPECT_EQ(with_environment({{"HOME", "/h"}, {"INGOT_CACHE", "off"}}).status(), "off: INGOT_CACHE=off");
  with_environment({{"HOME", home}});
}

TEST(StoreEnvironment, LimitsTheSize) {
  const Scratch scratch;
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "/", folder = scratch.path();
  Store small = with_environment({{"INGOT_CACHE_DIR", folder}, {"INGOT_CACHE_MAX", "100"}});
  small.publish("kernel", "key", std::string(100, 'x'));
  EXPECT_EQ(small.find("kernel", "key"), std::nullopt);
  Store wrong = with_environment({{"INGOT_CACHE_DIR", folder}, {"INGOT_CACHE_MAX", "1G"}});
  wrong.publish("kernel", "key", "payload");
  EXPECT_TRUE(wrong.find("kernel", "key"));
  EXPECT_NE(wrong.status().find("INGOT_CACHE_MAX is not a number of bytes: \"1G\""), std::string::npos);
  with_environment({{"HOME", home}});
}

}  // namespace
}  // namespace ingot::runtime
