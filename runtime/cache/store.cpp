#include "runtime/cache/store.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <mutex>
#include <vector>

#include "runtime/cache/digest.h"
#include "runtime/cache/folder.h"
#include "runtime/cache/record.h"

namespace ingot::runtime {

namespace {

using Clock = std::chrono::steady_clock;

// All files of the store are named KIND-HASH.ingot-vN, then .bad if the file was corrupt, or .UNIQUE.tmp while it is
// being written. The store never touches other files, in case the configured folder holds some.
constexpr std::string_view kVersionMark = ".ingot-v";
constexpr std::string_view kBadSuffix = ".bad";
constexpr std::string_view kTemporarySuffix = ".tmp";
/// A temporary file whose date differs from now by more than this, in either direction, belongs to a process that died.
constexpr int64_t kAbandonedSeconds = 60 * 60;

bool is_store_file(const Folder::File& file) { return file.name.find(kVersionMark) != std::string::npos; }

bool is_abandoned(const Folder::File& file) {
  return file.name.ends_with(kTemporarySuffix) &&
         std::abs(std::time(nullptr) - file.modified / 1'000'000'000) > kAbandonedSeconds;
}

uint64_t random_word() {
  uint64_t word = 0;
  if (::getrandom(&word, sizeof word, GRND_NONBLOCK) != sizeof word)
    word = static_cast<uint64_t>(Clock::now().time_since_epoch().count());
  return word;
}

/// Returns a name that differs between threads, processes, and machines that share a folder. A process id is not
/// enough, because containers reuse ids; neither is one random number per process, because a fork copies it.
std::string temporary_name(const std::string& name) {
  static const uint64_t process = random_word();
  static std::atomic<uint64_t> count = 0;
  return name + "." + std::to_string(process) + "-" + std::to_string(::getpid()) + "-" + std::to_string(count++) +
         std::string(kTemporarySuffix);
}

/// Whether the next attempt to write would fail with the same error.
bool is_lasting(int error) {
  return error == ENOSPC || error == EDQUOT || error == EROFS || error == EACCES || error == EPERM;
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

struct Store::State {
  std::filesystem::path path;
  StoreOptions options;
  std::string off_reason;  ///< why there is no folder at all; empty if there is one

  struct {
    std::atomic<uint64_t> hits = 0, misses = 0, publications = 0, corrupt = 0, collisions = 0, read_errors = 0,
                          write_errors = 0, evictions = 0;
  } counters;
  /// Counts publications. Starts at a random value, so that among many short processes some check the folder's size.
  std::atomic<uint64_t> sweep_clock = random_word();

  mutable std::mutex mutex;  ///< protects all members below
  std::shared_ptr<const Folder> handle;
  std::string refusal;
  std::string first_failure;
  Clock::time_point paused_until;

  std::string file_name(std::string_view kind, std::string_view key) const {
    return std::string(kind) + "-" + (options.hash ? options.hash(key) : Digest::of(key).hex()) +
           std::string(kVersionMark) + std::to_string(kRecordFormat);
  }

  void note_failure(const std::string& failure) {
    const std::lock_guard lock(mutex);
    if (first_failure.empty()) first_failure = failure;
  }

  /// The folder, opened at its first use; an error if it does not exist or is not private.
  Folder::OpenResult folder() {
    const std::lock_guard lock(mutex);
    if (handle) return {handle, 0, {}};
    if (!refusal.empty()) return {nullptr, EPERM, refusal};
    Folder::OpenResult result = Folder::open(path);
    handle = result.folder;
    refusal = result.refusal;
    return result;
  }

  /// As `folder`, but creates the folder if it is missing. Discards a `stale` handle, whose folder was deleted.
  Folder::OpenResult folder_for_writing(const std::shared_ptr<const Folder>& stale) {
    if (stale) {
      const std::lock_guard lock(mutex);
      if (handle == stale) handle = nullptr;
    }
    Folder::OpenResult result = folder();
    if (result.error != ENOENT) return result;
    if (const int error = Folder::create(path); error != 0) return {nullptr, error, {}};
    return folder();
  }

  void rename_to_bad(const Folder& directory, const std::string& file) {
    ++counters.corrupt;
    note_failure(file + " was damaged and has been renamed to .bad");
    directory.rename(file, file + std::string(kBadSuffix));
  }

  void note_write_error(const std::string& file, int error) {
    ++counters.write_errors;
    note_failure("cannot write " + file + ": " + std::strerror(error));
    const std::lock_guard lock(mutex);
    if (is_lasting(error)) paused_until = Clock::now() + options.pause;
  }

  /// Writes a temporary file and renames it. Returns an `errno` value, 0 for none.
  int write(const Folder& directory, const std::string& file, std::string_view bytes) {
    const std::string temporary = temporary_name(file);
    if (const int error = directory.write(temporary, bytes); error != 0) return error;
    int error = directory.rename(temporary, file);
    // A folder that has the record's name is renamed to .bad. The store removes only its own files.
    if (error == EISDIR) {
      directory.rename(file, temporary_name(file) + std::string(kBadSuffix));
      error = directory.rename(temporary, file);
    }
    if (error != 0) directory.remove(temporary);
    return error;
  }

  /// Removes abandoned temporary files, and the oldest files beyond the limit.
  void sweep(const Folder& directory) {
    std::vector<Folder::File> files = directory.list();
    std::erase_if(files, [](const Folder::File& file) { return !is_store_file(file); });
    std::ranges::sort(files, {}, &Folder::File::modified);
    uint64_t total = 0;
    for (const Folder::File& file : files) total += file.bytes;
    for (const Folder::File& file : files) {
      if (total <= options.max_bytes && !is_abandoned(file)) continue;
      if (directory.remove(file.name) == 0) ++counters.evictions;
      total -= file.bytes;
    }
  }

  bool is_paused() const {
    const std::lock_guard lock(mutex);
    return Clock::now() < paused_until;
  }

  std::optional<std::string> find(std::string_view kind, std::string_view key);
  void publish(std::string_view kind, std::string_view key, std::string_view payload);
};

std::optional<std::string> Store::State::find(std::string_view kind, std::string_view key) {
  const std::string file = file_name(kind, key);
  const Folder::OpenResult result = folder();
  std::string bytes, file_refusal;
  const int error = result.folder ? result.folder->read(file, bytes, file_refusal) : result.error;
  if (error != 0) {
    ++counters.misses;
    if (error != ENOENT && result.refusal.empty()) {
      ++counters.read_errors;
      note_failure("cannot read " + file + ": " + (file_refusal.empty() ? std::strerror(error) : file_refusal));
    }
    return std::nullopt;
  }
  const DecodedRecord record = decode_record(bytes, key);
  if (record.state == RecordState::Good) {
    ++counters.hits;
    return std::string(record.payload);
  }
  ++counters.misses;
  if (record.state == RecordState::OtherKey)
    ++counters.collisions;
  else
    rename_to_bad(*result.folder, file);
  return std::nullopt;
}

void Store::State::publish(std::string_view kind, std::string_view key, std::string_view payload) {
  if (is_paused()) return;
  const std::string file = file_name(kind, key);
  const std::string bytes = encode_record(key, payload);
  if (bytes.size() > options.max_bytes) {
    note_failure(file + " alone is larger than the limit of the folder");
    return;
  }
  Folder::OpenResult result = folder_for_writing(nullptr);
  if (!result.refusal.empty()) return;
  int error = result.folder ? write(*result.folder, file, bytes) : result.error;
  if (result.folder && error == ENOENT) {
    result = folder_for_writing(result.folder);
    error = result.folder ? write(*result.folder, file, bytes) : result.error;
  }
  if (error != 0) return note_write_error(file, error);
  ++counters.publications;
  if (++sweep_clock % std::max(options.sweep_every, 1u) == 0) sweep(*result.folder);
}

Store::Store(std::filesystem::path folder, StoreOptions options) : state_(std::make_shared<State>()) {
  state_->path = std::filesystem::absolute(folder).lexically_normal();
  if (!state_->path.has_filename()) state_->path = state_->path.parent_path();  // "folder/"
  state_->options = std::move(options);
}

Store Store::off(std::string reason) {
  auto state = std::make_shared<State>();
  state->off_reason = std::move(reason);
  return Store(std::move(state));
}

Store Store::from_environment() {
  if (environment_variable("INGOT_CACHE") == "off") return off("INGOT_CACHE=off");
  StoreOptions options;
  const std::string limit = environment_variable("INGOT_CACHE_MAX");
  uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(limit.data(), limit.data() + limit.size(), bytes);
  const bool is_number = error == std::errc() && end == limit.data() + limit.size();
  if (is_number) options.max_bytes = bytes;

  std::filesystem::path folder = environment_variable("INGOT_CACHE_DIR");
  if (const std::string home = environment_variable("XDG_CACHE_HOME"); folder.empty() && home.starts_with('/'))
    folder = std::filesystem::path(home) / "ingot";
  if (const std::string home = environment_variable("HOME"); folder.empty() && home.starts_with('/'))
    folder = std::filesystem::path(home) / ".cache" / "ingot";
  if (folder.empty()) return off("neither INGOT_CACHE_DIR nor HOME names a folder");

  Store store(folder, options);
  if (!limit.empty() && !is_number)
    store.state_->note_failure("INGOT_CACHE_MAX is not a number of bytes: \"" + limit + "\"");
  return store;
}

std::optional<std::string> Store::find(std::string_view kind, std::string_view key) const {
  if (!state_->off_reason.empty()) return std::nullopt;
  try {
    return state_->find(kind, key);
  } catch (const std::exception& failure) {  // no memory for the size that the file claims
    ++state_->counters.misses;
    ++state_->counters.read_errors;
    state_->note_failure(failure.what());
    return std::nullopt;
  }
}

void Store::publish(std::string_view kind, std::string_view key, std::string_view payload) {
  if (!state_->off_reason.empty()) return;
  try {
    state_->publish(kind, key, payload);
  } catch (const std::exception& failure) {
    ++state_->counters.write_errors;
    state_->note_failure(failure.what());
  }
}

bool Store::is_enabled() const {
  if (!state_->off_reason.empty()) return false;
  return state_->folder().refusal.empty();
}

const std::filesystem::path& Store::folder() const { return state_->path; }

StoreCounters Store::counters() const {
  const auto& counters = state_->counters;
  return {counters.hits,       counters.misses,      counters.publications, counters.corrupt,
          counters.collisions, counters.read_errors, counters.write_errors, counters.evictions};
}

std::string Store::status() const {
  if (!state_->off_reason.empty()) return "off: " + state_->off_reason;
  const Folder::OpenResult result = state_->folder();
  std::string text = state_->path.string() + ": ";
  if (!result.refusal.empty()) return text + "refused: " + result.refusal;
  if (result.folder)
    text += "in use";
  else
    text += result.error == ENOENT ? "not created yet" : std::strerror(result.error);
  if (state_->is_paused()) text += ", writes are paused";
  const std::lock_guard lock(state_->mutex);
  if (!state_->first_failure.empty()) text += "; " + state_->first_failure;
  return text;
}

Store::Usage Store::usage() const {
  Usage usage;
  if (const auto folder = state_->folder().folder) {
    for (const Folder::File& file : folder->list())
      if (is_store_file(file)) ++usage.files, usage.bytes += file.bytes;
  }
  return usage;
}

uint64_t Store::clear() {
  uint64_t removed = 0;
  if (const auto folder = state_->folder().folder) {
    for (const Folder::File& file : folder->list())
      if (is_store_file(file) && folder->remove(file.name) == 0) ++removed;
  }
  return removed;
}

}  // namespace ingot::runtime
