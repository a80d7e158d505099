#include "frontend/library/library.h"

#include <algorithm>
#include <map>

#include "frontend/frontend.h"
#include "frontend/library/builtins.h"
#include "frontend/syntax/parser.h"
#include "frontend/tensor/diagnostics.h"

namespace ingot::frontend {

/// The text of library.py, embedded by the build.
extern const std::string_view library_library_py;

namespace {

struct Library {
  struct Name {
    std::string_view name;
    ast::FunctionId function;
  };

  ast::Module module;
  std::vector<Name> names;  ///< in the order of the text
  std::map<std::string_view, ast::FunctionId> definitions;

  Library() : module(parse(std::make_shared<Source>(std::string(kLibraryName), std::string(library_library_py)))) {
    for (const ast::StmtId id : module.body) {
      const auto& statement = module[id].node;
      if (const auto* def = std::get_if<ast::Def>(&statement)) add(module[def->function].name, def->function);
      if (const auto* alias = std::get_if<ast::Assign>(&statement)) {
        add(name_of(alias->targets.front()), definitions.at(name_of(alias->value)));
      }
    }
  }

 private:
  void add(std::string_view name, ast::FunctionId function) {
    names.push_back({name, function});
    definitions.insert_or_assign(name, function);
  }
  std::string_view name_of(ast::ExprId id) const { return std::get<ast::Name>(module[id].node).name; }
};

const Library& library() {
  static const Library parsed;
  return parsed;
}

/// The text between the first quotes of a def's docstring.
std::string_view docstring(const ast::Module& module, const ast::Function& function) {
  if (function.body.empty()) return {};
  const auto* statement = std::get_if<ast::ExprStmt>(&module[function.body.front()].node);
  const auto* constant = statement ? std::get_if<ast::Constant>(&module[statement->value].node) : nullptr;
  const auto* text = constant ? std::get_if<std::string>(&constant->value) : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

NameInfo info_of(const Builtin& row) {
  NameInfo info{.kind = ir::primitive_named(row.name) ? NameInfo::Kind::Primitive : NameInfo::Kind::Builtin,
                .name = row.name,
                .aliases = {},
                .is_function = row.is_function,
                .is_method = row.is_method,
                .summary = row.summary};
  for (const Builtin& other : builtins()) {
    if (other.alias_of == row.name) info.aliases.push_back(other.name);
  }
  return info;
}

}  // namespace

const ast::Module& library_module() { return library().module; }

ast::FunctionId library_definition(std::string_view name) {
  const auto found = library().definitions.find(name);
  return found == library().definitions.end() ? ast::FunctionId{} : found->second;
}

bool is_library_method(std::string_view name) {
  const ast::FunctionId id = library_definition(name);
  return id && has_decorator(library().module, library().module[id], "method");
}

bool has_decorator(const ast::Module& module, const ast::Function& function, std::string_view name) {
  return std::ranges::any_of(function.decorators, [&](ast::ExprId id) {
    const auto* decorator = std::get_if<ast::Name>(&module[id].node);
    return decorator && decorator->name == name;
  });
}

std::vector<std::string_view> library_names() {
  std::vector<std::string_view> names;
  for (const Library::Name& one : library().names) {
    if (!one.name.starts_with('_')) names.push_back(one.name);
  }
  return names;
}

std::vector<NameInfo> language_names() {
  std::vector<NameInfo> names;
  for (const Builtin& row : builtins()) {
    if (!row.name.starts_with('_') && row.refusal.empty() && row.alias_of.empty()) names.push_back(info_of(row));
  }
  const ast::Module& module = library_module();
  for (const std::string_view name : library_names()) {
    const ast::Function& function = module[library_definition(name)];
    if (name != function.name) {
      std::ranges::find(names, function.name, &NameInfo::name)->aliases.push_back(name);
      continue;
    }
    names.push_back({.kind = NameInfo::Kind::Library,
                     .name = name,
                     .aliases = {},
                     .is_function = true,
                     .is_method = is_library_method(name),
                     .summary = docstring(module, function)});
  }
  return names;
}

}  // namespace ingot::frontend
