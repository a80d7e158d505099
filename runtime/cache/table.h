#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

// A table from short keys of 64-bit words to records, read without a lock. A reader loads one pointer and probes slots,
// each of which is written once. A writer fills a free slot. When half of the slots are taken, it copies them into
// twice as many and publishes those. Old slots live as long as the table, because readers may still probe them;
// together they are smaller than the current slots.

namespace ingot::runtime {

/// Hashes the words, their order and their number.
struct HashWords {
  uint64_t operator()(std::span<const uint64_t> words) const {
    // Folds the two halves of a product: every bit of a word affects every bit of the hash.
    uint64_t hash = 0x9e3779b97f4a7c15 ^ words.size();
    for (const uint64_t word : words) {
      const unsigned __int128 product = static_cast<unsigned __int128>(hash ^ word) * 0xa0761d6478bd642f;
      hash = (static_cast<uint64_t>(product >> 64) ^ static_cast<uint64_t>(product)) + 0xe7037ed1a0b428db;
    }
    return hash;
  }
};

/// Maps words to const Record*. Records are never replaced, and never removed while the table lives, except by `clear`.
template <typename Record, typename Hash = HashWords>
class Table {
 public:
  /// Holds at most `limit` records, so that a program with ever new keys does not fill the memory.
  explicit Table(size_t limit = size_t{1} << 16) : limit_(limit) { publish(kFirstCapacity); }

  /// Returns the key's record, or null. May miss a record that is being inserted at the same moment.
  const Record* find(std::span<const uint64_t> key) const { return find(key, Hash{}(key)); }

  /// Returns the table's record for the key: `record`, or the record that another thread inserted first. Null if the
  /// table is full: the caller then keeps its own record.
  const Record* insert(std::span<const uint64_t> key, std::shared_ptr<const Record> record) {
    const uint64_t hash = Hash{}(key);
    const std::lock_guard lock(mutex_);
    if (const Record* present = find(key, hash)) return present;
    if (entries_.size() >= limit_) return nullptr;
    if (2 * (entries_.size() + 1) > generations_.back()->slots.size()) publish(2 * generations_.back()->slots.size());
    entries_.push_back({hash, {key.begin(), key.end()}, std::move(record)});
    place(*generations_.back(), entries_.back());
    size_.store(entries_.size(), std::memory_order_relaxed);
    return entries_.back().record.get();
  }

  size_t size() const { return size_.load(std::memory_order_relaxed); }

  /// Drops every record. The caller ensures that no other thread is in `find` or uses a record.
  void clear() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
    generations_.clear();
    publish(kFirstCapacity);
    size_.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kFirstCapacity = 16;  ///< a power of two, as all capacities are

  struct Entry {
    uint64_t hash;
    std::vector<uint64_t> key;
    std::shared_ptr<const Record> record;
  };
  /// Slots with open addressing and linear probing; at least half of the slots are null, so every probe sequence ends.
  struct Generation {
    explicit Generation(size_t capacity) : slots(capacity) {}
    std::vector<std::atomic<const Entry*>> slots;
  };

  const Record* find(std::span<const uint64_t> key, uint64_t hash) const {
    const auto& slots = current_.load(std::memory_order_acquire)->slots;
    for (uint64_t i = hash;; ++i) {
      const Entry* entry = slots[i & (slots.size() - 1)].load(std::memory_order_acquire);
      if (!entry) return nullptr;
      if (entry->hash == hash && std::ranges::equal(entry->key, key)) return entry->record.get();
    }
  }

  static void place(Generation& generation, const Entry& entry) {
    auto& slots = generation.slots;
    uint64_t i = entry.hash;
    while (slots[i & (slots.size() - 1)].load(std::memory_order_relaxed)) ++i;
    slots[i & (slots.size() - 1)].store(&entry, std::memory_order_release);
  }

  /// Copies all entries into new slots, which readers use from then on.
  void publish(size_t capacity) {
    auto next = std::make_unique<Generation>(capacity);
    for (const Entry& entry : entries_) place(*next, entry);
    generations_.push_back(std::move(next));
    current_.store(generations_.back().get(), std::memory_order_release);
  }

  const size_t limit_;
  std::atomic<const Generation*> current_ = nullptr;
  std::atomic<size_t> size_ = 0;
  std::mutex mutex_;           ///< held by writers; protects all members below
  std::deque<Entry> entries_;  ///< never moved
  std::vector<std::unique_ptr<Generation>> generations_;
};

}  // namespace ingot::runtime
