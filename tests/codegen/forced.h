#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/kernel/build.h"
#include "codegen/schedule/facts.h"
#include "ir/passes/unroll_reductions.h"
#include "tests/codegen/allowed_schedules.h"
#include "tests/codegen/execution.h"
#include "tests/codegen/op_call.h"

// Ops whose kernels are built with every schedule that their layouts allow, and run with each of them.

namespace ingot::codegen {

using Bytes = std::vector<std::byte>;

/// Memory of one tensor, where kernels can access it.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual std::byte* data() const = 0;
  virtual void write(const Bytes& bytes) = 0;
  virtual void read(Bytes& bytes) const = 0;
};
using MakeBuffer = std::function<std::unique_ptr<Buffer>(size_t bytes)>;

/// Memory of this machine between guard pages. Every other buffer ends at a guard page; the others begin at one, and so
/// at an address that is aligned to vectors.
class GuardedBuffer : public Buffer {
 public:
  static MakeBuffer maker() {
    return [at_end = true](size_t bytes) mutable {
      at_end = !at_end;
      return std::make_unique<GuardedBuffer>(bytes, at_end);
    };
  }
  GuardedBuffer(size_t bytes, bool at_end) : memory_(bytes, at_end) {}

  std::byte* data() const override { return memory_.data(); }
  void write(const Bytes& bytes) override { std::memcpy(data(), bytes.data(), bytes.size()); }
  void read(Bytes& bytes) const override { std::memcpy(bytes.data(), data(), bytes.size()); }

 private:
  Guarded memory_;
};

/// Memory of a GPU.
class GpuBuffer : public Buffer {
 public:
  explicit GpuBuffer(size_t bytes) : data_(functions().find<void*(size_t)>("allocate")(bytes)) {}
  ~GpuBuffer() override { functions().find<void(void*)>("release")(data_); }
  GpuBuffer(const GpuBuffer&) = delete;
  GpuBuffer& operator=(const GpuBuffer&) = delete;

  std::byte* data() const override { return static_cast<std::byte*>(data_); }
  void write(const Bytes& bytes) override { copy(data_, bytes.data(), bytes.size()); }
  void read(Bytes& bytes) const override { copy(bytes.data(), data_, bytes.size()); }

 private:
  static const SharedLibrary& functions() {
    static const SharedLibrary library(R"(
extern "C" void* allocate(size_t bytes) {
  void* data = nullptr;
  cudaMalloc(&data, bytes + 16 - bytes % 16);  // vectors may reach past the last element
  return data;
}
extern "C" void release(void* data) { cudaFree(data); }
extern "C" void copy(void* to, const void* from, size_t bytes) { cudaMemcpy(to, from, bytes, cudaMemcpyDefault); }
)",
                                       "", kGpuCompiler);
    return library;
  }
  static void copy(void* to, const void* from, size_t bytes) {
    functions().find<void(void*, const void*, size_t)>("copy")(to, from, bytes);
  }

  void* data_;
};

/// An op and its arguments (see OpCall).
struct ForcedOp {
  std::string_view name, source;
  std::vector<std::string_view> arguments;
  std::optional<PartitionStrategy> strategy = {};
  bool unrolls = false;  ///< short reductions are unrolled
};

/// One kernel of an op's outline with one schedule; one or two launches.
struct ForcedKernel {
  Schedule schedule;
  std::vector<Kernel> launches;
};

/// The choices of a schedule, as numbers.
inline std::vector<size_t> choices_of(const Schedule& schedule) {
  const Residency& residency = schedule.residency;
  const LoopMap &kept = schedule.kept(), &reduced = schedule.reduced();
  const auto count = [&](const auto& holds) {
    return static_cast<size_t>(std::ranges::count_if(schedule.accesses, holds));
  };
  return {schedule.is_across(),
          schedule.lanes(),
          reduced.count(Scope::Block),
          kept.count(Scope::Block),
          reduced.count(Scope::Cluster),
          reduced.count(Scope::Grid) + schedule.is_split(),
          schedule.is_across() ? reduced.count(Scope::Vector) : 0,
          residency.batch,
          std::min(residency.steps, 3u),
          std::min(residency.shared_steps, 3u),
          residency.unguarded_steps > 0,
          residency.computes_past_end,
          schedule.speculative_phase,
          residency.prefetches,
          residency.has_blocked_accumulators,
          residency.cached.size(),
          schedule.has_partial_vectors,
          schedule.index_bits,
          schedule.lazy.size(),
          count([](const AccessSchedule& access) { return access.how == AccessSchedule::How::Single; }),
          count([](const AccessSchedule& access) { return access.how == AccessSchedule::How::Staged; }),
          count([](const AccessSchedule& access) { return access.is_loaded_ahead; })};
}

/// Selects schedules of several kernels, such that each choice that some schedule of a kernel makes is made by a
/// selected schedule of that kernel; and each two choices that some schedule combines are combined by a selected
/// schedule of some kernel.
class Coverage {
 public:
  /// Selects from the schedules of a kernel, always the first one.
  std::vector<Schedule> select(std::vector<Schedule> schedules) {
    std::shuffle(schedules.begin() + 1, schedules.end(), random_);
    std::set<std::pair<size_t, size_t>> choices_of_kernel;
    std::vector<Schedule> selected;
    for (const Schedule& schedule : schedules) {
      const std::vector<size_t> choices = choices_of(schedule);
      const size_t before = choices_of_kernel.size() + pairs_.size();
      for (size_t a = 0; a < choices.size(); ++a) {
        choices_of_kernel.insert({a, choices[a]});
        for (size_t b = 0; b < a; ++b) pairs_.insert({a, choices[a], b, choices[b]});
      }
      if (choices_of_kernel.size() + pairs_.size() > before || selected.empty()) selected.push_back(schedule);
    }
    return selected;
  }

 private:
  std::mt19937 random_{1};
  std::set<std::array<size_t, 4>> pairs_;
};

/// Random contents of a tensor: floating-point numbers whose sums are not exact, or integers from 0 to 6.
inline Bytes random_contents(ir::DType dtype, size_t elements, std::mt19937& random) {
  std::normal_distribution<float> normal;
  const auto size = static_cast<size_t>(ir::size_of(dtype));
  Bytes bytes(elements * size);
  for (size_t e = 0; e < elements; ++e) {
    const auto put = [&](auto value) { std::memcpy(&bytes[e * size], &value, size); };
    const float number = std::ldexp(normal(random), static_cast<int>(random() % 7) - 4);
    const auto bits = std::bit_cast<uint32_t>(number);
    if (dtype == ir::DType::F32)
      put(number);
    else if (dtype == ir::DType::F64)
      put(double{number} + 1e-9 * number * number);
    else if (dtype == ir::DType::BF16)
      put(static_cast<uint16_t>(bits >> 16));
    else if (dtype == ir::DType::F16)
      put(static_cast<uint16_t>(std::bit_cast<uint16_t>(static_cast<_Float16>(number))));
    else
      put(uint64_t{random() % (dtype == ir::DType::Bool ? 2 : 7)});
  }
  return bytes;
}

/// The kernels of an op, each with several schedules, and memory for the op's tensors.
class ForcedCall {
 public:
  /// `choose`: selects from the schedules that a layout allows; the first one is the policy's.
  ForcedCall(const ForcedOp& op, const Target& target, const MakeBuffer& make_buffer,
             const std::function<std::vector<Schedule>(const std::vector<Schedule>&)>& choose)
      : target_(target),
        make_buffer_(make_buffer),
        definition_(frontend::define(std::string(op.source))),
        call_(op.arguments, target.cuda() ? frontend::Device::Cuda : frontend::Device::Cpu) {
    graph_ = frontend::lower(*definition_, call_.signature, call_.symbol_values());
    graph_ = ir::contract(ir::simplify(ir::inline_calls(graph_)));
    if (op.unrolls) graph_ = ir::unroll_reductions(graph_, reduction_order(target.cuda()));
    graph_ = ir::align_rows(graph_);
    graph_.name = op.name;
    make_arguments();
    make_results(op.strategy);
    prepared_ = prepare(graph_, call_.tensors, false, op.strategy);
    for (uint32_t k = 0; k < prepared_.outline.kernels.size(); ++k) add_kernels(k, choose);
  }

  /// The number of runs that have each kernel with each of its schedules.
  size_t runs() const {
    size_t runs = 0;
    for (const auto& kernels : kernels_) runs = std::max(runs, kernels.size());
    return runs;
  }
  /// The launches of all kernels with all schedules.
  std::vector<const Kernel*> launches() const {
    std::vector<const Kernel*> launches;
    for (const std::vector<ForcedKernel>& kernels : kernels_)
      for (const ForcedKernel& kernel : kernels)
        for (const Kernel& launch : kernel.launches) launches.push_back(&launch);
    return launches;
  }
  const std::vector<std::vector<ForcedKernel>>& kernels() const { return kernels_; }

  /// The schedules of a run.
  std::string text_of_run(size_t run) const {
    std::string text = print(graph_);
    for (uint32_t k = 0; k < kernels_.size(); ++k)
      text += prepared_.layouts[k].text() + "\n" + print(kernel_of(k, run).schedule, prepared_.outline.kernels[k]);
    return text;
  }

  /// The contents of all results after a run.
  std::vector<Bytes> results(size_t run, const KernelLibrary& library) const {
    std::vector<Bytes> contents;
    for (size_t r = 0; r < results_.size(); ++r) {
      contents.push_back(Bytes(bytes_of(prepared_.results[r], graph_.results[r].dtype), std::byte{0x7b}));
      results_[r]->write(contents[r]);
    }
    std::vector<std::unique_ptr<Buffer>> workspaces;
    for (const ir::SizesAndStrides& extents : prepared_.workspaces)
      workspaces.push_back(aligned_buffer(bytes_of(extents, ir::DType::I64)));
    const std::unique_ptr<Buffer> status = aligned_buffer(sizeof(int));
    std::map<uint32_t, std::vector<std::unique_ptr<Buffer>>> partials;
    for (uint32_t k = 0; k < kernels_.size(); ++k)
      for (const Kernel& kernel : kernel_of(k, run).launches) {
        std::vector<std::unique_ptr<Buffer>>& of_writer = partials[kernel.launch.partials_writer];
        const KernelGeometry& geometry = prepared_.geometries[k];
        if (of_writer.empty())
          for (const ir::DType dtype : kernel.launch.partials)
            of_writer.push_back(buffer_with(
                Bytes(static_cast<size_t>(ir::size_of(dtype) * count(kernel.launch.partial_count, geometry.extents)))));
        launch(kernel, k, workspaces, of_writer, *status, library.find(kernel.launch.entry));
      }
    for (size_t r = 0; r < results_.size(); ++r) results_[r]->read(contents[r]);
    return contents;
  }

 private:
  static size_t bytes_of(const ir::SizesAndStrides& extents, ir::DType dtype) {
    int64_t last = 0;
    for (size_t d = 0; d < extents.sizes.size(); ++d) {
      if (extents.sizes[d] == 0) return 0;
      last += (extents.sizes[d] - 1) * extents.strides[d];
    }
    return static_cast<size_t>((last + 1) * ir::size_of(dtype));
  }

  std::unique_ptr<Buffer> buffer_with(const Bytes& contents) const {
    std::unique_ptr<Buffer> buffer = make_buffer_(contents.size());
    buffer->write(contents);
    return buffer;
  }

  /// A buffer of zeros that begins and ends at vector boundaries, as the runtime's own buffers do.
  std::unique_ptr<Buffer> aligned_buffer(size_t bytes) const {
    return buffer_with(Bytes((bytes + kVectorBytes - 1) / kVectorBytes * kVectorBytes));
  }

  void make_results(std::optional<PartitionStrategy> strategy) {
    const Prepared sizes = prepare(graph_, call_.tensors, false, strategy);
    for (size_t r = 0; r < sizes.results.size(); ++r) {
      results_.push_back(make_buffer_(bytes_of(sizes.results[r], graph_.results[r].dtype)));
      call_.tensors.result_addresses.push_back(reinterpret_cast<uintptr_t>(results_[r]->data()));
    }
  }

  void make_arguments() {
    std::mt19937 random(1);
    for (size_t p = 0; p < call_.tensors.params.size(); ++p) {
      if (call_.signature.arguments[p].kind != frontend::ArgumentSpec::Kind::Tensor) {
        arguments_.emplace_back();
        continue;
      }
      const ir::DType dtype = call_.signature.arguments[p].dtype;
      const size_t offset = call_.tensors.addresses[p], bytes = bytes_of(call_.tensors.params[p], dtype);
      Bytes contents(offset);
      const Bytes values = random_contents(dtype, bytes / static_cast<size_t>(ir::size_of(dtype)), random);
      contents.insert(contents.end(), values.begin(), values.end());
      arguments_.push_back(buffer_with(contents));
      call_.tensors.addresses[p] = reinterpret_cast<uintptr_t>(arguments_[p]->data()) + offset;
    }
  }

  void add_kernels(uint32_t k, const std::function<std::vector<Schedule>(const std::vector<Schedule>&)>& choose) {
    const KernelOutline& outline = prepared_.outline.kernels[k];
    const std::vector<Schedule> all = allowed_schedules(prepared_.graph, outline, prepared_.layouts[k], target_);
    std::vector<ForcedKernel>& kernels = kernels_.emplace_back();
    std::set<std::string> sources;
    for (const Schedule& schedule : choose(all)) {
      std::vector<Kernel> launches = build(prepared_.graph, outline, prepared_.layouts[k], schedule, target_, {});
      std::string source;
      for (const Kernel& kernel : launches) source += print_source(kernel).text;
      if (!sources.insert(source).second) continue;
      for (Kernel& kernel : launches) {
        kernel.launch.entry += "_" + std::to_string(kernels.size());
        kernel.launch.outline_kernel = k;
        kernel.launch.partials_writer = outline.partials_writer.value_or(k);
      }
      kernels.push_back({schedule, std::move(launches)});
    }
  }

  const ForcedKernel& kernel_of(uint32_t k, size_t run) const { return kernels_[k][run % kernels_[k].size()]; }

  void launch(const Kernel& kernel, uint32_t k, const std::vector<std::unique_ptr<Buffer>>& workspaces,
              const std::vector<std::unique_ptr<Buffer>>& partials, const Buffer& status, Entry* entry) const {
    std::vector<std::byte*> data, partials_data;
    for (const AccessUse& use : prepared_.outline.kernels[k].accesses)
      data.push_back(!use.has_tensor()  ? nullptr
                     : use.in_workspace ? workspaces[use.tensor]->data()
                     : use.kind == AccessUse::Kind::Store
                         ? results_[use.tensor]->data()
                         : reinterpret_cast<std::byte*>(call_.tensors.addresses[use.tensor]));
    for (const std::unique_ptr<Buffer>& buffer : partials) partials_data.push_back(buffer->data());
    const KernelGeometry& geometry = prepared_.geometries[k];
    const Arguments arguments(kernel.launch, prepared_.outline.kernels[k], geometry, data, prepared_.host,
                              reinterpret_cast<int*>(status.data()), partials_data);
    ASSERT_NE(entry, nullptr) << kernel.launch.entry;
    entry(arguments.addresses(), 0, kernel.launch.units(geometry.extents));
  }

  Target target_;
  MakeBuffer make_buffer_;
  std::shared_ptr<const frontend::Definition> definition_;  // the graph points into its source
  OpCall call_;
  ir::Graph graph_;
  Prepared prepared_;
  std::vector<std::unique_ptr<Buffer>> arguments_, results_;
  std::vector<std::vector<ForcedKernel>> kernels_;  // by kernel of the outline
};

}  // namespace ingot::codegen
