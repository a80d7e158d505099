#include "frontend/library/builtins.h"

#include <fmt/format.h>

#include <unordered_map>

#include "frontend/library/builtin_tables.h"

namespace ingot::frontend {
namespace {

struct Tables {
  std::vector<Builtin> rows;
  std::unordered_map<std::string_view, const Builtin*> by_name;

  Tables() {
    for (auto table :
         {pointwise_builtins, view_builtins, window_builtins, cast_builtins, gradient_builtins, factory_builtins,
          constant_builtins, index_builtins, reduction_builtins, in_place_builtins, refused_builtins}) {
      for (Builtin& row : table()) rows.push_back(row);
    }
    for (const Builtin& row : rows) {
      if (!by_name.emplace(row.name, &row).second) {
        throw_internal(fmt::format("two builtins are called {}", row.name));
      }
    }
  }
};

const Tables& tables() {
  static const Tables joined;
  return joined;
}

}  // namespace

const Builtin* find_builtin(std::string_view name) {
  const auto entry = tables().by_name.find(name);
  return entry == tables().by_name.end() ? nullptr : entry->second;
}

std::span<const Builtin> builtins() { return tables().rows; }

const Tensor& require_tensor(const Builder& builder, const Value& value, std::string_view what) {
  if (const Tensor* tensor = value.tensor()) return *tensor;
  builder.fail(fmt::format("{} must be a tensor, not {}", what, describe(value)));
}

std::vector<Tensor> require_tensors(const Builder& builder, const Value& value, std::string_view what) {
  const std::vector<Value>* items = value.items();
  if (!items) {
    builder.fail(fmt::format("{} takes a tuple or list of tensors, not {}", what, describe(value)),
                 fmt::format("write {}([x, y])", what));
  }
  if (items->empty()) builder.fail(fmt::format("{} expects a non-empty list of tensors", what));
  std::vector<Tensor> tensors;
  for (const Value& item : *items) tensors.push_back(require_tensor(builder, item, fmt::format("an item of {}", what)));
  return tensors;
}

ir::HostId integer_argument(Builder& builder, const Value& value, std::string_view what) {
  if (value.is_number() && builder.graph.host.kind(value.number()) != ir::HostKind::Float) {
    return builder.graph.host.resolve(value.number());
  }
  builder.fail(fmt::format("{} must be an integer, not {}", what, value.is_number() ? "a float" : describe(value)),
               value.is_tensor() ? "the shape of a result cannot depend on the values of a tensor" : "");
}

ir::DType require_dtype(const Builder& builder, const Value& value) {
  if (value.is<ir::DType>()) return value.as<ir::DType>();
  // Python's own types are represented by the functions that construct them.
  if (value.is<const PythonFunction*>()) {
    const std::string_view name = value.as<const PythonFunction*>()->name;
    if (name == "float") return ir::DType::F64;
    if (name == "int") return ir::DType::I64;
    if (name == "bool") return ir::DType::Bool;
  }
  builder.fail(fmt::format("a dtype is expected, not {}", describe(value)), "such as torch.float32");
}

}  // namespace ingot::frontend
