#include <thread>

#include "runtime/compile/compiler.h"
#include "tests/compile/testing.h"

namespace ingot::runtime {
namespace {

constexpr char kKernel[] =
    "extern \"C\" __global__ void axpy(float a, const float* x, float* y) {\n"
    "  y[threadIdx.x] = a * x[threadIdx.x] + y[threadIdx.x];\n"
    "}\n";

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

class NvrtcTest : public NewProcess {
 protected:
  void SetUp() override {
    if (Nvrtc::identity() == "no NVRTC") GTEST_SKIP() << "there is no NVRTC on this machine";
  }
};

TEST_F(NvrtcTest, MakesMachineCodeForEveryArchitecture) {
  for (const int architecture : {80, 90, 100}) {
    const std::string cubin = Nvrtc::compile_cubin(kKernel, "axpy", architecture, false);
    EXPECT_EQ(cubin.substr(0, 4),
              "\x7f"
              "ELF")
        << architecture;
    EXPECT_TRUE(contains(cubin, ".text.axpy")) << architecture;
  }
}

TEST_F(NvrtcTest, FusesOperationsOnlyIfFast) {
  const std::string exact = Nvrtc::compile_ptx(kKernel, "axpy", 90, false);
  EXPECT_TRUE(contains(exact, ".target sm_90")) << exact;
  EXPECT_TRUE(contains(exact, ".entry axpy")) << exact;
  EXPECT_TRUE(contains(exact, "mul.f32") || contains(exact, "mul.rn.f32")) << exact;
  EXPECT_FALSE(contains(exact, "fma")) << exact;
  EXPECT_FALSE(contains(exact, std::string_view("\0", 1)));
  EXPECT_TRUE(contains(Nvrtc::compile_ptx(kKernel, "axpy", 90, true), "fma.rn.ftz.f32"));
}

TEST_F(NvrtcTest, ShowsTheLogAndTheNumberedSource) {
  const std::string source = "extern \"C\" __global__ void k(float* x) {\n  x[0] = unknown_name;\n}\n";
  const std::string text = environment_error([&] { Nvrtc::compile_cubin(source, "relu_add.cu", 90, false); });
  EXPECT_TRUE(contains(text, "NVRTC " + Nvrtc::version() + " failed to compile relu_add.cu for sm_90")) << text;
  EXPECT_TRUE(contains(text, "relu_add.cu(2): error: identifier \"unknown_name\" is undefined")) << text;
  EXPECT_TRUE(contains(text, numbered(source).substr(0, 40))) << text;
}

TEST_F(NvrtcTest, CompilesForeignProgramsWithTheirOptionsAndInstances) {
  const std::string source =
      "template <typename T> __global__ void scale(T* x) { x[threadIdx.x] *= FACTOR; }\n"
      "extern \"C\" __global__ void twice(double* x) { x[threadIdx.x] *= 2; }\n";
  const std::vector<std::string> options = {"-DFACTOR=3"}, expressions = {"scale<float>", "twice"};
  const CudaProgram program = Nvrtc::compile(source, "scale.cu", 90, options, expressions);
  EXPECT_EQ(program.names, (std::vector<std::string>{"_Z5scaleIfEvPT_", "twice"}));
  EXPECT_TRUE(contains(program.cubin, ".text._Z5scaleIfEvPT_"));
  EXPECT_TRUE(contains(program.ptx, ".entry twice")) << program.ptx;

  const std::string text = environment_error([&] { Nvrtc::compile(source, "scale.cu", 90, {}, expressions); });
  EXPECT_TRUE(contains(text, "scale.cu(1): error: identifier \"FACTOR\" is undefined")) << text;
  EXPECT_FALSE(contains(text, numbered(source).substr(0, 20))) << text;
}

TEST_F(NvrtcTest, NamesAnUnknownArchitectureAndTheKnownOnes) {
  const std::vector<int> known = Nvrtc::architectures();
  EXPECT_TRUE(std::ranges::binary_search(known, 90));
  const std::string text = environment_error([&] { Nvrtc::compile_cubin(kKernel, "axpy", 20, false); });
  EXPECT_TRUE(contains(text, "cannot make code for sm_20, only for sm_")) << text;
  EXPECT_TRUE(contains(text, ", sm_90,")) << text;
}

TEST_F(NvrtcTest, CompilesInSeveralThreads) {
  const std::string expected = Nvrtc::compile_ptx(kKernel, "axpy", 90, false);
  std::vector<std::string> results(4);
  std::vector<std::thread> threads;
  for (std::string& result : results)
    threads.emplace_back([&result] { result = Nvrtc::compile_ptx(kKernel, "axpy", 90, false); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, std::vector<std::string>(4, expected));
}

TEST_F(NvrtcTest, HasAnIdentityWithoutOpeningTheLibrary) {
  const auto identify = [] {
    print_and_exit([] {
      const std::string identity = Nvrtc::identity();
      return identity + (contains(read_file("/proc/self/maps"), "libnvrtc") ? "; opened" : "; closed");
    });
  };
  EXPECT_EXIT(identify(), testing::ExitedWithCode(0), "^libnvrtc.so[0-9.]* [0-9]+ [0-9.]+ .*--fmad=false.*; closed$");
}

class NvrtcSearch : public NewProcess {};

TEST_F(NvrtcSearch, NamesTheTriedPaths) {
  const auto compile = [](const char* path) {
    ::setenv("INGOT_NVRTC", path, 1);
    print_and_exit([] { return Nvrtc::compile_cubin(kKernel, "axpy", 90, false); });
  };
  EXPECT_EXIT(compile("/nonexistent/libnvrtc.so.13"), testing::ExitedWithCode(0),
              "NVRTC.*was not found: install.*/nonexistent/libnvrtc.so.13: .*cannot open shared object file");
  EXPECT_EXIT(compile("libm.so.6"), testing::ExitedWithCode(0), "libm.so.6: .*undefined symbol: nvrtc");
  const Scratch scratch;
  const std::string file = scratch.path() / "libnvrtc.so.13";
  write_file(file, "not a library");
  EXPECT_EXIT(compile(file.c_str()), testing::ExitedWithCode(0), "libnvrtc.so.13: .*file too short");
}

TEST_F(NvrtcSearch, HasAnIdentityIfNvrtcIsMissing) {
  const auto identify = [] {
    ::setenv("INGOT_NVRTC", "/nonexistent/libnvrtc.so.13", 1);
    print_and_exit(Nvrtc::identity);
  };
  EXPECT_EXIT(identify(), testing::ExitedWithCode(0), "^no NVRTC$");
}

}  // namespace
}  // namespace ingot::runtime
