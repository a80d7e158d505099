#include "codegen/kernel/cpu/reduce.h"

// A unit (one index of parallel_for) computes some adjacent rows (`lanes`), with vector instructions over rows, and
// traverses their elements together. Row results are arrays with an element per row. Rows whose corresponding elements
// are not adjacent in memory are short, and are transposed into a buffer first.

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;

class Columns : public CpuReduce {
 public:
  Columns(const KernelContext& context, RowPart part) : CpuReduce(context, part, "k") {
    const auto index = [&](std::string_view name, Level level) {
      return assembly_.variable(name, {ir::DType::I64}, level);
    };
    unit_ = index("unit", Level::Row);
    first_ = index("row", Level::Row);
    count_ = index("rows", Level::Row);
    element_in_row_ = index("i", Level::Thread);  // per element index, for all adjacent rows
    assembly_.set_block({Level::Thread}, step_);
  }

  ValueId coordinate(uint32_t axis, Level) override {
    if (axis + 1 < row_axes_) return places_.coordinate(axis);
    if (axis < row_axes_) return assembly_.index(IndexOp::Add, places_.coordinate(axis), assembly_.read(lane_));
    const ValueId at = element_index();
    return row_has_several_axes() ? memory_.coordinate_of(at, row_axes_, context_.rank(), axis) : at;
  }
  std::string suffix() override { return "_" + assembly_[lane_].name; }

  ValueId load(uint32_t access) override {
    return how(access).how == How::Staged ? staged_element(access) : CpuReduce::load(access);
  }

 private:
  ValueId element_index() override { return assembly_.read(element_in_row_); }

  /// The adjacent rows of a unit differ along the last row axis. Units are numbered along this axis first, then along
  /// the other row axes, then by chunk: units that run at the same time should read adjacent memory.
  void find_row() override {
    const uint32_t axis = row_axes_ - 1;
    std::vector<GridFactor>& grid = assembly_.kernel.launch.grid;
    grid = {{.first = 0, .axes = axis}, {.first = axis, .axes = 1, .step = lanes_}};
    const ValueId extent = places_.extent(axis), padded = assembly_.index(IndexOp::Add, extent, integer(lanes_ - 1));
    const ValueId units_along_axis = assembly_.index(IndexOp::Div, padded, integer(lanes_));
    ValueId at = assembly_.read(unit_);
    if (part_ == RowPart::Chunks) {
      grid.push_back({row_axes_, context_.layout.reduced_axes, chunk_length_});
      const ValueId units_of_chunk =
          axis == 0 ? units_along_axis : assembly_.index(IndexOp::Mul, places_.elements(0, axis), units_along_axis);
      const ValueId units = let(unit_range_, units_of_chunk, "units_of_chunk");
      chunk_ = let(unit_range_, assembly_.index(IndexOp::Div, at, units), "chunk");
      at = assembly_.index(IndexOp::Rem, at, units);
    }
    ValueId base = integer(0);
    if (axis > 0) {
      base = let(unit_range_,
                 assembly_.index(IndexOp::Mul, assembly_.index(IndexOp::Div, at, units_along_axis), extent), "base");
      at = assembly_.index(IndexOp::Rem, at, units_along_axis);
    }
    const ValueId within = assembly_.index(IndexOp::Mul, at, integer(lanes_));
    const ValueId first =
        let(unit_range_, axis == 0 ? within : assembly_.index(IndexOp::Add, base, within), "from_row");
    const ValueId next = assembly_.index(IndexOp::Add, first, integer(lanes_));
    const ValueId end = axis == 0 ? extent : assembly_.index(IndexOp::Add, base, extent);
    rows_begin_ = first, rows_end_ = let(unit_range_, assembly_.index(IndexOp::Min, next, end), "to_row");
    row_number_ = assembly_.read(first_);
    places_.set_row(row_number_);
  }

  Body units(Body body) override {
    Body unit = std::move(unit_range_);
    append(body, std::move(written_));
    // A single piece: the loop sets the first row and the number of rows.
    unit.push_back({PieceLoop{lanes_, first_, count_, rows_begin_, rows_end_, std::move(body)}});
    const ValueId begin = assembly_.read(assembly_.kernel.begin), end = assembly_.read(assembly_.kernel.end);
    return {{Loop{Loop::Kind::Serial, unit_, begin, end, std::move(unit)}}};
  }

  Loop over_rows(Body of_row) { return simd(lane_, integer(0), assembly_.read(count_), std::move(of_row)); }

  void for_each_row(Body& block, Body of_row) override {
    if (!of_row.empty()) block.push_back({over_rows(std::move(of_row))});
  }

  void loop_over(Body& block, ValueId from, ValueId to) override {
    Body step = take(step_);
    step.push_back({over_rows(take(element_))});
    if (accumulator_begin_.empty()) {
      block.push_back({Loop{Loop::Kind::Serial, element_in_row_, from, to, std::move(step)}});
      return;
    }
    const SymbolId c = reductions_.accumulator_counter();
    Body of_class = take(accumulator_begin_);
    of_class.push_back({Loop{.kind = Loop::Kind::Strided,
                             .variable = element_in_row_,
                             .begin = assembly_.read(c),
                             .end = to,
                             .body = std::move(step),
                             .step = accumulators_}});
    block.push_back({Loop{Loop::Kind::Serial, c, integer(0), integer(accumulators_), std::move(of_class)}});
  }

  ValueId accumulator_index() override {
    if (accumulators_ == 1) return integer(0);
    if (has_blocked_accumulators()) return assembly_.read(reductions_.accumulator_counter());
    if (accumulators_ == 1u << context_.layout.length_bits) return element_index();
    const ValueId number = assembly_.index(IndexOp::Rem, element_index(), integer(accumulators_));
    return assembly_.let(step_, number,
                         class_name_.empty() ? class_name_ = assembly_.claim("class_of_i") : class_name_);
  }

  // Rows in a buffer

  /// The buffer of an access whose rows are transposed: buffer[element][row]. Emits the copy to it, or from it.
  SymbolId staged(uint32_t access) {
    SymbolId& array = staged_arrays_[access];
    if (array) return array;
    array = buffer(access, "_rows", lanes_ << context_.layout.length_bits);
    const ValueId buffered = assembly_.read(array), lanes = integer(lanes_), rows = assembly_.read(count_);
    const ValueId first = place_of_rows(access), stride = memory_.stride(access, row_axes_ - 1);
    row_.push_back({Declare{array}});
    if (context_.outline.accesses[access].kind == AccessUse::Kind::Load)
      row_.push_back(
          {Call{Call::Function::Transpose, {first, stride, buffered, lanes, places_.length(), rows}, array}});
    else
      written_.push_back({Call{Call::Function::Transpose, {buffered, lanes, first, stride, rows, places_.length()}}});
    return array;
  }

  ValueId staged_element(uint32_t access) {
    const ValueId of_rows = assembly_.index(IndexOp::Mul, element_index(), integer(lanes_));
    return element_of(staged(access), access, assembly_.index(IndexOp::Add, of_rows, assembly_.read(lane_)));
  }

  void store(uint32_t access, ValueId value) override {
    how(access).how == How::Staged ? assign(staged_element(access), value) : CpuReduce::store(access, value);
  }

  /// The pointer to the first element of the unit's first row.
  ValueId place_of_rows(uint32_t access) {
    const ValueId step =
        assembly_.index(IndexOp::Mul, places_.coordinate(row_axes_ - 1), memory_.stride(access, row_axes_ - 1));
    return assembly_.index(IndexOp::Add, base(access), step);
  }

  /// The partial results of one chunk are adjacent for adjacent rows.
  ValueId index_of_partial(ValueId chunk) override {
    const ValueId first_of_chunk = assembly_.index(IndexOp::Mul, chunk, places_.elements(0, row_axes_));
    return assembly_.index(IndexOp::Add, first_of_chunk,
                           assembly_.index(IndexOp::Add, row_number_, assembly_.read(lane_)));
  }

  SymbolId element_in_row_;        ///< the variable of the loop over elements
  SymbolId first_, count_;         ///< the first of the adjacent rows, and their number
  ValueId rows_begin_, rows_end_;  ///< the range of the unit's rows
  std::string class_name_;
  Body unit_range_;  ///< the statements that compute the unit's range of rows
  Body step_;        ///< per element index, before the loop over rows
  Body written_;     ///< copies from buffers to tensors, after everything else
  std::map<uint32_t, SymbolId> staged_arrays_;
};

}  // namespace

Kernel build_cpu_columns(const KernelContext& context, RowPart part) { return Columns(context, part).build(); }

}  // namespace ingot::codegen
