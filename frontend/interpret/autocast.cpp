#include "frontend/interpret/autocast.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "frontend/tensor/promotion.h"

namespace ingot::frontend {

namespace {

using Policy = AutocastPolicy;

struct Row {
  std::string_view function;
  Policy cuda, cpu;
  /// The row does not apply to calls that pass this parameter: PyTorch then takes a path that autocast does not cast.
  std::string_view exempting_parameter = {};
};

// The lists of ATen/autocast_mode, restricted to the supported functions. A test compares them with PyTorch's
// dispatcher. Names with a leading underscore are functions of Ingot's library. Each represents a PyTorch function that
// PyTorch calls inside another one, which is on no list. The functions with the policy Kernel are on no list of that
// device, either.
constexpr Row kRows[] = {
    {"acos", Policy::Float32, Policy::None},
    {"asin", Policy::Float32, Policy::None},
    {"cosh", Policy::Float32, Policy::None},
    {"erfinv", Policy::Float32, Policy::None},
    {"exp", Policy::Float32, Policy::None},
    {"expm1", Policy::Float32, Policy::None},
    {"log", Policy::Float32, Policy::None},
    {"log10", Policy::Float32, Policy::None},
    {"log1p", Policy::Float32, Policy::None},
    {"log2", Policy::Float32, Policy::None},
    {"mvlgamma", Policy::Float32, Policy::None},  // through its sum
    {"pow", Policy::Float32, Policy::None},
    {"reciprocal", Policy::Float32, Policy::None},
    {"rsqrt", Policy::Float32, Policy::None},
    {"sinh", Policy::Float32, Policy::None},
    {"softplus", Policy::Float32, Policy::None},
    {"tan", Policy::Float32, Policy::None},

    {"binary_cross_entropy", Policy::Unsafe, Policy::Float32},
    {"binary_cross_entropy_with_logits", Policy::Float32, Policy::Float32},
    {"cosine_embedding_loss", Policy::Float32, Policy::Float32},
    {"cross_entropy", Policy::Float32, Policy::Float32},  // on CUDA through its log_softmax and nll_loss
    {"hinge_embedding_loss", Policy::Float32, Policy::Float32},
    {"huber_loss", Policy::Float32, Policy::Float32},
    {"kl_div", Policy::Float32, Policy::Float32},
    {"l1_loss", Policy::Float32, Policy::Float32, "weight"},
    {"margin_ranking_loss", Policy::Float32, Policy::Float32},
    {"mse_loss", Policy::Float32, Policy::Float32, "weight"},
    {"multi_margin_loss", Policy::Float32, Policy::Float32},
    {"multilabel_margin_loss", Policy::Float32, Policy::Float32},
    {"nll_loss", Policy::Float32, Policy::Float32},
    {"poisson_nll_loss", Policy::Float32, Policy::Float32},
    {"smooth_l1_loss", Policy::Float32, Policy::Float32},
    {"soft_margin_loss", Policy::Float32, Policy::Float32},
    {"triplet_margin_loss", Policy::Float32, Policy::Float32},

    {"cdist", Policy::Float32, Policy::Float32},
    {"cosine_similarity", Policy::Float32, Policy::None},
    {"dist", Policy::Float32, Policy::None},
    {"group_norm", Policy::Float32, Policy::None},
    {"interpolate", Policy::Float32, Policy::None},
    {"layer_norm", Policy::Float32, Policy::None},
    {"log_softmax", Policy::Float32OrDtype, Policy::None},
    {"logsumexp", Policy::Float32, Policy::None},
    {"matrix_norm", Policy::Float32OrDtype, Policy::None},
    {"norm", Policy::Float32OrDtype, Policy::None},
    {"prod", Policy::Float32OrDtype, Policy::Float32},
    {"softmax", Policy::Float32OrDtype, Policy::None},
    {"sum", Policy::Float32OrDtype, Policy::None},
    {"trace", Policy::Float32, Policy::Float32},  // on CUDA through its sum
    {"vector_norm", Policy::Float32OrDtype, Policy::None},
    {"_reflection_pad", Policy::Kernel, Policy::Float32},
    {"_replication_pad", Policy::Kernel, Policy::Float32},

    {"addmm", Policy::LowerPrecision, Policy::LowerPrecision},
    {"addmv", Policy::LowerPrecision, Policy::None},
    {"baddbmm", Policy::LowerPrecision, Policy::LowerPrecision},
    {"bmm", Policy::LowerPrecision, Policy::LowerPrecision},
    {"einsum", Policy::LowerPrecision, Policy::None},
    {"linear", Policy::LowerPrecision, Policy::LowerPrecision},
    {"matmul", Policy::LowerPrecision, Policy::LowerPrecision},
    {"mm", Policy::LowerPrecision, Policy::LowerPrecision},
    {"mv", Policy::LowerPrecision, Policy::None},
    {"prelu", Policy::LowerPrecision, Policy::LowerPrecision},
    {"vecdot", Policy::LowerPrecision, Policy::LowerPrecision},
    {"_contracted", Policy::None, Policy::LowerPrecision},  // the bmm of einsum and the mm of tensordot

    {"addcdiv", Policy::Widest, Policy::None},
    {"addcmul", Policy::Widest, Policy::None},
    {"atan2", Policy::Widest, Policy::None},
    {"cat", Policy::None, Policy::Widest},
    {"cross", Policy::Widest, Policy::Kernel},
    {"dot", Policy::Widest, Policy::None},
    {"stack", Policy::None, Policy::Widest},
    {"tensordot", Policy::Widest, Policy::None},
    {"vdot", Policy::Widest, Policy::None},
    {"_inner", Policy::Widest, Policy::LowerPrecision},  // through its tensordot

    {"block_diag", Policy::Kernel, Policy::Kernel},
    {"diag_embed", Policy::Kernel, Policy::Kernel},
    {"_circular_pad", Policy::Kernel, Policy::Kernel},
    {"_constant_pad", Policy::Kernel, Policy::Kernel},
    {"_reflection_pad3d", Policy::Kernel, Policy::Kernel},
};

const Row* find_row(std::string_view function) {
  static const auto rows = [] {
    std::unordered_map<std::string_view, const Row*> by_name;
    for (const Row& row : kRows) by_name.emplace(row.function, &row);
    return by_name;
  }();
  const auto entry = rows.find(function);
  return entry == rows.end() ? nullptr : entry->second;
}

Policy policy_of(const Row& row, Device device) { return device == Device::Cuda ? row.cuda : row.cpu; }

bool is_eligible(const Tensor& tensor) {
  return ir::category(tensor.dtype) == ir::Category::Floating && tensor.dtype != ir::DType::F64 && !tensor.on_host;
}

/// Calls `visit` for each tensor that autocast may cast: a tensor itself, or the tensors of a tuple or a list in order.
template <typename Visit>
void for_each_eligible(const Value& value, const Visit& visit) {
  if (const Tensor* tensor = value.tensor(); tensor && is_eligible(*tensor)) visit(*tensor);
  if (const std::vector<Value>* items = value.items())
    for (const Value& item : *items) for_each_eligible(item, visit);
}

/// Casts the eligible tensors of a value. Copies lists, so that the author's list keeps its items.
Value cast_to(Evaluation& evaluation, const Value& value, ir::DType type) {
  if (const Tensor* tensor = value.tensor())
    return is_eligible(*tensor) && tensor->dtype != type ? Value(cast(evaluation, *tensor, type)) : value;
  const std::vector<Value>* items = value.items();
  if (!items) return value;
  evaluation.budget.spend_items(items->size());
  std::vector<Value> results;
  for (const Value& item : *items) results.push_back(cast_to(evaluation, item, type));
  return value.is<List>() ? Value::list(std::move(results)) : Value::tuple(std::move(results));
}

bool is_given(std::string_view name, std::span<const ast::Parameter> parameters,
              std::span<const std::optional<Value>> arguments) {
  const auto parameter = std::ranges::find(parameters, name, &ast::Parameter::name);
  if (parameter == parameters.end()) return false;
  const std::optional<Value>& argument = arguments[static_cast<size_t>(parameter - parameters.begin())];
  return argument && !argument->is_none();
}

/// Whether an argument is a dtype: torch.float16, or Python's float.
bool names_dtype(const std::optional<Value>& argument) {
  return argument && (argument->is<ir::DType>() || argument->is<const PythonFunction*>());
}

ir::DType widest_dtype(Evaluation& evaluation, std::string_view function,
                       std::span<const std::optional<Value>> arguments) {
  const ir::DType autocast_dtype = *evaluation.autocast;
  ir::DType type = autocast_dtype;
  for (const std::optional<Value>& argument : arguments) {
    if (!argument) continue;
    for_each_eligible(*argument, [&](const Tensor& tensor) {
      if (type == ir::DType::F32 || tensor.dtype == ir::DType::F32) {
        type = ir::DType::F32;
      } else if (tensor.dtype != autocast_dtype) {
        evaluation.fail(fmt::format("under torch.autocast to {} `{}` takes no {} tensor", name_of(autocast_dtype),
                                    function, name_of(tensor.dtype)),
                        "cast it: x.float()");
      }
    });
  }
  return type;
}

}  // namespace

AutocastPolicy autocast_policy(std::string_view function, Device device) {
  const Row* row = find_row(function);
  return row ? policy_of(*row, device) : Policy::None;
}

bool autocast_arguments(Evaluation& evaluation, std::string_view function, std::span<const ast::Parameter> parameters,
                        std::span<std::optional<Value>> arguments) {
  if (!evaluation.autocast) return false;
  const Row* row = find_row(function);
  if (!row || is_given(row->exempting_parameter, parameters, arguments)) return false;
  ir::DType type = ir::DType::F32;
  switch (policy_of(*row, evaluation.signature.device)) {
    case Policy::None:
      return false;
    case Policy::Kernel:
      return true;
    case Policy::Float32:
      break;
    case Policy::Float32OrDtype:
      if (std::ranges::any_of(arguments, names_dtype)) return true;
      break;
    case Policy::LowerPrecision:
      type = *evaluation.autocast;
      break;
    case Policy::Widest:
      type = widest_dtype(evaluation, function, arguments);
      break;
    case Policy::Unsafe:
      evaluation.fail(fmt::format("PyTorch rejects `{}` as unsafe under torch.autocast", function),
                      "call binary_cross_entropy_with_logits on the logits, without a sigmoid");
  }
  for (std::optional<Value>& argument : arguments)
    if (argument) argument = cast_to(evaluation, *argument, type);
  return true;
}

}  // namespace ingot::frontend
