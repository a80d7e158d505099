#include "frontend/tensor/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frontend/tensor/layouts.h"
#include "frontend/tensor/tensors.h"

namespace ingot::frontend {
namespace {

using StrideMap = std::vector<std::vector<ir::Term>>;

/// Maps dim k of a view to dim k of its input.
StrideMap identity_strides(Builder& builder, size_t rank) {
  StrideMap stride_map;
  for (uint32_t d = 0; d < rank; ++d) stride_map.push_back({{d, builder.integer(1)}});
  return stride_map;
}

/// Records that `result` is a view of `x`. `stride_map[k]`: the terms of its dim k over the dims of x.
Tensor as_view_of(Builder& builder, const Tensor& x, Tensor result, StrideMap stride_map, View view) {
  result.handle = record_view(builder, x, std::move(stride_map), shape_of(builder, result), std::move(view));
  return result;
}

/// Records that `result`, a change of shape of `x`, must be a view of x's storage. PyTorch raises an error if it cannot
/// be one.
Tensor as_shared(Builder& builder, const Tensor& x, Tensor result) {
  if (result.handle.step == x.handle.step) return result;
  result.handle =
      view_storage(x, result.handle.step, {.kind = View::Kind::Reshape, .shape = shape_of(builder, result)});
  return result;
}

bool is_nonnegative(const Builder& builder, ir::HostId id) { return builder.graph.host.known_nonnegative(id); }

/// The larger of an integer and 0.
ir::HostId at_least_zero(Builder& builder, ir::HostId id) {
  return is_nonnegative(builder, id) ? id : builder.host(ir::HostOp::Max, {id, builder.integer(0)});
}

/// A bound of a slice, clamped to [0, size] as in Python.
ir::HostId clamped_bound(Builder& builder, ir::HostId bound, ir::HostId size) {
  const ir::HostId low = at_least_zero(builder, index_from_front(builder, bound, size));
  if (is_nonnegative(builder, builder.sub(size, low))) return low;
  return builder.host(ir::HostOp::Min, {low, size});
}

/// States that a size given at run time is not negative.
void require_nonnegative(Builder& builder, ir::HostId size, const std::string& message) {
  if (!is_nonnegative(builder, size)) builder.require(ir::Condition::Kind::NonNegative, size, message);
}

/// A size as its author wrote it; -1 means `inferred`.
ir::HostId unless_minus_one(Builder& builder, ir::HostId size, ir::HostId inferred) {
  if (is_nonnegative(builder, size)) return size;
  const ir::HostId is_minus_one = builder.host(ir::HostOp::Eq, {size, builder.integer(-1)});
  return builder.host(ir::HostOp::Select, {is_minus_one, inferred, size});
}

std::string expanded_size_message(size_t dim) {
  return fmt::format(
      "the expanded size of the tensor ({{0}}) must match the existing size ({{1}}) at non-singleton "
      "dimension {}",
      dim);
}

void require_dims(Builder& builder, const Tensor& x, std::string_view function) {
  if (x.rank() == 0) builder.fail(fmt::format("{} cannot be applied to a 0-dim tensor", function));
}

/// The product of `numerator` divided by the product of `denominator`, with common factors cancelled.
ir::HostId quotient(Builder& builder, Shape numerator, const Shape& denominator) {
  const ir::HostPool& host = builder.graph.host;
  Shape uncancelled;
  for (const ir::HostId factor : denominator) {
    const auto same = std::ranges::find_if(numerator, [&](ir::HostId other) { return host.same(factor, other); });
    if (same != numerator.end() && !host.is_int(host.resolve(factor), 0)) {
      numerator.erase(same);
    } else {
      uncancelled.push_back(factor);
    }
  }
  const ir::HostId elements = product(builder, denominator);
  builder.require(ir::Condition::Kind::NonNegative, builder.sub(elements, builder.integer(1)), elements,
                  "the size -1 can be any value because the other sizes multiply to {1}");
  const ir::HostId divisor = product(builder, uncancelled);
  return builder.host(ir::HostOp::FloorDiv, {product(builder, numerator), divisor});
}

/// Sizes as their author wrote them. One size may be -1; it is inferred from `total`, the shape of the tensor, and the
/// other sizes. A run-time number that may be -1 is specialised, unless the other sizes are constants.
Shape with_inferred(Builder& builder, const Shape& total, Shape sizes) {
  const ir::HostPool& host = builder.graph.host;
  std::optional<size_t> inferred;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (is_nonnegative(builder, sizes[d])) continue;
    if (inferred && builder.static_number(sizes[*inferred]).as_int() == -1) {
      if (builder.static_number(sizes[d]).as_int() == -1) builder.fail("only one dimension can be inferred");
    } else {
      inferred = d;
    }
  }
  if (!inferred) return sizes;
  Shape others = sizes;
  others.erase(others.begin() + static_cast<ptrdiff_t>(*inferred));
  ir::HostId& size = sizes[*inferred];
  const bool are_known = std::ranges::all_of(
      others, [&](ir::HostId other) { return host.is_constant(other) && host.value(other).as_int() > 0; });
  const std::string invalid = "invalid shape dimension {0}";
  for (const ir::HostId other : others) require_nonnegative(builder, other, invalid);
  if (!are_known) builder.static_number(size);
  if (are_known || host.is_int(size, -1)) size = unless_minus_one(builder, size, quotient(builder, total, others));
  require_nonnegative(builder, size, invalid);
  return sizes;
}

}  // namespace

ir::HostId index_from_front(Builder& builder, ir::HostId index, ir::HostId size) {
  ir::HostPool& host = builder.graph.host;
  if (host.is_constant(index)) {
    return host.value(index).as_int() < 0 ? builder.add(size, index) : index;
  }
  if (is_nonnegative(builder, index)) return index;
  const ir::HostId is_negative = builder.host(ir::HostOp::Lt, {index, builder.integer(0)});
  return builder.host(ir::HostOp::Select, {is_negative, builder.add(index, size), index});
}

Tensor permute(Builder& builder, const Tensor& x, std::span<const size_t> order) {
  if (order.size() != x.rank()) {
    builder.fail(
        fmt::format("permute of a tensor of {} dims needs {} dims, but got {}", x.rank(), x.rank(), order.size()));
  }
  StrideMap stride_map;
  for (const size_t dim : order) stride_map.push_back({{static_cast<uint32_t>(dim), builder.integer(1)}});
  return as_view_of(builder, x, permuted(builder, x, order), std::move(stride_map),
                    {.kind = View::Kind::Permute, .order = {order.begin(), order.end()}});
}

Tensor transpose(Builder& builder, const Tensor& x, size_t a, size_t b) {
  std::vector<size_t> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  if (!order.empty()) std::swap(order[a], order[b]);
  return permute(builder, x, order);
}

Tensor unsqueeze(Builder& builder, const Tensor& x, size_t dim) {
  ir::HostPool& host = builder.graph.host;
  const Shape shape = shape_of(builder, x);
  StrideMap stride_map = identity_strides(builder, x.rank());
  std::vector<ir::Term> terms;
  if (dim == x.rank()) {
    terms = {{static_cast<uint32_t>(x.rank()), builder.integer(1)}};
  } else {
    terms = {{static_cast<uint32_t>(dim), host.resolve(shape[dim])}};
  }
  stride_map.insert(stride_map.begin() + static_cast<ptrdiff_t>(dim), std::move(terms));
  return as_view_of(builder, x, unsqueezed(builder, x, dim), std::move(stride_map),
                    {.kind = View::Kind::Unsqueeze, .dim = dim});
}

Tensor squeeze(Builder& builder, const Tensor& x, std::optional<std::vector<size_t>> dims) {
  if (!dims) {
    dims.emplace(x.rank());
    std::iota(dims->begin(), dims->end(), 0);
  }
  std::ranges::sort(*dims);
  Tensor result = x;
  for (size_t i = dims->size(); i-- > 0;) {
    const size_t dim = (*dims)[i];
    if (dim >= result.rank()) continue;  // dim 0 of a 0-dim tensor
    const ir::HostId size = shape_of(builder, result)[dim];
    if (is_not_one(builder, size)) continue;
    if (builder.static_number(size).as_int() == 1) result = select(builder, result, dim, builder.integer(0));
  }
  return result;
}

Tensor select(Builder& builder, const Tensor& x, size_t dim, ir::HostId index) {
  require_dims(builder, x, "an index");
  const ir::HostId size = shape_of(builder, x)[dim];
  if (builder.graph.host.is_constant(index)) specialize_small(builder, size);
  const ir::HostId coordinate = index_from_front(builder, index, size);
  const ir::HostPool& host = builder.graph.host;
  const std::string index_text = host.is_constant(index) ? fmt::to_string(host.value(index).as_int()) : "{0}";
  builder.require(ir::Condition::Kind::InRange, coordinate, size,
                  fmt::format("index {} is out of bounds for dimension {} with size {{1}}", index_text, dim));
  StrideMap stride_map = identity_strides(builder, x.rank());
  stride_map.erase(stride_map.begin() + static_cast<ptrdiff_t>(dim));
  return as_view_of(builder, x, selected(builder, x, dim, coordinate), std::move(stride_map),
                    {.kind = View::Kind::Select, .dim = dim, .start = coordinate});
}

Tensor slice(Builder& builder, const Tensor& x, size_t dim, std::optional<ir::HostId> start,
             std::optional<ir::HostId> stop, int64_t step) {
  ir::HostPool& host = builder.graph.host;
  if (step <= 0) {
    builder.fail("the step of a slice must be greater than zero", "for the reverse order use x.flip(dim)");
  }
  if (start && host.is_int(host.resolve(*start), 0)) start.reset();
  if (!start && !stop && step == 1) return x;
  const ir::HostId size = shape_of(builder, x)[dim];
  const bool has_constant_bounds = (!start || host.is_constant(*start)) && (!stop || host.is_constant(*stop));
  if (has_constant_bounds) specialize_small(builder, size);
  const ir::HostId begin = start ? clamped_bound(builder, *start, size) : builder.integer(0);
  const ir::HostId end = stop ? clamped_bound(builder, *stop, size) : size;
  ir::HostId length = builder.sub(end, begin);
  if (stop) length = at_least_zero(builder, length);
  if (step != 1) {
    length =
        builder.host(ir::HostOp::FloorDiv, {builder.add(length, builder.integer(step - 1)), builder.integer(step)});
  }
  StrideMap stride_map = identity_strides(builder, x.rank());
  stride_map[dim][0].coef = builder.integer(step);
  return as_view_of(builder, x, sliced(builder, x, dim, begin, length, step), std::move(stride_map),
                    {.kind = View::Kind::Slice, .dim = dim, .start = begin, .length = length, .step = step});
}

Tensor narrow(Builder& builder, const Tensor& x, size_t dim, ir::HostId start, ir::HostId length) {
  return as_view_of(builder, x, sliced(builder, x, dim, start, length, 1), identity_strides(builder, x.rank()),
                    {.kind = View::Kind::Slice, .dim = dim, .start = start, .length = length});
}

Tensor flip(Builder& builder, const Tensor& x, std::span<const size_t> dims) {
  Tensor result = x;
  for (const size_t dim : dims) {
    if (dim < x.rank()) result = flipped(builder, result, dim);
  }
  result.handle = record_preserve(builder, x.handle, shape_of(builder, x));
  return result;
}

Tensor expand(Builder& builder, const Tensor& x, Shape sizes) {
  ir::HostPool& host = builder.graph.host;
  const Shape old_sizes = shape_of(builder, x);
  if (sizes.size() < x.rank()) {
    builder.fail(
        fmt::format("expand to {} sizes: the number of sizes provided must be greater or equal to the "
                    "number of dimensions in the tensor ({})",
                    sizes.size(), x.rank()));
  }
  const size_t added = sizes.size() - x.rank();
  StrideMap stride_map(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (d < added) {
      if (host.is_int(sizes[d], -1)) {
        builder.fail("the expanded size -1 is not allowed in a leading, non-existing dimension");
      }
      require_nonnegative(builder, sizes[d],
                          "the expanded size ({0}) is not allowed in a leading, non-existing dimension");
      continue;
    }
    const ir::HostId old = old_sizes[d - added];
    sizes[d] = unless_minus_one(builder, sizes[d], old);
    require_nonnegative(builder, sizes[d], "the expanded size of the tensor ({0}) must not be negative");
    if (host.same(old, sizes[d])) {
      stride_map[d] = {{static_cast<uint32_t>(d - added), builder.integer(1)}};
      continue;
    }
    if (is_one(builder, old)) continue;
    if (is_not_one(builder, old)) {
      builder.require(ir::Condition::Kind::Equal, sizes[d], old, expanded_size_message(d));
      host.unify(old, sizes[d]);
      stride_map[d] = {{static_cast<uint32_t>(d - added), builder.integer(1)}};
      continue;
    }
    // A dim of size 1 grows, any other stays. Unlike in broadcasting, a requested size of 1 does not match a larger
    // dim.
    const ir::HostId is_single = builder.host(ir::HostOp::Eq, {old, builder.integer(1)});
    builder.require(ir::Condition::Kind::Equal, sizes[d], builder.host(ir::HostOp::Select, {is_single, sizes[d], old}),
                    expanded_size_message(d));
    stride_map[d] = {{static_cast<uint32_t>(d - added), builder.host(ir::HostOp::IsNotOne, {old})}};
  }
  return as_view_of(builder, x, expanded(builder, x, sizes), std::move(stride_map),
                    {.kind = View::Kind::Expand, .shape = sizes});
}

std::vector<Value> chunk(Builder& builder, const Tensor& x, int64_t chunks, size_t dim) {
  require_dims(builder, x, "chunk");
  if (chunks <= 0) builder.fail(fmt::format("chunk expects `chunks` to be greater than 0, got: {}", chunks));
  ir::HostPool& host = builder.graph.host;
  const ir::HostId size = shape_of(builder, x)[dim];
  specialize_small(builder, size);
  // There may be fewer chunks than requested, but only for sizes up to (chunks - 1)². For these, the number of chunks
  // is known only if the size is.
  const auto min_size = static_cast<double>(std::max<int64_t>(host.lower_bound(size), 0));
  const auto others = static_cast<double>(chunks - 1);
  if (min_size <= others * others) builder.static_number(size);
  const ir::HostId chunk_size =
      builder.host(ir::HostOp::FloorDiv, {builder.add(size, builder.integer(chunks - 1)), builder.integer(chunks)});
  if (host.is_constant(size)) {
    const int64_t step = host.value(chunk_size).as_int();
    chunks = step == 0 ? chunks : (host.value(size).as_int() + step - 1) / step;
    chunks = std::max<int64_t>(chunks, 1);
  }
  builder.budget.spend_items(static_cast<uint64_t>(chunks));
  std::vector<Value> parts;
  for (int64_t i = 0; i < chunks; ++i) {
    const ir::HostId start = builder.mul(chunk_size, builder.integer(i));
    // The second of two chunks is floor(size / 2), about which more is known than about size - ceil(size / 2).
    const ir::HostId rest =
        chunks == 2 ? builder.host(ir::HostOp::FloorDiv, {size, builder.integer(2)}) : builder.sub(size, start);
    const ir::HostId length = i + 1 < chunks ? chunk_size : rest;
    parts.push_back(as_multi_output(narrow(builder, x, dim, start, length)));
  }
  return parts;
}

std::vector<Value> split(Builder& builder, const Tensor& x, ir::HostId size, size_t dim) {
  require_dims(builder, x, "split");
  const int64_t total = builder.static_number(shape_of(builder, x)[dim]).as_int();
  const int64_t step = builder.static_number(size).as_int();
  if (step < 0 || (step == 0 && total != 0)) {
    builder.fail(fmt::format("split expects split_size to be greater than 0, got: {}", step));
  }
  builder.budget.spend_items(step == 0 ? 1 : static_cast<uint64_t>((total - 1) / step + 1));
  Shape sizes;
  for (int64_t start = 0; start < total; start += step) {
    sizes.push_back(builder.integer(std::min(step, total - start)));
  }
  if (sizes.empty()) sizes.push_back(builder.integer(0));
  return split(builder, x, sizes, dim);
}

std::vector<Value> split(Builder& builder, const Tensor& x, const Shape& sizes, size_t dim) {
  require_dims(builder, x, "split");
  std::vector<Value> parts;
  ir::HostId start = builder.integer(0);
  for (const ir::HostId size : sizes) {
    require_nonnegative(builder, size, {});
    parts.push_back(as_multi_output(narrow(builder, x, dim, start, size)));
    start = builder.add(start, size);
  }
  builder.require(ir::Condition::Kind::Equal, shape_of(builder, x)[dim], start,
                  "split expects split_sizes to sum exactly to {0}, the size of the dimension, but they sum to {1}");
  return parts;
}

std::vector<Value> unbind(Builder& builder, const Tensor& x, size_t dim) {
  require_dims(builder, x, "unbind");
  const int64_t size = builder.static_number(shape_of(builder, x)[dim]).as_int();
  builder.budget.spend_items(static_cast<uint64_t>(size));
  std::vector<Value> parts;
  for (int64_t i = 0; i < size; ++i) {
    builder.budget.spend_step();
    parts.push_back(as_multi_output(select(builder, x, dim, builder.integer(i))));
  }
  return parts;
}

Tensor unflatten(Builder& builder, const Tensor& x, size_t dim, Shape sizes) {
  require_dims(builder, x, "unflatten");
  if (sizes.empty()) builder.fail("unflatten: sizes must be non-empty");
  const ir::HostId size = shape_of(builder, x)[dim];
  sizes = with_inferred(builder, {size}, std::move(sizes));
  builder.require(ir::Condition::Kind::Equal, product(builder, sizes), size,
                  fmt::format("unflatten: provided sizes multiply to {{0}}, not to {{1}}, the size of dim {}", dim));
  Tensor result = unflattened(builder, x, dim, sizes);
  result.handle = record_reshape(builder, x, shape_of(builder, result));
  return as_shared(builder, x, std::move(result));
}

Tensor flatten(Builder& builder, const Tensor& x, size_t first, size_t last) {
  if (x.rank() == 0) return unsqueeze(builder, x, 0);
  if (first > last) builder.fail("flatten() has invalid args: start_dim cannot come after end_dim");
  if (first == last) return x;
  Tensor result = flattened(builder, x, first, last - first + 1);
  result.handle = record_reshape(builder, x, shape_of(builder, result));
  return result;
}

Tensor reshape(Builder& builder, const Tensor& x, Shape sizes) {
  const Shape old_sizes = shape_of(builder, x);
  sizes = with_inferred(builder, old_sizes, std::move(sizes));
  if (same_shape(builder, old_sizes, sizes)) {  // always a view; eager gives its dims of size 1 new strides
    Tensor result = x;
    result.handle = record_reshape(builder, x, sizes);
    return as_shared(builder, x, std::move(result));
  }
  builder.require(ir::Condition::Kind::Equal, product(builder, sizes), product(builder, old_sizes),
                  fmt::format("shape {} is invalid for a tensor of shape {}: it has {{0}} elements, not {{1}}",
                              print_shape(builder, sizes), print_shape(builder, old_sizes)));
  Tensor result = reshaped(builder, x, sizes);
  result.handle = record_reshape(builder, x, sizes);
  return result;
}

Tensor contiguous(Builder& builder, const Tensor& x) {
  const bool is_known =
      !builder.native && builder.graph.eager_layouts[x.handle].kind == ir::LayoutStep::Kind::Contiguous;
  if (is_known) return x;
  Tensor result = x;
  result.handle = record_format_conversion(builder, MemoryFormat::Contiguous, x);
  return result;
}

Tensor copied(Builder& builder, const Tensor& x) {
  Tensor result = x;
  result.handle = record_preserve(builder, x.handle, shape_of(builder, x));
  return result;
}

Tensor view(Builder& builder, const Tensor& x, Shape sizes) {
  Tensor result = as_shared(builder, x, reshape(builder, x, std::move(sizes)));
  const bool is_recorded = !builder.native && result.handle.step != x.handle.step;
  if (is_recorded) builder.graph.required_views.push_back({result.handle.step, builder.diagnostics.location()});
  return result;
}

}  // namespace ingot::frontend
