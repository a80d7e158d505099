#pragma once

#include "frontend/tensor/builder.h"

// Separate blocks, which cat and stack create (concat_blocks.h), cost nothing. But some operations need one node for
// the whole tensor: for example, a gather, a reduction, a slice of merged dims, and a reshape to rows that begin in the
// middle of the old rows. Then the kernel selects the block for each element.

namespace ingot::frontend {

/// The same tensor as one block without merged dims. Sizes of blocks that may be empty are specialised.
Tensor materialize_concat(Builder& builder, const Tensor& tensor);

}  // namespace ingot::frontend
