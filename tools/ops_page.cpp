#include "tools/ops_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace ingot::tools {
namespace {

using frontend::NameInfo;
using ir::DType;

constexpr std::string_view kHead = R"(# Supported functions

This page is the output of `ingot ops --markdown`, and a test keeps them equal.

*Takes* lists the dtypes for which a call is accepted, on either device. All tensors of the call have that dtype, except
that `index` and `indices` are int64, and `mask` and `condition` are bool. `integers` are uint8 and int8 to int64.
`floats` are float16, bfloat16, float32 and float64. `any` is bool, `integers` and `floats`. `unsigned` are uint16,
uint32 and uint64. `float8` are its four kinds. The cell is empty if a function takes no tensor, or if it accepts none of
the calls that this page tries, with tensors of one to four dims of size 1 or 2.

*Formula* is the origin of the formula. `primitive` is one operation of the hardware or of the C library (libm, CUDA's).
`composite` means that a call is compiled as a sequence of other functions, and rounded as in eager. A path is the PyTorch
file with the kernel whose formula Ingot repeats. The cell is empty if *gives* is the whole definition, as for views,
casts and reductions.

| name | takes | gives | formula |
| --- | --- | --- | --- |
)";

/// The names of the parameters that a call must pass: those without defaults, up to a `*`, and including a `*name`.
std::vector<std::string> required_parameters(std::string_view signature) {
  std::vector<std::string> names;
  std::string_view rest = signature.substr(1, signature.size() - 2);
  while (!rest.empty()) {
    const std::string_view parameter = rest.substr(0, rest.find(", "));
    if (parameter == "*" || parameter.find('=') != std::string_view::npos) break;
    names.emplace_back(parameter);
    rest.remove_prefix(std::min(rest.size(), parameter.size() + 2));
  }
  return names;
}

bool is_accepted(const frontend::Definition& call, frontend::Device device, DType type) {
  frontend::ArgumentSpec spec;
  spec.dtype = type;
  spec.rank = 2;
  frontend::Signature signature;
  signature.device = device;
  signature.arguments = {spec};
  const frontend::SymbolValues symbol_values{[](uint32_t, uint32_t) { return int64_t{2}; },
                                             [](uint32_t) { return ir::HostValue::of(int64_t{1}); }};
  try {
    frontend::lower(call, signature, symbol_values);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// The dtypes of x for which lowering accepts the call `text`. Before the call, x is a matrix and becomes `view`.
std::vector<DType> accepted_dtypes(const std::string& text, std::string_view view) {
  const auto call = frontend::define(fmt::format("def call(x):\n  x = {}\n  {}\n  return x.clone()", view, text));
  std::vector<DType> types;
  for (int i = 0; i < ir::kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    if (is_accepted(*call, frontend::Device::Cpu, type) || is_accepted(*call, frontend::Device::Cuda, type)) {
      types.push_back(type);
    }
  }
  return types;
}

/// The argument for a parameter whose name implies a special kind; empty for all others.
std::string_view argument_named(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
      {"mask", "x.bool()"},
      {"condition", "x.bool()"},
      {"index", "x.long()"},
      {"indices", "x.long()"},
      {"dim", "0"},
      {"weight", "x[0]"},
      {"value", "1"},
      {"threshold", "1"},
      {"tensors", "[x, x]"},
      {"n", "1"},
      {"p", "1"},
      {"data", "[1]"},
      {"dtype", "torch.float32"},
      {"target", "x"},
      {"*tensors", "x, x"},
      {"*dims", "(0, 1)"},
      {"*size", "(2, 2)"},
      {"*sizes", "(2, 2)"},
      {"*shape", "(2, 2)"},
      {"*repeats", "(1, 1)"},
      {"*targets", "torch.float32"},
      {"sizes", "(1, 2)"},
      {"fill_value", "1"},
      {"normalized_shape", "(2,)"},
      {"running_mean", "x[0]"},
      {"running_var", "x[0]"},
      {"vec", "x[0]"},
      {"pad", "(1, 1)"},
      {"equation", "\"ij,jk\""},
      {"*operands", "x, x"},
  };
  const auto match = std::ranges::find(kKnown, name, &std::pair<std::string_view, std::string_view>::first);
  return match == std::end(kKnown) ? std::string_view() : match->second;
}

/// Calls of a function on x, the simplest first.
std::vector<std::string> calls_of(const NameInfo& info) {
  std::vector<std::string> calls;
  for (const std::string_view filler : {"x", "1", "(2, 2)"}) {
    std::string arguments;
    for (const std::string& name : required_parameters(info.signature)) {
      const std::string_view argument = argument_named(name);
      arguments += arguments.empty() && argument.empty()
                       ? "x"
                       : (arguments.empty() ? "" : ", ") + std::string(argument.empty() ? filler : argument);
    }
    if (info.signature.find("reduction=") != std::string::npos) arguments += ", reduction=\"none\"";
    if (info.name == "clamp") arguments += ", 1";
    if (info.name == "where") arguments += ", x, x";
    if (!info.is_function) {
      calls.push_back(fmt::format("x.{}({})", info.name, arguments.substr(std::min<size_t>(arguments.size(), 3))));
      continue;
    }
    for (const std::string_view prefix : {"torch", "F"})  // torch.dropout has more required parameters than F.dropout
      calls.push_back(fmt::format("{}.{}({})", prefix, info.name, arguments));
  }
  return calls;
}

std::vector<DType> dtypes_of(const NameInfo& info) {
  for (const std::string_view view : {"x", "x[None]", "x[None, None]", "x[0]"}) {
    for (const std::string& call : calls_of(info)) {
      if (info.is_function && call.find('x', call.find('(')) == std::string::npos) continue;  // no argument is a tensor
      if (std::vector<DType> types = accepted_dtypes(call, view); !types.empty()) return types;
    }
  }
  return {};
}

struct Group {
  std::string_view name;
  std::vector<DType> types;
};

/// The page's words for groups of dtypes, the wider first.
const std::vector<Group>& groups() {
  static const std::vector<Group> all = [] {
    const Group integers{"integers", {DType::U8, DType::I8, DType::I16, DType::I32, DType::I64}};
    const Group floats{"floats", {DType::F16, DType::BF16, DType::F32, DType::F64}};
    Group any{"any", {DType::Bool}};
    for (const Group& group : {integers, floats})
      any.types.insert(any.types.end(), group.types.begin(), group.types.end());
    return std::vector<Group>{
        any,
        integers,
        floats,
        {"unsigned", {DType::U16, DType::U32, DType::U64}},
        {"float8", {DType::F8E4M3FN, DType::F8E5M2, DType::F8E4M3FNUZ, DType::F8E5M2FNUZ}},
    };
  }();
  return all;
}

std::string join_names(std::vector<DType> types) {
  std::vector<std::string_view> words;
  if (std::erase(types, DType::Bool) > 0) words.push_back("bool");
  for (const Group& group : groups()) {
    const auto is_listed = [&](DType type) {
      return type == DType::Bool ? !words.empty() : std::ranges::count(types, type) > 0;
    };
    if (!std::ranges::all_of(group.types, is_listed)) continue;
    if (group.name == "any") words.clear();
    words.push_back(group.name);
    std::erase_if(types, [&](DType type) { return std::ranges::count(group.types, type) > 0; });
  }
  for (const DType type : types) words.push_back(ir::name_of(type));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string name_cell(const NameInfo& info) {
  std::string text = fmt::format("`{}{}`", info.name, info.signature);
  if (!info.is_function) {  // x.name(…): the first parameter is x
    const size_t comma = info.signature.find(", ");
    text = fmt::format("`x.{}({}`", info.name, comma == std::string::npos ? ")" : info.signature.substr(comma + 2));
  }
  for (const std::string_view alias : info.aliases) text += fmt::format(", `{}`", alias);
  return text;
}

/// Escapes bars, which would end the table cell.
std::string escape_bars(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, 1, '\\');
  return text;
}

std::string formula_cell(const NameInfo& info) {
  if (!info.source.empty()) return std::string(info.source);
  if (info.kind == NameInfo::Kind::Primitive) return "primitive";
  return info.is_composite ? "composite" : "";
}

}  // namespace

std::string ops_page(const std::vector<NameInfo>& names) {
  std::string text(kHead);
  for (const NameInfo& info : names) {
    text += fmt::format("| {} | {} | {} | {} |\n", name_cell(info), join_names(dtypes_of(info)),
                        escape_bars(std::string(info.summary)), formula_cell(info));
  }
  return text;
}

}  // namespace ingot::tools
