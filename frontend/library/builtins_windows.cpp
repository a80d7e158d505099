#include "frontend/library/builtin_tables.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/windows.h"

// Views with overlapping windows or along two dims at once, and broadcast_shapes.

namespace ingot::frontend {
namespace {

Value call_unfold(Builder& builder, const Builtin&, Args args) {
  const Tensor& x = require_tensor(builder, args[0], "unfold: `input`");
  const size_t dim = resolve_dim(builder, args[1], x.rank());
  const ir::HostId size = integer_argument(builder, args[2], "unfold: `size`");
  return unfold(builder, x, dim, size, builder.static_int(args[3], "unfold: `step`"));
}

Value call_diagonal(Builder& builder, const Builtin&, Args args) {
  const Tensor& x = require_tensor(builder, args[0], "diagonal: `input`");
  const size_t dim1 = resolve_dim(builder, args[2], x.rank()), dim2 = resolve_dim(builder, args[3], x.rank());
  return diagonal(builder, x, integer_argument(builder, args[1], "diagonal: `offset`"), dim1, dim2);
}

/// A number counts as a shape of one dim.
Value call_broadcast_shapes(Builder& builder, const Builtin&, Args args) {
  std::vector<Shape> shapes;
  for (const Value& shape : *args[0].items()) {
    shapes.push_back(sizes_argument(builder, shape.is_number() ? Value::tuple({shape}) : shape));
  }
  std::vector<Value> sizes;
  for (const ir::HostId size : broadcast_shapes(builder, shapes)) sizes.push_back(Number{size});
  return Value::tuple(std::move(sizes));
}

}  // namespace

std::vector<Builtin> window_builtins() {
  return {
      {"unfold",
       "(input, dimension, size, step)",
       kNoFunction,
       kMethod,
       {},
       call_unfold,
       "windows of a given size along a dim, at multiples of a step"},
      {"diagonal",
       "(input, offset=0, dim1=0, dim2=1)",
       kFunction,
       kMethod,
       {},
       call_diagonal,
       "the diagonal of two dims, as the last dim"},
      {"broadcast_shapes",
       "(*shapes)",
       kFunction,
       kNoMethod,
       {},
       call_broadcast_shapes,
       "the shape that several shapes broadcast to, as a tuple"},
  };
}

}  // namespace ingot::frontend
