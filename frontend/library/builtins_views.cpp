#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frontend/library/builtin_tables.h"
#include "frontend/tensor/device.h"
#include "frontend/tensor/promotion.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/views.h"

// Views as functions and methods, and queries of a tensor's shape.

namespace ingot::frontend {
namespace {

const Tensor& input(Builder& builder, const Builtin& self, Args args) {
  return require_tensor(builder, args[0], fmt::format("{}: `input`", self.name));
}

Value shape_value(Builder& builder, const Tensor& x) {
  std::vector<Value> sizes;
  for (const ir::HostId size : shape_of(builder, x)) sizes.push_back(Number{size});
  return Value::tuple(std::move(sizes));
}

/// Requires that *dims or *sizes is not empty. Its only item may be `()`, which means no dims.
const Value& require_items(Builder& builder, const Builtin& self, const Value& items) {
  if (items.items()->empty()) {
    builder.fail(fmt::format("{}() needs at least one argument", self.name),
                 fmt::format("for no dims write {}(())", self.name));
  }
  return items;
}

/// Unpacks *dims: both (0, 1) and ((0, 1),) become (0, 1).
Value unpacked(const Value& dims) {
  const std::vector<Value>& items = *dims.items();
  return items.size() == 1 && items.front().items() ? items.front() : dims;
}

Value call_permute(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  return permute(builder, x, resolve_dims(builder, unpacked(require_items(builder, self, args[1])), x.rank()));
}

Value call_transpose(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  return transpose(builder, x, resolve_dim(builder, args[1], x.rank()), resolve_dim(builder, args[2], x.rank()));
}

Value call_t(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  if (x.rank() > 2) builder.fail(fmt::format("t() expects a tensor with <= 2 dimensions, but it has {}", x.rank()));
  return x.rank() < 2 ? args[0] : Value(transpose(builder, x, 0, 1));
}

Value call_movedim(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  const std::vector<size_t> sources = resolve_dims(builder, args[1], x.rank());
  const std::vector<size_t> destinations = resolve_dims(builder, args[2], x.rank());
  if (sources.size() != destinations.size())
    builder.fail("movedim: source and destination must have the same number of dims");
  if (x.rank() == 0) return x;
  constexpr size_t kUnassigned = -1;
  std::vector<size_t> order(x.rank(), kUnassigned);
  for (size_t i = 0; i < sources.size(); ++i) order[destinations[i]] = sources[i];
  size_t next = 0;
  for (size_t& dim : order) {
    if (dim != kUnassigned) continue;
    while (std::ranges::count(sources, next) > 0) ++next;
    dim = next++;
  }
  return permute(builder, x, order);
}

Value call_unsqueeze(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  return unsqueeze(builder, x, resolve_dim(builder, args[1], x.rank() + 1));
}

Value call_squeeze(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  if (args[1].is_none()) return squeeze(builder, x, std::nullopt);
  return squeeze(builder, x, resolve_dims(builder, args[1], x.rank()));
}

Value call_select(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  const size_t dim = resolve_dim(builder, args[1], x.rank());
  return select(builder, x, dim, integer_argument(builder, args[2], "select: `index`"));
}

Value call_narrow(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  if (x.rank() == 0) builder.fail("narrow() cannot be applied to a 0-dim tensor");
  const size_t dim = resolve_dim(builder, args[1], x.rank());
  const ir::HostId size = shape_of(builder, x)[dim];
  ir::HostId start = integer_argument(builder, args[2], "narrow: `start`");
  const ir::HostId length = integer_argument(builder, args[3], "narrow: `length`");
  start = index_from_front(builder, start, size);
  builder.require(ir::Condition::Kind::NonNegative, start, "narrow: start {0} is out of range");
  builder.require(ir::Condition::Kind::NonNegative, length, "narrow(): length must be non-negative");
  builder.require(ir::Condition::Kind::NonNegative, builder.sub(size, builder.add(start, length)), size,
                  "narrow: start + length exceeds the dimension size ({1})");
  return narrow(builder, x, dim, start, length);
}

Value call_flip(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  return flip(builder, x, resolve_dims(builder, unpacked(require_items(builder, self, args[1])), x.rank()));
}

Value call_expand(Builder& builder, const Builtin& self, Args args) {
  return expand(builder, input(builder, self, args), sizes_argument(builder, require_items(builder, self, args[1])));
}

Value call_expand_as(Builder& builder, const Builtin& self, Args args) {
  const Tensor& other = require_tensor(builder, args[1], "expand_as: `other`");
  return expand(builder, input(builder, self, args), shape_of(builder, other));
}

Value call_broadcast_tensors(Builder& builder, const Builtin& self, Args args) {
  const std::vector<Tensor> tensors = require_tensors(builder, unpacked(args[0]), self.name);
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(shape_of(builder, tensor));
  const Shape shape = broadcast_shapes(builder, shapes);
  std::vector<Value> result;
  for (const Tensor& tensor : tensors) result.push_back(expand(builder, tensor, shape));
  return Value::tuple(std::move(result));
}

Value call_chunk(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  const int64_t chunks = builder.static_int(args[1], "chunk: `chunks`");
  return Value::tuple(chunk(builder, x, chunks, resolve_dim(builder, args[2], x.rank())));
}

Value call_split(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  const size_t dim = resolve_dim(builder, args[2], x.rank());
  if (args[1].items()) return Value::tuple(split(builder, x, sizes_argument(builder, args[1]), dim));
  return Value::tuple(split(builder, x, integer_argument(builder, args[1], "split: the size"), dim));
}

Value call_unbind(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  return Value::tuple(unbind(builder, x, resolve_dim(builder, args[1], x.rank())));
}

Value call_flatten(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  const size_t first = resolve_dim(builder, args[1], x.rank());
  return flatten(builder, x, first, resolve_dim(builder, args[2], x.rank()));
}

Value call_unflatten(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  return unflatten(builder, x, resolve_dim(builder, args[1], x.rank()), sizes_argument(builder, args[2]));
}

Value call_reshape(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  const std::vector<Value>& sizes = *args[1].items();
  if (self.name == "view" && sizes.size() == 1 && !sizes[0].is_number() && !sizes[0].items()) {
    return bitcast(builder, x, require_dtype(builder, sizes[0]));
  }
  const Shape shape = sizes_argument(builder, require_items(builder, self, args[1]));
  return self.name == "view" ? view(builder, x, shape) : reshape(builder, x, shape);
}

Value call_reshape_as(Builder& builder, const Builtin& self, Args args) {
  const Shape shape = shape_of(builder, require_tensor(builder, args[1], fmt::format("{}: `other`", self.name)));
  const Tensor& x = input(builder, self, args);
  return self.name == "view_as" ? view(builder, x, shape) : reshape(builder, x, shape);
}

Value call_ravel(Builder& builder, const Builtin& self, Args args) {
  const Tensor x = contiguous(builder, input(builder, self, args));  // unlike flatten, which may return a view
  if (x.rank() == 1) return x;
  return flatten(builder, x, 0, std::max<size_t>(x.rank(), 1) - 1);
}

Value call_size(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  if (args[1].is_none()) return shape_value(builder, x);
  const size_t dim = resolve_dim(builder, args[1], x.rank());
  if (x.rank() == 0) builder.fail("size(dim) of a 0-dim tensor: it has no dims");
  return Number{shape_of(builder, x)[dim]};
}

Value call_numel(Builder& builder, const Builtin& self, Args args) {
  const Shape shape = shape_of(builder, input(builder, self, args));
  return Number{product(builder, shape)};
}

Value call_dim(Builder& builder, const Builtin& self, Args args) {
  return Number{builder.integer(static_cast<int64_t>(input(builder, self, args).rank()))};
}

}  // namespace

std::vector<Builtin> view_builtins() {
  return {
      {"permute", "(input, *dims)", kFunction, kMethod, {}, call_permute, "the dims in another order"},
      {"transpose", "(input, dim0, dim1)", kFunction, kMethod, {}, call_transpose, "two dims swapped"},
      {"swapaxes", "(input, axis0, axis1)", kFunction, kMethod, "transpose", call_transpose},
      {"swapdims", "(input, dim0, dim1)", kFunction, kMethod, "transpose", call_transpose},
      {"t", "(input)", kFunction, kMethod, {}, call_t, "the transpose of a matrix"},
      {"movedim", "(input, source, destination)", kFunction, kMethod, {}, call_movedim, "dims moved to new positions"},
      {"moveaxis", "(input, source, destination)", kFunction, kMethod, "movedim", call_movedim},
      {"unsqueeze", "(input, dim)", kFunction, kMethod, {}, call_unsqueeze, "with a dim of size 1 added"},
      {"squeeze", "(input, dim=None)", kFunction, kMethod, {}, call_squeeze, "without dims of size 1"},
      {"select", "(input, dim, index)", kFunction, kMethod, {}, call_select, "one coordinate of a dim"},
      {"narrow", "(input, dim, start, length)", kFunction, kMethod, {}, call_narrow, "a range of a dim"},
      {"flip", "(input, *dims)", kFunction, kMethod, {}, call_flip, "elements in reverse order along dims"},
      {"expand", "(input, *sizes)", kNoFunction, kMethod, {}, call_expand, "dims of size 1 repeated without a copy"},
      {"broadcast_to",
       "(input, *size)",
       kFunction,
       kMethod,
       {},
       call_expand,
       "dims of size 1 repeated without a copy, as by expand"},
      {"expand_as",
       "(input, other)",
       kNoFunction,
       kMethod,
       {},
       call_expand_as,
       "expanded to the shape of another tensor"},
      {"broadcast_tensors",
       "(*tensors)",
       kFunction,
       kNoMethod,
       {},
       call_broadcast_tensors,
       "all expanded to their common shape"},
      {"chunk",
       "(input, chunks, dim=0)",
       kFunction,
       kMethod,
       {},
       call_chunk,
       "a dim split into equal parts, at most as many as given; the last may be smaller"},
      {"split",
       "(input, split_size, dim=0)",
       kFunction,
       kMethod,
       {},
       call_split,
       "a dim split into parts of given sizes"},
      {"unbind", "(input, dim=0)", kFunction, kMethod, {}, call_unbind, "all coordinates of a dim, as a tuple"},
      {"flatten", "(input, start_dim=0, end_dim=-1)", kFunction, kMethod, {}, call_flatten, "dims merged into one"},
      {"unflatten", "(input, dim, sizes)", kFunction, kMethod, {}, call_unflatten, "a dim split into several"},
      {"view",
       "(input, *shape)",
       kNoFunction,
       kMethod,
       {},
       call_reshape,
       "another shape with the same element order, or the same bits as another dtype"},
      {"reshape", "(input, *shape)", kFunction, kMethod, {}, call_reshape, "another shape with the same element order"},
      {"view_as", "(input, other)", kNoFunction, kMethod, {}, call_reshape_as, "the shape of another tensor"},
      {"reshape_as", "(input, other)", kNoFunction, kMethod, {}, call_reshape_as, "the shape of another tensor"},
      {"ravel", "(input)", kFunction, kMethod, {}, call_ravel, "all dims merged into one"},
      {"size", "(input, dim=None)", kNoFunction, kMethod, {}, call_size, "the shape, or the size of a dim"},
      {"numel", "(input)", kFunction, kMethod, {}, call_numel, "the number of elements"},
      {"nelement", "(input)", kNoFunction, kMethod, "numel", call_numel},
      {"dim", "(input)", kNoFunction, kMethod, {}, call_dim, "the number of dims"},
      {"ndimension", "(input)", kNoFunction, kMethod, "dim", call_dim},
  };
}

std::optional<Value> tensor_attribute(Builder& builder, const Value& value, std::string_view name) {
  const Tensor& x = *value.tensor();
  if (name == "shape") return shape_value(builder, x);
  if (name == "ndim") return Number{builder.integer(static_cast<int64_t>(x.rank()))};
  if (name == "dtype") return x.dtype;
  if (name == "itemsize") return Number{builder.integer(ir::size_of(x.dtype))};
  if (name == "device") return device_of(builder, x);
  if (name == "is_cuda") return Number{builder.graph.host.boolean(builder.on_cuda() && !x.on_host)};
  if (name == "real") return value;
  if (name == "H" && x.rank() != 0 && x.rank() != 2) builder.fail("tensor.H is only supported on matrices");
  if (name == "T" || name == "H") {
    std::vector<size_t> order(x.rank());
    std::iota(order.rbegin(), order.rend(), 0);
    return permute(builder, x, order);
  }
  if (name == "mT" || name == "mH") {
    if (x.rank() == 0) return value;
    if (x.rank() == 1)
      builder.fail(fmt::format("tensor.{} is only supported on matrices or batches of matrices", name));
    return transpose(builder, x, x.rank() - 2, x.rank() - 1);
  }
  if (name == "grad" || name == "requires_grad" || name == "data" || name == "grad_fn") {
    builder.fail(fmt::format("`{}` is not in the language: an op computes values", name),
                 "gradients are taken outside of the op");
  }
  return std::nullopt;
}

}  // namespace ingot::frontend
