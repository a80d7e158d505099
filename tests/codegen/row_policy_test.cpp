// The rules that distribute rows over a GPU's threads: the choices that were measured (docs/performance.md, Reductions,
// CUDA).

#include <gtest/gtest.h>

#include "tests/codegen/policy_testing.h"

namespace ingot::codegen {
namespace {

TEST(Rows, AreCachedInRegistersThenInSharedMemory) {
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

TEST(Rows, HaveExactStepCounts) {
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

TEST(Rows, OfSingleElementsAreCachedInAClustersRegisters) {
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

TEST(Rows, ThatAreShortAndUnalignedFormBatches) {
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

TEST(Rows, OfABatchFitInSharedMemory) {
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

TEST(Rows, ThatAreUnalignedAreSingleElementsIfReadsAreExact) {
  RowsOf of({of_elements(4, 4)}, 12, 12);
  of.facts.accesses[0].inner = StrideClass::One;
  of.facts.inner_multiple = 1;
  EXPECT_EQ(of.lanes(), 4u);
  of.facts.reads_exactly = true;
  EXPECT_EQ(of.lanes(), 1u);
}

TEST(Rows, Of16BitFloatsHaveFourVectorsPerThread) {
  EXPECT_EQ(RowsOf({of_elements(2)}, 7, 12).again().threads, 4u);
  EXPECT_EQ(RowsOf({of_elements(2)}, 10, 12).again().threads, 32u);
  EXPECT_EQ(RowsOf({of_elements(2)}, 5, 12).again().threads, 2u) << "and two of short rows";
}

TEST(Rows, Of16BitFloatsKeepFourVectorsInRegisters) {
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

TEST(Rows, WithSpeculativeSumsHaveBlockedAccumulators) {
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
  EXPECT_FALSE(rows(18, 2, 8).by_runs) << "the results of two sums' runs do not fit in shared memory";
  EXPECT_FALSE(rows(16, 3).by_runs) << "they are gone through again in any case";
  EXPECT_EQ(rows(16, 3).early, 1u);
}

TEST(Rows, ThatAreHeavyHaveMoreBlocks) {
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

TEST(Rows, WithFewElementsPerThreadAreLoadedAtOnce) {
  EXPECT_EQ(RowsOf({of_elements(4)}, 5, 12).once().steps, 2u);
  EXPECT_EQ(RowsOf({of_elements(4)}, 15, 12).once().steps, 0u);
}

TEST(Rows, ThatAreFewAndShortLoadSingleElements) {
  const RowsOf few({of_elements(4, 2)}, 9, 10), many({of_elements(4, 2)}, 9, 11), longer({of_elements(4, 2)}, 12, 5);
  EXPECT_EQ(few.lanes(), 1u);
  EXPECT_EQ(few.once().steps * few.once().threads, 512u);
  EXPECT_EQ(many.lanes(), 4u);
  EXPECT_EQ(longer.lanes(), 4u);
}

TEST(Rows, OfSingleElementsHaveAWarpOrFourElementsPerThread) {
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

TEST(Rows, OfGroupsLoadTwoGroupsAtATime) {
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

TEST(Rows, ThatAreFewAndLongAreSplit) {
  EXPECT_TRUE(RowsOf({of_elements(4)}, 20, 4).once().splits);
  EXPECT_FALSE(RowsOf({of_elements(4)}, 12, 12).once().splits);
  EXPECT_TRUE(RowsOf({of_elements(4)}, 15, 0).once().splits);
  const RowSchedule of_one_block = RowsOf({of_elements(4)}, 14, 0).once();
  EXPECT_FALSE(of_one_block.splits) << "a second launch takes longer";
  EXPECT_EQ(of_one_block.threads, 1024u);
  EXPECT_EQ(RowsOf({of_elements(4)}, 14, 9).once().threads, 256u);
  EXPECT_FALSE(RowsOf({of_elements(4)}, 20, 4).again().splits);
}

TEST(Rows, ThatGatherAreSplitOverMoreThreads) {
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

TEST(Rows, ThatAreUnalignedAreShiftedUnlessElementsAreStored) {
  EXPECT_EQ(RowsOf({of_elements(2, 2)}, 10, 12).lanes(), 8u);
  EXPECT_TRUE(RowsOf({of_elements(2, 2)}, 10, 12).are_ragged());
  EXPECT_FALSE(RowsOf({of_elements(2)}, 10, 12).are_ragged());
  AccessFacts result = stored(2, 2);
  result.moves_in_row = true;
  EXPECT_EQ(RowsOf({of_elements(2, 2), result}, 10, 12).lanes(), 1u);
}

TEST(Rows, AcrossAreVectorsIfAWarpHasEnough) {
  EXPECT_TRUE(RowsOf({of_elements(4)}, 10, 12, true).once().across);
  EXPECT_EQ(RowsOf({of_elements(4)}, 10, 12, true).lanes(), 4u);
  EXPECT_EQ(RowsOf({of_elements(4)}, 10, 12, true, 2).lanes(), 1u) << "some of a vector's rows would lie elsewhere";
  EXPECT_EQ(RowsOf({of_elements(4)}, 10, 6, true).lanes(), 2u);
  EXPECT_EQ(RowsOf({of_elements(4)}, 10, 5, true).lanes(), 1u);
}

TEST(Rows, AcrossFitInSharedMemory) {
  RowsOf few({of_elements(2)}, 10, 12, true), many = few;
  few.facts.found_bytes = 4, many.facts.found_bytes = 64;
  EXPECT_EQ(few.again().threads, 32u);
  EXPECT_EQ(many.again().threads, 2u);
}

TEST(Rows, AcrossAreSplitIfLongOrFew) {
  EXPECT_EQ(RowsOf({of_elements(4)}, 10, 12, true).once().pieces, 1u);
  EXPECT_EQ(RowsOf({of_elements(4)}, 16, 12, true).once().pieces, 64u);
  EXPECT_EQ(RowsOf({of_elements(4)}, 10, 10, true).once().pieces, 8u);
  EXPECT_EQ(RowsOf({of_elements(4)}, 24, 1, true).once().pieces, 1024u);
}

}  // namespace
}  // namespace ingot::codegen
