#include "runtime/autograd/check_gradient.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <list>

#include "base/error.h"

namespace ingot::runtime {

namespace {

constexpr double kStep = 1e-6, kTolerance = 1e-4;

bool is_floating(const at::Tensor& tensor) { return at::isFloatingType(tensor.scalar_type()); }

/// The arguments, with floating-point tensors converted to float64.
class Float64Arguments {
 public:
  explicit Float64Arguments(std::span<const Argument> arguments) : arguments_(arguments.begin(), arguments.end()) {
    for (Argument& argument : arguments_) {
      if (argument.is_structured())
        throw_author(Span{}, "a gradient is checked for tensors and numbers only",
                     "give the op one parameter for each tensor");
      if (const at::Tensor* tensor = argument.tensor(); tensor != nullptr && is_floating(*tensor))
        argument = Argument(std::as_const(tensors_.emplace_back(tensor->detach().to(at::kDouble))));
    }
  }

  size_t size() const { return arguments_.size(); }
  /// The device on which the op will run.
  c10::Device device() const {
    for (const Argument& argument : arguments_)
      if (argument.tensor() != nullptr && argument.tensor()->is_cuda()) return argument.tensor()->device();
    return c10::kCPU;
  }
  const at::Tensor* float_tensor(size_t i) const {
    const at::Tensor* tensor = arguments_[i].tensor();
    return tensor != nullptr && is_floating(*tensor) ? tensor : nullptr;
  }
  std::vector<Argument> all() const { return arguments_; }
  /// The arguments, with `tensor` as argument i. The tensor must live as long as the result.
  std::vector<Argument> with_argument(size_t i, const at::Tensor& tensor) const {
    std::vector<Argument> changed = arguments_;
    changed[i] = Argument(tensor);
    return changed;
  }

 private:
  std::vector<Argument> arguments_;
  std::list<at::Tensor> tensors_;
};

/// Calls the op on copies of the tensors, into which it may write. All calls sample the same random numbers.
Results call_on_copies(const OpState& op, std::span<const Argument> arguments, const at::Tensor& seed) {
  std::list<at::Tensor> copies;
  std::vector<Argument> copied(arguments.begin(), arguments.end());
  for (Argument& argument : copied)
    if (argument.tensor() != nullptr)
      argument = Argument(std::as_const(copies.emplace_back(argument.tensor()->clone())));
  Results results;
  op.call(copied, results, Purpose::Call, ~uint64_t{0}, seed);
  return results;
}

}  // namespace

void check_gradient(const OpState& op, std::span<const Argument> arguments) {
  const at::NoGradGuard unrecorded;
  const Float64Arguments float64(arguments);
  at::Generator generator = at::detail::createCPUGenerator(1);  // keeps the caller's generator unchanged
  const auto random_like = [&](const at::Tensor& tensor) {
    return at::randn(tensor.sizes(), generator, at::dtype(at::kDouble)).to(tensor.device());
  };
  const at::Tensor seed =
      at::randint(std::numeric_limits<int64_t>::max(), {}, generator, at::kLong).to(float64.device());
  const Results results = call_on_copies(op, float64.all(), seed);
  std::vector<at::Tensor> weights;
  for (const at::Tensor& result : results) weights.push_back(is_floating(result) ? random_like(result) : at::Tensor());
  const auto weighted_sum = [&](const Results& values) {
    double sum = 0;
    for (size_t k = 0; k < weights.size(); ++k)
      if (weights[k].defined()) sum += (weights[k] * values[k]).sum().item<double>();
    return sum;
  };
  for (size_t i = 0; i < float64.size(); ++i) {
    const at::Tensor* x = float64.float_tensor(i);
    if (x == nullptr || x->numel() == 0) continue;
    std::vector<bool> wanted(float64.size());
    wanted[i] = true;
    std::vector<Argument> arguments_of_gradient = float64.all();
    for (const at::Tensor& weight : weights)
      arguments_of_gradient.push_back(weight.defined() ? Argument(weight) : Argument());
    const at::Tensor direction = random_like(*x);
    const at::Tensor terms =
        call_on_copies(*op.backward(wanted, weights.size()), arguments_of_gradient, seed)[0] * direction;
    const double step = kStep * (1 + x->abs().max().item<double>());
    const at::Tensor above = *x + direction * step, below = *x - direction * step;
    const double finite_difference = (weighted_sum(call_on_copies(op, float64.with_argument(i, above), seed)) -
                                      weighted_sum(call_on_copies(op, float64.with_argument(i, below), seed))) /
                                     (2 * step);
    const double gradient = terms.sum().item<double>();
    const double scale = std::max(terms.abs().sum().item<double>(), std::abs(finite_difference));
    if (std::abs(gradient - finite_difference) <= kTolerance * scale + kStep) continue;
    throw_author(Span{},
                 fmt::format("{}: the gradient with respect to `{}` is incorrect: along a "
                             "random direction it is {:.6g}, but finite differences in float64 give {:.6g}",
                             op.definition().name(), op.definition().parameters()[i].name, gradient, finite_difference),
                 "if it differs on purpose, as in a straight-through estimator, do not check it or use debug mode");
  }
}

}  // namespace ingot::runtime
