#pragma once

#include <optional>
#include <string>

#include "codegen/target/spelling.h"
#include "codegen/target/target.h"
#include "ir/op.h"

// The spelling of types, primitives and casts on each target: the tables spellings_cuda.def and spellings_cpu.def,
// parsed once.

namespace ingot::codegen {

/// The name of an element type, the same on both targets: "float", "float16", "int64", …
std::string_view type_name(ir::DType dtype);

/// The expression of a primitive that is computed in type `compute_dtype`. Its operands must have been cast to this
/// type, which must not be an 8- or 16-bit float.
Text spell(Target::Kind target, ir::Op op, ir::DType compute_dtype, std::span<const Text> operands);

/// CPU: a call of the op's function in the prelude; nothing if the prelude has none. Unlike the C library's
/// functions, it gives the same bits for a single number and in vectors of any width (docs/performance.md:
/// cpu-own-functions).
std::optional<Text> spell_reproducible(ir::Op op, ir::DType compute_dtype, std::span<const Text> operands);
/// Whether the prelude has such a function.
bool is_spelled_reproducibly(ir::Op op, ir::DType compute_dtype);

/// Whether the expression uses any operand; for example, isnan of integers is the constant false.
bool needs_operands(Target::Kind target, ir::Op op, ir::DType compute_dtype);

/// `value` of type `from` converted to type `to`. An 8- or 16-bit float is converted only from and to float32.
Text spell_cast(Target::Kind target, ir::DType from, ir::DType to, const Text& value);

/// All patterns of a target as text, from which the names that they use are collected.
std::string spelling_text(Target::Kind target);

}  // namespace ingot::codegen
