#pragma once

#include <cstddef>

#include "frontend/tensor/diagnostics.h"

namespace ingot::frontend {

/// What lowering one op may spend, so that it ends whatever the text says. Each limit is an author's error past it.
class Budget {
 public:
  explicit Budget(const Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  /// One step of evaluation, of statements, expressions and builtin loops.
  void step();

 private:
  const Diagnostics& diagnostics_;
  size_t steps_ = 0;
};

}  // namespace ingot::frontend
