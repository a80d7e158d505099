#include "frontend/tensor/results.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/tensor/layouts.h"
#include "frontend/tensor/promotion.h"
#include "frontend/tensor/tensors.h"

// Tensors as results: each tile becomes a part, with the affine map that stores it where its merged dims and its place
// beside other tiles say.

namespace ingot::frontend {
namespace {

/// Tiles whose last dim is at most this long are stored as elements of one domain, so that a kernel can write a vector.
constexpr int64_t kShortDim = 4;

std::optional<int64_t> last_size(Builder& builder, const Tile& tile) {
  if (tile.shape.empty() || dims_of(tile.groups, tile.offsets.size() - 1).count != 1) return std::nullopt;
  const ir::HostId size = builder.graph.host.resolve(tile.shape.back());
  if (!builder.graph.host.is_constant(size)) return std::nullopt;
  return builder.graph.host.value(size).as_int();
}

/// Where tiles that lie side by side along the last dim are all short there, one tile an element: [n, 2] beside [n, 2]
/// is four times [n, 1].
void split_short_tiles(Builder& builder, Tensor& tensor) {
  if (tensor.tiles.size() < 2 || tensor.grid.empty()) return;
  const size_t dim = tensor.grid.size() - 1;
  const auto is_cut_short = [&](const Tile& tile) {
    const auto size = last_size(builder, tile);
    return size && *size <= kShortDim &&
           !builder.graph.host.is_int(builder.graph.host.resolve(tensor.grid[dim]), *size);
  };
  if (!std::ranges::all_of(tensor.tiles, is_cut_short)) return;
  std::vector<Tile> elements;
  for (const Tile& tile : tensor.tiles) {
    for (int64_t i = 0; i < *last_size(builder, tile); ++i) {
      const ir::HostId at = builder.integer(i);
      elements.push_back(slice_tile(builder, tile, dim, at, builder.integer(1), 1));
      elements.back().offsets[dim] = builder.add(tile.offsets[dim], at);
    }
  }
  tensor.tiles = std::move(elements);
}

/// The steps in the tensor's coordinates of dims that are merged into its dims: (dim, coefficient) for each.
std::vector<ir::Term> merge_terms(Builder& builder, std::span<const ir::HostId> sizes, const Groups& groups) {
  std::vector<ir::Term> terms;
  const size_t count = groups.empty() ? sizes.size() : groups.size();
  for (uint32_t dim = 0; dim < count; ++dim) {
    const auto [begin, merged_count] = dims_of(groups, dim);
    for (size_t d = begin; d < begin + merged_count; ++d) {
      terms.push_back({dim, product(builder, sizes.subspan(d + 1, begin + merged_count - d - 1))});
    }
  }
  return terms;
}

ir::Part make_part(Builder& builder, const Tensor& tensor, const Tile& tile) {
  ir::HostPool& host = builder.graph.host;
  const std::vector<ir::Term> of_grid = merge_terms(builder, tensor.grid, tensor.groups);
  const std::vector<ir::Term> of_tile = merge_terms(builder, tile.shape, tile.groups);
  ir::Part part{exact_node(builder, tile.node, tensor.dtype), {}, {}};
  part.store.offsets.assign(tensor.rank(), builder.integer(0));
  for (size_t d = 0; d < tile.offsets.size(); ++d) {
    ir::HostId& offset = part.store.offsets[of_grid[d].dim];
    offset = builder.add(offset, builder.mul(tile.offsets[d], of_grid[d].coef));
  }
  for (size_t j = 0; j < tile.shape.size(); ++j) {
    const ir::HostId size = host.resolve(tile.shape[j]);
    const auto& [result_dim, grid_step] = of_grid[of_tile[j].dim];
    ir::AccessDim dim{size, {{result_dim, builder.mul(of_tile[j].coef, grid_step)}}};
    if (host.is_int(size, 1)) dim.terms.clear();
    part.domain.push_back(size);
    part.store.dims.push_back(std::move(dim));
  }
  builder.graph.carry(builder.graph, tile.node, part.node);
  return part;
}

/// The author's last name for a tensor, of those that all of its tiles have and that no parameter has.
std::string authors_name(const Builder& builder, const Tensor& tensor) {
  std::string chosen;
  for (const std::string& name : builder.graph.names(tensor.tiles.front().node)) {
    const bool is_shared = std::ranges::all_of(
        tensor.tiles, [&](const Tile& tile) { return std::ranges::count(builder.graph.names(tile.node), name) > 0; });
    if (is_shared && std::ranges::count(builder.graph.params, name, &ir::Param::name) == 0) chosen = name;
  }
  return chosen;
}

void make_result(Builder& builder, const Value& value, const std::string& default_name) {
  if (!value.is_tensor()) {
    builder.fail(fmt::format("an op returns tensors, not {}", describe(value)),
                 value.is_number() ? "a number alone needs no kernel: give it the shape of a tensor with full_like"
                 : value.is_none() ? "does every way through it end with `return`?"
                 : value.items()   ? "return one flat tuple of tensors"
                                   : "");
  }
  Tensor tensor = *value.tensor();
  if (tensor.on_host) {
    builder.fail("the op returns a CPU tensor: it is computed from CPU scalars and numbers alone",
                 "compute it outside of the op, or move it: s.to(x.device)");
  }
  ir::Result result;
  result.name = authors_name(builder, tensor);
  const bool taken = std::ranges::count(builder.graph.results, result.name, &ir::Result::name) > 0;
  if (result.name.empty() || taken) result.name = default_name;
  result.dtype = tensor.dtype;
  result.shape = shape_of(builder, tensor);
  split_short_tiles(builder, tensor);
  for (const Tile& tile : tensor.tiles) result.parts.push_back(make_part(builder, tensor, tile));

  // A result never aliases an argument: what would be a view is copied.
  using Kind = ir::LayoutStep::Kind;
  const Kind kind = builder.graph.eager_layouts[tensor.layout].kind;
  const bool is_view = kind == Kind::Param || kind == Kind::View || kind == Kind::Reshape;
  result.layout = is_view ? record_preserve(builder, tensor.layout, result.shape) : tensor.layout;
  builder.graph.results.push_back(std::move(result));
}

}  // namespace

void make_results(Builder& builder, const Value& returned) {
  const std::vector<Value>* items = returned.items();
  if (!items) return make_result(builder, returned, "out");
  if (items->empty()) builder.fail("the op returns nothing", "return a tensor, or a tuple of tensors");
  for (size_t i = 0; i < items->size(); ++i) {
    make_result(builder, (*items)[i], items->size() == 1 ? "out" : fmt::format("out{}", i));
  }
}

}  // namespace ingot::frontend
