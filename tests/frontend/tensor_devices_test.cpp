#include "tests/frontend/tensor_testing.h"

// The device of a value: CPU scalars in an op on CUDA, newly created tensors, and x.to(device).

namespace ingot::frontend {
namespace {

LoweringCase cuda(std::initializer_list<std::string> arguments) { return LoweringCase(arguments).on(Device::Cuda); }

/// Whether eager's kernel gets the divisor as a number. The graph then multiplies by the reciprocal, so that it has no
/// `div`.
bool multiplies_by_reciprocal(const std::string& text, const LoweringCase& call) {
  return call.simplified_text(text).find(" div ") == std::string::npos;
}

TEST(Devices, MultipliesByTheReciprocalOfNumbersAndCpuScalars) {
  EXPECT_TRUE(multiplies_by_reciprocal("x / 41.0", cuda({"f32:3"})));
  EXPECT_TRUE(multiplies_by_reciprocal("x / s", cuda({"f32:3", "cpu f32"})));
  EXPECT_TRUE(multiplies_by_reciprocal("x / s[None][0]", cuda({"f32:3", "cpu f32"})));
  EXPECT_TRUE(multiplies_by_reciprocal("x / torch.tensor(41.0)", cuda({"f32:3"})));
  EXPECT_TRUE(multiplies_by_reciprocal("x / torch.full_like(s, 41.0)", cuda({"f32:3", "cpu f32"})));
  EXPECT_FALSE(multiplies_by_reciprocal("x / torch.full_like(x, 41.0)", cuda({"f32:3"})));
  EXPECT_FALSE(multiplies_by_reciprocal("x / torch.full_like(x[0], 41.0)", cuda({"f32:3"})));
  EXPECT_FALSE(multiplies_by_reciprocal("x / torch.tensor(41.0, device=x.device)", cuda({"f32:3"})));
  EXPECT_FALSE(multiplies_by_reciprocal("x / x.new_full((), 41.0)", cuda({"f32:3"})));
  EXPECT_FALSE(multiplies_by_reciprocal("x / s.to(x.device)", cuda({"f32:3", "cpu f32"})));
  EXPECT_FALSE(multiplies_by_reciprocal("x / torch.tensor(41.0)", {"f32:3"}));
  // `s / 3.0` is computed on the CPU, as a division.
  EXPECT_FALSE(multiplies_by_reciprocal("x + s / 3.0", cuda({"f32:3", "cpu f32"})));
}

TEST(Devices, RoundsQuotientsByCpuScalarsAsByNumbers) {
  const std::string by_scalar = cuda({"f32:3", "cpu f32"}).simplified_text("div(x, s, rounding_mode='floor')");
  EXPECT_NE(by_scalar.find("fmod"), std::string::npos) << by_scalar;
  const std::string by_tensor = cuda({"f32:3"}).simplified_text("div(x, full_like(x, 41.), rounding_mode='trunc')");
  EXPECT_NE(by_tensor.find("trunc_divide f32 %0, %1"), std::string::npos) << by_tensor;
}

struct ErrorCase {
  const char* text;
  std::initializer_list<std::string> arguments;
  Device device;
  const char* message;
  const char* hint;
};

TEST(Devices, RejectsWhatEagerRejects) {
  const ErrorCase cases[] = {
      {"x / (s + 1)", {"f32:3", "cpu f32"}, Device::Cuda, "reads the value of this CPU tensor on the host", "float"},
      {"(s + 1, x)", {"cpu f32", "f32:3"}, Device::Cuda, "the op returns a CPU tensor", "s.to(x.device)"},
      {"x + s[None]", {"f32:3", "cpu f32"}, Device::Cuda, "to be on the same device", "s.to(x.device)"},
      {"stack([x[0], s])", {"f32:3", "cpu f32"}, Device::Cuda, "to be on the same device", ""},
      {"x.to('cpu')", {"f32:3"}, Device::Cuda, "cannot move tensors to cpu", "after the call"},
      {"x.to('cuda:1')",
       {"f32:3"},
       Device::Cuda,
       "runs on cuda:0, so it cannot create tensors on cuda:1",
       "before the call"},
      {"x.to('cuda')", {"f32:3"}, Device::Cpu, "the op runs on cpu", "before the call"},
      {"x.to(0)", {"f32:3"}, Device::Cpu, "the op runs on cpu, so it cannot create tensors on cuda:0", ""},
      {"x.to('no')", {"f32:3"}, Device::Cpu, "device type at start of device string: no", ""},
      {"x.to('float16')", {"f32:3"}, Device::Cpu, "Invalid device string: 'float16'", "torch.float16"},
      {"x.to(dtype='float16')", {"f32:3"}, Device::Cpu, "argument 'dtype' must be torch.dtype, not str", ""},
      {"x + torch.ones(3, device='xyz')", {"f32:3"}, Device::Cpu, "device type at start of device string: xyz", ""},
  };
  for (const ErrorCase& test_case : cases) {
    const std::string message =
        rejection_message(test_case.text, LoweringCase(test_case.arguments).on(test_case.device));
    EXPECT_NE(message.find(test_case.message), std::string::npos) << test_case.text << ":\n" << message;
    EXPECT_NE(message.find(test_case.hint), std::string::npos) << test_case.text << ":\n" << message;
  }
}

TEST(Devices, AcceptsAMoveToTheTensorsOwnDevice) {
  for (const char* text :
       {"x.to(x.device)", "x.to('cuda')", "x.to('cuda:0')", "x.to(0)", "x.to(device='cuda', dtype=torch.float16)",
        "x + torch.ones(3, device=x.device)", "x + torch.ones(3)"}) {
    EXPECT_EQ(rejection_message(text, cuda({"f32:3"})), "accepted") << text;
  }
  EXPECT_EQ(rejection_message("x + s.to('cuda')[None]", cuda({"f32:3", "cpu f32"})), "accepted");
  for (const char* text : {"x.to(x.device)", "x.to('cpu')", "x.to('cpu', torch.float16)", "x.to('cpu:0')"}) {
    EXPECT_EQ(rejection_message(text, {"f32:3"}), "accepted") << text;
  }
}

TEST(Factories, FollowTheDefaultDevice) {
  const auto under = [](FactoryDevice factories, LoweringCase call) {
    call.signature.factories = factories;
    return call;
  };
  const std::string mixes = "to be on the same device", elsewhere = "eager makes this tensor on the default device";
  const LoweringCase on_cuda = cuda({"f32:3"});
  EXPECT_TRUE(multiplies_by_reciprocal("x / torch.tensor(41.0)", under(FactoryDevice::Cpu, on_cuda)));
  EXPECT_FALSE(multiplies_by_reciprocal("x / torch.tensor(41.0)", under(FactoryDevice::Same, on_cuda)));
  EXPECT_EQ(rejection_message("x + torch.arange(3)", under(FactoryDevice::Same, on_cuda)), "accepted");
  for (const char* text : {"x + torch.arange(3)", "x + torch.tensor([1, 2, 3])", "x + torch.ones(3)"}) {
    EXPECT_NE(rejection_message(text, under(FactoryDevice::Cpu, on_cuda)).find(mixes), std::string::npos) << text;
    EXPECT_NE(rejection_message(text, under(FactoryDevice::Elsewhere, on_cuda)).find(elsewhere), std::string::npos)
        << text;
  }
  for (const LoweringCase& call : {on_cuda, LoweringCase{"f32:3"}}) {
    const LoweringCase moved = under(FactoryDevice::Elsewhere, call);
    EXPECT_EQ(rejection_message("x + torch.arange(3, device=x.device) + x.new_ones(3) + zeros_like(x)", moved),
              "accepted");
  }
}

TEST(Factories, TakeShapeAndDtypeFromTheirArguments) {
  const auto result = [](const std::string& text) {
    return LoweringCase({"f16:3"}).simplified_text("def f(x): return " + text);
  };
  EXPECT_NE(result("x.new_ones(2, 5)").find("out: f16[2, 5]"), std::string::npos);
  EXPECT_NE(result("torch.zeros(x.shape)").find("out: f32[x.size(0)]"), std::string::npos);
  EXPECT_NE(result("torch.full((4,), 2)").find("out: i64[4]"), std::string::npos);
  EXPECT_NE(result("torch.full((4,), 2, dtype=torch.int8)").find("scalar i8 2"), std::string::npos);
  EXPECT_NE(result("torch.eye(2, 3)").find("out: f32[2, 3]"), std::string::npos);
  EXPECT_NE(result("torch.arange(1.0, 6, 2)").find("out: f32[3]"), std::string::npos);
  const LoweringCase call{"f32:3"};
  EXPECT_NE(rejection_message("x + torch.zeros(-1)", call).find("Dimension size must be non-negative"),
            std::string::npos);
  EXPECT_NE(rejection_message("x + torch.arange(5, 2)", call).find("inconsistent with step sign"), std::string::npos);
  EXPECT_NE(rejection_message("x + torch.full(2, 3)", call).find("must be tuple of ints"), std::string::npos);
  EXPECT_NE(rejection_message("x.new_full((3,), 300, dtype=torch.int8)", call).find("type int8_t without overflow"),
            std::string::npos);
}

}  // namespace
}  // namespace ingot::frontend
