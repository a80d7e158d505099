#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "codegen/schedule/policy.h"
#include "codegen/schedule/row_policy.h"

// Properties of accesses and rows, for tests of rules.

namespace ingot::codegen {

// Accesses with elements of `bytes` bytes. In this part of the file, a row is a line along the innermost axis.

/// A load that is contiguous over the whole domain.
inline AccessFacts along(uint32_t bytes, uint32_t alignment = 16) { return {.bytes = bytes, .alignment = alignment}; }
/// A store that is contiguous over the whole domain.
inline AccessFacts stored(uint32_t bytes, uint32_t alignment = 16) {
  return {.bytes = bytes, .alignment = alignment, .kind = AccessUse::Kind::Store};
}
/// A load of rows with padding: contiguous within a row only.
inline AccessFacts in_rows(uint32_t bytes) { return {.bytes = bytes, .is_linear = false}; }
/// A load of a row whose elements all rows share: contiguous within a row, constant from row to row.
inline AccessFacts row_bias(uint32_t bytes) { return {.bytes = bytes, .is_linear = false, .broadcasts = true}; }
/// A load of one element per row.
inline AccessFacts column_bias(uint32_t bytes) {
  return {.bytes = bytes, .inner = StrideClass::Zero, .is_linear = false, .broadcasts = true};
}
/// A load with a large stride along the innermost axis.
inline AccessFacts strided(uint32_t bytes) { return {.bytes = bytes, .inner = StrideClass::Other, .is_linear = false}; }
inline AccessFacts gathered(uint32_t bytes) {
  return {.bytes = bytes, .inner = StrideClass::Other, .is_linear = false, .kind = AccessUse::Kind::Gather};
}
/// An implicit iota.
inline const AccessFacts position{.bytes = 8, .is_linear = false, .kind = AccessUse::Kind::Index};

/// A load with stride 1 along the rows that a kernel reduces.
inline AccessFacts row_elements(uint32_t bytes, uint32_t alignment = 16) {
  AccessFacts access = along(bytes, alignment);
  access.varies_in_row = true;
  return access;
}

/// The numbers of a schedule of a kernel that reduces (RowsAlong, RowsAcross).
struct RowNumbers : Residency {
  uint32_t accumulators, chunks, cluster, threads, threads_across, lanes, min_blocks, speculative_phase;
  bool is_across, is_split, has_partial_vectors;

  explicit RowNumbers(const Schedule& schedule)
      : Residency(schedule.residency),
        accumulators(schedule.reduced().accumulators()),
        chunks(schedule.reduced().count(Scope::Grid)),
        cluster(schedule.reduced().count(Scope::Cluster)),
        threads(schedule.reduced().count(Scope::Block)),
        threads_across(schedule.kept().count(Scope::Block)),
        lanes(schedule.lanes()),
        min_blocks(schedule.min_blocks),
        speculative_phase(schedule.speculative_phase),
        is_across(schedule.is_across()),
        is_split(schedule.is_split()),
        has_partial_vectors(schedule.has_partial_vectors) {}
};

/// The input of the rules for reductions (row_policy.h): 2^rows_bits rows or more, but
/// fewer than twice as many, of at most 2^length_bits elements. `across`:
/// corresponding elements of adjacent rows are adjacent in memory.
struct RowSetup {
  KernelFacts facts;
  KernelLayout layout;

  RowSetup(std::vector<AccessFacts> accesses, uint8_t length_bits, uint8_t rows_bits, bool across = false,
           uint8_t row_axis_multiple = 16) {
    facts.accesses = std::move(accesses);
    facts.shared_bytes = cuda_shared_bytes(90);
    layout.reduces = true;
    layout.rank = 2;
    layout.reduced_axes = 1;
    layout.length_bits = length_bits;
    layout.rows_bits = rows_bits;
    layout.row_axis_multiple = across ? row_axis_multiple : 1;
    if (!across) return;
    for (AccessFacts& access : facts.accesses) {
      access.inner = StrideClass::Other;
      access.along_rows = StrideClass::One;
    }
  }

  /// The schedule of a kernel with one phase, and of a kernel with several.
  RowNumbers one_phase() const { return RowNumbers(cuda_rows(facts, layout, false)); }
  RowNumbers several_phases() const { return RowNumbers(cuda_rows(facts, layout, true)); }
  uint32_t lanes() const { return one_phase().lanes; }
  bool vectors_may_cross_rows() const { return one_phase().has_partial_vectors; }
};

}  // namespace ingot::codegen
