#include <fmt/format.h>

#include "codegen/kernel/cpu/frame.h"
#include "codegen/kernel/targets.h"

// A call computes the elements [begin, end) of the domain: in one loop that the compiler vectorises, or, if there are
// several axes, in such a loop for each row that the range touches; the first and the last row may be touched in part.
// If float16 is converted in bulk, a row is computed in blocks of `block_elements` elements, whose float32 values are
// in buffers.

namespace ingot::codegen {
namespace {

class Rows : public CpuFrame {
 public:
  explicit Rows(const KernelContext& context) : CpuFrame(context) {
    linear_ = assembly_.variable("i", {ir::DType::I64}, has_rows() ? Level::Row : Level::Element);
    element_index_ =
        has_rows() ? assembly_.variable(fmt::format("i{}", inner_axis_), {ir::DType::I64}, Level::Element) : linear_;
  }

 private:
  void start() override;
  ValueId row_coordinate(uint32_t axis) override;
  ValueId row_index() override { return row_index_; }
  Body loops() override;

  ValueId load(uint32_t access) override { return how(access).is_widened ? widened(access) : CpuFrame::load(access); }
  void store(uint32_t access, ValueId value) override;
  Body around(Loop elements) override;
  /// The elements of a block of a row; 0 if rows are not divided into blocks.
  uint32_t block_elements() const { return context_.schedule.loop_maps.back().loops.back().count; }
  /// The current element of a float16 access, as float32 from the buffer of the block.
  ValueId widened(uint32_t access);
  /// Declares the buffer of an access; returns its current element.
  ValueId place(SymbolId buffer, uint32_t access);
  /// The pointer to the block's first element.
  ValueId start_of_block(uint32_t access) {
    return assembly_.index(IndexOp::Add, row_of(access), assembly_.read(first_of_block_));
  }

  SymbolId linear_;                  ///< the linear index of an element; with rows: the first one to compute in the row
  SymbolId first_of_block_, count_;  ///< of a block: its first element in the row, and the number of its elements
  ValueId first_, last_, row_index_;  ///< this call computes the elements [first_, last_) of the current row
  std::map<uint32_t, ValueId> coordinates_;
  std::map<uint32_t, Body> coordinate_lets_;
  Body indices_;                      ///< computes the position of a row
  Body declared_, filled_, written_;  ///< of buffers: declarations, conversions before and after the loop over elements
};

void Rows::start() {
  assembly_.kernel.launch.grid = {{0, context_.rank(), 1}};
  if (block_elements() > 0) {
    first_of_block_ = assembly_.variable("start", {ir::DType::I64}, Level::Row);
    count_ = assembly_.variable("count", {ir::DType::I64}, Level::Row);
  }
  if (!has_rows()) return;
  const ValueId i = assembly_.read(linear_), length = assembly_.read(memory_.extent(inner_axis_));
  first_ = let(indices_, assembly_.index(IndexOp::Rem, i, length), "first");
  const ValueId remaining = assembly_.index(IndexOp::Sub, assembly_.read(assembly_.kernel.end), i);
  last_ =
      let(indices_, assembly_.index(IndexOp::Min, assembly_.index(IndexOp::Add, first_, remaining), length), "last");
  row_index_ = let(indices_, assembly_.index(IndexOp::Sub, i, first_), "row");
}

ValueId Rows::row_coordinate(uint32_t axis) {
  ValueId& cached = coordinates_[axis];
  if (cached) return cached;
  return cached = let(coordinate_lets_[axis], memory_.coordinate_of(assembly_.read(linear_), 0, context_.rank(), axis),
                      fmt::format("i{}", axis));
}

ValueId Rows::place(SymbolId buffer, uint32_t access) {
  const ValueId at = assembly_.index(IndexOp::Sub, assembly_.read(element_index_), assembly_.read(first_of_block_));
  declared_.push_back({Declare{buffer}});
  return element_of(buffer, access, at);
}

ValueId Rows::widened(uint32_t access) {
  const SymbolId floats = buffer(access, "_piece", block_elements());
  const ValueId value = place(floats, access);
  filled_.push_back({Call{
      Call::Function::ToFloats, {start_of_block(access), assembly_.read(floats), assembly_.read(count_)}, floats}});
  return value;
}

void Rows::store(uint32_t access, ValueId value) {
  if (!how(access).is_widened) return CpuFrame::store(access, value);
  const SymbolId floats = buffer(access, "_piece", block_elements());
  assign(place(floats, access), unrounded(value));
  written_.push_back(
      {Call{Call::Function::FromFloats, {assembly_.read(floats), start_of_block(access), assembly_.read(count_)}}});
}

Body Rows::around(Loop elements) {
  if (block_elements() == 0) return CpuFrame::around(std::move(elements));
  PieceLoop piece_loop{block_elements(), first_of_block_, count_, elements.begin, elements.end, std::move(declared_)};
  elements.begin = assembly_.read(first_of_block_);
  elements.end = assembly_.index(IndexOp::Add, elements.begin, assembly_.read(count_));
  append(piece_loop.body, std::move(filled_));
  piece_loop.body.push_back({std::move(elements)});
  append(piece_loop.body, std::move(written_));
  return {{std::move(piece_loop)}};
}

Body Rows::loops() {
  const ValueId begin = assembly_.read(assembly_.kernel.begin), end = assembly_.read(assembly_.kernel.end);
  if (!has_rows()) return row(begin, end);
  Body body = std::move(indices_);
  for (uint32_t d = inner_axis_; d-- > 0;) append(body, std::move(coordinate_lets_[d]));
  append(body, row(first_, last_));
  body.push_back({Advance{linear_, assembly_.index(IndexOp::Sub, last_, first_)}});
  return {{Loop{Loop::Kind::BodyAdvances, linear_, begin, end, std::move(body)}}};
}

}  // namespace

Kernel build_cpu(const KernelContext& context) { return Rows(context).build(); }

}  // namespace ingot::codegen
