#include "tests/runtime/support.h"

// Every stage as text, for tensors without data and for absent GPUs.

namespace ingot {
namespace {

using namespace testing_support;

std::string emit(const Op& op, Stage stage, EmitTarget target = {}, at::ScalarType dtype = at::kFloat) {
  const at::Tensor x = at::empty({64, 64}, at::device(at::kMeta).dtype(dtype));
  const Argument arguments[] = {x, x, 0.5};
  return op.emit(stage, arguments, target);
}

constexpr EmitTarget kCuda{EmitTarget::Device::Cuda, 80};

TEST(Emit, ShowsStagesForTheCpu) {
  const Op op(kReluAdd);
  EXPECT_NE(emit(op, Stage::Ast).find("relu_add"), std::string::npos);
  EXPECT_NE(emit(op, Stage::Ir).find("relu_add"), std::string::npos);
  EXPECT_FALSE(emit(op, Stage::Schedule).empty());
  EXPECT_NE(emit(op, Stage::Source).find("extern \"C\""), std::string::npos);
  EXPECT_NE(error_of([&] { emit(op, Stage::Ptx); }).find("the ptx stage exists for CUDA only"), std::string::npos);
}

TEST(Emit, ShowsStagesForCudaWithoutAGpu) {
  const Op op(kReluAdd);
  const std::string source = emit(op, Stage::Source, kCuda);
  EXPECT_NE(source.find("__global__"), std::string::npos) << source;
  EXPECT_NE(source.find("def relu_add(x, y, bias: float)"), std::string::npos) << source;
  EXPECT_FALSE(emit(op, Stage::Kernel, kCuda).empty());
  EXPECT_NE(emit(op, Stage::Ptx, kCuda).find(".target sm_80"), std::string::npos);
}

TEST(Emit, LaunchesAndCompilesNothing) {
  const Op op(kReluAdd);
  const Counters grown = growth([&] { emit(op, Stage::Source); });
  EXPECT_EQ(grown.launches, 0u);
  EXPECT_EQ(grown.compiles, 0u);
  EXPECT_EQ(grown.allocations, 0u);
}

TEST(Emit, AcceptsTensorsThatRequireGrad) {
  const Op op("x * y");
  const at::Tensor x = at::randn({4}).requires_grad_();
  const Argument arguments[] = {x, x};
  EXPECT_FALSE(op.emit(Stage::Source, arguments).empty());
}

TEST(Emit, HasNoSyntaxTreeForACppFunction) {
  const Op op("f", [](Value x, Value y, Scalar b) { return x * y + b; });
  EXPECT_NE(error_of([&] { emit(op, Stage::Ast); }).find("no syntax tree"), std::string::npos);
  EXPECT_FALSE(emit(op, Stage::Source).empty());
}

}  // namespace
}  // namespace ingot
