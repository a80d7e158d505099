#include "base/error.h"
#include "runtime/api/runtime.h"
#include "runtime/call/bound_call.h"
#include "runtime/compile/compiler.h"
#include "runtime/records/kernel_cache.h"
#include "tests/runtime/support.h"
#include "tests/scratch.h"

// How kernels are found and loaded, with a fake GPU that only counts.

namespace ingot::runtime {
namespace {

/// Loads kernels and records the devices; fails to load as many cubins as `refuse` says.
struct Gpu final : CudaBackend {
  std::vector<int> loaded_on;
  int loads = 0, refuse = 0;

  int device_count() override { return 2; }
  c10::DeviceIndex current_device() override { return 0; }
  int architecture(c10::DeviceIndex) override { return 90; }
  std::shared_ptr<const void> load(std::string_view, std::span<const std::string>, c10::DeviceIndex,
                                   std::span<const void*> loaded) override {
    ++loads;
    if (refuse-- > 0) throw_environment("this cubin is of another driver");
    std::ranges::fill(loaded, this);
    return std::make_shared<int>();
  }
  void load_on(const void*, int64_t, c10::DeviceIndex device) override { loaded_on.push_back(device); }
  KernelResources resources(const void*, int, int64_t, c10::DeviceIndex) override { return {}; }
  at::Tensor empty_strided(c10::IntArrayRef, c10::IntArrayRef, c10::ScalarType, c10::DeviceIndex) override {
    return {};
  }
  void launch(const CudaLaunch&) override {}
  at::Tensor status(c10::DeviceIndex) override { return {}; }
  int32_t synchronize(c10::DeviceIndex, const at::Tensor&) override { return 0; }
};

Gpu* gpu = nullptr;
CudaBackend& the_gpu() { return *gpu; }

class LaunchesOfCuda : public testing::Test {
 protected:
  LaunchesOfCuda() {
    gpu = &gpu_;
    make_call_key(*definition_, arguments_, {}, {}, Purpose::Show, key_);
    key_.device = c10::Device(c10::kCUDA, 0);
    graph_ = std::make_shared<const ir::Graph>(
        frontend::lower(*definition_, signature_of(key_, Numerics::Default), symbol_values_of(key_)));
    program_ = make_program(graph_);
    resolved_ = resolve(program_, key_, {});
  }

  std::shared_ptr<const KernelSet> get(KernelCache& launches, c10::DeviceIndex device) {
    return launches.get({.program = program_,
                         .strategy = resolved_.strategy,
                         .layouts = resolved_.layouts,
                         .target = {codegen::Target::Kind::Cuda, 90},
                         .options = {},
                         .device = device,
                         .graph = [&] { return graph_; },
                         .author_text = "x + 1"});
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

TEST_F(LaunchesOfCuda, AreLoadedOnEveryDeviceThatAsks) {
  Store store = Store::off("test");
  KernelCache launches(store, counters_, the_gpu);
  const auto first = get(launches, 0), second = get(launches, 1);
  EXPECT_EQ(first, second);
  EXPECT_EQ(counters_.compiles, 1u);
  EXPECT_EQ(gpu_.loads, 1);
  EXPECT_EQ(std::ranges::count(gpu_.loaded_on, 1), 1);
  const size_t so_far = gpu_.loaded_on.size();
  get(launches, 0), get(launches, 1);
  EXPECT_EQ(gpu_.loaded_on.size(), so_far);
}

TEST_F(LaunchesOfCuda, ARecordThatDoesNotLoadIsReplaced) {
  Store store(scratch_.path());
  {
    KernelCache launches(store, counters_, the_gpu);
    get(launches, 0);
  }
  gpu_.refuse = 2;  // the record of the layout, and that of the source
  {
    KernelCache launches(store, counters_, the_gpu);
    EXPECT_NE(get(launches, 0), nullptr);
  }
  EXPECT_EQ(counters_.compiles, 2u);
  KernelCache launches(store, counters_, the_gpu);
  get(launches, 0);
  EXPECT_EQ(counters_.compiles, 2u);
  EXPECT_EQ(counters_.disk_hits, 1u);
}

}  // namespace
}  // namespace ingot::runtime
