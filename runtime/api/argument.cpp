#include "runtime/api/argument.h"

namespace ingot {

frontend::Structure Argument::structure(std::vector<Argument>& leaves) const {
  frontend::Structure nesting;
  if (kind_ == Kind::Tensors) {
    nesting.kind = frontend::Structure::Kind::List;
    nesting.items.resize(tensors_->size());
    leaves.insert(leaves.end(), tensors_->begin(), tensors_->end());
  } else if (kind_ == Kind::Group) {
    nesting.kind = group_->kind;
    nesting.keys = group_->keys;
    for (const Argument& item : group_->items) nesting.items.push_back(item.structure(leaves));
  } else {
    leaves.push_back(*this);
  }
  return nesting;
}

}  // namespace ingot
