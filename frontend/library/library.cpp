#include "frontend/library/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <span>
#include <unordered_map>

#include "base/embedded.h"
#include "base/error.h"
#include "frontend/frontend.h"
#include "frontend/library/builtins.h"
#include "frontend/syntax/ast_print.h"
#include "frontend/syntax/parser.h"
#include "frontend/tensor/diagnostics.h"

namespace ingot::frontend {

/// The library's files, which the build embeds.
extern const std::span<const EmbeddedFile> library_files;

namespace {

struct Library {
  std::deque<ast::Module> modules;
  std::vector<std::string_view> names;  ///< in the order of the files
  std::unordered_map<std::string_view, LibraryFunction> functions;

  Library() {
    for (const EmbeddedFile& file : library_files) {
      const std::string name = std::string(kLibraryPrefix) + std::string(file.name);
      read(modules.emplace_back(parse(std::make_shared<Source>(name, std::string(*file.text)))));
    }
  }

 private:
  void read(const ast::Module& module) {
    for (const ast::StmtId id : module.body) {
      const auto& statement = module[id].node;
      if (const auto* def = std::get_if<ast::Def>(&statement)) {
        add(module[def->function].name, {&module, def->function});
      } else if (const auto* alias = std::get_if<ast::Assign>(&statement)) {
        add(name_of(module, alias->targets.front()), functions.at(name_of(module, alias->value)));
      }
    }
  }
  void add(std::string_view name, LibraryFunction function) {
    if (!functions.emplace(name, function).second) throw_internal(fmt::format("the library has two `{}`", name));
    names.push_back(name);
  }
  static std::string_view name_of(const ast::Module& module, ast::ExprId id) {
    return std::get<ast::Name>(module[id].node).name;
  }
};

const Library& library() {
  static const Library parsed;
  return parsed;
}

/// The docstring of a def; empty if there is none.
std::string_view docstring(const LibraryFunction& function) {
  const ast::Module& module = *function.module;
  const ast::Block& body = function.definition().body;
  if (body.empty()) return {};
  const auto* statement = std::get_if<ast::ExprStmt>(&module[body.front()].node);
  const auto* constant = statement ? std::get_if<ast::Constant>(&module[statement->value].node) : nullptr;
  const auto* text = constant ? std::get_if<std::string>(&constant->value) : nullptr;
  return text ? std::string_view(*text) : std::string_view();
}

bool is_decorated(const LibraryFunction& function, std::string_view decorator) {
  return has_decorator(*function.module, function.definition(), decorator);
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

/// The text after "Source: " on its line; empty if there is none.
std::string_view source_of(std::string_view doc) {
  constexpr std::string_view kMark = "Source: ";
  const size_t begin = doc.find(kMark);
  return begin == std::string_view::npos ? std::string_view() : first_line(doc.substr(begin + kMark.size()));
}

/// The PyTorch file whose formula a primitive's device code repeats; empty if there is none.
std::string_view primitive_source(std::string_view name) {
  if (name == "gcd") return "aten/src/ATen/native/cuda/GcdLcmKernel.cu";
  if (name == "zeta") return "aten/src/ATen/native/cuda/Math.cuh, zeta_string";
  if (name == "igamma" || name == "igammac") return "aten/src/ATen/native/cuda/IGammaKernel.cu";
  return {};
}

NameInfo info_of(const Builtin& row) {
  NameInfo info{.kind = ir::primitive_named(row.name) ? NameInfo::Kind::Primitive : NameInfo::Kind::Builtin,
                .name = row.name,
                .aliases = {},
                .is_function = row.is_function,
                .is_method = row.is_method,
                .summary = row.summary,
                .signature = std::string(row.signature),
                .source = primitive_source(row.name)};
  for (const Builtin& other : builtins()) {
    if (other.alias_of == row.name) info.aliases.push_back(other.name);
  }
  return info;
}

}  // namespace

const LibraryFunction* find_library_function(std::string_view name) {
  const auto entry = library().functions.find(name);
  return entry == library().functions.end() ? nullptr : &entry->second;
}

const LibraryFunction* find_library_method(std::string_view name) {
  if (const LibraryFunction* method = find_library_function(fmt::format("_method_{}", name))) return method;
  const LibraryFunction* function = find_library_function(name);
  return function && (is_decorated(*function, "method") || is_decorated(*function, "only_method")) ? function : nullptr;
}

bool is_only_method(std::string_view name) {
  const LibraryFunction* function = find_library_function(name);
  return function && is_decorated(*function, "only_method");
}

bool is_library(const ast::Module& module) { return module.source->name().starts_with(kLibraryPrefix); }

bool has_decorator(const ast::Module& module, const ast::Function& function, std::string_view name) {
  return std::ranges::any_of(function.decorators, [&](ast::ExprId id) {
    const auto* decorator = std::get_if<ast::Name>(&module[id].node);
    return decorator && decorator->name == name;
  });
}

std::vector<std::string_view> library_names() {
  std::vector<std::string_view> names;
  for (const std::string_view name : library().names) {
    if (!name.starts_with('_')) names.push_back(name);
  }
  return names;
}

std::vector<NameInfo> language_names() {
  std::vector<NameInfo> names;
  for (const Builtin& row : builtins()) {
    if (!row.name.starts_with('_') && row.refusal.empty() && row.alias_of.empty()) names.push_back(info_of(row));
  }
  for (const std::string_view name : library_names()) {
    const LibraryFunction& function = *find_library_function(name);
    const std::string& defined = function.definition().name;
    if (name != defined) {
      std::ranges::find(names, defined, &NameInfo::name)->aliases.push_back(name);
      continue;
    }
    names.push_back({.kind = NameInfo::Kind::Library,
                     .name = name,
                     .aliases = {},
                     .is_function = !is_only_method(name),
                     .is_method = find_library_method(name) != nullptr,
                     .summary = first_line(docstring(function)),
                     .signature = signature_text(*function.module, function.definition()).substr(defined.size()),
                     .source = source_of(docstring(function)),
                     .is_composite = !has_decorator(*function.module, function.definition(), "native") &&
                                     !has_decorator(*function.module, function.definition(), "reduction")});
  }
  return names;
}

}  // namespace ingot::frontend
