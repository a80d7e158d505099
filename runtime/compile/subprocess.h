#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ingot::runtime {

/// How a program ended.
struct Outcome {
  bool succeeded = false;
  std::string ending;  ///< "exited with 1", "was killed by signal 9"
  std::string output;  ///< its stdout and stderr
};

/// Runs a program to its end, without a shell. `command`: its path, then its arguments. The program runs in `folder`,
/// which is also its folder for temporary files, and its messages are in English (C locale). Errors: Error(Environment)
/// if it cannot be started.
Outcome run_program(const std::vector<std::string>& command, const std::filesystem::path& folder);

}  // namespace ingot::runtime
