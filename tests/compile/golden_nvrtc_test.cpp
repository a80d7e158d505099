// NVRTC compiles every CUDA golden file, below its prelude, to machine code, for every supported GPU generation.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "codegen/target/prelude.h"
#include "runtime/compile/compiler.h"
#include "tests/scratch.h"

namespace ingot::runtime {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> goldens() {
  std::vector<fs::path> files;
  std::error_code absent;
  for (const auto& entry : fs::recursive_directory_iterator("tests/golden", absent))
    if (entry.path().extension() == ".cu") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

class GoldenNvrtc : public testing::TestWithParam<int> {};

TEST_P(GoldenNvrtc, Compiles) {
  if (Nvrtc::identity() == "no NVRTC") GTEST_SKIP() << "there is no NVRTC on this machine";
  const std::vector<fs::path> files = goldens();
  ASSERT_FALSE(files.empty()) << "run this in the root of the tree";
  for (const fs::path& file : files) {
    const std::string functions = read_file(file);
    const std::string text = codegen::prelude_for(codegen::Target::Kind::Cuda, functions) + functions;
    if (GetParam() < 90 && text.find("__cluster_dims__") != std::string::npos) continue;  // these GPUs have no clusters
    try {
      EXPECT_FALSE(Nvrtc::compile_cubin(text, file.filename().string(), GetParam(), false).empty()) << file;
    } catch (const Error& error) {
      ADD_FAILURE() << file << ": " << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, GoldenNvrtc, testing::Values(75, 80, 90, 100),
                         [](const auto& architecture) { return "sm_" + std::to_string(architecture.param); });

}  // namespace
}  // namespace ingot::runtime
