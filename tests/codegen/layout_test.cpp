// The geometry and layout of a kernel, from sizes and strides.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "tests/codegen/support.h"

namespace ingot::codegen {
namespace {

using ir::DType;

/// A kernel of plain loads over `domain` with any strides; the output is first in `strides`.
struct Loads {
  KernelOutline kernel;
  std::vector<ir::HostValue> host;
  std::vector<ir::SizesAndStrides> params, results;

  Loads(const ir::Sizes& domain, const std::vector<ir::Sizes>& strides, DType dtype = DType::F32) {
    for (size_t d = 0; d < domain.size(); ++d) kernel.domain.push_back(number(domain[d]));
    for (size_t a = 1; a <= strides.size(); ++a) {
      const bool store = a == strides.size();
      AccessUse use{store ? AccessUse::Kind::Store : AccessUse::Kind::Load,
                    static_cast<uint32_t>(store ? 0 : a - 1),
                    dtype,
                    {},
                    ""};
      use.access.offsets.assign(domain.size(), number(0));
      for (uint32_t d = 0; d < domain.size(); ++d) use.access.dims.push_back({kernel.domain[d], {{d, number(1)}}});
      kernel.accesses.push_back(use);
      (store ? results : params).push_back({domain, strides[store ? 0 : a]});
    }
  }
  ir::HostId number(int64_t value) {
    host.push_back(ir::HostValue::of(value));
    return {static_cast<uint32_t>(host.size() - 1)};
  }
  KernelGeometry geometry() const { return codegen::geometry(kernel, host, {params, results, {}}); }
  KernelLayout layout(std::vector<uintptr_t> addresses = {}) const {
    addresses.resize(kernel.accesses.size());
    return classify(kernel, geometry(), addresses, false);
  }
};

TEST(Geometry, MergesContiguousDimsIntoOneAxis) {
  const Loads loads({2, 3, 4}, {{12, 4, 1}, {12, 4, 1}, {12, 4, 1}});
  const KernelGeometry geometry = loads.geometry();
  EXPECT_EQ(geometry.extents, (std::vector<int64_t>{24}));
  EXPECT_EQ(geometry.numel, 24);
  EXPECT_EQ(geometry.accesses[0].strides, (std::vector<int64_t>{1}));
}

TEST(Geometry, HasNoAxesForASingleElement) {
  EXPECT_TRUE(Loads({}, {{}, {}}).geometry().extents.empty());
  EXPECT_TRUE(Loads({1, 1}, {{7, 9}, {1, 1}}).geometry().extents.empty());
  EXPECT_EQ(Loads({}, {{}, {}}).geometry().numel, 1);
}

TEST(Geometry, OrdersAxesByTheResultsStrides) {
  // A column-major result with a row-major operand: the result's rows come last.
  const KernelGeometry geometry = Loads({3, 5}, {{1, 3}, {5, 1}}).geometry();
  EXPECT_EQ(geometry.extents, (std::vector<int64_t>{5, 3}));
  EXPECT_EQ(geometry.accesses.back().strides, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(geometry.accesses[0].strides, (std::vector<int64_t>{1, 5}));
}

TEST(Geometry, SupportsSixteenDims) {
  ir::Sizes sizes(16, 2), strides = ir::contiguous_strides(sizes), reversed(strides.rbegin(), strides.rend());
  EXPECT_EQ(Loads(sizes, {strides, strides}).geometry().extents.size(), 1u);
  EXPECT_EQ(Loads(sizes, {strides, reversed}).geometry().extents.size(), 16u);
}

/// The offsets of all elements of a domain, by brute force.
std::multiset<std::vector<int64_t>> offsets_of(const std::vector<int64_t>& extents,
                                               const std::vector<std::vector<int64_t>>& strides) {
  int64_t numel = 1;
  for (const int64_t extent : extents) numel *= extent;
  std::multiset<std::vector<int64_t>> all;
  for (int64_t e = 0; e < numel; ++e) {
    std::vector<int64_t> offsets(strides.size());
    int64_t rest = e;
    for (size_t d = extents.size(); d-- > 0; rest /= extents[d])
      for (size_t a = 0; a < strides.size(); ++a) offsets[a] += rest % extents[d] * strides[a][d];
    all.insert(offsets);
  }
  return all;
}

TEST(Geometry, MergingPreservesOffsets) {
  std::mt19937 random(7);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 3000; ++round) {
    ir::Sizes domain(static_cast<size_t>(pick(0, 5)));
    for (int64_t& size : domain) size = pick(0, 9) == 0 ? 0 : pick(1, 4);
    std::vector<ir::Sizes> strides;
    for (int64_t a = pick(1, 3); a >= 0; --a) {
      strides.push_back(ir::contiguous_strides(domain));
      if (pick(0, 1) == 0) std::shuffle(strides.back().begin(), strides.back().end(), random);
      for (int64_t& stride : strides.back()) stride = pick(0, 5) == 0 ? 0 : pick(0, 5) == 0 ? -stride : stride;
    }
    const Loads loads(domain, strides);
    const KernelGeometry geometry = loads.geometry();
    std::vector<std::vector<int64_t>> before, after;
    for (const AccessGeometry& access : geometry.accesses) after.push_back(access.strides);
    for (size_t a = 1; a < strides.size(); ++a) before.push_back(strides[a]);
    before.push_back(strides[0]);
    EXPECT_EQ(offsets_of(domain, before), offsets_of(geometry.extents, after));
    EXPECT_LE(geometry.extents.size(), domain.size());
    // No further pair can be merged.
    for (size_t d = 1; d < geometry.extents.size(); ++d) {
      const auto merges = [&](const std::vector<int64_t>& s) { return s[d - 1] == s[d] * geometry.extents[d]; };
      EXPECT_FALSE(std::ranges::all_of(after, merges));
    }
  }
}

/// A kernel of two dims that reads a position; `rows` and `columns` are the position's strides along the dims.
KernelGeometry with_position(int64_t rows, int64_t columns) {
  Loads loads({4, 6}, {{6, 1}, {6, 1}});
  AccessUse use{AccessUse::Kind::Index, 0, DType::I64, {}, ""};
  use.access = {{ir::SourceRef::Kind::Position, 0}, {loads.number(0)}, {}, {}};
  use.access.dims.push_back({loads.kernel.domain[0], {{0, loads.number(rows)}}});
  use.access.dims.push_back({loads.kernel.domain[1], {{0, loads.number(columns)}}});
  loads.kernel.accesses.insert(loads.kernel.accesses.begin(), use);
  return loads.geometry();
}

TEST(Geometry, PositionAlongOneDimPreventsMerging) {
  const KernelGeometry geometry = with_position(1, 0);
  EXPECT_EQ(geometry.extents, (std::vector<int64_t>{4, 6}));
  EXPECT_EQ(geometry.accesses[0].strides, (std::vector<int64_t>{1, 0}));
}

TEST(Geometry, PositionInTheDomainAllowsMerging) {
  const KernelGeometry geometry = with_position(6, 1);
  EXPECT_EQ(geometry.extents, (std::vector<int64_t>{24}));
  EXPECT_EQ(geometry.accesses[0].strides, (std::vector<int64_t>{1}));
}

TEST(Layout, IsSharedByDifferentSizes) {
  const auto text = [](int64_t n) { return Loads({n}, {{1}, {1}, {1}}).layout().text(); };
  EXPECT_EQ(text(1000), text(1001));
  EXPECT_EQ(text(7), text(1 << 20));
  const auto rows = [](int64_t n, int64_t m) { return Loads({n, m}, {{m, 1}, {0, 1}, {m, 1}}).layout(); };
  EXPECT_EQ(rows(40, 128), rows(99, 1024));
  EXPECT_FALSE(rows(40, 128) == rows(10, 127));
}

TEST(Layout, ClassifiesStrides) {
  const KernelLayout layout = Loads({3, 5}, {{5, 1}, {0, 1}, {5, -1}, {40, 8}}).layout();
  EXPECT_EQ(layout.rank, 2u);
  EXPECT_EQ(layout.accesses[0].axes, (std::vector{StrideClass::Zero, StrideClass::One}));
  EXPECT_EQ(layout.accesses[1].axes, (std::vector{StrideClass::Other, StrideClass::Other}));
  EXPECT_EQ(layout.accesses[2].axes, (std::vector{StrideClass::Other, StrideClass::Other}));
  EXPECT_FALSE(layout.accesses[0].is_linear);
  EXPECT_TRUE(layout.accesses[3].is_linear);
}

TEST(Layout, RecordsSmallInnermostStrides) {
  const auto step = [](ir::Sizes strides) {
    return int{Loads({8, 64}, {{64, 1}, strides}).layout().accesses[0].inner_step};
  };
  EXPECT_EQ(step({256, 2}), 2);
  EXPECT_EQ(step({256, 4}), 4);
  EXPECT_EQ(step({512, 5}), 0);
  EXPECT_EQ(step({64, 1}), 0);
  EXPECT_EQ(step({256, -2}), 0);
  EXPECT_EQ(step({2, 100}), 0) << "the stride belongs to another axis";
}

/// Layouts that differ only in properties that one target uses are distinct for that target alone.
TEST(Layout, TargetsIgnoreIrrelevantProperties) {
  const auto differ = [](const Target& target, ir::Sizes a, ir::Sizes b, int64_t rows = 8) {
    const auto text = [&](const ir::Sizes& strides, int64_t n) {
      return relevant_to(target, Loads({n, 64}, {{64, 1}, strides}).layout()).text();
    };
    return text(a, 8) != text(b, rows);
  };
  EXPECT_TRUE(differ(kCpu, {256, 2}, {256, 3}));
  EXPECT_FALSE(differ(kCuda, {256, 2}, {256, 3}));
  EXPECT_FALSE(differ(kCpu, {80, 1}, {81, 1})) << "alignment";
  EXPECT_TRUE(differ(kCuda, {80, 1}, {81, 1}));
  EXPECT_FALSE(differ(kCpu, {1, 80}, {1, 80}, 40)) << "the sides of a tile";
  EXPECT_TRUE(differ(kCuda, {1, 80}, {1, 80}, 40));
  EXPECT_FALSE(differ(kCuda, {80, 1}, {80, 1}, 40)) << "no load is transposed";
}

TEST(Layout, RecordsAlignment) {
  const auto alignment = [](ir::Sizes strides, uintptr_t address) {
    return int{Loads({8, 64}, {{64, 1}, strides}).layout({address}).accesses[0].alignment};
  };
  EXPECT_EQ(alignment({64, 1}, 0x1000), 16);
  EXPECT_EQ(alignment({64, 1}, 0x1004), 4);
  EXPECT_EQ(alignment({66, 1}, 0x1000), 8);
  EXPECT_EQ(alignment({68, 1}, 0x1008), 8);
  EXPECT_EQ(alignment({0, 1}, 0x1000), 16);
  EXPECT_EQ(alignment({1, 1}, 0x1000), 4) << "windows that overlap";
  EXPECT_EQ(alignment({1, 8}, 0x1000), 16) << "along the other axis";
  EXPECT_EQ(alignment({2, 8}, 0x1000), 4) << "no vector can use a larger alignment";
}

/// Every vector that a schedule may make of a layout is aligned and within its row.
TEST(Layout, EveryVectorIsAlignedAndInsideItsRow) {
  std::mt19937 random(11);
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int vectors = 0, overlapping = 0;
  for (int round = 0; round < 20000; ++round) {
    ir::Sizes domain(static_cast<size_t>(pick(1, 4)));
    for (int64_t& size : domain) size = pick(1, 5);
    domain.back() = pick(1, 24);
    std::vector<ir::Sizes> strides = {ir::contiguous_strides(domain), ir::contiguous_strides(domain)};
    for (int64_t& stride : strides[1]) stride = pick(0, 2) == 0 ? pick(-2, 5) : pick(0, 2) == 0 ? 1 : 4 * pick(0, 6);
    if (pick(0, 3) != 0) strides[1].back() = 1;
    const auto dtype = std::array{DType::U8, DType::F16, DType::F32, DType::F64}[static_cast<size_t>(pick(0, 3))];
    const Loads loads(domain, strides, dtype);
    const uintptr_t address = 0x10000 + static_cast<uintptr_t>(pick(0, 3) == 0 ? ir::size_of(dtype) * pick(0, 8) : 0);
    const KernelGeometry geometry = loads.geometry();
    const KernelLayout layout = loads.layout({address});
    const AccessLayout& access = layout.accesses[0];
    if (layout.rank == 0 || access.axes.back() != StrideClass::One) continue;
    const int64_t bytes = ir::size_of(dtype), row = geometry.extents.back();
    int64_t lanes = std::max<int64_t>(1, access.alignment / bytes);
    if (layout.rank > 1) lanes = std::min<int64_t>(lanes, layout.inner_multiple);
    overlapping += std::ranges::count(access.axes, StrideClass::One) > 1;
    for (int64_t first = 0; first < geometry.numel; first += lanes, ++vectors) {
      int64_t offset = 0, rest = first;
      for (size_t d = geometry.extents.size(); d-- > 0; rest /= geometry.extents[d])
        offset += rest % geometry.extents[d] * geometry.accesses[0].strides[d];
      const uint64_t at = address + static_cast<uint64_t>((access.is_linear ? first : offset) * bytes);
      ASSERT_EQ(at % static_cast<uint64_t>(lanes * bytes), 0u) << layout.text() << " at " << first;
      ASSERT_TRUE(layout.rank == 1 || first % row + lanes <= row) << layout.text();
    }
  }
  EXPECT_GT(vectors, 100000);
  EXPECT_GT(overlapping, 1000) << "windows that overlap";
}

TEST(Layout, ChoosesIndexWidth) {
  const auto bits = [](int64_t n, ir::Sizes strides, DType dtype = DType::F32) {
    return int{Loads({n}, {{1}, strides}, dtype).layout().index_bits};
  };
  EXPECT_EQ(bits(1 << 30, {1}), 32) << "4 GiB of floats: elements are counted, not bytes";
  EXPECT_EQ(bits(1 << 30, {1}, DType::F64), 32);
  EXPECT_EQ(bits((int64_t{1} << 31) - 10, {1}, DType::U8), 64) << "the last block counts past the end";
  EXPECT_EQ(bits(1 << 20, {1 << 12}), 64) << "the offsets need 64 bits, the count does not";
  EXPECT_EQ(bits(1 << 20, {-(1 << 12)}), 64);
  EXPECT_EQ(bits(3, {0}), 32);
}

TEST(Layout, GroupsNeighbours) {
  Sketch sketch("boxes");
  const uint32_t boxes = sketch.add_param("boxes", DType::F32, 2);
  ir::NodeId sum = sketch.corner(boxes, 3);
  for (const int64_t k : {1, 0, 2}) sum = sketch.graph.add(ir::Op::Add, DType::F32, {sum, sketch.corner(boxes, k)});
  sketch.result("out", DType::F32, sum, {sketch.graph.host.size(0, 0)});
  const auto layout = [&](const ir::SizesAndStrides& tensor) {
    return prepare(sketch.graph, {{tensor}, {}, {}, {}}).layouts[0];
  };

  const KernelLayout packed = layout(contiguous({10, 4}));
  const std::vector<uint32_t> distances = {3, 1, 0, 2};
  for (size_t a = 0; a < 4; ++a) {
    EXPECT_EQ(packed.accesses[a].leader, 2u);
    EXPECT_EQ(packed.accesses[a].neighbour, distances[a]);
  }
  EXPECT_EQ(packed.accesses[2].alignment, 16);
  // Separate columns are not a group; nor are elements whose distance is the stride of the rows.
  for (const ir::SizesAndStrides& separate :
       {ir::SizesAndStrides{{10, 4}, {1, 10}}, ir::SizesAndStrides{{10, 4}, {2, 20}}})
    for (uint32_t a = 0; a < 4; ++a) EXPECT_EQ(layout(separate).accesses[a].leader, a);
}

TEST(Layout, GroupsNoLoadsThatARowShares) {
  Sketch sketch("sampled_rows");
  const ir::NodeId x = sketch.tensor("x", DType::F32, 2);
  ir::Graph& graph = sketch.graph;
  const ir::HostId one = graph.host.integer(1);
  const std::vector<ir::HostId> shape = graph.params[0].shape;
  ir::NodeId element = x;
  for (const int64_t column : {1, 3}) {
    const std::vector<ir::HostId> offsets = {graph.host.integer(0), graph.host.integer(column)};
    const ir::Access access{{ir::SourceRef::Kind::Param, 0}, offsets, {{shape[0], {{0, one}}}, {one, {}}}, {}};
    element = graph.add(ir::Op::Sub, DType::F32, {element, graph.load(DType::F32, access)});
  }
  const ir::NodeId sum = graph.reduce(DType::F32, {ir::ReduceKind::Sum, shape, {false, true}}, element);
  const ir::Access row{{ir::SourceRef::Kind::Reduce, 0},
                       {graph.host.integer(0), graph.host.integer(0)},
                       {{shape[0], {{0, one}}}, {one, {}}},
                       {}};
  sketch.result("out", DType::F32, graph.read(DType::F32, row, {sum}), {shape[0], one});

  const KernelLayout layout = prepare(graph, {{contiguous({10, 6})}, {}, {}, {}}).layouts[0];
  for (uint32_t a = 0; a < layout.accesses.size(); ++a) EXPECT_EQ(layout.accesses[a].leader, a);
}

TEST(Outline, FusesOutputBlocksOfOneShape) {
  Sketch sketch("exp");
  const ir::NodeId x = sketch.tensor("x", DType::F32, 2);
  ir::HostPool& host = sketch.graph.host;
  const ir::NodeId y = sketch.graph.add(ir::Op::Exp, DType::F32, {x});
  sketch.result("a", DType::F32, y, {host.size(0, 0), host.size(0, 1)});
  sketch.result("b", DType::F32, x, {host.integer(3), host.size(0, 0), host.size(0, 1)});
  sketch.result("c", DType::F32, x, {host.size(0, 0), host.size(0, 1)});
  const Outline result = outline(sketch.graph);
  ASSERT_EQ(result.kernels.size(), 2u);
  EXPECT_EQ(result.kernels[0].name, "exp_") << "exp is the C library's";
  EXPECT_EQ(result.kernels[1].name, "exp__1");
  EXPECT_EQ(result.kernels[0].output_blocks.size(), 2u);
  EXPECT_EQ(result.kernels[1].output_blocks[0].result, 1u);
  EXPECT_EQ(result.kernels[0].accesses.size(), 3u);
}

}  // namespace
}  // namespace ingot::codegen
