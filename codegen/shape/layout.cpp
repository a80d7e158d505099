#include "codegen/shape/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>

#include "codegen/shape/partition.h"

namespace ingot::codegen {
namespace {

constexpr int kVectorBytes = 16;
/// CPU: the most accumulators of a row. Larger powers of two that divide the innermost extent make no difference.
constexpr uint8_t kMostAccumulators = 64;

StrideClass class_of(int64_t stride) {
  return stride == 0 ? StrideClass::Zero : stride == 1 ? StrideClass::One : StrideClass::Other;
}

uint8_t small_step(int64_t stride) {
  return stride >= 2 && stride <= kSmallStep ? static_cast<uint8_t>(stride) : uint8_t{0};
}

/// The largest power of two that divides the value, at most `most`.
uint8_t power_of_two_in(uint64_t value, uint64_t most = kVectorBytes) {
  return static_cast<uint8_t>(1 << std::countr_zero(value | most));
}

/// Whether all indices, and all offsets in elements from each access's pointer, fit in a signed 32-bit integer.
bool fits_32_bits(const KernelGeometry& geometry) {
  if (geometry.numel > most_elements32(geometry.reduced_axes)) return false;
  for (const AccessGeometry& access : geometry.accesses) {
    __int128 lowest = 0, end = 1;
    const auto reach = [&](int64_t stride, int64_t extent) {
      const __int128 distance = extent < 1 ? 0 : __int128{stride} * (extent - 1);
      (distance < 0 ? lowest : end) += distance;
    };
    for (size_t d = 0; d < access.strides.size(); ++d) reach(access.strides[d], geometry.extents[d]);
    for (size_t l = 0; l < access.gather_strides.size(); ++l) {
      reach(access.gather_strides[l], access.gather_extents[l]);
      if (access.gather_extents[l] > kMostIndex32) return false;
    }
    if (end > kMostIndex32 || -lowest > kMostIndex32) return false;
  }
  return true;
}

/// The smallest nonzero stride of an access, 0 if it has none.
int64_t smallest_stride(const AccessGeometry& access) {
  int64_t smallest = 0;
  for (const int64_t stride : access.strides)
    if (stride != 0 && (smallest == 0 || std::abs(stride) < smallest)) smallest = std::abs(stride);
  return smallest;
}

/// Whether an access is the same for all elements of a row.
bool is_shared_by_row(const KernelOutline& kernel, const KernelGeometry& geometry, const AccessGeometry& access) {
  if (!kernel.reduces()) return false;
  return std::all_of(access.strides.end() - geometry.reduced_axes, access.strides.end(),
                     [](int64_t stride) { return stride == 0; });
}

/// Fills in `leader` and `neighbour`: in order of offset, an access joins the group of a leader that is close enough.
void group_neighbours(const KernelOutline& kernel, const KernelGeometry& geometry, std::vector<AccessLayout>& layouts) {
  const std::vector<AccessGeometry>& accesses = geometry.accesses;
  std::vector<uint32_t> order(layouts.size()), leaders;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::less{}, [&](uint32_t a) { return accesses[a].offset; });
  for (const uint32_t a : order) {
    layouts[a].leader = a;
    const AccessUse& use = kernel.accesses[a];
    if (use.kind != AccessUse::Kind::Load && use.kind != AccessUse::Kind::Store) continue;
    if (is_shared_by_row(kernel, geometry, accesses[a])) continue;
    const int64_t reach = std::min(smallest_stride(accesses[a]), int64_t{kVectorBytes});
    if (reach < 2) continue;
    const auto leader = std::ranges::find_if(leaders, [&](uint32_t b) {
      return kernel.accesses[b].kind == use.kind && kernel.accesses[b].tensor == use.tensor &&
             kernel.accesses[b].in_workspace == use.in_workspace && accesses[b].strides == accesses[a].strides &&
             accesses[a].offset - accesses[b].offset < reach;
    });
    if (leader == leaders.end()) {
      leaders.push_back(a);
    } else {
      layouts[a].leader = *leader;
      layouts[a].neighbour = static_cast<uint32_t>(accesses[a].offset - accesses[*leader].offset);
    }
  }
}

bool is_linear(const AccessGeometry& access, const std::vector<int64_t>& extents) {
  int64_t contiguous = 1;
  for (size_t d = extents.size(); d-- > 0; contiguous *= extents[d])
    if (access.strides[d] != contiguous) return false;
  return true;
}

uint8_t alignment_of(const AccessLayout& access, const AccessGeometry& geometry, int64_t bytes, uintptr_t address) {
  uint8_t alignment = power_of_two_in(address + static_cast<uint64_t>(geometry.offset * bytes));
  for_each_aligned_stride(access, geometry, [&](int64_t stride) {
    alignment = std::min(alignment, power_of_two_in(static_cast<uint64_t>(stride * bytes)));
  });
  return alignment;
}

/// The axis along which the transposed loads are contiguous that have the most bytes per element; none if no load is
/// contiguous along another axis than the innermost one. On CUDA, that of `most_transposed_axis` (schedule/facts.h).
std::optional<size_t> most_transposed_axis(const KernelOutline& kernel, const KernelLayout& layout) {
  std::vector<int> bytes(layout.rank);
  for (size_t a = 0; a < kernel.accesses.size(); ++a) {
    const AccessLayout& access = layout.accesses[a];
    if (kernel.accesses[a].kind == AccessUse::Kind::Load && access.axes.back() == StrideClass::Other &&
        access.unit_axis() < layout.rank)
      bytes[access.unit_axis()] += ir::size_of(kernel.accesses[a].dtype);
  }
  const auto most = std::ranges::max_element(bytes);
  return *most == 0 ? std::nullopt : std::optional(static_cast<size_t>(most - bytes.begin()));
}

/// Sets inner_bits and transposed_bits.
void measure_tile(const KernelOutline& kernel, const KernelGeometry& geometry, KernelLayout& layout) {
  if (layout.rank < 2) return;
  const std::optional<size_t> transposed = most_transposed_axis(kernel, layout);
  if (!transposed) return;
  const auto bits = [&](size_t axis) {
    const auto extent = static_cast<uint64_t>(std::max<int64_t>(geometry.extents[axis], 1));
    return std::min(static_cast<uint8_t>(std::bit_width(extent - 1)), kLongTileBits);
  };
  layout.inner_bits = bits(layout.rank - 1);
  layout.transposed_bits = bits(*transposed);
  if (std::min(layout.inner_bits, layout.transposed_bits) >= kLargeTileBits)
    layout.inner_bits = layout.transposed_bits = kLargeTileBits;
}

}  // namespace

size_t AccessLayout::unit_axis() const {
  for (size_t d = axes.size(); d-- > 0;)
    if (axes[d] == StrideClass::One) return d;
  return axes.size();
}

Lengths lengths_of(const KernelLayout& layout) {
  const uint32_t eighths = layout.length_eighths;
  const uint64_t power = uint64_t{1} << layout.length_bits;
  if (eighths == 0) return {power, power / 2};
  return {power * eighths / 8, power * (layout.fills_eighths ? eighths : eighths - 1) / 8};
}

std::string KernelLayout::text() const {
  std::string text = fmt::format("{} axes, {}-bit, rows of {}k", rank, index_bits, inner_multiple);
  if (transposed_bits != 0) text += fmt::format(", 2^{} by 2^{} transposed", transposed_bits, inner_bits);
  if (has_short_rows) text += ", short";
  if (has_long_rows) text += ", long rows";
  if (has_many_steps) text += ", many steps";
  if (results_alias) text += ", aliased";
  if (reduces) text += fmt::format(", 2^{} rows of 2^{} along {} axes", rows_bits, length_bits, reduced_axes);
  if (length_eighths > 0) text += fmt::format(", {}{}/8 of it", fills_eighths ? "" : "up to ", length_eighths);
  if (reduced_axis_multiple > 1) text += fmt::format(" and of {}k", reduced_axis_multiple);
  if (has_empty_rows) text += ", empty";
  if (row_axis_multiple > 1) text += fmt::format(", {}k rows", row_axis_multiple);
  if (column_chunks > 0) text += fmt::format(", {} pieces", column_chunks);
  for (size_t a = 0; a < accesses.size(); ++a) {
    const AccessLayout& access = accesses[a];
    text += " | ";
    for (const StrideClass stride : access.axes) text += "01s"[static_cast<int>(stride)];
    if (access.inner_step != 0) text.back() = static_cast<char>('0' + access.inner_step);
    text += fmt::format("{}@{}", access.is_linear ? "=" : "", access.alignment);
    if (access.leader != a) text += fmt::format(" {}+{}", access.leader, access.neighbour);
    if (access.is_empty) text += " empty";
  }
  return text;
}

KernelLayout classify(const KernelOutline& kernel, const KernelGeometry& geometry, std::span<const uintptr_t> addresses,
                      bool results_alias) {
  KernelLayout layout;
  layout.rank = static_cast<uint32_t>(geometry.extents.size());
  layout.index_bits = fits_32_bits(geometry) ? 32 : 64;
  layout.results_alias = results_alias;
  if (kernel.reduces()) {
    layout.reduces = true;
    layout.reduced_axes = geometry.reduced_axes;
    layout.has_empty_rows = geometry.length == 0;
    layout.length_bits =
        static_cast<uint8_t>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(geometry.length, 1) - 1)));
    if (layout.length_bits >= kFineBits &&
        layout.length_bits <= (kernel.phases() > 1 ? kLongestFineBits : kLongestFineBitsOnce)) {
      layout.length_eighths = static_cast<uint8_t>(((8 * geometry.length - 1) >> layout.length_bits) + 1);
      layout.fills_eighths = int64_t{layout.length_eighths} << layout.length_bits == 8 * geometry.length;
    }
    const auto rows = static_cast<uint64_t>(std::max<int64_t>(geometry.rows(), 1));
    layout.rows_bits = static_cast<uint8_t>(std::min(static_cast<int>(std::bit_width(rows)) - 1, kMostRowsBits));
    if (!kernel.column_reductions.empty() || kernel.partials_writer)
      layout.column_chunks =
          static_cast<uint16_t>(chunks_of_column(kernel.partials_writer ? geometry.rows() : geometry.length));
  }
  layout.accesses.resize(kernel.accesses.size());
  group_neighbours(kernel, geometry, layout.accesses);

  std::vector<bool> is_grouped(kernel.accesses.size());
  for (const AccessLayout& access : layout.accesses)
    if (access.neighbour != 0) is_grouped[access.leader] = true;
  int smallest_element = kVectorBytes;
  for (size_t a = 0; a < layout.accesses.size(); ++a) {
    AccessLayout& access = layout.accesses[a];
    for (const int64_t stride : geometry.accesses[a].strides) access.axes.push_back(class_of(stride));
    access.is_empty = geometry.accesses[a].is_empty;
    access.is_linear = layout.rank > 0 && is_linear(geometry.accesses[a], geometry.extents);
    const AccessUse& use = kernel.accesses[a];
    const int bytes = ir::size_of(use.dtype);
    const bool has_unit_axis = use.has_tensor() && std::ranges::count(access.axes, StrideClass::One) > 0;
    if (use.has_tensor() && layout.rank > 0) access.inner_step = small_step(geometry.accesses[a].strides.back());
    if (has_unit_axis && access.axes.back() == StrideClass::One) smallest_element = std::min(smallest_element, bytes);
    access.alignment = has_unit_axis || is_grouped[a] ? alignment_of(access, geometry.accesses[a], bytes, addresses[a])
                                                      : static_cast<uint8_t>(bytes);
  }
  if (const uint32_t row_axes = layout.rank - layout.reduced_axes; layout.reduces && row_axes > 0) {
    const auto is_contiguous_across_rows = [&](size_t a) {
      const std::vector<StrideClass>& axes = layout.accesses[a].axes;
      const bool varies_in_row =
          std::any_of(axes.begin() + row_axes, axes.end(), [](StrideClass s) { return s != StrideClass::Zero; });
      return kernel.accesses[a].kind == AccessUse::Kind::Load && varies_in_row &&
             axes[row_axes - 1] == StrideClass::One;
    };
    for (size_t a = 0; a < layout.accesses.size(); ++a)
      if (is_contiguous_across_rows(a)) {
        layout.row_axis_multiple = power_of_two_in(static_cast<uint64_t>(geometry.extents[row_axes - 1]));
        layout.length_eighths = 0, layout.fills_eighths = false;
      }
  }
  if (!layout.reduces) measure_tile(kernel, geometry, layout);
  layout.has_short_rows = layout.rank > 1 && geometry.extents.back() <= kShortRow;
  if (layout.rank > 1 || (layout.reduces && layout.rank > 0))
    layout.inner_multiple = std::min(power_of_two_in(static_cast<uint64_t>(geometry.extents.back())),
                                     static_cast<uint8_t>(std::max(8, kVectorBytes / smallest_element)));
  const bool has_long_axis = layout.rank > 1 && !layout.reduces && geometry.extents.back() >= kLongRow;
  layout.has_long_rows = has_long_axis && layout.inner_multiple < 8;
  layout.has_many_steps = has_long_axis && geometry.numel >= kManyElements;
  if (layout.reduced_axes > 0)
    layout.reduced_axis_multiple = power_of_two_in(static_cast<uint64_t>(geometry.extents.back()), kMostAccumulators);
  return layout;
}

KernelLayout relevant_to(const Target& target, KernelLayout layout) {
  // Which values of the layout CPU kernels distinguish; `Bits` are logarithms. kCpuMultiple: whether a row of at most
  // 2^kCpuTransposedBits elements, which could be transposed, fills whole vectors. kMostAccumulators: if several axes
  // are reduced, whether each line of the innermost axis starts with the first accumulator. kCpuCachedBits and
  // kCpuLongBits: lengths between the longest cached row and the first row with longer chunks make no difference.
  // kCpuRowsBits: larger numbers of rows than one loop iteration computes (a unit) make no difference.
  constexpr uint8_t kCpuMultiple = 8, kCpuTransposedBits = 7, kCpuCachedBits = 18, kCpuLongBits = 20, kCpuRowsBits = 6;
  if (target.cuda()) {
    layout.has_short_rows = false;
    layout.reduced_axis_multiple = 1;
    for (AccessLayout& access : layout.accesses) access.inner_step = 0;
    return layout;
  }
  layout.index_bits = 64;
  layout.length_eighths = 0, layout.fills_eighths = false;
  if (layout.length_bits > kCpuCachedBits) layout.length_bits = std::max(layout.length_bits, kCpuLongBits);
  layout.rows_bits = std::min(layout.rows_bits, kCpuRowsBits);
  layout.inner_multiple = kVectorBytes;
  const bool row_has_several_axes = layout.reduced_axes > 1,
             could_be_transposed = !row_has_several_axes && layout.length_bits <= kCpuTransposedBits;
  if (layout.reduced_axis_multiple < (row_has_several_axes  ? kMostAccumulators
                                      : could_be_transposed ? kCpuMultiple
                                                            : UINT8_MAX))
    layout.reduced_axis_multiple = 1;
  layout.row_axis_multiple = 1;
  layout.inner_bits = layout.transposed_bits = 0;
  layout.has_long_rows = layout.has_many_steps = false;
  for (AccessLayout& access : layout.accesses) access.alignment = 1;
  return layout;
}

}  // namespace ingot::codegen
