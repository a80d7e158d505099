#include "runtime/compile/file_identity.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

namespace ingot::runtime {

std::string file_identity(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  struct stat facts;
  if (error || ::stat(real.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  return real.filename().string() + " " + std::to_string(facts.st_size) + " " + std::to_string(facts.st_mtim.tv_sec) +
         "." + std::to_string(facts.st_mtim.tv_nsec);
}

}  // namespace ingot::runtime
