#pragma once

#include <CLI/CLI.hpp>

// The subcommands, one file each. A command is added to the program with its options; what it returns, when it is the
// one that was called, is the program's exit status.

namespace ingot::tools {

/// What `ingot` exits with; scripts may rely on it.
enum Exit : int {
  kOk = 0,
  kMismatch = 1,     ///< the results are not eager PyTorch's
  kBadInput = 2,     ///< the command line, the op's text or its arguments
  kEnvironment = 3,  ///< no compiler, no GPU, no Python with PyTorch; a defect of Ingot's
};

void add_run(CLI::App& program, int& status);
void add_emit(CLI::App& program, int& status);
void add_ops(CLI::App& program, int& status);
void add_cache(CLI::App& program, int& status);

}  // namespace ingot::tools
