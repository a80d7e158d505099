#include <fmt/format.h>

#include <algorithm>

#include "codegen/kernel/cpu/frame.h"
#include "codegen/kernel/targets.h"

// A call computes the rows [begin, end) of the domain, a batch of rows at a time. Rows are so short that to start a
// loop for each is too expensive, so one loop runs over all elements of a batch. An operand that does not have these
// elements one after the other is copied to a buffer first, in their order.

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;

class ShortRows : public CpuFrame {
 public:
  explicit ShortRows(const KernelContext& context)
      : CpuFrame(context),
        across_(inner_axis_ - 1),
        batch_elements_(context.schedule.loop_maps[0].count(Scope::Vector)) {
    row_number_ = assembly_.variable(across_ == 0 ? "i0" : "row", {ir::DType::I64}, Level::Row);
    element_index_ = assembly_.variable("i", {ir::DType::I64}, Level::Element);
    column_ = assembly_.variable(fmt::format("i{}", inner_axis_), {ir::DType::I64}, Level::Element);
  }

  ValueId coordinate(uint32_t axis, Level) override {
    return axis == inner_axis_ ? assembly_.read(column_) : row_coordinate(axis);
  }
  ValueId load(uint32_t access) override {
    const AccessSchedule& schedule = how(access);
    const bool is_in_place = schedule.how == How::Single || schedule.how == How::Fixed;
    return is_in_place && !schedule.is_widened ? CpuFrame::load(access) : load_from_buffer(access);
  }

 private:
  void start() override;
  ValueId row_coordinate(uint32_t axis) override;
  ValueId row_index() override { return assembly_.index(IndexOp::Mul, assembly_.read(row_number_), length()); }
  std::string row_suffix() override { return "_rows"; }
  ValueId length() { return assembly_.read(memory_.extent(inner_axis_)); }
  bool is_same_for_all_rows(uint32_t access) const;
  void store(uint32_t access, ValueId value) override;
  Body around(Loop elements) override;
  /// The number of elements of the batch.
  ValueId size() { return assembly_.index(IndexOp::Mul, rows_, length()); }
  ValueId load_from_buffer(uint32_t access);
  /// The call that fills a buffer.
  Call fill(uint32_t access, ValueId to);
  Body loops() override;

  uint32_t across_;               ///< the axis along which the rows of a batch differ
  uint32_t batch_elements_;       ///< the most elements of a batch
  SymbolId row_number_, column_;  ///< the batch's first row; and a name for the coordinate in the row, used in comments
  ValueId max_rows_, rows_;       ///< the most rows of a batch, and the number of rows of this batch
  std::map<uint32_t, ValueId> coordinates_;
  std::map<uint32_t, Body> coordinate_lets_;
  Body before_, declared_, once_;  ///< before the loop over batches: values, buffers, and the buffers filled once
  Body indices_;                   ///< per batch: its position
  Body filled_, written_;          ///< per batch: the copies before and after the loop over elements
};

/// A batch does not continue past the end of the axis `across_`, so that only one coordinate changes from row to row.
void ShortRows::start() {
  assembly_.kernel.launch.grid = {{0, inner_axis_, 1}};
  max_rows_ = let(before_, assembly_.index(IndexOp::Div, assembly_.integer(batch_elements_), length()), "most");
  const ValueId end = assembly_.read(assembly_.kernel.end);
  rows_ = assembly_.index(IndexOp::Min, max_rows_, assembly_.index(IndexOp::Sub, end, assembly_.read(row_number_)));
  if (across_ > 0) {
    const ValueId remaining =
        assembly_.index(IndexOp::Sub, assembly_.read(memory_.extent(across_)), row_coordinate(across_));
    rows_ = assembly_.index(IndexOp::Min, rows_, remaining);
  }
  rows_ = let(indices_, rows_, "rows");
}

ValueId ShortRows::row_coordinate(uint32_t axis) {
  if (across_ == 0) return assembly_.read(row_number_);
  ValueId& cached = coordinates_[axis];
  if (cached) return cached;
  return cached = let(coordinate_lets_[axis], memory_.coordinate_of(assembly_.read(row_number_), 0, across_ + 1, axis),
                      fmt::format("i{}", axis));
}

bool ShortRows::is_same_for_all_rows(uint32_t access) const {
  const std::vector<StrideClass>& axes = context_.layout.accesses[access].axes;
  return std::all_of(axes.begin(), axes.end() - 1, [](StrideClass stride) { return stride == StrideClass::Zero; });
}

ValueId ShortRows::load_from_buffer(uint32_t access) {
  constexpr uint32_t kBehind = 8;  // elements that `spread` may write past the end
  const SymbolId array =
      buffer(access, "_chunk", how(access).how == How::Spread ? batch_elements_ + kBehind : batch_elements_);
  declared_.push_back({Declare{array}});
  const bool is_filled_once = how(access).how == How::Repeated && is_same_for_all_rows(access);
  Call call = fill(access, assembly_.read(array));
  call.filled = array;
  (is_filled_once ? once_ : filled_).push_back({std::move(call)});
  return element_of(array, access, assembly_.read(element_index_));
}

void ShortRows::store(uint32_t access, ValueId value) {
  if (!how(access).is_widened) return CpuFrame::store(access, value);
  const SymbolId array = buffer(access, "_chunk", batch_elements_);
  declared_.push_back({Declare{array}});
  assign(element_of(array, access, assembly_.read(element_index_)), unrounded(value));
  written_.push_back({Call{Call::Function::FromFloats, {assembly_.read(array), row_of(access), size()}}});
}

Body ShortRows::around(Loop elements) {
  Body body = {{std::move(elements)}};
  append(body, std::move(written_));
  return body;
}

Call ShortRows::fill(uint32_t access, ValueId to) {
  const How how = CpuFrame::how(access).how;
  const auto stride = [&](uint32_t axis) {
    const bool is_one = context_.layout.accesses[access].axes[axis] == StrideClass::One;
    return is_one ? assembly_.integer(1) : memory_.stride(access, axis);
  };
  const ValueId from = row_of(access);
  if (how == How::Single) return {Call::Function::ToFloats, {from, to, size()}};
  if (how == How::Spread) return {Call::Function::Spread, {from, stride(across_), to, rows_, length()}};
  if (how == How::Staged)
    return {Call::Function::Transpose, {from, stride(inner_axis_), to, length(), rows_, length()}};
  const ValueId rows = is_same_for_all_rows(access) ? max_rows_ : rows_;
  return {Call::Function::Repeat, {from, stride(inner_axis_), to, rows, length()}};
}

Body ShortRows::loops() {
  Body body = std::move(before_);
  append(body, std::move(declared_));
  append(body, std::move(once_));
  Body batch;
  for (uint32_t d = across_ + 1; d-- > 0;) append(batch, std::move(coordinate_lets_[d]));
  append(batch, std::move(indices_));
  append(batch, row(assembly_.integer(0), size(), std::move(filled_)));
  batch.push_back({Advance{row_number_, rows_}});
  body.push_back({Loop{Loop::Kind::BodyAdvances, row_number_, assembly_.read(assembly_.kernel.begin),
                       assembly_.read(assembly_.kernel.end), std::move(batch)}});
  return body;
}

}  // namespace

Kernel build_cpu_short_rows(const KernelContext& context) { return ShortRows(context).build(); }

}  // namespace ingot::codegen
