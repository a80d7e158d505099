#include "runtime/compile/file_identity.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

namespace ingot::runtime {

std::string file_identity(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  struct stat status;
  if (error || ::stat(real.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return real.filename().string() + " " + std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) +
         "." + std::to_string(status.st_mtim.tv_nsec);
}

}  // namespace ingot::runtime
