#pragma once

#include <string>
#include <string_view>

#include "codegen/target/target.h"

// The preludes are real files, prelude/cuda.cuh, and prelude/libm.h with prelude/cpu*.h and prelude/staging.h;
// generated source holds the pieces that it uses.

namespace ingot::codegen {

/// The pieces that `source` mentions, and those that these mention, in the file's order; each ends with an empty line.
std::string prelude_for(Target::Kind target, std::string_view source);

/// What no name in generated source may be: what the prelude defines, and what spellings call.
std::string reserved_text(Target::Kind target);

}  // namespace ingot::codegen
