#include "runtime/api/argument.h"

namespace ingot {

frontend::Structure Argument::structure(std::vector<Argument>& leaves) const {
  frontend::Structure made_up;
  if (kind_ == Kind::Tensors) {
    made_up.kind = frontend::Structure::Kind::List;
    made_up.items.resize(tensors_->size());
    leaves.insert(leaves.end(), tensors_->begin(), tensors_->end());
  } else if (kind_ == Kind::Group) {
    made_up.kind = group_->kind;
    made_up.keys = group_->keys;
    for (const Argument& item : group_->items) made_up.items.push_back(item.structure(leaves));
  } else {
    leaves.push_back(*this);
  }
  return made_up;
}

}  // namespace ingot
