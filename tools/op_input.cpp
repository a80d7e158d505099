#include "tools/op_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "runtime/api/op_state.h"
#include "runtime/call/dtypes.h"
#include "runtime/call/refusals.h"

namespace ingot::tools {

namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (std::filesystem::is_directory(path)) throw_author({}, "`" + path + "` is a folder", "name a file in it");
  if (!file) throw_author({}, "there is no file `" + path + "` to read", "an expression is given with -e");
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

/// Splits FILE or FILE:op.
std::pair<std::string, std::string> file_and_name(const std::string& word) {
  size_t colon = word.rfind(':');
  if (colon == word.npos || std::filesystem::exists(word)) return {word, {}};
  return {word.substr(0, colon), word.substr(colon + 1)};
}

frontend::Numerics numerics_named(const std::string& name) {
  if (name == "eager") return frontend::Numerics::Eager;
  if (name == "fast") return frontend::Numerics::Fast;
  return frontend::Numerics::Default;
}

Lazy lazy_named(const std::string& name) {
  if (name == "always") return Lazy::Always;
  if (name == "never") return Lazy::Never;
  return Lazy::Auto;
}

size_t parameter_index(const Op& op, std::string_view name) {
  std::span<const frontend::Parameter> parameters = op.parameters();
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == name) return i;
  runtime::refuse_keyword(op.state().definition(), name);
}

std::string list(c10::IntArrayRef values) {
  std::string text = "[";
  for (int64_t value : values) text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  return text + "]";
}

}  // namespace

void OpInput::add_to(CLI::App& command) {
  command.add_option("op", words, "FILE[:op], then name=value for each parameter");
  command.add_option("-e,--expression", expression, "an expression instead of a file: -e \"relu(x) + y\"");
  command
      .add_option("--numerics", numerics,
                  "rounding: default; eager rounds 16-bit floats after each operation; fast allows fast math")
      ->check(CLI::IsMember({"default", "eager", "fast"}));
  command
      .add_option("--lazy", lazy,
                  "whether `where` computes a branch only for the elements that select it: auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command
      .add_option(
          "--gradient", gradient,
          "the op's gradient with respect to these parameters instead: --gradient x,y; grad=… is a value like the "
          "result's")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--value-and-grad", value_and_grad,
                  "the op's value and its gradient with respect to these parameters, in one kernel where possible: "
                  "--value-and-grad x,y")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->excludes("--gradient");
  command.add_option("--seed", seed, "the seed of the random tensors")
      ->capture_default_str()
      ->check([](const std::string& text) {
        uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool is_seed = error == std::errc() && end == text.data() + text.size();
        return is_seed ? std::string() : "a seed is a whole number from 0 to 2**64 - 1";
      });
  command.footer(
      "Values: f32:1024x4 or f32[1024,4] (random; f16 bf16 f32 f64 u8 i8 i16 i32 i64 bool), i64:8@0..50 (a range),\n"
      "f32:64x64:t (transposed memory), saved.pt, saved.pt:key, a number, true, false, none.");
}

std::vector<Argument> BoundOp::arguments() const {
  std::vector<Argument> list;
  for (const ArgumentValue& value : values) {
    if (auto tensor = std::get_if<at::Tensor>(&value))
      list.emplace_back(*tensor);
    else if (auto number = std::get_if<ir::HostValue>(&value))
      list.emplace_back(*number);
    else if (std::holds_alternative<NoneType>(value))
      list.emplace_back(None);
    else
      list.emplace_back();
  }
  return list;
}

std::string BoundOp::describe() const {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::holds_alternative<std::monostate>(values[i])) continue;
    text += (text.empty() ? "" : ", ") + op.parameters()[i].name + ": " + tools::describe(values[i]);
  }
  return text;
}

std::string describe(const at::Tensor& tensor) {
  std::optional<ir::DType> dtype = runtime::dtype_of(tensor.scalar_type());
  std::string text =
      std::string(dtype ? ir::short_name(*dtype) : c10::toString(tensor.scalar_type())) + list(tensor.sizes());
  if (!tensor.is_contiguous()) text += " strides " + list(tensor.strides());
  return text;
}

std::string describe(const ArgumentValue& value) {
  if (auto tensor = std::get_if<at::Tensor>(&value)) return describe(*tensor);
  auto number = std::get_if<ir::HostValue>(&value);
  if (!number) return "none";
  if (number->kind == ir::HostKind::Float) return round_trip(number->real);
  if (number->kind == ir::HostKind::Bool) return number->integer ? "True" : "False";
  return std::to_string(number->integer);
}

BoundOp bind_op(const OpInput& input, bool meta) {
  std::vector<std::string> words = input.words;
  std::string text = input.expression, file;
  OpOptions options;
  options.numerics = numerics_named(input.numerics);
  options.debug = input.debug;
  options.lazy = lazy_named(input.lazy);
  if (input.expression.empty()) {
    if (words.empty()) throw_author({}, "there is no op", "name a FILE[:op], or give an expression with -e");
    std::tie(file, options.name) = file_and_name(words.front());
    words.erase(words.begin());
    text = read_file(file);
    options.source_name = file;
  }
  BoundOp bound{Op(text, options), file, {}, {}};
  bound.location = file.empty() ? fmt::format("-e \"{}\"", bound.op.text()) : file + ":" + bound.op.name();
  if (!input.gradient.empty()) {
    bound.op = bound.op.gradient(input.gradient);
    bound.location += fmt::format(" --gradient {}", fmt::join(input.gradient, ","));
  }
  if (!input.value_and_grad.empty()) {
    bound.op = bound.op.value_and_grad(input.value_and_grad);
    bound.location += fmt::format(" --value-and-grad {}", fmt::join(input.value_and_grad, ","));
  }
  bound.values.resize(bound.op.parameters().size());
  runtime::TensorOptions tensor_options{input.seed, meta};
  std::set<std::string> names;
  for (const std::string& word : words) {
    size_t equals = word.find('=');
    if (equals == word.npos) throw_author({}, "`" + word + "` is not name=value", "say which parameter it is for");
    std::string name = word.substr(0, equals);
    if (!names.insert(name).second) throw_author({}, "`" + name + "` is given twice", "give each parameter once");
    bound.values[parameter_index(bound.op, name)] = runtime::parse_value(name, word.substr(equals + 1), tensor_options);
  }
  return bound;
}

}  // namespace ingot::tools
