#include "frontend/library/builtin_tables.h"
#include "frontend/tensor/concat.h"
#include "frontend/tensor/gather.h"
#include "frontend/tensor/shapes.h"

// Functions that concatenate tensors or index by tensors.

namespace ingot::frontend {
namespace {

Value call_cat(Builder& builder, const Builtin& self, Args args) {
  return cat(builder, require_tensors(builder, args[0], self.name), args[1]);
}

Value call_stack(Builder& builder, const Builtin& self, Args args) {
  return stack(builder, require_tensors(builder, args[0], self.name), args[1]);
}

Value call_take(Builder& builder, const Builtin&, Args args) {
  return take(builder, require_tensor(builder, args[0], "take: `input`"),
              require_tensor(builder, args[1], "take: `index`"));
}

Value call_index_select(Builder& builder, const Builtin&, Args args) {
  const Tensor& x = require_tensor(builder, args[0], "index_select: `input`");
  return index_select(builder, x, resolve_dim(builder, args[1], x.rank()),
                      require_tensor(builder, args[2], "index_select: `index`"));
}

Value call_gather(Builder& builder, const Builtin&, Args args) {
  const Tensor& x = require_tensor(builder, args[0], "gather: `input`");
  return gather(builder, x, resolve_dim(builder, args[1], x.rank()),
                require_tensor(builder, args[2], "gather: `index`"));
}

}  // namespace

std::vector<Builtin> index_builtins() {
  return {
      {"cat", "(tensors, dim=0)", kFunction, kNoMethod, {}, call_cat, "tensors concatenated along a dim"},
      {"concat", "(tensors, dim=0)", kFunction, kNoMethod, "cat", call_cat},
      {"concatenate", "(tensors, dim=0)", kFunction, kNoMethod, "cat", call_cat},
      {"stack", "(tensors, dim=0)", kFunction, kNoMethod, {}, call_stack, "tensors stacked along a new dim"},
      {"take",
       "(input, index)",
       kFunction,
       kMethod,
       {},
       call_take,
       "elements selected by their index in row-major order"},
      {"index_select",
       "(input, dim, index)",
       kFunction,
       kMethod,
       {},
       call_index_select,
       "the coordinates of a dim that an index vector selects"},
      {"gather",
       "(input, dim, index)",
       kFunction,
       kMethod,
       {},
       call_gather,
       "elements selected along a dim by an index tensor"},
  };
}

}  // namespace ingot::frontend
