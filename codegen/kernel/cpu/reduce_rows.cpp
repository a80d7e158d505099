#include <fmt/format.h>

#include "codegen/kernel/cpu/reduce.h"

// A call computes rows [begin, end), or chunks of them, one after the other. The kernel loops over the elements of a
// row with vector instructions, over as many elements at a time as there are accumulators. If the row has several axes,
// the loop is in runs along the innermost one. Row results are variables.

namespace ingot::codegen {
namespace {

constexpr uint32_t kVector = 16;  ///< number of elements that the prelude's `over` computes at once

class Rows : public CpuReduce {
 public:
  Rows(const KernelContext& context, RowPart part) : CpuReduce(context, part) {
    const auto index = [&](std::string_view name, Level level) {
      return assembly_.variable(name, {ir::DType::I64}, level);
    };
    unit_ = index(part == RowPart::Pieces ? "unit" : "row", Level::Row);
    in_vector_ = index("k", Level::Element);
    run_ = index("e", Level::Thread);
    valid_ = assembly_.variable("valid", {ir::DType::Bool}, Level::Element);
    first_ = index("first", Level::Thread);
    count_ = index("count", Level::Thread);
    assembly_.place({Level::Thread}, run_lets_);
  }

  ValueId coordinate(uint32_t axis, Level) override {
    if (axis < kept_) return places_.coordinate(axis);
    if (axis + 1 < context_.rank()) return run_coordinate(axis);
    return has_runs() ? assembly_.index(IndexOp::Sub, element_index(), run_begin()) : element_index();
  }
  std::string suffix() override { return "_" + assembly_[in_vector_].name; }

 private:
  ValueId element_index() override {
    return assembly_.index(IndexOp::Add, assembly_.read(first_), assembly_.read(in_vector_));
  }

  void find_row() override {
    std::vector<GridFactor>& grid = assembly_.kernel.launch.grid;
    grid = {{0, kept_, 1}};
    row_number_ = assembly_.read(unit_);
    if (part_ == RowPart::Pieces) {
      grid = assembly_.kernel.launch.state_count;
      piece_ = let(row_, assembly_.index(IndexOp::Rem, assembly_.read(unit_), pieces()), "piece");
      row_number_ = let(row_, assembly_.index(IndexOp::Div, assembly_.read(unit_), pieces()), "row");
    }
    places_.set_row(row_number_);
  }

  Body units(Body body) override {
    const ValueId begin = assembly_.read(assembly_.kernel.begin), end = assembly_.read(assembly_.kernel.end);
    return {{Loop{Loop::Kind::Serial, unit_, begin, end, std::move(body)}}};
  }

  void for_each_row(Body& block, Body of_row) override { append(block, std::move(of_row)); }

  ValueId place_of_state(ValueId piece) override {
    if (part_ == RowPart::Pieces) return assembly_.read(unit_);
    return assembly_.index(IndexOp::Add, assembly_.index(IndexOp::Mul, row_number_, pieces()), piece);
  }

  // Elements

  /// A value of a run, with the same name in each loop over runs.
  ValueId let_run(ValueId value, const std::string& wanted) {
    const auto [name, is_new] = run_names_.try_emplace(wanted);
    if (is_new) name->second = assembly_.claim(wanted);
    return assembly_.let(run_lets_, value, name->second);
  }

  /// The index in its row of a run's first element.
  ValueId run_begin() {
    if (run_begin_) return run_begin_;
    const ValueId at = assembly_.read(run_);
    const ValueId inner = assembly_.index(IndexOp::Rem, at, places_.extent(context_.rank() - 1));
    return run_begin_ = let_run(assembly_.index(IndexOp::Sub, at, inner), "run");
  }

  ValueId run_coordinate(uint32_t axis) {
    ValueId& cached = coordinates_[axis];
    if (cached) return cached;
    const ValueId at = memory_.quotient(assembly_.read(run_), kept_, context_.rank(), axis);
    return cached = let_run(at, fmt::format("i{}", axis));
  }

  /// Whether the first element of each run belongs to the first accumulator.
  bool begins_with_first_class() { return !has_runs() || context_.layout.row_multiple >= rows_.classes; }

  /// Vectors start and end at multiples of the number of accumulators, so that an accumulator has the same place in
  /// each.
  void loop_over(Body& block, ValueId from, ValueId to) override {
    Pieces pieces{std::max(rows_.classes, kVector), first_, count_, from, to, take(in_piece_),
                  !begins_with_first_class()};
    Loop elements = simd(in_vector_, whole(0), assembly_.read(count_), take(element_));
    if (computes_past_end()) elements.kind = Loop::Kind::Over, elements.valid = valid_;
    pieces.body.push_back({std::move(elements)});
    if (!has_runs()) {
      append(block, take(run_lets_));
      block.push_back({std::move(pieces)});
    } else {
      const ValueId at = assembly_.read(run_);
      const ValueId next = assembly_.index(IndexOp::Add, run_begin(), places_.extent(context_.rank() - 1));
      const ValueId end = let_run(assembly_.index(IndexOp::Min, next, to), "run_end");
      pieces.begin = at, pieces.end = end;
      Body body = take(run_lets_);
      body.push_back({std::move(pieces)});
      body.push_back({Advance{run_, assembly_.index(IndexOp::Sub, end, at)}});
      block.push_back({Loop{Loop::Kind::Rows, run_, from, to, std::move(body)}});
    }
    run_begin_ = {};
    coordinates_.clear();
  }

  /// Whether the last vector of a row is computed whole, with loads masked past the row's end (docs/performance.md:
  /// cpu-masked-tail). Elements past the end must not be checked or used as an index, and there must be accumulators
  /// for them.
  bool computes_past_end() {
    return rows_.classes >= kVector && begins_with_first_class() && context_.outline.divisions.empty() &&
           std::ranges::none_of(context_.outline.accesses,
                                [](const auto& use) { return use.kind == AccessUse::Kind::Gather; });
  }
  ValueId valid() override { return computes_past_end() ? assembly_.read(valid_) : ValueId{}; }
  ValueId load(uint32_t access) override {
    return memory_.load(access, Level::Element, {}, places_.moves_in_row(access) ? valid() : ValueId{});
  }

  void prefetch_access(uint32_t access) override {
    if (has_runs()) return;
    const ValueId place = assembly_.index(IndexOp::Add, base(access), assembly_.read(first_));
    in_piece_.push_back({Call{Call::Function::WillWrite, {place, assembly_.read(count_)}}});
  }

  ValueId class_number() override {
    if (rows_.classes == 1) return whole(0);
    const ValueId in_vector = assembly_.read(in_vector_);
    if (begins_with_first_class()) return in_vector;
    const ValueId class_of_first = assembly_.index(IndexOp::Rem, assembly_.read(first_), whole(rows_.classes));
    if (class_name_.empty()) class_name_ = assembly_.claim("class_of_first");
    return assembly_.index(IndexOp::Add, assembly_.let(in_piece_, class_of_first, class_name_), in_vector);
  }

  SymbolId run_, first_, count_;  ///< of a vector: its first element, and the number of its elements
  SymbolId in_vector_, valid_;
  std::string class_name_;
  std::map<std::string, std::string> run_names_;
  ValueId run_begin_;
  std::map<uint32_t, ValueId> coordinates_;
  Body run_lets_, in_piece_;
};

}  // namespace

Kernel build_cpu_rows(const KernelContext& context, RowPart part) { return Rows(context, part).build(); }

}  // namespace ingot::codegen
