#include "frontend/tensor/pointwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ingot::frontend {
namespace {

std::string_view public_name(ir::Op op) {
  const std::string_view name = ir::info(op).name;
  return name.substr(name.starts_with('_'));
}

void check_operands(Builder& builder, ir::Op op, std::span<const Value> operands) {
  for (const Value& operand : operands) {
    if (!operand.is_tensor() && !operand.is_number()) {
      builder.fail(fmt::format("{} takes tensors and numbers, not {}", public_name(op), describe(operand)));
    }
  }
  if (std::ranges::any_of(operands, [](const Value& operand) { return operand.is_tensor(); })) return;
  builder.fail(fmt::format("{} takes a tensor, not a number", public_name(op)),
               operands.size() == 1 ? fmt::format("use math.{} for a Python number", public_name(op))
                                    : "use Python's operators for numbers");
}

void check_dtype(Builder& builder, ir::Op op, std::span<const Value> operands, ir::DType operand_dtype) {
  const auto is_bool = [&](const Value& operand) {
    return operand.is_tensor() ? operand.tensor()->dtype == ir::DType::Bool
                               : builder.graph.host.kind(operand.number()) == ir::HostKind::Bool;
  };
  // PyTorch rejects these ops by the operands' types, whatever the promoted type is.
  if (op == ir::Op::Sub && std::ranges::any_of(operands, is_bool)) {
    builder.fail("subtraction, the `-` operator, with a bool tensor is not supported",
                 "to invert a mask use `~` or logical_not(), for the difference of two masks `^` or logical_xor()");
  }
  const auto has_dims = [](const Value& operand) { return operand.tensor() && operand.tensor()->rank() > 0; };
  if (op == ir::Op::Mul && ir::is_float8(operand_dtype) && !std::ranges::all_of(operands, has_dims)) {
    builder.fail(
        fmt::format("a {} tensor can be multiplied by another one, but not by a number", name_of(operand_dtype)),
        "cast first: x.float()");
  }
  const ir::Accepts& accepts = ir::info(op).accepts;
  // Logical ops give bool, but eager dispatches on the promoted type of the operands.
  if (ir::info(op).rule == ir::Rule::Logical) operand_dtype = result_type(builder, operands);
  if (accepts.contains(operand_dtype)) return;
  if (op == ir::Op::Neg) {
    builder.fail("negation, the `-` operator, on a bool tensor is not supported",
                 "to invert a mask use `~` or logical_not()");
  }
  const bool takes_integers = ir::is_floating(operand_dtype) && !ir::is_float8(operand_dtype);
  builder.fail(fmt::format("\"{}\" is not implemented for {}", public_name(op), name_of(operand_dtype)),
               takes_integers ? "it takes integers: cast with .to(torch.int32)"
                              : fmt::format("cast first: x.{}()", operand_dtype == ir::DType::Bool ? "int" : "float"));
}

/// Whether eager runs an op on these operands as a CUDA kernel. Ops on CPU scalars alone run on the CPU.
bool runs_on_cuda(const Builder& builder, std::span<const Value> operands) {
  return builder.on_cuda() && std::ranges::any_of(operands, [](const Value& operand) {
           return operand.is_tensor() && !operand.tensor()->on_host;
         });
}

bool has_one_element(Builder& builder, const Value& operand) {
  return operand.is_number() || std::ranges::all_of(shape_of(builder, *operand.tensor()),
                                                    [&](ir::HostId size) { return is_one(builder, size); });
}

/// How an operand is converted to the common dtype. Eager rounds the operand to that dtype, with two exceptions, both
/// in arithmetic. Eager's CUDA kernels convert a number or a CPU scalar only to the type in which they compute. Eager's
/// CPU kernels do the same with a factor or divisor that has one element. Unless numerics = eager, a number in
/// arithmetic is not rounded either, like an intermediate value between two ops.
NumberCast operand_cast(Builder& builder, ir::Op op, std::span<const Value> operands, size_t i) {
  const bool on_cuda = runs_on_cuda(builder, operands);
  const bool is_unrounded_number = operands[i].is_number() && builder.signature.numerics != Numerics::Eager;
  const auto cast = [&](bool keeps_value) {
    return keeps_value || is_unrounded_number ? NumberCast::Wrapped : NumberCast::Rounded;
  };
  switch (op) {
    case ir::Op::Add:
    case ir::Op::Sub:
      return cast(on_cuda && is_host_number(operands[i]));
    case ir::Op::Mul:
      if (on_cuda || operands[i].is_number()) return cast(is_host_number(operands[i]));
      [[fallthrough]];
    case ir::Op::Div:
    case ir::Op::FloorDivide:
    case ir::Op::TruncDivide:
      return cast(i == 1 && (on_cuda ? is_host_number(operands[i]) : has_one_element(builder, operands[i])));
    case ir::Op::Fma:
      return NumberCast::Wrapped;  // eager has no such op
    default:
      return NumberCast::Rounded;
  }
}

/// The number by which a CUDA kernel divides a tensor: a Python number, or a CPU scalar in an op on CUDA. Eager's
/// kernels multiply by its reciprocal. Inside native functions division is IEEE division.
std::optional<ir::HostId> cuda_divisor(const Builder& builder, const Value& a, const Value& b) {
  const bool on_cuda = builder.on_cuda() && a.is_tensor() && !a.tensor()->on_host;
  if (!on_cuda || builder.native || !is_host_number(b)) return std::nullopt;
  return host_number(builder, b);
}

ir::DType operand_dtype_of(const Builder& builder, ir::Rule rule, ir::DType common) {
  if (rule == ir::Rule::Float && !ir::is_floating(common)) return builder.signature.default_dtype;
  return rule == ir::Rule::Logical ? ir::DType::Bool : common;
}

/// Adds the condition that an integer tensor with elements is not divided by the number 0. Eager's CPU kernels check
/// the divisor, even if the quotient is unused; its CUDA kernels do not.
void require_divisor(Builder& builder, ir::Op op, ir::DType operand_dtype, std::span<const Value> operands,
                     const Tensor& result) {
  const bool divides =
      op == ir::Op::FloorDivide || op == ir::Op::TruncDivide || op == ir::Op::Remainder || op == ir::Op::Fmod;
  if (!divides || builder.on_cuda() || ir::is_floating(operand_dtype) || !operands[1].is_number()) return;
  const ir::HostId zero = builder.integer(0);
  const ir::HostId divides_by_zero = builder.host(ir::HostOp::Eq, {operands[1].number(), zero});
  const ir::HostId is_empty = builder.host(ir::HostOp::Eq, {product(builder, shape_of(builder, result)), zero});
  const ir::HostId is_valid =
      builder.host(ir::HostOp::Select, {divides_by_zero, is_empty, builder.graph.host.boolean(true)});
  builder.require(ir::Condition::Kind::True, is_valid, "ZeroDivisionError");
}

/// The attr of an op's node with a result of dtype `type`: kContractable if ir::contract may fuse the op, else 0.
uint32_t contractable_flag(const Builder& builder, ir::Op op, ir::DType type) {
  const bool is_sum_or_product = op == ir::Op::Add || op == ir::Op::Sub || op == ir::Op::Mul;
  const bool is_unrounded = builder.signature.numerics != Numerics::Eager;
  const bool has_16_bits = type == ir::DType::F16 || type == ir::DType::BF16;
  return is_sum_or_product && is_unrounded && has_16_bits ? ir::kContractable : 0;
}

/// Replaces NaN in the only limit of a clamp by an infinity, which changes nothing: eager ignores such a limit if it is
/// a number.
Value without_nan(Builder& builder, ir::HostOp extreme, const Value& limit) {
  ir::HostPool& host = builder.graph.host;
  if (!limit.is_number() || host.kind(limit.number()) != ir::HostKind::Float) return limit;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const ir::HostId neutral = host.real(extreme == ir::HostOp::Max ? -kInfinity : kInfinity);
  return Number{builder.host(extreme, {neutral, limit.number()})};
}

}  // namespace

void record_layout(Builder& builder, Tensor& result, std::span<const Value> operands, ir::DType common) {
  if (builder.native) return;
  std::vector<LayoutId> inputs;
  for (const Value& operand : operands) {
    if (operand.is_none()) continue;
    const Tensor* tensor = operand.tensor();
    if (!tensor) {
      inputs.push_back(record_contiguous(builder, {}));
    } else if (tensor->dtype != common && builder.signature.device == Device::Cpu) {
      inputs.push_back(record_preserve(builder, tensor->handle, shape_of(builder, *tensor)));
    } else {
      inputs.push_back(tensor->handle);
    }
  }
  result.handle = record_pointwise(builder, std::move(inputs), shape_of(builder, result));
}

Value pointwise(Builder& builder, ir::Op op, std::span<const Value> operands) {
  check_operands(builder, op, operands);
  const ir::OpInfo& info = ir::info(op);
  const ir::DType common = result_type(builder, operands);
  const ir::DType operand_dtype = operand_dtype_of(builder, info.rule, common);
  check_dtype(builder, op, operands, operand_dtype);

  std::vector<Tensor> tensors;
  for (size_t i = 0; i < operands.size(); ++i) {
    tensors.push_back(operand_tensor(builder, operands[i], operand_dtype, operand_cast(builder, op, operands, i)));
  }
  const bool returns_bool = info.rule == ir::Rule::Compare || info.rule == ir::Rule::Logical;
  const ir::DType dtype = returns_bool ? ir::DType::Bool : operand_dtype;
  Tensor result = combined(builder, tensors, dtype, [&](std::span<const ir::NodeId> args) {
    ir::Node node{op, ir::compute_type(dtype), contractable_flag(builder, op, dtype), {args.begin(), args.end()}};
    return rounded_result_node(builder, builder.graph.add(std::move(node)), dtype);
  });
  require_divisor(builder, op, operand_dtype, operands, result);
  record_layout(builder, result, operands, info.rule == ir::Rule::Logical ? common : operand_dtype);
  return result;
}

Value divide_operator(Builder& builder, const Value& a, const Value& b) {
  if (a.is_number() && !builder.native) {
    return pointwise(builder, ir::Op::Mul, {pointwise(builder, ir::Op::Reciprocal, {b}), a});
  }
  return divide(builder, a, b);
}

Value divide(Builder& builder, const Value& a, const Value& b) {
  const auto number = cuda_divisor(builder, a, b);
  if (!number) return pointwise(builder, ir::Op::Div, {a, b});
  // The reciprocal is computed in double, whatever the dtype.
  const auto f64 = static_cast<uint32_t>(ir::DType::F64);
  const Value inverse = Number{builder.host(ir::HostOp::ReciprocalIn, {*number}, f64)};
  return pointwise(builder, ir::Op::Mul, {a, inverse});
}

bool multiplies_by_reciprocal(Builder& builder, const Value& a, const Value& b) {
  return cuda_divisor(builder, a, b) && ir::is_floating(result_type(builder, std::array{a, b}));
}

bool divides_in_16_bits(Builder& builder, const Value& a, const Value& b) {
  if (!ir::is_narrow_float(result_type(builder, std::array{a, b}))) return false;
  if (builder.signature.device == Device::Cuda) return !cuda_divisor(builder, a, b);
  return !has_one_element(builder, b);
}

namespace {

/// The factor of the second operand of a scaled sum or difference.
Tensor factor_of(Builder& builder, ir::Op op, const Value& alpha, ir::DType type, NumberCast cast) {
  if (alpha.is_number()) {
    const ir::HostId number = alpha.number();
    const ir::HostId factor = op == ir::Op::Sub ? builder.host(ir::HostOp::Neg, {number}) : number;
    require_in_range(builder, factor, type);
    return number_tensor(builder, factor, type, cast);
  }
  Tensor factor = scalar_tensor(builder, alpha, type, cast);
  ir::NodeId& node = factor.blocks.front().node;
  node = in_compute_dtype(builder, node, type);
  if (op == ir::Op::Sub && type != ir::DType::Bool)
    node = builder.graph.add(ir::Op::Neg, ir::compute_type(type), {node});
  return factor;
}

}  // namespace

Value add_scaled(Builder& builder, ir::Op op, const Value& a, const Value& b, const Value& alpha) {
  ir::HostPool& host = builder.graph.host;
  if (!is_scalar(alpha)) builder.fail(fmt::format("alpha must be a number, not {}", describe(alpha)));
  const ir::Category category = ir::category(type_of_scalar(builder, alpha));
  const auto is_one = [&](ir::HostId factor) {
    return host.is_constant(factor) && host.value(factor).as_double() == 1.0 && category != ir::Category::Bool;
  };
  if (alpha.is_number() && is_one(host.resolve(alpha.number()))) return pointwise(builder, op, {a, b});

  const std::array<Value, 2> operands{a, b};
  check_operands(builder, op, operands);
  const ir::DType type = result_type(builder, operands);
  check_dtype(builder, op, operands, type);
  if (category == ir::Category::Bool && type != ir::DType::Bool) {
    builder.fail("Boolean alpha only supported for Boolean results");
  }
  if (category == ir::Category::Floating && !ir::is_floating(type)) {
    builder.fail("for integral input tensors, argument alpha must not be a floating point number");
  }
  // With numerics = eager the CPU kernel also rounds the factor to the dtype.
  const bool keeps_factor = runs_on_cuda(builder, operands) || builder.signature.numerics != Numerics::Eager;
  const NumberCast factor_cast = keeps_factor ? NumberCast::Wrapped : NumberCast::Rounded;
  const std::array<Tensor, 3> tensors{factor_of(builder, op, alpha, type, factor_cast),
                                      operand_tensor(builder, b, type, operand_cast(builder, op, operands, 1)),
                                      operand_tensor(builder, a, type, operand_cast(builder, op, operands, 0))};
  Tensor result = combined(builder, tensors, type, [&](std::span<const ir::NodeId> args) {
    const ir::DType compute_dtype = ir::compute_type(type);
    ir::Graph& graph = builder.graph;
    const ir::NodeId node = ir::is_floating(type)
                                ? graph.add(ir::Op::Fma, compute_dtype, {args.begin(), args.end()})
                                : graph.add(ir::Op::Add, compute_dtype,
                                            {args[2], graph.add(ir::Op::Mul, compute_dtype, {args[0], args[1]})});
    return rounded_result_node(builder, node, type);
  });
  record_layout(builder, result, operands, type);
  return result;
}

namespace {

/// x³ or x⁻² with a rounded square, as eager's kernels compute it for bfloat16, and on CUDA for float16. `last` is the
/// op on the square: Mul (by x), or Reciprocal.
Value power_with_rounded_square(Builder& builder, std::span<const Value> operands, ir::DType type, ir::Op last) {
  const ir::DType compute_dtype = ir::compute_type(type);
  const std::array<Tensor, 2> tensors{operand_tensor(builder, operands[0], type, NumberCast::Rounded),
                                      operand_tensor(builder, operands[1], type, NumberCast::Rounded)};
  const std::string callee =
      builder.tape ? builder.tape->record("_pow_number", {operands.begin(), operands.end()}) : std::string();
  Tensor result = combined(builder, tensors, type, [&](std::span<const ir::NodeId> args) {
    ir::Graph& graph = builder.graph;
    const ir::NodeId square =
        rounded_to_dtype(builder, graph.add(ir::Op::Mul, compute_dtype, {args[0], args[0]}), type);
    std::vector<ir::NodeId> factors{in_compute_dtype(builder, square, type)};
    if (last == ir::Op::Mul) factors.push_back(args[0]);
    ir::NodeId node = graph.add(last, compute_dtype, std::move(factors));
    if (builder.tape) node = graph.call(callee, node, {args.begin(), args.end()});
    return rounded_result_node(builder, node, type);
  });
  record_layout(builder, result, operands, type);
  return result;
}

}  // namespace

Value power(Builder& builder, const Value& base, const Value& exponent) {
  ir::HostPool& host = builder.graph.host;
  const bool base_on_cuda = base.is_tensor() && !base.tensor()->on_host;
  const bool has_number_exponent = exponent.is_number() || (base_on_cuda && is_host_number(exponent));
  if (!base.is_tensor()) {
    // number ** tensor: PyTorch's result is contiguous, whatever the exponent's strides.
    Tensor result = *pointwise(builder, ir::Op::Pow, {base, exponent}).tensor();
    result.handle = record_contiguous(builder, shape_of(builder, result));
    return result;
  }
  if (!has_number_exponent) return pointwise(builder, ir::Op::Pow, {base, exponent});
  const std::array<Value, 2> operands{base, exponent};
  const ir::DType type = result_type(builder, operands);
  if (exponent.is_number() && type != ir::DType::F32) require_in_range(builder, exponent.number(), type);
  const auto with_special_cases = [&] { return pointwise(builder, ir::Op::PowNumber, operands); };
  if (ir::is_narrow_float(type)) {
    const ir::HostId number = host_number(builder, exponent);
    const auto where_equal = [&](double constant, ir::HostId value, auto&& then, auto&& otherwise) -> Value {
      const ir::HostId is_equal = builder.host(ir::HostOp::Eq, {value, host.real(constant)});
      if (host.is_constant(is_equal)) return host.value(is_equal).truthy() ? then() : otherwise();
      Tensor condition = number_tensor(builder, is_equal, ir::DType::Bool, NumberCast::Rounded);
      condition.handle = record_contiguous(builder, {});
      return where(builder, condition, then(), otherwise());
    };
    // PowNumber computes the exponents ±0.5 as square roots, which differ from powers at -inf and -0. Eager's CPU
    // kernel for float16 does not.
    if (type == ir::DType::F16 && !builder.on_cuda() && host.kind(number) == ir::HostKind::Float) {
      return where_equal(
          0.25, builder.host(ir::HostOp::Mul, {number, number}),
          [&] { return pointwise(builder, ir::Op::Pow, operands); }, with_special_cases);
    }
    const bool has_rounded_squares = type == ir::DType::BF16 || (type == ir::DType::F16 && builder.on_cuda());
    if (has_rounded_squares && builder.signature.numerics == Numerics::Eager && !builder.native) {
      const auto with_rounded_square = [&](ir::Op last) {
        return power_with_rounded_square(builder, operands, type, last);
      };
      return where_equal(
          3, number, [&] { return with_rounded_square(ir::Op::Mul); },
          [&] {
            return where_equal(-2, number, [&] { return with_rounded_square(ir::Op::Reciprocal); }, with_special_cases);
          });
    }
  }
  if (ir::category(type) == ir::Category::Integral) {
    const ir::HostId number = host_number(builder, exponent);
    const ir::HostId is_nonnegative = builder.host(ir::HostOp::Ge, {number, builder.integer(0)});
    builder.require(ir::Condition::Kind::True, is_nonnegative, host.integer(0),
                    "integers to negative integer powers are not allowed");
  }
  return with_special_cases();
}

Value clamp(Builder& builder, const Value& x, const Value& low, const Value& high, NanLimit nan_in_single_limit) {
  if (!x.is_tensor()) {
    builder.fail(fmt::format("clamp takes a tensor, not {}", describe(x)), "use min and max for Python numbers");
  }
  if (low.is_none() && high.is_none()) builder.fail("clamp: at least one of 'min' or 'max' must not be None");
  std::vector<Value> operands{x};
  const bool drops_nan = (low.is_none() || high.is_none()) && nan_in_single_limit == NanLimit::Ignored;
  if (!low.is_none()) operands.push_back(drops_nan ? without_nan(builder, ir::HostOp::Max, low) : low);
  if (!high.is_none()) operands.push_back(drops_nan ? without_nan(builder, ir::HostOp::Min, high) : high);
  const ir::DType type = result_type(builder, operands);
  check_dtype(builder, ir::Op::Maximum, operands, type);
  std::vector<Tensor> tensors;
  for (const Value& operand : operands) {
    // The kernel for numbers converts them to the type in which it computes: on CUDA float32 for 16-bit floats.
    if (operand.is_number()) {
      require_in_range(builder, operand.number(), builder.on_cuda() ? ir::compute_type(type) : type);
    }
    tensors.push_back(operand_tensor(builder, operand, type, NumberCast::Rounded));
  }
  const std::string callee = builder.tape ? builder.tape->record("clamp", {x, low, high}) : std::string();
  // The limit is the first operand: if both are zeros, eager's kernels keep x's.
  Tensor result = combined(builder, tensors, type, [&](std::span<const ir::NodeId> args) {
    const ir::DType compute_dtype = ir::compute_type(type);
    ir::NodeId node = args[0];
    if (!low.is_none()) node = builder.graph.add(ir::Op::Maximum, compute_dtype, {args[1], node});
    if (!high.is_none()) node = builder.graph.add(ir::Op::Minimum, compute_dtype, {args.back(), node});
    if (builder.tape) node = builder.graph.call(callee, node, {args.begin(), args.end()});
    return rounded_result_node(builder, node, type);
  });
  std::erase_if(operands, [](const Value& operand) { return operand.is_number(); });
  record_layout(builder, result, operands, type);
  return result;
}

Value where(Builder& builder, const Value& condition, const Value& a, const Value& b) {
  const Tensor* mask = condition.tensor();
  if (!mask) {
    builder.fail(fmt::format("where takes a boolean tensor as its condition, not {}", describe(condition)),
                 "for a condition known beforehand write `a if condition else b`");
  }
  if (mask->dtype != ir::DType::Bool) {
    builder.fail(fmt::format("where expected a boolean tensor as its condition, but got {}", describe(condition)),
                 "compare it: where(c != 0, a, b)");
  }
  const std::array<Value, 2> arms{a, b};
  const ir::DType type = result_type(builder, arms);
  if (ir::is_extended_unsigned(type) && !builder.diagnostics.in_library()) {
    builder.fail(fmt::format("\"where\" is not implemented for {}", name_of(type)), "cast first: x.long()");
  }
  // A number is converted to a 16-bit float through float32, and may become infinite.
  const NumberCast numbers = ir::is_narrow_float(type) ? NumberCast::Rounded : NumberCast::Checked;
  const std::array<Tensor, 3> tensors{*mask, operand_tensor(builder, a, type, numbers),
                                      operand_tensor(builder, b, type, numbers)};
  Tensor result = combined(builder, tensors, type, [&](std::span<const ir::NodeId> args) {
    const ir::NodeId node = builder.graph.add(ir::Op::Where, ir::compute_type(type), {args.begin(), args.end()});
    return rounded_result_node(builder, node, type);
  });
  if (!builder.native) {
    // PyTorch casts the arms before the kernel, on every device.
    std::vector<LayoutId> inputs{mask->handle};
    for (const Value& arm : arms) {
      const Tensor* tensor = arm.tensor();
      inputs.push_back(!tensor                 ? record_contiguous(builder, {})
                       : tensor->dtype == type ? tensor->handle
                                               : record_preserve(builder, tensor->handle, shape_of(builder, *tensor)));
    }
    result.handle = record_pointwise(builder, std::move(inputs), shape_of(builder, result));
  }
  return result;
}

}  // namespace ingot::frontend
