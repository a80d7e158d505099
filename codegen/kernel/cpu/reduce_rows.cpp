#include <fmt/format.h>

#include "codegen/kernel/cpu/reduce.h"

// A call computes units [begin, end), one after the other: rows, or chunks of the elements of a row. The kernel loops
// over the elements of a row with vector instructions. One piece has as many elements as a row has accumulators, but at
// least kVector. If a row has several axes, there is an outer loop over its lines along the innermost axis. Row results
// are variables.

namespace ingot::codegen {
namespace {

constexpr uint32_t kVector = 16;  ///< number of elements that the prelude's `over` computes at once

class Rows : public CpuReduce {
 public:
  Rows(const KernelContext& context, RowPart part) : CpuReduce(context, part) {
    const auto index = [&](std::string_view name, Level level) {
      return assembly_.variable(name, {ir::DType::I64}, level);
    };
    unit_ = index(part == RowPart::Chunks ? "unit" : "row", Level::Row);
    in_vector_ = index("k", Level::Element);
    line_element_ = index("e", Level::Thread);
    valid_ = assembly_.variable("valid", {ir::DType::Bool}, Level::Element);
    first_ = index("first", Level::Thread);
    count_ = index("count", Level::Thread);
    assembly_.set_block({Level::Thread}, line_lets_);
  }

  ValueId coordinate(uint32_t axis, Level) override {
    if (axis < row_axes_) return places_.coordinate(axis);
    if (axis + 1 < context_.rank()) return outer_coordinate(axis);
    return row_has_several_axes() ? assembly_.index(IndexOp::Sub, element_index(), line_begin()) : element_index();
  }
  std::string suffix() override { return "_" + assembly_[in_vector_].name; }

 private:
  ValueId element_index() override {
    return assembly_.index(IndexOp::Add, assembly_.read(first_), assembly_.read(in_vector_));
  }

  void find_row() override {
    std::vector<GridFactor>& grid = assembly_.kernel.launch.grid;
    grid = {{0, row_axes_, 1}};
    row_number_ = assembly_.read(unit_);
    if (part_ == RowPart::Chunks) {
      grid = assembly_.kernel.launch.partial_count;
      chunk_ = let(row_, assembly_.index(IndexOp::Rem, assembly_.read(unit_), chunks()), "chunk");
      row_number_ = let(row_, assembly_.index(IndexOp::Div, assembly_.read(unit_), chunks()), "row");
    }
    places_.set_row(row_number_);
  }

  Body units(Body body) override {
    const ValueId begin = assembly_.read(assembly_.kernel.begin), end = assembly_.read(assembly_.kernel.end);
    return {{Loop{Loop::Kind::Serial, unit_, begin, end, std::move(body)}}};
  }

  void for_each_row(Body& block, Body of_row) override { append(block, std::move(of_row)); }

  ValueId index_of_partial(ValueId chunk) override {
    if (part_ == RowPart::Chunks) return assembly_.read(unit_);
    return assembly_.index(IndexOp::Add, assembly_.index(IndexOp::Mul, row_number_, chunks()), chunk);
  }

  // Elements

  /// Names a value that the elements of a line share. It has the same name in each loop over lines.
  ValueId let_of_line(ValueId value, const std::string& wanted) {
    const auto [name, is_new] = line_names_.try_emplace(wanted);
    if (is_new) name->second = assembly_.claim(wanted);
    return assembly_.let(line_lets_, value, name->second);
  }

  /// The index, in the row, of the current line's first element.
  ValueId line_begin() {
    if (line_begin_) return line_begin_;
    const ValueId at = assembly_.read(line_element_);
    const ValueId inner = assembly_.index(IndexOp::Rem, at, places_.extent(context_.rank() - 1));
    return line_begin_ = let_of_line(assembly_.index(IndexOp::Sub, at, inner), "run");
  }

  /// The coordinate of the current line along a reduced axis other than the innermost one.
  ValueId outer_coordinate(uint32_t axis) {
    ValueId& cached = coordinates_[axis];
    if (cached) return cached;
    const ValueId at = memory_.coordinate_of(assembly_.read(line_element_), row_axes_, context_.rank(), axis);
    return cached = let_of_line(at, fmt::format("i{}", axis));
  }

  /// Whether the first element of each line belongs to the first accumulator.
  bool begins_with_first_accumulator() {
    return !row_has_several_axes() || context_.layout.reduced_axis_multiple >= accumulators_;
  }

  /// The pieces of a PieceLoop start and end at multiples of the number of accumulators, so that an accumulator has the
  /// same place in each piece.
  void loop_over(Body& block, ValueId from, ValueId to) override {
    PieceLoop piece_loop{std::max(accumulators_, kVector), first_, count_, from, to, take(in_piece_),
                         !begins_with_first_accumulator()};
    Loop elements = simd(in_vector_, integer(0), assembly_.read(count_), take(element_));
    if (computes_past_end()) elements.kind = Loop::Kind::SimdWhole, elements.valid = valid_;
    piece_loop.body.push_back({std::move(elements)});
    if (!row_has_several_axes()) {
      append(block, take(line_lets_));
      block.push_back({std::move(piece_loop)});
    } else {
      const ValueId at = assembly_.read(line_element_);
      const ValueId next = assembly_.index(IndexOp::Add, line_begin(), places_.extent(context_.rank() - 1));
      const ValueId end = let_of_line(assembly_.index(IndexOp::Min, next, to), "run_end");
      piece_loop.begin = at, piece_loop.end = end;
      Body body = take(line_lets_);
      body.push_back({std::move(piece_loop)});
      body.push_back({Advance{line_element_, assembly_.index(IndexOp::Sub, end, at)}});
      block.push_back({Loop{Loop::Kind::BodyAdvances, line_element_, from, to, std::move(body)}});
    }
    line_begin_ = {};
    coordinates_.clear();
  }

  /// Whether the last vector of a row is computed whole, with loads masked past the row's end (docs/performance.md:
  /// cpu-masked-tail). Elements past the end must not be checked or used as an index, and there must be accumulators
  /// for them.
  bool computes_past_end() {
    return accumulators_ >= kVector && begins_with_first_accumulator() && context_.outline.divisions.empty() &&
           std::ranges::none_of(context_.outline.accesses,
                                [](const auto& use) { return use.kind == AccessUse::Kind::Gather; });
  }
  ValueId valid() override { return computes_past_end() ? assembly_.read(valid_) : ValueId{}; }
  ValueId load(uint32_t access) override {
    return memory_.load(access, Level::Element, {}, places_.varies_in_row(access) ? valid() : ValueId{});
  }

  void prefetch_access(uint32_t access) override {
    if (row_has_several_axes()) return;
    const ValueId place = assembly_.index(IndexOp::Add, base(access), assembly_.read(first_));
    in_piece_.push_back({Call{Call::Function::WillWrite, {place, assembly_.read(count_)}}});
  }

  ValueId accumulator_index() override {
    if (accumulators_ == 1) return integer(0);
    const ValueId in_vector = assembly_.read(in_vector_);
    if (begins_with_first_accumulator()) return in_vector;
    const ValueId accumulator_of_first = assembly_.index(IndexOp::Rem, assembly_.read(first_), integer(accumulators_));
    if (class_name_.empty()) class_name_ = assembly_.claim("class_of_first");
    return assembly_.index(IndexOp::Add, assembly_.let(in_piece_, accumulator_of_first, class_name_), in_vector);
  }

  SymbolId line_element_;       ///< the variable of the loop over lines: the first element to compute in the line
  SymbolId first_, count_;      ///< of a vector: its first element in the row, and the number of its elements
  SymbolId in_vector_, valid_;  ///< an element's index in its vector, and whether the element is in the row
  std::string class_name_;
  std::map<std::string, std::string> line_names_;
  ValueId line_begin_;
  std::map<uint32_t, ValueId> coordinates_;
  Body line_lets_, in_piece_;  ///< statements that run once per line, and once per piece
};

}  // namespace

Kernel build_cpu_rows(const KernelContext& context, RowPart part) { return Rows(context, part).build(); }

}  // namespace ingot::codegen
