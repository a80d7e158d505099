#include "codegen/shape/geometry.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>

#include "codegen/shape/derivation.h"

// Computes geometries. An access is described by its strides over the kernel's domain, so dims can be merged or
// reordered by comparing strides alone.

namespace ingot::codegen {
namespace {

/// The strides of the implicit iota that an Index node reads.
constexpr int64_t kPositions[] = {1};

/// The integers of one call.
struct Integers {
  using Number = int64_t;

  std::span<const ir::HostValue> host;

  static int64_t integer(int64_t value) { return value; }
  static int64_t add(int64_t x, int64_t y) { return x + y; }
  static int64_t mul(int64_t x, int64_t y) { return x * y; }
  int64_t value(ir::HostId id) const { return host[id.index].as_int(); }
  bool is_one(ir::HostId size) const { return value(size) == 1; }
};

int64_t product(std::span<const int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>{});
}

/// The dims whose size is not 1, by decreasing stride of the access `order`, or in the domain's order if it is null.
/// Reduced dims come last, by decreasing stride of `row_order`.
std::vector<uint32_t> ordered_dims(const KernelGeometry& geometry, const ir::DimMarks& reduced,
                                   const AccessGeometry* order, const AccessGeometry* row_order) {
  std::vector<uint32_t> dims;
  for (uint32_t d = 0; d < geometry.extents.size(); ++d)
    if (geometry.extents[d] != 1) dims.push_back(d);
  const auto kept = [&](uint32_t d) { return reduced.empty() || !reduced[d]; };
  const auto first_reduced = std::ranges::stable_partition(dims, kept).begin();
  const auto sort = [](auto begin, auto end, const AccessGeometry* access) {
    if (access != nullptr)
      std::ranges::stable_sort(begin, end, std::greater{}, [&](uint32_t d) { return std::abs(access->strides[d]); });
  };
  sort(dims.begin(), first_reduced, order);
  sort(first_reduced, dims.end(), row_order);
  return dims;
}

/// Divides dims into axes. Adjacent dims are one axis if every access traverses them like a single dim, and if both or
/// neither are reduced.
std::vector<std::vector<uint32_t>> merged_axes(const KernelGeometry& geometry, const ir::DimMarks& reduced,
                                               const std::vector<uint32_t>& dims) {
  const auto can_merge = [&](uint32_t outer, uint32_t inner) {
    return (reduced.empty() || reduced[outer] == reduced[inner]) &&
           std::ranges::all_of(geometry.accesses, [&](const AccessGeometry& access) {
             return access.strides[outer] == access.strides[inner] * geometry.extents[inner];
           });
  };
  std::vector<std::vector<uint32_t>> axes;
  for (const uint32_t d : dims) {
    if (axes.empty() || !can_merge(axes.back().back(), d)) axes.emplace_back();
    axes.back().push_back(d);
  }
  return axes;
}

/// The access whose strides order the axes of a kernel that reduces: the load that varies along most dims.
size_t largest_load(const KernelOutline& kernel, const KernelGeometry& geometry) {
  const auto varying_dims = [&](size_t a) {
    return std::ranges::count_if(geometry.accesses[a].strides, std::identity());
  };
  size_t largest = 0;
  for (size_t a = 0; a < kernel.accesses.size(); ++a)
    if (kernel.accesses[a].has_tensor() && varying_dims(a) > varying_dims(largest)) largest = a;
  return largest;
}

}  // namespace

int64_t KernelGeometry::rows() const { return product(std::span(extents).first(extents.size() - reduced_axes)); }

std::vector<ir::SizesAndStrides> workspace_extents(const Outline& outline, std::span<const ir::HostValue> host) {
  const Integers integers{host};
  std::vector<ir::SizesAndStrides> result;
  for (const Workspace& workspace : outline.workspaces) {
    ir::SizesAndStrides& extents = result.emplace_back();
    extents.sizes = sizes_of(integers, workspace);
    extents.strides = ir::contiguous_strides(extents.sizes);
  }
  return result;
}

namespace {

/// Whether all elements that an access may reach are in its tensor. The index along a dim without elements is ignored.
bool is_within(const AccessGeometry& access, const std::vector<int64_t>& extents, const ir::SizesAndStrides& tensor) {
  int64_t lowest = access.offset, highest = access.offset, first = 0, last = 0;
  for (size_t d = 0; d < extents.size(); ++d)
    if (extents[d] > 0) (access.strides[d] < 0 ? lowest : highest) += access.strides[d] * (extents[d] - 1);
  for (size_t d = 0; d < tensor.sizes.size(); ++d)
    (tensor.strides[d] < 0 ? first : last) += (tensor.sizes[d] - 1) * tensor.strides[d];
  return lowest >= first && highest <= last;
}

}  // namespace

KernelGeometry geometry(const KernelOutline& kernel, std::span<const ir::HostValue> host, const Shapes& shapes) {
  const Integers integers{host};
  KernelGeometry result;
  for (const ir::HostId size : kernel.domain) result.extents.push_back(integers.value(size));
  result.numel = product(result.extents);
  for (const AccessUse& use : kernel.accesses) {
    const std::span strides = use.has_tensor() ? std::span(shapes[use].strides) : std::span(kPositions);
    AccessGeometry& access = result.accesses.emplace_back(access_by_dim(integers, kernel, use, strides));
    access.is_empty =
        use.has_tensor() && use.kind != AccessUse::Kind::Store && std::ranges::count(shapes[use].sizes, 0) > 0;
    // Only the sample of a row without elements, whose value does not matter, may be outside the tensor.
    if (use.kind == AccessUse::Kind::Load && !access.is_empty && !is_within(access, result.extents, shapes[use])) {
      access.offset = 0;
      std::ranges::fill(access.strides, 0);
    }
  }
  const auto store = std::ranges::find(kernel.accesses, AccessUse::Kind::Store, &AccessUse::kind);
  const size_t order =
      kernel.reduces() ? largest_load(kernel, result) : static_cast<size_t>(store - kernel.accesses.begin());
  const bool keeps_order = !kernel.column_reductions.empty();
  std::optional<AccessGeometry> row_order;
  if (kernel.row_order && !keeps_order)
    row_order = access_by_dim(integers, kernel, *kernel.row_order, std::span(shapes[*kernel.row_order].strides));
  // An expanded tensor has no order.
  for (size_t d = 0; row_order && d < kernel.reduced.size(); ++d)
    if (kernel.reduced[d] && result.extents[d] != 1 && row_order->strides[d] == 0) row_order.reset();
  result.dims = merged_axes(result, kernel.reduced,
                            ordered_dims(result, kernel.reduced, keeps_order ? nullptr : &result.accesses[order],
                                         row_order ? &*row_order : nullptr));
  result.extents.clear();
  for (const std::vector<uint32_t>& dims : result.dims) {
    result.extents.push_back(product(integers, kernel.domain, dims));
    result.reduced_axes += !kernel.reduced.empty() && kernel.reduced[dims.back()];
  }
  for (AccessGeometry& access : result.accesses) select_axes(access, result.dims);
  result.length = product(std::span(result.extents).last(result.reduced_axes));
  return result;
}

}  // namespace ingot::codegen
