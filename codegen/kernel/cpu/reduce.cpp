#include <fmt/format.h>

#include "codegen/kernel/cpu/frame.h"
#include "codegen/kernel/reduction.h"
#include "codegen/kernel/targets.h"

// A call computes rows [begin, end), one after the other, phase by phase: a loop over the elements of a row, in runs
// along the innermost axis where it has several, that takes each into its class, a loop for vector instructions over as
// many elements as there are classes. What a row comes to is a variable. A row that is split is a unit for each of its
// pieces, and what these have found is combined by a second function, whose units are rows.

namespace ingot::codegen {
namespace {

class Reduce : public CpuFrame {
 public:
  Reduce(const KernelContext& context, RowPart part)
      : CpuFrame(context),
        part_(part),
        rows_(context.schedule.rows),
        reductions_(context, assembly_, memory_),
        places_(context, assembly_, memory_, row_),
        kept_(places_.kept()) {
    const auto index = [&](std::string_view name, Level level) {
      return assembly_.variable(name, {ir::DType::I64}, level);
    };
    unit_ = index(part == RowPart::Pieces ? "unit" : "row", Level::Row);
    element_index_ = index("i", Level::Element);
    run_ = index("e", Level::Thread);
    first_ = index("first", Level::Thread);
    count_ = index("count", Level::Thread);
    assembly_.place({Level::Kernel, Level::Row}, row_);
    assembly_.place({Level::Thread}, run_lets_);
    assembly_.place({Level::Fetch, Level::Element}, element_);
  }

  Kernel build() override {
    begin();
    LaunchInfo& launch = assembly_.kernel.launch;
    if (part_ != RowPart::Whole) {
      launch.states = reductions_.states();
      launch.state_count = {{0, kept_, 1}, {kept_, context_.layout.reduced_axes, rows_.piece}};
    }
    launch.grid = {{0, kept_, 1}};
    if (part_ == RowPart::Pieces) launch.grid = launch.state_count;
    if (part_ == RowPart::Rest) launch.entry += "_rest";
    find_row();
    const uint32_t phases = reductions_.phases();
    for (uint32_t phase = 0; phase < phases; ++phase) part_ == RowPart::Rest ? combine_pieces() : go_through(phase);
    if (part_ == RowPart::Pieces) {
      leave_states();
    } else {
      go_through(phases);
      store_rows();
    }
    const ValueId begin = assembly_.read(assembly_.kernel.begin), end = assembly_.read(assembly_.kernel.end);
    settle();
    append(assembly_.kernel.body, {{Loop{Loop::Kind::Serial, unit_, begin, end, std::move(body_)}}});
    return finish();
  }

  // Space

  bool has_linear() const override { return false; }
  ValueId coordinate(uint32_t axis, Level) override {
    if (axis < kept_) return places_.coordinate(axis);
    if (axis + 1 < context_.rank()) return run_coordinate(axis);
    const ValueId at = assembly_.read(element_index_);
    return has_runs() ? assembly_.index(IndexOp::Sub, at, run_begin()) : at;
  }
  ValueId base(uint32_t access) override { return places_.base(access); }
  uint32_t first_axis(uint32_t access) const override { return places_.moves_in_row(access) ? kept_ : 0; }
  uint32_t first_inner_axis() const override { return kept_; }

 private:
  bool has_runs() const { return context_.layout.reduced_axes > 1; }

  // Rows

  void find_row() {
    row_number_ = assembly_.read(unit_);
    if (part_ == RowPart::Pieces) {
      piece_ = let(row_, assembly_.index(IndexOp::Rem, assembly_.read(unit_), pieces()), "piece");
      row_number_ = let(row_, assembly_.index(IndexOp::Div, assembly_.read(unit_), pieces()), "row");
    }
    places_.set_row(row_number_);
  }

  ValueId row_coordinate(uint32_t axis) override { return places_.coordinate(axis); }
  ValueId row_index() override { return row_number_; }
  Body loops() override { return {}; }

  ValueId pieces() {
    const ValueId above = assembly_.index(IndexOp::Add, places_.length(), assembly_.whole(rows_.piece - 1));
    return assembly_.index(IndexOp::Div, above, assembly_.whole(rows_.piece));
  }

  /// What is settled so far stands in the body of the loop over rows.
  void settle() {
    append(body_, std::move(row_));
    row_.clear();
  }

  // Elements

  /// Where a run begins, among the elements of its row.
  ValueId run_begin() {
    if (run_begin_) return run_begin_;
    const ValueId at = assembly_.read(run_);
    const ValueId inner = assembly_.index(IndexOp::Rem, at, places_.extent(context_.rank() - 1));
    return run_begin_ = let(run_lets_, assembly_.index(IndexOp::Sub, at, inner), "run");
  }

  ValueId run_coordinate(uint32_t axis) {
    ValueId& known = coordinates_[axis];
    if (known) return known;
    const ValueId at = memory_.quotient(assembly_.read(run_), kept_, context_.rank(), axis);
    return known = let(run_lets_, at, fmt::format("i{}", axis));
  }

  /// The loop over elements [from, to) of a row for what stands in `element_`.
  void loop_over(Body& block, ValueId from, ValueId to) {
    const ValueId first = assembly_.read(first_);
    Loop elements{Loop::Kind::Simd, element_index_, first, assembly_.index(IndexOp::Add, first, assembly_.read(count_)),
                  std::move(element_)};
    if (checks_elements_) elements.maximum = bad_;
    element_.clear();
    const uint32_t size = std::max(rows_.classes, 16u);
    if (!has_runs()) {
      Pieces pieces{size, first_, count_, from, to, std::move(in_piece_), true};
      pieces.body.push_back({std::move(elements)});
      append(block, std::move(run_lets_));
      block.push_back({std::move(pieces)});
    } else {
      const ValueId at = assembly_.read(run_), begin = run_begin();
      const ValueId end = let(
          run_lets_,
          assembly_.index(IndexOp::Min, assembly_.index(IndexOp::Add, begin, places_.extent(context_.rank() - 1)), to),
          "run_end");
      Pieces pieces{size, first_, count_, at, end, std::move(in_piece_), true};
      pieces.body.push_back({std::move(elements)});
      Body body = std::move(run_lets_);
      body.push_back({std::move(pieces)});
      body.push_back({Advance{run_, assembly_.index(IndexOp::Sub, end, at)}});
      block.push_back({Loop{Loop::Kind::Rows, run_, from, to, std::move(body)}});
    }
    run_lets_.clear();
    in_piece_.clear();
    run_begin_ = {};
    coordinates_.clear();
  }

  /// The number of an element's class.
  ValueId class_number() {
    if (rows_.classes == 1) return assembly_.whole(0);
    const ValueId classes = assembly_.whole(rows_.classes), first = assembly_.read(first_);
    const ValueId whole = assembly_.index(IndexOp::Mul, assembly_.index(IndexOp::Div, first, classes), classes);
    if (base_name_.empty()) base_name_ = assembly_.claim("base");
    const ValueId base = assembly_.let(in_piece_, whole, base_name_);
    return assembly_.index(IndexOp::Sub, assembly_.read(element_index_), base);
  }

  // Phases

  /// What a phase computes of each element: what its reductions take, and the parts that are stored.
  void go_through(uint32_t phase) {
    const RowWork work = reductions_.of_phase(phase);
    if (work.job.roots.empty()) return;
    if (context_.layout.has_empty_rows) return find_nothing(work);
    const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, work.job);
    const std::vector<RowReduction*>& mine = work.reductions;
    std::vector<RowReduction> of_piece;
    for (const RowReduction* reduction : mine) of_piece.push_back(*reduction);
    Body declared;
    const bool nests = rows_.piece != 0 && part_ == RowPart::Whole && !mine.empty();
    if (nests)
      for (RowReduction& reduction : of_piece)
        for (SymbolId& result : reduction.results)
          result = assembly_.variable(assembly_[result].name + "_of_piece", assembly_[result].type, Level::Row);
    const ValueId number = mine.empty() ? ValueId{} : class_number();
    for (size_t r = 0; r < of_piece.size(); ++r) {
      reductions_.declare(declared, of_piece[r], rows_.classes, Loop::Kind::Serial);
      std::vector<ValueId> found = {values[r]};
      if (of_piece[r].types.size() > 1) found.push_back(assembly_.read(element_index_));
      reductions_.fold(element_, of_piece[r], {number}, found);
    }
    for (size_t s = 0; s < work.stores.size(); ++s)
      assign(memory_.target(work.stores[s], Level::Element), values[mine.size() + s]);
    settle();
    if (nests) return nest(mine, of_piece, std::move(declared));
    append(body_, std::move(declared));
    ValueId from = assembly_.whole(0), to = places_.length();
    if (part_ == RowPart::Pieces) {
      from = let(body_, assembly_.index(IndexOp::Mul, piece_, assembly_.whole(rows_.piece)), "from");
      to = let(body_, end_of_piece(from), "to");
    }
    loop_over(body_, from, to);
    for (RowReduction& reduction : of_piece) reductions_.combine(body_, reduction, rows_.classes, 1);
  }

  void find_nothing(const RowWork& work) {
    for (RowReduction* reduction : work.reductions) {
      reductions_.declare(body_, *reduction, rows_.classes, Loop::Kind::Serial);
      reductions_.combine(body_, *reduction, rows_.classes, 1);
    }
  }

  ValueId end_of_piece(ValueId from) {
    return assembly_.index(IndexOp::Min, assembly_.index(IndexOp::Add, from, assembly_.whole(rows_.piece)),
                           places_.length());
  }

  /// A long row's pieces, one after the other.
  void nest(const std::vector<RowReduction*>& mine, std::vector<RowReduction>& of_piece, Body declared) {
    const SymbolId piece = assembly_.variable("piece", {ir::DType::I64}, Level::Thread);
    const ValueId number = assembly_.read(piece);
    for (RowReduction* reduction : mine) reductions_.declare(body_, *reduction, kClassesOfPieces, Loop::Kind::Serial);
    Body inside;
    const ValueId from = let(inside, assembly_.index(IndexOp::Mul, number, assembly_.whole(rows_.piece)), "from");
    const ValueId to = let(inside, end_of_piece(from), "to");
    append(inside, std::move(declared));
    loop_over(inside, from, to);
    for (size_t r = 0; r < mine.size(); ++r) {
      reductions_.combine(inside, of_piece[r], rows_.classes, 1);
      std::vector<ValueId> found;
      for (const SymbolId result : of_piece[r].results) found.push_back(assembly_.read(result));
      reductions_.fold(inside, *mine[r], {assembly_.index(IndexOp::Rem, number, assembly_.whole(kClassesOfPieces))},
                       found);
    }
    body_.push_back({Loop{Loop::Kind::Serial, piece, assembly_.whole(0), pieces(), std::move(inside)}});
    for (RowReduction* reduction : mine) reductions_.combine(body_, *reduction, kClassesOfPieces, 1);
  }

  // Split rows

  void leave_states() {
    for (const RowReduction& reduction : reductions_.all())
      for (uint32_t v = 0; v < reduction.results.size(); ++v)
        row_.push_back({Assign{reductions_.state(reduction.first_state + v, assembly_.read(unit_), true),
                               assembly_.read(reduction.results[v])}});
  }

  void combine_pieces() {
    const SymbolId piece = assembly_.variable("piece", {ir::DType::I64}, Level::Element);
    const ValueId number = assembly_.read(piece);
    const ValueId base = assembly_.index(IndexOp::Mul, row_number_, pieces());
    Body inside;
    settle();
    for (RowReduction& reduction : reductions_.all()) {
      reductions_.declare(body_, reduction, kClassesOfPieces, Loop::Kind::Serial);
      std::vector<ValueId> found;
      for (uint32_t v = 0; v < reduction.types.size(); ++v)
        found.push_back(
            reductions_.state(reduction.first_state + v, assembly_.index(IndexOp::Add, base, number), false));
      reductions_.fold(inside, reduction, {assembly_.index(IndexOp::Rem, number, assembly_.whole(kClassesOfPieces))},
                       found);
    }
    body_.push_back({Loop{Loop::Kind::Serial, piece, assembly_.whole(0), pieces(), std::move(inside)}});
    for (RowReduction& reduction : reductions_.all()) reductions_.combine(body_, reduction, kClassesOfPieces, 1);
  }

  // What there is one of a row

  void store_rows() {
    const RowWork work = reductions_.of_rows();
    assembly_.place({Level::Thread, Level::Fetch, Level::Element}, row_);
    const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, work.job);
    for (size_t s = 0; s < values.size(); ++s)
      row_.push_back({Assign{memory_.target(work.stores[s], Level::Row), values[s]}});
    for (const auto& [access, value] : reductions_.kept_values())
      row_.push_back({Assign{memory_.target(access, Level::Row), value}});
  }

  static constexpr uint32_t kClassesOfPieces = 64;

  RowPart part_;
  const RowSchedule& rows_;
  RowReductions reductions_;
  RowPlaces places_;
  uint32_t kept_;
  SymbolId unit_, run_, first_, count_;
  std::string base_name_;
  ValueId row_number_, piece_, run_begin_;
  std::map<uint32_t, ValueId> coordinates_;
  Body body_, run_lets_, in_piece_;
};

}  // namespace

std::vector<Kernel> build_cpu_reduce(const KernelContext& context) {
  if (!context.schedule.rows.splits) return {Reduce(context, RowPart::Whole).build()};
  return {Reduce(context, RowPart::Pieces).build(), Reduce(context, RowPart::Rest).build()};
}

}  // namespace ingot::codegen
