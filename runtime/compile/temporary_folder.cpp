#include "runtime/compile/temporary_folder.h"

#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"

namespace ingot::runtime {

namespace {

/// Far more than a kernel's source, assembly and library take.
constexpr uint64_t kRoomBytes = uint64_t{16} << 20;

/// What keeps a compilation out of the folder; empty when nothing does.
std::string obstacle(const std::string& folder) {
  struct statvfs facts;
  if (::statvfs(folder.c_str(), &facts) != 0) return std::strerror(errno);
  // A file system that counts nothing has no limit.
  const bool full = facts.f_blocks != 0 && uint64_t{facts.f_bavail} * facts.f_frsize < kRoomBytes;
  const bool no_names = facts.f_files != 0 && facts.f_favail == 0;
  return full || no_names ? std::strerror(ENOSPC) : std::string();
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::vector<std::string> parents = {"/tmp", "/var/tmp", "/dev/shm"};
  if (const char* chosen = std::getenv("TMPDIR"); chosen && *chosen) parents.insert(parents.begin(), chosen);
  std::string tried;
  for (const std::string& parent : parents) {
    std::string problem = obstacle(parent);
    if (problem.empty()) {
      std::string name = parent + "/ingot-XXXXXX";
      if (::mkdtemp(name.data())) {
        path_ = name;
        return;
      }
      problem = std::strerror(errno);
    }
    tried += parent + ": " + problem + "\n";
  }
  throw_environment("no folder for a compilation's temporary files: make room, or set TMPDIR", tried);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace ingot::runtime
