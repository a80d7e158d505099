#include "runtime/call/thread_dependence.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include "tests/runtime/support.h"

// PyTorch's dispatcher knows which functions autocast treats; our table must name all of them that the language has.

namespace ingot::runtime {
namespace {

std::set<std::string> names_with_kernel(c10::DispatchKey key) {
  std::set<std::string> names;
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (!name.name.starts_with("aten::")) continue;
    const auto op = dispatcher.findOp(name);
    if (op && op->hasKernelForDispatchKey(key)) names.insert(name.name.substr(6));
  }
  return names;
}

/// A graph that calls the function on float16 and float32.
ThreadDependence of_mixed(const std::string& function, frontend::Device device) {
  ir::Graph graph;
  graph.params = {{.name = "x", .dtype = ir::DType::F16}, {.name = "y", .dtype = ir::DType::F32}};
  graph.functions.insert(function);
  return thread_dependence_of(graph, device);
}

TEST(ThreadDependence, NamesEveryFunctionThatAutocastTreats) {
  const auto check = [](c10::DispatchKey key, frontend::Device device) {
    std::set<std::string> treated = names_with_kernel(key);
    EXPECT_TRUE(treated.contains("mse_loss"));
    // Composites of what is treated.
    treated.insert({"cross_entropy", "einsum"});
    if (device == frontend::Device::Cpu) treated.insert("tensordot");
    if (device == frontend::Device::Cuda) treated.insert({"mvlgamma", "normalize", "pairwise_distance", "vector_norm"});
    for (const frontend::NameInfo& info : frontend::language_names()) {
      const std::string name(info.name);
      EXPECT_EQ(of_mixed(name, device).autocast, treated.contains(name) ? name : "") << c10::toString(key);
    }
  };
  check(c10::DispatchKey::AutocastCUDA, frontend::Device::Cuda);
  check(c10::DispatchKey::AutocastCPU, frontend::Device::Cpu);
}

/// The functions that eager would call for a text on float16 tensors.
std::set<std::string, std::less<>> functions_of(const std::string& text) {
  const auto definition = frontend::define(text);
  frontend::Signature signature;
  signature.arguments.assign(definition->parameters().size(), {.dtype = ir::DType::F16, .rank = 1});
  const ir::HostInputs actuals{[](uint32_t, uint32_t) { return 4; }, [](uint32_t) { return ir::HostValue{}; }};
  return frontend::lower(*definition, signature, actuals).functions;
}

TEST(ThreadDependence, SeesFunctionsHoweverTheyAreSpelled) {
  using Names = std::set<std::string, std::less<>>;
  EXPECT_EQ(functions_of("x + y"), Names{});
  EXPECT_EQ(functions_of("torch.arccos(x)"), Names{"acos"});
  EXPECT_EQ(functions_of("x.exp() + F.silu(x)"), (Names{"exp", "silu"}));
  EXPECT_TRUE(functions_of("x ** y").contains("pow"));
  EXPECT_TRUE(functions_of("x ** 2").contains("pow"));
  EXPECT_TRUE(functions_of("2 ** x").contains("pow"));
  EXPECT_TRUE(functions_of("torch.square(x)").contains("pow"));
  EXPECT_TRUE(functions_of("1 / x").contains("reciprocal"));
  EXPECT_FALSE(functions_of("x / 2 + x / y").contains("reciprocal"));
  EXPECT_TRUE(functions_of("F.l1_loss(x, y, reduction='none')").contains("l1_loss"));
}

TEST(ThreadDependence, OfFloat32NothingIsCastToIt) {
  ir::Graph graph;
  graph.params = {{.name = "x", .dtype = ir::DType::F32}};
  graph.functions = {"exp", "atan2", "cat"};
  EXPECT_EQ(thread_dependence_of(graph, frontend::Device::Cuda).autocast, "");
  graph.add(ir::Op::Cast, ir::DType::F16, {graph.scalar(ir::DType::F32, graph.host.real(1))});
  EXPECT_EQ(thread_dependence_of(graph, frontend::Device::Cuda).autocast, "exp");
}

}  // namespace
}  // namespace ingot::runtime
