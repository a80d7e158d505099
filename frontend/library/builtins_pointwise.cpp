#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/library/builtin_tables.h"
#include "frontend/tensor/pointwise.h"

// Pointwise functions: one row for each primitive of ops.def, and separate rows for functions whose formula depends on
// more than their operands' types.

namespace ingot::frontend {
namespace {

ir::Op op_of(const Builtin& self) {
  return ir::primitive_named(self.alias_of.empty() ? self.name : self.alias_of).value();
}

/// Rejects a number as an operand for which PyTorch's function accepts tensors only.
void require_operand_kinds(Builder& builder, const Builtin& self, ir::Op op, Args args) {
  if (args.size() < 2 || builder.native || self.name.starts_with('_')) return;
  const ir::ScalarOperands numbers = ir::info(op).numbers;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool is_accepted = numbers == ir::ScalarOperands::Any || (numbers == ir::ScalarOperands::Second && i > 0);
    if (!args[i].is_number() || is_accepted) continue;
    const bool is_extremum = op == ir::Op::Maximum || op == ir::Op::Minimum;
    builder.fail(
        fmt::format("{} takes a tensor as its {} argument, not a number", self.name, i == 0 ? "first" : "second"),
        is_extremum ? fmt::format("write clamp(x, {}=…)", op == ir::Op::Maximum ? "min" : "max")
                    : "write Python's operator, or full_like(x, number)");
  }
}

Value call_primitive(Builder& builder, const Builtin& self, Args args) {
  const ir::Op op = op_of(self);
  require_operand_kinds(builder, self, op, args);
  return pointwise(builder, op, args);
}

/// `number * x` is x.mul(number). For torch.mul(number, x), the CPU's kernel converts the number to a tensor of x's
/// dtype.
Value call_mul(Builder& builder, const Builtin& self, Args args) {
  const bool rounds = builder.signature.numerics == Numerics::Eager && !builder.native && !builder.on_cuda();
  if (!rounds || !args[0].is_number() || !args[1].is_tensor()) return call_primitive(builder, self, args);
  Tensor first = operand_tensor(builder, args[0], result_type(builder, args), NumberCast::Rounded);
  first.handle = record_contiguous(builder, {});
  const std::array<Value, 2> operands{first, args[1]};
  return call_primitive(builder, self, operands);
}

Value call_add(Builder& builder, const Builtin&, Args args) {
  return add_scaled(builder, ir::Op::Add, args[0], args[1], args[2]);
}
Value call_sub(Builder& builder, const Builtin&, Args args) {
  return add_scaled(builder, ir::Op::Sub, args[0], args[1], args[2]);
}
Value call_rsub(Builder& builder, const Builtin&, Args args) {
  require_tensor(builder, args[0], "rsub: `input`");
  return add_scaled(builder, ir::Op::Sub, args[1], args[0], args[2]);
}
Value call_div(Builder& builder, const Builtin&, Args args) { return divide(builder, args[0], args[1]); }
Value call_multiplies_by_reciprocal(Builder& builder, const Builtin&, Args args) {
  return Number{builder.graph.host.boolean(multiplies_by_reciprocal(builder, args[0], args[1]))};
}
Value call_divides_in_16_bits(Builder& builder, const Builtin&, Args args) {
  return Number{builder.graph.host.boolean(divides_in_16_bits(builder, args[0], args[1]))};
}
Value call_pow(Builder& builder, const Builtin&, Args args) { return power(builder, args[0], args[1]); }
/// Implements abs. For bool it is the identity, which only PyTorch's CUDA kernel supports.
Value call_abs(Builder& builder, const Builtin& self, Args args) {
  const Tensor* input = args[0].tensor();
  const bool is_cuda_bool = input && input->dtype == ir::DType::Bool && builder.signature.device == Device::Cuda;
  return is_cuda_bool ? pointwise(builder, ir::Op::BitwiseOr, {args[0], args[0]}) : call_primitive(builder, self, args);
}

Value call_clamp(Builder& builder, const Builtin&, Args args) {
  if ((args[1].is_tensor() && args[2].is_number()) || (args[1].is_number() && args[2].is_tensor())) {
    builder.fail("clamp takes two tensors or two numbers as its limits, not one of each",
                 "clamp twice: x.clamp(min=a).clamp(max=b)");
  }
  return clamp(builder, args[0], args[1], args[2]);
}
Value call_clamp_min(Builder& builder, const Builtin&, Args args) {
  return clamp(builder, args[0], args[1], None{}, NanLimit::Propagates);
}
Value call_clamp_max(Builder& builder, const Builtin&, Args args) {
  return clamp(builder, args[0], None{}, args[1], NanLimit::Propagates);
}
Value call_where(Builder& builder, const Builtin&, Args args) {
  if (args[1].is_none() || args[2].is_none()) {
    builder.fail("where(condition) without values returns as many indices as there are true elements",
                 "choose element by element: where(condition, a, b)");
  }
  return where(builder, args[0], args[1], args[2]);
}

Value call_positive(Builder& builder, const Builtin&, Args args) {
  if (require_tensor(builder, args[0], "positive: `input`").dtype == ir::DType::Bool) {
    builder.fail("the `+` operator, on a bool tensor is not supported");
  }
  return args[0];
}

struct Alias {
  std::string_view name, target;
  bool is_method = kMethod;
};
constexpr std::array kAliases = {
    Alias{"subtract", "sub"}, Alias{"multiply", "mul"}, Alias{"negative", "neg"}, Alias{"absolute", "abs"},
    Alias{"fix", "trunc"}, Alias{"sgn", "sign"}, Alias{"greater", "gt"}, Alias{"greater_equal", "ge"},
    Alias{"less", "lt"}, Alias{"less_equal", "le"}, Alias{"not_equal", "ne"}, Alias{"arcsin", "asin"},
    Alias{"arccos", "acos"}, Alias{"arctan", "atan"}, Alias{"arctan2", "atan2"}, Alias{"arcsinh", "asinh"},
    Alias{"arccosh", "acosh"}, Alias{"arctanh", "atanh"}, Alias{"clip", "clamp"},
    // names of torch.special
    Alias{"gammaln", "lgamma", kNoMethod}, Alias{"gammainc", "igamma", kNoMethod},
    Alias{"gammaincc", "igammac", kNoMethod}};

}  // namespace

std::vector<Builtin> pointwise_builtins() {
  std::vector<Builtin> rows = {
      {"add", "(input, other, *, alpha=1)", kFunction, kMethod, {}, call_add, ir::info(ir::Op::Add).summary},
      {"sub", "(input, other, *, alpha=1)", kFunction, kMethod, {}, call_sub, ir::info(ir::Op::Sub).summary},
      {"rsub", "(input, other, *, alpha=1)", kFunction, kNoMethod, {}, call_rsub, "other - alpha * input"},
      {"mul", "(input, other)", kFunction, kMethod, {}, call_mul, ir::info(ir::Op::Mul).summary},
      {"_div", "(input, other)", kFunction, kNoMethod, {}, call_div},
      {"_multiplies_by_reciprocal", "(input, other)", kFunction, kNoMethod, {}, call_multiplies_by_reciprocal},
      {"_divides_in_16_bits", "(input, other)", kFunction, kNoMethod, {}, call_divides_in_16_bits},
      {"abs", "(input)", kFunction, kMethod, {}, call_abs, ir::info(ir::Op::Abs).summary},
      {"zeta", "(input, other)", kFunction, kNoMethod, {}, call_primitive, ir::info(ir::Op::Zeta).summary},
      {"pow", "(input, exponent)", kFunction, kMethod, {}, call_pow, ir::info(ir::Op::Pow).summary},
      {"where",
       "(condition, input=None, other=None)",
       kFunction,
       kNoMethod,
       {},
       call_where,
       ir::info(ir::Op::Where).summary},
      {"clamp",
       "(input, min=None, max=None)",
       kFunction,
       kMethod,
       {},
       call_clamp,
       "clamped to two limits, either of which may be omitted; NaN stays NaN"},
      {"clamp_min", "(input, min)", kFunction, kMethod, {}, call_clamp_min, "at least min"},
      {"clamp_max", "(input, max)", kFunction, kMethod, {}, call_clamp_max, "at most max"},
      {"positive", "(input)", kFunction, kMethod, {}, call_positive, "+input"},
  };
  for (const ir::OpInfo& row : ir::primitives()) {
    const bool has_row = std::ranges::any_of(rows, [&](const Builtin& other) { return other.name == row.name; });
    if (has_row) continue;
    static constexpr std::string_view kSignatures[] = {"(input)", "(input, other)", "(input, other, third)"};
    rows.push_back(
        {row.name, kSignatures[row.arity - 1], kFunction, !row.name.starts_with('_'), {}, call_primitive, row.summary});
  }
  for (const Alias& alias : kAliases) {
    const auto target = std::ranges::find(rows, alias.target, &Builtin::name);
    Builtin row = *target;
    row.name = alias.name;
    row.alias_of = alias.target;
    row.is_method = row.is_method && alias.is_method;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace ingot::frontend
