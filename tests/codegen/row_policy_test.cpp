// The rules that distribute rows over a GPU's threads: the choices that were measured (docs/performance.md, Reductions,
// CUDA).

#include <gtest/gtest.h>

#include <bit>

#include "tests/codegen/policy_testing.h"

namespace ingot::codegen {
namespace {

TEST(Rows, AreCachedInRegistersThenInSharedMemory) {
  const auto rows = [](uint8_t length_bits, uint32_t architecture = 90) {
    RowSetup setup({row_elements(4)}, length_bits, 12);
    setup.facts.shared_bytes = cuda_shared_bytes(architecture);
    setup.facts.cluster_blocks = cuda_cluster_blocks(architecture);
    return setup.several_phases();
  };
  EXPECT_EQ(rows(12).steps, 4u);
  EXPECT_EQ(rows(14).steps, 8u);
  EXPECT_EQ(rows(14).shared_steps, 0u);
  EXPECT_EQ(rows(15).shared_steps, 8u);
  EXPECT_EQ(rows(15).min_blocks, 2u);
  EXPECT_EQ(rows(16).threads, 1024u);
  EXPECT_EQ(rows(16).shared_steps, 8u);
  EXPECT_EQ(rows(16, 89).steps, 0u) << "shared memory cannot hold half of the row, so it is loaded again";
  EXPECT_EQ(rows(16).cluster, 1u);
  EXPECT_EQ(rows(17).cluster, 4u);
  EXPECT_EQ(rows(17).threads, 512u);
  EXPECT_EQ(rows(17).shared_steps, 8u);
  EXPECT_EQ(rows(18).cluster, 8u);
  EXPECT_EQ(rows(19).steps, 0u);
  EXPECT_EQ(rows(17, 80).steps, 0u) << "there are no clusters";
  EXPECT_EQ(RowSetup({row_elements(4), row_elements(4)}, 16, 12).several_phases().steps, 0u)
      << "shared memory cannot hold two operands";
}

TEST(Rows, HaveExactStepCounts) {
  const auto rows = [](uint8_t length_bits, uint8_t eighths, bool fills = false) {
    RowSetup setup({row_elements(4)}, length_bits, 12);
    setup.layout.length_eighths = eighths;
    setup.layout.fills_eighths = fills;
    return setup.several_phases();
  };
  EXPECT_EQ(rows(14, 0).steps, 8u);
  EXPECT_EQ(rows(14, 0).unguarded_steps, 4u) << "a row fills more than half of its steps";
  EXPECT_EQ(rows(14, 5).steps, 5u);
  EXPECT_EQ(rows(14, 5).unguarded_steps, 4u);
  EXPECT_EQ(rows(14, 6, true).steps, 6u);
  EXPECT_EQ(rows(14, 6, true).unguarded_steps, 6u);
  EXPECT_EQ(rows(14, 8).unguarded_steps, 7u);
  EXPECT_EQ(rows(16, 5).steps, 10u);
  EXPECT_EQ(rows(16, 5).shared_steps, 2u) << "eight steps stay in registers";
  EXPECT_EQ(rows(16, 5).unguarded_steps, 5u) << "more unguarded steps would spill registers";
}

TEST(Rows, CacheSingleElementsInTheRegistersOfACluster) {
  const auto rows = [](uint32_t bytes, uint8_t length_bits, uint32_t architecture = 90) {
    RowSetup setup({row_elements(bytes, bytes), stored(bytes, bytes)}, length_bits, 12);
    setup.facts.accesses[1].varies_in_row = true;
    setup.facts.inner_multiple = 1;
    setup.facts.shared_bytes = cuda_shared_bytes(architecture);
    setup.facts.cluster_blocks = cuda_cluster_blocks(architecture);
    return setup.several_phases();
  };
  for (const uint32_t bytes : {2u, 4u}) {
    EXPECT_EQ(rows(bytes, 14).cluster, 1u);
    EXPECT_EQ(rows(bytes, 15).cluster, 2u);
    EXPECT_EQ(rows(bytes, 17).cluster, 8u);
    EXPECT_EQ(rows(bytes, 17).steps, 32u);
    EXPECT_EQ(rows(bytes, 17).shared_steps, 0u);
    EXPECT_EQ(rows(bytes, 18).threads, 1024u);
    EXPECT_EQ(rows(bytes, 19).steps, 0u);
  }
  EXPECT_EQ(rows(4, 15, 80).threads, 1024u) << "there are no clusters";
  EXPECT_EQ(rows(4, 16, 80).shared_steps, 32u);
}

TEST(Rows, FormBatchesIfShortAndUnaligned) {
  const auto odd = [](uint32_t bytes, uint8_t length_bits, uint8_t eighths,
                      std::vector<AccessFacts> more_accesses = {}) {
    RowSetup setup({row_elements(bytes), stored(bytes)}, length_bits, kManyRowsBits);
    setup.facts.accesses[1].varies_in_row = true;
    setup.facts.accesses.insert(setup.facts.accesses.end(), more_accesses.begin(), more_accesses.end());
    setup.facts.inner_multiple = 1;
    setup.layout.length_eighths = eighths;
    return setup;
  };
  const auto batch = [&](auto... arguments) { return odd(arguments...).several_phases().batch; };
  EXPECT_EQ(batch(4, 4, 0), 32u) << "a thread has up to 28 elements";
  EXPECT_EQ(batch(4, 5, 7), 32u);
  EXPECT_EQ(batch(4, 5, 8), 16u);
  EXPECT_EQ(batch(4, 6, 5), 16u);
  EXPECT_EQ(batch(4, 7, 5), 8u);
  EXPECT_EQ(batch(4, 7, 8), 4u);
  EXPECT_EQ(batch(4, 8, 5), 0u);
  EXPECT_EQ(batch(2, 7, 8), 8u) << "eight rows of halves are whole vectors";
  EXPECT_EQ(batch(1, 6, 0), 16u);
  EXPECT_EQ(batch(1, 7, 8), 0u) << "rows of bytes are not";
  EXPECT_EQ(odd(4, 7, 5).several_phases().threads, 4u);
  EXPECT_EQ(odd(4, 7, 5).several_phases().steps, 20u);
  EXPECT_EQ(odd(4, 7, 5).several_phases().unguarded_steps, 16u);
  EXPECT_EQ(odd(4, 7, 5).one_phase().batch, 8u);
  AccessFacts unaligned = row_elements(4, 4), result = stored(4, 4), strided_result = stored(4), row = stored(4);
  result.varies_in_row = strided_result.varies_in_row = true;
  strided_result.is_linear = false;
  row.is_linear = false;
  EXPECT_EQ(batch(4, 7, 5, std::vector{unaligned}), 8u) << "loads may be unaligned";
  EXPECT_EQ(batch(4, 7, 5, std::vector{row}), 8u) << "a result with one element per row may be strided";
  EXPECT_EQ(batch(4, 7, 5, std::vector{result}), 0u);
  EXPECT_EQ(batch(4, 7, 5, std::vector{strided_result}), 0u);
  EXPECT_EQ(batch(4, 7, 5, std::vector{gathered(4)}), 0u) << "a row past the end must gather nothing";
  RowSetup few = odd(4, 7, 5), vectors = odd(4, 7, 5), numbers = odd(4, 7, 5);
  few.layout.rows_bits = kManyRowsBits - 1;
  vectors.facts.inner_multiple = 4;
  numbers.facts.accesses.pop_back();
  EXPECT_EQ(few.several_phases().batch, 0u);
  EXPECT_EQ(vectors.several_phases().batch, 0u);
  EXPECT_EQ(numbers.one_phase().batch, 0u) << "no elements are stored";
}

TEST(Rows, FitInSharedMemoryAsABatch) {
  for (uint32_t loads = 1; loads <= 12; ++loads)
    for (uint32_t stores = 1; stores <= 12; ++stores)
      for (const uint32_t bytes : {4u, 8u})
        for (const uint8_t length_bits : {3, 5, 6, 7})
          for (uint8_t eighths = 5; eighths <= 8; ++eighths) {
            AccessFacts result = stored(4);
            result.varies_in_row = true;
            std::vector<AccessFacts> accesses(loads, row_elements(bytes));
            accesses.insert(accesses.end(), stores, result);
            RowSetup setup(std::move(accesses), length_bits, kManyRowsBits);
            setup.facts.inner_multiple = 1;
            setup.layout.length_eighths = eighths;
            const RowNumbers rows = setup.several_phases();
            const uint32_t elements = 4 * rows.batch * rows.steps * rows.threads;
            ASSERT_LE(elements * (loads * bytes + stores * 4), 48u << 10)
                << loads << " of " << bytes << " bytes and " << stores << " results, " << eighths << "/8 of 2^"
                << int{length_bits};
          }
}

TEST(Rows, LoadSingleElementsIfUnalignedAndNeverReadingPastTheEnd) {
  RowSetup setup({row_elements(4, 4)}, 12, 12);
  setup.facts.accesses[0].inner = StrideClass::One;
  setup.facts.inner_multiple = 1;
  EXPECT_EQ(setup.lanes(), 4u);
  setup.facts.never_reads_past_end = true;
  EXPECT_EQ(setup.lanes(), 1u);
}

TEST(Rows, HaveFourVectorsPerThreadOf16BitFloats) {
  EXPECT_EQ(RowSetup({row_elements(2)}, 7, 12).several_phases().threads, 4u);
  EXPECT_EQ(RowSetup({row_elements(2)}, 10, 12).several_phases().threads, 32u);
  EXPECT_EQ(RowSetup({row_elements(2)}, 5, 12).several_phases().threads, 2u) << "short rows have two vectors";
}

TEST(Rows, KeepFourVectorsOf16BitFloatsInRegisters) {
  const auto rows = [](uint8_t length_bits) {
    RowSetup setup({row_elements(2)}, length_bits, 12);
    setup.facts.shared_bytes = cuda_shared_bytes(90);
    return setup.several_phases();
  };
  EXPECT_EQ(rows(14).shared_steps, 0u);
  EXPECT_EQ(rows(15).steps, 8u);
  EXPECT_EQ(rows(15).shared_steps, 4u);
  EXPECT_EQ(rows(16).steps, 16u);
  EXPECT_EQ(rows(16).shared_steps, 12u);
  EXPECT_EQ(rows(16).min_blocks, 2u);
}

TEST(Rows, HaveBlockedAccumulatorsForSpeculativeSums) {
  const auto rows = [](uint8_t length_bits, uint32_t phases = 2, uint32_t ordered_bytes = 4) {
    RowSetup setup({row_elements(2)}, length_bits, 12);
    setup.facts.speculative_phase = 1, setup.facts.phases = phases, setup.facts.ordered_bytes = ordered_bytes;
    return setup.several_phases();
  };
  EXPECT_EQ(rows(16).speculative_phase, 1u);
  EXPECT_TRUE(rows(16).has_blocked_accumulators);
  EXPECT_EQ(rows(16).steps, 4u);
  EXPECT_EQ(rows(16).threads, 256u);
  EXPECT_EQ(rows(16).min_blocks, 6u);
  EXPECT_FALSE(rows(13).has_blocked_accumulators) << "a thread's elements fit its registers";
  EXPECT_FALSE(rows(24).has_blocked_accumulators) << "a run has too many elements";
  EXPECT_TRUE(rows(18, 2, 4).has_blocked_accumulators);
  EXPECT_FALSE(rows(18, 2, 8).has_blocked_accumulators) << "the results of two sums' runs do not fit in shared memory";
  EXPECT_FALSE(rows(16, 3).has_blocked_accumulators) << "a later phase traverses the rows again anyway";
  EXPECT_EQ(rows(16, 3).speculative_phase, 1u);
}

TEST(Rows, HaveMoreBlocksIfHeavy) {
  RowSetup heavy({row_elements(4)}, 13, 12);
  EXPECT_EQ(heavy.several_phases().threads, 512u);
  heavy.facts.cost = 80;
  EXPECT_EQ(heavy.several_phases().threads, 256u);
  EXPECT_EQ(heavy.several_phases().steps, 8u);
  EXPECT_EQ(heavy.several_phases().min_blocks, 4u);
  AccessFacts weight = row_elements(4);
  weight.inner = StrideClass::Zero;
  heavy.facts.accesses.push_back(weight);
  EXPECT_EQ(heavy.several_phases().steps, 8u) << "an operand uniform along the innermost axis is not cached";
  heavy.facts.accesses.push_back(row_elements(4));
  EXPECT_EQ(heavy.several_phases().threads, 512u) << "registers cannot hold two operands";
}

TEST(Rows, LoadFewElementsPerThreadAtOnce) {
  EXPECT_EQ(RowSetup({row_elements(4)}, 5, 12).one_phase().steps, 2u);
  EXPECT_EQ(RowSetup({row_elements(4)}, 15, 12).one_phase().steps, 0u);
}

TEST(Rows, LoadSingleElementsIfFewAndShort) {
  const RowSetup few({row_elements(4, 2)}, 9, 10), many({row_elements(4, 2)}, 9, 11),
      longer({row_elements(4, 2)}, 12, 5);
  EXPECT_EQ(few.lanes(), 1u);
  EXPECT_EQ(few.one_phase().steps * few.one_phase().threads, 512u);
  EXPECT_EQ(many.lanes(), 4u);
  EXPECT_EQ(longer.lanes(), 4u);
}

TEST(Rows, HaveAWarpOrFourSingleElementsPerThread) {
  AccessFacts result = stored(4);
  result.varies_in_row = true, result.inner = StrideClass::Other;
  const auto threads = [&](uint8_t length_bits, uint8_t rows_bits) {
    return RowSetup({row_elements(4), result}, length_bits, rows_bits).several_phases().threads;
  };
  EXPECT_EQ(threads(9, 16), 32u);
  EXPECT_EQ(threads(9, 8), 128u);
  EXPECT_EQ(threads(10, 16), 128u);
  EXPECT_EQ(threads(10, 8), 256u);
  EXPECT_EQ(threads(0, 0), 1u);
}

TEST(Rows, LoadTwoGroupsAtATime) {
  AccessFacts corner = row_elements(4);
  corner.inner = StrideClass::Other, corner.is_grouped = true;
  const RowNumbers groups = RowSetup({corner}, 24, 0).one_phase(),
                   elements = RowSetup({row_elements(4)}, 24, 0).one_phase();
  EXPECT_EQ(groups.accumulators / groups.chunks / groups.threads, 2u);
  EXPECT_EQ(elements.accumulators / elements.chunks / elements.threads, 4u);
  AccessFacts gradient = stored(4);
  gradient.varies_in_row = true;
  RowSetup boxes({corner, gradient}, 22, 0);
  boxes.facts.loads = 8;
  EXPECT_EQ(boxes.one_phase().chunks, 8192u) << "the blocks run in more waves";
  EXPECT_EQ(boxes.one_phase().threads, 128u);
  boxes.facts.accesses.pop_back();
  EXPECT_EQ(boxes.one_phase().chunks, 4096u) << "with no stored elements, fewer chunks shorten the second launch";
  EXPECT_EQ(boxes.one_phase().threads, 256u);
  boxes.layout.length_bits = 21;
  EXPECT_EQ(boxes.one_phase().threads, 512u);
}

TEST(Rows, AreSplitIfFewAndLong) {
  EXPECT_TRUE(RowSetup({row_elements(4)}, 20, 4).one_phase().is_split);
  EXPECT_FALSE(RowSetup({row_elements(4)}, 12, 12).one_phase().is_split);
  EXPECT_TRUE(RowSetup({row_elements(4)}, 15, 0).one_phase().is_split);
  const RowNumbers of_one_block = RowSetup({row_elements(4)}, 14, 0).one_phase();
  EXPECT_FALSE(of_one_block.is_split) << "a second launch takes longer";
  EXPECT_EQ(of_one_block.threads, 1024u);
  EXPECT_EQ(RowSetup({row_elements(4)}, 14, 9).one_phase().threads, 256u);
  EXPECT_FALSE(RowSetup({row_elements(4)}, 20, 4).several_phases().is_split);
}

TEST(Rows, AreSplitOverMoreThreadsIfTheyGather) {
  AccessFacts index = row_elements(8), gathered = row_elements(2);
  gathered.kind = AccessUse::Kind::Gather;
  const RowSetup loss({index, gathered}, 14, 0);
  EXPECT_TRUE(loss.one_phase().is_split);
  EXPECT_EQ(loss.one_phase().chunks * loss.one_phase().threads * loss.lanes(), loss.one_phase().accumulators);
  EXPECT_EQ(loss.one_phase().chunks, 32u);
  EXPECT_FALSE(RowSetup({index, gathered}, 10, 0).one_phase().is_split);
  EXPECT_FALSE(RowSetup({index, gathered}, 14, 12).one_phase().is_split) << "there are enough rows";
  EXPECT_EQ(RowSetup({index, gathered}, 22, 0).one_phase().chunks, 1024u);
  EXPECT_FALSE(RowSetup({index}, 14, 0).one_phase().is_split);
}

TEST(Rows, AreShiftedIfUnalignedUnlessElementsAreStored) {
  EXPECT_EQ(RowSetup({row_elements(2, 2)}, 10, 12).lanes(), 8u);
  EXPECT_TRUE(RowSetup({row_elements(2, 2)}, 10, 12).vectors_may_cross_rows());
  EXPECT_FALSE(RowSetup({row_elements(2)}, 10, 12).vectors_may_cross_rows());
  AccessFacts result = stored(2, 2);
  result.varies_in_row = true;
  EXPECT_EQ(RowSetup({row_elements(2, 2), result}, 10, 12).lanes(), 1u);
}

TEST(Rows, AreVectorsAcrossIfTwoThreadsHaveEnough) {
  EXPECT_TRUE(RowSetup({row_elements(4)}, 10, 12, true).one_phase().is_across);
  EXPECT_EQ(RowSetup({row_elements(4)}, 10, 12, true).lanes(), 4u);
  EXPECT_EQ(RowSetup({row_elements(4)}, 10, 12, true, 2).lanes(), 2u)
      << "a vector of four would contain rows that are not adjacent";
  EXPECT_EQ(RowSetup({row_elements(4)}, 10, 3, true).lanes(), 4u);
  EXPECT_EQ(RowSetup({row_elements(4)}, 10, 2, true).lanes(), 2u);
}

TEST(Rows, FitInSharedMemoryAcross) {
  RowSetup few({row_elements(2)}, 10, 12, true), many = few;
  few.facts.result_bytes = 4, many.facts.result_bytes = 64;
  EXPECT_EQ(few.several_phases().threads_across, 8u);
  EXPECT_EQ(few.several_phases().threads, 128u);
  EXPECT_EQ(many.several_phases().threads, 32u);
  few.layout.length_bits = many.layout.length_bits = 13;
  EXPECT_EQ(few.several_phases().threads, 128u);
  EXPECT_EQ(many.several_phases().threads, 32u);
}

TEST(Rows, FitInSharedMemoryInTheSecondLaunch) {
  const auto threads_across = [](uint32_t result_bytes) {
    RowSetup rows({row_elements(8)}, 20, 6, true);
    rows.facts.result_bytes = result_bytes;
    const Schedule schedule = cuda_rows(rows.facts, rows.layout, false);
    EXPECT_TRUE(schedule.is_split());
    EXPECT_EQ(threads_of(schedule.finalize_maps), 1024u);
    return kept_map(schedule.finalize_maps).count(Scope::Block);
  };
  EXPECT_EQ(threads_across(8), 32u);
  EXPECT_EQ(threads_across(56), 16u) << "seven sums of float64";
}

TEST(Rows, AreInRegistersAcrossIfShort) {
  const auto rows = [](uint32_t bytes, uint8_t length_bits, uint8_t rows_bits = 12) {
    return RowSetup({row_elements(bytes)}, length_bits, rows_bits, true).several_phases();
  };
  EXPECT_EQ(rows(4, 9).steps, 2u);
  EXPECT_EQ(rows(4, 9).threads, 64u);
  EXPECT_EQ(rows(4, 8).threads_across, 8u) << "128 bytes";
  EXPECT_EQ(rows(4, 9).threads_across, 4u) << "64 bytes, so that several blocks fit on a multiprocessor";
  EXPECT_EQ(rows(4, 5).threads_across, 32u) << "short rows need few threads each";
  EXPECT_EQ(rows(4, 11).threads_across, 4u);
  EXPECT_EQ(rows(4, 12).steps, 0u);
  EXPECT_EQ(rows(4, 9, 3).threads_across, 2u) << "there are eight rows";
}

TEST(Rows, HaveAPowerOfTwoOfThreadsAcrossForAnyLoads) {
  for (const std::vector<uint32_t>& loads : {std::vector{4u, 1u}, {4u, 2u}, {2u, 1u}, {2u, 2u, 2u}})
    for (uint8_t length_bits = 1; length_bits <= 12; ++length_bits)
      for (const uint8_t multiple : {1, 2, 16}) {
        std::vector<AccessFacts> accesses;
        for (const uint32_t bytes : loads) accesses.push_back(row_elements(bytes));
        const RowNumbers rows = RowSetup(std::move(accesses), length_bits, 12, true, multiple).several_phases();
        EXPECT_TRUE(std::has_single_bit(rows.threads)) << rows.threads;
        EXPECT_TRUE(std::has_single_bit(rows.threads_across)) << rows.threads_across;
      }
}

TEST(Rows, AreFewerPerBlockAcrossIfThereWouldBeFewBlocks) {
  const auto threads_across = [](uint8_t length_bits, uint8_t rows_bits) {
    return RowSetup({row_elements(2)}, length_bits, rows_bits, true).one_phase().threads_across;
  };
  EXPECT_EQ(threads_across(10, 15), 8u) << "128 bytes";
  EXPECT_EQ(threads_across(16, 12), 32u) << "there are many chunks";
}

TEST(Rows, HaveMoreThreadsAcrossIfThereAreFew) {
  const auto rows = [](uint8_t rows_bits, uint8_t multiple) {
    return RowSetup({row_elements(4)}, 20, rows_bits, true, multiple).one_phase();
  };
  EXPECT_EQ(rows(12, 16).threads_across, 32u);
  EXPECT_EQ(rows(4, 16).threads_across, 4u) << "16 rows";
  EXPECT_EQ(rows(4, 16).threads, 64u);
  EXPECT_EQ(rows(2, 2).threads_across, 4u) << "6 rows, two per thread";
}

TEST(Rows, AreSplitAcrossIfLongOrFew) {
  EXPECT_EQ(RowSetup({row_elements(4)}, 10, 12, true).one_phase().chunks, 1u);
  EXPECT_EQ(RowSetup({row_elements(4)}, 16, 12, true).one_phase().chunks, 64u);
  EXPECT_EQ(RowSetup({row_elements(4)}, 10, 10, true).one_phase().chunks, 8u);
  EXPECT_EQ(RowSetup({row_elements(4)}, 24, 1, true).one_phase().chunks, 1024u);
}

}  // namespace
}  // namespace ingot::codegen
