#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "frontend/library/builtin_tables.h"
#include "frontend/tensor/device.h"
#include "frontend/tensor/layouts.h"
#include "frontend/tensor/promotion.h"
#include "frontend/tensor/reindex.h"
#include "frontend/tensor/tensors.h"
#include "frontend/tensor/views.h"

// Constants: tensors of numbers in the op's source, and the limits of dtypes.

namespace ingot::frontend {
namespace {

/// The numbers of nested lists, as torch.tensor takes them.
struct NumberTable {
  std::vector<int64_t> sizes;
  std::vector<ir::HostId> numbers;  ///< in row-major order
};

/// Appends the numbers of `data` to the table, and checks the lists' lengths against the table's sizes. `depth`: the
/// number of lists around `data`.
void read_numbers(Builder& builder, const Value& data, size_t depth, NumberTable& table) {
  constexpr size_t kMaxNumbers = 256;
  const std::vector<Value>* items = data.items();
  if (!items && !data.is_number()) {
    builder.fail(fmt::format("torch.tensor takes numbers and nested lists of numbers, not {}", describe(data)),
                 data.is_tensor() ? "combine tensors with torch.stack" : "");
  }
  const bool fits = items ? depth < table.sizes.size() && table.sizes[depth] == static_cast<int64_t>(items->size())
                          : depth == table.sizes.size();
  if (!fits) builder.fail("torch.tensor: the lists of a dim must all have the same length");
  if (!items) {
    if (table.numbers.size() == kMaxNumbers) {
      builder.fail(fmt::format("torch.tensor of more than {} numbers", kMaxNumbers), "pass the values as a parameter");
    }
    table.numbers.push_back(data.number());
    return;
  }
  for (const Value& item : *items) read_numbers(builder, item, depth + 1, table);
}

NumberTable read_table(Builder& builder, const Value& data) {
  constexpr size_t kMaxDims = 64;
  NumberTable table;
  for (const Value* list = &data; list->items(); list = &list->items()->front()) {
    if (table.sizes.size() == kMaxDims) builder.fail(fmt::format("torch.tensor of more than {} dims", kMaxDims));
    table.sizes.push_back(static_cast<int64_t>(list->items()->size()));
    if (list->items()->empty()) builder.fail("torch.tensor of an empty list has no elements", "remove it");
  }
  read_numbers(builder, data, 0, table);
  return table;
}

/// Selects numbers[position - first] with a binary tree of Where nodes.
ir::NodeId select_number(Builder& builder, std::span<const ir::NodeId> numbers, ir::NodeId position, int64_t first) {
  if (numbers.size() == 1) return numbers[0];
  const size_t half = numbers.size() / 2;
  const int64_t middle = first + static_cast<int64_t>(half);
  ir::Graph& graph = builder.graph;
  const ir::NodeId low = select_number(builder, numbers.first(half), position, first);
  const ir::NodeId high = select_number(builder, numbers.subspan(half), position, middle);
  const ir::NodeId is_low =
      graph.add(ir::Op::Lt, ir::DType::Bool, {position, graph.scalar(ir::DType::I64, builder.integer(middle))});
  return graph.add(ir::Op::Where, graph[low].dtype, {is_low, low, high});
}

Value call_tensor(Builder& builder, const Builtin&, Args args) {
  if (const Tensor* x = args[0].tensor()) return copied(builder, *x);
  const NumberTable table = read_table(builder, args[0]);
  ir::DType type = ir::DType::Bool;
  for (const ir::HostId number : table.numbers) type = std::max(type, type_of_number(builder, number));
  if (!args[1].is_none()) type = require_dtype(builder, args[1]);
  const NumberCast cast = ir::is_floating(type) ? NumberCast::Rounded : NumberCast::Checked;
  std::vector<ir::NodeId> nodes;
  for (const ir::HostId number : table.numbers) {
    nodes.push_back(number_tensor(builder, number, type, cast).blocks.front().node);
  }
  Shape shape;
  for (const int64_t size : table.sizes) shape.push_back(builder.integer(size));
  ir::NodeId position = builder.graph.scalar(ir::DType::I64, builder.integer(0));
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    position = index_binary(builder, ir::Op::Mul, position, shape[dim]);
    position = builder.graph.add(ir::Op::Add, ir::DType::I64, {position, index_position(builder, shape, dim)});
  }
  Tensor result = whole(builder, builder.with_location(select_number(builder, nodes, position, 0)), type, shape);
  result.on_host = is_created_on_cpu(builder, result, args[2]);
  result.handle = record_contiguous(builder, shape);
  return result;
}

/// Implements torch.finfo(dtype) and torch.iinfo(dtype).
Value call_limits(Builder& builder, const Builtin& self, Args args) {
  const bool is_finfo = self.name == "finfo";
  if (is_finfo && args[0].is_none()) return NumberLimits{builder.signature.default_dtype};
  const ir::DType type = require_dtype(builder, args[0]);
  if (ir::category(type) != (is_finfo ? ir::Category::Floating : ir::Category::Integral)) {
    builder.fail(fmt::format("torch.{}() takes {} dtype, not {}", self.name,
                             is_finfo ? "a floating-point" : "an integer", name_of(type)),
                 type == ir::DType::Bool ? "" : fmt::format("use torch.{}", is_finfo ? "iinfo" : "finfo"));
  }
  return NumberLimits{type};
}

}  // namespace

std::vector<Builtin> constant_builtins() {
  return {
      {"tensor",
       "(data, *, dtype=None, device=None)",
       kFunction,
       kNoMethod,
       {},
       call_tensor,
       "a number as a 0-dim tensor, nested lists of numbers as a tensor of constants"},
      {"finfo",
       "(dtype=None)",
       kFunction,
       kNoMethod,
       {},
       call_limits,
       "the limits of a floating-point dtype: eps, max, min, tiny, smallest_normal, resolution, bits"},
      {"iinfo", "(dtype)", kFunction, kNoMethod, {}, call_limits, "the limits of an integer dtype: max, min, bits"},
  };
}

}  // namespace ingot::frontend
