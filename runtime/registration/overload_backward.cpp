#include "runtime/registration/overload_backward.h"

#include <ATen/core/List.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <algorithm>

namespace ingot::runtime {

using torch::autograd::variable_list;

namespace {

std::optional<at::Tensor> optional(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

}  // namespace

OverloadBackward::OverloadBackward(const Overload& overload, c10::ArrayRef<c10::IValue> values) : overload_(overload) {
  torch::autograd::edge_list edges;
  const auto save = [&](const at::Tensor& tensor, bool is_number) {
    const bool has_edge = !is_number && tensor.defined() && tensor.requires_grad();
    edge_of_.push_back(has_edge ? static_cast<int>(edges.size()) : kNone);
    if (has_edge) edges.push_back(torch::autograd::impl::gradient_edge(tensor));
    return SavedVariable(tensor, false);
  };
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].isTensor()) {
      arguments_.emplace_back(save(values[i].toTensor(), i < overload.is_number.size() && overload.is_number[i]));
    } else if (values[i].isTensorList()) {
      std::vector<SavedVariable> list;
      for (const c10::IValue& item : values[i].toListRef()) list.push_back(save(item.toTensor(), false));
      arguments_.emplace_back(std::move(list));
    } else {
      edge_of_.push_back(kNone);
      arguments_.emplace_back(values[i]);
    }
  }
  set_next_edges(std::move(edges));
}

void OverloadBackward::record(c10::ArrayRef<c10::IValue> results) {
  for_each_tensor(results, [&](const at::Tensor& result) {
    const bool has_gradient = at::isFloatingType(result.scalar_type());
    gradient_of_.push_back(has_gradient ? static_cast<int>(num_inputs()) : kNone);
    if (has_gradient) torch::autograd::set_history(result, shared_from_this());
  });
}

void OverloadBackward::release_variables() {
  const std::lock_guard lock(mutex_);
  for (SavedArgument& argument : arguments_) {
    if (auto* saved = std::get_if<SavedVariable>(&argument)) saved->reset_data();
    if (auto* list = std::get_if<std::vector<SavedVariable>>(&argument))
      for (SavedVariable& saved : *list) saved.reset_data();
  }
}

variable_list OverloadBackward::apply(variable_list&& gradients) {
  torch::jit::Stack stack;
  {
    const std::lock_guard lock(mutex_);
    for (const SavedArgument& argument : arguments_) {
      if (const auto* saved = std::get_if<SavedVariable>(&argument)) {
        stack.emplace_back(saved->unpack());
      } else if (const auto* list = std::get_if<std::vector<SavedVariable>>(&argument)) {
        c10::List<at::Tensor> tensors;
        for (const SavedVariable& item : *list) tensors.push_back(item.unpack());
        stack.emplace_back(std::move(tensors));
      } else {
        stack.push_back(std::get<c10::IValue>(argument));
      }
    }
  }
  for (const int gradient : gradient_of_)
    stack.emplace_back(gradient == kNone ? c10::IValue() : c10::IValue(optional(gradients[size_t(gradient)])));
  c10::List<bool> wanted;
  for (const int edge : edge_of_) wanted.push_back(edge != kNone && task_should_compute_output(size_t(edge)));
  variable_list input_gradients(num_outputs());
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return input_gradients;
  torch::jit::push(stack, wanted);
  overload_.backward->callBoxed(&stack);
  const std::vector<at::Tensor> results = torch::jit::pop(stack).toTensorVector();
  size_t next = 0;
  for (size_t i = 0; i < edge_of_.size(); ++i)
    if (edge_of_[i] != kNone && wanted.get(i)) input_gradients[size_t(edge_of_[i])] = results.at(next++);
  return input_gradients;
}

}  // namespace ingot::runtime
