#include "frontend/tensor/promotion.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "frontend/tensor/layouts.h"
#include "frontend/tensor/tensors.h"

namespace ingot::frontend {
namespace {

ir::DType type_of_number(const Builder& builder, ir::HostId number) {
  switch (builder.graph.host.kind(number)) {
    case ir::HostKind::Bool:
      return ir::DType::Bool;
    case ir::HostKind::Int:
      return ir::DType::I64;
    case ir::HostKind::Float:
      return builder.signature.default_dtype;
  }
  throw_internal("a number of no kind");
}

/// The value modulo 2^bits, as a cast to an integer dtype leaves it.
int64_t wrapped(int64_t value, ir::DType type) {
  switch (type) {
    case ir::DType::U8:
      return static_cast<uint8_t>(value);
    case ir::DType::I8:
      return static_cast<int8_t>(value);
    case ir::DType::I16:
      return static_cast<int16_t>(value);
    case ir::DType::I32:
      return static_cast<int32_t>(value);
    default:
      return value;
  }
}

/// A number as the host expression of a Scalar node of `type`.
ir::HostId converted(Builder& builder, ir::HostId number, ir::DType type, NumberCast cast) {
  const ir::HostPool& host = builder.graph.host;
  number = host.resolve(number);
  if (ir::is_floating(type)) {
    if (ir::is_half(type) && cast != NumberCast::Wrapped && !builder.native) {
      return builder.host(ir::HostOp::RoundTo, {number}, static_cast<uint32_t>(type));
    }
    return builder.host(ir::HostOp::Float, {number});
  }
  if (type == ir::DType::Bool) return builder.host(ir::HostOp::Bool, {number});
  if (host.kind(number) != ir::HostKind::Int) number = builder.host(ir::HostOp::Int, {number});
  if (!host.is_constant(number)) return number;
  const int64_t value = host.value(number).as_int();
  const int64_t kept = wrapped(value, type);
  // PyTorch's checked conversion lets a negative number wrap to an unsigned type.
  const bool fits = kept == value || (type == ir::DType::U8 && value < 0 && value >= -255);
  if (cast == NumberCast::Checked && !fits) {
    builder.fail(fmt::format("the number {} cannot be converted to {} without overflow", value, name_of(type)));
  }
  return builder.integer(kept);
}

}  // namespace

ir::DType result_type(Builder& builder, std::span<const Value> values) {
  std::array<std::optional<ir::DType>, 3> ranks;
  for (const Value& value : values) {
    const Tensor* tensor = value.tensor();
    if (!tensor && !value.is_number()) {
      builder.fail(fmt::format("expected a tensor or a number, not {}", describe(value)));
    }
    const ir::DType type = tensor ? tensor->dtype : type_of_number(builder, value.number());
    std::optional<ir::DType>& rank = ranks[!tensor ? 2 : tensor->rank() == 0 ? 1 : 0];
    rank = rank ? ir::promote(*rank, type) : type;
  }
  std::optional<ir::DType> result;
  for (const auto& rank : ranks) {
    if (rank && (!result || ir::category(*rank) > ir::category(*result))) result = rank;
  }
  return result.value();
}

ir::NodeId work_node(Builder& builder, ir::NodeId node, ir::DType type) {
  const ir::DType target = ir::compute_type(type);
  ir::DType now = builder.graph[node].dtype;
  if (ir::is_half(now)) {
    node = builder.graph.add(ir::Op::Cast, ir::DType::F32, {node});
    now = ir::DType::F32;
  }
  // The 16-bit floats are converted to and from float32 alone.
  return now == target ? node : builder.graph.add(ir::Op::Cast, target, {node});
}

ir::NodeId exact_node(Builder& builder, ir::NodeId node, ir::DType type) {
  if (builder.graph[node].dtype == type) return node;
  node = work_node(builder, node, type);
  return ir::is_half(type) ? builder.graph.add(ir::Op::Cast, type, {node}) : node;
}

ir::NodeId finished_node(Builder& builder, ir::NodeId node, ir::DType type) {
  const bool rounds = builder.signature.numerics == Numerics::Eager && !builder.native;
  return builder.placed(rounds ? exact_node(builder, node, type) : node);
}

Tensor number_tensor(Builder& builder, ir::HostId number, ir::DType type, NumberCast cast) {
  const ir::HostId value = converted(builder, number, type, cast);
  return whole(builder, builder.graph.scalar(ir::compute_type(type), value), type, {});
}

Tensor operand_tensor(Builder& builder, const Value& value, ir::DType type, NumberCast cast) {
  if (value.is_number()) return number_tensor(builder, value.number(), type, cast);
  Tensor tensor = *value.tensor();
  const bool changes = tensor.dtype != type;
  tensor.dtype = type;
  for (Tile& tile : tensor.tiles) {
    ir::NodeId node = work_node(builder, tile.node, type);
    if (changes) node = work_node(builder, finished_node(builder, node, type), type);
    tile.node = node;
  }
  return tensor;
}

Tensor cast(Builder& builder, const Tensor& tensor, ir::DType type) {
  Tensor result = tensor;
  result.dtype = type;
  for (Tile& tile : result.tiles) tile.node = builder.placed(exact_node(builder, tile.node, type));
  if (type != tensor.dtype) result.layout = record_preserve(builder, tensor.layout, shape_of(builder, tensor));
  return result;
}

Tensor bitcast(Builder& builder, const Tensor& tensor, ir::DType type) {
  if (ir::size_of(type) != ir::size_of(tensor.dtype)) {
    builder.fail(fmt::format("view as {} of a {} tensor changes the width of its elements", name_of(type),
                             name_of(tensor.dtype)),
                 "x.view(dtype) reinterprets bits, so both must be of the same width; x.to(dtype) converts values");
  }
  Tensor result = tensor;
  result.dtype = type;
  if (type == tensor.dtype) return result;
  for (Tile& tile : result.tiles) {
    const ir::NodeId node = exact_node(builder, tile.node, tensor.dtype);
    tile.node = builder.placed(builder.graph.add(ir::Op::Bitcast, type, {node}));
  }
  result.layout = view_memory(tensor, tensor.layout.step, {.kind = View::Kind::Bitcast, .dtype = type});
  return result;
}

bool is_host_scalar(const Builder& builder, const Tensor& tensor) {
  return builder.signature.device == Device::Cuda && tensor.rank() == 0 && tensor.tiles.size() == 1 &&
         builder.graph[tensor.tiles.front().node].op == ir::Op::Scalar;
}

}  // namespace ingot::frontend
