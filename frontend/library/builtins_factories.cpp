#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "frontend/library/builtin_tables.h"
#include "frontend/tensor/device.h"
#include "frontend/tensor/layouts.h"
#include "frontend/tensor/promotion.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/tensors.h"

// Factories: tensors made from a shape.

namespace ingot::frontend {
namespace {

Shape require_shape(Builder& builder, const Builtin& self, const Value& sizes) {
  Shape shape = sizes_argument(builder, sizes);
  for (const ir::HostId size : shape) {
    builder.require(ir::Condition::Kind::NonNegative, size,
                    fmt::format("{}: Dimension size must be non-negative.", self.name));
  }
  return shape;
}

/// Makes a tensor filled with one number; `options` are dtype and device.
Value make_full(Builder& builder, Shape shape, const Value& number, ir::DType default_dtype, Args options) {
  const ir::DType type = options[0].is_none() ? default_dtype : require_dtype(builder, options[0]);
  Tensor result = filled(builder, std::move(shape), number, type);
  result.on_host = is_created_on_cpu(builder, result, options[1]);
  result.handle = record_contiguous(builder, result.grid);
  return result;
}

const Value& require_fill_value(const Builder& builder, const Builtin& self, const Value& value) {
  if (is_scalar(value)) return value;
  builder.fail(fmt::format("{}: `fill_value` must be a number, not {}", self.name, describe(value)),
               value.is_tensor() ? "write value.expand(size)" : "");
}

/// Implements zeros and ones.
Value call_constant(Builder& builder, const Builtin& self, Args args) {
  const Value number = Number{builder.integer(self.name == "ones" ? 1 : 0)};
  return make_full(builder, require_shape(builder, self, args[0]), number, builder.signature.default_dtype,
                   args.subspan(1));
}

Value call_full(Builder& builder, const Builtin& self, Args args) {
  if (!args[0].items()) builder.fail("full(): argument 'size' must be tuple of ints", "write full((n,), value)");
  const Value& number = require_fill_value(builder, self, args[1]);
  return make_full(builder, require_shape(builder, self, args[0]), number, type_of_scalar(builder, number),
                   args.subspan(2));
}

/// Implements x.new_…: the dtype and device default to those of x.
Value make_new_full(Builder& builder, const Builtin& self, const Value& input, const Value& sizes, const Value& number,
                    Args options) {
  const Tensor& x = require_tensor(builder, input, fmt::format("{}: `input`", self.name));
  const Value device = options[1].is_none() ? Value(device_of(builder, x)) : options[1];
  return make_full(builder, require_shape(builder, self, sizes), number, x.dtype, std::array{options[0], device});
}

/// Implements new_zeros and new_ones.
Value call_new_constant(Builder& builder, const Builtin& self, Args args) {
  const Value number = Number{builder.integer(self.name == "new_ones" ? 1 : 0)};
  return make_new_full(builder, self, args[0], args[1], number, args.subspan(2));
}

Value call_new_full(Builder& builder, const Builtin& self, Args args) {
  return make_new_full(builder, self, args[0], args[1], require_fill_value(builder, self, args[2]), args.subspan(3));
}

/// A bound of arange as an integer. Accepts a constant float that is a whole number.
ir::HostId integer_bound(Builder& builder, const Value& bound) {
  const ir::HostPool& host = builder.graph.host;
  if (!bound.is_number()) builder.fail(fmt::format("the bounds of arange must be integers, not {}", describe(bound)));
  const ir::HostId number = host.resolve(bound.number());
  if (host.kind(number) != ir::HostKind::Float) return number;
  if (host.is_constant(number)) {
    const double value = host.value(number).as_double();
    if (std::trunc(value) == value && std::abs(value) < 0x1p53) return builder.integer(static_cast<int64_t>(value));
  }
  builder.fail("the bounds of arange must be integers, not floats",
               "scale an integer range: start + step * torch.arange(n)");
}

Value call_arange(Builder& builder, const Builtin&, Args args) {
  ir::HostPool& host = builder.graph.host;
  const bool has_one_bound = args[1].is_none();
  const Value& first = args[0];
  const Value& last = has_one_bound ? args[0] : args[1];
  const ir::HostId start = has_one_bound ? builder.integer(0) : integer_bound(builder, first);
  const ir::HostId end = integer_bound(builder, last);
  const int64_t step = builder.static_number(integer_bound(builder, args[2])).as_int();
  if (step == 0) builder.fail("step must be nonzero");
  // The distance from start to end in the direction of the step.
  const ir::HostId span = builder.host(ir::HostOp::Sub, {step > 0 ? end : start, step > 0 ? start : end});
  builder.require(ir::Condition::Kind::NonNegative, span, "upper bound and lower bound inconsistent with step sign");
  const int64_t stride = std::abs(step);
  const ir::HostId rounded = builder.host(ir::HostOp::Add, {span, builder.integer(stride - 1)});
  const ir::HostId quotient = builder.host(ir::HostOp::FloorDiv, {rounded, builder.integer(stride)});
  const ir::HostId length = builder.host(ir::HostOp::Max, {quotient, builder.integer(0)});

  ir::NodeId node = index_position(builder, std::array{length}, 0);
  node = index_binary(builder, ir::Op::Mul, node, builder.integer(step));
  node = index_binary(builder, ir::Op::Add, node, start);
  const bool has_float = std::ranges::any_of(args.first(3), [&](const Value& bound) {
    return bound.is_number() && host.kind(bound.number()) == ir::HostKind::Float;
  });
  const ir::DType default_dtype = has_float ? builder.signature.default_dtype : ir::DType::I64;
  const ir::DType type = args[3].is_none() ? default_dtype : require_dtype(builder, args[3]);
  if (type == ir::DType::Bool) builder.fail("\"arange\" not implemented for bool", "write torch.arange(n) != 0");
  Tensor result = whole(builder, builder.with_location(rounded_to_dtype(builder, node, type)), type, {length});
  result.on_host = is_created_on_cpu(builder, result, args[4]);
  result.handle = record_contiguous(builder, result.grid);
  return result;
}

Value call_eye(Builder& builder, const Builtin& self, Args args) {
  const std::array<Value, 2> sizes{args[0], args[1].is_none() ? args[0] : args[1]};
  const Shape shape = require_shape(builder, self, Value::tuple({sizes.begin(), sizes.end()}));
  const ir::NodeId row = index_position(builder, shape, 0), column = index_position(builder, shape, 1);
  const ir::NodeId diagonal = builder.graph.add(ir::Op::Eq, ir::DType::Bool, {row, column});
  const ir::DType type = args[2].is_none() ? builder.signature.default_dtype : require_dtype(builder, args[2]);
  Tensor result = whole(builder, builder.with_location(rounded_to_dtype(builder, diagonal, type)), type, shape);
  result.on_host = is_created_on_cpu(builder, result, args[3]);
  result.handle = record_contiguous(builder, shape);
  return result;
}

/// One sample of random numbers: `count` 32-bit random words for each element of a tensor, adjacent in the random
/// stream. A word is an int64 from 0 to 2**32 - 1.
Value call_random_words(Builder& builder, const Builtin& self, Args args) {
  const Tensor& like = require_tensor(builder, args[0], self.name);
  const int64_t count = builder.static_int(args[1], "the number of words");
  const Shape shape = shape_of(builder, like);
  const ir::NodeId seed = builder.seed(), sample = index_scalar(builder, builder.integer(builder.next_random_index()));
  const ir::NodeId first = index_binary(builder, ir::Op::Mul, index_position(builder, shape), builder.integer(count));
  std::vector<Value> words;
  for (int64_t k = 0; k < count; ++k) {
    const ir::NodeId position = index_binary(builder, ir::Op::Add, first, builder.integer(k));
    const ir::NodeId node = builder.graph.add(ir::Op::RandomWord, ir::DType::I64, {seed, sample, position});
    Tensor word = whole(builder, builder.with_location(node), ir::DType::I64, shape);
    word.on_host = like.on_host;
    word.handle = record_contiguous(builder, shape);
    words.emplace_back(std::move(word));
  }
  return Value::tuple(std::move(words));
}

}  // namespace

std::vector<Builtin> factory_builtins() {
  return {
      {"zeros",
       "(*size, dtype=None, device=None)",
       kFunction,
       kNoMethod,
       {},
       call_constant,
       "a tensor of the given shape, filled with 0"},
      {"ones",
       "(*size, dtype=None, device=None)",
       kFunction,
       kNoMethod,
       {},
       call_constant,
       "a tensor of the given shape, filled with 1"},
      {"full",
       "(size, fill_value, *, dtype=None, device=None)",
       kFunction,
       kNoMethod,
       {},
       call_full,
       "a tensor of the given shape, filled with one number"},
      {"new_zeros",
       "(input, *size, dtype=None, device=None)",
       kNoFunction,
       kMethod,
       {},
       call_new_constant,
       "a tensor of the given shape, filled with 0, in the dtype of x"},
      {"new_ones",
       "(input, *size, dtype=None, device=None)",
       kNoFunction,
       kMethod,
       {},
       call_new_constant,
       "a tensor of the given shape, filled with 1, in the dtype of x"},
      {"new_full",
       "(input, size, fill_value, *, dtype=None, device=None)",
       kNoFunction,
       kMethod,
       {},
       call_new_full,
       "a tensor of the given shape, filled with one number, in the dtype of x"},
      {"arange",
       "(start, end=None, step=1, *, dtype=None, device=None)",
       kFunction,
       kNoMethod,
       {},
       call_arange,
       "start, start + step, … up to but without end"},
      {"eye",
       "(n, m=None, *, dtype=None, device=None)",
       kFunction,
       kNoMethod,
       {},
       call_eye,
       "1 on the diagonal of a matrix, 0 elsewhere"},
      {"_random_words", "(like, count)", kFunction, kNoMethod, {}, call_random_words},
  };
}

}  // namespace ingot::frontend
