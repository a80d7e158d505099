#include "frontend/tensor/promotion.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "frontend/tensor/layouts.h"
#include "frontend/tensor/tensors.h"

namespace ingot::frontend {
namespace {

ir::DType type_of_number(const Lowering& lowering, ir::HostId number) {
  switch (lowering.graph.host.kind(number)) {
    case ir::HostKind::Bool:
      return ir::DType::Bool;
    case ir::HostKind::Int:
      return ir::DType::I64;
    case ir::HostKind::Float:
      return lowering.signature.default_dtype;
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
ir::HostId converted(Lowering& lowering, ir::HostId number, ir::DType type, NumberCast cast) {
  const ir::HostPool& host = lowering.graph.host;
  number = host.resolve(number);
  if (ir::is_floating(type)) {
    if (ir::is_half(type) && cast != NumberCast::Wrapped && lowering.native_depth == 0) {
      return lowering.host(ir::HostOp::RoundTo, {number}, static_cast<uint32_t>(type));
    }
    return lowering.host(ir::HostOp::Float, {number});
  }
  if (type == ir::DType::Bool) return lowering.host(ir::HostOp::Bool, {number});
  if (host.kind(number) != ir::HostKind::Int) number = lowering.host(ir::HostOp::Int, {number});
  if (!host.is_constant(number)) return number;
  const int64_t value = host.value(number).as_int();
  const int64_t kept = wrapped(value, type);
  // PyTorch's checked conversion lets a negative number wrap to an unsigned type.
  const bool fits = kept == value || (type == ir::DType::U8 && value < 0 && value >= -255);
  if (cast == NumberCast::Checked && !fits) {
    lowering.fail(fmt::format("the number {} cannot be converted to {} without overflow", value, name_of(type)));
  }
  return lowering.integer(kept);
}

}  // namespace

ir::DType result_type(Lowering& lowering, std::span<const Value> values) {
  std::array<std::optional<ir::DType>, 3> ranks;
  for (const Value& value : values) {
    const Tensor* tensor = value.tensor();
    if (!tensor && !value.is_number()) {
      lowering.fail(fmt::format("expected a tensor or a number, not {}", describe(value)));
    }
    const ir::DType type = tensor ? tensor->dtype : type_of_number(lowering, value.number());
    std::optional<ir::DType>& rank = ranks[!tensor ? 2 : tensor->rank() == 0 ? 1 : 0];
    rank = rank ? ir::promote(*rank, type) : type;
  }
  std::optional<ir::DType> result;
  for (const auto& rank : ranks) {
    if (rank && (!result || ir::category(*rank) > ir::category(*result))) result = rank;
  }
  return result.value();
}

ir::NodeId work_node(Lowering& lowering, ir::NodeId node, ir::DType type) {
  const ir::DType target = ir::compute_type(type);
  ir::DType now = lowering.graph[node].dtype;
  if (ir::is_half(now)) {
    node = lowering.graph.add(ir::Op::Cast, ir::DType::F32, {node});
    now = ir::DType::F32;
  }
  // The 16-bit floats are converted to and from float32 alone.
  return now == target ? node : lowering.graph.add(ir::Op::Cast, target, {node});
}

ir::NodeId exact_node(Lowering& lowering, ir::NodeId node, ir::DType type) {
  if (lowering.graph[node].dtype == type) return node;
  node = work_node(lowering, node, type);
  return ir::is_half(type) ? lowering.graph.add(ir::Op::Cast, type, {node}) : node;
}

ir::NodeId finished_node(Lowering& lowering, ir::NodeId node, ir::DType type) {
  const bool rounds = lowering.signature.numerics == Numerics::Eager && lowering.native_depth == 0;
  return lowering.placed(rounds ? exact_node(lowering, node, type) : node);
}

Tensor number_tensor(Lowering& lowering, ir::HostId number, ir::DType type, NumberCast cast) {
  const ir::HostId value = converted(lowering, number, type, cast);
  return whole(lowering, lowering.graph.scalar(ir::compute_type(type), value), type, {});
}

Tensor operand_tensor(Lowering& lowering, const Value& value, ir::DType type, NumberCast cast) {
  if (value.is_number()) return number_tensor(lowering, value.number(), type, cast);
  Tensor tensor = *value.tensor();
  const bool changes = tensor.dtype != type;
  tensor.dtype = type;
  for (Tile& tile : tensor.tiles) {
    ir::NodeId node = work_node(lowering, tile.node, type);
    if (changes) node = work_node(lowering, finished_node(lowering, node, type), type);
    tile.node = node;
  }
  return tensor;
}

Tensor cast(Lowering& lowering, const Tensor& tensor, ir::DType type) {
  Tensor result = tensor;
  result.dtype = type;
  for (Tile& tile : result.tiles) tile.node = lowering.placed(exact_node(lowering, tile.node, type));
  if (type != tensor.dtype) result.layout = record_preserve(lowering, tensor.layout, shape_of(lowering, tensor));
  return result;
}

Tensor bitcast(Lowering& lowering, const Tensor& tensor, ir::DType type) {
  if (ir::size_of(type) != ir::size_of(tensor.dtype)) {
    lowering.fail(fmt::format("view as {} of a {} tensor changes the width of its elements", name_of(type),
                              name_of(tensor.dtype)),
                  "x.view(dtype) reinterprets bits, so both must be of the same width; x.to(dtype) converts values");
  }
  Tensor result = tensor;
  result.dtype = type;
  if (type == tensor.dtype) return result;
  for (Tile& tile : result.tiles) {
    const ir::NodeId node = exact_node(lowering, tile.node, tensor.dtype);
    tile.node = lowering.placed(lowering.graph.add(ir::Op::Bitcast, type, {node}));
  }
  return result;
}

bool is_host_scalar(const Lowering& lowering, const Tensor& tensor) {
  return lowering.signature.device == Device::Cuda && tensor.rank() == 0 && tensor.tiles.size() == 1 &&
         lowering.graph[tensor.tiles.front().node].op == ir::Op::Scalar;
}

}  // namespace ingot::frontend
