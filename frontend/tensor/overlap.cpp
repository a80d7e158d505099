#include "frontend/tensor/overlap.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "frontend/tensor/shapes.h"
#include "frontend/tensor/storage.h"

// The overlap of two tensors in one storage. Eager raises an error for dense tensors whose memory ranges overlap in
// part. For other tensors, eager's result depends on the order of its loop. Ingot accepts only tensors that are known
// to give the right result.

namespace ingot::frontend {
namespace {

/// The coordinates start, start + step, … of a dim, `length` of them. A single coordinate has step 0.
struct StridedRange {
  ir::HostId start;
  int64_t step;
  ir::HostId length;
};

/// The part of a tensor that a chain of views selects, if that part is a box.
struct Region {
  /// One per dim of the tensor.
  std::vector<StridedRange> ranges;
  /// For each dim of the last view, the tensor's dim; nullopt for a dim along which no coordinate of the tensor
  /// changes.
  std::vector<std::optional<size_t>> dims;
};

Region whole_region(Builder& builder, const Shape& shape) {
  Region region;
  for (size_t d = 0; d < shape.size(); ++d) {
    region.ranges.push_back({builder.integer(0), 1, shape[d]});
    region.dims.emplace_back(d);
  }
  return region;
}

void narrow(Builder& builder, Region& region, const View& view, ir::HostId length) {
  const std::optional<size_t> dim = region.dims[view.dim];
  if (!dim) return;
  StridedRange& range = region.ranges[*dim];
  range.start = builder.add(range.start, builder.mul(view.start, builder.integer(range.step)));
  range.step *= view.kind == View::Kind::Select ? 0 : view.step;
  range.length = length;
}

/// A reshape that only adds or removes dims of size 1 covers the same box.
bool apply_reshape(Builder& builder, Region& region, const Shape& shape) {
  const auto is_varying = [&](const std::optional<size_t>& dim) {
    return dim && !is_one(builder, region.ranges[*dim].length);
  };
  std::vector<std::optional<size_t>> dims;
  auto old = region.dims.begin();
  for (const ir::HostId size : shape) {
    if (is_one(builder, size)) {
      dims.emplace_back();
      continue;
    }
    old = std::find_if(old, region.dims.end(), is_varying);
    if (old == region.dims.end() || !builder.graph.host.same(region.ranges[**old].length, size)) return false;
    dims.push_back(*old++);
  }
  if (std::find_if(old, region.dims.end(), is_varying) != region.dims.end()) return false;
  region.dims = std::move(dims);
  return true;
}

/// Applies one more view to `region`. Returns false if the view does not select a box.
bool apply_view(Builder& builder, Region& region, const View& view) {
  const auto dim = region.dims.begin() + static_cast<ptrdiff_t>(view.dim);
  switch (view.kind) {
    case View::Kind::Permute: {
      const auto old_dims = region.dims;
      for (size_t d = 0; d < view.order.size(); ++d) region.dims[d] = old_dims[view.order[d]];
      return true;
    }
    case View::Kind::Unsqueeze:
      region.dims.insert(dim, std::nullopt);
      return true;
    case View::Kind::Select:
      narrow(builder, region, view, builder.integer(1));
      region.dims.erase(dim);
      return true;
    case View::Kind::Slice:
      narrow(builder, region, view, view.length);
      return true;
    case View::Kind::Expand:
      region.dims.insert(region.dims.begin(), view.shape.size() - region.dims.size(), std::nullopt);
      return true;
    case View::Kind::Reshape:
      return apply_reshape(builder, region, view.shape);
    case View::Kind::Bitcast:
      return false;
  }
  throw_internal("a view of unknown kind");
}

std::optional<Region> region_of(Builder& builder, const Shape& shape, std::span<const View* const> views) {
  Region region = whole_region(builder, shape);
  for (const View* view : views) {
    if (!apply_view(builder, region, *view)) return std::nullopt;
  }
  return region;
}

bool same_range(const ir::HostPool& host, const StridedRange& a, const StridedRange& b) {
  return a.step == b.step && host.same(a.start, b.start) && host.same(a.length, b.length);
}

/// Whether two ranges are known to have no common coordinate: one ends before the other begins, or their strides never
/// reach the same coordinate.
bool are_disjoint(Builder& builder, const StridedRange& a, const StridedRange& b) {
  ir::HostPool& host = builder.graph.host;
  const ir::HostId distance = host.resolve(builder.sub(b.start, a.start));
  if (host.is_constant(distance)) {
    const int64_t offset = host.value(distance).as_int(), step = std::gcd(a.step, b.step);
    if (step == 0 ? offset != 0 : offset % step != 0) return true;
  }
  const auto is_before = [&](const StridedRange& low, const StridedRange& high) {
    const ir::HostId steps = builder.sub(low.length, builder.integer(1));
    const ir::HostId last = builder.add(low.start, builder.mul(steps, builder.integer(low.step)));
    return host.known_nonnegative(builder.sub(builder.sub(high.start, last), builder.integer(1)));
  };
  return is_before(a, b) || is_before(b, a);
}

bool same_view(const Builder& builder, const View& a, const View& b) {
  const ir::HostPool& host = builder.graph.host;
  if (&a == &b) return true;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case View::Kind::Permute:
      return a.order == b.order;
    case View::Kind::Unsqueeze:
      return a.dim == b.dim;
    case View::Kind::Select:
      return a.dim == b.dim && host.same(a.start, b.start);
    case View::Kind::Slice:
      return a.dim == b.dim && a.step == b.step && host.same(a.start, b.start) && host.same(a.length, b.length);
    case View::Kind::Expand:
    case View::Kind::Reshape:
      return same_shape(builder, a.shape, b.shape);
    case View::Kind::Bitcast:
      return a.dtype == b.dtype;
  }
  throw_internal("a view of unknown kind");
}

/// Whether one of two things is known: the tensors share no element, or each element has the same index in both.
bool are_compatible(Builder& builder, const Tensor& written, const Tensor& read) {
  if (!read.handle.storage || read.handle.storage != written.handle.storage) return true;
  const Views written_views = views_of(written.handle), read_views = views_of(read.handle);
  const auto same_view_in_both = [&](const View* written_view, const View* read_view) {
    return same_view(builder, *written_view, *read_view);
  };
  const auto fork = std::ranges::mismatch(written_views, read_views, same_view_in_both);
  if (fork.in1 == written_views.end() && fork.in2 == read_views.end()) return true;
  // Both regions are parts of one tensor: the last one in the two chains of views of which both tensors are views.
  const Tensor common_base = contents_through(builder, written.handle, {written_views.begin(), fork.in1});
  const Shape shape = shape_of(builder, common_base);
  const auto written_region = region_of(builder, shape, {fork.in1, written_views.end()});
  const auto read_region = region_of(builder, shape, {fork.in2, read_views.end()});
  if (!written_region || !read_region) return false;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (are_disjoint(builder, written_region->ranges[d], read_region->ranges[d])) return true;
  }
  const auto equal = [&](const StridedRange& x, const StridedRange& y) { return same_range(builder.graph.host, x, y); };
  const auto same_dim = [&](const std::optional<size_t>& x, const std::optional<size_t>& y) {
    const auto is_fixed = [&](const auto& dim) { return !dim || is_one(builder, written_region->ranges[*dim].length); };
    return x == y || (is_fixed(x) && is_fixed(y));
  };
  return std::ranges::equal(written_region->ranges, read_region->ranges, equal) &&
         std::ranges::equal(written_region->dims, read_region->dims, same_dim);
}

}  // namespace

void refuse_overlap(Builder& builder, const Tensor& written, const Tensor& read) {
  if (are_compatible(builder, written, read)) return;
  builder.fail(
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
      "location",
      "clone() the tensor that is read before performing the operation");
}

}  // namespace ingot::frontend
