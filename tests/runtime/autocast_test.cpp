#include "frontend/interpret/autocast.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "runtime/call/call_key.h"
#include "tests/runtime/support.h"

// PyTorch's dispatcher knows for which functions autocast has a kernel. Ingot's table must list each of these functions
// that the language supports.

namespace ingot::runtime {
namespace {

using frontend::AutocastPolicy;

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

/// The ATen name of a function.
std::string aten_name(const std::string& name) {
  static const std::map<std::string, std::string> kNames = {{"vecdot", "linalg_vecdot"},
                                                            {"vector_norm", "linalg_vector_norm"},
                                                            {"matrix_norm", "linalg_matrix_norm"},
                                                            {"interpolate", "upsample_nearest2d"},
                                                            {"cross_entropy", "cross_entropy_loss"}};
  const auto found = kNames.find(name);
  return found == kNames.end() ? name : found->second;
}

/// Whether autocast changes the function. The policy Kernel, for which it casts nothing, describes a property of the
/// function in PyTorch that has nothing to do with autocast's kernels.
bool is_listed(const std::string& name, frontend::Device device) {
  const AutocastPolicy policy = autocast_policy(name, device);
  return policy != AutocastPolicy::None && policy != AutocastPolicy::Kernel;
}

TEST(Autocast, ListsEveryFunctionWithAnAutocastKernel) {
  const auto check = [](c10::DispatchKey key, frontend::Device device) {
    std::set<std::string> with_kernel = names_with_kernel(key);
    EXPECT_TRUE(with_kernel.contains("mse_loss"));
    // These functions have no autocast kernel of their own: they are composed of functions that have one.
    if (device == frontend::Device::Cuda) with_kernel.insert({"cross_entropy_loss", "mvlgamma", "trace"});
    for (const frontend::NameInfo& info : frontend::language_names()) {
      const std::string name(info.name);
      EXPECT_EQ(is_listed(name, device), with_kernel.contains(aten_name(name))) << name << " " << c10::toString(key);
    }
  };
  check(c10::DispatchKey::AutocastCUDA, frontend::Device::Cuda);
  check(c10::DispatchKey::AutocastCPU, frontend::Device::Cpu);
}

TEST(Autocast, IsPartOfCallKeyAndSignature) {
  const auto definition = frontend::define("exp(x)");
  const at::Tensor x = at::ones({4});
  const std::vector<Argument> arguments{x};
  const auto read = [&] {
    CallKey key;
    make_call_key(*definition, arguments, {}, {}, Purpose::Call, key);
    return std::pair(std::vector<uint64_t>(key.words.begin(), key.words.end()),
                     signature_of(key, frontend::Numerics::Default).text());
  };
  const auto off = read();
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const auto bfloat16 = read();
  at::autocast::set_autocast_dtype(at::kCPU, at::kHalf);
  const auto half = read();
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_EQ(read(), off);
  EXPECT_EQ(bfloat16.second, "cpu f32 autocast: bf16 | f32[?]");
  EXPECT_NE(off.first, bfloat16.first);
  EXPECT_NE(half.first, bfloat16.first);
  EXPECT_NE(half.second, bfloat16.second);
}

}  // namespace
}  // namespace ingot::runtime
