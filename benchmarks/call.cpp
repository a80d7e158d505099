// Times warm calls of an op from C++: with a new result, with out=, and recorded by autograd. Also times the op in
// eager PyTorch, and a single addition in eager PyTorch, unrecorded and recorded. Prints one JSON object.
//
//   ingot_call_benchmark cpu|cuda

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "runtime/api/op.h"

namespace {

/// The median microseconds of one call. A sample is the mean of 2,000 calls.
double microseconds(const std::function<void()>& call) {
  constexpr int kSamples = 15, kCalls = 2000;
  for (int k = 0; k < kCalls; ++k) call();
  std::vector<double> samples;
  for (int s = 0; s < kSamples; ++s) {
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < kCalls; ++k) call();
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - begin;
    samples.push_back(elapsed.count() / kCalls);
  }
  std::nth_element(samples.begin(), samples.begin() + kSamples / 2, samples.end());
  return samples[kSamples / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::string device = argc > 1 ? argv[1] : "cpu";
  const auto options = at::TensorOptions().device(device);
  const at::Tensor x = at::randn({1024}, options), y = at::randn({1024}, options), out = at::empty_like(x);
  const ingot::Op relu_add("def relu_add(x, y, bias: float): return relu(x) + y + bias");

  const double ingot = microseconds([&] { relu_add(x, y, 0.5); });
  const ingot::Argument arguments[] = {x, y, 0.5};
  const double ingot_out = microseconds([&] { relu_add.call_out(arguments, {&out, 1}); });
  const double eager_add = microseconds([&] { at::add(x, y); });
  const double eager = microseconds([&] { at::relu(x) + y + 0.5; });
  const at::Tensor leaf = x.clone().requires_grad_();
  const double recorded = microseconds([&] { relu_add(leaf, y, 0.5); });
  const double recorded_add = microseconds([&] { at::add(leaf, y); });
  std::printf(
      "{\"device\": \"%s\", \"microseconds\": {\"ingot\": %.3f, \"ingot_out\": %.3f, \"eager_add\": %.3f, "
      "\"eager\": %.3f, \"recorded\": %.3f, \"recorded_add\": %.3f}}\n",
      device.c_str(), ingot, ingot_out, eager_add, eager, recorded, recorded_add);
}
