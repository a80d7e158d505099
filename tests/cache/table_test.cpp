#include "runtime/cache/table.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace ingot::runtime {
namespace {

using Key = std::vector<uint64_t>;

std::shared_ptr<const Key> record_of(const Key& key) { return std::make_shared<const Key>(key); }

TEST(Table, FindsInsertedRecords) {
  Table<Key> table;
  EXPECT_EQ(table.find(Key{1, 2}), nullptr);
  const Key* inserted = table.insert(Key{1, 2}, record_of({1, 2}));
  ASSERT_NE(inserted, nullptr);
  EXPECT_EQ(table.find(Key{1, 2}), inserted);
  EXPECT_EQ(table.size(), 1u);
}

TEST(Table, DistinguishesKeysByEveryWordAndByLength) {
  Table<Key> table;
  const std::vector<Key> keys = {{}, {0}, {0, 0}, {1}, {1, 0}, {0, 1}, {1, 2, 3}, {1, 3, 2}, {uint64_t{1} << 63}};
  for (const Key& key : keys) EXPECT_EQ(*table.insert(key, record_of(key)), key);
  for (const Key& key : keys) EXPECT_EQ(*table.find(key), key);
  EXPECT_EQ(table.find(Key{1, 2}), nullptr);
  EXPECT_EQ(table.size(), keys.size());
}

TEST(Table, ComparesWholeKeysWhenHashesAgree) {
  struct SameForAll {
    uint64_t operator()(std::span<const uint64_t>) const { return 5; }
  };
  Table<Key, SameForAll> table;
  std::vector<Key> keys = {{}, {0}, {0, 0}};
  for (uint64_t i = 0; i < 40; ++i) keys.push_back({1, i << 32, 2});
  for (const Key& key : keys) {
    EXPECT_EQ(table.find(key), nullptr);
    EXPECT_EQ(*table.insert(key, record_of(key)), key);
  }
  for (const Key& key : keys) EXPECT_EQ(*table.find(key), key);
  EXPECT_EQ(table.size(), keys.size());
}

TEST(Table, KeepsTheFirstRecordOfAKey) {
  Table<Key> table;
  const Key* first = table.insert(Key{7}, record_of({1}));
  EXPECT_EQ(table.insert(Key{7}, record_of({2})), first);
  EXPECT_EQ(*table.find(Key{7}), Key{1});
  EXPECT_EQ(table.size(), 1u);
}

TEST(Table, KeepsReturnedRecordsWhileItGrows) {
  Table<Key> table;
  std::vector<const Key*> inserted;
  for (uint64_t i = 0; i < 5000; ++i) inserted.push_back(table.insert(Key{i, i * i}, record_of({i})));
  for (uint64_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(table.find(Key{i, i * i}), inserted[i]);
    ASSERT_EQ(*inserted[i], Key{i});
  }
}

TEST(Table, FindsRecordsButRejectsNewOnesWhenFull) {
  Table<Key> table(3);
  for (uint64_t i = 0; i < 3; ++i) ASSERT_NE(table.insert(Key{i}, record_of({i})), nullptr);
  EXPECT_EQ(table.insert(Key{3}, record_of({3})), nullptr);
  EXPECT_EQ(table.find(Key{3}), nullptr);
  EXPECT_NE(table.insert(Key{2}, record_of({9})), nullptr);
  EXPECT_EQ(*table.find(Key{2}), Key{2});
  EXPECT_EQ(table.size(), 3u);
}

TEST(Table, IsEmptyAfterClear) {
  Table<Key> table;
  auto record = record_of({1});
  const std::weak_ptr<const Key> watched = record;
  table.insert(Key{1}, std::move(record));
  EXPECT_FALSE(watched.expired());
  table.clear();
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.find(Key{1}), nullptr);
  EXPECT_NE(table.insert(Key{1}, record_of({2})), nullptr);
}

TEST(Table, SpreadsSimilarKeys) {
  // Typical key words: small numbers, and pointers that differ in few bits. The low bits choose the slot.
  std::set<uint64_t> slots;
  for (uint64_t i = 0; i < 1024; ++i) {
    slots.insert(HashWords{}(Key{i, 4}) & 0xffff);
    slots.insert(HashWords{}(Key{4, i << 40}) & 0xffff);
  }
  EXPECT_GT(slots.size(), 1900u);  // of 2048; random hashes would give about 2016
}

TEST(Table, ShowsWholeRecordsDuringInsertions) {
  constexpr uint64_t kKeys = 3000;
  Table<Key> table;
  std::atomic<uint64_t> wrong = 0, writers = 2;
  const auto key_of = [](uint64_t i) { return Key{i, ~i, i % 7}; };
  const auto write = [&] {
    for (uint64_t i = 0; i < kKeys; ++i) {
      const Key* record = table.insert(key_of(i), record_of({i, i + 1}));
      if (!record || *record != Key{i, i + 1}) ++wrong;
    }
    --writers;
  };
  const auto read = [&] {
    uint64_t found_count = 0;  // all keys below were found once, so they must be found again
    for (uint64_t i = 0; writers > 0 || found_count < kKeys; i = (i + 1) % kKeys) {
      const Key* record = table.find(key_of(i));
      if (record ? *record != Key{i, i + 1} : i < found_count) ++wrong;
      if (record && i == found_count) ++found_count;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(write), threads.emplace_back(read);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(table.size(), kKeys);
}

}  // namespace
}  // namespace ingot::runtime
