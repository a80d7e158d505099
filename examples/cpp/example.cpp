// Ingot from C++: an op from source text, the same op from a function, and an error message.

#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <ingot/ingot.h>

#include <iostream>

int main() {
  const at::Tensor x = at::randn({1024, 512});
  const at::Tensor y = at::randn({512});

  const ingot::Op from_source("def relu_add(x, y, bias: float): return relu(x) + y + bias");
  const at::Tensor fused = from_source(x, y, 0.5);

  using ingot::Scalar, ingot::Value;
  const ingot::Op function("relu_add(x, y, bias)", [](Value x, Value y, Scalar bias) { return relu(x) + y + bias; });
  const at::Tensor again = function(x, y, 0.5);

  const at::Tensor eager = at::relu(x) + y + 0.5;
  std::cout << "the op from source equals eager: " << std::boolalpha << fused.equal(eager) << '\n'
            << "the op from a function equals the op from source: " << again.equal(fused) << '\n'
            << "compiled: " << ingot::counters().compiles << " kernel(s)\n";

  try {
    ingot::Op("def f(x): return rellu(x)")(x);
  } catch (const ingot::Error& error) {
    std::cout << error.what() << '\n';
  }
  return fused.equal(eager) && again.equal(fused) ? 0 : 1;
}
