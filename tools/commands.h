#pragma once

#include <CLI/CLI.hpp>

// The subcommands, one per file. Each function adds a command and its options to the program; the command sets the
// program's exit status.

namespace ingot::tools {

/// The exit codes of `ingot`; scripts may rely on them.
enum Exit : int {
  kOk = 0,
  kMismatch = 1,  ///< results differ from eager PyTorch's
  kBadInput = 2,  ///< the command line, the op's source or its arguments are invalid
  kTooSlow = 3,   ///< a comparison missed its target
  kFailure = 4,   ///< no compiler, no GPU, no Python with PyTorch; a defect of Ingot
};

void add_run(CLI::App& program, int& status);
void add_emit(CLI::App& program, int& status);
void add_ops(CLI::App& program, int& status);
void add_cache(CLI::App& program, int& status);
/// compare, explain, verify: these commands need Python packages, so Python runs them.
void add_python_tools(CLI::App& program, int& status);

}  // namespace ingot::tools
