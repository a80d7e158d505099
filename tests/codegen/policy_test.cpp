// The rules about speed are pure functions; these tests record the choices that were measured.

#include <gtest/gtest.h>

#include "codegen/schedule/cost.h"
#include "tests/codegen/policy_testing.h"

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;

uint32_t lanes(std::vector<AccessFacts> accesses, uint32_t cost = 0, uint32_t rank = 1, uint32_t inner_multiple = 16) {
  return lanes_for({std::move(accesses), rank, inner_multiple, cost});
}
Preset preset(std::vector<AccessFacts> accesses, uint32_t rank = 1, uint32_t inner_multiple = 16) {
  const KernelFacts facts{std::move(accesses), rank, inner_multiple, 0};
  return preset_for(facts, lanes_for(facts));
}

TEST(Lanes, FillSixteenBytesWithTheWidestElement) {
  EXPECT_EQ(lanes({along(4), along(4), along(4)}), 4u);
  EXPECT_EQ(lanes({along(1), along(4)}), 4u);
  EXPECT_EQ(lanes({along(1), along(1)}), 16u);
  EXPECT_EQ(lanes({along(8), along(2)}), 2u);
  EXPECT_EQ(lanes({along(2), column_bias(8)}), 8u) << "a broadcast operand is no vector";
  EXPECT_EQ(lanes({along(4), gathered(8)}), 4u) << "gathers do not limit the vector";
}

// A thread of a heavy kernel has two vectors: adjacent ones (twice the lanes) or, if it may take steps, one per step.

TEST(Lanes, DoubleForHeavyBodiesWithoutSteps) {
  EXPECT_EQ(lanes({along(4), along(4)}, 50), 4u);
  EXPECT_EQ(lanes({along(4, 4), along(4)}, 50), 8u) << "the load is shifted";
  EXPECT_EQ(lanes({along(4, 4), along(4)}, 39), 4u) << "fewer than 5 instructions a byte";
  EXPECT_EQ(lanes({along(4, 4), along(4), along(4)}, 50), 4u);
  EXPECT_EQ(lanes({along(2), along(2)}, 50, 2), 8u);
  EXPECT_EQ(lanes({along(4), along(4)}, 200), 4u) << "too much to compile";
  EXPECT_EQ(lanes({along(4), along(4)}, 5000), 2u);
  EXPECT_EQ(lanes({along(4, 4), along(4)}, 50, 2, 4), 4u) << "a thread does not cross a row's end for a second vector";
  EXPECT_EQ(lanes({along(4, 4), along(4)}, 50, 2, 8), 8u);
}

TEST(Steps, AreTwoForHeavyBodiesWithVectorsOrUniformAccesses) {
  const auto steps = [](std::vector<AccessFacts> accesses, uint32_t cost, uint32_t lanes = 4, uint32_t rank = 1,
                        uint32_t inner_multiple = 16) {
    return steps_for({std::move(accesses), rank, inner_multiple, cost}, Preset::Flat, lanes).count;
  };
  AccessFacts scalar = column_bias(4), masked = along(4);
  scalar.is_uniform = masked.is_masked = true;
  EXPECT_EQ(steps({along(4), scalar, stored(4)}, 40), 2u);
  EXPECT_EQ(steps({along(4), stored(4)}, 39), 1u) << "fewer than 5 instructions a byte";
  EXPECT_EQ(steps({along(4), along(4), stored(4)}, 50), 1u);
  EXPECT_EQ(steps({along(4), stored(4)}, 133), 2u);
  EXPECT_EQ(steps({along(4), stored(4)}, 134), 1u) << "three copies of the body take too long to compile";
  EXPECT_EQ(steps({along(2), stored(2)}, 20, 8), 2u);
  EXPECT_EQ(steps({along(2), stored(2)}, 66, 8), 2u);
  EXPECT_EQ(steps({along(2), stored(2)}, 67, 8), 1u);
  EXPECT_EQ(steps({along(4, 4), stored(4)}, 50), 1u) << "the load is shifted";
  EXPECT_EQ(steps({along(4), gathered(4), stored(4)}, 90), 1u);
  EXPECT_EQ(steps({along(4), masked, stored(4)}, 90), 1u);
  EXPECT_EQ(steps({along(4), row_bias(4), column_bias(4), stored(4)}, 40, 4, 2, 4), 2u) << "a vector lies in one row";
  EXPECT_EQ(steps({along(4), row_bias(4), stored(4)}, 40, 4, 2, 2), 1u) << "rows end within a vector";
  EXPECT_EQ(steps({position, along(4), stored(4)}, 40), 2u);
  KernelFacts in_place{{along(4), stored(4)}, 1, 16, 50};
  in_place.results_alias = true;
  EXPECT_EQ(steps_for(in_place, Preset::Flat, 4).count, 1u) << "the second load may read the first store";
  EXPECT_EQ(steps_for({{along(4), stored(4)}, 1, 16, 50}, Preset::Flat, 4).threads, 64u);
}

TEST(Blocks, AreSmallerIfArithmeticMattersOrLoadsWaitForACondition) {
  const auto threads = [](std::vector<AccessFacts> accesses, uint32_t cost, Preset preset = Preset::Flat) {
    return steps_for({std::move(accesses), 1, 16, cost}, preset, 4).threads;
  };
  EXPECT_EQ(threads({along(4), stored(4)}, 2), 256u);
  EXPECT_EQ(threads({along(4), stored(4)}, 17), 128u);
  EXPECT_EQ(threads({along(4), stored(4)}, 17, Preset::Tile), 256u);
  AccessFacts group = along(4);
  group.is_grouped = true;
  EXPECT_EQ(threads({group, stored(4)}, 66), 256u);
  AccessFacts masked = along(4);
  masked.is_masked = true;
  EXPECT_EQ(threads({masked, stored(4)}, 2), 128u);
}

TEST(Lanes, AreOneForUniformAccessesAndGroups) {
  EXPECT_EQ(lanes({column_bias(4)}), 1u);
  EXPECT_EQ(lanes({along(4)}, 0, 0), 1u);
  AccessFacts group = strided(4);
  group.is_grouped = true;
  EXPECT_EQ(lanes({group, along(4)}), 1u);
}

TEST(Lanes, AreTwoVectorsForGatheredRows) {
  AccessFacts row = gathered(4);
  EXPECT_EQ(lanes({row, stored(4)}, 1, 2), 4u);
  row.inner = StrideClass::One;
  row.row_shares_index = true;
  EXPECT_EQ(lanes({row, stored(4)}, 1, 2), 8u);
}

TEST(Presets, AreFlatIfEveryAccessIsAVectorOrShifted) {
  EXPECT_EQ(preset({along(4), stored(4)}), Preset::Flat);
  EXPECT_EQ(preset({along(4, 4), stored(4)}), Preset::Flat);
  EXPECT_EQ(preset({along(4), stored(4, 4)}), Preset::Interleaved) << "a store is not shifted";
  EXPECT_EQ(preset({along(4), row_bias(4), stored(4)}, 2, 4), Preset::Flat);
  EXPECT_EQ(preset({in_rows(4), stored(4)}, 2, 4), Preset::Flat);
}

TEST(Presets, AreCarriedIfLargeAccessesAreLinear) {
  EXPECT_EQ(preset({along(4), row_bias(4), stored(4)}, 2, 1), Preset::Carried);
  EXPECT_EQ(preset({along(4), column_bias(4), stored(4)}, 2, 1), Preset::Carried);
  EXPECT_EQ(preset({along(4, 4), row_bias(4), stored(4)}, 2, 1), Preset::Carried);
  EXPECT_EQ(preset({in_rows(4), stored(4)}, 2, 1), Preset::Interleaved) << "the operand is large and not linear";
}

TEST(Presets, AreRowByRowForLongUnalignedRows) {
  const auto preset_of_long_rows = [](std::vector<AccessFacts> accesses, uint32_t inner_multiple = 1) {
    KernelFacts facts{std::move(accesses), 2, inner_multiple, 0};
    facts.has_long_rows = inner_multiple < 8;
    return preset_for(facts, lanes_for(facts));
  };
  EXPECT_EQ(preset_of_long_rows({along(2), column_bias(4), stored(2)}), Preset::RowByRow);
  EXPECT_EQ(preset_of_long_rows({along(2), column_bias(4), position, stored(2)}), Preset::RowByRow);
  EXPECT_EQ(preset_of_long_rows({along(2), column_bias(4), stored(2)}, 8), Preset::Flat);
  EXPECT_EQ(preset_of_long_rows({along(2), row_bias(2), stored(2)}), Preset::Carried)
      << "the operand's rows have other alignments";
  EXPECT_EQ(preset_of_long_rows({along(2, 4), column_bias(4), stored(2)}), Preset::Carried) << "the load is shifted";
  EXPECT_NE(preset_of_long_rows({along(2), gathered(4), stored(2)}), Preset::RowByRow)
      << "the gather has an index per element";
}

TEST(Presets, AreRowByRowForCostlyRowValues) {
  KernelFacts facts{{along(2), column_bias(4), stored(2)}, 2, 8, 0};
  facts.row_cost = 20;
  EXPECT_EQ(preset_for(facts, lanes_for(facts)), Preset::Flat) << "the domain is small";
  facts.has_many_steps = true;
  EXPECT_EQ(preset_for(facts, lanes_for(facts)), Preset::RowByRow);
  EXPECT_EQ(steps_for(facts, Preset::RowByRow, 8).count, 4u);
  facts.row_cost = 1;
  EXPECT_EQ(steps_for(facts, Preset::RowByRow, 8).count, 1u) << "the row value is cheap";
  EXPECT_EQ(preset_for(facts, lanes_for(facts)), Preset::Flat);
}

TEST(Presets, AreInterleavedForSingleElementLoads) {
  EXPECT_EQ(preset({strided(4), stored(4)}), Preset::Interleaved);
  EXPECT_EQ(preset({strided(4), along(4), stored(4)}, 2, 4), Preset::Interleaved);
}

TEST(Accesses, FollowTheMemoryLayout) {
  const auto how = [](const AccessFacts& access, Preset preset, uint32_t lanes = 4) {
    return how_for(access, {{access}, 2, 4, 0}, preset, lanes);
  };
  EXPECT_EQ(how(along(4), Preset::Flat), How::Vector);
  EXPECT_EQ(how(along(4, 8), Preset::Flat), How::Shifted);
  EXPECT_EQ(how(along(4, 8), Preset::Flat, 2), How::Vector);
  EXPECT_EQ(how(along(4), Preset::Flat, 8), How::Vector) << "two vectors of 16 bytes";
  EXPECT_EQ(how(along(1, 1), Preset::Flat, 2), How::Single) << "less than a word";
  EXPECT_EQ(how(in_rows(4), Preset::Flat), How::Vector);
  EXPECT_EQ(how(in_rows(4), Preset::Carried), How::Single);
  EXPECT_EQ(how(column_bias(4), Preset::Flat), How::Fixed);
  EXPECT_EQ(how(column_bias(4), Preset::Carried), How::Single) << "the next row has another element";
  EXPECT_EQ(how(along(4), Preset::Interleaved), How::Single);
  EXPECT_EQ(how(stored(4, 4), Preset::Flat), How::Single);
}

TEST(Tiles, AreLongIfAnAxisIsShort) {
  AccessFacts transposed = strided(4);
  transposed.unit_axis = 0;
  const auto facts = [&](uint8_t transposed_bits, uint8_t inner_bits, size_t loads = 1) {
    KernelFacts result{
        .accesses = {stored(4)}, .rank = 2, .inner_bits = inner_bits, .transposed_bits = transposed_bits};
    result.accesses.insert(result.accesses.begin(), loads, transposed);
    return result;
  };
  const auto size = [&](auto... arguments) {
    const TileSize tile = tile_size_for(facts(arguments...));
    return std::pair(tile.rows, tile.columns);
  };
  EXPECT_EQ(size(6, 6), std::pair(64u, 64u));
  EXPECT_EQ(size(6, 6, 4), std::pair(32u, 32u)) << "four tiles of 64 by 64 elements are too large";
  EXPECT_EQ(size(4, 10), std::pair(16u, 256u));
  EXPECT_EQ(size(10, 5), std::pair(128u, 32u));
  EXPECT_EQ(size(2, 10), std::pair(4u, 256u));
  EXPECT_EQ(size(6, 6, 11), std::pair(32u, 32u));
  EXPECT_EQ(axis_across(facts(6, 6, 12)), kNoAxis) << "twelve tiles are too large, however small";
  EXPECT_EQ(axis_across(facts(10, 4)), kNoAxis) << "a warp's loads are nearly coalesced";
  EXPECT_EQ(axis_across(facts(3, 6)), kNoAxis) << "a block uses whole cache lines";
}

TEST(Tiles, UseVectorsIfEveryRowIsAligned) {
  AccessFacts transposed = strided(4);
  transposed.unit_axis = 0;
  const auto facts = [&](uint32_t inner_multiple) {
    return KernelFacts{.accesses = {transposed, stored(4)},
                       .rank = 2,
                       .inner_multiple = inner_multiple,
                       .inner_bits = 6,
                       .transposed_bits = 6};
  };
  EXPECT_EQ(tile_size_for(facts(4)).lanes, 4u);
  EXPECT_EQ(tile_size_for(facts(2)).lanes, 1u) << "the second row begins between vectors";
  EXPECT_EQ(how_for(stored(4), facts(4), Preset::Tile, 4), How::Vector);
  EXPECT_EQ(how_for(stored(4), facts(2), Preset::Tile, 4), How::Single);
}

TEST(GroupVectors, CornersOfABoxAreOneVector) {
  EXPECT_EQ(vectors_of_group({0, 1, 2, 3}, 4, 16, false), (std::vector<GroupVector>{{0, 4}}));
  EXPECT_EQ(vectors_of_group({0, 1, 2, 3}, 8, 16, false), (std::vector<GroupVector>{{0, 2}, {2, 2}}));
  EXPECT_EQ(vectors_of_group({0, 1, 2, 3}, 4, 8, false), (std::vector<GroupVector>{{0, 2}, {2, 2}}));
  EXPECT_EQ(vectors_of_group({0, 1, 2, 3}, 4, 4, true), (std::vector<GroupVector>{{0, 1}, {1, 1}, {2, 1}, {3, 1}}));
  EXPECT_EQ(vectors_of_group({0, 1, 2, 3}, 2, 16, true), (std::vector<GroupVector>{{0, 4}}));
}

TEST(GroupVectors, StayInsideTheTensorAndStoreOnlyUsedElements) {
  EXPECT_EQ(vectors_of_group({0, 1, 2}, 4, 16, false), (std::vector<GroupVector>{{0, 2}, {2, 1}}))
      << "a fourth element may not exist";
  EXPECT_EQ(vectors_of_group({0, 3}, 4, 16, false), (std::vector<GroupVector>{{0, 4}}))
      << "elements between two used ones exist";
  EXPECT_EQ(vectors_of_group({0, 1, 3}, 4, 16, true), (std::vector<GroupVector>{{0, 2}, {3, 1}}));
  EXPECT_EQ(vectors_of_group({0, 2, 3}, 4, 16, true), (std::vector<GroupVector>{{0, 1}, {2, 2}}));
}

TEST(Cost, TranscendentalsAreHeavy) {
  EXPECT_EQ(cost_of(ir::Op::Add, ir::DType::F32), 1u);
  EXPECT_GT(cost_of(ir::Op::Tanh, ir::DType::F32), cost_of(ir::Op::Div, ir::DType::F32));
  EXPECT_GT(cost_of(ir::Op::Exp, ir::DType::F64), cost_of(ir::Op::Exp, ir::DType::F32));
  EXPECT_EQ(cost_of(ir::Op::Load, ir::DType::F32), 0u);
}

}  // namespace
}  // namespace ingot::codegen
