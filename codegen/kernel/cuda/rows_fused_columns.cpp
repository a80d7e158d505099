#include "codegen/kernel/cuda/rows.h"

// Kernels over rows that also write fused column partials: a thread iterates over rows, and keeps the accumulators of
// its columns.

namespace ingot::codegen {

void Rows::find_first_row_of_chunk() {
  Body& indices = assembly_.kernel.indices;
  const uint32_t rows = kept_map(maps_).count(Scope::Block);
  launch(rows);
  LaunchInfo& launch = assembly_.kernel.launch;
  launch.grid = {{.axes = 0, .times = column_chunks_ / rows}};
  launch.partials = reductions_.partials();
  launch.partial_count = {{row_axes_, context_.layout.reduced_axes, 1, column_chunks_}};
  const ValueId self = thread_number(assembly_, Level::Row);
  const auto part = [&](IndexOp op) { return assembly_.index(op, self, integer(threads_)); };
  thread_ = rows == 1 ? self : let(indices, part(IndexOp::Rem), "thread");
  const ValueId block = block_number(context_, assembly_);
  chunk_ = let(indices, rows == 1 ? block : plus(times(block, rows), part(IndexOp::Div)), "chunk");
  row_of_chunk_ = assembly_.variable("row", {context_.index_dtype()}, Level::Row);
  row_number_ = assembly_.read(row_of_chunk_);
  places_.set_row(row_number_);
  first_places_.set_row(chunk_);
  next_number_ = named(plus(row_number_, integer(column_chunks_)), assembly_.claim("next"));
  next_places_.set_row(next_number_);
}

Body Rows::in_row_loop(Body of_row) {
  if (column_chunks_ == 0) return of_row;
  Body all = std::move(columns_declared_);
  append(all, std::move(first_loads_.declared));
  if (residency_.prefetches) all.push_back(load_row(chunk_, std::move(first_row_), first_loads_));
  if (threads_ > 32 && !reductions_.all().empty())  // another thread may still read results in shared memory
    of_row.push_back({Barrier{Barrier::Kind::Block}});
  Loop loop{Loop::Kind::Strided, row_of_chunk_, chunk_, places_.elements(0, row_axes_), std::move(of_row)};
  loop.step = column_chunks_, loop.unroll = 1;
  all.push_back({std::move(loop)});
  all.push_back(loop_over(store_columns()));
  return all;
}

Body Rows::store_columns() {
  const ValueId at = plus(assembly_.index(IndexOp::Mul, chunk_, places_.length()), element_index_);
  Body stores;
  for (const RowReduction& reduction : reductions_.column_reductions()) {
    const ValueId partial = assembly_.item(assembly_.read(reduction.accumulators[0]), assembly_.read(step_number_));
    stores.push_back(
        lanes_ == 1 ? Statement{Assign{reductions_.partial(reduction.first_partial, at, true), partial}}
                    : Statement{StoreVector{assembly_.read(reductions_.partials_pointer(reduction.first_partial, true)),
                                            at, partial}});
  }
  return stores;
}

SymbolId Rows::prefetched(uint32_t access, SymbolId array) {
  const SymbolId next = assembly_.variable("next_" + assembly_[array].name, assembly_[array].type, Level::Thread);
  assembly_[next].extents = assembly_[array].extents;
  assembly_[next].meaning = assembly_[array].meaning;
  first_loads_.declared.push_back({Declare{next}});
  loading_ = &first_places_;
  load(access, next, first_loads_);
  loading_ = &next_places_;
  load(access, next, next_loads_);
  loading_ = nullptr;
  return next;
}

Statement Rows::load_row(ValueId row, Body places, Loads& loads) {
  places.push_back(loop_of(loads));
  return {If{assembly_.index(IndexOp::Less, row, places_.elements(0, row_axes_)), std::move(places)}};
}

Statement Rows::loop_of(Loads& loads) {
  if (!loads.lane.empty()) loads.step.push_back({over_lanes(std::move(loads.lane))});
  return loop_over(std::move(loads.step));
}

void Rows::fold_into_columns(const RowWork& work, std::vector<ValueId>::const_iterator& value) {
  for (RowReduction* reduction : work.column_reductions) {
    reductions_.declare_columns(columns_declared_, *reduction, residency_.steps, lanes_);
    std::vector<ValueId> operands = {*value++};
    if (reductions_.takes_factors(*reduction)) operands.push_back(*value++);
    const AccumulatorPlace place{assembly_.read(step_number_), lanes_ > 1 ? assembly_.read(lane_) : ValueId{}};
    reductions_.fold(element(), *reduction, place, operands);
  }
}

}  // namespace ingot::codegen
