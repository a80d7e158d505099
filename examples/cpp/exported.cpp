// Run a module without Python. The module contains an Ingot op; Python exported it and AOTInductor compiled it:
//
//   gated = ingot.op("def gated(x, y): return F.silu(x) * y")
//   ingot.register("mine::gated", gated)
//   torch._inductor.aoti_compile_and_package(torch.export.export(module, (x,)), package_path="module.pt2")
//
// `exported module.pt2` finds the op by the name that both programs register, and prints the module's result for
// linspace(-2, 2, 18).view(3, 6). The package loads libtorch.so, which must be on the library path. Without a package,
// the program calls the op by its name.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/linspace.h>
#include <ingot/ingot.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <iostream>

namespace {

at::Tensor call_by_name(const at::Tensor& x) {
  const auto gated = c10::Dispatcher::singleton()
                         .findSchemaOrThrow("mine::gated", "")
                         .typed<at::Tensor(const at::Tensor&, const at::Tensor&)>();
  return gated.call(x, x);
}

}  // namespace

int main(int count, char** arguments) {
  ingot::register_op("mine::gated", ingot::Op("def gated(x, y): return F.silu(x) * y"),
                     "(Tensor x, Tensor y) -> Tensor");
  const at::Tensor x = at::linspace(-2, 2, 18).view({3, 6});
  const at::Tensor result =
      count > 1 ? torch::inductor::AOTIModelPackageLoader(arguments[1]).run({x})[0].contiguous() : call_by_name(x);
  for (int64_t i = 0; i < result.numel(); ++i) std::cout << result.const_data_ptr<float>()[i] << ' ';
  std::cout << "\nlaunches: " << ingot::counters().launches << '\n';
}
