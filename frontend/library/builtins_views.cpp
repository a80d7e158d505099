#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frontend/library/builtin_tables.h"
#include "frontend/tensor/promotion.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/views.h"

// Views as functions and methods, and what a tensor says of its shape.

namespace ingot::frontend {
namespace {

const Tensor& input(Lowering& lowering, const Builtin& self, Args args) {
  return require_tensor(lowering, args[0], fmt::format("{}: `input`", self.name));
}

Value shape_value(Lowering& lowering, const Tensor& x) {
  std::vector<Value> sizes;
  for (const ir::HostId size : shape_of(lowering, x)) sizes.push_back(Number{size});
  return Value::tuple(std::move(sizes));
}

ir::HostId integer_argument(Lowering& lowering, const Value& value, std::string_view what) {
  if (value.is_number() && lowering.graph.host.kind(value.number()) != ir::HostKind::Float) {
    return lowering.graph.host.resolve(value.number());
  }
  lowering.fail(fmt::format("{} must be an integer, not {}", what, value.is_number() ? "a float" : describe(value)),
                value.is_tensor() ? "the shape of a result cannot depend on the values of a tensor" : "");
}

/// *dims as they come: (0, 1) or ((0, 1),).
Value flat(const Value& dims) {
  const std::vector<Value>& items = *dims.items();
  return items.size() == 1 && items.front().items() ? items.front() : dims;
}

Value call_permute(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  return permute(lowering, x, resolve_dims(lowering, flat(args[1]), x.rank()));
}

Value call_transpose(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  return transpose(lowering, x, resolve_dim(lowering, args[1], x.rank()), resolve_dim(lowering, args[2], x.rank()));
}

Value call_t(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  if (x.rank() > 2) lowering.fail(fmt::format("t() expects a tensor with <= 2 dimensions, but it has {}", x.rank()));
  return x.rank() < 2 ? args[0] : Value(transpose(lowering, x, 0, 1));
}

Value call_movedim(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  const std::vector<size_t> from = resolve_dims(lowering, args[1], x.rank());
  const std::vector<size_t> to = resolve_dims(lowering, args[2], x.rank());
  if (from.size() != to.size()) lowering.fail("movedim: source and destination must have the same number of dims");
  constexpr size_t kFree = -1;
  std::vector<size_t> order(x.rank(), kFree);
  for (size_t i = 0; i < from.size(); ++i) order[to[i]] = from[i];
  size_t next = 0;
  for (size_t& dim : order) {
    if (dim != kFree) continue;
    while (std::ranges::count(from, next) > 0) ++next;
    dim = next++;
  }
  return permute(lowering, x, order);
}

Value call_unsqueeze(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  return unsqueeze(lowering, x, resolve_dim(lowering, args[1], x.rank() + 1));
}

Value call_squeeze(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  if (args[1].is_none()) return squeeze(lowering, x, std::nullopt);
  return squeeze(lowering, x, resolve_dims(lowering, args[1], x.rank()));
}

Value call_select(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  const size_t dim = resolve_dim(lowering, args[1], x.rank());
  return select(lowering, x, dim, integer_argument(lowering, args[2], "select: `index`"));
}

Value call_narrow(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  if (x.rank() == 0) lowering.fail("narrow() cannot be applied to a 0-dim tensor");
  const size_t dim = resolve_dim(lowering, args[1], x.rank());
  ir::HostPool& host = lowering.graph.host;
  const ir::HostId size = shape_of(lowering, x)[dim];
  ir::HostId start = integer_argument(lowering, args[2], "narrow: `start`");
  const ir::HostId length = integer_argument(lowering, args[3], "narrow: `length`");
  if (host.is_constant(start) && host.value(start).as_int() < 0) start = host.add(start, size);
  lowering.require(ir::Condition::Kind::NonNegative, start, start, "narrow: start {0} is out of range");
  lowering.require(ir::Condition::Kind::NonNegative, length, length, "narrow(): length must be non-negative");
  lowering.require(ir::Condition::Kind::NonNegative, host.sub(size, host.add(start, length)), size,
                   "narrow: start + length exceeds the dimension size ({1})");
  return narrow(lowering, x, dim, start, length);
}

Value call_flip(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  return flip(lowering, x, resolve_dims(lowering, flat(args[1]), x.rank()));
}

Value call_expand(Lowering& lowering, const Builtin& self, Args args) {
  return expand(lowering, input(lowering, self, args), sizes_argument(lowering, args[1]));
}

Value call_expand_as(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& other = require_tensor(lowering, args[1], "expand_as: `other`");
  return expand(lowering, input(lowering, self, args), shape_of(lowering, other));
}

Value call_broadcast_tensors(Lowering& lowering, const Builtin& self, Args args) {
  const std::vector<Tensor> tensors = require_tensors(lowering, flat(args[0]), self.name);
  std::vector<Shape> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(shape_of(lowering, tensor));
  const Shape shape = broadcast_shapes(lowering, shapes);
  std::vector<Value> result;
  for (const Tensor& tensor : tensors) result.push_back(expand(lowering, tensor, shape));
  return Value::tuple(std::move(result));
}

Value call_chunk(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  const int64_t chunks = lowering.static_int(args[1], "chunk: `chunks`");
  return Value::tuple(chunk(lowering, x, chunks, resolve_dim(lowering, args[2], x.rank())));
}

Value call_split(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  const size_t dim = resolve_dim(lowering, args[2], x.rank());
  if (args[1].items()) return Value::tuple(split(lowering, x, sizes_argument(lowering, args[1]), dim));
  return Value::tuple(split(lowering, x, integer_argument(lowering, args[1], "split: the size"), dim));
}

Value call_unbind(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  return Value::tuple(unbind(lowering, x, resolve_dim(lowering, args[1], x.rank())));
}

Value call_flatten(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  const size_t first = resolve_dim(lowering, args[1], x.rank());
  return flatten(lowering, x, first, resolve_dim(lowering, args[2], x.rank()));
}

Value call_unflatten(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  return unflatten(lowering, x, resolve_dim(lowering, args[1], x.rank()), sizes_argument(lowering, args[2]));
}

Value call_reshape(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  const std::vector<Value>& sizes = *args[1].items();
  if (self.name == "view" && sizes.size() == 1 && !sizes[0].is_number() && !sizes[0].items()) {
    return bitcast(lowering, x, require_dtype(lowering, sizes[0]));
  }
  return reshape(lowering, x, sizes_argument(lowering, args[1]));
}

Value call_reshape_as(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& other = require_tensor(lowering, args[1], fmt::format("{}: `other`", self.name));
  return reshape(lowering, input(lowering, self, args), shape_of(lowering, other));
}

Value call_ravel(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  return flatten(lowering, x, 0, std::max<size_t>(x.rank(), 1) - 1);
}

Value call_size(Lowering& lowering, const Builtin& self, Args args) {
  const Tensor& x = input(lowering, self, args);
  if (args[1].is_none()) return shape_value(lowering, x);
  const size_t dim = resolve_dim(lowering, args[1], x.rank());
  if (x.rank() == 0) lowering.fail("size(dim) of a 0-dim tensor: it has no dims");
  return Number{shape_of(lowering, x)[dim]};
}

Value call_numel(Lowering& lowering, const Builtin& self, Args args) {
  const Shape shape = shape_of(lowering, input(lowering, self, args));
  return Number{product(lowering, shape)};
}

Value call_dim(Lowering& lowering, const Builtin& self, Args args) {
  return Number{lowering.integer(static_cast<int64_t>(input(lowering, self, args).rank()))};
}

}  // namespace

std::vector<Builtin> view_builtins() {
  return {
      {"permute", "(input, *dims)", kFunction, kMethod, {}, call_permute, "the dims in another order"},
      {"transpose", "(input, dim0, dim1)", kFunction, kMethod, {}, call_transpose, "two dims swapped"},
      {"swapaxes", "(input, axis0, axis1)", kFunction, kMethod, "transpose", call_transpose},
      {"swapdims", "(input, dim0, dim1)", kFunction, kMethod, "transpose", call_transpose},
      {"t", "(input)", kFunction, kMethod, {}, call_t, "a matrix transposed"},
      {"movedim", "(input, source, destination)", kFunction, kMethod, {}, call_movedim, "dims moved to new places"},
      {"moveaxis", "(input, source, destination)", kFunction, kMethod, "movedim", call_movedim},
      {"unsqueeze", "(input, dim)", kFunction, kMethod, {}, call_unsqueeze, "with a dim of size 1 more"},
      {"squeeze", "(input, dim=None)", kFunction, kMethod, {}, call_squeeze, "without dims of size 1"},
      {"select", "(input, dim, index)", kFunction, kMethod, {}, call_select, "one coordinate of a dim"},
      {"narrow", "(input, dim, start, length)", kFunction, kMethod, {}, call_narrow, "a range of a dim"},
      {"flip", "(input, *dims)", kFunction, kMethod, {}, call_flip, "the order along dims reversed"},
      {"expand", "(input, *sizes)", kNoFunction, kMethod, {}, call_expand, "dims of size 1 repeated without a copy"},
      {"broadcast_to", "(input, *size)", kFunction, kMethod, {}, call_expand, "as expand"},
      {"expand_as", "(input, other)", kNoFunction, kMethod, {}, call_expand_as, "expanded to the shape of another"},
      {"broadcast_tensors",
       "(*tensors)",
       kFunction,
       kNoMethod,
       {},
       call_broadcast_tensors,
       "all expanded to their common shape"},
      {"chunk", "(input, chunks, dim=0)", kFunction, kMethod, {}, call_chunk, "a dim in so many equal pieces"},
      {"split", "(input, split_size, dim=0)", kFunction, kMethod, {}, call_split, "a dim in pieces of given sizes"},
      {"unbind", "(input, dim=0)", kFunction, kMethod, {}, call_unbind, "all coordinates of a dim, one by one"},
      {"flatten", "(input, start_dim=0, end_dim=-1)", kFunction, kMethod, {}, call_flatten, "dims merged into one"},
      {"unflatten", "(input, dim, sizes)", kFunction, kMethod, {}, call_unflatten, "a dim split into several"},
      {"view",
       "(input, *shape)",
       kNoFunction,
       kMethod,
       {},
       call_reshape,
       "another shape of the same order, or the same bits as another dtype"},
      {"reshape", "(input, *shape)", kFunction, kMethod, {}, call_reshape, "another shape of the same order"},
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

std::optional<Value> tensor_attribute(Lowering& lowering, const Value& value, std::string_view name) {
  const Tensor& x = *value.tensor();
  if (name == "shape") return shape_value(lowering, x);
  if (name == "ndim") return Number{lowering.integer(static_cast<int64_t>(x.rank()))};
  if (name == "dtype") return x.dtype;
  if (name == "itemsize") return Number{lowering.integer(ir::size_of(x.dtype))};
  if (name == "device") return std::string(lowering.signature.device == Device::Cuda ? "cuda" : "cpu");
  if (name == "is_cuda") return Number{lowering.graph.host.boolean(lowering.signature.device == Device::Cuda)};
  if (name == "T") {
    std::vector<size_t> order(x.rank());
    std::iota(order.rbegin(), order.rend(), 0);
    return permute(lowering, x, order);
  }
  if (name == "mT") {
    if (x.rank() < 2) lowering.fail("tensor.mT is only supported on matrices or batches of matrices");
    return transpose(lowering, x, x.rank() - 2, x.rank() - 1);
  }
  if (name == "grad" || name == "requires_grad" || name == "data" || name == "grad_fn") {
    lowering.fail(fmt::format("`{}` is not in the language: an op computes values", name),
                  "gradients are taken outside of the op");
  }
  return std::nullopt;
}

}  // namespace ingot::frontend
