// Choices about speed are pure functions; these are the choices that were measured.

#include "codegen/schedule/policy.h"

#include <gtest/gtest.h>

#include "codegen/schedule/cost.h"

namespace ingot::codegen {
namespace {

using Access = LaneFacts::Access;

Access along(uint32_t bytes, uint32_t alignment = 16) { return {bytes, StrideClass::One, alignment, false, false}; }
Access still(uint32_t bytes) { return {bytes, StrideClass::Zero, bytes, false, false}; }

TEST(Lanes, SixteenBytesOfTheWidestElement) {
  EXPECT_EQ(lanes_for({{along(4), along(4), along(4)}}), 4u);
  EXPECT_EQ(lanes_for({{along(1), along(4)}}), 4u);
  EXPECT_EQ(lanes_for({{along(1), along(1)}}), 16u);
  EXPECT_EQ(lanes_for({{along(8), along(2)}}), 2u);
  EXPECT_EQ(lanes_for({{along(2), still(8)}}), 8u) << "what does not move is no vector";
}

TEST(Lanes, HeavyBodiesTakeHalf) {
  EXPECT_EQ(lanes_for({{along(4), along(4)}, 1, 16, 40}), 4u);
  EXPECT_EQ(lanes_for({{along(4), along(4)}, 1, 16, 100}), 2u);
}

TEST(Lanes, VectorsAreAlignedAndWithinRows) {
  EXPECT_EQ(lanes_for({{along(4, 8), along(4)}}), 2u);
  EXPECT_EQ(lanes_for({{along(4, 4), along(4)}}), 1u);
  EXPECT_EQ(lanes_for({{along(4), along(4)}, 2, 2}), 2u);
  EXPECT_EQ(lanes_for({{along(4), along(4)}, 2, 1}), 1u);
}

TEST(Lanes, OneWhereRowsAreStridedOrNothingMoves) {
  EXPECT_EQ(lanes_for({{along(4), {4, StrideClass::Other, 16, false, false}}}), 1u);
  EXPECT_EQ(lanes_for({{still(4)}}), 1u);
  EXPECT_EQ(lanes_for({{along(4)}, 0}), 1u);
  EXPECT_EQ(lanes_for({{{4, StrideClass::Other, 16, false, true}, along(4)}}), 1u) << "a group is a vector already";
  EXPECT_EQ(lanes_for({{{4, StrideClass::Other, 4, true, false}, along(4)}}), 4u) << "a gather has no say";
}

TEST(Chunks, CornersAreOneVector) {
  EXPECT_EQ(chunks_of({0, 1, 2, 3}, 4, 16, false), (std::vector<Chunk>{{0, 4}}));
  EXPECT_EQ(chunks_of({0, 1, 2, 3}, 8, 16, false), (std::vector<Chunk>{{0, 2}, {2, 2}}));
  EXPECT_EQ(chunks_of({0, 1, 2, 3}, 4, 8, false), (std::vector<Chunk>{{0, 2}, {2, 2}}));
  EXPECT_EQ(chunks_of({0, 1, 2, 3}, 4, 4, true), (std::vector<Chunk>{{0, 1}, {1, 1}, {2, 1}, {3, 1}}));
  EXPECT_EQ(chunks_of({0, 1, 2, 3}, 2, 16, true), (std::vector<Chunk>{{0, 4}}));
}

TEST(Chunks, NothingIsReadOutsideTheTensorAndNothingWrittenThatIsNotMeant) {
  EXPECT_EQ(chunks_of({0, 1, 2}, 4, 16, false), (std::vector<Chunk>{{0, 2}, {2, 1}})) << "a fourth might not exist";
  EXPECT_EQ(chunks_of({0, 3}, 4, 16, false), (std::vector<Chunk>{{0, 4}})) << "what lies between two elements exists";
  EXPECT_EQ(chunks_of({0, 1, 3}, 4, 16, true), (std::vector<Chunk>{{0, 2}, {3, 1}}));
  EXPECT_EQ(chunks_of({0, 2, 3}, 4, 16, true), (std::vector<Chunk>{{0, 1}, {2, 2}}));
}

TEST(Cost, TranscendentalsAreHeavy) {
  EXPECT_EQ(cost_of(ir::Op::Add, ir::DType::F32), 1u);
  EXPECT_GT(cost_of(ir::Op::Exp, ir::DType::F32), cost_of(ir::Op::Div, ir::DType::F32));
  EXPECT_GT(cost_of(ir::Op::Exp, ir::DType::F64), cost_of(ir::Op::Exp, ir::DType::F32));
  EXPECT_EQ(cost_of(ir::Op::Load, ir::DType::F32), 0u);
}

}  // namespace
}  // namespace ingot::codegen
