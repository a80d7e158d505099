#include <fmt/format.h>

#include <array>

#include "frontend/library/builtin_tables.h"
#include "frontend/tensor/layouts.h"
#include "frontend/tensor/pointwise.h"
#include "frontend/tensor/views.h"

// Casts, copies and tensors made from nothing, and what library.py is made of beside primitives.

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

Value call_cast_method(Builder& builder, const Builtin& self, Args args) {
  for (const CastMethod& method : kCastMethods) {
    if (method.name == self.name) return cast(builder, input(builder, self, args), method.type);
  }
  throw_internal("a cast method without a dtype");
}

/// x.to(dtype), x.to(other), x.to(device) and x.to(device, dtype); an op runs on one device, so that is ignored.
Value call_to(Builder& builder, const Builtin& self, Args args) {
  Value result = args[0];
  const auto apply = [&](const Value& target) {
    const bool is_device_number = target.is_number() && builder.graph.host.kind(target.number()) == ir::HostKind::Int;
    if (target.is<std::string>() || target.is_none() || is_device_number) return;
    const Tensor* other = target.tensor();
    result =
        cast(builder, input(builder, self, std::array{result}), other ? other->dtype : require_dtype(builder, target));
  };
  input(builder, self, args);
  for (const Value& target : *args[1].items()) apply(target);
  apply(args[2]);
  const bool copy = builder.static_bool(args[4], "to: `copy`");
  const Tensor& now = *result.tensor();
  return copy && now.layout.step == args[0].tensor()->layout.step ? Value(copied(builder, now)) : result;
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

Value call_identity(Builder& builder, const Builtin& self, Args args) { return input(builder, self, args); }

Value call_clone(Builder& builder, const Builtin& self, Args args) {
  return copied(builder, input(builder, self, args));
}

Value call_contiguous(Builder& builder, const Builtin& self, Args args) {
  return contiguous(builder, input(builder, self, args));
}

/// A tensor of one value, of the shape and by default the dtype of another.
Tensor filled_like(Builder& builder, const Tensor& x, ir::HostId number, const Value& dtype) {
  const ir::DType type = dtype.is_none() ? x.dtype : require_dtype(builder, dtype);
  const Tensor scalar = number_tensor(builder, number, type, NumberCast::Checked);
  Tensor result = whole(builder, scalar.tiles.front().node, type, shape_of(builder, x));
  result.layout = record_preserve(builder, x.layout, result.grid);
  return result;
}

Value call_zeros_like(Builder& builder, const Builtin& self, Args args) {
  return filled_like(builder, input(builder, self, args), builder.integer(0), args[1]);
}
Value call_ones_like(Builder& builder, const Builtin& self, Args args) {
  return filled_like(builder, input(builder, self, args), builder.integer(1), args[1]);
}
Value call_full_like(Builder& builder, const Builtin& self, Args args) {
  const Tensor& x = input(builder, self, args);
  if (!args[1].is_number()) {
    builder.fail(fmt::format("full_like: `fill_value` must be a number, not {}", describe(args[1])),
                 args[1].is_tensor() ? "write value.expand_as(x)" : "");
  }
  return filled_like(builder, x, args[1].number(), args[2]);
}

ir::DType default_type_of(const Builder& builder, ir::HostId number) {
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

Value call_tensor(Builder& builder, const Builtin&, Args args) {
  if (const Tensor* x = args[0].tensor()) return copied(builder, *x);
  if (!args[0].is_number()) {
    builder.fail(fmt::format("torch.tensor of {} is not in the language", describe(args[0])),
                 "pass constant tables as a tensor parameter; torch.tensor(number) gives a 0-dim tensor");
  }
  const ir::HostId number = args[0].number();
  const ir::DType type = args[1].is_none() ? default_type_of(builder, number) : require_dtype(builder, args[1]);
  Tensor result = number_tensor(builder, number, type, NumberCast::Rounded);
  result.layout = record_contiguous(builder, {});
  return result;
}

Value call_arange(Builder& builder, const Builtin&, Args args) {
  ir::HostPool& host = builder.graph.host;
  const bool one_bound = args[1].is_none();
  for (size_t i = 0; i < 3; ++i) {
    if (i == 1 && one_bound) continue;
    if (!args[i].is_number() || host.kind(args[i].number()) != ir::HostKind::Int) {
      builder.fail(fmt::format("the bounds of arange must be integers, not {}",
                               args[i].is_number() ? "floats" : describe(args[i])),
                   "scale an integer one: start + step * torch.arange(n)");
    }
  }
  const ir::HostId start = one_bound ? builder.integer(0) : args[0].number();
  const ir::HostId end = args[one_bound ? 0 : 1].number();
  const int64_t step = builder.static_int(args[2], "the step of arange");
  if (step == 0) builder.fail("step must be nonzero");
  const int64_t rounding = step > 0 ? step - 1 : step + 1;
  const ir::HostId span = host.add(host.sub(end, start), builder.integer(rounding));
  const ir::HostId steps = builder.host(ir::HostOp::FloorDiv, {span, builder.integer(step)});
  const ir::HostId length = builder.host(ir::HostOp::Max, {steps, builder.integer(0)});

  ir::NodeId node = index_position(builder, std::array{length}, 0);
  node = index_binary(builder, ir::Op::Mul, node, builder.integer(step));
  node = index_binary(builder, ir::Op::Add, node, start);
  const ir::DType type = args[3].is_none() ? ir::DType::I64 : require_dtype(builder, args[3]);
  Tensor result = whole(builder, builder.placed(exact_node(builder, node, type)), type, {length});
  result.layout = record_contiguous(builder, result.grid);
  return result;
}

// For library.py alone.

/// Tensors and numbers as tensors of their common dtype.
Value promoted_to(Builder& builder, Args values, ir::DType type) {
  std::vector<Value> result;
  for (const Value& value : values) {
    Tensor tensor = operand_tensor(builder, value, type, NumberCast::Wrapped);
    if (!value.is_tensor()) tensor.layout = record_contiguous(builder, {});
    result.push_back(std::move(tensor));
  }
  return Value::tuple(std::move(result));
}

Value call_promoted(Builder& builder, const Builtin&, Args args) {
  const std::vector<Value>& values = *args[0].items();
  return promoted_to(builder, values, result_type(builder, values));
}

/// The same, integers and bools in the default dtype, as PyTorch's floating-point functions take them.
Value call_floating(Builder& builder, const Builtin&, Args args) {
  const std::vector<Value>& values = *args[0].items();
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

/// Refuses a dtype whose category is not among those named: "float", "int float", …
Value call_check(Builder& builder, const Builtin&, Args args) {
  const Tensor* x = args[0].tensor();
  const std::string& accepted = args[1].as<std::string>();
  if (!x) {
    builder.fail(fmt::format("it takes a tensor, not {}", describe(args[0])), "use math's functions for numbers");
  }
  static constexpr std::string_view kNames[] = {"bool", "int", "float"};
  if (accepted.find(kNames[static_cast<size_t>(ir::category(x->dtype))]) == std::string::npos) {
    builder.fail(fmt::format("not implemented for {}", name_of(x->dtype)), "cast first: x.float()");
  }
  return None{};
}

Value call_on_cuda(Builder& builder, const Builtin&, Args) {
  return Number{builder.graph.host.boolean(builder.signature.device == Device::Cuda)};
}

/// A number as an element of x's dtype, which eager's kernel of the function works with.
Value call_rounded(Builder& builder, const Builtin&, Args args) {
  const Tensor* x = args[1].tensor();
  if (!args[0].is_number()) builder.fail(fmt::format("a number is expected, not {}", describe(args[0])));
  if (!x || !ir::is_half(x->dtype)) return args[0];
  return Number{builder.host(ir::HostOp::RoundTo, {args[0].number()}, static_cast<uint32_t>(x->dtype))};
}

/// 1 / number, both in the type in which x's dtype is computed.
Value call_reciprocal_of(Builder& builder, const Builtin& self, Args args) {
  const ir::DType type = ir::compute_type(input(builder, self, args.subspan(1)).dtype);
  return Number{builder.host(ir::HostOp::ReciprocalIn, {args[0].number()}, static_cast<uint32_t>(type))};
}

}  // namespace

std::vector<Builtin> type_builtins() {
  std::vector<Builtin> rows = {
      {"to",
       "(input, *targets, dtype=None, device=None, copy=False, non_blocking=False, memory_format=None)",
       kNoFunction,
       kMethod,
       {},
       call_to,
       "the values in another dtype, or that of another tensor"},
      {"type", "(input, dtype)", kNoFunction, kMethod, {}, call_type, "the values in another dtype"},
      {"type_as",
       "(input, other)",
       kNoFunction,
       kMethod,
       {},
       call_type_as,
       "the values in the dtype of another tensor"},
      {"is_floating_point",
       "(input)",
       kFunction,
       kMethod,
       {},
       call_is_floating_point,
       "whether the dtype is a floating-point one, known when the op is compiled"},
      {"detach", "(input)", kFunction, kMethod, {}, call_identity, "the same values, through which no gradient flows"},
      {"clone", "(input, *, memory_format=None)", kFunction, kMethod, {}, call_clone, "the same values"},
      {"contiguous",
       "(input, *, memory_format=None)",
       kNoFunction,
       kMethod,
       {},
       call_contiguous,
       "the same values; a result of it is contiguous"},
      {"zeros_like",
       "(input, *, dtype=None, device=None)",
       kFunction,
       kNoMethod,
       {},
       call_zeros_like,
       "0 in the shape of another tensor"},
      {"ones_like",
       "(input, *, dtype=None, device=None)",
       kFunction,
       kNoMethod,
       {},
       call_ones_like,
       "1 in the shape of another tensor"},
      {"full_like",
       "(input, fill_value, *, dtype=None, device=None)",
       kFunction,
       kNoMethod,
       {},
       call_full_like,
       "a number in the shape of another tensor"},
      {"tensor",
       "(data, *, dtype=None, device=None)",
       kFunction,
       kNoMethod,
       {},
       call_tensor,
       "a number as a 0-dim tensor"},
      {"arange",
       "(start, end=None, step=1, *, dtype=None, device=None)",
       kFunction,
       kNoMethod,
       {},
       call_arange,
       "start, start + step, … up to but without end"},
      {"_default_dtype", "()", kFunction, kNoMethod, {}, call_default_dtype},
      {"_promoted", "(*inputs)", kFunction, kNoMethod, {}, call_promoted},
      {"_floating", "(*inputs)", kFunction, kNoMethod, {}, call_floating},
      {"_check_same_dtype", "(*inputs)", kFunction, kNoMethod, {}, call_check_same_dtype},
      {"_check", "(input, accepted)", kFunction, kNoMethod, {}, call_check},
      {"_on_cuda", "()", kFunction, kNoMethod, {}, call_on_cuda},
      {"_reciprocal_of", "(number, input)", kFunction, kNoMethod, {}, call_reciprocal_of},
      {"_rounded", "(number, input)", kFunction, kNoMethod, {}, call_rounded},
  };
  for (const CastMethod& method : kCastMethods) {
    rows.push_back({method.name, "(input)", kNoFunction, kMethod, {}, call_cast_method, "the values in that dtype"});
  }
  return rows;
}

}  // namespace ingot::frontend
