#include "frontend/library/builtins.h"

#include <fmt/format.h>

#include <unordered_map>

#include "frontend/interpret/interpreter.h"
#include "frontend/library/builtin_tables.h"
#include "frontend/library/library.h"

namespace ingot::frontend {
namespace {

struct Tables {
  std::vector<Builtin> rows;
  std::unordered_map<std::string_view, const Builtin*> by_name;

  Tables() {
    for (auto table : {pointwise_builtins, view_builtins, type_builtins, index_builtins, refused_builtins}) {
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
  static const Tables built;
  return built;
}

/// The text between the first quotes of a def's docstring.
std::string_view docstring(const ast::Module& module, const ast::Function& function) {
  if (function.body.empty()) return {};
  const auto* statement = std::get_if<ast::ExprStmt>(&module[function.body.front()].node);
  const auto* constant = statement ? std::get_if<ast::Constant>(&module[statement->value].node) : nullptr;
  const auto* text = constant ? std::get_if<std::string>(&constant->value) : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

std::vector<const ast::Function*> public_definitions() {
  const ast::Module& module = library_module();
  std::vector<const ast::Function*> result;
  for (const ast::StmtId id : module.body) {
    const auto* def = std::get_if<ast::Def>(&module[id].node);
    if (def && !module[def->function].name.starts_with('_')) result.push_back(&module[def->function]);
  }
  return result;
}

}  // namespace

const Builtin* find_builtin(std::string_view name) {
  const auto found = tables().by_name.find(name);
  return found == tables().by_name.end() ? nullptr : found->second;
}

std::span<const Builtin> builtins() { return tables().rows; }

std::vector<std::string_view> library_names() {
  std::vector<std::string_view> names;
  for (const ast::Function* function : public_definitions()) names.push_back(function->name);
  return names;
}

std::vector<NameInfo> language_names() {
  std::vector<NameInfo> names;
  for (const Builtin& row : builtins()) {
    if (row.name.starts_with('_') || !row.refusal.empty() || !row.alias_of.empty()) continue;
    const bool primitive = ir::primitive_named(row.name).has_value();
    names.push_back({.kind = primitive ? NameInfo::Kind::Primitive : NameInfo::Kind::Builtin,
                     .name = row.name,
                     .aliases = {},
                     .is_function = row.is_function,
                     .is_method = row.is_method,
                     .summary = row.summary});
    for (const Builtin& other : builtins()) {
      if (other.alias_of == row.name) names.back().aliases.push_back(other.name);
    }
  }
  const ast::Module& module = library_module();
  for (const ast::Function* function : public_definitions()) {
    names.push_back({.kind = NameInfo::Kind::Library,
                     .name = function->name,
                     .aliases = {},
                     .is_function = true,
                     .is_method = has_decorator(module, *function, "method"),
                     .summary = docstring(module, *function)});
  }
  return names;
}

const Tensor& require_tensor(const Lowering& lowering, const Value& value, std::string_view what) {
  if (const Tensor* tensor = value.tensor()) return *tensor;
  lowering.fail(fmt::format("{} must be a tensor, not {}", what, describe(value)));
}

std::vector<Tensor> require_tensors(const Lowering& lowering, const Value& value, std::string_view what) {
  const std::vector<Value>* items = value.items();
  if (!items) {
    lowering.fail(fmt::format("{} takes a tuple or list of tensors, not {}", what, describe(value)),
                  fmt::format("write {}([x, y])", what));
  }
  if (items->empty()) lowering.fail(fmt::format("{} expects a non-empty list of tensors", what));
  std::vector<Tensor> tensors;
  for (const Value& item : *items)
    tensors.push_back(require_tensor(lowering, item, fmt::format("an item of {}", what)));
  return tensors;
}

ir::DType require_dtype(const Lowering& lowering, const Value& value) {
  if (value.is<ir::DType>()) return value.as<ir::DType>();
  // Python's own types, by the names of their functions.
  if (value.is<const Builtin*>()) {
    const std::string_view name = value.as<const Builtin*>()->name;
    if (name == "float") return ir::DType::F64;
    if (name == "int") return ir::DType::I64;
    if (name == "bool") return ir::DType::Bool;
  }
  lowering.fail(fmt::format("a dtype is expected, not {}", describe(value)), "such as torch.float32");
}

}  // namespace ingot::frontend
