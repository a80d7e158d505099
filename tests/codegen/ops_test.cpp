// Every primitive in each of `kTypes` that PyTorch accepts for it, in the spelling of each target, compiled and
// compared with reference C++ or mathematics. (The runtime's tests compare with PyTorch.)

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>

#include "tests/codegen/execution.h"
#include "tests/codegen/reference.h"
#include "tests/ir/philox.h"

namespace ingot::codegen {
namespace {

using ir::DType;

constexpr DType kTypes[] = {DType::F32, DType::F64, DType::I32, DType::I64,
                            DType::U8,  DType::I8,  DType::I16, DType::Bool};

/// One op in one type: its graph, evaluated on pairs of all samples.
struct OpCase {
  Op op;
  DType dtype;
  ir::Graph graph;
};

std::string name_of(Op op, DType dtype) {
  return "op_" + std::string(ir::id_of(op)) + "_" + std::string(ir::short_name(dtype));
}

bool takes(const ir::OpInfo& info, DType dtype) {
  if (info.rule == ir::Rule::Float && !ir::is_floating(dtype)) return false;
  if (info.rule == ir::Rule::Logical) return dtype == DType::Bool;
  return info.accepts.contains(dtype);
}

/// Series without a simple reference, and recurrences whose length is an operand: the runtime's tests compare them with
/// PyTorch.
constexpr Op kComparedWithPyTorch[] = {Op::Zeta,
                                       Op::Igamma,
                                       Op::Igammac,
                                       Op::AirySeries,
                                       Op::ChebyshevRecurrence,
                                       Op::HermiteRecurrence,
                                       Op::LaguerreRecurrence,
                                       Op::LegendreRecurrence};

/// sm_75 has no `max.NaN` and no conversion to bfloat16.
constexpr Target kOldCuda{Target::Kind::Cuda, 75};

std::vector<OpCase> all_cases(const Target& target) {
  std::vector<OpCase> cases;
  for (const ir::OpInfo& info : ir::primitives()) {
    if (info.op == Op::Where || info.op == Op::Fma || info.op == Op::RandomWord) continue;  // tested below
    if (target == kOldCuda && info.op != Op::Maximum && info.op != Op::Minimum) continue;   // as on newer architectures
    if (std::ranges::count(kComparedWithPyTorch, info.op) > 0) continue;
    for (const DType dtype : kTypes) {
      if (!takes(info, dtype)) continue;
      Sketch sketch(name_of(info.op, dtype));
      std::vector<ir::NodeId> operands;
      for (int k = 0; k < info.arity; ++k)
        operands.push_back(sketch.tensor(std::string(1, static_cast<char>('p' + k)), dtype, 1));
      const DType result = info.rule == ir::Rule::Compare ? DType::Bool : dtype;
      sketch.result("out", result, sketch.graph.add(info.op, result, operands), {sketch.graph.host.size(0, 0)});
      ir::verify(sketch.graph);
      cases.push_back({info.op, dtype, std::move(sketch.graph)});
    }
  }
  return cases;
}

/// Runs a one-kernel graph on contiguous operands of equal length.
template <typename R>
std::unique_ptr<R[]> run(const SharedLibrary& library, const ir::Graph& graph, const Target& target,
                         std::vector<void*> operands, int64_t count, std::vector<ir::HostValue> numbers = {},
                         int* status = nullptr) {
  int ignored_status = 0;
  Tensors tensors;
  tensors.numbers = std::move(numbers);
  for (const void* data : operands) {
    tensors.params.push_back(contiguous({count}));
    tensors.addresses.push_back(reinterpret_cast<uintptr_t>(data));
  }
  std::vector<std::byte> memory(static_cast<size_t>(count) * sizeof(R) + 64);
  std::byte* out = memory.data() + 16 - reinterpret_cast<uintptr_t>(memory.data()) % 16;
  tensors.result_addresses = {reinterpret_cast<uintptr_t>(out)};
  const Prepared prepared = prepare(graph, tensors);
  const LaunchInfo launch = generate(prepared.graph, prepared.outline, prepared.layouts, target, {}, "").kernels[0];
  std::vector<std::byte*> data;
  for (const AccessUse& use : prepared.outline.kernels[0].accesses)
    data.push_back(use.kind == AccessUse::Kind::Store ? out : static_cast<std::byte*>(operands[use.tensor]));
  const Arguments arguments(launch, prepared.outline.kernels[0], prepared.geometries[0], data, prepared.host,
                            status != nullptr ? status : &ignored_status);
  const bool is_cuda = target.kind == Target::Kind::Cuda;
  auto* entry = library.find<Entry>((is_cuda ? "run_" : "") + launch.entry);
  EXPECT_NE(entry, nullptr) << launch.entry;
  if (entry != nullptr) entry(arguments.addresses(), 0, launch.units(prepared.geometries[0].extents));
  auto values = std::make_unique<R[]>(static_cast<size_t>(count));
  std::memcpy(values.get(), out, static_cast<size_t>(count) * sizeof(R));
  return values;
}

std::string library_text(const std::vector<const ir::Graph*>& graphs, const Target& target) {
  const bool is_cuda = target.kind == Target::Kind::Cuda;
  std::string text(is_cuda ? cuda_on_host(target, {}) : "");
  for (const ir::Graph* graph : graphs) {
    Tensors tensors;
    for (size_t p = 0; p < graph->params.size(); ++p) tensors.params.push_back(contiguous({16}));
    const Prepared prepared = prepare(*graph, tensors);
    text += "namespace in_" + graph->name + " {\n" +
            without_ptx(generate(prepared.graph, prepared.outline, prepared.layouts, target, {}, "").text);
    if (is_cuda) text += cuda_runner(kernels(prepared.graph, prepared.outline, prepared.layouts, target, {})[0]);
    text += "}\n";
  }
  return text;
}

/// Calls `body` with a value of the C++ type of a dtype.
template <typename Body>
void with_type(DType dtype, Body body) {
  switch (dtype) {
    case DType::F32:
      return body(float{});
    case DType::F64:
      return body(double{});
    case DType::I32:
      return body(int32_t{});
    case DType::I64:
      return body(int64_t{});
    case DType::U8:
      return body(uint8_t{});
    case DType::I8:
      return body(int8_t{});
    case DType::I16:
      return body(int16_t{});
    case DType::Bool:
      return body(bool{});
    default:
      ADD_FAILURE();
  }
}

/// Memory for vector loads: aligned to 16 bytes.
template <typename T>
struct Column {
  explicit Column(size_t count)
      : data(static_cast<T*>(std::aligned_alloc(16, (count * sizeof(T) + 15) / 16 * 16))), size(count) {}
  ~Column() { std::free(data); }
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;
  T* data;
  size_t size;
};

template <typename T>
void check_case(const SharedLibrary& library, const OpCase& test_case, const Target& target) {
  const ir::OpInfo& info = ir::info(test_case.op);
  const bool is_cuda = target.kind == Target::Kind::Cuda;
  const std::vector<T> values = samples<T>();
  const size_t pairs = values.size() * (info.arity == 2 ? values.size() : 1);
  const size_t count = (pairs + 15) / 16 * 16;  // no elements past the end, which would divide by zero and trap here
  Column<T> a(count), b(count);
  for (size_t k = 0; k < count; ++k) {
    a.data[k] = values[k % values.size()];
    b.data[k] = values[k / values.size() % values.size()];
  }
  std::vector<void*> operands = {a.data};
  if (info.arity == 2) operands.push_back(b.data);
  const auto call_text = [&](size_t k) {
    return std::string(is_cuda ? "cuda " : "cpu ") + test_case.graph.name + "(" + std::to_string(a.data[k]) + ", " +
           std::to_string(b.data[k]) + ")";
  };
  if (info.rule == ir::Rule::Compare) {
    const auto actual = run<uint8_t>(library, test_case.graph, target, operands, static_cast<int64_t>(count));
    for (size_t k = 0; k < count; ++k)
      EXPECT_EQ(actual[k], expected_comparison<T>(test_case.op, a.data[k], b.data[k])) << call_text(k);
    return;
  }
  const bool is_division =
      !ir::is_floating(test_case.dtype) && (test_case.op == Op::FloorDivide || test_case.op == Op::TruncDivide ||
                                            test_case.op == Op::Remainder || test_case.op == Op::Fmod);
  // CUDA promises no result for integer division by zero; here it would trap.
  if (is_division && is_cuda) {
    for (size_t k = 0; k < count; ++k)
      if (b.data[k] == T(0) || b.data[k] == T(-1)) b.data[k] = T(3);
  }
  int status = 0;
  const auto actual = run<T>(library, test_case.graph, target, operands, static_cast<int64_t>(count), {}, &status);
  EXPECT_EQ(status != 0, is_division && !is_cuda) << test_case.graph.name << " by zero";
  for (size_t k = 0; k < count; ++k) {
    const T x = a.data[k], y = b.data[k];
    if constexpr (std::is_same_v<T, bool>) {
      EXPECT_EQ(actual[k], expected_bool(test_case.op, x, y)) << call_text(k);
    } else if constexpr (std::is_integral_v<T>) {
      const std::optional<T> expected = expected_integer<T>(test_case.op, x, y);
      if (expected) {
        EXPECT_EQ(actual[k], *expected) << call_text(k);
      }
    } else if (info.accuracy == ir::Accuracy::Exact) {
      const std::optional<T> expected = expected_exact<T>(test_case.op, x, y, target);
      if (expected) {
        EXPECT_TRUE(same_bits(actual[k], *expected)) << call_text(k) << " is " << actual[k] << ", not " << *expected;
      }
    } else {
      const std::optional<long double> expected = expected_real(test_case.op, x, y);
      ASSERT_TRUE(expected) << ir::id_of(test_case.op);
      if (test_case.op == Op::PowNumber && y == T(0.5) && x <= 0) continue;  // computed as a square root
      if (test_case.op == Op::Rsqrt && x == 0) continue;                     // keeps the sign of zero
      if (test_case.op == Op::Lgamma && std::fabs(x) > 1e30) continue;
      if (test_case.op == Op::ScaledErfc && std::fabs(x) < T(0.3)) continue;  // never used for x above 1000
      if (test_case.op == Op::ApproximateReciprocal && !(std::isnormal(x) && std::isnormal(T(1) / x)))
        continue;  // never used for these
      EXPECT_LE(ulps(actual[k], *expected), 4)
          << call_text(k) << " is " << actual[k] << ", not " << static_cast<double>(*expected);
    }
  }
}

class Primitives : public testing::TestWithParam<Target> {};

TEST_P(Primitives, MatchTheReference) {
  const std::vector<OpCase> cases = all_cases(GetParam());
  std::vector<const ir::Graph*> graphs;
  for (const OpCase& test_case : cases) graphs.push_back(&test_case.graph);
  // The graph is not simplified: isnan of integers does not use its operand.
  const SharedLibrary library(library_text(graphs, GetParam()),
                              "-O3 -Wno-bool-compare -Wno-int-in-bool-context -Wno-unused-but-set-variable");
  ASSERT_TRUE(library.is_loaded());
  for (const OpCase& test_case : cases)
    with_type(test_case.dtype, [&](auto type) { check_case<decltype(type)>(library, test_case, GetParam()); });
}

TEST_P(Primitives, CastsMatchC10) {
  std::vector<ir::Graph> graphs;
  for (const DType from : kTypes) {
    for (const DType to : kTypes) {
      if (from == to) continue;
      Sketch sketch("cast_" + std::string(ir::short_name(from)) + "_" + std::string(ir::short_name(to)));
      const ir::NodeId x = sketch.tensor("x", from, 1);
      sketch.result("out", to, sketch.graph.add(Op::Cast, to, {x}), {sketch.graph.host.size(0, 0)});
      graphs.push_back(std::move(sketch.graph));
    }
  }
  std::vector<const ir::Graph*> pointers;
  for (const ir::Graph& graph : graphs) pointers.push_back(&graph);
  const SharedLibrary library(library_text(pointers, GetParam()), "-O1");
  ASSERT_TRUE(library.is_loaded());
  size_t next = 0;
  for (const DType from : kTypes) {
    for (const DType to : kTypes) {
      if (from == to) continue;
      const ir::Graph& graph = graphs[next++];
      with_type(from, [&](auto from_type) {
        using From = decltype(from_type);
        with_type(to, [&](auto to_type) {
          using To = decltype(to_type);
          std::vector<From> values;
          for (const From value : samples<From>()) {
            const auto real = static_cast<long double>(value);
            const bool fits =
                std::fabs(real) < (sizeof(To) == 8 ? 9e18L : 2e9L) && (sizeof(To) >= 4 || std::fabs(real) < 200);
            if (!std::is_floating_point_v<From> || std::is_floating_point_v<To> || std::is_same_v<To, bool> || fits)
              values.push_back(value);
          }
          Column<From> column(values.size());
          std::ranges::copy(values, column.data);
          const auto actual = run<To>(library, graph, GetParam(), {column.data}, static_cast<int64_t>(values.size()));
          for (size_t k = 0; k < values.size(); ++k) {
            To expected;
            if constexpr (std::is_same_v<To, bool>)
              expected = values[k] != From(0);
            else if constexpr (std::is_same_v<To, uint8_t> && std::is_floating_point_v<From>)
              expected = static_cast<uint8_t>(static_cast<int64_t>(values[k]));
            else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>)
              expected = static_cast<To>(static_cast<int64_t>(values[k]));
            else
              expected = static_cast<To>(values[k]);
            EXPECT_TRUE(same_bits(actual[k], expected))
                << graph.name << "(" << std::to_string(values[k]) << ") is " << std::to_string(actual[k]);
          }
        });
      });
    }
  }
}

// The known answers of Random123, the library by Philox's authors: counter, key and result.
TEST_P(Primitives, PhiloxMatchesRandom123) {
  struct KnownAnswer {
    std::array<uint32_t, 4> counter;
    std::array<uint32_t, 2> key;
    std::array<uint32_t, 4> words;
  };
  constexpr uint32_t kOnes = ~uint32_t{0};
  const KnownAnswer known_answers[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  const std::string wrapper =
      "extern \"C\" void scramble(unsigned* words, unsigned long long key) {\n"
      "    philox(words[0], words[1], words[2], words[3], key);\n}\n";
  const bool is_cuda = GetParam().kind == Target::Kind::Cuda;
  const SharedLibrary library(
      (is_cuda ? cuda_on_host(GetParam(), {}) : "") + prelude_for(GetParam().kind, wrapper) + wrapper, "-O2");
  ASSERT_TRUE(library.is_loaded());
  auto* scramble = library.find<void(uint32_t*, unsigned long long)>("scramble");
  ASSERT_NE(scramble, nullptr);
  for (const KnownAnswer& answer : known_answers) {
    std::array<uint32_t, 4> words = answer.counter;
    scramble(words.data(), uint64_t{answer.key[1]} << 32 | answer.key[0]);
    EXPECT_EQ(words, answer.words);
    EXPECT_EQ(ir::philox(answer.counter, answer.key), answer.words);
  }
}

TEST_P(Primitives, RandomWordsMatchTheReference) {
  std::vector<ir::Graph> graphs;
  constexpr DType kIntegers[] = {DType::I64, DType::I32, DType::I16, DType::U8};
  for (const DType type : kIntegers) {
    Sketch sketch(name_of(Op::RandomWord, type));
    std::vector<ir::NodeId> operands;
    for (const char* name : {"seed", "sample", "position"}) operands.push_back(sketch.tensor(name, type, 1));
    sketch.result("out", type, sketch.graph.add(Op::RandomWord, type, operands), {sketch.graph.host.size(0, 0)});
    graphs.push_back(std::move(sketch.graph));
  }
  std::vector<const ir::Graph*> pointers;
  for (const ir::Graph& graph : graphs) pointers.push_back(&graph);
  const SharedLibrary library(library_text(pointers, GetParam()), "-O3");
  ASSERT_TRUE(library.is_loaded());
  size_t next = 0;
  for (const DType type : kIntegers) {
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        constexpr size_t kCount = 100;
        Column<T> seed(kCount), sample(kCount), position(kCount);
        for (size_t k = 0; k < kCount; ++k) {
          seed.data[k] = static_cast<T>(k < 50 ? 0x123456789abcdef0 : -1 - static_cast<int64_t>(k));
          sample.data[k] = static_cast<T>(k / 10);
          position.data[k] = static_cast<T>(k < 90 ? k : 0x100000000 * k + k);
        }
        const auto actual = run<T>(library, graphs[next], GetParam(), {seed.data, sample.data, position.data}, kCount);
        for (size_t k = 0; k < kCount; ++k)
          EXPECT_EQ(actual[k], static_cast<T>(ir::random_word(static_cast<uint64_t>(seed.data[k]),
                                                              static_cast<uint64_t>(sample.data[k]),
                                                              static_cast<uint64_t>(position.data[k]))))
              << ir::short_name(type) << " " << k;
      }
    });
    ++next;
  }
}

constexpr Target kTargets[] = {kCpu, kCuda, kOldCuda};

std::string target_name(const testing::TestParamInfo<Target>& target) {
  return target.param.kind == Target::Kind::Cpu ? "cpu" : "cuda_" + std::to_string(target.param.architecture);
}

INSTANTIATE_TEST_SUITE_P(Targets, Primitives, testing::ValuesIn(kTargets), target_name);

// ptxas 13.0 miscompiles conjunctions of predicates written with `&` (spellings_cuda.def).
TEST(Bools, UseLogicalOperatorsOnCuda) {
  for (const ir::OpInfo& info : ir::primitives()) {
    if (!takes(info, DType::Bool) && info.rule != ir::Rule::Select) continue;
    for (const bool is_computed : {false, true}) {
      Sketch sketch("bools");
      std::vector<ir::NodeId> operands;
      for (int k = 0; k < info.arity; ++k) {
        const std::string name(1, static_cast<char>('p' + k));
        operands.push_back(is_computed
                               ? sketch.graph.add(Op::Isfinite, DType::Bool, {sketch.tensor(name, DType::F32, 1)})
                               : sketch.tensor(name, DType::Bool, 1));
      }
      sketch.result("out", DType::Bool, sketch.graph.add(info.op, DType::Bool, operands),
                    {sketch.graph.host.size(0, 0)});
      const Tensors tensors{std::vector<ir::SizesAndStrides>(operands.size(), contiguous({64})), {}, {}, {}};
      const std::string text = generate_for(sketch.graph, tensors, kCuda).text;
      const std::string kernel = text.substr(text.find("__global__"));
      for (const std::string_view bitwise : {" & ", " | "})
        EXPECT_EQ(kernel.find(bitwise), std::string::npos) << ir::id_of(info.op) << "\n" << kernel;
    }
  }
}

class SixteenBitFloats : public testing::TestWithParam<Target> {};

TEST_P(SixteenBitFloats, RoundToNearestEven) {
  for (const DType half : {DType::F16, DType::BF16}) {
    Sketch narrow("narrow_" + std::string(ir::short_name(half))), wide("wide_" + std::string(ir::short_name(half)));
    narrow.result("out", half, narrow.graph.add(Op::Cast, half, {narrow.tensor("x", DType::F32, 1)}),
                  {narrow.graph.host.size(0, 0)});
    wide.result("out", DType::F32, wide.graph.add(Op::Cast, DType::F32, {wide.tensor("x", half, 1)}),
                {wide.graph.host.size(0, 0)});
    const SharedLibrary library(library_text({&narrow.graph, &wide.graph}, GetParam()), "-O2");
    ASSERT_TRUE(library.is_loaded());

    constexpr size_t kCount = 1 << 20;
    Column<float> floats(kCount);
    for (size_t k = 0; k < kCount; ++k) {
      const auto bits = static_cast<uint32_t>(k * 4096 + k % 7 * 512 + (k % 3 == 0 ? 0x1000 : k % 11));
      std::memcpy(&floats.data[k], &bits, 4);
    }
    const auto narrowed = run<uint16_t>(library, narrow.graph, GetParam(), {floats.data}, kCount);
    Column<uint16_t> halves(kCount);
    std::copy_n(narrowed.get(), kCount, halves.data);
    const auto widened = run<float>(library, wide.graph, GetParam(), {halves.data}, kCount);
    for (size_t k = 0; k < kCount; ++k) {
      const float x = floats.data[k];
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(widened[k]));
        continue;
      }
      // The nearest value of the format; of two equally near ones, the one with an even last bit.
      const int digits = half == DType::F16 ? 11 : 8, least = half == DType::F16 ? -24 : -133;
      const int exponent = std::max(std::ilogb(x) - digits + 1, least);
      float expected = x == 0 || std::isinf(x) ? x : std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
      if (half == DType::F16 && std::fabs(expected) > 65504) expected = std::copysign(INFINITY, x);
      ASSERT_TRUE(same_bits(widened[k], expected))
          << ir::short_name(half) << " " << x << " is " << widened[k] << ", not " << expected;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, SixteenBitFloats, testing::ValuesIn(kTargets), target_name);

// Some compiler failures only occur if an op's operands are computed instead of loaded.
TEST(SixteenBitFloatsOnTheHost, EveryPrimitiveCompiles) {
  std::vector<ir::Graph> graphs;
  for (const DType half : {DType::F16, DType::BF16}) {
    for (const ir::OpInfo& info : ir::primitives()) {
      if (!takes(info, DType::F32) || info.rule == ir::Rule::Select) continue;
      Sketch sketch(name_of(info.op, half));
      std::vector<ir::NodeId> operands;
      for (int k = 0; k < info.arity; ++k)
        operands.push_back(sketch.graph.add(Op::Cast, DType::F32,
                                            {sketch.tensor(std::string(1, static_cast<char>('p' + k)), half, 1)}));
      const bool compares = info.rule == ir::Rule::Compare;
      ir::NodeId result = sketch.graph.add(info.op, compares ? DType::Bool : DType::F32, operands);
      if (!compares) result = sketch.graph.add(Op::Cast, half, {result});
      sketch.result("out", compares ? DType::Bool : half, result, {sketch.graph.host.size(0, 0)});
      graphs.push_back(std::move(sketch.graph));
    }
  }
  std::vector<const ir::Graph*> pointers;
  for (const ir::Graph& graph : graphs) pointers.push_back(&graph);
  EXPECT_TRUE(SharedLibrary(library_text(pointers, kCpu), "-O3").is_loaded());
}

#if defined(__GNUC__) && !defined(__clang__)
// GCC reports vectorised loops in a file.
TEST(SixteenBitFloatsOnTheHost, LoopsAreVectorised) {
  for (const DType half : {DType::F16, DType::BF16}) {
    Sketch sketch("twice");
    const ir::NodeId x = sketch.graph.add(Op::Cast, DType::F32, {sketch.tensor("x", half, 1)});
    const ir::NodeId sum = sketch.graph.add(Op::Add, DType::F32, {x, x});
    sketch.result("out", half, sketch.graph.add(Op::Cast, half, {sum}), {sketch.graph.host.size(0, 0)});
    const SharedLibrary library(library_text({&sketch.graph}, kCpu), "-O3 -fopt-info-vec-optimized=notes");
    ASSERT_TRUE(library.is_loaded());
    EXPECT_NE(library.output("notes").find("loop vectorized"), std::string::npos) << ir::short_name(half);
  }
}
#endif

// Constant exponents are simplified away before code generation.
TEST(Exponents, HandleEagersSpecialCases) {
  Sketch sketch("run_time");
  const ir::NodeId x = sketch.tensor("x", DType::F32, 1), e = sketch.number("e", ir::HostKind::Float, DType::F32);
  sketch.result("out", DType::F32, sketch.graph.add(Op::PowNumber, DType::F32, {x, e}), {sketch.graph.host.size(0, 0)});
  const SharedLibrary library(library_text({&sketch.graph}, kCpu), "-O2");
  ASSERT_TRUE(library.is_loaded());
  Column<float> column(16);
  for (size_t k = 0; k < 16; ++k) column.data[k] = 0.1f + static_cast<float>(k) / 3;
  const std::vector<std::pair<double, float (*)(float)>> special_cases = {
      {0, [](float) { return 1.0f; }},
      {1, [](float a) { return a; }},
      {2, [](float a) { return a * a; }},
      {3, [](float a) { return a * a * a; }},
      {0.5, [](float a) { return std::sqrt(a); }},
      {-0.5, [](float a) { return 1 / std::sqrt(a); }},
      {-1, [](float a) { return 1 / a; }},
      {-2, [](float a) { return 1 / (a * a); }}};
  for (const auto& [exponent, expected] : special_cases) {
    const auto actual = run<float>(library, sketch.graph, kCpu, {column.data}, 16, {ir::HostValue::of(exponent)});
    for (size_t k = 0; k < 16; ++k)
      EXPECT_EQ(actual[k], expected(column.data[k])) << column.data[k] << " ** " << exponent;
  }
}

}  // namespace
}  // namespace ingot::codegen
