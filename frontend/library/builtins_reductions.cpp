#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "frontend/library/builtin_tables.h"
#include "frontend/tensor/reduce.h"
#include "frontend/tensor/shapes.h"

// The reductions that are primitives (ir/reductions.def); library/reductions.py makes PyTorch's own of them.

namespace ingot::frontend {
namespace {

/// Dims as reductions take them: a number, several, or all of them where it is None or empty.
std::vector<size_t> reduced_dims(Builder& builder, const Value& dims, size_t rank) {
  const bool all = dims.is_none() || (dims.items() && dims.items()->empty());
  if (!all && rank > 0) return resolve_dims(builder, dims, rank);
  if (!all)  // a tensor without dims takes 0 and -1
    for (const Value& dim : dims.items() ? *dims.items() : std::vector<Value>{dims}) resolve_dim(builder, dim, 1);
  std::vector<size_t> result(rank);
  std::iota(result.begin(), result.end(), size_t{0});
  return result;
}

Value call_reduce(Builder& builder, const Builtin&, Args args) {
  const std::string function = args[4].is_none() ? std::string() : args[4].as<std::string>();
  const Tensor& x = require_tensor(builder, args[1], fmt::format("{}: `input`", function));
  const auto kind = ir::reduction_named(args[0].as<std::string>());
  const std::vector<size_t> dims = reduced_dims(builder, args[2], x.rank());
  const bool keepdim = builder.static_bool(args[3], fmt::format("{}: `keepdim`", function));
  std::vector<Value> values;
  for (Tensor& value : reduce(builder, *kind, x, dims, keepdim, function)) values.emplace_back(std::move(value));
  return values.size() == 1 ? values[0] : Value::tuple(std::move(values));
}

/// The dims that a reduction over `dim` has, as a tuple, ascending.
Value call_reduced_dims(Builder& builder, const Builtin&, Args args) {
  const Tensor& x = require_tensor(builder, args[0], "`input`");
  std::vector<size_t> dims = reduced_dims(builder, args[1], x.rank());
  std::ranges::sort(dims);
  std::vector<Value> values;
  for (const size_t dim : dims) values.emplace_back(Number{builder.integer(static_cast<int64_t>(dim))});
  return Value::tuple(std::move(values));
}

/// The size of a dim, known where it is up to 16, as if a constant index had touched it.
Value call_touched_size(Builder& builder, const Builtin&, Args args) {
  const Tensor& x = require_tensor(builder, args[0], "`input`");
  const ir::HostId size = shape_of(builder, x)[resolve_dim(builder, args[1], x.rank())];
  touch(builder, size);
  return Number{builder.graph.host.resolve(size)};
}

}  // namespace

std::vector<Builtin> reduction_builtins() {
  return {
      {"_reduce", "(kind, input, dim, keepdim, function)", kFunction, kNoMethod, {}, call_reduce},
      {"_reduced_dims", "(input, dim)", kFunction, kNoMethod, {}, call_reduced_dims},
      {"_touched_size", "(input, dim)", kFunction, kNoMethod, {}, call_touched_size},
  };
}

}  // namespace ingot::frontend
