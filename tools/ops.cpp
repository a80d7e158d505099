#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "frontend/frontend.h"
#include "tools/commands.h"
#include "tools/ops_page.h"

namespace ingot::tools {

namespace {

const char* kind_name(frontend::NameInfo::Kind kind) {
  switch (kind) {
    case frontend::NameInfo::Kind::Primitive:
      return "primitive";
    case frontend::NameInfo::Kind::Builtin:
      return "builtin";
    case frontend::NameInfo::Kind::Library:
      return "library";
  }
  return "";
}

void print_json(const std::vector<frontend::NameInfo>& names) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const frontend::NameInfo& info : names)
    list.push_back({{"name", info.name},
                    {"kind", kind_name(info.kind)},
                    {"aliases", info.aliases},
                    {"function", info.is_function},
                    {"method", info.is_method},
                    {"summary", info.summary}});
  std::printf("%s\n", list.dump(2).c_str());
}

/// A function's name and its aliases: "maximum"; "x.float" for a function that is only a method.
std::string names_of(const frontend::NameInfo& info) {
  std::string text = (info.is_function ? "" : "x.") + std::string(info.name);
  for (std::string_view alias : info.aliases) text += ", " + std::string(alias);
  return text;
}

void print_table(const std::vector<frontend::NameInfo>& names) {
  size_t width = 0;
  for (const frontend::NameInfo& info : names) width = std::max(width, std::min<size_t>(names_of(info).size(), 36));
  for (const frontend::NameInfo& info : names)
    std::printf("%-*s  %-9s  %.*s\n", static_cast<int>(width), names_of(info).c_str(), kind_name(info.kind),
                static_cast<int>(info.summary.size()), info.summary.data());
  std::printf("%zu functions\n", names.size());
}

}  // namespace

void add_ops(CLI::App& program, int&) {
  auto json = std::make_shared<bool>(false), markdown = std::make_shared<bool>(false);
  CLI::App* command = program.add_subcommand("ops", "List the supported functions");
  auto* as_json = command->add_flag("--json", *json, "print JSON");
  command->add_flag("--markdown", *markdown, "print docs/ops.md, with dtypes and formulas")->excludes(as_json);
  command->callback([json, markdown] {
    std::vector<frontend::NameInfo> names = frontend::language_names();
    std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    if (*markdown)
      std::printf("%s", ops_page(names).c_str());
    else
      *json ? print_json(names) : print_table(names);
  });
}

}  // namespace ingot::tools
