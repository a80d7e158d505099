#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/kernel/kernel.h"
#include "codegen/print/formulas.h"

namespace ingot::codegen {

/// Writes the launch comments of a source file: the lines above each kernel that say how to launch it.
///
///     // where: n = x.size(0)*x.size(1)
///     // requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
///     // scratch: sums = empty(f32, ceil(n / 1024))
///     // launch: entry=scale, grid=ceil(n / 1024), block=256, args=x, out, sums, n
///
/// The values are expressions in Python's syntax over the op's parameters and its results (`out`, or `out0`, `out1` …).
/// A `where:` line defines names, and a `scratch:` line the buffers that the launches share. The `requires:` lines list
/// all that the kernel was compiled for. docs/compare.md describes the language, and
/// python/ingot/tools/launch_comment.py evaluates it.
class LaunchComments {
 public:
  explicit LaunchComments(const DescribedCall& call);

  /// The lines for the source file: the compiler's options, and the reason, if there is one, why the launches alone do
  /// not compute the op's results.
  std::string of_file() const;
  /// The launch comment of a kernel; none if the op needs other work than launches. Kernels must be passed in launch
  /// order.
  std::string above(const Kernel& kernel);

 private:
  friend class LaunchComment;

  std::string unused_name(const std::string& preferred);

  const DescribedCall& call_;
  Formulas formulas_;
  std::string obstacle_;                        ///< the reason why the launches alone do not compute the op's results
  std::set<std::string> names_;                 ///< of parameters, results and scratch buffers
  std::map<std::string, std::string> scratch_;  ///< by what a buffer is for, its name
  std::set<uint32_t> described_;                ///< the kernels of the outline whose sizes are required
};

}  // namespace ingot::codegen
