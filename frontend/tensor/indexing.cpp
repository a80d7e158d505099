#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "frontend/tensor/gather.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/views.h"

// x[…] with PyTorch's meaning of integers, slices, None, … and integer tensors.

namespace ingot::frontend {
namespace {

bool takes_dim(const Value& index) { return !index.is_none() && !index.is<Ellipsis>(); }

/// The items of an index, with … expanded to full slices.
std::vector<Value> expanded_items(Builder& builder, const Value& index, size_t rank) {
  std::vector<Value> items{index};
  if (index.is<Tuple>()) items = *index.items();
  const auto used = static_cast<size_t>(std::ranges::count_if(items, takes_dim));
  if (used > rank) {
    builder.fail(fmt::format("too many indices for a tensor of dimension {}: {} are given", rank, used));
  }
  const auto is_ellipsis = [](const Value& item) { return item.is<Ellipsis>(); };
  if (std::ranges::count_if(items, is_ellipsis) > 1) builder.fail("an index can have only one `...`");
  auto ellipsis = std::ranges::find_if(items, is_ellipsis);
  if (ellipsis == items.end()) return items;
  ellipsis = items.erase(ellipsis);
  items.insert(ellipsis, rank - used,
               Slice{std::make_shared<const std::array<Value, 3>>(std::array<Value, 3>{None{}, None{}, None{}})});
  return items;
}

std::optional<ir::HostId> slice_bound(Builder& builder, const Value& value) {
  if (value.is_none()) return std::nullopt;
  if (!value.is_number() || builder.graph.host.kind(value.number()) == ir::HostKind::Float) {
    builder.fail(fmt::format("the bounds of a slice must be integers or None, not {}", describe(value)),
                 value.is_tensor() ? "the size of a result cannot depend on the values of a tensor" : "");
  }
  return builder.graph.host.resolve(value.number());
}

Tensor sliced_by(Builder& builder, const Tensor& x, size_t dim, const Slice& range) {
  const auto& [start, stop, step] = *range.bounds;
  const int64_t stride = step.is_none() ? 1 : builder.static_int(step, "the step of a slice");
  return slice(builder, x, dim, slice_bound(builder, start), slice_bound(builder, stop), stride);
}

ir::HostId integer_index(Builder& builder, const Value& item) {
  if (item.is_number()) {
    const ir::HostId index = builder.graph.host.resolve(item.number());
    if (builder.graph.host.kind(index) == ir::HostKind::Int) return index;
  }
  builder.fail(fmt::format("only integers, slices (`:`), ellipsis (`...`), None and integer tensors are valid indices, "
                           "not {}",
                           item.is_number() ? "a bool or a float" : describe(item)),
               item.items() ? "stack the parts that you want: stack([x[0], x[2]])" : "");
}

}  // namespace

Value tensor_getitem(Builder& builder, const Value& value, const Value& index) {
  Tensor x = *value.tensor();
  std::map<size_t, Tensor> indices;
  size_t dim = 0;
  for (const Value& item : expanded_items(builder, index, x.rank())) {
    if (item.is_none()) {
      x = unsqueeze(builder, x, dim++);
    } else if (item.is<Slice>()) {
      x = sliced_by(builder, x, dim++, item.as<Slice>());
    } else if (const Tensor* tensor = item.tensor()) {
      const bool is_integer = ir::category(tensor->dtype) == ir::Category::Integral && tensor->dtype != ir::DType::U8;
      if (tensor->rank() == 0 && is_integer) {
        x = select_by_tensor(builder, x, dim, *tensor);
      } else {
        indices.emplace(dim++, *tensor);
      }
    } else {
      x = select(builder, x, dim, integer_index(builder, item));
    }
  }
  if (indices.empty()) return x;
  return index_by_tensors(builder, x, indices);
}

std::vector<Value> tensor_iterate(Builder& builder, const Value& value) {
  if (value.tensor()->rank() == 0) builder.fail("iteration over a 0-dim tensor");
  return unbind(builder, *value.tensor(), 0);
}

}  // namespace ingot::frontend
