#pragma once

#include <string>
#include <string_view>

#include "codegen/target/target.h"

// A prelude is the library code that a target's generated source starts with. The preludes are the files of prelude/:
// cuda.cuh and reduce.cuh for CUDA; libm.h, cpu*.h and staging.h for the CPU; the others for both. The files are
// divided into sections (`Section`), and generated source contains only the sections that it uses.

namespace ingot::codegen {

/// The sections that `source` mentions and the sections that these mention, in the files' order. Each ends with an
/// empty line.
std::string prelude_for(Target::Kind target, std::string_view source);

/// All names that generated source must not declare: the definitions of the prelude and the functions that spellings
/// call.
std::string reserved_text(Target::Kind target);

}  // namespace ingot::codegen
