#include "base/error.h"
#include "runtime/api/runtime.h"
#include "runtime/call/bound_call.h"
#include "runtime/compile/compiler.h"
#include "runtime/records/kernel_cache.h"
#include "tests/runtime/support.h"
#include "tests/scratch.h"

// Tests KernelCache with a fake GPU that only counts.

namespace ingot::runtime {
namespace {

/// Loads kernels and records the devices; fails to load the first `failure_count` cubins.
struct Gpu final : CudaBackend {
  std::vector<int> loaded_on;
  int loads = 0, failure_count = 0;

  int device_count() override { return 2; }
  c10::DeviceIndex current_device() override { return 0; }
  int architecture(c10::DeviceIndex) override { return 90; }
  std::shared_ptr<const void> load(std::string_view, std::span<const std::string>, c10::DeviceIndex,
                                   std::span<const void*> kernels) override {
    ++loads;
    if (failure_count-- > 0) throw_environment("this cubin is of another driver");
    std::ranges::fill(kernels, this);
    return std::make_shared<int>();
  }
  void load_on(const void*, int64_t, c10::DeviceIndex device) override { loaded_on.push_back(device); }
  KernelResources resources(const void*, int, int64_t, c10::DeviceIndex) override { return {}; }
  at::Tensor empty_strided(c10::IntArrayRef, c10::IntArrayRef, c10::ScalarType, c10::DeviceIndex) override {
    return {};
  }
  void launch(const CudaLaunch&) override {}
  at::Tensor make_status(c10::DeviceIndex) override { return {}; }
  int32_t synchronize(c10::DeviceIndex, const at::Tensor&) override { return 0; }
};

Gpu* gpu = nullptr;
CudaBackend& fake_gpu() { return *gpu; }

class KernelCacheOfCuda : public testing::Test {
 protected:
  KernelCacheOfCuda() {
    gpu = &gpu_;
    make_call_key(*definition_, arguments_, {}, {}, Purpose::Show, key_);
    key_.device = c10::Device(c10::kCUDA, 0);
    graph_ = std::make_shared<const ir::Graph>(
        frontend::lower(*definition_, signature_of(key_, Numerics::Default), symbol_values_of(key_)));
    program_ = make_program(graph_);
    resolved_ = resolve(program_, key_, {});
  }

  std::shared_ptr<const KernelSet> get(KernelCache& kernels, c10::DeviceIndex device) {
    return kernels.get({.program = program_,
                        .strategy = resolved_.strategy,
                        .layouts = resolved_.layouts,
                        .target = {codegen::Target::Kind::Cuda, 90},
                        .options = {},
                        .device = device,
                        .graph = [&] { return graph_; },
                        .op_source = "x + 1"});
  }

  Scratch scratch_;
  Gpu gpu_;
  AtomicCounters counters_;
  std::shared_ptr<const frontend::Definition> definition_ = frontend::define("x + 1");
  at::Tensor x_ = at::rand({8});
  std::vector<Argument> arguments_{x_};
  CallKey key_;
  std::shared_ptr<const ir::Graph> graph_;
  Program program_;
  Resolved resolved_;
};

TEST_F(KernelCacheOfCuda, LoadsKernelsOnEachRequestedDevice) {
  Store store = Store::off("test");
  KernelCache kernels(store, counters_, fake_gpu);
  const auto first = get(kernels, 0), second = get(kernels, 1);
  EXPECT_EQ(first, second);
  EXPECT_EQ(counters_.compiles, 1u);
  EXPECT_EQ(gpu_.loads, 1);
  EXPECT_EQ(std::ranges::count(gpu_.loaded_on, 1), 1);
  const size_t load_count = gpu_.loaded_on.size();
  get(kernels, 0), get(kernels, 1);
  EXPECT_EQ(gpu_.loaded_on.size(), load_count);
}

TEST_F(KernelCacheOfCuda, ReplacesARecordThatDoesNotLoad) {
  Store store(scratch_.path());
  {
    KernelCache kernels(store, counters_, fake_gpu);
    get(kernels, 0);
  }
  // Fails both look-ups of the stored binary: by the layout's record, and by the key of the generated source.
  gpu_.failure_count = 2;
  {
    KernelCache kernels(store, counters_, fake_gpu);
    EXPECT_NE(get(kernels, 0), nullptr);
  }
  EXPECT_EQ(counters_.compiles, 2u);
  KernelCache kernels(store, counters_, fake_gpu);
  get(kernels, 0);
  EXPECT_EQ(counters_.compiles, 2u);
  EXPECT_EQ(counters_.disk_hits, 1u);
}

}  // namespace
}  // namespace ingot::runtime
