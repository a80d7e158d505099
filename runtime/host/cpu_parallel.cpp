#include "runtime/host/cpu_parallel.h"

#include <ATen/Parallel.h>

#include <algorithm>

// at::parallel_for is a template that is serial unless its caller is compiled with -fopenmp, as this file is.
#ifndef _OPENMP
#error "cpu_parallel.cpp must be compiled with -fopenmp"
#endif

namespace ingot::runtime {

void run_parallel(CpuKernel* kernel, const void* const* arguments, int64_t units, int64_t multiple, int64_t grain) {
  const auto multiples_in = [=](int64_t count) { return (count + multiple - 1) / multiple; };
  at::parallel_for(0, multiples_in(units), multiples_in(grain), [=](int64_t begin, int64_t end) {
    kernel(arguments, begin * multiple, std::min(end * multiple, units));
  });
}

}  // namespace ingot::runtime
