#include "runtime/host/cpu_parallel.h"

#include <ATen/Parallel.h>

// at::parallel_for is a template that is serial unless its caller is compiled with -fopenmp: this file is.
#ifndef _OPENMP
#error "cpu_parallel.cpp must be compiled with -fopenmp"
#endif

namespace ingot::runtime {

void run_parallel(CpuKernel* kernel, const void* const* arguments, int64_t units, int64_t grain) {
  at::parallel_for(0, units, grain, [=](int64_t begin, int64_t end) { kernel(arguments, begin, end); });
}

}  // namespace ingot::runtime
