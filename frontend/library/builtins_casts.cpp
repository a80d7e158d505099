#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "frontend/library/builtin_tables.h"
#include "frontend/tensor/device.h"
#include "frontend/tensor/layouts.h"
#include "frontend/tensor/pointwise.h"
#include "frontend/tensor/tensors.h"
#include "frontend/tensor/views.h"

// Casts, copies, tensors in the shape of another tensor, and internal functions that the library uses beside
// primitives.

namespace ingot::frontend {
namespace {

struct CastMethod {
  std::string_view name;
  ir::DType type;
};
constexpr std::array kCastMethods = {CastMethod{"float", ir::DType::F32}, CastMethod{"double", ir::DType::F64},
                                     CastMethod{"half", ir::DType::F16},  CastMethod{"bfloat16", ir::DType::BF16},
                                     CastMethod{"int", ir::DType::I32},   CastMethod{"long", ir::DType::I64},
                                     CastMethod{"short", ir::DType::I16}, CastMethod{"char", ir::DType::I8},
                                     CastMethod{"byte", ir::DType::U8},   CastMethod{"bool", ir::DType::Bool}};

const Tensor& input(Builder& builder, const Builtin& self, Args args) {
  return require_tensor(builder, args[0], fmt::format("{}: `input`", self.name));
}

MemoryFormat require_format(const Builder& builder, const Value& value, MemoryFormat default_format) {
  if (value.is_none()) return default_format;
  if (value.is<MemoryFormat>()) return value.as<MemoryFormat>();
  builder.fail(fmt::format("a memory format is expected, not {}", describe(value)), "such as torch.channels_last");
}

/// Converts a tensor to a dtype and a memory format. Returns the tensor itself if it has both and `copy` is false.
Tensor convert(Builder& builder, const Tensor& x, ir::DType type, const Value& memory_format, bool copy = false) {
  const MemoryFormat format = require_format(builder, memory_format, MemoryFormat::Preserve);
  Tensor result = cast(builder, x, type);
  const bool is_new = copy || type != x.dtype;
  if (format == MemoryFormat::Preserve) return copy && type == x.dtype ? copied(builder, result) : result;
  if (format == MemoryFormat::Contiguous && !is_new) {
    result.handle = record_unformatted(builder, x);
    return result;
  }
  if (is_new)
    result.handle = record_format(builder, format, {}, shape_of(builder, result));
  else
    result.handle = record_format_conversion(builder, format, x);
  return result;
}

Value call_cast_method(Builder& builder, const Builtin& self, Args args) {
  for (const CastMethod& method : kCastMethods) {
    if (method.name == self.name) return convert(builder, input(builder, self, args), method.type, args[1]);
  }
  throw_internal("a cast method without a dtype");
}

/// Returns x itself if it is on the device, else a copy.
Tensor on_device(Builder& builder, const Tensor& x, const Value& device) {
  Tensor result = to_device(builder, x, device);
  return result.on_host == x.on_host ? result : copied(builder, result);
}

/// The arguments of x.to(dtype), x.to(other), x.to(device) or x.to(device, dtype), each optionally followed by
/// `non_blocking` and `copy` as positional arguments.
struct ToArguments {
  Value device, dtype, copy;
};

ToArguments to_arguments(Builder& builder, Args args) {
  ToArguments parsed{.device = args[3], .dtype = args[2], .copy = args[4]};
  int flags = 0;
  const auto is_flag = [&](const Value& value) {
    return value.is_number() && builder.graph.host.kind(value.number()) == ir::HostKind::Bool;
  };
  for (const Value& value : *args[1].items()) {
    if (is_flag(value)) {
      if (parsed.dtype.is_none()) builder.fail("to(): non_blocking and copy must follow a dtype or a tensor");
      if (++flags > 2) builder.fail("to() takes at most non_blocking and copy after its target");
      if (flags == 2) parsed.copy = value;
    } else if (is_device_value(builder, value)) {
      if (!parsed.dtype.is_none()) builder.fail("to(): a device must precede the dtype", "x.to(device, dtype)");
      parsed.device = value;
    } else if (const Tensor* other = value.tensor()) {
      parsed.device = device_of(builder, *other);
      parsed.dtype = other->dtype;
    } else if (!value.is_none()) {
      parsed.dtype = value;
    }
  }
  return parsed;
}

Value call_to(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  if (args[2].is<std::string>())
    builder.fail("to(): argument 'dtype' must be torch.dtype, not str", "such as torch.float16");
  const ToArguments parsed = to_arguments(builder, args);
  const ir::DType type = parsed.dtype.is_none() ? x.dtype : require_dtype(builder, parsed.dtype);
  const bool copy = builder.static_bool(parsed.copy, "to: `copy`");
  const Tensor moved = on_device(builder, x, parsed.device);
  const bool is_moved = moved.handle.step != x.handle.step;
  return convert(builder, moved, type, args[6], copy && !is_moved);
}

Value call_type(Builder& builder, const Builtin& self, Args args) {
  return cast(builder, input(builder, self, args), require_dtype(builder, args[1]));
}

Value call_type_as(Builder& builder, const Builtin& self, Args args) {
  return cast(builder, input(builder, self, args), require_tensor(builder, args[1], "type_as: `other`").dtype);
}

Value call_is_floating_point(Builder& builder, const Builtin& self, Args args) {
  return Number{builder.graph.host.boolean(ir::is_floating(input(builder, self, args).dtype))};
}

Value call_element_size(Builder& builder, const Builtin& self, Args args) {
  return Number{builder.integer(ir::size_of(input(builder, self, args).dtype))};
}

Value call_identity(Builder& builder, const Builtin& self, Args args) { return input(builder, self, args); }

/// Copies a tensor into the requested memory format, whatever its strides.
Value call_clone(Builder& builder, const Builtin& self, Args args) {
  Tensor result = input(builder, self, args);
  const MemoryFormat format = require_format(builder, args[1], MemoryFormat::Preserve);
  const auto like = format == MemoryFormat::Preserve ? std::optional(result.handle) : std::nullopt;
  result.handle = record_format(builder, format, like, shape_of(builder, result));
  return result;
}

Value call_contiguous(Builder& builder, const Builtin& self, Args args) {
  Tensor result = input(builder, self, args);
  const MemoryFormat format = require_format(builder, args[1], MemoryFormat::Contiguous);
  if (format == MemoryFormat::Preserve)
    builder.fail("preserve memory format is unsupported by the contiguous operator");
  if (format == MemoryFormat::Contiguous) return contiguous(builder, result);
  result.handle = record_format_conversion(builder, format, result);
  return result;
}

/// Makes a tensor filled with one value, with the shape of x and by default its dtype, device and layout.
/// `options` are dtype, device and memory_format.
Tensor filled_like(Builder& builder, const Tensor& x, const Value& number, Args options) {
  const ir::DType type = options[0].is_none() ? x.dtype : require_dtype(builder, options[0]);
  const MemoryFormat format = require_format(builder, options[2], MemoryFormat::Preserve);
  Tensor result = filled(builder, shape_of(builder, x), number, type);
  result.on_host = options[1].is_none() ? x.on_host : is_host_device(builder, options[1]);
  const auto like = format == MemoryFormat::Preserve ? std::optional(x.handle) : std::nullopt;
  result.handle = record_format(builder, format, like, result.grid);
  return result;
}

Value call_zeros_like(Builder& builder, const Builtin& self, Args args) {
  return filled_like(builder, input(builder, self, args), Number{builder.integer(0)}, args.subspan(1));
}
Value call_empty_like(Builder& builder, const Builtin&, Args args) {
  const Tensor& x = require_tensor(builder, args[0], "empty_like: `input`");
  const ir::DType type = args[1].is_none() ? x.dtype : require_dtype(builder, args[1]);
  const MemoryFormat format = require_format(builder, args[3], MemoryFormat::Preserve);
  Tensor result = whole(builder, unwritten_node(builder, type), type, shape_of(builder, x));
  result.on_host = args[2].is_none() ? x.on_host : is_host_device(builder, args[2]);
  const auto like = format == MemoryFormat::Preserve ? std::optional(x.handle) : std::nullopt;
  result.handle = record_format(builder, format, like, result.grid);
  return result;
}

Value call_ones_like(Builder& builder, const Builtin& self, Args args) {
  return filled_like(builder, input(builder, self, args), Number{builder.integer(1)}, args.subspan(1));
}
Value call_full_like(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  if (!is_scalar(args[1])) {
    builder.fail(fmt::format("full_like: `fill_value` must be a number, not {}", describe(args[1])),
                 args[1].is_tensor() ? "write value.expand_as(x)" : "");
  }
  return filled_like(builder, x, args[1], args.subspan(2));
}

// Functions that only the library calls.

/// Converts tensors and numbers to tensors of one dtype. Rounds them even inside a native function: eager casts its
/// operands before the kernel runs.
Value promoted_to(const Builder& builder, Args values, ir::DType type) {
  Builder rounding_builder = builder;
  rounding_builder.native = false;
  std::vector<Value> result;
  for (const Value& value : values) {
    Tensor tensor = operand_tensor(rounding_builder, value, type, NumberCast::Rounded);
    if (!value.is_tensor()) tensor.handle = record_contiguous(rounding_builder, {});
    result.push_back(std::move(tensor));
  }
  return Value::tuple(std::move(result));
}

/// Makes a named tuple, as in torch.return_types.
Value call_named(Builder&, const Builtin&, Args args) {
  const Dict& items = args[1].as<Dict>();
  TupleType type{.name = args[0].as<std::string>(), .items = {}};
  for (const Value& name : *items.keys) type.items.push_back(name.as<std::string>());
  Tuple tuple = Value::tuple(*items.values).as<Tuple>();
  tuple.type = std::make_shared<const TupleType>(std::move(type));
  return tuple;
}

Value call_promoted(Builder& builder, const Builtin&, Args args) {
  const std::vector<Value>& values = *args[0].items();
  return promoted_to(builder, values, result_type(builder, values));
}

/// Gives a value the strides of a unary op's result on `like`.
Value call_with_strides_of(Builder& builder, const Builtin&, Args args) {
  Tensor result = *args[0].tensor();
  result.handle = record_preserve(builder, args[1].tensor()->handle, shape_of(builder, result));
  return result;
}

/// Gives a value the memory format that PyTorch suggests for `like`.
Value call_in_memory_format_of(Builder& builder, const Builtin&, Args args) {
  Tensor result = *args[0].tensor();
  result.handle = record_cat(builder, {args[1].tensor()->handle}, shape_of(builder, result));
  return result;
}

/// Gives a value the layout of F.pad's result; `cropped` is the input after negative padding.
Value call_padded_like(Builder& builder, const Builtin&, Args args) {
  Tensor result = *args[0].tensor();
  result.handle = record_pad(builder, args[1].tensor()->handle, args[2].tensor()->handle, shape_of(builder, result));
  return result;
}

/// Whether a number is known when the op is compiled, so that comparing it needs no specialisation.
Value call_known(Builder& builder, const Builtin&, Args args) {
  const ir::HostPool& host = builder.graph.host;
  return Number{builder.graph.host.boolean(args[0].is_number() && host.is_constant(host.resolve(args[0].number())))};
}

/// Whether a number is 0, for functions that become another op if it is. A parameter is specialised only if it is 0;
/// all other values share a kernel.
bool is_zero(Builder& builder, ir::HostId number) {
  const ir::HostPool& host = builder.graph.host;
  number = host.resolve(number);
  if (host.is_constant(number) || host[number].op != ir::HostOp::Scalar) return !builder.static_number(number).truthy();
  if (!builder.symbol_values.scalar(host[number].a).truthy()) throw SpecializationRequest{{number}, true};
  builder.graph.unspecialized.push_back(number);
  return false;
}

Value call_is_zero(Builder& builder, const Builtin&, Args args) {
  if (!args[0].is_number()) builder.fail(fmt::format("a number is expected, not {}", describe(args[0])));
  return Number{builder.graph.host.boolean(is_zero(builder, args[0].number()))};
}

/// Converts as _promoted does, and integers and bools to the default dtype, as PyTorch's floating-point functions do.
Value call_floating(Builder& builder, const Builtin&, Args args) {
  const std::vector<Value>& values = *args[0].items();
  if (std::ranges::none_of(values, &Value::is_tensor)) {
    builder.fail(fmt::format("a tensor is expected, not {}", describe(values.front())),
                 "convert it: torch.tensor(2.0)");
  }
  const ir::DType type = result_type(builder, values);
  return promoted_to(builder, values, ir::is_floating(type) ? type : builder.signature.default_dtype);
}

Value call_check_same_dtype(Builder& builder, const Builtin&, Args args) {
  const Tensor* first = nullptr;
  for (const Value& value : *args[0].items()) {
    const Tensor* tensor = value.tensor();
    if (!first) first = tensor;
    if (!tensor || !first || tensor->dtype == first->dtype) continue;
    builder.fail(
        fmt::format("expected tensors of one dtype, but got {} and {}", name_of(first->dtype), name_of(tensor->dtype)),
        "cast one: x.to(y.dtype)");
  }
  return None{};
}

Value call_default_dtype(Builder& builder, const Builtin&, Args) { return builder.signature.default_dtype; }

/// Raises an error for a tensor whose dtype is not accepted: "float", "int float", …; "unsigned" means uint16 to
/// uint64.
Value call_check_dtype(Builder& builder, const Builtin&, Args args) {
  const Tensor* x = args[0].tensor();
  const std::string& accepted = args[1].as<std::string>();
  if (!x) {
    builder.fail(fmt::format("a tensor is expected, not {}", describe(args[0])),
                 "use the functions of math for numbers");
  }
  static constexpr std::string_view kNames[] = {"bool", "int", "float"};
  const std::string_view name = ir::is_extended_unsigned(x->dtype) ? "unsigned"
                                : ir::is_float8(x->dtype)          ? "float8"
                                                          : kNames[static_cast<size_t>(ir::category(x->dtype))];
  if (fmt::format(" {} ", accepted).find(fmt::format(" {} ", name)) == std::string::npos) {
    builder.fail(fmt::format("not implemented for {}", name_of(x->dtype)), "cast first: x.float()");
  }
  return None{};
}

Value call_on_cuda(Builder& builder, const Builtin&, Args) {
  return Number{builder.graph.host.boolean(builder.signature.device == Device::Cuda)};
}

/// Whether a result has low precision (8 or 11 significant bits) on CUDA. There, computing a function with float32's
/// full precision takes more time than memory access.
Value call_low_precision_output(Builder& builder, const Builtin& self, Args args) {
  const bool is_narrow = builder.has_low_precision_output || ir::is_narrow_float(input(builder, self, args).dtype);
  return Number{builder.graph.host.boolean(builder.on_cuda() && is_narrow)};
}

/// Rounds a number to x's dtype, for functions whose eager kernel uses it in that dtype.
Value call_rounded_to_dtype(Builder& builder, const Builtin&, Args args) {
  const Tensor* x = args[1].tensor();
  if (x && args[0].is_tensor() && is_scalar(args[0])) {
    const bool was_native = std::exchange(builder.native, false);  // forces the rounding
    const Value rounded = scalar_tensor(builder, args[0], x->dtype, NumberCast::Rounded);
    builder.native = was_native;
    return rounded;
  }
  if (!args[0].is_number()) builder.fail(fmt::format("a number is expected, not {}", describe(args[0])));
  if (x) require_in_range(builder, args[0].number(), x->dtype);
  if (!x || !ir::is_narrow_float(x->dtype)) return args[0];
  return Number{builder.host(ir::HostOp::RoundTo, {args[0].number()}, static_cast<uint32_t>(x->dtype))};
}

/// Gives a number in the type in which x's dtype is computed (float32 for 16-bit floats), for functions whose eager
/// kernel takes it in that type. Unlike _rounded_to_dtype, it does not round to 16 bits.
Value call_in_compute_dtype(Builder& builder, const Builtin& self, Args args) {
  const ir::DType type = input(builder, self, args.subspan(1)).dtype;
  if (args[0].is_tensor()) {
    if (!is_scalar(args[0])) builder.fail(fmt::format("a number is expected, not {}", describe(args[0])));
    return scalar_tensor(builder, args[0], type, NumberCast::Wrapped);
  }
  if (args[0].is_number()) require_in_range(builder, args[0].number(), ir::compute_type(type));
  return args[0];
}

/// Whether numerics = eager requires the roundings inside eager's kernels for x's dtype.
Value call_rounds_intermediates(Builder& builder, const Builtin& self, Args args) {
  const bool rounds = builder.signature.numerics == Numerics::Eager;
  return Number{builder.graph.host.boolean(rounds && ir::is_narrow_float(input(builder, self, args).dtype))};
}

/// Rounds an intermediate result of a native function to its dtype. `rounds`: eager's kernel does so on this device and
/// for this dtype.
Value call_rounded(Builder& builder, const Builtin& self, Args args) {
  Tensor result = input(builder, self, args);
  if (!builder.static_bool(args[1], "_rounded: `rounds`")) return result;
  Builder rounding_builder = builder;
  rounding_builder.native = false;
  for (ConcatBlock& block : result.blocks) block.node = rounded_result_node(rounding_builder, block.node, result.dtype);
  return result;
}

/// The host number of a number or a CPU scalar, which CUDA's kernels take as a number.
Value call_number(Builder& builder, const Builtin&, Args args) { return Number{host_number(builder, args[0])}; }

/// 1 / number, both in the type in which x's dtype is computed.
Value call_reciprocal_of(Builder& builder, const Builtin& self, Args args) {
  const ir::DType type = ir::compute_type(input(builder, self, args.subspan(1)).dtype);
  return Number{builder.host(ir::HostOp::ReciprocalIn, {args[0].number()}, static_cast<uint32_t>(type))};
}

}  // namespace

std::vector<Builtin> cast_builtins() {
  std::vector<Builtin> rows = {
      {"to",
       "(input, *targets, dtype=None, device=None, copy=False, non_blocking=False, memory_format=None)",
       kNoFunction,
       kMethod,
       {},
       call_to,
       "the values converted to a dtype or a device, or to those of another tensor"},
      {"type", "(input, dtype)", kNoFunction, kMethod, {}, call_type, "the values converted to a dtype"},
      {"type_as",
       "(input, other)",
       kNoFunction,
       kMethod,
       {},
       call_type_as,
       "the values converted to the dtype of another tensor"},
      {"is_floating_point",
       "(input)",
       kFunction,
       kMethod,
       {},
       call_is_floating_point,
       "whether the dtype is floating-point, known when the op is compiled"},
      {"element_size", "(input)", kNoFunction, kMethod, {}, call_element_size, "the size of an element in bytes"},
      {"get_default_dtype",
       "()",
       kFunction,
       kNoMethod,
       {},
       call_default_dtype,
       "the default floating-point dtype, as set by torch.set_default_dtype"},
      {"real", "(input)", kFunction, kNoMethod, {}, call_identity, "the values themselves: all tensors are real"},
      {"conj", "(input)", kFunction, kMethod, {}, call_identity, "the values themselves: all tensors are real"},
      {"conj_physical", "(input)", kFunction, kMethod, "conj", call_identity},
      {"resolve_conj", "(input)", kFunction, kMethod, "conj", call_identity},
      {"resolve_neg", "(input)", kFunction, kMethod, "conj", call_identity},
      {"clone", "(input, *, memory_format=None)", kFunction, kMethod, {}, call_clone, "a copy"},
      {"contiguous",
       "(input, *, memory_format=None)",
       kNoFunction,
       kMethod,
       {},
       call_contiguous,
       "the same values in contiguous memory"},
      {"zeros_like",
       "(input, *, dtype=None, device=None, memory_format=None)",
       kFunction,
       kNoMethod,
       {},
       call_zeros_like,
       "a tensor of input's shape, filled with 0"},
      {"empty_like",
       "(input, *, dtype=None, device=None, memory_format=None)",
       kFunction,
       kNoMethod,
       {},
       call_empty_like,
       "an uninitialised tensor of input's shape, to be filled by assignment"},
      {"ones_like",
       "(input, *, dtype=None, device=None, memory_format=None)",
       kFunction,
       kNoMethod,
       {},
       call_ones_like,
       "a tensor of input's shape, filled with 1"},
      {"full_like",
       "(input, fill_value, *, dtype=None, device=None, memory_format=None)",
       kFunction,
       kNoMethod,
       {},
       call_full_like,
       "a tensor of input's shape, filled with one number"},
      {"_with_strides_of", "(value, like)", kFunction, kNoMethod, {}, call_with_strides_of},
      {"_named", "(name, **items)", kFunction, kNoMethod, {}, call_named},
      {"_in_memory_format_of", "(value, like)", kFunction, kNoMethod, {}, call_in_memory_format_of},
      {"_padded_like", "(value, cropped, input)", kFunction, kNoMethod, {}, call_padded_like},
      {"_known", "(number)", kFunction, kNoMethod, {}, call_known},
      {"_is_zero", "(number)", kFunction, kNoMethod, {}, call_is_zero},
      {"_promoted", "(*inputs)", kFunction, kNoMethod, {}, call_promoted},
      {"_floating", "(*inputs)", kFunction, kNoMethod, {}, call_floating},
      {"_check_same_dtype", "(*inputs)", kFunction, kNoMethod, {}, call_check_same_dtype},
      {"_check_dtype", "(input, accepted)", kFunction, kNoMethod, {}, call_check_dtype},
      {"_on_cuda", "()", kFunction, kNoMethod, {}, call_on_cuda},
      {"_low_precision_output", "(input)", kFunction, kNoMethod, {}, call_low_precision_output},
      {"_rounds_intermediates", "(input)", kFunction, kNoMethod, {}, call_rounds_intermediates},
      {"_rounded", "(input, rounds=True)", kFunction, kNoMethod, {}, call_rounded},
      {"_number", "(number)", kFunction, kNoMethod, {}, call_number},
      {"_reciprocal_of", "(number, input)", kFunction, kNoMethod, {}, call_reciprocal_of},
      {"_rounded_to_dtype", "(number, input)", kFunction, kNoMethod, {}, call_rounded_to_dtype},
      {"_in_compute_dtype", "(number, input)", kFunction, kNoMethod, {}, call_in_compute_dtype},
  };
  for (const CastMethod& method : kCastMethods) {
    rows.push_back({method.name,
                    "(input, *, memory_format=None)",
                    kNoFunction,
                    kMethod,
                    {},
                    call_cast_method,
                    "the values converted to the dtype of that name"});
  }
  return rows;
}

}  // namespace ingot::frontend
