#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontend/frontend.h"

namespace ingot::frontend {

/// How an argument is made up of tensors and numbers, its leaves.
struct Structure {
  enum class Kind : uint8_t { Leaf, Tuple, List, Dict } kind = Kind::Leaf;
  std::vector<Structure> items = {};
  std::vector<std::string> keys = {};  ///< of a Dict, one an item

  /// One line that two structures share only when they are equal: "[*, (*, *)]".
  std::string text() const;
};

/// The op for arguments that are made up so, one structure a parameter (fewer where the last are left out). Its own
/// parameters are the leaves, from left to right, called "xs[0]" and "named['key']".
std::shared_ptr<const Definition> structured(std::shared_ptr<const Definition> op, std::vector<Structure> arguments);

}  // namespace ingot::frontend
