#pragma once

#include <string>

#include "ir/host/host.h"
#include "ir/types/dtype.h"

namespace ingot::codegen {

/// The value as a literal of the type in generated source, the same on both targets: "0.5f", "1e+300", "-7", "3LL",
/// "true", "inf", "-double(inf)"… The literal reads back as the same value. A value that the type cannot represent is
/// rounded or wrapped as PyTorch does; but for 8- and 16-bit float types the literal is the value as float32, the type
/// in which they are computed. `inf` and `nan` are defined in the prelude.
std::string literal(ir::HostValue value, ir::DType dtype);

}  // namespace ingot::codegen
