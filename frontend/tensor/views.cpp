#include "frontend/tensor/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frontend/tensor/layouts.h"
#include "frontend/tensor/tensors.h"

namespace ingot::frontend {
namespace {

using LayoutRows = std::vector<std::vector<ir::Term>>;

/// Dim k of a view is dim k of its input.
LayoutRows identity_layout(Lowering& lowering, size_t rank) {
  LayoutRows rows;
  for (uint32_t d = 0; d < rank; ++d) rows.push_back({{d, lowering.integer(1)}});
  return rows;
}

Tensor with_view(Lowering& lowering, const Tensor& x, Tensor result, LayoutRows rows) {
  result.layout = record_view(lowering, x.layout, std::move(rows), shape_of(lowering, result));
  return result;
}

bool is_nonnegative(const Lowering& lowering, ir::HostId id) {
  return lowering.graph.host.known_nonnegative(id) || lower_bound(lowering, id) >= 0;
}

/// An index, counted from the end where it is negative, from the front.
ir::HostId from_front(Lowering& lowering, ir::HostId index, ir::HostId size) {
  ir::HostPool& host = lowering.graph.host;
  if (host.is_constant(index)) {
    return host.value(index).as_int() < 0 ? host.add(size, index) : index;
  }
  if (is_nonnegative(lowering, index)) return index;
  const ir::HostId negative = lowering.host(ir::HostOp::Lt, {index, lowering.integer(0)});
  return lowering.host(ir::HostOp::Select, {negative, host.add(index, size), index});
}

/// The larger of an integer and 0.
ir::HostId at_least_zero(Lowering& lowering, ir::HostId id) {
  return is_nonnegative(lowering, id) ? id : lowering.host(ir::HostOp::Max, {id, lowering.integer(0)});
}

/// A bound of a slice as Python clamps it to [0, size].
ir::HostId clamped_bound(Lowering& lowering, ir::HostId bound, ir::HostId size) {
  const ir::HostId low = at_least_zero(lowering, from_front(lowering, bound, size));
  if (is_nonnegative(lowering, lowering.graph.host.sub(size, low))) return low;
  return lowering.host(ir::HostOp::Min, {low, size});
}

void require_dims(Lowering& lowering, const Tensor& x, std::string_view function) {
  if (x.rank() == 0) lowering.fail(fmt::format("{} cannot be applied to a 0-dim tensor", function));
}

/// The index of the size -1 among sizes, all others being known not to be negative.
std::optional<size_t> inferred(Lowering& lowering, const Shape& sizes) {
  std::optional<size_t> result;
  const ir::HostPool& host = lowering.graph.host;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!host.is_constant(sizes[d])) continue;
    const int64_t size = host.value(sizes[d]).as_int();
    if (size == -1 && result) lowering.fail("only one dimension can be inferred");
    if (size < -1) lowering.fail(fmt::format("invalid shape dimension {}", size));
    if (size == -1) result = d;
  }
  return result;
}

/// The product of `numerator` over that of `denominator`, factors that both have cancelled.
ir::HostId quotient(Lowering& lowering, Shape numerator, const Shape& denominator) {
  const ir::HostPool& host = lowering.graph.host;
  Shape rest;
  for (const ir::HostId factor : denominator) {
    const auto same = std::ranges::find_if(numerator, [&](ir::HostId other) { return host.same(factor, other); });
    if (same != numerator.end() && !host.is_int(host.resolve(factor), 0)) {
      numerator.erase(same);
    } else {
      rest.push_back(factor);
    }
  }
  const ir::HostId below = product(lowering, rest);
  if (host.is_int(below, 0)) lowering.fail("cannot infer the size -1 of a tensor with no elements");
  return lowering.host(ir::HostOp::FloorDiv, {product(lowering, numerator), below});
}

}  // namespace

Tensor permute(Lowering& lowering, const Tensor& x, std::span<const size_t> order) {
  if (order.size() != x.rank()) {
    lowering.fail(
        fmt::format("permute of a tensor of {} dims needs {} dims, but got {}", x.rank(), x.rank(), order.size()));
  }
  LayoutRows rows;
  for (const size_t dim : order) rows.push_back({{static_cast<uint32_t>(dim), lowering.integer(1)}});
  return with_view(lowering, x, permuted(lowering, x, order), std::move(rows));
}

Tensor transpose(Lowering& lowering, const Tensor& x, size_t a, size_t b) {
  std::vector<size_t> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  if (!order.empty()) std::swap(order[a], order[b]);
  return permute(lowering, x, order);
}

Tensor unsqueeze(Lowering& lowering, const Tensor& x, size_t dim) {
  ir::HostPool& host = lowering.graph.host;
  const Shape shape = shape_of(lowering, x);
  LayoutRows rows = identity_layout(lowering, x.rank());
  std::vector<ir::Term> row;
  if (dim == x.rank()) {
    row = {{static_cast<uint32_t>(x.rank()), lowering.integer(1)}};
  } else {
    row = {{static_cast<uint32_t>(dim), host.resolve(shape[dim])}};
  }
  rows.insert(rows.begin() + static_cast<ptrdiff_t>(dim), std::move(row));
  return with_view(lowering, x, unsqueezed(lowering, x, dim), std::move(rows));
}

Tensor squeeze(Lowering& lowering, const Tensor& x, std::optional<std::vector<size_t>> dims) {
  if (!dims) {
    dims.emplace(x.rank());
    std::iota(dims->begin(), dims->end(), 0);
  }
  std::ranges::sort(*dims);
  Tensor result = x;
  for (size_t i = dims->size(); i-- > 0;) {
    const size_t dim = (*dims)[i];
    if (dim >= result.rank()) continue;  // dim 0 of a 0-dim tensor
    const ir::HostId size = shape_of(lowering, result)[dim];
    if (not_one(lowering, size)) continue;
    if (lowering.static_number(size).as_int() == 1) result = select(lowering, result, dim, lowering.integer(0));
  }
  return result;
}

Tensor select(Lowering& lowering, const Tensor& x, size_t dim, ir::HostId index) {
  require_dims(lowering, x, "an index");
  const ir::HostId size = shape_of(lowering, x)[dim];
  if (lowering.graph.host.is_constant(index)) touch(lowering, size);
  const ir::HostId at = from_front(lowering, index, size);
  lowering.require(ir::Condition::Kind::InRange, at, size,
                   fmt::format("index {{0}} is out of bounds for dimension {} with size {{1}}", dim));
  LayoutRows rows = identity_layout(lowering, x.rank());
  rows.erase(rows.begin() + static_cast<ptrdiff_t>(dim));
  return with_view(lowering, x, selected(lowering, x, dim, at), std::move(rows));
}

Tensor slice(Lowering& lowering, const Tensor& x, size_t dim, std::optional<ir::HostId> start,
             std::optional<ir::HostId> stop, int64_t step) {
  ir::HostPool& host = lowering.graph.host;
  if (step <= 0) {
    lowering.fail("the step of a slice must be greater than zero", "for the reverse order use x.flip(dim)");
  }
  if (start && host.is_int(host.resolve(*start), 0)) start.reset();
  if (!start && !stop && step == 1) return x;
  const ir::HostId size = shape_of(lowering, x)[dim];
  const bool constant = (!start || host.is_constant(*start)) && (!stop || host.is_constant(*stop));
  if (constant) touch(lowering, size);
  const ir::HostId begin = start ? clamped_bound(lowering, *start, size) : lowering.integer(0);
  const ir::HostId end = stop ? clamped_bound(lowering, *stop, size) : size;
  ir::HostId length = host.sub(end, begin);
  if (stop) length = at_least_zero(lowering, length);
  if (step != 1) {
    length =
        lowering.host(ir::HostOp::FloorDiv, {host.add(length, lowering.integer(step - 1)), lowering.integer(step)});
  }
  LayoutRows rows = identity_layout(lowering, x.rank());
  rows[dim][0].coef = lowering.integer(step);
  return with_view(lowering, x, sliced(lowering, x, dim, begin, length, step), std::move(rows));
}

Tensor narrow(Lowering& lowering, const Tensor& x, size_t dim, ir::HostId start, ir::HostId length) {
  return with_view(lowering, x, sliced(lowering, x, dim, start, length, 1), identity_layout(lowering, x.rank()));
}

Tensor flip(Lowering& lowering, const Tensor& x, std::span<const size_t> dims) {
  Tensor result = x;
  for (const size_t dim : dims) {
    if (dim < x.rank()) result = flipped(lowering, result, dim);
  }
  result.layout = record_preserve(lowering, x.layout, shape_of(lowering, x));
  return result;
}

Tensor expand(Lowering& lowering, const Tensor& x, Shape sizes) {
  ir::HostPool& host = lowering.graph.host;
  const Shape old_sizes = shape_of(lowering, x);
  if (sizes.size() < x.rank()) {
    lowering.fail(
        fmt::format("expand to {} sizes: the number of sizes provided must be greater or equal to the "
                    "number of dimensions in the tensor ({})",
                    sizes.size(), x.rank()));
  }
  const size_t added = sizes.size() - x.rank();
  LayoutRows rows(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool keeps = host.is_constant(sizes[d]) && host.value(sizes[d]).as_int() == -1;
    if (d < added) {
      if (keeps) lowering.fail("the expanded size -1 is not allowed in a leading, non-existing dimension");
      continue;
    }
    const ir::HostId old = old_sizes[d - added];
    if (keeps) sizes[d] = old;
    if (host.same(old, sizes[d])) {
      rows[d] = {{static_cast<uint32_t>(d - added), lowering.integer(1)}};
      continue;
    }
    if (is_one(lowering, old)) continue;
    if (not_one(lowering, old)) {
      lowering.require(ir::Condition::Kind::Equal, sizes[d], old,
                       fmt::format("the expanded size of the tensor ({{0}}) must match the existing size ({{1}}) at "
                                   "non-singleton dimension {}",
                                   d));
      host.unify(old, sizes[d]);
      rows[d] = {{static_cast<uint32_t>(d - added), lowering.integer(1)}};
      continue;
    }
    lowering.require(ir::Condition::Kind::Broadcasts, old, sizes[d]);
    rows[d] = {{static_cast<uint32_t>(d - added), lowering.host(ir::HostOp::NotOne, {old})}};
  }
  return with_view(lowering, x, expanded(lowering, x, sizes), std::move(rows));
}

std::vector<Value> chunk(Lowering& lowering, const Tensor& x, int64_t chunks, size_t dim) {
  require_dims(lowering, x, "chunk");
  if (chunks <= 0) lowering.fail(fmt::format("chunk expects `chunks` to be greater than 0, got: {}", chunks));
  ir::HostPool& host = lowering.graph.host;
  const ir::HostId size = shape_of(lowering, x)[dim];
  touch(lowering, size);
  // ceil(size / chunks), and how many chunks of that there are: fewer than asked for where sizes are small.
  const ir::HostId each =
      lowering.host(ir::HostOp::FloorDiv, {host.add(size, lowering.integer(chunks - 1)), lowering.integer(chunks)});
  if (host.is_constant(size)) {
    const int64_t step = host.value(each).as_int();
    chunks = step == 0 ? chunks : (host.value(size).as_int() + step - 1) / step;
    chunks = std::max<int64_t>(chunks, 1);
  } else {
    const ir::HostId last = host.sub(size, host.mul(each, lowering.integer(chunks - 1)));
    if (chunks > 1) {
      lowering.require(ir::Condition::Kind::InRange, host.sub(last, lowering.integer(1)), each,
                       fmt::format("chunk of a small dimension gives fewer than {} chunks", chunks));
    }
  }
  std::vector<Value> pieces;
  for (int64_t i = 0; i < chunks; ++i) {
    const ir::HostId start = host.mul(each, lowering.integer(i));
    // The second of two is floor(size / 2), which says more of itself than size - ceil(size / 2).
    const ir::HostId rest =
        chunks == 2 ? lowering.host(ir::HostOp::FloorDiv, {size, lowering.integer(2)}) : host.sub(size, start);
    const ir::HostId length = i + 1 < chunks ? each : rest;
    pieces.push_back(narrow(lowering, x, dim, start, length));
  }
  return pieces;
}

std::vector<Value> split(Lowering& lowering, const Tensor& x, ir::HostId size, size_t dim) {
  require_dims(lowering, x, "split");
  const int64_t total = lowering.static_number(shape_of(lowering, x)[dim]).as_int();
  const int64_t step = lowering.static_number(size).as_int();
  if (step < 0 || (step == 0 && total != 0)) {
    lowering.fail(fmt::format("split expects split_size to be greater than 0, got: {}", step));
  }
  Shape sizes;
  for (int64_t start = 0; start < total; start += step) {
    sizes.push_back(lowering.integer(std::min(step, total - start)));
  }
  if (sizes.empty()) sizes.push_back(lowering.integer(0));
  return split(lowering, x, sizes, dim);
}

std::vector<Value> split(Lowering& lowering, const Tensor& x, const Shape& sizes, size_t dim) {
  require_dims(lowering, x, "split");
  ir::HostPool& host = lowering.graph.host;
  std::vector<Value> pieces;
  ir::HostId start = lowering.integer(0);
  for (const ir::HostId size : sizes) {
    if (!host.known_nonnegative(size)) lowering.require(ir::Condition::Kind::NonNegative, size, size);
    pieces.push_back(narrow(lowering, x, dim, start, size));
    start = host.add(start, size);
  }
  lowering.require(ir::Condition::Kind::Equal, shape_of(lowering, x)[dim], start,
                   "split expects split_sizes to sum exactly to {0}, the size of the dimension, but they sum to {1}");
  return pieces;
}

std::vector<Value> unbind(Lowering& lowering, const Tensor& x, size_t dim) {
  require_dims(lowering, x, "unbind");
  const int64_t size = lowering.static_number(shape_of(lowering, x)[dim]).as_int();
  std::vector<Value> parts;
  for (int64_t i = 0; i < size; ++i) {
    lowering.step();
    parts.push_back(select(lowering, x, dim, lowering.integer(i)));
  }
  return parts;
}

Tensor unflatten(Lowering& lowering, const Tensor& x, size_t dim, Shape sizes) {
  require_dims(lowering, x, "unflatten");
  if (sizes.empty()) lowering.fail("unflatten: sizes must be non-empty");
  const ir::HostId size = shape_of(lowering, x)[dim];
  if (const auto at = inferred(lowering, sizes)) {
    Shape others = sizes;
    others.erase(others.begin() + static_cast<ptrdiff_t>(*at));
    sizes[*at] = quotient(lowering, {size}, others);
  }
  lowering.require(ir::Condition::Kind::Equal, product(lowering, sizes), size,
                   fmt::format("unflatten: provided sizes multiply to {{0}}, not to {{1}}, the size of dim {}", dim));
  Tensor result = unflattened(lowering, x, dim, sizes);
  result.layout = record_reshape(lowering, x.layout, shape_of(lowering, result));
  return result;
}

Tensor flatten(Lowering& lowering, const Tensor& x, size_t first, size_t last) {
  if (x.rank() == 0) return unsqueeze(lowering, x, 0);
  if (first > last) lowering.fail("flatten() has invalid args: start_dim cannot come after end_dim");
  if (first == last) return x;
  Tensor result = flattened(lowering, x, first, last - first + 1);
  result.layout = record_reshape(lowering, x.layout, shape_of(lowering, result));
  return result;
}

Tensor reshape(Lowering& lowering, const Tensor& x, Shape sizes) {
  const Shape old_sizes = shape_of(lowering, x);
  if (const auto at = inferred(lowering, sizes)) {
    Shape others = sizes;
    others.erase(others.begin() + static_cast<ptrdiff_t>(*at));
    sizes[*at] = quotient(lowering, old_sizes, others);
  }
  if (same_shape(lowering, old_sizes, sizes)) return x;
  lowering.require(ir::Condition::Kind::Equal, product(lowering, sizes), product(lowering, old_sizes),
                   fmt::format("shape {} is invalid for a tensor of shape {}: it has {{0}} elements, not {{1}}",
                               print_shape(lowering, sizes), print_shape(lowering, old_sizes)));
  Tensor result = reshaped(lowering, x, sizes);
  result.layout = record_reshape(lowering, x.layout, sizes);
  return result;
}

}  // namespace ingot::frontend
