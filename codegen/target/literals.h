#pragma once

#include <string>

#include "ir/host/host.h"
#include "ir/types/dtype.h"

namespace ingot::codegen {

/// The value in a type, as generated source writes it, the same on both targets: "0.5f", "1e+300", "-7", "3LL", "true",
/// "inf", "-double(inf)"… It reads back as the same value; what the type cannot hold has been rounded or wrapped as
/// PyTorch does. 16-bit floats are written as the float32 that they are computed in. `inf` and `nan` are the prelude's.
std::string literal(ir::HostValue value, ir::DType dtype);

}  // namespace ingot::codegen
