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
class Doubles {
 public:
  explicit Doubles(std::span<const Argument> arguments) : arguments_(arguments.begin(), arguments.end()) {
    for (Argument& argument : arguments_) {
      if (argument.is_structured())
        throw_author(Span{}, "a gradient is checked for tensors and numbers only",
                     "give the op one parameter for each tensor");
      if (const at::Tensor* tensor = argument.tensor(); tensor != nullptr && is_floating(*tensor))
        argument = Argument(std::as_const(kept_.emplace_back(tensor->detach().to(at::kDouble))));
    }
  }

  size_t size() const { return arguments_.size(); }
  /// The device on which the op will run.
  c10::Device device() const {
    for (const Argument& argument : arguments_)
      if (argument.tensor() != nullptr && argument.tensor()->is_cuda()) return argument.tensor()->device();
    return c10::kCPU;
  }
  const at::Tensor* floats(size_t i) const {
    const at::Tensor* tensor = arguments_[i].tensor();
    return tensor != nullptr && is_floating(*tensor) ? tensor : nullptr;
  }
  std::vector<Argument> all() const { return arguments_; }
  /// The arguments with another tensor in one place. The tensor must live as long as the result.
  std::vector<Argument> with(size_t i, const at::Tensor& tensor) const {
    std::vector<Argument> changed = arguments_;
    changed[i] = Argument(tensor);
    return changed;
  }

 private:
  std::vector<Argument> arguments_;
  std::list<at::Tensor> kept_;
};

/// Calls the op on copies of the tensors, into which it may write. All calls sample the same random numbers.
Results call(const OpState& op, std::span<const Argument> arguments, const at::Tensor& seed) {
  std::list<at::Tensor> copies;
  std::vector<Argument> own(arguments.begin(), arguments.end());
  for (Argument& argument : own)
    if (argument.tensor() != nullptr)
      argument = Argument(std::as_const(copies.emplace_back(argument.tensor()->clone())));
  Results results;
  op.call(own, results, Purpose::Call, ~uint64_t{0}, seed);
  return results;
}

}  // namespace

void check_gradient(const OpState& op, std::span<const Argument> arguments) {
  const at::NoGradGuard unrecorded;
  const Doubles doubles(arguments);
  at::Generator own = at::detail::createCPUGenerator(1);  // keeps the caller's generator unchanged
  const auto random_like = [&](const at::Tensor& tensor) {
    return at::randn(tensor.sizes(), own, at::dtype(at::kDouble)).to(tensor.device());
  };
  const at::Tensor seed = at::randint(std::numeric_limits<int64_t>::max(), {}, own, at::kLong).to(doubles.device());
  const Results results = call(op, doubles.all(), seed);
  std::vector<at::Tensor> weights;
  for (const at::Tensor& result : results) weights.push_back(is_floating(result) ? random_like(result) : at::Tensor());
  const auto weighted = [&](const Results& at) {
    double sum = 0;
    for (size_t k = 0; k < weights.size(); ++k)
      if (weights[k].defined()) sum += (weights[k] * at[k]).sum().item<double>();
    return sum;
  };
  for (size_t i = 0; i < doubles.size(); ++i) {
    const at::Tensor* x = doubles.floats(i);
    if (x == nullptr || x->numel() == 0) continue;
    std::vector<bool> wanted(doubles.size());
    wanted[i] = true;
    std::vector<Argument> given = doubles.all();
    for (const at::Tensor& weight : weights) given.push_back(weight.defined() ? Argument(weight) : Argument());
    const at::Tensor direction = random_like(*x);
    const at::Tensor slopes = call(*op.backward(wanted, weights.size()), given, seed)[0] * direction;
    const double step = kStep * (1 + x->abs().max().item<double>());
    const at::Tensor above = *x + direction * step, below = *x - direction * step;
    const double differences =
        (weighted(call(op, doubles.with(i, above), seed)) - weighted(call(op, doubles.with(i, below), seed))) /
        (2 * step);
    const double gradient = slopes.sum().item<double>();
    const double scale = std::max(slopes.abs().sum().item<double>(), std::abs(differences));
    if (std::abs(gradient - differences) <= kTolerance * scale + kStep) continue;
    throw_author(Span{},
                 fmt::format("{}: the gradient with respect to `{}` is incorrect: along a "
                             "random direction it is {:.6g}, but finite differences in float64 give {:.6g}",
                             op.definition().name(), op.definition().parameters()[i].name, gradient, differences),
                 "if it differs on purpose, as in a straight-through estimator, do not check it or use debug mode");
  }
}

}  // namespace ingot::runtime
