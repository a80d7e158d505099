#include "frontend/tensor/promotion.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <optional>
#include <ranges>

#include "frontend/tensor/layouts.h"
#include "frontend/tensor/tensors.h"
#include "ir/types/limits.h"

namespace ingot::frontend {
namespace {

/// Converts a number to the host expression of a Scalar node of `type`.
ir::HostId converted(Builder& builder, ir::HostId number, ir::DType type, NumberCast cast) {
  const ir::HostPool& host = builder.graph.host;
  number = host.resolve(number);
  if (ir::is_floating(type)) {
    if (ir::is_narrow_float(type) && cast != NumberCast::Wrapped && !builder.native) {
      return builder.host(ir::HostOp::RoundTo, {number}, static_cast<uint32_t>(type));
    }
    return builder.host(ir::HostOp::Float, {number});
  }
  if (type == ir::DType::Bool) return builder.host(ir::HostOp::Bool, {number});
  if (host.kind(number) != ir::HostKind::Int) number = builder.host(ir::HostOp::Int, {number});
  if (!host.is_constant(number)) return number;
  return builder.integer(ir::wrap_to(type, host.value(number).as_int()));
}

/// The C++ type of a dtype, as PyTorch's messages name it.
std::string_view cpp_name(ir::DType type) {
  switch (type) {
    case ir::DType::Bool:
      return "bool";
    case ir::DType::U8:
      return "uint8_t";
    case ir::DType::I8:
      return "int8_t";
    case ir::DType::I16:
      return "int16_t";
    case ir::DType::I32:
      return "int";
    case ir::DType::I64:
      return "int64_t";
    case ir::DType::U16:
      return "uint16_t";
    case ir::DType::U32:
      return "uint32_t";
    case ir::DType::U64:
      return "uint64_t";
    case ir::DType::F8E4M3FN:
      return "c10::Float8_e4m3fn";
    case ir::DType::F8E5M2:
      return "c10::Float8_e5m2";
    case ir::DType::F8E4M3FNUZ:
      return "c10::Float8_e4m3fnuz";
    case ir::DType::F8E5M2FNUZ:
      return "c10::Float8_e5m2fnuz";
    case ir::DType::F16:
      return "c10::Half";
    case ir::DType::BF16:
      return "c10::BFloat16";
    case ir::DType::F32:
      return "float";
    case ir::DType::F64:
      return "double";
  }
  throw_internal("a dtype without a C++ type");
}

/// A host expression: whether a float is in the range ±`largest`, infinite, or NaN.
ir::HostId is_within_or_infinite(Builder& builder, ir::HostId number, double largest) {
  ir::HostPool& host = builder.graph.host;
  const ir::HostId magnitude = builder.host(ir::HostOp::Abs, {number});
  const ir::HostId above = builder.host(ir::HostOp::Gt, {magnitude, host.real(largest)});
  const ir::HostId infinite =
      builder.host(ir::HostOp::Eq, {magnitude, host.real(std::numeric_limits<double>::infinity())});
  return builder.host(ir::HostOp::Select, {above, infinite, host.boolean(true)});
}

/// The dtype of a value of higher priority combined with one of lower priority (see result_type).
ir::DType promoted_by_priority(Builder& builder, ir::DType higher, ir::DType lower) {
  if (ir::is_floating(higher)) return higher;
  return higher == ir::DType::Bool || ir::is_floating(lower) ? promoted(builder, higher, lower) : higher;
}

}  // namespace

ir::DType promoted(Builder& builder, ir::DType a, ir::DType b) {
  if (const auto both = ir::promote(a, b)) return *both;
  const bool is_float8 = ir::is_float8(a) || ir::is_float8(b);
  builder.fail(fmt::format("{} and {} cannot be promoted: {}", name_of(a), name_of(b),
                           is_float8 ? "a float8 dtype promotes only with itself"
                                     : "uint16, uint32 and uint64 promote only with themselves and with floats"),
               fmt::format("cast one of them: x.to(torch.{})", is_float8 ? "float32" : "int64"));
}

ir::DType type_of_number(const Builder& builder, ir::HostId number) {
  switch (builder.graph.host.kind(number)) {
    case ir::HostKind::Bool:
      return ir::DType::Bool;
    case ir::HostKind::Int:
      return ir::DType::I64;
    case ir::HostKind::Float:
      return builder.signature.default_dtype;
  }
  throw_internal("a number of unknown kind");
}

ir::DType result_type(Builder& builder, std::span<const Value> values) {
  std::array<std::optional<ir::DType>, 3> types;
  for (const Value& value : values) {
    const Tensor* tensor = value.tensor();
    if (!tensor && !value.is_number()) {
      builder.fail(fmt::format("expected a tensor or a number, not {}", describe(value)));
    }
    const ir::DType type = tensor ? tensor->dtype : type_of_number(builder, value.number());
    std::optional<ir::DType>& at_priority = types[!tensor ? 2 : tensor->rank() == 0 ? 1 : 0];
    at_priority = at_priority ? promoted(builder, *at_priority, type) : type;
  }
  std::optional<ir::DType> result;
  for (const auto& higher : std::views::reverse(types)) {
    if (higher) result = result ? promoted_by_priority(builder, *higher, *result) : *higher;
  }
  return result.value();
}

ir::NodeId in_compute_dtype(Builder& builder, ir::NodeId node, ir::DType type) {
  const ir::DType target = ir::compute_type(type);
  ir::DType current = builder.graph[node].dtype;
  if (ir::is_narrow_float(current)) {
    node = builder.graph.add(ir::Op::Cast, ir::DType::F32, {node});
    current = ir::DType::F32;
  }
  // 16-bit floats are converted to and from float32 only.
  return current == target ? node : builder.graph.add(ir::Op::Cast, target, {node});
}

ir::NodeId rounded_to_dtype(Builder& builder, ir::NodeId node, ir::DType type) {
  if (builder.graph[node].dtype == type) return node;
  node = in_compute_dtype(builder, node, type);
  return ir::is_narrow_float(type) ? builder.graph.add(ir::Op::Cast, type, {node}) : node;
}

ir::NodeId rounded_result_node(Builder& builder, ir::NodeId node, ir::DType type) {
  const bool rounds = (builder.signature.numerics == Numerics::Eager || ir::is_float8(type)) && !builder.native;
  return builder.with_location(rounds ? rounded_to_dtype(builder, node, type) : node);
}

void require_in_range(Builder& builder, ir::HostId number, ir::DType type) {
  if (type == ir::DType::Bool || type == ir::DType::F64) return;
  ir::HostPool& host = builder.graph.host;
  const std::string message = fmt::format("value cannot be converted to type {} without overflow", cpp_name(type));
  const auto require = [&](ir::HostId fits) {
    builder.require(ir::Condition::Kind::True, fits, host.integer(0), message);
  };
  const bool is_integer = host.kind(number) != ir::HostKind::Float;
  const bool is_float_type = ir::is_floating(type);
  if (is_float_type && !is_integer) {
    return require(is_within_or_infinite(builder, number, ir::float_limits(type).largest));
  }
  if (is_float_type && type != ir::DType::F16) return;  // every integer is in range
  const auto largest_half = static_cast<int64_t>(ir::float_limits(ir::DType::F16).largest);
  auto [smallest, largest] = is_float_type ? ir::IntegerLimits{-largest_half, largest_half} : ir::integer_limits(type);
  if (!ir::is_signed(type) && is_integer) smallest = -largest;
  require(builder.host(ir::HostOp::Ge, {number, host.integer(smallest)}));
  require(builder.host(ir::HostOp::Le, {number, host.integer(largest)}));
}

Tensor number_tensor(Builder& builder, ir::HostId number, ir::DType type, NumberCast cast) {
  // Kernels of native functions have their own conversions of floats.
  const bool is_unchecked = builder.native && ir::is_floating(type);
  if (cast == NumberCast::Checked && !is_unchecked) require_in_range(builder, number, type);
  const ir::HostId value = converted(builder, number, type, cast);
  Tensor tensor = whole(builder, builder.graph.scalar(ir::compute_type(type), value), type, {});
  tensor.on_host = builder.on_cuda();
  return tensor;
}

bool is_scalar(const Value& value) { return value.is_number() || (value.is_tensor() && value.tensor()->rank() == 0); }

ir::DType type_of_scalar(const Builder& builder, const Value& value) {
  if (value.is_number()) return type_of_number(builder, value.number());
  switch (ir::category(value.tensor()->dtype)) {
    case ir::Category::Bool:
      return ir::DType::Bool;
    case ir::Category::Integral:
      return ir::DType::I64;
    case ir::Category::Floating:
      return builder.signature.default_dtype;
  }
  throw_internal("a dtype of unknown category");
}

Tensor scalar_tensor(Builder& builder, const Value& value, ir::DType type, NumberCast cast) {
  if (value.is_number()) return number_tensor(builder, value.number(), type, cast);
  ir::NodeId node = builder.graph.call(ir::kDetach, value.tensor()->blocks.front().node, {});
  const bool rounds = ir::is_narrow_float(type) && cast != NumberCast::Wrapped && !builder.native;
  node = rounds ? rounded_to_dtype(builder, node, type) : in_compute_dtype(builder, node, type);
  Tensor tensor = whole(builder, builder.with_location(node), type, {});
  tensor.on_host = builder.on_cuda();
  return tensor;
}

Tensor filled(Builder& builder, Shape shape, const Value& number, ir::DType type) {
  const Tensor scalar = scalar_tensor(builder, number, type, NumberCast::Checked);
  return whole(builder, scalar.blocks.front().node, type, std::move(shape));
}

Tensor operand_tensor(Builder& builder, const Value& value, ir::DType type, NumberCast cast) {
  if (value.is_number()) return number_tensor(builder, value.number(), type, cast);
  Tensor tensor = *value.tensor();
  const bool rounds = tensor.dtype != type && cast != NumberCast::Wrapped && !builder.native;
  tensor.dtype = type;
  for (ConcatBlock& block : tensor.blocks) {
    if (rounds) block.node = rounded_to_dtype(builder, block.node, type);
    block.node = in_compute_dtype(builder, block.node, type);
  }
  return tensor;
}

Tensor cast(Builder& builder, const Tensor& tensor, ir::DType type) {
  Tensor result = tensor;
  result.dtype = type;
  for (ConcatBlock& block : result.blocks)
    block.node = builder.with_location(rounded_to_dtype(builder, block.node, type));
  if (type != tensor.dtype) result.handle = record_preserve(builder, tensor.handle, shape_of(builder, tensor));
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
  for (ConcatBlock& block : result.blocks) {
    const ir::NodeId node = rounded_to_dtype(builder, block.node, tensor.dtype);
    block.node = builder.with_location(builder.graph.add(ir::Op::Bitcast, type, {node}));
  }
  Tensor base = tensor;
  // Eager's x.view(dtype) has no gradient, and writing to it does not remove one.
  base.handle = detached_storage(tensor);
  result.handle = view_storage(base, tensor.handle.step, {.kind = View::Kind::Bitcast, .dtype = type});
  return result;
}

bool is_host_number(const Value& value) {
  const Tensor* tensor = value.tensor();
  return tensor ? tensor->on_host && tensor->rank() == 0 : value.is_number();
}

ir::HostId host_number(const Builder& builder, const Value& value) {
  if (value.is_number()) return value.number();
  const ir::NodeId node = value.tensor()->blocks.front().node;
  if (builder.graph[node].op == ir::Op::Scalar) return builder.graph.host_of(node);
  builder.fail("eager reads the value of this CPU tensor on the host, but the op does not compute it there",
               "pass it as a parameter annotated `float`, or move it: s.to(x.device)");
}

}  // namespace ingot::frontend
