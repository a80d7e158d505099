// Ingot from C++: an op from source text, the same op from a function, and an error message.

#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <ingot/ingot.h>

#include <iostream>

int main() {
  const at::Tensor x = at::randn({1024, 512});
  const at::Tensor y = at::randn({512});

  const ingot::Op text("def relu_add(x, y, bias: float): return relu(x) + y + bias");
  const at::Tensor fused = text(x, y, 0.5);

  using ingot::Scalar, ingot::Value;
  const ingot::Op same("relu_add(x, y, bias)", [](Value x, Value y, Scalar bias) { return relu(x) + y + bias; });
  const at::Tensor again = same(x, y, 0.5);

  const at::Tensor eager = at::relu(x) + y + 0.5;
  std::cout << "text equals eager: " << std::boolalpha << fused.equal(eager) << '\n'
            << "function equals text: " << again.equal(fused) << '\n'
            << "compiled: " << ingot::counters().compiles << " kernel(s)\n";

  try {
    ingot::Op("def f(x): return rellu(x)")(x);
  } catch (const ingot::Error& error) {
    std::cout << error.what() << '\n';
  }
  return fused.equal(eager) && again.equal(fused) ? 0 : 1;
}
