#include "tests/frontend/tensor_testing.h"

// Views whose strides are multiples or sums of the tensor's strides, and the functions that move elements, which
// consist of such views. All their reads are affine accesses; no node computes an index. In printed graphs, i1? is 0 if
// the source's size is 1 there (ir/graph.h).

namespace ingot::frontend {
namespace {

TEST(TensorWindows, ReadsOverlappingWindowsWithOneAccess) {
  EXPECT_EQ(LoweringCase({"f32:100x64"}).simplified_text("x.unfold(-1, 3, 2)"),
            R"(expression(x: f32[x.size(0), x.size(1)])
  %0 = load f32 x[i0, i1?*2 + i2]
  out: f32[x.size(0), (x.size(1) + 1) // 2 - 1, 3] = %0
  require x.size(1) - 3 >= 0
)");
}

TEST(TensorWindows, BroadcastsEachOperandSeparatelyAlongADiagonal) {
  // x[:k] may be one row or all of them. If x[:k] is one row, only the column advances along the diagonal.
  const ir::Graph graph =
      LoweringCase({"f32:100x64", "int=1"}).lower("def f(x, k: int): return (x[:k] * x).diagonal()");
  for (uint32_t id = 0; id < graph.count(); ++id) {
    if (graph[{id}].op != ir::Op::Load) continue;
    const ir::Access& access = graph.access({id});
    ASSERT_EQ(access.dims.size(), 1u);
    EXPECT_EQ(access.dims[0].terms.size(), 2u) << ir::print(graph);
  }
}

TEST(TensorWindows, SplitsADiagonalAtTheBordersOfAPad) {
  EXPECT_EQ(LoweringCase({"f32:8x8"}).simplified_text("F.pad(x[:8, :8], (1, 1)).diagonal()"),
            R"(expression(x: f32[8, 8])
  %0 = scalar f32 0.0
  %1 = load f32 x[i0 + 1, i0]
  out: f32[8] =
    %0 over [1] at [0]
    %1 over [7] at [i0 + 1]
  static x.size(0) == 8
  static x.size(1) == 8
)");
}

TEST(TensorWindows, RepeatsByAnExpandedDim) {
  EXPECT_EQ(LoweringCase({"f32:100x64"}).simplified_text("x.repeat(2, 1)"),
            R"(expression(x: f32[x.size(0), x.size(1)])
  %0 = load f32 x[i1, i2]
  out: f32[x.size(0)*2, x.size(1)] =
    %0 over [2, x.size(0), x.size(1)] at [i0*x.size(0) + i1, i2]
)");
}

TEST(TensorWindows, MovesElementsWithoutComputingIndices) {
  for (const char* text :
       {"x.roll((3, -2), (0, 1))", "x.rot90()", "x.tile(2, 3)", "x.repeat_interleave(3, 1)", "F.pad(x, (1, 2, 3, 4))",
        "F.pad(x, (3, 2), mode='circular')", "F.pad(x, (3, 2), mode='reflect')", "F.pad(x, (3, 2), mode='replicate')",
        "F.pixel_shuffle(x.unflatten(1, (4, -1)).transpose(0, 1), 2)", "torch.kron(x, x)",
        "x.tensor_split(3, 1)[1] * 2", "F.interpolate(x.unsqueeze(0), scale_factor=3)",
        "F.interpolate(x.unsqueeze(0), scale_factor=0.5)"}) {
    const ir::Graph graph = LoweringCase({"f32:100x64"}).lower(text);
    for (uint32_t id = 0; id < graph.count(); ++id) {
      EXPECT_FALSE(graph[{id}].op == ir::Op::Gather || graph[{id}].op == ir::Op::Index) << text << "\n"
                                                                                        << ir::print(graph);
    }
  }
}

TEST(TensorWindows, GivesEmptyTensorsAValueOfTheirDtype) {
  // The values of an empty tensor do not matter, but they must fit its dtype.
  for (const char* text : {"x.reshape(0, 3)", "torch.cat([x, x])[:0]", "torch.cat([x[:0], x[:0]]).roll(2)"}) {
    for (const char* dtype : {"bool:0", "f32:0", "i8:0"})
      EXPECT_NO_THROW(LoweringCase({dtype}).lower(text)) << text << dtype;
  }
}

}  // namespace
}  // namespace ingot::frontend
