#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "frontend/interpret/dicts.h"
#include "frontend/interpret/frame.h"
#include "frontend/interpret/python_builtins.h"
#include "frontend/interpret/python_numbers.h"
#include "frontend/interpret/sequences.h"
#include "frontend/library/library.h"
#include "frontend/syntax/parser.h"
#include "frontend/tensor/indexing.h"
#include "ir/types/limits.h"

// Resolves names and attributes, and selects operations by the kinds of their operands.

namespace ingot::frontend {

namespace {

Value function_value(const LibraryFunction& function) {
  return std::make_shared<const Function>(Function{function.module, function.id, nullptr, {}});
}

std::optional<Value> library_function(std::string_view name) {
  const LibraryFunction* function = find_library_function(name);
  return function ? std::optional(function_value(*function)) : std::nullopt;
}

std::optional<MemoryFormat> memory_format(std::string_view name) {
  if (name == "contiguous_format") return MemoryFormat::Contiguous;
  if (name == "preserve_format") return MemoryFormat::Preserve;
  if (name == "channels_last") return MemoryFormat::ChannelsLast;
  if (name == "channels_last_3d") return MemoryFormat::ChannelsLast3d;
  return std::nullopt;
}

/// Strips the underscore of an in-place name: "relu" for "relu_".
std::optional<std::string_view> name_out_of_place(std::string_view name) {
  if (name.size() < 2 || !name.ends_with('_') || name.ends_with("__")) return std::nullopt;
  return name.substr(0, name.size() - 1);
}

/// The in-place function name_, if PyTorch has it in the namespace `form`; `find` looks up the out-of-place function.
std::optional<Value> in_place_function(std::string_view name, bool InPlaceForms::*form,
                                       std::optional<Value> (*find)(std::string_view)) {
  const auto base = name_out_of_place(name);
  if (!base || !(in_place_forms(*base).*form)) return std::nullopt;
  const std::optional<Value> function = find(*base);
  if (!function) return std::nullopt;
  return InPlace{std::make_shared<const Value>(*function)};
}

std::optional<Value> torch_attribute(Evaluation& evaluation, std::string_view name) {
  // PyTorch's names of a dtype, not Ingot's short ones.
  if (auto type = ir::parse_dtype(name); type && (name == ir::name_of(*type) || name != ir::short_name(*type)))
    return *type;
  if (name == "nn") return Namespace::Nn;
  if (auto format = memory_format(name)) return *format;
  if (name == "special") return Namespace::Special;
  if (name == "linalg") return Namespace::Linalg;
  if (name == "Tensor") return find_python_function(name);
  if (auto constant = math_constant(name)) return number(evaluation.graph.host.real(*constant));
  if (auto function = torch_function(name)) return function;
  return in_place_function(name, &InPlaceForms::torch, torch_function);
}

std::optional<Value> functional_attribute(std::string_view name) {
  if (auto function = torch_function(name)) return function;
  return in_place_function(name, &InPlaceForms::functional, torch_function);
}

std::string_view qualified_name(Namespace space) {
  switch (space) {
    case Namespace::Torch:
      return "torch";
    case Namespace::Functional:
      return "torch.nn.functional";
    case Namespace::Special:
      return "torch.special";
    case Namespace::Linalg:
      return "torch.linalg";
    case Namespace::Nn:
      return "torch.nn";
    case Namespace::Math:
      return "math";
  }
  throw_internal("a namespace without a name");
}

std::vector<std::string_view> torch_names() {
  std::vector<std::string_view> names = library_names();
  std::erase_if(names, is_only_method);
  for (const Builtin& builtin : builtins())
    if (builtin.is_function && builtin.refusal.empty()) names.push_back(builtin.name);
  return names;
}

std::vector<std::string_view> method_names() {
  std::vector<std::string_view> names = {"shape", "dtype", "ndim"};
  for (const Builtin& builtin : builtins())
    if (builtin.is_method && builtin.refusal.empty()) names.push_back(builtin.name);
  for (std::string_view name : library_names())
    if (find_library_method(name)) names.push_back(name);
  return names;
}

Value bound_method(const Value& function, const Value& self) {
  return BoundMethod{std::make_shared<const Value>(function), std::make_shared<const Value>(self)};
}

std::optional<Value> method_function(std::string_view name) {
  if (const LibraryFunction* method = find_library_method(name)) return function_value(*method);
  if (const Builtin* builtin = find_builtin(name); builtin && builtin->is_method) return Value(builtin);
  return std::nullopt;
}

Value tensor_method(Evaluation& evaluation, const Value& self, std::string_view name) {
  if (auto value = tensor_attribute(evaluation, self, name)) return *value;
  if (const auto function = method_function(name)) return bound_method(*function, self);
  if (const auto function = in_place_function(name, &InPlaceForms::method, method_function))
    return bound_method(*function, self);
  std::string hint = did_you_mean(name, method_names());
  if (const auto base = name_out_of_place(name); base && method_function(*base)) {
    const Builtin* builtin = find_builtin(*base);
    const bool is_refused = builtin != nullptr && !builtin->refusal.empty();
    hint = is_refused ? std::string(builtin->refusal)
                      : fmt::format("write `x = x.{}(…)`, or x.copy_(x.{}(…))", *base, *base);
  } else if (torch_function(name) && !name.starts_with('_')) {
    hint = fmt::format("it is a function: write `{}(x)`", name);
  }
  evaluation.fail(fmt::format("a tensor has no `{}` in the language", name), std::move(hint));
}

/// An attribute of torch.finfo(type) or torch.iinfo(type).
std::optional<Value> limits_attribute(Evaluation& evaluation, ir::DType type, std::string_view name) {
  if (name == "bits") return number(evaluation.integer(8 * ir::size_of(type)));
  if (name == "dtype") return Value(std::string(ir::name_of(type)));
  if (!ir::is_floating(type)) {
    if (name == "max" && type == ir::DType::U64) {
      evaluation.fail("torch.iinfo(torch.uint64).max is larger than 2**63 - 1, the largest supported integer",
                      "pass it to the op as a 0-dim uint64 tensor");
    }
    if (name == "max") return number(evaluation.integer(ir::integer_limits(type).largest));
    if (name == "min") return number(evaluation.integer(ir::integer_limits(type).smallest));
    return std::nullopt;
  }
  const ir::FloatLimits limits = ir::float_limits(type);
  const auto real = [&](double value) { return number(evaluation.graph.host.real(value)); };
  if (name == "max") return real(limits.largest);
  if (name == "min") return real(-limits.largest);
  if (name == "eps") return real(limits.epsilon);
  if (name == "tiny" || name == "smallest_normal") return real(limits.smallest_normal);
  if (name == "resolution") return real(limits.resolution);
  return std::nullopt;
}

std::optional<Value> dtype_attribute(Evaluation& evaluation, ir::DType type, std::string_view name) {
  if (name == "is_floating_point") return boolean(evaluation, ir::is_floating(type));
  if (name == "itemsize") return number(evaluation.integer(ir::size_of(type)));
  return std::nullopt;
}

}  // namespace

std::optional<Value> torch_function(std::string_view name) {
  if (!name.starts_with('_') && !is_only_method(name))
    if (auto function = library_function(name)) return function;
  if (const Builtin* builtin = find_builtin(name); builtin && builtin->is_function) return Value(builtin);
  return std::nullopt;
}

std::optional<Value> global_name(std::string_view name, bool inside_library) {
  if (const PythonFunction* function = find_python_function(name)) return Value(function);
  if (name == "torch") return Value(Namespace::Torch);
  if (name == "nn") return Value(Namespace::Nn);
  if (name == "F") return Value(Namespace::Functional);
  if (name == "special") return Value(Namespace::Special);
  if (name == "linalg") return Value(Namespace::Linalg);
  if (name == "math") return Value(Namespace::Math);
  if (name.starts_with('_')) {
    if (!inside_library) return std::nullopt;
    if (auto function = library_function(name)) return function;
  }
  return torch_function(name);
}

/// Losses whose torch version differs from the function of the same name in torch.nn.functional.
constexpr std::string_view kLossesWithIntReduction[] = {"binary_cross_entropy_with_logits",
                                                        "cosine_embedding_loss",
                                                        "hinge_embedding_loss",
                                                        "kl_div",
                                                        "margin_ranking_loss",
                                                        "poisson_nll_loss",
                                                        "triplet_margin_loss"};

std::optional<Value> namespace_attribute(Evaluation& evaluation, Namespace space, std::string_view name) {
  if (name.starts_with('_')) return std::nullopt;
  switch (space) {
    case Namespace::Torch:
      if (std::ranges::find(kLossesWithIntReduction, name) != std::end(kLossesWithIntReduction))
        evaluation.fail(fmt::format("torch.{} is not in the language: unlike F.{}, its `reduction` is an int, and "
                                    "defaults to no reduction",
                                    name, name),
                        fmt::format("write F.{}", name));
      // torch.batch_norm takes its arguments in another order than F.batch_norm.
      if (auto function = library_function(fmt::format("_torch_{}", name))) return function;
      return torch_attribute(evaluation, name);
    case Namespace::Functional:
      return functional_attribute(name);
    case Namespace::Special:
      return torch_function(name);
    case Namespace::Linalg:
      // torch.linalg.norm is another function than torch.norm.
      if (auto function = library_function(fmt::format("_linalg_{}", name))) return function;
      return torch_function(name);
    case Namespace::Nn:
      if (name == "functional") return Namespace::Functional;
      return std::nullopt;
    case Namespace::Math:
      return math_attribute(evaluation, name);
  }
  throw_internal("a namespace without attributes");
}

Value get_attribute(Evaluation& evaluation, const Value& value, std::string_view name) {
  if (value.is_tensor()) return tensor_method(evaluation, value, name);
  if (value.is<Namespace>()) {
    Namespace space = value.as<Namespace>();
    if (auto attribute = namespace_attribute(evaluation, space, name)) return *attribute;
    std::vector<std::string_view> candidates;
    if (space == Namespace::Math)
      for (const PythonFunction& builtin : math_functions()) candidates.push_back(builtin.name);
    else if (space != Namespace::Nn)
      candidates = torch_names();
    std::string hint = did_you_mean(name, candidates);
    if (space == Namespace::Nn) hint = "modules are outside the language: use the functions of torch.nn.functional";
    evaluation.fail(fmt::format("`{}.{}` is not in the language", qualified_name(space), name), std::move(hint));
  }
  if (value.is<List>() && is_list_method(name)) return bound_method(std::string(name), value);
  if (value.is<Dict>() && is_dict_method(name)) return bound_method(std::string(name), value);
  if (value.is<Tuple>() && value.as<Tuple>().type) {
    const std::vector<std::string>& names = value.as<Tuple>().type->items;
    const auto field = std::find(names.begin(), names.end(), name);
    if (field != names.end()) return (*value.items())[static_cast<size_t>(field - names.begin())];
  }
  if (value.is<ir::DType>())
    if (auto attribute = dtype_attribute(evaluation, value.as<ir::DType>(), name)) return *attribute;
  if (value.is<NumberLimits>())
    if (auto attribute = limits_attribute(evaluation, value.as<NumberLimits>().type, name)) return *attribute;
  std::string hint;
  if (value.is_number()) hint = "it is a Python number: use functions such as `float(x)` or `math.exp(x)`";
  if (value.items()) hint = "if an item has it, index the item first";
  if (value.is<Dict>()) hint = fmt::format("an item is `d[\"{}\"]`", name);
  if (value.is_none()) hint = "test for it with `is None`";
  evaluation.fail(fmt::format("{} has no `{}`", describe(value), name), std::move(hint));
}

Value get_item(Evaluation& evaluation, const Value& value, const Value& index) {
  if (value.is_tensor()) return tensor_getitem(evaluation, value, index);
  if (value.items() || value.is<Range>()) return sequence_item(evaluation, value, index);
  if (value.is<Dict>()) return dict_item(evaluation, value.as<Dict>(), index);
  evaluation.fail(fmt::format("{} cannot be indexed", describe(value)));
}

bool truth(Evaluation& evaluation, const Value& value, std::string_view what) {
  if (value.is<Range>() || value.is<Dict>() || value.is<DictView>())
    return Sequence(evaluation, value, what).size() != 0;
  // Objects of these kinds are always true in Python.
  bool is_always_true = value.is<ir::DType>() || value.is<Namespace>() || value.is<MemoryFormat>() ||
                        value.is<const Builtin*>() || value.is<const PythonFunction*>() || value.is<InPlace>() ||
                        value.is<BoundMethod>() || value.is<std::shared_ptr<const Function>>() ||
                        value.is<Ellipsis>() || value.is<Slice>();
  return is_always_true || evaluation.static_bool(value, what);
}

}  // namespace ingot::frontend
