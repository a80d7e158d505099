#pragma once

#include "frontend/tensor/builder.h"

// Separate blocks, which cat and stack make (concat_blocks.h), cost nothing. They cannot stay separate where indices
// are unknown until the kernel runs, or where a new shape's rows start at any position of a block. Then the kernel
// selects the block for each element.

namespace ingot::frontend {

/// The same tensor as one block without merged dims. Sizes of blocks that may be empty are asked to be static.
Tensor materialize_concat(Builder& builder, const Tensor& tensor);

}  // namespace ingot::frontend
