#pragma once

#include "codegen/kernel/assembly.h"

// One function per kind of kernel and target. A kernel of the outline that reduces may need two launches. `build_cuda`
// and `build_cpu` build the kernels that reduce nothing, have no tiles, and do not join short rows.

namespace ingot::codegen {

Kernel build_cuda(const KernelContext& context);
Kernel build_cuda_tile(const KernelContext& context);
Kernel build_cpu(const KernelContext& context);
Kernel build_cpu_short_rows(const KernelContext& context);
Kernel build_cpu_tile(const KernelContext& context);
std::vector<Kernel> build_cpu_reduce(const KernelContext& context);
std::vector<Kernel> build_cuda_reduce(const KernelContext& context);

}  // namespace ingot::codegen
