#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/frontend.h"

namespace ingot::frontend {

/// How an argument is composed of tensors and numbers, its leaves.
struct Structure {
  enum class Kind : uint8_t { Leaf, Tuple, List, Dict } kind = Kind::Leaf;
  std::vector<Structure> items = {};
  std::vector<std::string> keys = {};  ///< of a Dict, one per item

  /// A line of text that is the same only for equal structures: "[*, (*, *)]".
  std::string text() const;
};

/// The op for structured arguments, one structure per parameter (fewer if the last ones are omitted). Its own
/// parameters are the leaves, from left to right, named "xs[0]" or "named['key']".
std::shared_ptr<const Definition> structured(std::shared_ptr<const Definition> op, std::vector<Structure> arguments);

}  // namespace ingot::frontend
