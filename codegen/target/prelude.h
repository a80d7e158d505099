#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/target/target.h"

// A prelude is the library code that a target's generated source starts with. The preludes are the files of prelude/:
// cuda.cuh and reduce.cuh for CUDA; libm.h, cpu*.h and staging.h for the CPU; the others for both. The files are
// divided into sections (`Section`), and generated source contains only the sections that it uses.

namespace ingot::codegen {

/// The text of the sections that `source` mentions, and of the sections that these mention, in the files' order. Each
/// section ends with an empty line.
std::string prelude_for(Target::Kind target, std::string_view source);

/// The names that these sections define, in the same order.
std::vector<std::string> prelude_names(Target::Kind target, std::string_view source);

/// C++ text that contains all names that generated source must not declare: the definitions of the target's prelude,
/// and the functions that its spellings call.
std::string reserved_text(Target::Kind target);

}  // namespace ingot::codegen
