#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "codegen/kernel/launch.h"
#include "codegen/shape/layout.h"
#include "runtime/call/call_key.h"
#include "runtime/call/destinations.h"
#include "runtime/records/kernel_cache.h"
#include "runtime/records/program.h"

// A call with everything worked out but what changes while its facts stay the same: the addresses and the numbers. To
// run it is to allocate the results, patch a copy of the packed arguments, and launch.

namespace ingot::runtime {

/// One kernel's launch, packed.
struct BoundKernel {
  struct Pointer {
    uint32_t at;  ///< where in the packed bytes
    enum class Of : uint8_t { Param, Result, Workspace, Seed } of;
    uint32_t tensor;  ///< the parameter or the result
    int64_t shift;    ///< bytes from the tensor's first element, or from the workspace's beginning
  };
  struct Number {
    uint32_t at;
    uint32_t slot;  ///< of BoundCall::numbers
    ir::DType dtype;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  const Kernel* kernel = nullptr;
  const codegen::KernelOutline* outline = nullptr;  ///< of the program's
  int64_t units = 1;                                ///< as codegen::LaunchInfo::grid counts
  uint32_t shared_bytes = 0;                        ///< CUDA: as codegen::LaunchInfo counts
  int64_t grain = 1;                                ///< CPU: the fewest units worth a thread
  int64_t multiple = 1;                             ///< CPU: of units, at which a thread's begin
  std::vector<std::byte> bytes;                     ///< the arguments' values, those that change left blank
  std::vector<uint32_t> offsets;                    ///< where each argument's value is
  std::vector<Pointer> pointers;
  std::vector<Number> numbers;
  uint32_t status = kNone;  ///< where the address of the status goes
};

/// What the gradients of a recorded call take of its arguments.
struct GradientNeeds {
  static constexpr size_t kParams = 63;

  uint64_t reads = 0;  ///< the parameters (bits) that a gradient may read, or have gradients of: of the first kParams
  /// Of each argument that may be left out a dataless tensor like it. Undefined for numbers, and for CPU scalars beside
  /// CUDA tensors, whose values are read with the facts.
  std::vector<at::Tensor> layouts;

  bool may_read(size_t param) const { return param >= kParams || (reads >> param & 1) != 0; }
};

struct BoundCall {
  struct Result {
    Destination destination;
    c10::ScalarType dtype;
    std::vector<int64_t> sizes, strides;    ///< of its memory, where that is new
    bool is_partial = false;                ///< elements of no part stay as they were
    std::optional<uint32_t> forwards = {};  ///< the parameter that it is: nothing writes it
    bool is_sum = false;                    ///< of other results: what kernels write is added up behind them
  };
  std::vector<Result> results;
  std::vector<BoundKernel> kernels;  ///< without those that have nothing to do
  int64_t workspace = 0;             ///< bytes of memory that lasts as long as the call
  /// What is computed from the numbers of every call; sizes stand in it as constants.
  ir::HostPool numbers;
  /// Conditions on numbers, whose ids are of `numbers`.
  std::vector<Program::Check> checks;

  bool has_sums = false;
  bool atomics = false;  ///< whether these may be added up in any order

  std::shared_ptr<const Program> program;
  std::shared_ptr<const frontend::Residuals> kept;  ///< what it keeps for its gradient; null where that is nothing
  std::shared_ptr<const GradientNeeds> needs;       ///< of a recorded call; null for others
  std::shared_ptr<const Launch> launch;             ///< null where there is nothing to launch
};

/// What the facts of a call come to, before any kernel is asked for.
struct Resolved {
  std::vector<ir::HostValue> host;  ///< the slots of program.host
  codegen::PartitionStrategy strategy =
      codegen::PartitionStrategy::Shared;  ///< which outline of the program's it is of
  std::vector<ir::Extents> params, results, workspaces;
  std::vector<Destination> destinations;  ///< one for each result
  std::vector<codegen::KernelGeometry> geometries;
  std::vector<codegen::KernelLayout> layouts;  ///< one for each kernel of the outline
};

/// Checks the conditions and works out shapes, strides and layouts. Errors: Error(Author) with the condition's place,
/// and for tensors that cannot take a result.
Resolved resolve(const Program& program, const CallKey& key, const codegen::Options& options);

/// Packs the kernels' arguments.
BoundCall pack(std::shared_ptr<const Program> program, std::shared_ptr<const Launch> launch, const Resolved& resolved);

struct AtomicCounters;

/// What kernels write: a tensor for each result, new or the caller's.
using Written = c10::SmallVector<at::Tensor, 4>;

/// Runs the call and fills `written`. With `debug` it waits for the kernels and reports indices out of range on the GPU
/// too. The versions of the caller's tensors have grown wherever their memory may be other than it was, also after an
/// error.
void run(const BoundCall& call, const CallKey& key, Written& written, bool debug, AtomicCounters& counters);

/// Whether this is a way to compute the op for arguments of these sizes: no condition of that kind fails.
bool is_affordable(const Program& program, const CallKey& key);

/// Throws the error of a condition, or of Python's arithmetic on these arguments, that fails.
[[noreturn]] void throw_check(const Program& program, const Program::Check& check, ir::HostValue a, ir::HostValue b);
[[noreturn]] void throw_no_view(const Program& program, const Program::RequiredView& view);
[[noreturn]] void throw_arithmetic(const Program& program, const CallKey& key);

}  // namespace ingot::runtime
