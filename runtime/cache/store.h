#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

// The records on disk, addressed by the hash of their key. A record's key is a text that names all inputs of the
// record. The file's name is the key's hash, and the file repeats the key in full, so a collision is a miss. A failure
// of the store never fails a call: the look-up is then a miss, and `status` reports the first failure.

namespace ingot::runtime {

/// Counts of a store's events; every count only grows.
struct StoreCounters {
  uint64_t hits = 0, misses = 0, publications = 0;
  uint64_t corrupt = 0;       ///< a checksum or a length was wrong: the file was renamed to .bad
  uint64_t collisions = 0;    ///< another key under the same hash
  uint64_t read_errors = 0;   ///< an I/O error is not corruption: the file stays
  uint64_t write_errors = 0;  ///< full disk, read-only folder, quota
  uint64_t evictions = 0;     ///< files removed by a sweep: beyond `max_bytes`, or abandoned temporary files
};

struct StoreOptions {
  /// The folder's limit; the oldest records are removed beyond it. The limit is checked at one publication in
  /// `sweep_every`, so the folder may exceed the limit meanwhile. A record that is larger than the limit by itself is
  /// not stored.
  uint64_t max_bytes = uint64_t{1} << 30;
  uint32_t sweep_every = 64;
  /// How long nothing is written after an error that the next attempt would repeat (a full disk, no permission).
  std::chrono::milliseconds pause = std::chrono::minutes(1);
  /// A key's hash, as part of a file's name; null for Digest. Tests use it to make keys collide.
  std::function<std::string(std::string_view)> hash;
};

/// One folder of records, private to the user. Safe from several threads and processes at once. Copies share one state.
class Store {
 public:
  /// Uses `folder` (created with mode 0700 on the first publication). Rejects a folder that others may write, or that
  /// another user owns: the store is then off and `status` says why.
  explicit Store(std::filesystem::path folder, StoreOptions options = {});
  /// The store that the environment selects: INGOT_CACHE_DIR, else $XDG_CACHE_HOME/ingot, else ~/.cache/ingot.
  /// INGOT_CACHE=off turns it off; INGOT_CACHE_MAX is `max_bytes`.
  static Store from_environment();
  /// A store that keeps nothing.
  static Store off(std::string reason);

  /// Returns the payload of a record. `kind` is a short word that becomes part of the file's name ("program",
  /// "kernel").
  std::optional<std::string> find(std::string_view kind, std::string_view key) const;
  /// Writes and closes a temporary file, then renames it, so that readers see the whole record or none.
  void publish(std::string_view kind, std::string_view key, std::string_view payload);

  /// Whether the store is on. Also false once its folder was rejected.
  bool is_enabled() const;
  const std::filesystem::path& folder() const;
  StoreCounters counters() const;
  /// One line: the folder and its state, with the first failure if there was one.
  std::string status() const;

  struct Usage {
    uint64_t files = 0, bytes = 0;
  };
  /// The store's files in the folder, from all processes.
  Usage usage() const;
  /// Removes all of the store's files; returns their number.
  uint64_t clear();

 private:
  struct State;
  explicit Store(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace ingot::runtime
