#include "frontend/tensor/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace ingot::frontend {

bool is_one(const Builder& builder, ir::HostId size) {
  return builder.graph.host.is_int(builder.graph.host.resolve(size), 1);
}

bool is_not_one(const Builder& builder, ir::HostId size) { return builder.graph.host.known_not_one(size); }

ir::HostId broadcast_size(Builder& builder, ir::HostId a, ir::HostId b, const std::string& message) {
  ir::HostPool& host = builder.graph.host;
  a = host.resolve(a);
  b = host.resolve(b);
  if (a == b || host.is_int(b, 1)) return a;
  if (host.is_int(a, 1)) return b;
  const bool a_is_not_one = is_not_one(builder, a), b_is_not_one = is_not_one(builder, b);
  if (a_is_not_one && b_is_not_one) {
    builder.require(ir::Condition::Kind::Equal, a, b, message);
    host.unify(a, b);
    return host.resolve(a);
  }
  builder.require(ir::Condition::Kind::Broadcasts, a, b, message);
  if (a_is_not_one) return a;
  if (b_is_not_one) return b;
  return builder.host(ir::HostOp::Broadcast, {a, b});
}

Shape broadcast_shapes(Builder& builder, std::span<const Shape> shapes) {
  size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.size());
  Shape result(rank, builder.integer(1));
  for (const Shape& shape : shapes) {
    const size_t skipped = rank - shape.size();
    for (size_t d = 0; d < shape.size(); ++d) {
      result[skipped + d] = broadcast_size(
          builder, result[skipped + d], shape[d],
          fmt::format("The size of tensor a ({{0}}) must match the size of tensor b ({{1}}) at non-singleton "
                      "dimension {}",
                      skipped + d));
    }
  }
  return result;
}

ir::HostId product(Builder& builder, std::span<const ir::HostId> sizes) {
  ir::HostId result = builder.integer(1);
  for (const ir::HostId size : sizes) result = builder.mul(result, size);
  return result;
}

bool same_shape(const Builder& builder, std::span<const ir::HostId> a, std::span<const ir::HostId> b) {
  return std::ranges::equal(a, b, [&](ir::HostId x, ir::HostId y) { return builder.graph.host.same(x, y); });
}

DimRange dims_of(const Reassociation& groups, size_t dim) {
  if (groups.empty()) return {dim, 1};
  size_t begin = 0;
  for (size_t d = 0; d < dim; ++d) begin += groups[d];
  return {begin, groups[dim]};
}

Reassociation explicit_groups(const Reassociation& groups, size_t count) {
  return groups.empty() ? Reassociation(count, 1) : groups;
}

Reassociation simplified(Reassociation groups) {
  if (std::ranges::all_of(groups, [](uint32_t count) { return count == 1; })) groups.clear();
  return groups;
}

Reassociation compose(const Reassociation& inner, const Reassociation& outer, size_t count) {
  const Reassociation inner_groups = explicit_groups(inner, count);
  Reassociation result;
  auto next = inner_groups.begin();
  for (const uint32_t merged_dims : explicit_groups(outer, inner_groups.size())) {
    result.push_back(std::accumulate(next, next + merged_dims, 0u));
    next += merged_dims;
  }
  return simplified(std::move(result));
}

Shape merged(Builder& builder, std::span<const ir::HostId> sizes, const Reassociation& groups) {
  if (groups.empty()) return {sizes.begin(), sizes.end()};
  Shape result;
  for (size_t d = 0; d < groups.size(); ++d) {
    const auto [begin, count] = dims_of(groups, d);
    result.push_back(product(builder, sizes.subspan(begin, count)));
  }
  return result;
}

Shape shape_of(Builder& builder, const Tensor& tensor) {
  Shape shape = merged(builder, tensor.grid, tensor.groups);
  for (ir::HostId& size : shape) size = builder.graph.host.resolve(size);
  return shape;
}

size_t resolve_dim(const Builder& builder, int64_t dim, size_t rank) {
  const auto bound = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (dim < -bound || dim >= bound) {
    builder.fail(fmt::format("Dimension out of range (expected to be in range of [{}, {}], but got {})", -bound,
                             bound - 1, dim));
  }
  return static_cast<size_t>(dim < 0 ? dim + bound : dim);
}

size_t resolve_dim(Builder& builder, const Value& dim, size_t rank) {
  if (builder.static_number(dim, "a dim").kind == ir::HostKind::Bool)
    builder.fail("a dim must be an integer, not a bool", "pass a flag by its name, as in keepdim=True");
  return resolve_dim(builder, builder.static_int(dim, "a dim"), rank);
}

std::vector<size_t> resolve_dims(Builder& builder, const Value& dims, size_t rank) {
  std::vector<size_t> result;
  if (const auto* items = dims.items()) {
    for (const Value& dim : *items) result.push_back(resolve_dim(builder, dim, rank));
  } else {
    result.push_back(resolve_dim(builder, dims, rank));
  }
  for (size_t i = 0; i < result.size(); ++i) {
    if (std::ranges::count(result, result[i]) > 1) {
      builder.fail(fmt::format("dim {} appears more than once in the list of dims", result[i]));
    }
  }
  return result;
}

Shape sizes_argument(Builder& builder, const Value& sizes) {
  const std::vector<Value>* items = sizes.items();
  if (!items) builder.fail(fmt::format("a shape must be numbers, not {}", describe(sizes)));
  if (items->size() == 1 && items->front().items()) items = items->front().items();
  Shape shape;
  for (const Value& size : *items) {
    if (!size.is_number() || builder.graph.host.kind(size.number()) == ir::HostKind::Float) {
      builder.fail(fmt::format("a size must be an integer, not {}", describe(size)));
    }
    shape.push_back(builder.graph.host.resolve(size.number()));
  }
  return shape;
}

void specialize_small(Builder& builder, ir::HostId size) {
  const ir::HostPool& host = builder.graph.host;
  size = host.resolve(size);
  if (host.is_constant(size)) return;
  std::vector<ir::HostId> symbols = host.symbols(size);
  for (const ir::HostId symbol : symbols) {
    if (host[symbol].op != ir::HostOp::Size) return;
  }
  std::vector<ir::HostId> large;
  for (const ir::HostId symbol : symbols) {
    if (builder.symbol_values.size(host[symbol].a, host[symbol].b) > ir::kSpecializedSize) large.push_back(symbol);
  }
  if (large.empty()) throw SpecializationRequest{std::move(symbols), true};
  for (const ir::HostId symbol : large) {
    builder.graph.unspecialized.push_back(symbol);
    builder.graph.host.assume_at_least(symbol, ir::kSpecializedSize + 1);
  }
}

std::string print_shape(const Builder& builder, std::span<const ir::HostId> shape) {
  std::vector<std::string> names;
  for (const ir::Param& param : builder.graph.params) names.push_back(param.name);
  std::string text = "[";
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d > 0) text += ", ";
    text += builder.graph.host.print(builder.graph.host.resolve(shape[d]), names);
  }
  return text + "]";
}

}  // namespace ingot::frontend
