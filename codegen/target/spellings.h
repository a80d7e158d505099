#pragma once

#include <optional>
#include <string>

#include "codegen/target/spelling.h"
#include "codegen/target/target.h"
#include "ir/op.h"

// How each target spells types, primitives and casts: the tables spellings_cuda.def and spellings_cpu.def, read once.

namespace ingot::codegen {

/// The name of an element type: "float", "float16", "int64", … the same on both targets.
std::string_view type_name(ir::DType dtype);

/// The primitive's text with the work done in `work` (of its operands, which have been cast to it); `work` is not one
/// of the 16-bit floats.
Text spell(Target::Kind target, ir::Op op, ir::DType work, std::span<const Text> operands);

/// CPU: the same by a function of the prelude's own that has the same bits alone and in vectors of any width, which the
/// C library's have not; nothing where there is none.
std::optional<Text> spell_alike(ir::Op op, ir::DType work, std::span<const Text> operands);
bool is_spelled_alike(ir::Op op, ir::DType work);

/// Whether that text says any operand at all: of integers isnan is just false.
bool needs_operands(Target::Kind target, ir::Op op, ir::DType work);

/// `value` of type `from` in type `to`; neither is one of the 16-bit floats unless the other is float32.
Text spell_cast(Target::Kind target, ir::DType from, ir::DType to, const Text& value);

/// All patterns of a target, for the names that they mention.
std::string all_spellings(Target::Kind target);

}  // namespace ingot::codegen
