#pragma once

#include <CLI/CLI.hpp>

// The subcommands, one file each. A command is added to the program with its options; what it returns, when it is the
// one that was called, is the program's exit status.

namespace ingot::tools {

/// What `ingot` exits with; scripts may rely on it.
enum Exit : int {
  kOk = 0,
  kMismatch = 1,     ///< results are not eager PyTorch's
  kBadInput = 2,     ///< the command line, the op's text or its arguments
  kTooSlow = 3,      ///< what was asked of a comparison was missed
  kEnvironment = 4,  ///< no compiler, no GPU, no Python with PyTorch; a defect of Ingot's
};

void add_run(CLI::App& program, int& status);
void add_emit(CLI::App& program, int& status);
void add_ops(CLI::App& program, int& status);
void add_cache(CLI::App& program, int& status);
/// compare, verify: what Python's packages are needed for, so Python runs it.
void add_instruments(CLI::App& program, int& status);

}  // namespace ingot::tools
