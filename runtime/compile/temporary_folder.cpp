#include "runtime/compile/temporary_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "runtime/compile/shortage.h"

namespace ingot::runtime {

namespace {

constexpr std::string_view kPrefix = "ingot-compile-";
/// The free space that a folder must have: far more than a kernel's source, assembly and library take.
constexpr uint64_t kMinimumFreeBytes = uint64_t{16} << 20;
/// The part of PATH_MAX that is reserved for the name of a compilation's folder and for the names of the compiler's
/// files in it.
constexpr size_t kReservedPathBytes = 256;
/// A folder younger than this is not removed: the process that created it may be about to lock it.
constexpr int64_t kGraceSeconds = 5;

/// Returns the reason why a compilation cannot use the folder; empty if it can.
std::string why_unusable(const std::string& folder) {
  struct statvfs status;
  if (folder.size() + kReservedPathBytes > PATH_MAX) return error_text(ENAMETOOLONG);
  if (::statvfs(folder.c_str(), &status) != 0) return error_text(errno);
  // A file system that reports no block count has no limit.
  const bool is_full = status.f_blocks != 0 && uint64_t{status.f_bavail} * status.f_frsize < kMinimumFreeBytes;
  const bool has_no_inodes = status.f_files != 0 && status.f_favail == 0;
  return is_full || has_no_inodes ? error_text(ENOSPC) : std::string();
}

std::vector<std::string> candidate_directories() {
  std::vector<std::string> directories = {"/tmp", "/var/tmp", "/dev/shm"};
  // Absolute, because a compiler runs in another folder than this process.
  if (const char* chosen = std::getenv("TMPDIR"); chosen && *chosen)
    directories.insert(directories.begin(), std::filesystem::absolute(chosen).string());
  return directories;
}

/// Opens and locks the folder; `flags` are flock's. Returns the descriptor; -1 if the folder cannot be opened, or, with
/// LOCK_NB, if another process has locked it.
int lock(const std::filesystem::path& folder, int flags = 0) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0 || ::flock(descriptor, LOCK_EX | flags) == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

/// Whether a folder that this process has locked may be removed: it is private to this user and older than
/// kGraceSeconds. The lock proves that the folder's process has ended. A date in the future, from before the clock was
/// set back, counts as old.
bool may_remove(int descriptor) {
  struct stat status;
  return ::fstat(descriptor, &status) == 0 && status.st_uid == ::geteuid() && (status.st_mode & 07777) == 0700 &&
         std::abs(std::time(nullptr) - status.st_mtime) > kGraceSeconds;
}

/// Removes stale folders from `parent`, once per process.
void sweep_once(const std::string& parent) {
  static std::mutex mutex;
  static std::set<std::string> swept;
  {
    const std::lock_guard held(mutex);
    if (!swept.insert(parent).second) return;
  }
  sweep_temporary_folders(parent);
}

}  // namespace

TemporaryFolder::TemporaryFolder() : lock_(-1) {
  std::string attempts;
  for (const std::string& parent : candidate_directories()) {
    std::string problem = why_unusable(parent);
    if (problem.empty()) {
      std::string name = parent + "/" + std::string(kPrefix) + "XXXXXX";
      if (::mkdtemp(name.data())) {
        path_ = name;
        lock_ = lock(path_);  // waits while another process that removes stale folders has locked it
        sweep_once(parent);
        return;
      }
      problem = error_text(errno);
    }
    attempts += parent + ": " + problem + "\n";
  }
  throw_environment("cannot create a temporary folder for compilation: free some space, or set TMPDIR", attempts);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

void sweep_temporary_folders(const std::filesystem::path& parent) {
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(parent, ignored), end; entry != end; entry.increment(ignored)) {
    if (!entry->path().filename().string().starts_with(kPrefix)) continue;
    const int descriptor = lock(entry->path(), LOCK_NB);
    if (descriptor < 0) continue;
    if (may_remove(descriptor)) std::filesystem::remove_all(entry->path(), ignored);
    ::close(descriptor);
  }
}

}  // namespace ingot::runtime
