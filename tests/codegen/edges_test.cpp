// Kernels in boundary cases: at the end of the domain, if vectors reach past it; at the ends of tensors, which pages
// without access surround; with 64-bit indices; with integer division by zero.

#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "tests/codegen/execution.h"

namespace ingot::codegen {
namespace {

using ir::DType;
using ir::NodeId;
using ir::Op;

/// One tensor of a call: its layout and its address.
struct Operand {
  ir::SizesAndStrides extents;
  std::byte* data;
};

/// Runs a graph of one kernel on the given operands, and holds its result and status. The result is allocated between
/// guard pages.
class Execution {
 public:
  Execution(const ir::Graph& graph, const Target& target, const std::vector<Operand>& operands) {
    Tensors tensors;
    for (const Operand& operand : operands) {
      tensors.params.push_back(operand.extents);
      tensors.addresses.push_back(reinterpret_cast<uintptr_t>(operand.data));
    }
    Prepared prepared = prepare(graph, tensors);
    const KernelGeometry& geometry = prepared.geometries.at(0);
    const auto bytes = static_cast<size_t>(geometry.numel * ir::size_of(graph.results[0].dtype));
    result_ = std::make_unique<Guarded>(bytes, bytes % 16 == 0);
    layout_ = prepared.layouts[0] = [&] {
      std::vector<uintptr_t> addresses;
      for (const AccessUse& use : prepared.outline.kernels[0].accesses)
        addresses.push_back(use.kind == AccessUse::Kind::Store ? reinterpret_cast<uintptr_t>(result_->data())
                            : use.has_tensor()                 ? tensors.addresses[use.tensor]
                                                               : 0);
      return classify(prepared.outline.kernels[0], geometry, addresses, false);
    }();
    const Options options{.check_indices = true};
    text_ = generate(prepared.graph, prepared.outline, prepared.layouts, target, options, "").text;
    const Kernel kernel = kernels(prepared.graph, prepared.outline, prepared.layouts, target, options)[0];
    const KernelLibrary library({&kernel}, target);
    Entry* const entry = library.find(kernel.launch.entry);
    if (entry == nullptr) return;
    std::vector<std::byte*> data;
    for (const AccessUse& use : prepared.outline.kernels[0].accesses)
      data.push_back(use.kind == AccessUse::Kind::Store ? result_->data()
                     : use.has_tensor()                 ? operands[use.tensor].data
                                                        : nullptr);
    const Arguments arguments(kernel.launch, prepared.outline.kernels[0], geometry, data, prepared.host, &status_);
    entry(arguments.addresses(), 0, kernel.launch.units(geometry.extents));
  }

  template <typename T>
  const T* result() const {
    return reinterpret_cast<const T*>(result_->data());
  }
  int status() const { return status_; }
  const std::string& text() const { return text_; }
  const KernelLayout& layout() const { return layout_; }

 private:
  std::unique_ptr<Guarded> result_;
  KernelLayout layout_;
  std::string text_;
  int status_ = 0;
};

/// A tensor that ends at the end of a page, with a guard page after it.
template <typename T>
struct PageEndTensor {
  PageEndTensor(ir::Sizes sizes, const std::vector<T>& values)
      : memory(values.size() * sizeof(T), true), extents(contiguous(sizes)) {
    std::memcpy(memory.data(), values.data(), values.size() * sizeof(T));
  }
  operator Operand() const { return {extents, memory.data()}; }
  Guarded memory;
  ir::SizesAndStrides extents;
};

class Edges : public testing::TestWithParam<Target> {};

// w[t] with a single index: the last row of w ends at the end of its memory, and threads load vectors of four.
TEST_P(Edges, GathersReadNothingPastTheEnd) {
  for (const int64_t n : {1, 3, 1001}) {
    Sketch sketch("rows");
    const NodeId x = sketch.tensor("x", DType::F32, 1), t = sketch.tensor("t", DType::I64, 1);
    const uint32_t w = sketch.add_param("w", DType::F32, 2);
    ir::HostPool& host = sketch.graph.host;
    const ir::Access access{{ir::SourceRef::Kind::Param, w},
                            {host.integer(0), host.integer(0)},
                            {{host.size(w, 1), {{1, host.integer(1)}}}},
                            {{host.size(w, 0), {{0, host.integer(1)}}}}};
    const NodeId row = sketch.graph.gather(DType::F32, access, {t});
    sketch.result("out", DType::F32, sketch.graph.add(Op::Add, DType::F32, {x, row}), {host.size(0, 0)});
    std::vector<float> values(static_cast<size_t>(3 * n));
    std::iota(values.begin(), values.end(), 0.0f);
    const PageEndTensor<float> w_values({3, n}, values);
    const Guarded x_memory(static_cast<size_t>(n) * 4, false);
    const PageEndTensor<int64_t> index({1}, {2});
    const Execution run(sketch.graph, GetParam(), {{contiguous({n}), x_memory.data()}, index, w_values});
    EXPECT_EQ(run.status(), 0) << run.text();
    for (int64_t k = 0; k < n; ++k) EXPECT_EQ(run.result<float>()[k], static_cast<float>(2 * n + k));
  }
}

// w[map[t] if m else 1] for several t: a row's elements share the index, but the result of the lazy `where` is a
// variable of each element.
TEST_P(Edges, GathersRowsWithALazyIndex) {
  Sketch sketch("rows");
  const NodeId x = sketch.tensor("x", DType::F32, 2);
  ir::HostPool& host = sketch.graph.host;
  const auto row_value = [&](const char* name, DType dtype) {
    const uint32_t param = sketch.add_param(name, dtype, 1);
    const ir::Term row{0, host.integer(1)};
    const ir::AccessDim columns{host.size(0, 1), {}};
    return sketch.graph.load(
        dtype, {{ir::SourceRef::Kind::Param, param}, {host.integer(0)}, {{host.size(0, 0), {row}}, columns}, {}});
  };
  const NodeId t = row_value("t", DType::I64), m = row_value("m", DType::Bool);
  const uint32_t map = sketch.add_param("map", DType::I64, 1), w = sketch.add_param("w", DType::F32, 2);
  const ir::AccessDim rows{host.size(0, 0), {}}, columns{host.size(0, 1), {}};
  const ir::Access map_access{{ir::SourceRef::Kind::Param, map},
                              {host.integer(0)},
                              {rows, columns},
                              {{host.size(map, 0), {{0, host.integer(1)}}}}};
  const ir::Access w_access{{ir::SourceRef::Kind::Param, w},
                            {host.integer(0), host.integer(0)},
                            {rows, {host.size(w, 1), {{1, host.integer(1)}}}},
                            {{host.size(w, 0), {{0, host.integer(1)}}}}};
  const NodeId mapped = sketch.graph.gather(DType::I64, map_access, {t});
  const NodeId index = sketch.graph.add(Op::Where, DType::I64, {m, mapped, sketch.constant(DType::I64, int64_t{1})});
  const NodeId row = sketch.graph.gather(DType::F32, w_access, {index});
  sketch.result("out", DType::F32, sketch.graph.add(Op::Add, DType::F32, {x, row}), {host.size(0, 0), host.size(0, 1)});
  constexpr int64_t n = 1024;
  std::vector<float> values(3 * n);
  std::iota(values.begin(), values.end(), 0.0f);
  const Guarded zeros(2 * n * 4, false);
  const PageEndTensor<float> table({3, n}, values);
  const PageEndTensor<int64_t> rows_of_t({2}, {1, 0}), mapping({2}, {0, 2});
  const PageEndTensor<uint8_t> mask({2}, {1, 0});
  const Execution run(sketch.graph, GetParam(), {{contiguous({2, n}), zeros.data()}, rows_of_t, mask, mapping, table});
  EXPECT_EQ(run.status(), 0) << run.text();
  EXPECT_NE(run.text().find("chosen"), std::string::npos) << run.text();
  for (int64_t k = 0; k < 2 * n; ++k)
    ASSERT_EQ(run.result<float>()[k], static_cast<float>((k < n ? 2 * n : n) + k % n)) << run.text();
}

// Indices are only checked for elements of the domain, not for those past its end.
TEST_P(Edges, ChecksIndicesOnlyWithinTheDomain) {
  for (const int64_t n : {1, 7}) {
    Sketch sketch("shifted");
    const NodeId t = sketch.tensor("t", DType::I64, 1);
    const uint32_t table = sketch.add_param("table", DType::F32, 1);
    ir::HostPool& host = sketch.graph.host;
    const ir::Access access{
        {ir::SourceRef::Kind::Param, table}, {host.integer(0)}, {}, {{host.size(table, 0), {{0, host.integer(1)}}}}};
    const NodeId index = sketch.graph.add(Op::Add, DType::I64, {t, sketch.constant(DType::I64, int64_t{100})});
    sketch.result("out", DType::F32, sketch.graph.gather(DType::F32, access, {index}), {host.size(0, 0)});
    const PageEndTensor<float> values({3}, {5, 6, 7});
    const Guarded memory(static_cast<size_t>(n) * 8, false);
    for (int64_t k = 0; k < n; ++k) {
      const int64_t shifted = k % 3 - 100;
      std::memcpy(memory.data() + k * 8, &shifted, 8);
    }
    const Execution run(sketch.graph, GetParam(), {{contiguous({n}), memory.data()}, values});
    EXPECT_EQ(run.status(), 0) << run.text();
    for (int64_t k = 0; k < n; ++k) EXPECT_EQ(run.result<float>()[k], static_cast<float>(5 + k % 3));
    const int64_t outside = 3 - 100;
    std::memcpy(memory.data() + (n - 1) * 8, &outside, 8);
    EXPECT_NE(Execution(sketch.graph, GetParam(), {{contiguous({n}), memory.data()}, values}).status(), 0);
  }
}

// Rows with padding, next to an unaligned tensor. The padded tensor is loaded by vectors within its rows; the unaligned
// one from two aligned vectors, even across ends of rows. Neither load may use the other's bounds.
TEST_P(Edges, LoadsPaddedRowsNextToAnUnalignedTensor) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{34, 32}, {5, 8}, {1, 4}, {300, 4}}) {
    Sketch sketch("rows");
    const NodeId x = sketch.tensor("x", DType::F32, 2), y = sketch.tensor("y", DType::F32, 2);
    ir::HostPool& host = sketch.graph.host;
    sketch.result("out", DType::F32, sketch.graph.add(Op::Sub, DType::F32, {x, y}), {host.size(0, 0), host.size(0, 1)});
    const int64_t pitch = columns + 4;
    const Guarded padded(static_cast<size_t>((rows - 1) * pitch + columns) * 4, false);
    const Guarded shifted(static_cast<size_t>(rows * columns + 1) * 4, false);
    const auto put = [](std::byte* address, float value) { std::memcpy(address, &value, sizeof(value)); };
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) {
        put(padded.data() + (r * pitch + c) * 4, static_cast<float>(3 * (r * columns + c)));
        put(shifted.data() + (r * columns + c + 1) * 4, static_cast<float>(r * columns + c));
      }
    const Operand padded_rows{{{rows, columns}, {pitch, 1}}, padded.data()};
    const Operand unaligned{contiguous({rows, columns}), shifted.data() + 4};
    for (const bool is_swapped : {false, true}) {
      const Execution run(sketch.graph, GetParam(),
                          is_swapped ? std::vector{unaligned, padded_rows} : std::vector{padded_rows, unaligned});
      for (int64_t k = 0; k < rows * columns; ++k)
        ASSERT_EQ(run.result<float>()[k], static_cast<float>(is_swapped ? -2 * k : 2 * k)) << k << "\n" << run.text();
    }
  }
}

/// x + y of two dims with very large strides.
TEST_P(Edges, Computes64BitIndices) {
  Sketch sketch("far");
  const NodeId x = sketch.tensor("x", DType::U8, 2), y = sketch.tensor("y", DType::U8, 2);
  ir::HostPool& host = sketch.graph.host;
  sketch.result("out", DType::U8, sketch.graph.add(Op::Add, DType::U8, {x, y}), {host.size(0, 0), host.size(0, 1)});
  constexpr size_t kReserved = size_t{9} << 30;  // only a few pages are ever touched
  auto* memory = static_cast<std::byte*>(
      mmap(nullptr, kReserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  if (memory == MAP_FAILED) GTEST_SKIP() << "explained: no 9 GiB of address space to reserve";
  std::array<std::byte, 6> ones;
  ones.fill(std::byte{1});
  for (const ir::Sizes& strides : {ir::Sizes{(int64_t{1} << 32) + 1, 1}, ir::Sizes{1, (int64_t{3} << 30) + 5},
                                   ir::Sizes{-((int64_t{1} << 31) + 64), 1}}) {
    std::byte* base = strides[0] < 0 ? memory + (size_t{1} << 32) : memory;
    for (int64_t r = 0; r < 2; ++r)
      for (int64_t c = 0; c < 3; ++c) base[r * strides[0] + c * strides[1]] = static_cast<std::byte>(10 * r + c);
    const Execution run(sketch.graph, GetParam(), {{{{2, 3}, strides}, base}, {contiguous({2, 3}), ones.data()}});
    EXPECT_EQ(run.layout().index_bits, 64);
    for (int k = 0; k < 6; ++k) EXPECT_EQ(run.result<uint8_t>()[k], 10 * (k / 3) + k % 3 + 1) << run.text();
  }
  munmap(memory, kReserved);
}

INSTANTIATE_TEST_SUITE_P(Targets, Edges, testing::Values(kCpu, kCuda),
                         [](const auto& target) { return target.param.kind == Target::Kind::Cuda ? "cuda" : "cpu"; });

constexpr Op kDivisions[] = {Op::FloorDivide, Op::TruncDivide, Op::Remainder, Op::Fmod};

TEST(Divisions, ReportsDivisionByZeroOnTheCpu) {
  for (const Op op : kDivisions) {
    Sketch sketch("quotient");
    const NodeId x = sketch.tensor("x", DType::I32, 1), y = sketch.tensor("y", DType::I32, 1);
    const NodeId quotient = sketch.graph.add(op, DType::I32, {x, y});
    // An arm that is not selected counts: eager computes both.
    const NodeId never = sketch.graph.add(Op::Lt, DType::Bool, {x, sketch.constant(DType::I32, int64_t{-1})});
    sketch.result("out", DType::I32, sketch.graph.add(Op::Where, DType::I32, {never, quotient, x}),
                  {sketch.graph.host.size(0, 0)});
    const PageEndTensor<int32_t> xs({5}, {1, 2, 3, 4, 5}), nonzero({5}, {1, -1, 7, 2, 3}),
        has_zero({5}, {1, 2, 3, 4, 0});
    EXPECT_EQ(Execution(sketch.graph, kCpu, {xs, nonzero}).status(), 0);
    EXPECT_EQ(Execution(sketch.graph, kCpu, {xs, has_zero}).status(), 4) << "the codes of three accesses come first";
    const PageEndTensor<int32_t> zero({1}, {0});
    EXPECT_EQ(Execution(sketch.graph, kCpu, {xs, zero}).status(), 4) << "a divisor shared by all elements";
  }
}

TEST(Divisions, ChecksOnlyDivisionsThatMayFail) {
  const auto checked_divisions = [](DType dtype, std::optional<int64_t> constant) {
    Sketch sketch("quotient");
    const NodeId x = sketch.tensor("x", dtype, 1);
    const NodeId y = constant ? sketch.constant(dtype, *constant) : sketch.tensor("y", dtype, 1);
    sketch.result("out", dtype, sketch.graph.add(Op::Remainder, dtype, {x, y}), {sketch.graph.host.size(0, 0)});
    const size_t checked_count = outline(sketch.graph).kernels[0].divisions.size();
    const Tensors tensors{{contiguous({16}), contiguous({16})}, {}, {}, {}};
    EXPECT_EQ(generate_for(sketch.graph, tensors, kCpu).text.find("status") != std::string::npos, checked_count > 0);
    EXPECT_EQ(generate_for(sketch.graph, tensors, kCuda, "", {.check_indices = true}).text.find("status"),
              std::string::npos);
    return checked_count;
  };
  EXPECT_EQ(checked_divisions(DType::I32, std::nullopt), 1u);
  EXPECT_EQ(checked_divisions(DType::U8, 0), 1u);
  EXPECT_EQ(checked_divisions(DType::I64, 3), 0u);
  EXPECT_EQ(checked_divisions(DType::F32, std::nullopt), 0u);
}

}  // namespace
}  // namespace ingot::codegen
