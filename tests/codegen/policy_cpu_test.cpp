// The rules of loops and vector lengths on the CPU: the choices that were measured (docs/performance.md, CPU).

#include <gtest/gtest.h>

#include "tests/codegen/policy_testing.h"

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;

TEST(Cpu, TransposesStridedOperands) {
  AccessFacts transposed = strided(4);
  transposed.next_outer = StrideClass::One;
  const auto across = [](std::vector<AccessFacts> accesses, bool results_alias = false) {
    return cpu_axis_across({.accesses = std::move(accesses), .rank = 2, .results_alias = results_alias});
  };
  EXPECT_EQ(across({transposed, stored(4)}), 0u);
  EXPECT_EQ(across({along(4), stored(4)}), kNoAxis);
  EXPECT_EQ(across({transposed, gathered(4), stored(4)}), kNoAxis);
  EXPECT_EQ(across({transposed, stored(4)}, true), kNoAxis)
      << "a later tile would read what an earlier one has written";
  AccessFacts stepped = transposed;
  stepped.inner_step = 3;
  EXPECT_EQ(across({stepped, stored(4)}), kNoAxis) << "a small stride loads whole vectors";

  AccessFacts wide = transposed;
  wide.bytes = 8;
  EXPECT_EQ(cpu_tile_rows({.accesses = {wide, stored(8)}, .rank = 2}), 64u);
  EXPECT_EQ(cpu_tile_rows({.accesses = {wide, wide, stored(8)}, .rank = 2}), 32u);
}

TEST(Cpu, ComputesShortRowsInOneLoopIfOperandsCanBeCopied) {
  AccessFacts row = row_bias(4), column = column_bias(4), transposed = strided(4), padded = in_rows(4);
  row.next_outer = StrideClass::Zero;
  column.next_outer = StrideClass::Other;
  transposed.next_outer = StrideClass::One;
  padded.next_outer = StrideClass::Other;
  const auto facts = [](std::vector<AccessFacts> accesses, bool is_short = true) {
    return KernelFacts{.accesses = std::move(accesses), .rank = 2, .has_short_rows = is_short};
  };
  EXPECT_EQ(how_in_short_rows(row, facts({})), How::Repeated);
  EXPECT_EQ(how_in_short_rows(column, facts({})), How::Spread);
  EXPECT_EQ(how_in_short_rows(transposed, facts({})), How::Staged);
  EXPECT_EQ(how_in_short_rows(padded, facts({})), std::nullopt);
  EXPECT_EQ(cpu_short_row_elements(facts({along(4), row, column, stored(4)})), 1024u);
  EXPECT_EQ(cpu_short_row_elements(facts({along(4), transposed, stored(4)})), 4096u);
  EXPECT_EQ(cpu_short_row_elements(facts({along(4), padded, row, stored(4)})), 0u);
  EXPECT_EQ(cpu_short_row_elements(facts({along(4), row, stored(4)}, false)), 0u);
  KernelFacts heavy = facts({along(4), column, stored(4)});
  heavy.row_cost = 20;
  EXPECT_EQ(cpu_short_row_elements(heavy), 0u) << "exp(column) should be computed once per row";
}

TEST(Cpu, ConvertsContiguousFloat16InBulk) {
  AccessFacts half = along(2), transposed = strided(2), column = column_bias(2);
  half.may_stay_float32 = transposed.may_stay_float32 = column.may_stay_float32 = true;
  EXPECT_TRUE(is_widened(half, How::Single));
  EXPECT_FALSE(is_widened(along(2), How::Single)) << "bfloat16, or a use of the exact bits";
  EXPECT_FALSE(is_widened(transposed, How::Single));
  EXPECT_FALSE(is_widened(transposed, How::Staged));
  EXPECT_FALSE(is_widened(column, How::Fixed)) << "it is one value of a row";
  EXPECT_TRUE(is_widened(column, How::Spread)) << "it is a buffer of the batch";
}

TEST(Cpu, UsesShortVectorsInMemoryBoundKernels) {
  const auto facts = [](std::vector<AccessFacts> accesses, uint32_t cost = 1) {
    return KernelFacts{.accesses = std::move(accesses), .cost = cost};
  };
  EXPECT_EQ(cpu_simd(facts({along(4), along(4), stored(4)})), 8u);
  EXPECT_EQ(cpu_simd(facts({along(1), stored(1)})), 32u);
  EXPECT_EQ(cpu_simd(facts({along(4), stored(4)}, 13)), 0u) << "the widest vectors: more than 6 instructions an access";
  EXPECT_EQ(cpu_simd(facts({along(1), stored(4)})), 0u) << "the elements have two widths";
  KernelFacts four_loads = facts({along(4), along(4), along(4), column_bias(4), stored(4)}, 30);
  EXPECT_EQ(cpu_simd(four_loads), 8u);
  four_loads.has_transcendentals = true;
  EXPECT_EQ(cpu_simd(four_loads), 0u);
}

TEST(CpuRows, ChunksHaveSixteenElementsPerAccumulatorOrMoreInLongRows) {
  EXPECT_EQ(cpu_chunk_length(10), 0u);
  EXPECT_EQ(cpu_chunk_length(11), 1024u);
  EXPECT_EQ(cpu_chunk_length(20), 1024u);
  EXPECT_EQ(cpu_chunk_length(30), 1u << 15);
}

TEST(CpuRows, SplitsFewRows) {
  const auto splits = [](uint8_t length_bits, uint8_t rows_bits, bool has_several_phases = false) {
    const RowSetup rows({row_elements(4)}, length_bits, rows_bits);
    return Schedule{.loop_maps = cpu_rows(rows.facts, rows.layout, has_several_phases)}.is_split();
  };
  EXPECT_TRUE(splits(20, 3));
  EXPECT_FALSE(splits(20, 6)) << "each row has a unit";
  EXPECT_FALSE(splits(10, 0)) << "one chunk";
  EXPECT_FALSE(splits(20, 0, true));
}

TEST(CpuRows, VectorisesAcrossAdjacentRows) {
  const RowSetup across({row_elements(4)}, 10, 6, true), along({row_elements(4)}, 10, 6);
  EXPECT_TRUE(are_across(cpu_rows(across.facts, across.layout, false)));
  EXPECT_FALSE(are_across(cpu_rows(along.facts, along.layout, false)));
  RowSetup with_functions = across;
  with_functions.facts.depends_on_vector_width = true;
  EXPECT_FALSE(are_across(cpu_rows(with_functions.facts, with_functions.layout, false)))
      << "the bits would depend on the other rows";
}

/// Whether short rows that are contiguous in memory are transposed.
bool are_transposed(RowSetup rows, bool has_several_phases, uint8_t multiple = 1) {
  for (AccessFacts& access : rows.facts.accesses)
    if (access.varies_in_row) access.along_rows = StrideClass::Other;
  rows.facts.reduced_axis_multiple = multiple;
  return are_across(cpu_rows(rows.facts, rows.layout, has_several_phases));
}

TEST(CpuRows, VectorisesAcrossShortRows) {
  const AccessFacts element = row_elements(4);
  EXPECT_TRUE(are_transposed({{element}, 5, 6}, false)) << "31 columns";
  EXPECT_FALSE(are_transposed({{element}, 4, 6}, false, 16)) << "16 columns, whole vectors";
  EXPECT_TRUE(are_transposed({{element}, 6, 6}, false, 8)) << "40 columns, half vectors";
  EXPECT_FALSE(are_transposed({{element}, 7, 6}, false));
  RowSetup stored_rows({element, stored(4)}, 6, 6);
  stored_rows.facts.accesses[1].varies_in_row = true;
  stored_rows.facts.has_transcendentals = true;
  EXPECT_FALSE(are_transposed(stored_rows, true, 16)) << "softmax of 48 columns";
  EXPECT_TRUE(are_transposed(stored_rows, true, 8)) << "softmax of 40 columns";
  stored_rows.layout.length_bits = 4;
  EXPECT_TRUE(are_transposed(stored_rows, true, 16))
      << "softmax of 16 columns: combining the accumulators of a single vector takes most of the time";
  RowSetup numbers({element}, 6, 6);
  numbers.facts.has_transcendentals = true;
  EXPECT_TRUE(are_transposed(numbers, true, 64)) << "logsumexp of 64 columns: the values per row are vectors, too";
  numbers.layout.length_bits = 7;
  EXPECT_FALSE(are_transposed(numbers, true, 64)) << "logsumexp of 128 columns";
  EXPECT_FALSE(are_transposed({{element}, 5, 4}, true, 32)) << "30 rows of 32 columns";
  EXPECT_TRUE(are_transposed({{element}, 5, 4}, true, 8)) << "30 rows of 24 columns";
  EXPECT_FALSE(are_transposed({{element}, 8, 6}, true));
  EXPECT_FALSE(are_transposed({{element}, 5, 3}, true)) << "there are few rows";
  RowSetup in_place({element}, 5, 6);
  in_place.facts.results_alias = true;
  EXPECT_FALSE(are_transposed(in_place, true)) << "a buffer is written back after all loads";
  EXPECT_FALSE(are_transposed({std::vector(100, element), 7, 6}, true)) << "the stack has no room for so many buffers";
  AccessFacts strided = element;
  strided.inner = StrideClass::Other;
  EXPECT_FALSE(are_transposed({{element, strided}, 5, 6}, true));
}

TEST(CpuRows, RowsAcrossFillVectorsAndFitTheCache) {
  const auto lanes = [](uint8_t rows_bits, uint32_t result_bytes) {
    RowSetup rows({row_elements(4)}, 10, rows_bits, true);
    rows.facts.result_bytes = result_bytes;
    return kept_map(cpu_rows(rows.facts, rows.layout, false)).count(Scope::Vector);
  };
  EXPECT_EQ(lanes(6, 4), 64u);
  EXPECT_EQ(lanes(2, 4), 4u) << "four rows";
  EXPECT_EQ(lanes(6, 12), 64u);
  EXPECT_EQ(lanes(6, 40), 16u);
  const RowSetup along({row_elements(4)}, 10, 6);
  EXPECT_EQ(kept_map(cpu_rows(along.facts, along.layout, false)).count(Scope::Vector), 1u);
}

TEST(CpuRows, CachesValuesThatFit) {
  KernelLayout layout;
  layout.length_bits = 18;
  EXPECT_TRUE(cpu_can_cache(layout, 1, 4));
  EXPECT_FALSE(cpu_can_cache(layout, 1, 8));
  layout.length_bits = 9;
  EXPECT_FALSE(cpu_can_cache(layout, 64, 4));
}

}  // namespace
}  // namespace ingot::codegen
