#include "tools/python.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace ingot::tools {

namespace fs = std::filesystem;

std::string find_python() {
  if (const char* chosen = std::getenv("INGOT_PYTHON"); chosen && *chosen) return chosen;
  std::error_code error;
  if (fs::exists(INGOT_BUILT_WITH_PYTHON, error)) return INGOT_BUILT_WITH_PYTHON;
  const char* path = std::getenv("PATH");
  std::string_view folders = path ? path : "";
  while (!folders.empty()) {
    size_t end = std::min(folders.find(':'), folders.size());
    fs::path candidate = fs::path(folders.substr(0, end)) / "python3";
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  throw_environment("no Python was found in which to run eager PyTorch",
                    "set INGOT_PYTHON to a Python with torch and ingot, or skip the check with --no-check");
}

void prefer_bundled_package() {
  std::error_code error;
  fs::path package = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "python";
  if (!fs::exists(package / "ingot" / "__init__.py", error)) return;
  const char* previous = std::getenv("PYTHONPATH");
  std::string path = package.string() + (previous && *previous ? ":" + std::string(previous) : "");
  setenv("PYTHONPATH", path.c_str(), 1);
}

}  // namespace ingot::tools
