#pragma once

#include "frontend/tensor/builder.h"

// Separate blocks, which cat and stack create (concat_blocks.h), cost nothing. Blocks cannot stay separate if indices
// are unknown until the kernel runs, or if a new shape's rows start at any position of a block. For such tensors, the
// kernel selects the block for each element.

namespace ingot::frontend {

/// The same tensor as one block without merged dims. Sizes of blocks that may be empty are specialised.
Tensor materialize_concat(Builder& builder, const Tensor& tensor);

}  // namespace ingot::frontend
