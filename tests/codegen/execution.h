#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "codegen/print/expressions.h"
#include "tests/codegen/guarded.h"
#include "tests/codegen/shared_library.h"
#include "tests/codegen/support.h"

// Runs generated kernels of both targets on this machine: CUDA C++ is compiled as host code that runs one thread after
// the other.

namespace ingot::codegen {

/// Makes CUDA C++ compile as host code: threads run one at a time, and their indices are globals. Threads that meet at
/// barriers or exchange values are coroutines. PER_BLOCK is `thread_local` if blocks run as threads of this machine (in
/// a cluster), and empty otherwise.
inline constexpr std::string_view kCudaOnHost = R"(
#include <math.h>
#include <cstring>
#include <algorithm>
using std::max, std::min, std::isnan, std::isinf, std::isfinite, std::signbit, std::copysign, std::floor, std::fmod, std::sqrt, std::pow;
struct Index { unsigned x; };
struct int4 { int x, y, z, w; };
[[maybe_unused]] static PER_BLOCK Index blockIdx, threadIdx;
#define __global__
#define __device__
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __shared__ static PER_BLOCK
#define __align__(bytes) __attribute__((aligned(bytes)))
#include <setjmp.h>
#include <ucontext.h>
#include <vector>
// A point to continue at. Threads start as contexts; after that, jumps switch between them without system calls.
struct Point { jmp_buf registers; };
static PER_BLOCK Point between_threads;
static PER_BLOCK std::vector<Point> waiting;
static PER_BLOCK std::vector<bool> started, done;
static PER_BLOCK void (*thread_of_block)();
// Waits until all threads that have not returned have called this function.
[[maybe_unused]] static void __syncthreads() {
  const Index self = threadIdx;
  if (_setjmp(waiting[self.x].registers) == 0) _longjmp(between_threads.registers, 1);
  threadIdx = self;
}
[[maybe_unused]] static void __syncwarp() { __syncthreads(); }
template <typename T>
static T __shfl_xor_sync(unsigned, T value, int bits) {
  static PER_BLOCK T values[1024];
  const unsigned self = threadIdx.x;
  values[self] = value;
  __syncthreads();
  const T other = values[self ^ bits];
  __syncthreads();
  return other;
}
static int any_of_threads(int value, unsigned begin, std::size_t end) {
  static PER_BLOCK int values[1024];
  values[threadIdx.x] = value;
  __syncthreads();
  int any = 0;
  for (unsigned t = begin; t < min(end, done.size()); ++t) any |= done[t] ? 0 : values[t];
  __syncthreads();
  return any;
}
[[maybe_unused]] static int __any_sync(unsigned, int value) {
  return any_of_threads(value, threadIdx.x / 32 * 32, threadIdx.x / 32 * 32 + 32);
}
[[maybe_unused]] static int __syncthreads_or(int value) { return any_of_threads(value, 0, done.size()); }
[[maybe_unused]] static void run_thread() {
  thread_of_block();
  done[threadIdx.x] = true;
  _longjmp(between_threads.registers, 1);
}
static void start_thread(char* stack, std::size_t bytes) {
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = bytes;
  makecontext(&context, run_thread, 0);
  setcontext(&context);
}
[[maybe_unused]] static void run_block(unsigned threads, void (*thread)(), bool uses_barriers) {
  if (!uses_barriers) {
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) thread();
    return;
  }
  constexpr std::size_t kStack = 65536;
  static PER_BLOCK std::vector<char> stacks;
  stacks.resize(kStack * threads);
  waiting.resize(threads);
  started.assign(threads, false);
  done.assign(threads, false);
  thread_of_block = thread;
  static PER_BLOCK unsigned t, left;  // not in a register, which another thread may overwrite
  for (left = threads; left > 0;)
    for (left = 0, t = 0; t < threads; ++t) {
      if (done[t]) continue;
      ++left;
      threadIdx.x = t;
      if (_setjmp(between_threads.registers) != 0) continue;
      if (started[t]) _longjmp(waiting[t].registers, 1);
      started[t] = true;
      start_thread(&stacks[kStack * t], kStack);
    }
}
#if HAS_CLUSTERS
#include <pthread.h>
#include <thread>
static pthread_barrier_t cluster_barrier;  // std::barrier spins, which is much slower on a busy machine
static thread_local char block_anchor;  // its address locates the block's variables: all blocks have the same layout
static char* block_anchors[8];
static void wait_for_cluster() {
  __syncthreads();
  if (threadIdx.x == 0) pthread_barrier_wait(&cluster_barrier);
  __syncthreads();
}
template <typename T>
static const T* in_other_block(const T* here, int block) {
  return reinterpret_cast<const T*>(block_anchors[block] + (reinterpret_cast<const char*>(here) - &block_anchor));
}
// The blocks of a cluster run as threads of this machine, each with its own shared memory.
static void run_cluster(unsigned first, unsigned blocks, unsigned threads, void (*thread)()) {
  pthread_barrier_init(&cluster_barrier, nullptr, blocks);
  std::vector<std::thread> of_cluster;
  for (unsigned b = 0; b < blocks; ++b)
    of_cluster.emplace_back([=] {
      blockIdx.x = first + b;
      block_anchors[b] = &block_anchor;
      run_block(threads, thread, true);
    });
  for (std::thread& block : of_cluster) block.join();
  pthread_barrier_destroy(&cluster_barrier);
}
#endif
#define __builtin_assume(holds)
inline float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
inline unsigned __float_as_uint(float value) { return __builtin_bit_cast(unsigned, value); }
inline float __uint_as_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits) {
  return unsigned(((unsigned long long)high << 32 | low) >> (bits & 31));
}
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline double erfinv(double y) {
  double low = 0, high = 8;
  for (int step = 0; step < 100; ++step) (erfc((low + high) / 2) > 1 - fabs(y) ? low : high) = (low + high) / 2;
  const double size = fabs(y) < 1e-9 ? fabs(y) * 0.886226925452758 : low;
  return copysign(fabs(y) < 1 ? size : fabs(y) == 1 ? HUGE_VAL : NAN, y);
}
inline float erfinvf(float y) { return erfinv(double(y)); }
)";

/// The source that must precede the CUDA C++ source `kernels`, so that it compiles as host code (kCudaOnHost).
inline std::string cuda_on_host(const Target& target, std::string_view kernels) {
  const bool has_clusters = kernels.find("__cluster_dims__") != std::string_view::npos;
  return fmt::format("#define __CUDA_ARCH__ {}\n#define HAS_CLUSTERS {}\n#define PER_BLOCK {}\n{}",
                     10 * target.architecture, has_clusters ? 1 : 0, has_clusters ? "thread_local" : "", kCudaOnHost);
}

inline std::string argument_type(const Symbol& symbol) {
  const bool is_input = symbol.parameter->kind == KernelParameter::Kind::Pointer && !symbol.is_written;
  return (is_input ? "const " : "") + type_text(symbol.type) + (symbol.type.is_pointer ? "*" : "");
}

/// A function `void run_NAME(const void* const* arguments, long long begin, long long end)` for a CUDA kernel; `end` is
/// the number of blocks.
inline std::string cuda_runner(const Kernel& kernel) {
  std::string call;
  for (size_t a = 0; a < kernel.parameters.size(); ++a)
    call += (a > 0 ? ", " : "") +
            ("*(" + argument_type(kernel[kernel.parameters[a]]) + " const*)arguments[" + std::to_string(a) + "]");
  const std::string& entry = kernel.launch.entry;
  const std::string text = print_source(kernel).text;
  // `combined` is the prelude's function that exchanges values between threads.
  const bool uses_barriers =
      std::ranges::any_of(std::initializer_list{"__syncthreads", "__syncwarp", "combined"},
                          [&](std::string_view name) { return text.find(name) != std::string::npos; });
  const uint32_t threads = kernel.launch.block_threads, blocks = kernel.cluster_blocks;
  const std::string run =
      blocks > 1
          ? fmt::format(
                "for (long long block = begin; block < end; block += {1}) run_cluster(block, {1}, {2}, thread_of_{0});",
                entry, blocks, threads)
          : fmt::format("for (blockIdx.x = begin; blockIdx.x < end; ++blockIdx.x) run_block({1}, thread_of_{0}, {2});",
                        entry, threads, uses_barriers);
  return fmt::format(R"(
static const void* const* arguments_of_{0};
static void thread_of_{0}() {{
  const void* const* arguments = arguments_of_{0};
  {0}({1});
}}
extern "C" void run_{0}(const void* const* arguments, long long begin, long long end) {{
  arguments_of_{0} = arguments;
  {2}
}}
)",
                     entry, call, run);
}

inline constexpr std::string_view kGpuIncludes = "#include <cstdio>\n#include <cstdlib>\n";

/// As `cuda_runner`, on a GPU.
inline std::string gpu_runner(const Kernel& kernel) {
  return fmt::format(R"(
extern "C" void run_{0}(const void* const* arguments, long long begin, long long end) {{
  if (begin == end) return;
  const auto check = [](cudaError_t error) {{
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "{0}: %s\n", cudaGetErrorString(error));
    std::exit(1);
  }};
  const auto* const entry = reinterpret_cast<const void*>({0});
  check(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, {2}));
  check(cudaLaunchKernel(entry, dim3(end), dim3({1}), const_cast<void**>(arguments), {2}, nullptr));
  check(cudaDeviceSynchronize());
}}
)",
                     kernel.launch.entry, kernel.launch.block_threads, kernel.launch.shared.most_bytes());
}

/// Replaces inline PTX by equivalent C++.
inline std::string without_ptx(std::string text) {
  const auto replace = [&](std::string_view asm_begin, std::string_view replacement) {
    for (size_t at; (at = text.find(asm_begin)) != std::string::npos;)
      text.replace(at, text.find(");", at) + 2 - at, replacement);
  };
  replace("asm(\"cvt.rn.f16.f32", "bits = __builtin_bit_cast(unsigned short, (_Float16)value);");
  replace("asm(\"cvt.f32.f16", "value = __builtin_bit_cast(_Float16, bits);");
  replace("asm(\"cvt.rn.bf16.f32",
          "const unsigned wide = __builtin_bit_cast(unsigned, value); "
          "bits = value != value ? 0x7fff : (wide + 0x7fff + (wide >> 16 & 1)) >> 16;");
  replace("asm(\"mov.b32", "wide = __builtin_bit_cast(float, unsigned(bits) << 16);");
  replace("asm(\"rcp.approx.ftz.f32", "near = std::nextafter(1 / b, 0.0f);");
  replace("asm(\"max.NaN.f32", "result = a != a || b != b ? NAN : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;");
  replace("asm(\"min.NaN.f32", "result = a != a || b != b ? NAN : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;");
  replace("asm volatile(\"barrier.cluster.arrive", "__syncthreads();");
  replace("asm volatile(\"barrier.cluster.wait", "wait_for_cluster();");
  replace("asm(\"mapa.u64", "there = in_other_block(&found, block);");
  constexpr std::string_view kDynamic = "extern __shared__ int4 behind[];";
  if (const size_t at = text.find(kDynamic); at != std::string::npos)
    text.replace(at, kDynamic.size(), "static PER_BLOCK int4 behind[16384];");
  return text;
}

/// The arguments of a launch, in the order of the kernel's parameter list, as the runtime packs them. `data`: the
/// tensor's memory for each access; `status`: receives the code of a failed check.
class Arguments {
 public:
  Arguments(const LaunchInfo& launch, const KernelOutline& kernel, const KernelGeometry& geometry,
            const std::vector<std::byte*>& data, std::span<const ir::HostValue> host, int* status,
            const std::vector<std::byte*>& partials = {}) {
    values_.resize(launch.parameters.size());
    for (size_t k = 0; k < launch.parameters.size(); ++k) {
      const KernelParameter& argument = launch.parameters[k];
      const auto put = [&](auto value) { std::memcpy(&values_[k], &value, sizeof(value)); };
      const auto put_size = [&](int64_t value) {
        ir::size_of(argument.dtype) == 4 ? put(static_cast<int32_t>(value)) : put(value);
      };
      const AccessGeometry& access = geometry.accesses[argument.a];
      switch (argument.kind) {
        case KernelParameter::Kind::Pointer:
          put(data[argument.a] + access.offset * ir::size_of(kernel.accesses[argument.a].dtype));
          break;
        case KernelParameter::Kind::Extent:
          put_size(geometry.extents[argument.b]);
          break;
        case KernelParameter::Kind::Numel:
          put_size(geometry.numel);
          break;
        case KernelParameter::Kind::Stride:
          put_size(access.strides[argument.b]);
          break;
        case KernelParameter::Kind::GatherStride:
          put_size(access.gather_strides[argument.b]);
          break;
        case KernelParameter::Kind::GatherExtent:
          put_size(access.gather_extents[argument.b]);
          break;
        case KernelParameter::Kind::Status:
          put(status);
          break;
        case KernelParameter::Kind::Partials:
          put(partials.at(argument.a));
          break;
        case KernelParameter::Kind::Scalar: {
          const ir::HostValue value = host[kernel.scalars[argument.a].value.index];
          if (argument.dtype == ir::DType::F32)
            put(static_cast<float>(value.as_double()));
          else if (argument.dtype == ir::DType::F64)
            put(value.as_double());
          else
            put(value.as_int());
          break;
        }
      }
    }
    for (const int64_t& value : values_) addresses_.push_back(&value);
  }
  const void* const* addresses() const { return addresses_.data(); }

 private:
  std::vector<int64_t> values_;
  std::vector<const void*> addresses_;
};

/// The entry function of a CPU kernel, or the function that cuda_runner makes of a CUDA kernel: runs the units, or the
/// blocks, in [begin, end).
using Entry = void(const void* const*, long long, long long);

/// The functions that run kernels, in several shared libraries that are compiled at the same time. Kernels with
/// clusters have libraries of their own, because the blocks of a cluster are threads of this machine, which slows down
/// everything else in the library.
class KernelLibrary {
 public:
  /// Where CUDA kernels run; CPU kernels always run on the host.
  enum class Machine : uint8_t { Host, Gpu };

  KernelLibrary(const std::vector<const Kernel*>& kernels, const Target& target, Machine machine = Machine::Host)
      : target_(target), machine_(machine) {
    constexpr size_t kKernels = 100;  // of a shared library
    std::vector<std::vector<const Kernel*>> parts;
    for (const bool has_clusters : {false, true}) {
      size_t room = 0;
      for (const Kernel* kernel : kernels) {
        if ((kernel->cluster_blocks > 1) != has_clusters) continue;
        if (room == 0) parts.emplace_back(), room = kKernels;
        parts.back().push_back(kernel), --room;
      }
    }
    std::vector<std::future<std::unique_ptr<SharedLibrary>>> compilations;
    for (size_t part = 0; part < parts.size(); ++part) {
      const size_t cores = std::max(1u, std::thread::hardware_concurrency());
      if (part >= cores) libraries_.push_back(compilations[part - cores].get());
      compilations.push_back(std::async(std::launch::async, [&, part] { return compiled(parts[part]); }));
    }
    for (auto& compilation : compilations)
      if (compilation.valid()) libraries_.push_back(compilation.get());
  }

  bool is_loaded() const { return std::ranges::all_of(libraries_, &SharedLibrary::is_loaded); }
  /// The function that runs the kernel with this entry point.
  Entry* find(const std::string& entry) const {
    for (const std::unique_ptr<SharedLibrary>& library : libraries_)
      if (auto* function = library->find<Entry>((target_.cuda() ? "run_" : "") + entry)) return function;
    return nullptr;
  }

 private:
  std::unique_ptr<SharedLibrary> compiled(const std::vector<const Kernel*>& kernels) const {
    std::string text;
    for (const Kernel* kernel : kernels) text += print_source(*kernel).text;
    text = prelude_for(target_.kind, text) + text;
    if (machine_ == Machine::Gpu) {
      for (const Kernel* kernel : kernels) text += gpu_runner(*kernel);
      return std::make_unique<SharedLibrary>(std::string(kGpuIncludes) + "namespace generated {\n" + text + "}\n", "",
                                             kGpuCompiler);
    }
    text = without_ptx(std::move(text));
    if (target_.cuda()) {
      for (const Kernel* kernel : kernels) text += cuda_runner(*kernel);
      text = cuda_on_host(target_, text) + text;
    }
    // A GPU faults on unaligned vectors; here the sanitizer does. Without optimisation, CUDA's many unrolled loops
    // compile in half the time.
    return std::make_unique<SharedLibrary>(
        text, std::string(target_.cuda() ? "-O0" : "-O1") +
                  " -fsanitize=alignment -fsanitize-undefined-trap-on-error -Wno-maybe-uninitialized");
  }

  Target target_;
  Machine machine_;
  std::vector<std::unique_ptr<SharedLibrary>> libraries_;
};

}  // namespace ingot::codegen
