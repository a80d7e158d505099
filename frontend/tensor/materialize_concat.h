#pragma once

#include "frontend/tensor/builder.h"

// Parts that stay apart cost nothing, and are what cat and stack make (tiles.h). Where indices are not known until the
// kernel runs, or rows begin anywhere in a part, they cannot stay apart: then the kernel asks for each element which
// part it is of.

namespace ingot::frontend {

/// The same tensor as one tile, of which no dim is merged. Sizes of parts that may be empty are asked to be static.
Tensor materialize_concat(Builder& builder, const Tensor& tensor);

}  // namespace ingot::frontend
