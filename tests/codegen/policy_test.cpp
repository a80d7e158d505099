// Choices about speed are pure functions; these are the choices that were measured.

#include "codegen/schedule/policy.h"

#include <gtest/gtest.h>

#include "codegen/schedule/cost.h"
#include "codegen/schedule/row_policy.h"

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;

AccessFacts along(uint32_t bytes, uint32_t alignment = 16) { return {.bytes = bytes, .alignment = alignment}; }
AccessFacts stored(uint32_t bytes, uint32_t alignment = 16) {
  return {.bytes = bytes, .alignment = alignment, .kind = Kind::Store};
}
AccessFacts in_rows(uint32_t bytes) { return {.bytes = bytes, .linear = false}; }
AccessFacts row_bias(uint32_t bytes) { return {.bytes = bytes, .linear = false, .broadcasts = true}; }
AccessFacts column_bias(uint32_t bytes) {
  return {.bytes = bytes, .inner = StrideClass::Zero, .linear = false, .broadcasts = true};
}
AccessFacts strided(uint32_t bytes) { return {.bytes = bytes, .inner = StrideClass::Other, .linear = false}; }
AccessFacts gathered(uint32_t bytes) {
  return {.bytes = bytes, .inner = StrideClass::Other, .linear = false, .kind = Kind::Gather};
}
const AccessFacts position{.bytes = 8, .linear = false, .kind = Kind::Index};

uint32_t lanes(std::vector<AccessFacts> accesses, uint32_t cost = 0, uint32_t rank = 1, uint32_t inner_multiple = 16) {
  return lanes_for({std::move(accesses), rank, inner_multiple, cost});
}
Preset preset(std::vector<AccessFacts> accesses, uint32_t rank = 1, uint32_t inner_multiple = 16) {
  const KernelFacts facts{std::move(accesses), rank, inner_multiple, 0};
  return preset_for(facts, lanes_for(facts));
}

TEST(Lanes, SixteenBytesOfTheWidestElement) {
  EXPECT_EQ(lanes({along(4), along(4), along(4)}), 4u);
  EXPECT_EQ(lanes({along(1), along(4)}), 4u);
  EXPECT_EQ(lanes({along(1), along(1)}), 16u);
  EXPECT_EQ(lanes({along(8), along(2)}), 2u);
  EXPECT_EQ(lanes({along(2), column_bias(8)}), 8u) << "what does not move is no vector";
  EXPECT_EQ(lanes({along(4), gathered(8)}), 4u) << "a gather has no say";
}

TEST(Lanes, HeavyBodiesThatMayTakeNoStepsTakeTwiceAsMany) {
  EXPECT_EQ(lanes({along(4), along(4)}, 50), 4u);
  EXPECT_EQ(lanes({along(4, 4), along(4)}, 50), 8u) << "it is shifted";
  EXPECT_EQ(lanes({along(4, 4), along(4)}, 39), 4u) << "fewer than 5 instructions a byte";
  EXPECT_EQ(lanes({along(4, 4), along(4), along(4)}, 50), 4u);
  EXPECT_EQ(lanes({along(2), along(2)}, 50, 2), 8u);
  EXPECT_EQ(lanes({along(4), along(4)}, 200), 4u) << "too much to compile";
  EXPECT_EQ(lanes({along(4), along(4)}, 5000), 2u);
  EXPECT_EQ(lanes({along(4, 4), along(4)}, 50, 2, 4), 4u) << "a second vector is not worth leaving a row for";
  EXPECT_EQ(lanes({along(4, 4), along(4)}, 50, 2, 8), 8u);
}

TEST(Steps, TwoOfHeavyBodiesWhereEveryAccessIsAVectorOrTheSameForAll) {
  const auto steps = [](std::vector<AccessFacts> accesses, uint32_t cost, uint32_t lanes = 4, uint32_t rank = 1,
                        uint32_t inner_multiple = 16) {
    return steps_for({std::move(accesses), rank, inner_multiple, cost}, Preset::Flat, lanes).count;
  };
  AccessFacts number = column_bias(4), masked = along(4);
  number.still = masked.masked = true;
  EXPECT_EQ(steps({along(4), number, stored(4)}, 40), 2u);
  EXPECT_EQ(steps({along(4), stored(4)}, 39), 1u) << "fewer than 5 instructions a byte";
  EXPECT_EQ(steps({along(4), along(4), stored(4)}, 50), 1u);
  EXPECT_EQ(steps({along(4), stored(4)}, 133), 2u);
  EXPECT_EQ(steps({along(4), stored(4)}, 134), 1u) << "three copies of it are too much to compile";
  EXPECT_EQ(steps({along(2), stored(2)}, 20, 8), 2u);
  EXPECT_EQ(steps({along(2), stored(2)}, 66, 8), 2u);
  EXPECT_EQ(steps({along(2), stored(2)}, 67, 8), 1u);
  EXPECT_EQ(steps({along(4, 4), stored(4)}, 50), 1u) << "it is shifted";
  EXPECT_EQ(steps({along(4), gathered(4), stored(4)}, 90), 1u);
  EXPECT_EQ(steps({along(4), masked, stored(4)}, 90), 1u);
  EXPECT_EQ(steps({along(4), row_bias(4), column_bias(4), stored(4)}, 40, 4, 2, 4), 2u) << "a vector lies in one row";
  EXPECT_EQ(steps({along(4), row_bias(4), stored(4)}, 40, 4, 2, 2), 1u) << "rows end within a vector";
  EXPECT_EQ(steps({position, along(4), stored(4)}, 40), 2u);
  KernelFacts in_place{{along(4), stored(4)}, 1, 16, 50};
  in_place.results_alias = true;
  EXPECT_EQ(steps_for(in_place, Preset::Flat, 4).count, 1u) << "what is loaded second may be what was stored first";
  EXPECT_EQ(steps_for({{along(4), stored(4)}, 1, 16, 50}, Preset::Flat, 4).threads, 64u);
}

TEST(Blocks, SmallerWhereVectorsAreComputedWithOrWaitForACondition) {
  const auto threads = [](std::vector<AccessFacts> accesses, uint32_t cost, Preset preset = Preset::Flat) {
    return steps_for({std::move(accesses), 1, 16, cost}, preset, 4).threads;
  };
  EXPECT_EQ(threads({along(4), stored(4)}, 2), 256u);
  EXPECT_EQ(threads({along(4), stored(4)}, 17), 128u);
  EXPECT_EQ(threads({along(4), stored(4)}, 17, Preset::Tile), 256u);
  AccessFacts group = along(4);
  group.grouped = true;
  EXPECT_EQ(threads({group, stored(4)}, 66), 256u);
}

TEST(Lanes, OneWhereNothingMovesOrAGroupIsAVector) {
  EXPECT_EQ(lanes({column_bias(4)}), 1u);
  EXPECT_EQ(lanes({along(4)}, 0, 0), 1u);
  AccessFacts group = strided(4);
  group.grouped = true;
  EXPECT_EQ(lanes({group, along(4)}), 1u);
}

TEST(Lanes, TwoVectorsWhereAThreadMustFindItsRowFirst) {
  AccessFacts row = gathered(4);
  EXPECT_EQ(lanes({row, stored(4)}, 1, 2), 4u);
  row.inner = StrideClass::One;
  row.shares_place = true;
  EXPECT_EQ(lanes({row, stored(4)}, 1, 2), 8u);
}

TEST(Presets, FlatWhereEveryAccessIsAVectorOrShifted) {
  EXPECT_EQ(preset({along(4), stored(4)}), Preset::Flat);
  EXPECT_EQ(preset({along(4, 4), stored(4)}), Preset::Flat);
  EXPECT_EQ(preset({along(4), stored(4, 4)}), Preset::Interleaved) << "a store is not shifted";
  EXPECT_EQ(preset({along(4), row_bias(4), stored(4)}, 2, 4), Preset::Flat);
  EXPECT_EQ(preset({in_rows(4), stored(4)}, 2, 4), Preset::Flat);
}

TEST(Presets, CarriedWhereRowsEndWithinALaneButWhatIsLargeKnowsNone) {
  EXPECT_EQ(preset({along(4), row_bias(4), stored(4)}, 2, 1), Preset::Carried);
  EXPECT_EQ(preset({along(4), column_bias(4), stored(4)}, 2, 1), Preset::Carried);
  EXPECT_EQ(preset({along(4, 4), row_bias(4), stored(4)}, 2, 1), Preset::Carried);
  EXPECT_EQ(preset({in_rows(4), stored(4)}, 2, 1), Preset::Interleaved) << "as large as the result, and not along it";
}

TEST(Presets, RowByRowWhereLongRowsBeginAnywhereAndAllElseIsOneForARow) {
  const auto of_long_rows = [](std::vector<AccessFacts> accesses, uint32_t inner_multiple = 1) {
    KernelFacts facts{std::move(accesses), 2, inner_multiple, 0};
    facts.has_long_rows = inner_multiple < 8;
    return preset_for(facts, lanes_for(facts));
  };
  EXPECT_EQ(of_long_rows({along(2), column_bias(4), stored(2)}), Preset::RowByRow);
  EXPECT_EQ(of_long_rows({along(2), column_bias(4), position, stored(2)}), Preset::RowByRow);
  EXPECT_EQ(of_long_rows({along(2), column_bias(4), stored(2)}, 8), Preset::Flat);
  EXPECT_EQ(of_long_rows({along(2), row_bias(2), stored(2)}), Preset::Carried) << "rows begin elsewhere in it";
  EXPECT_EQ(of_long_rows({along(2, 4), column_bias(4), stored(2)}), Preset::Carried) << "it is shifted";
  EXPECT_NE(of_long_rows({along(2), gathered(4), stored(2)}), Preset::RowByRow) << "what is no index of a row's";
}

TEST(Presets, RowByRowWhereEachThreadWouldComputeMuchForItsRow) {
  KernelFacts facts{{along(2), column_bias(4), stored(2)}, 2, 8, 0};
  facts.row_cost = 20;
  EXPECT_EQ(preset_for(facts, lanes_for(facts)), Preset::Flat) << "a block has few vectors of a row";
  facts.has_many_steps = true;
  EXPECT_EQ(preset_for(facts, lanes_for(facts)), Preset::RowByRow);
  EXPECT_EQ(steps_for(facts, Preset::RowByRow, 8).count, 4u);
  facts.row_cost = 1;
  EXPECT_EQ(steps_for(facts, Preset::RowByRow, 8).count, 1u) << "there is little to share";
  EXPECT_EQ(preset_for(facts, lanes_for(facts)), Preset::Flat);
}

TEST(Presets, InterleavedWhereLanesLoadForThemselves) {
  EXPECT_EQ(preset({strided(4), stored(4)}), Preset::Interleaved);
  EXPECT_EQ(preset({strided(4), along(4), stored(4)}, 2, 4), Preset::Interleaved);
}

TEST(Accesses, AreMadeAsTheirMemoryAllows) {
  const auto how = [](const AccessFacts& access, Preset preset, uint32_t lanes = 4) {
    return how_for(access, {{access}, 2, 4, 0}, preset, lanes);
  };
  EXPECT_EQ(how(along(4), Preset::Flat), How::Vector);
  EXPECT_EQ(how(along(4, 8), Preset::Flat), How::Shifted);
  EXPECT_EQ(how(along(4, 8), Preset::Flat, 2), How::Vector);
  EXPECT_EQ(how(along(4), Preset::Flat, 8), How::Vector) << "two of 16 bytes";
  EXPECT_EQ(how(along(1, 1), Preset::Flat, 2), How::Single) << "less than a word";
  EXPECT_EQ(how(in_rows(4), Preset::Flat), How::Vector);
  EXPECT_EQ(how(in_rows(4), Preset::Carried), How::Single);
  EXPECT_EQ(how(column_bias(4), Preset::Flat), How::Fixed);
  EXPECT_EQ(how(column_bias(4), Preset::Carried), How::Single) << "another row, another element";
  EXPECT_EQ(how(along(4), Preset::Interleaved), How::Single);
  EXPECT_EQ(how(stored(4, 4), Preset::Flat), How::Single);
}

TEST(Tiles, TakeVectorsWhereEveryRowIsAligned) {
  AccessFacts turned = strided(4);
  turned.unit_axis = 0;
  const auto facts = [&](uint32_t inner_multiple) {
    return KernelFacts{.accesses = {turned, stored(4)}, .rank = 2, .inner_multiple = inner_multiple, .long_axes = 3};
  };
  EXPECT_EQ(tile_size_for(facts(4)).lanes, 4u);
  EXPECT_EQ(tile_size_for(facts(2)).lanes, 1u) << "the second row begins between vectors";
  EXPECT_EQ(how_for(stored(4), facts(4), Preset::Tile, 4), How::Vector);
  EXPECT_EQ(how_for(stored(4), facts(2), Preset::Tile, 4), How::Single);
}

TEST(Cpu, TurnsWhatRunsAlongAnotherAxis) {
  AccessFacts turned = strided(4);
  turned.across = StrideClass::One;
  const auto across = [](std::vector<AccessFacts> accesses, bool results_alias = false) {
    return cpu_axis_across({.accesses = std::move(accesses), .rank = 2, .results_alias = results_alias});
  };
  EXPECT_EQ(across({turned, stored(4)}), 0u);
  EXPECT_EQ(across({along(4), stored(4)}), kNoAxis);
  EXPECT_EQ(across({turned, gathered(4), stored(4)}), kNoAxis);
  EXPECT_EQ(across({turned, stored(4)}, true), kNoAxis) << "a later tile would read what an earlier one has written";
  AccessFacts stepped = turned;
  stepped.inner_step = 3;
  EXPECT_EQ(across({stepped, stored(4)}), kNoAxis) << "whole vectors are loaded anyhow";

  AccessFacts wide = turned;
  wide.bytes = 8;
  EXPECT_EQ(cpu_tile_rows({.accesses = {wide, stored(8)}, .rank = 2}), 64u);
  EXPECT_EQ(cpu_tile_rows({.accesses = {wide, wide, stored(8)}, .rank = 2}), 32u);
}

TEST(Cpu, ShortRowsAreChunksWhereAllOperandsCanBeLaidOut) {
  AccessFacts row = row_bias(4), column = column_bias(4), turned = strided(4), padded = in_rows(4);
  row.across = StrideClass::Zero;
  column.across = StrideClass::Other;
  turned.across = StrideClass::One;
  padded.across = StrideClass::Other;
  const auto facts = [](std::vector<AccessFacts> accesses, bool is_short = true) {
    return KernelFacts{.accesses = std::move(accesses), .rank = 2, .has_short_rows = is_short};
  };
  EXPECT_EQ(how_in_chunk(row, facts({})), How::Repeated);
  EXPECT_EQ(how_in_chunk(column, facts({})), How::Spread);
  EXPECT_EQ(how_in_chunk(turned, facts({})), How::Staged);
  EXPECT_EQ(how_in_chunk(padded, facts({})), std::nullopt);
  EXPECT_EQ(cpu_chunk(facts({along(4), row, column, stored(4)})), 1024u);
  EXPECT_EQ(cpu_chunk(facts({along(4), turned, stored(4)})), 4096u);
  EXPECT_EQ(cpu_chunk(facts({along(4), padded, row, stored(4)})), 0u);
  EXPECT_EQ(cpu_chunk(facts({along(4), row, stored(4)}, false)), 0u);
  KernelFacts heavy = facts({along(4), column, stored(4)});
  heavy.row_cost = 20;
  EXPECT_EQ(cpu_chunk(heavy), 0u) << "exp(column) once a row";
}

TEST(Cpu, Float16IsConvertedByRunsWhereItRunsAlong) {
  AccessFacts half = along(2), turned = strided(2), column = column_bias(2);
  half.rounds = turned.rounds = column.rounds = true;
  EXPECT_TRUE(is_widened(half, How::Single));
  EXPECT_FALSE(is_widened(along(2), How::Single)) << "bfloat16, or somebody asks for its bits";
  EXPECT_FALSE(is_widened(turned, How::Single));
  EXPECT_FALSE(is_widened(turned, How::Staged));
  EXPECT_FALSE(is_widened(column, How::Fixed));
  EXPECT_TRUE(is_widened(column, How::Spread));
}

TEST(Cpu, WhatWaitsForMemoryHasShortVectors) {
  const auto facts = [](std::vector<AccessFacts> accesses, uint32_t cost = 1) {
    return KernelFacts{.accesses = std::move(accesses), .cost = cost};
  };
  EXPECT_EQ(cpu_simd(facts({along(4), along(4), stored(4)})), 8u);
  EXPECT_EQ(cpu_simd(facts({along(1), stored(1)})), 32u);
  EXPECT_EQ(cpu_simd(facts({along(4), stored(4)}, 13)), 0u) << "more than 6 instructions an access";
  EXPECT_EQ(cpu_simd(facts({along(1), stored(4)})), 0u) << "of two widths";
  KernelFacts calls = facts({along(4), along(4), along(4), column_bias(4), stored(4)}, 30);
  EXPECT_EQ(cpu_simd(calls), 8u);
  calls.has_functions = true;
  EXPECT_EQ(cpu_simd(calls), 0u);
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

AccessFacts of_elements(uint32_t bytes, uint32_t alignment = 16) {
  AccessFacts access = along(bytes, alignment);
  access.moves_in_row = true;
  return access;
}

/// Of `rows_bits` rows of at most 2^length_bits elements; `across`: they lie side by side.
struct RowsOf {
  KernelFacts facts;
  KernelLayout layout;

  RowsOf(std::vector<AccessFacts> accesses, uint8_t length_bits, uint8_t rows_bits, bool across = false,
         uint8_t rows_multiple = 16) {
    facts.accesses = std::move(accesses);
    facts.shared_bytes = cuda_shared_bytes(90);
    layout.reduces = true;
    layout.rank = 2;
    layout.reduced_axes = 1;
    layout.length_bits = length_bits;
    layout.rows_bits = rows_bits;
    layout.rows_multiple = across ? rows_multiple : 1;
    if (!across) return;
    for (AccessFacts& access : facts.accesses) {
      access.inner = StrideClass::Other;
      access.along_rows = StrideClass::One;
    }
  }

  RowSchedule once() const { return cuda_rows(facts, layout, false); }
  RowSchedule again() const { return cuda_rows(facts, layout, true); }
  uint32_t lanes() const { return cuda_row_lanes(facts, layout, once()); }
  bool are_ragged() const { return cuda_rows_are_ragged(facts, layout, once(), lanes()); }
};

TEST(Rows, ThatAreGoneThroughAgainStayInRegistersThenInSharedMemoryToo) {
  const auto rows = [](uint8_t length_bits, uint32_t architecture = 90) {
    RowsOf of({of_elements(4)}, length_bits, 12);
    of.facts.shared_bytes = cuda_shared_bytes(architecture);
    of.facts.cluster_blocks = cuda_cluster_blocks(architecture);
    return of.again();
  };
  EXPECT_EQ(rows(12).steps, 4u);
  EXPECT_EQ(rows(14).steps, 8u);
  EXPECT_EQ(rows(14).shared, 0u);
  EXPECT_EQ(rows(15).shared, 8u);
  EXPECT_EQ(rows(15).blocks, 2u);
  EXPECT_EQ(rows(16).threads, 1024u);
  EXPECT_EQ(rows(16).shared, 8u);
  EXPECT_EQ(rows(16, 89).steps, 0u) << "such a block has no room for half of it, so it is read again";
  EXPECT_EQ(rows(16).cluster, 1u);
  EXPECT_EQ(rows(17).cluster, 4u);
  EXPECT_EQ(rows(17).threads, 512u);
  EXPECT_EQ(rows(17).shared, 8u);
  EXPECT_EQ(rows(18).cluster, 8u);
  EXPECT_EQ(rows(19).steps, 0u);
  EXPECT_EQ(rows(17, 80).steps, 0u) << "there are no clusters";
  EXPECT_EQ(RowsOf({of_elements(4), of_elements(4)}, 16, 12).again().steps, 0u) << "two operands are too much";
}

TEST(Rows, EndTheirStepsWhereTheirLengthDoes) {
  const auto rows = [](uint8_t length_bits, uint8_t eighths, bool fills = false) {
    RowsOf of({of_elements(4)}, length_bits, 12);
    of.layout.length_eighths = eighths;
    of.layout.fills_eighths = fills;
    return of.again();
  };
  EXPECT_EQ(rows(14, 0).steps, 8u);
  EXPECT_EQ(rows(14, 0).full, 4u) << "a row is longer than half of what it might be";
  EXPECT_EQ(rows(14, 5).steps, 5u);
  EXPECT_EQ(rows(14, 5).full, 4u);
  EXPECT_EQ(rows(14, 6, true).steps, 6u);
  EXPECT_EQ(rows(14, 6, true).full, 6u);
  EXPECT_EQ(rows(14, 8).full, 7u);
  EXPECT_EQ(rows(16, 5).steps, 10u);
  EXPECT_EQ(rows(16, 5).shared, 2u) << "eight stay in registers";
  EXPECT_EQ(rows(16, 5).full, 5u) << "all of them would take more registers than there are";
}

TEST(Rows, OfSingleElementsStayInTheRegistersOfACluster) {
  const auto rows = [](uint32_t bytes, uint8_t length_bits, uint32_t architecture = 90) {
    RowsOf of({of_elements(bytes, bytes), stored(bytes, bytes)}, length_bits, 12);
    of.facts.accesses[1].moves_in_row = true;
    of.facts.inner_multiple = 1;
    of.facts.shared_bytes = cuda_shared_bytes(architecture);
    of.facts.cluster_blocks = cuda_cluster_blocks(architecture);
    return of.again();
  };
  for (const uint32_t bytes : {2u, 4u}) {
    EXPECT_EQ(rows(bytes, 14).cluster, 1u);
    EXPECT_EQ(rows(bytes, 15).cluster, 2u);
    EXPECT_EQ(rows(bytes, 17).cluster, 8u);
    EXPECT_EQ(rows(bytes, 17).steps, 32u);
    EXPECT_EQ(rows(bytes, 17).shared, 0u);
    EXPECT_EQ(rows(bytes, 18).threads, 1024u);
    EXPECT_EQ(rows(bytes, 19).steps, 0u);
  }
  EXPECT_EQ(rows(4, 15, 80).threads, 1024u) << "there are no clusters";
  EXPECT_EQ(rows(4, 16, 80).shared, 32u);
}

TEST(Rows, ThatAreShortAndBeginAnywhereAreTakenAWarpsAtOnce) {
  const auto odd = [](uint32_t bytes, uint8_t length_bits, uint8_t eighths, std::vector<AccessFacts> more = {}) {
    RowsOf of({of_elements(bytes), stored(bytes)}, length_bits, kManyRows);
    of.facts.accesses[1].moves_in_row = true;
    of.facts.accesses.insert(of.facts.accesses.end(), more.begin(), more.end());
    of.facts.inner_multiple = 1;
    of.layout.length_eighths = eighths;
    return of;
  };
  const auto batch = [&](auto... arguments) { return odd(arguments...).again().batch; };
  EXPECT_EQ(batch(4, 4, 0), 32u) << "a thread has up to 28 elements";
  EXPECT_EQ(batch(4, 5, 7), 32u);
  EXPECT_EQ(batch(4, 5, 8), 16u);
  EXPECT_EQ(batch(4, 6, 5), 16u);
  EXPECT_EQ(batch(4, 7, 5), 8u);
  EXPECT_EQ(batch(4, 7, 8), 4u);
  EXPECT_EQ(batch(4, 8, 5), 0u);
  EXPECT_EQ(batch(2, 7, 8), 8u) << "so many halves are vectors";
  EXPECT_EQ(batch(1, 6, 0), 16u);
  EXPECT_EQ(batch(1, 7, 8), 0u) << "so few bytes are not";
  EXPECT_EQ(odd(4, 7, 5).again().threads, 4u);
  EXPECT_EQ(odd(4, 7, 5).again().steps, 20u);
  EXPECT_EQ(odd(4, 7, 5).again().full, 16u);
  EXPECT_EQ(odd(4, 7, 5).once().batch, 8u);
  AccessFacts apart = of_elements(4, 4), result = stored(4, 4), strided_result = stored(4), row = stored(4);
  result.moves_in_row = strided_result.moves_in_row = true;
  strided_result.linear = false;
  row.linear = false;
  EXPECT_EQ(batch(4, 7, 5, std::vector{apart}), 8u) << "what is read may lie anywhere";
  EXPECT_EQ(batch(4, 7, 5, std::vector{row}), 8u) << "and what there is one of a row";
  EXPECT_EQ(batch(4, 7, 5, std::vector{result}), 0u);
  EXPECT_EQ(batch(4, 7, 5, std::vector{strided_result}), 0u);
  EXPECT_EQ(batch(4, 7, 5, std::vector{gathered(4)}), 0u) << "of rows that are not there";
  RowsOf few = odd(4, 7, 5), vectors = odd(4, 7, 5), numbers = odd(4, 7, 5);
  few.layout.rows_bits = kManyRows - 1;
  vectors.facts.inner_multiple = 4;
  numbers.facts.accesses.pop_back();
  EXPECT_EQ(few.again().batch, 0u);
  EXPECT_EQ(vectors.again().batch, 0u);
  EXPECT_EQ(numbers.once().batch, 0u) << "nothing is stored of elements";
}

TEST(Rows, OfAWarpHaveRoomInSharedMemory) {
  for (uint32_t loads = 1; loads <= 12; ++loads)
    for (uint32_t stores = 1; stores <= 12; ++stores)
      for (const uint32_t bytes : {4u, 8u})
        for (const uint8_t length_bits : {3, 5, 6, 7})
          for (uint8_t eighths = 5; eighths <= 8; ++eighths) {
            AccessFacts result = stored(4);
            result.moves_in_row = true;
            std::vector<AccessFacts> accesses(loads, of_elements(bytes));
            accesses.insert(accesses.end(), stores, result);
            RowsOf of(std::move(accesses), length_bits, kManyRows);
            of.facts.inner_multiple = 1;
            of.layout.length_eighths = eighths;
            const RowSchedule rows = of.again();
            const uint32_t elements = 4 * rows.batch * rows.steps * rows.threads;
            ASSERT_LE(elements * (loads * bytes + stores * 4), 48u << 10)
                << loads << " of " << bytes << " bytes and " << stores << " results, " << eighths << "/8 of 2^"
                << int{length_bits};
          }
}

TEST(Rows, ThatBeginAnywhereAreSingleElementsWhereNothingBehindThemMayBeRead) {
  RowsOf of({of_elements(4, 4)}, 12, 12);
  of.facts.accesses[0].inner = StrideClass::One;
  of.facts.inner_multiple = 1;
  EXPECT_EQ(of.lanes(), 4u);
  of.facts.reads_exactly = true;
  EXPECT_EQ(of.lanes(), 1u);
}

TEST(Rows, OfHalvesAreFourVectorsAThread) {
  EXPECT_EQ(RowsOf({of_elements(2)}, 7, 12).again().threads, 4u);
  EXPECT_EQ(RowsOf({of_elements(2)}, 10, 12).again().threads, 32u);
  EXPECT_EQ(RowsOf({of_elements(2)}, 5, 12).again().threads, 2u) << "and two of short rows";
}

TEST(Rows, OfHalvesLeaveFourVectorsAThreadInRegisters) {
  const auto rows = [](uint8_t length_bits) {
    RowsOf of({of_elements(2)}, length_bits, 12);
    of.facts.shared_bytes = cuda_shared_bytes(90);
    return of.again();
  };
  EXPECT_EQ(rows(14).shared, 0u);
  EXPECT_EQ(rows(15).steps, 8u);
  EXPECT_EQ(rows(15).shared, 4u);
  EXPECT_EQ(rows(16).steps, 16u);
  EXPECT_EQ(rows(16).shared, 12u);
  EXPECT_EQ(rows(16).blocks, 2u);
}

TEST(Rows, WhoseSumsAreEarlyAreNotKeptButGoneThroughByRuns) {
  const auto rows = [](uint8_t length_bits, uint32_t phases = 2, uint32_t ordered_bytes = 4) {
    RowsOf of({of_elements(2)}, length_bits, 12);
    of.facts.early_phase = 1, of.facts.phases = phases, of.facts.ordered_bytes = ordered_bytes;
    return of.again();
  };
  EXPECT_EQ(rows(16).early, 1u);
  EXPECT_TRUE(rows(16).by_runs);
  EXPECT_EQ(rows(16).steps, 4u);
  EXPECT_EQ(rows(16).threads, 256u);
  EXPECT_EQ(rows(16).blocks, 6u);
  EXPECT_FALSE(rows(13).by_runs) << "a thread's elements fit its registers";
  EXPECT_FALSE(rows(24).by_runs) << "a run has too many";
  EXPECT_TRUE(rows(18, 2, 4).by_runs);
  EXPECT_FALSE(rows(18, 2, 8).by_runs) << "what is found of two sums' runs has no room in shared memory";
  EXPECT_FALSE(rows(16, 3).by_runs) << "they are gone through again in any case";
  EXPECT_EQ(rows(16, 3).early, 1u);
}

TEST(Rows, ThatComputeMuchHaveMoreBlocks) {
  RowsOf heavy({of_elements(4)}, 13, 12);
  EXPECT_EQ(heavy.again().threads, 512u);
  heavy.facts.cost = 80;
  EXPECT_EQ(heavy.again().threads, 256u);
  EXPECT_EQ(heavy.again().steps, 8u);
  EXPECT_EQ(heavy.again().blocks, 4u);
  AccessFacts weight = of_elements(4);
  weight.inner = StrideClass::Zero;
  heavy.facts.accesses.push_back(weight);
  EXPECT_EQ(heavy.again().steps, 8u) << "what stands still along the innermost axis is not kept";
  heavy.facts.accesses.push_back(of_elements(4));
  EXPECT_EQ(heavy.again().threads, 512u) << "there is no room for two";
}

TEST(Rows, FewElementsAThreadAreLoadedAtOnce) {
  EXPECT_EQ(RowsOf({of_elements(4)}, 5, 12).once().steps, 2u);
  EXPECT_EQ(RowsOf({of_elements(4)}, 15, 12).once().steps, 0u);
}

TEST(Rows, FewShortOnesAreReadByElementsAllAtOnce) {
  const RowsOf few({of_elements(4, 2)}, 9, 10), many({of_elements(4, 2)}, 9, 11), longer({of_elements(4, 2)}, 12, 5);
  EXPECT_EQ(few.lanes(), 1u);
  EXPECT_EQ(few.once().steps * few.once().threads, 512u);
  EXPECT_EQ(many.lanes(), 4u);
  EXPECT_EQ(longer.lanes(), 4u);
}

TEST(Rows, OfSingleElementsTakeAWarpWhereThereAreManyAndFourAThreadWhereThereAreFew) {
  AccessFacts result = stored(4);
  result.moves_in_row = true, result.inner = StrideClass::Other;
  const auto threads = [&](uint8_t length_bits, uint8_t rows_bits) {
    return RowsOf({of_elements(4), result}, length_bits, rows_bits).again().threads;
  };
  EXPECT_EQ(threads(9, 16), 32u);
  EXPECT_EQ(threads(9, 8), 128u);
  EXPECT_EQ(threads(10, 16), 128u);
  EXPECT_EQ(threads(10, 8), 256u);
  EXPECT_EQ(threads(0, 0), 1u);
}

TEST(Rows, OfGroupsAreTakenTwoAtATime) {
  AccessFacts corner = of_elements(4);
  corner.inner = StrideClass::Other, corner.grouped = true;
  const RowSchedule groups = RowsOf({corner}, 24, 0).once(), elements = RowsOf({of_elements(4)}, 24, 0).once();
  EXPECT_EQ(groups.classes / groups.pieces / groups.threads, 2u);
  EXPECT_EQ(elements.classes / elements.pieces / elements.threads, 4u);
  AccessFacts gradient = stored(4);
  gradient.moves_in_row = true;
  RowsOf boxes({corner, gradient}, 22, 0);
  boxes.facts.loads = 8;
  EXPECT_EQ(boxes.once().pieces, 8192u) << "blocks take more turns";
  EXPECT_EQ(boxes.once().threads, 128u);
  boxes.facts.accesses.pop_back();
  EXPECT_EQ(boxes.once().pieces, 4096u) << "the second launch waits for fewer where nothing is stored besides";
  EXPECT_EQ(boxes.once().threads, 256u);
  boxes.layout.length_bits = 21;
  EXPECT_EQ(boxes.once().threads, 512u);
}

TEST(Rows, FewLongOnesAreSharedOut) {
  EXPECT_TRUE(RowsOf({of_elements(4)}, 20, 4).once().splits);
  EXPECT_FALSE(RowsOf({of_elements(4)}, 12, 12).once().splits);
  EXPECT_TRUE(RowsOf({of_elements(4)}, 15, 0).once().splits);
  const RowSchedule of_one_block = RowsOf({of_elements(4)}, 14, 0).once();
  EXPECT_FALSE(of_one_block.splits) << "a second launch takes longer";
  EXPECT_EQ(of_one_block.threads, 1024u);
  EXPECT_EQ(RowsOf({of_elements(4)}, 14, 9).once().threads, 256u);
  EXPECT_FALSE(RowsOf({of_elements(4)}, 20, 4).again().splits);
}

TEST(Rows, ThatGatherAreSharedOutToMoreThreads) {
  AccessFacts index = of_elements(8), gathered = of_elements(2);
  gathered.kind = AccessUse::Kind::Gather;
  const RowsOf loss({index, gathered}, 14, 0);
  EXPECT_TRUE(loss.once().splits);
  EXPECT_EQ(loss.once().pieces * loss.once().threads * loss.lanes(), loss.once().classes);
  EXPECT_EQ(loss.once().pieces, 32u);
  EXPECT_FALSE(RowsOf({index, gathered}, 10, 0).once().splits);
  EXPECT_FALSE(RowsOf({index, gathered}, 14, 12).once().splits) << "there are rows enough";
  EXPECT_EQ(RowsOf({index, gathered}, 22, 0).once().pieces, 1024u);
  EXPECT_FALSE(RowsOf({index}, 14, 0).once().splits);
}

TEST(Rows, ThatBeginAnywhereAreShiftedUnlessElementsAreStored) {
  EXPECT_EQ(RowsOf({of_elements(2, 2)}, 10, 12).lanes(), 8u);
  EXPECT_TRUE(RowsOf({of_elements(2, 2)}, 10, 12).are_ragged());
  EXPECT_FALSE(RowsOf({of_elements(2)}, 10, 12).are_ragged());
  AccessFacts result = stored(2, 2);
  result.moves_in_row = true;
  EXPECT_EQ(RowsOf({of_elements(2, 2), result}, 10, 12).lanes(), 1u);
}

TEST(Rows, SideBySideAreVectorsWithEnoughOfThemForAWarp) {
  EXPECT_TRUE(RowsOf({of_elements(4)}, 10, 12, true).once().across);
  EXPECT_EQ(RowsOf({of_elements(4)}, 10, 12, true).lanes(), 4u);
  EXPECT_EQ(RowsOf({of_elements(4)}, 10, 12, true, 2).lanes(), 1u) << "some of a vector's rows would lie elsewhere";
  EXPECT_EQ(RowsOf({of_elements(4)}, 10, 6, true).lanes(), 2u);
  EXPECT_EQ(RowsOf({of_elements(4)}, 10, 5, true).lanes(), 1u);
}

TEST(Rows, SideBySideFindNoMoreThanSharedMemoryHolds) {
  RowsOf few({of_elements(2)}, 10, 12, true), many = few;
  few.facts.found_bytes = 4, many.facts.found_bytes = 64;
  EXPECT_EQ(few.again().threads, 32u);
  EXPECT_EQ(many.again().threads, 2u);
}

TEST(Rows, SideBySideAreSharedOutWhereTheyAreLongOrFew) {
  EXPECT_EQ(RowsOf({of_elements(4)}, 10, 12, true).once().pieces, 1u);
  EXPECT_EQ(RowsOf({of_elements(4)}, 16, 12, true).once().pieces, 64u);
  EXPECT_EQ(RowsOf({of_elements(4)}, 10, 10, true).once().pieces, 8u);
  EXPECT_EQ(RowsOf({of_elements(4)}, 24, 1, true).once().pieces, 1024u);
}

TEST(CpuRows, PiecesAreOfSixteenElementsAClassUntilThereAreTooMany) {
  EXPECT_EQ(cpu_piece(10), 0u);
  EXPECT_EQ(cpu_piece(11), 1024u);
  EXPECT_EQ(cpu_piece(20), 1024u);
  EXPECT_EQ(cpu_piece(30), 1u << 15);
}

TEST(CpuRows, AreSharedOutWhereThereAreFew) {
  const auto splits = [](uint8_t length_bits, uint8_t rows_bits, bool again = false) {
    const RowsOf rows({of_elements(4)}, length_bits, rows_bits);
    return cpu_rows(rows.facts, rows.layout, again).splits;
  };
  EXPECT_TRUE(splits(20, 3));
  EXPECT_FALSE(splits(20, 6)) << "a unit each";
  EXPECT_FALSE(splits(10, 0)) << "one piece";
  EXPECT_FALSE(splits(20, 0, true));
}

TEST(CpuRows, StandSideBySideWhereTheyLieSo) {
  const RowsOf across({of_elements(4)}, 10, 6, true), along({of_elements(4)}, 10, 6);
  EXPECT_TRUE(cpu_rows(across.facts, across.layout, false).across);
  EXPECT_FALSE(cpu_rows(along.facts, along.layout, false).across);
  RowsOf of_functions = across;
  of_functions.facts.has_bits_of_vectors = true;
  EXPECT_FALSE(cpu_rows(of_functions.facts, of_functions.layout, false).across) << "a row would have other bits alone";
}

/// Whether short rows that lie one behind the other are turned.
bool are_turned(RowsOf rows, bool again, uint8_t multiple = 1) {
  for (AccessFacts& access : rows.facts.accesses)
    if (access.moves_in_row) access.along_rows = StrideClass::Other;
  rows.facts.row_multiple = multiple;
  return cpu_rows(rows.facts, rows.layout, again).across;
}

TEST(CpuRows, StandSideBySideWhereTheyAreShort) {
  const AccessFacts element = of_elements(4);
  EXPECT_TRUE(are_turned({{element}, 5, 6}, false)) << "31 columns";
  EXPECT_FALSE(are_turned({{element}, 4, 6}, false, 16)) << "16 columns, whole vectors";
  EXPECT_TRUE(are_turned({{element}, 6, 6}, false, 8)) << "40 columns, half ones";
  EXPECT_FALSE(are_turned({{element}, 7, 6}, false));
  RowsOf stored_rows({element, stored(4)}, 6, 6);
  stored_rows.facts.accesses[1].moves_in_row = true;
  stored_rows.facts.has_functions = true;
  EXPECT_FALSE(are_turned(stored_rows, true, 16)) << "softmax of 48 columns";
  EXPECT_TRUE(are_turned(stored_rows, true, 8)) << "of 40";
  stored_rows.layout.length_bits = 4;
  EXPECT_TRUE(are_turned(stored_rows, true, 16)) << "of 16: most is making the classes of a single vector one";
  RowsOf numbers({element}, 6, 6);
  numbers.facts.has_functions = true;
  EXPECT_TRUE(are_turned(numbers, true, 64)) << "logsumexp of 64 columns: what is of a row alone is a vector, too";
  numbers.layout.length_bits = 7;
  EXPECT_FALSE(are_turned(numbers, true, 64)) << "of 128";
  EXPECT_FALSE(are_turned({{element}, 5, 4}, true, 32)) << "of 30 rows of 32";
  EXPECT_TRUE(are_turned({{element}, 5, 4}, true, 8)) << "of 30 rows of 24";
  EXPECT_FALSE(are_turned({{element}, 8, 6}, true));
  EXPECT_FALSE(are_turned({{element}, 5, 3}, true)) << "there are few";
  RowsOf in_place({element}, 5, 6);
  in_place.facts.results_alias = true;
  EXPECT_FALSE(are_turned(in_place, true)) << "a buffer is written back when all is read";
  EXPECT_FALSE(are_turned({std::vector(100, element), 7, 6}, true)) << "the stack has no room for so many buffers";
  AccessFacts strided = element;
  strided.inner = StrideClass::Other;
  EXPECT_FALSE(are_turned({{element, strided}, 5, 6}, true));
}

TEST(CpuRows, SideBySideFillVectorsAndStayInTheCache) {
  const auto lanes = [](uint8_t rows_bits, uint32_t found_bytes) {
    RowsOf rows({of_elements(4)}, 10, rows_bits, true);
    rows.facts.found_bytes = found_bytes;
    return cpu_row_lanes(rows.facts, rows.layout, cpu_rows(rows.facts, rows.layout, false));
  };
  EXPECT_EQ(lanes(6, 4), 64u);
  EXPECT_EQ(lanes(2, 4), 4u) << "four columns";
  EXPECT_EQ(lanes(6, 12), 64u);
  EXPECT_EQ(lanes(6, 40), 16u);
  const RowsOf along({of_elements(4)}, 10, 6);
  EXPECT_EQ(cpu_row_lanes(along.facts, along.layout, cpu_rows(along.facts, along.layout, false)), 1u);
}

TEST(CpuRows, KeepWhatTheCacheHolds) {
  KernelLayout layout;
  layout.length_bits = 18;
  EXPECT_TRUE(cpu_keeps(layout, 1, 4));
  EXPECT_FALSE(cpu_keeps(layout, 1, 8));
  layout.length_bits = 9;
  EXPECT_FALSE(cpu_keeps(layout, 64, 4));
}

TEST(Cost, TranscendentalsAreHeavy) {
  EXPECT_EQ(cost_of(ir::Op::Add, ir::DType::F32), 1u);
  EXPECT_GT(cost_of(ir::Op::Tanh, ir::DType::F32), cost_of(ir::Op::Div, ir::DType::F32));
  EXPECT_GT(cost_of(ir::Op::Exp, ir::DType::F64), cost_of(ir::Op::Exp, ir::DType::F32));
  EXPECT_EQ(cost_of(ir::Op::Load, ir::DType::F32), 0u);
}

}  // namespace
}  // namespace ingot::codegen
