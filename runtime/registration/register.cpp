#include "runtime/api/register.h"

#include <fmt/format.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

#include "base/error.h"
#include "runtime/call/call_key.h"
#include "runtime/registration/kernels.h"
#include "runtime/registration/overload.h"

namespace ingot {

namespace {

using runtime::Overload;

[[noreturn]] void refuse(const std::string& name, const std::string& message, const std::string& hint) {
  throw_author(Span{}, fmt::format("{}: {}", name, message), hint);
}

c10::FunctionSchema parse(const std::string& name, const std::string& schema) {
  if (name.find("::") == std::string::npos)
    refuse(name, "the name of a registered op needs a namespace", fmt::format("call it \"mine::{}\"", name));
  try {
    return torch::jit::parseSchema(name + schema);
  } catch (const std::exception& error) {
    refuse(name, fmt::format("`{}` is not a schema: {}", schema, error.what()),
           "write one as (Tensor x, float bias=0.5) -> Tensor");
  }
}

/// Whether an op accepts an argument of this type of a schema.
bool is_accepted(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::NumberType:
      return true;
    case c10::TypeKind::OptionalType:
      return is_accepted(type->expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::ListType:
      return type->expectRef<c10::ListType>().getElementType()->kind() == c10::TypeKind::TensorType;
    default:
      return false;
  }
}

bool is_tensor_or_list(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::TensorType ||
         (type->kind() == c10::TypeKind::ListType &&
          type->expectRef<c10::ListType>().getElementType()->kind() == c10::TypeKind::TensorType);
}

void check_fits(const std::string& name, const Op& op, const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  for (size_t i = 0; i < op.parameters().size(); ++i) {
    const std::string& parameter = op.parameters()[i].name;
    if (i >= arguments.size() || arguments[i].name() != parameter)
      refuse(name, fmt::format("the schema does not fit: the op's parameter {} is `{}`", i + 1, parameter),
             "name the parameters of the op in their order: " + runtime::describe(op.state().definition()));
    if (!is_accepted(arguments[i].real_type()))
      refuse(name, fmt::format("`{}` has the type {} in the schema", parameter, arguments[i].real_type()->str()),
             "an op takes Tensor, Tensor?, Tensor[], float, int, SymInt, bool and Scalar");
  }
  size_t first_extra = op.parameters().size();
  if (first_extra < arguments.size() && arguments[first_extra].name() == "seed" &&
      arguments[first_extra].alias_info() == nullptr) {
    if (arguments[first_extra].type()->kind() != c10::TypeKind::TensorType)
      refuse(name, fmt::format("`seed` has the type {} in the schema", arguments[first_extra].type()->str()),
             "the seed of random numbers is a Tensor");
    ++first_extra;
  }
  for (size_t i = first_extra; i < arguments.size(); ++i)
    if (!arguments[i].kwarg_only() || arguments[i].alias_info() == nullptr || !arguments[i].alias_info()->isWrite())
      refuse(name, fmt::format("the op has no parameter `{}`", arguments[i].name()),
             "only outs may follow the parameters: *, Tensor(a!) out");
  for (const c10::Argument& result : schema.returns())
    if (!is_tensor_or_list(result.type()))
      refuse(name, fmt::format("the schema returns a {}", result.type()->str()),
             "an op returns Tensors, or one Tensor[]");
}

std::vector<bool> flags_of(const std::string& name, const Op& op, const std::vector<std::string>& numbers) {
  std::vector<bool> flags(op.parameters().size());
  for (const std::string& number : numbers) {
    const auto found = std::ranges::find(op.parameters(), number, &frontend::Parameter::name);
    if (found == op.parameters().end()) refuse(name, fmt::format("there is no parameter `{}`", number), "");
    flags[size_t(found - op.parameters().begin())] = true;
  }
  return flags;
}

/// Derives the gradient's schema: "ns::f(Tensor x) -> Tensor" → "ns::f_backward(Tensor x, Tensor? gradient_0, bool[]
/// wanted) -> Tensor[]".
c10::FunctionSchema backward_schema(const c10::FunctionSchema& schema) {
  std::vector<c10::Argument> arguments;
  for (const c10::Argument& argument : schema.arguments())  // without defaults, which only trailing arguments may have
    arguments.emplace_back(argument.name(), argument.type(), argument.real_type(), argument.N());
  for (size_t i = 0; i < schema.returns().size(); ++i)
    arguments.emplace_back(fmt::format("gradient_{}", i), c10::OptionalType::create(c10::TensorType::get()));
  arguments.emplace_back("wanted", c10::ListType::ofBools());
  return {schema.name() + "_backward",
          schema.overload_name(),
          std::move(arguments),
          {c10::Argument("", c10::ListType::ofTensors())}};
}

/// Keeps all registrations for ever, because PyTorch keeps pointers to them.
struct Registry {
  std::mutex mutex;
  std::map<std::string, torch::Library> libraries;  ///< one per namespace
  std::deque<Overload> overloads;

  torch::Library& library(const std::string& ns) {
    const auto found = libraries.find(ns);
    if (found != libraries.end()) return found->second;
    return libraries.emplace(ns, torch::Library(torch::Library::FRAGMENT, ns, std::nullopt, __FILE__, __LINE__))
        .first->second;
  }

  const Overload& add(Overload overload) {
    const Overload& registered = overloads.emplace_back(std::move(overload));
    torch::Library& target = library(std::string(registered.schema.operator_name().getNamespace().value()));
    const std::string name = c10::toString(registered.schema.operator_name());
    c10::FunctionSchema schema = registered.schema;
    target.def(std::move(schema), {at::Tag::pt2_compliant_tag});
    runtime::register_kernels(target, name.c_str(), registered);
    return registered;
  }
};

Registry& registry() {
  static Registry* const instance = new Registry;
  return *instance;
}

}  // namespace

void register_op(const std::string& name, const Op& op, const std::string& schema,
                 const std::vector<std::string>& numbers) {
  const c10::FunctionSchema parsed = parse(name, schema);
  check_fits(name, op, parsed);
  Overload overload{op, parsed, flags_of(name, op, numbers)};
  Registry& registrations = registry();
  const std::lock_guard lock(registrations.mutex);
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& operator_name : {parsed.operator_name(), backward_schema(parsed).operator_name()})
    if (dispatcher.findSchema(operator_name))
      refuse(name, fmt::format("the name {} is registered already", c10::toString(operator_name)),
             "choose another, or another overload: " + name + ".other");
  if (!overload.writes() && !overload.returns_list()) {
    Overload backward{op, backward_schema(parsed), overload.is_number, {}, true};
    overload.backward = dispatcher.findSchema(registrations.add(std::move(backward)).schema.operator_name());
  }
  registrations.add(std::move(overload));
}

}  // namespace ingot
