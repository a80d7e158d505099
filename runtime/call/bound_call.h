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

// A call with everything computed except the addresses and numbers, which change while the key stays the same. To run,
// it allocates the results, patches a copy of the packed arguments, and launches.

namespace ingot::runtime {

/// One kernel's launch, packed.
struct BoundKernel {
  struct Pointer {
    uint32_t offset;  ///< offset in the packed bytes
    enum class Source : uint8_t { Param, Result, Workspace, Seed } source;
    uint32_t tensor;  ///< index of the parameter or the result
    int64_t shift;    ///< bytes from the tensor's first element, or from the workspace's start
  };
  struct Number {
    uint32_t offset;
    uint32_t value_id;  ///< in BoundCall::numbers
    ir::DType dtype;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  const Kernel* kernel = nullptr;
  const codegen::KernelOutline* outline = nullptr;  ///< in `program` of the BoundCall
  int64_t units = 1;                                ///< of the launch: blocks on CUDA, indices of the loop on the CPU
  uint32_t shared_bytes = 0;                        ///< CUDA: dynamic shared memory of a block
  int64_t grain = 1;                                ///< CPU: the fewest units that justify a thread
  int64_t multiple = 1;                             ///< CPU: each thread's first unit is a multiple of this
  std::vector<std::byte> bytes;   ///< the arguments' values; values that differ per call are left blank
  std::vector<uint32_t> offsets;  ///< the offset of each argument's value
  std::vector<Pointer> pointers;
  std::vector<Number> numbers;
  uint32_t status_offset = kNone;  ///< offset of the status' address; kNone if there is none
};

/// The arguments that the gradients of a recorded call need.
struct GradientNeeds {
  static constexpr size_t kParams = 63;

  uint64_t reads = 0;  ///< the parameters (bits, the first kParams) that a gradient may read or to which gradients may
                       ///< flow
  /// For each argument, a tensor without storage that has its sizes and strides, to replace the argument if it is not
  /// saved. Undefined for numbers, and for CPU scalars among CUDA tensors: their values are in CallKey::arguments.
  std::vector<at::Tensor> placeholders;

  bool may_read(size_t param) const { return param >= kParams || (reads >> param & 1) != 0; }
};

struct BoundCall {
  struct Result {
    Destination destination;
    c10::ScalarType dtype;
    std::vector<int64_t> sizes, strides;    ///< of the memory to allocate, if the kernels do not write the caller's
    bool is_partial = false;                ///< elements outside of all output blocks keep the caller's values
    std::optional<uint32_t> forwards = {};  ///< the parameter that equals this result, which no kernel computes
    bool is_scatter_sum = false;            ///< a sum of scattered values, added up after the kernels (scatter_sums.h)
  };
  std::vector<Result> results;
  std::vector<BoundKernel> kernels;  ///< omits kernels that have nothing to do
  int64_t workspace_bytes = 0;       ///< temporary memory for the duration of the call
  /// Host expressions on the numbers of each call; sizes are constants in them.
  ir::HostPool numbers;
  /// Conditions on numbers, whose ids refer to `numbers`.
  std::vector<Program::Check> checks;

  bool has_scatter_sums = false;  ///< whether `is_scatter_sum` holds for any result
  bool atomics = false;           ///< the op's option: a GPU may add up these sums in any order

  std::shared_ptr<const Program> program;
  std::shared_ptr<const frontend::Residuals>
      residuals;                                ///< the residuals that a gradient reads; null if there are none
  std::shared_ptr<const GradientNeeds> needs;   ///< of a recorded call; null for others
  std::shared_ptr<const KernelSet> kernel_set;  ///< null if there is nothing to launch
};

/// A call's shapes, strides and layouts, before any kernel is requested.
struct Resolved {
  std::vector<ir::HostValue> host;                                          ///< the values of program.host, by id
  codegen::PartitionStrategy strategy = codegen::PartitionStrategy::Whole;  ///< selects the outline from the program
  std::vector<ir::SizesAndStrides> params, results, workspaces;
  std::vector<Destination> destinations;  ///< one for each result
  std::vector<codegen::KernelGeometry> geometries;
  std::vector<codegen::KernelLayout> layouts;  ///< one for each kernel of the outline
};

/// Checks the conditions and computes shapes, strides and layouts. Errors: Error(Author), with the source location of
/// the failed condition, and for tensors into which a result cannot be written.
Resolved resolve(const Program& program, const CallKey& key, const codegen::Options& options);

/// Packs the kernels' arguments.
BoundCall pack(std::shared_ptr<const Program> program, std::shared_ptr<const KernelSet> kernel_set,
               const Resolved& resolved);

struct AtomicCounters;

/// The results of a call, new or the caller's tensors: one for each result of the program. A few results need no heap
/// allocation.
using Results = c10::SmallVector<at::Tensor, 4>;

/// Runs the call and fills `results`. With `debug` it waits for the kernels, and also reports indices out of range on
/// the GPU. Increments the versions of the caller's tensors whose memory may have changed, also after an error.
void run(const BoundCall& call, const CallKey& key, Results& results, bool debug, AtomicCounters& counters);

/// Whether the program can compute the call: no condition of kind Affordable or GradientsExist fails.
bool is_affordable(const Program& program, const CallKey& key);

/// Throw the error of a failed condition, of a view that these strides do not allow, and of failed Python arithmetic.
[[noreturn]] void throw_check(const Program& program, const Program::Check& check, ir::HostValue a, ir::HostValue b);
[[noreturn]] void throw_no_view(const Program& program, const Program::RequiredView& view);
[[noreturn]] void throw_arithmetic(const Program& program, const CallKey& key);

}  // namespace ingot::runtime
