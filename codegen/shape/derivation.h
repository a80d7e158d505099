#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codegen/shape/geometry.h"

// Derives the numbers of a geometry, once for every type of number: integers for one call (geometry.cpp), and formulas
// for all calls with the same layouts (print/formulas.cpp).
//
// An `Arithmetic` has the type `Number` and the functions
//   Number integer(int64_t), add(Number, Number), mul(Number, Number);
//   Number value(ir::HostId);   of an expression of the graph's HostPool
//   bool is_one(ir::HostId);    whether a size is 1 in the call

namespace ingot::codegen {

template <typename Arithmetic>
using NumberOf = typename Arithmetic::Number;

/// The product of sizes, of which each of `dims` selects one.
template <typename Arithmetic>
auto product(Arithmetic& arithmetic, const std::vector<ir::HostId>& sizes, const std::vector<uint32_t>& dims) {
  auto product = arithmetic.integer(1);
  for (const uint32_t d : dims) product = arithmetic.mul(product, arithmetic.value(sizes[d]));
  return product;
}

/// The sizes of a workspace.
template <typename Arithmetic>
std::vector<NumberOf<Arithmetic>> sizes_of(Arithmetic& arithmetic, const Workspace& workspace) {
  std::vector<NumberOf<Arithmetic>> sizes;
  for (size_t d = 0; d < workspace.domain.size(); ++d)
    sizes.push_back(workspace.reduced[d] ? arithmetic.integer(1) : arithmetic.value(workspace.domain[d]));
  return sizes;
}

/// An access with its strides along all dims of the kernel's domain. `strides`: those of the tensor, which is an
/// implicit iota for an Index.
template <typename Arithmetic>
AccessNumbers<NumberOf<Arithmetic>> access_by_dim(Arithmetic& arithmetic, const KernelOutline& kernel,
                                                  const AccessUse& use, std::span<const NumberOf<Arithmetic>> strides) {
  const size_t rank = kernel.domain.size();
  AccessNumbers<NumberOf<Arithmetic>> result;
  result.offset = arithmetic.integer(0);
  result.strides.assign(rank, arithmetic.integer(0));
  if (use.kind == AccessUse::Kind::Store && use.in_workspace) {  // one element per row
    for (size_t d = 0; d < rank; ++d)
      if (!kernel.reduced[d] && !arithmetic.is_one(kernel.domain[d])) result.strides[d] = strides[d];
    return result;
  }
  const auto stride_along = [&](const std::vector<ir::Term>& terms) {
    auto sum = arithmetic.integer(0);
    for (const ir::Term& term : terms)
      sum = arithmetic.add(sum, arithmetic.mul(arithmetic.value(term.coef), strides[term.dim]));
    return sum;
  };
  const ir::Access& access = use.access;
  for (size_t d = 0; d < access.offsets.size(); ++d)
    result.offset = arithmetic.add(result.offset, arithmetic.mul(arithmetic.value(access.offsets[d]), strides[d]));
  const size_t shift = rank - access.dims.size();
  for (size_t j = 0; j < access.dims.size(); ++j)
    if (!arithmetic.is_one(access.dims[j].size)) result.strides[shift + j] = stride_along(access.dims[j].terms);
  for (const ir::IndirectIndex& index : access.indirect) {
    result.gather_strides.push_back(stride_along(index.terms));
    result.gather_extents.push_back(arithmetic.value(index.extent));
  }
  return result;
}

/// Replaces the strides along all dims of the domain by those along the axes, each of which merges some dims.
template <typename Number>
void select_axes(AccessNumbers<Number>& access, const std::vector<std::vector<uint32_t>>& axes) {
  std::vector<Number> strides;
  strides.reserve(axes.size());
  for (const std::vector<uint32_t>& dims : axes) strides.push_back(access.strides[dims.back()]);
  access.strides = std::move(strides);
}

}  // namespace ingot::codegen
