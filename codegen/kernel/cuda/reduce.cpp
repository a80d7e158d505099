#include "base/error.h"
#include "codegen/kernel/targets.h"

namespace ingot::codegen {

std::vector<Kernel> build_cuda_reduce(const KernelContext&) { throw_internal("not yet"); }

}  // namespace ingot::codegen
