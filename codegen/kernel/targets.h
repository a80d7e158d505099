#pragma once

#include "codegen/kernel/assembly.h"

// One function per kind of kernel and target. Kernels that reduce may need two launches.

namespace ingot::codegen {

Kernel build_cuda(const KernelContext& context);
Kernel build_cuda_tile(const KernelContext& context);
Kernel build_cpu(const KernelContext& context);
Kernel build_cpu_short_rows(const KernelContext& context);
Kernel build_cpu_tile(const KernelContext& context);
std::vector<Kernel> build_cpu_reduce(const KernelContext& context);
std::vector<Kernel> build_cuda_reduce(const KernelContext& context);

}  // namespace ingot::codegen
