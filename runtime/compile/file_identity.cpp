#include "runtime/compile/file_identity.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

namespace ingot::runtime {

std::string file_identity(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  struct stat key;
  if (error || ::stat(real.c_str(), &key) != 0 || !S_ISREG(key.st_mode)) return {};
  return real.filename().string() + " " + std::to_string(key.st_size) + " " + std::to_string(key.st_mtim.tv_sec) + "." +
         std::to_string(key.st_mtim.tv_nsec);
}

}  // namespace ingot::runtime
