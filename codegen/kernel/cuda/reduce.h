#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/kernel/computation.h"
#include "codegen/kernel/cuda/thread.h"
#include "codegen/kernel/reduction.h"

namespace ingot::codegen {

/// What CUDA kernels that reduce have in common. The threads of a row go through its elements together, phase by phase;
/// what each finds of its classes is made one, so that all of them know the row's values in the next phase. How rows
/// and elements are dealt out to threads is the derived classes'.
class CudaReduce : public Space, public Access {
 public:
  Kernel build();

  // Space

  ValueId linear(Level) override { return row_number_; }
  bool has_linear() const override { return false; }
  ValueId base(uint32_t access) override { return places_.base(access); }
  uint32_t first_axis(uint32_t access) const override { return places_.first_axis(access); }
  Level level_of_names() const override { return Level::Thread; }
  std::string suffix() override { return lanes_ > 1 ? "_" + assembly_[lane_].name : "_i"; }

  // Access

  std::vector<ValueId> wrap(uint32_t access, const std::vector<ValueId>& indices, ValueId guard) override;
  ValueId gather(uint32_t access, const std::vector<ValueId>& wrapped) override {
    return memory_.load(access, Level::Element, wrapped);
  }
  std::optional<ValueId> position(uint32_t access) override { return memory_.position(access, Level::Element); }
  ValueId divisor(ValueId value, uint32_t) override { return value; }
  std::optional<ValueId> quotient(ValueId value, ValueId divisor) override;

 protected:
  /// How many lanes and threads a row has in this part of it. Where lanes are neighbouring rows, `free_axes` is 1.
  CudaReduce(const KernelContext& context, RowPart part, uint32_t lanes, uint32_t threads, uint32_t free_axes);

  /// Settles row_number_ and thread_; at the end of the kernel's indices.
  virtual void find_row() = 0;
  /// Settles element_index_.
  virtual void find_element() = 0;
  virtual void go_through(uint32_t phase) = 0;
  virtual void leave_states() = 0;
  virtual void combine_pieces() = 0;
  virtual void store_rows() = 0;
  /// Whether this thread stores what there is one of its row; none: it does in any case.
  virtual ValueId stores_row();
  /// What stands ahead of all phases, and behind them.
  virtual Body ahead() { return {}; }
  virtual Body behind() { return {}; }
  /// What stands around all that is done of a row.
  virtual Body of_all_rows(Body of_row) { return of_row; }

  const AccessSchedule& how(uint32_t access) const { return context_.schedule.accesses[access]; }

  ValueId whole(int64_t number) { return assembly_.whole(number); }
  ValueId times(ValueId a, int64_t b) { return b == 1 ? a : assembly_.index(IndexOp::Mul, a, whole(b)); }
  ValueId plus(ValueId a, ValueId b) { return assembly_.index(IndexOp::Add, a, b); }
  /// An index under this name, of the type of indices.
  ValueId let(Body& block, ValueId value, std::string_view wanted);
  /// An index of elements, called by a name that is claimed, wherever its Let stands.
  ValueId named(ValueId value, const std::string& name);
  ValueId wide(ValueId index);

  /// What is launched: blocks of so many threads for so many rows each.
  void launch(uint32_t threads, uint32_t rows);

  /// A variable for the `lanes_` neighbours of an access that one thread has at once, and these in memory.
  SymbolId vector_of(uint32_t access);
  ValueId vector_at(uint32_t access);
  /// In a step; what stores its vector stands in `after`.
  void store(uint32_t access, ValueId value, Body& after);
  /// What is done of one element of a step.
  Body& element() { return lanes_ > 1 ? element_ : step_; }
  /// The statements of a step, which is begun anew.
  Body take_step(Body after);
  Loop over_lanes(Body body) { return {Loop::Kind::Unrolled, lane_, whole(0), whole(lanes_), std::move(body)}; }

  void arrive();

  /// What is settled so far stands in the kernel's body.
  void settle();
  static void append(Body& body, Body more);

  const KernelContext& context_;
  RowPart part_;
  const RowSchedule& rows_;
  uint32_t lanes_, threads_;
  Assembly assembly_;
  Memory memory_;
  SymbolId lane_, step_number_;
  RowReductions reductions_;
  Body row_;
  RowPlaces places_;
  uint32_t kept_;
  ValueId thread_, piece_, row_number_, element_index_;
  std::map<uint32_t, SymbolId> vectors_;  ///< of a step
  Body step_, element_, body_, row_stores_;
};

/// Rows along which neighbours in memory lie, mostly: the threads of a row are neighbours.
std::vector<Kernel> build_cuda_rows(const KernelContext& context);
/// Rows that lie side by side: neighbouring threads have neighbouring rows.
std::vector<Kernel> build_cuda_columns(const KernelContext& context);

}  // namespace ingot::codegen
