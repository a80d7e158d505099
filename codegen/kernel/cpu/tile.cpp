#include <fmt/format.h>

#include <algorithm>

#include "codegen/kernel/cpu/frame.h"
#include "codegen/kernel/targets.h"

// A call computes the tiles [begin, end) of the domain, each of at most `rows_` × `columns_` elements. A row of a tile
// is along the innermost axis; `across_` is the axis from row to row. An operand that is contiguous along `across_` is
// transposed into a buffer first, so that the loop over a row's elements reads adjacent elements.

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;

class Tile : public CpuFrame {
 public:
  explicit Tile(const KernelContext& context) : CpuFrame(context), across_(context.schedule.tile_axis) {
    const auto size = [&](const LoopMap& loop_map) { return loop_map.loops.back().count; };
    columns_ = size(context.schedule.loop_maps.back());
    rows_ = size(context.schedule.loop_maps[context.schedule.loop_maps.size() - 2]);
    tile_ = assembly_.variable("t", {ir::DType::I64}, Level::Row);
    row_number_ = assembly_.variable(fmt::format("i{}", across_), {ir::DType::I64}, Level::Row);
    element_index_ = assembly_.variable(fmt::format("i{}", inner_axis_), {ir::DType::I64}, Level::Element);
  }

  ValueId load(uint32_t access) override {
    return context_.schedule.accesses[access].how == How::Staged ? staged(access) : CpuFrame::load(access);
  }

 private:
  /// The range [first, last) of a tile along one of its axes.
  struct Side {
    ValueId first, last;
  };

  void start() override;
  /// The side of the tile with this number along the axis, where tiles have `size` elements.
  Side side_of(uint32_t axis, uint32_t size, ValueId number);
  /// The number of tiles along the axis.
  ValueId tiles_along(uint32_t axis, uint32_t size);
  ValueId row_coordinate(uint32_t axis) override {
    return axis == across_ ? assembly_.read(row_number_) : outer_.at(axis);
  }
  ValueId row_index() override;
  ValueId corner_of(uint32_t access);
  ValueId staged(uint32_t access);
  Body loops() override;

  uint32_t across_, rows_ = 1, columns_ = 1;
  SymbolId tile_, row_number_;  ///< the variables of the loops over tiles, and over a tile's rows
  Side row_side_, column_side_;
  std::map<uint32_t, ValueId> outer_;  ///< the coordinates that all elements of a tile share
  ValueId row_index_;
  Body counts_;                       ///< before the loop over tiles
  Body indices_, declared_, filled_;  ///< per tile: its position; declarations of buffers, and the transpositions
  Body each_row_;                     ///< per row of a tile
};

/// Tiles are numbered along the innermost axis first, then along `across_`, then along the other axes.
void Tile::start() {
  std::vector<uint32_t> axes = {inner_axis_, across_};
  for (uint32_t d = inner_axis_; d-- > 0;)
    if (d != across_) axes.push_back(d);
  ValueId rest = assembly_.read(tile_);
  for (const uint32_t axis : axes) {
    const uint32_t size = axis == inner_axis_ ? columns_ : axis == across_ ? rows_ : 1;
    assembly_.kernel.launch.grid.push_back({axis, 1, size});
    ValueId number = rest;
    if (axis != axes.back()) {
      const ValueId count = size > 1 ? tiles_along(axis, size) : assembly_.read(memory_.extent(axis));
      number = assembly_.index(IndexOp::Rem, rest, count);
      rest = assembly_.index(IndexOp::Div, rest, count);
    }
    if (axis == inner_axis_)
      column_side_ = side_of(axis, size, number);
    else if (axis == across_)
      row_side_ = side_of(axis, size, number);
    else
      outer_[axis] = let(indices_, number, fmt::format("i{}", axis));
  }
}

ValueId Tile::tiles_along(uint32_t axis, uint32_t size) {
  const ValueId rounded =
      assembly_.index(IndexOp::Add, assembly_.read(memory_.extent(axis)), assembly_.integer(size - 1));
  return let(counts_, assembly_.index(IndexOp::Div, rounded, assembly_.integer(size)), fmt::format("tiles{}", axis));
}

Tile::Side Tile::side_of(uint32_t axis, uint32_t size, ValueId number) {
  const ValueId first =
      let(indices_, assembly_.index(IndexOp::Mul, number, assembly_.integer(size)), fmt::format("first{}", axis));
  const ValueId end = assembly_.index(IndexOp::Add, first, assembly_.integer(size));
  const ValueId last = let(indices_, assembly_.index(IndexOp::Min, end, assembly_.read(memory_.extent(axis))),
                           fmt::format("last{}", axis));
  return {first, last};
}

ValueId Tile::row_index() {
  if (row_index_) return row_index_;
  ValueId index = row_coordinate(0);
  for (uint32_t d = 1; d <= inner_axis_; ++d) {
    index = assembly_.index(IndexOp::Mul, index, assembly_.read(memory_.extent(d)));
    if (d < inner_axis_) index = assembly_.index(IndexOp::Add, index, row_coordinate(d));
  }
  return row_index_ = let(each_row_, index, "row");
}

/// The pointer to the first element of the tile.
ValueId Tile::corner_of(uint32_t access) {
  const std::vector<StrideClass>& axes = context_.layout.accesses[access].axes;
  ValueId corner = assembly_.read(memory_.pointer(access));
  for (uint32_t d = 0; d <= inner_axis_; ++d) {
    if (axes[d] == StrideClass::Zero) continue;
    ValueId step = d == across_ ? row_side_.first : d == inner_axis_ ? column_side_.first : outer_.at(d);
    if (axes[d] != StrideClass::One) step = assembly_.index(IndexOp::Mul, step, memory_.stride(access, d));
    corner = assembly_.index(IndexOp::Add, corner, step);
  }
  return corner;
}

/// The current element of a transposed operand. Declares its buffer and emits the transposition.
ValueId Tile::staged(uint32_t access) {
  const std::string name = assembly_[memory_.pointer(access)].name;
  const SymbolId buffer = CpuFrame::buffer(access, "_tile", rows_ * columns_);
  declared_.push_back({Declare{buffer}});
  const ValueId pitch = assembly_.integer(columns_);
  const auto length = [&](const Side& side) { return assembly_.index(IndexOp::Sub, side.last, side.first); };
  filled_.push_back({Call{Call::Function::Transpose,
                          {corner_of(access), memory_.stride(access, inner_axis_), assembly_.read(buffer), pitch,
                           length(row_side_), length(column_side_)},
                          buffer}});
  const ValueId row = assembly_.index(IndexOp::Sub, assembly_.read(row_number_), row_side_.first);
  const ValueId start =
      assembly_.index(IndexOp::Add, assembly_.read(buffer), assembly_.index(IndexOp::Mul, row, pitch));
  const ValueId column = assembly_.index(IndexOp::Sub, assembly_.read(element_index_), column_side_.first);
  return assembly_.add({.kind = Value::Kind::Load,
                        .type = {assembly_[buffer].type.dtype},
                        .operands = {let(each_row_, start, name + "_row"), column},
                        .name = name + suffix()});
}

Body Tile::loops() {
  Body row_body = std::move(each_row_);
  append(row_body, row(column_side_.first, column_side_.last));
  Body tile = std::move(indices_);
  append(tile, std::move(declared_));
  append(tile, std::move(filled_));
  tile.push_back({Loop{Loop::Kind::Serial, row_number_, row_side_.first, row_side_.last, std::move(row_body)}});
  Body body = std::move(counts_);
  body.push_back({Loop{Loop::Kind::Serial, tile_, assembly_.read(assembly_.kernel.begin),
                       assembly_.read(assembly_.kernel.end), std::move(tile)}});
  return body;
}

}  // namespace

Kernel build_cpu_tile(const KernelContext& context) { return Tile(context).build(); }

}  // namespace ingot::codegen
