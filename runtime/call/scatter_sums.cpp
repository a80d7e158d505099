#include "runtime/call/scatter_sums.h"

#include <ATen/Context.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_index_put_impl.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>

#include <numeric>

namespace ingot::runtime {

namespace {

std::vector<int64_t> sizes_at(const std::vector<int64_t>& sizes, std::span<const uint32_t> dims) {
  std::vector<int64_t> chosen;
  for (const uint32_t dim : dims) chosen.push_back(sizes[dim]);
  return chosen;
}

int64_t count_of(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>{});
}

/// Adds rows: `values` [n, m] at `positions` [n] of a tensor [size, m]. A position out of range is `size`; its
/// row is dropped.
at::Tensor add_rows(const at::Tensor& values, const at::Tensor& positions, int64_t size, bool atomics) {
  const int64_t rows = size + 1;
  if (values.numel() == 0) return at::zeros({size, values.size(1)}, values.options());
  at::Tensor sum;
  if (values.is_cuda()) {
    sum = at::zeros({rows, values.size(1)}, values.options());
    if (atomics)
      sum.index_add_(0, positions, values);
    else
      at::_index_put_impl_(sum, {positions}, values, /*accumulate=*/true, /*unsafe=*/true);
  } else {
    sum = at::embedding_dense_backward(values, positions, rows, /*padding_idx=*/-1, /*scale_grad_by_freq=*/false);
  }
  return sum.narrow(0, 0, size);
}

/// The sum of scattered values over a result with `sizes`. The strides are those that the computation gives.
at::Tensor scatter_sum(const ir::ScatterAdd& scatter, const Results& results, const std::vector<int64_t>& sizes,
                       bool atomics) {
  const at::Tensor &values = results[scatter.values], &positions = results[scatter.positions];
  const std::vector<int64_t> scattered_sizes = sizes_at(sizes, scatter.scattered_dims),
                             copied_sizes = sizes_at(sizes, scatter.copied_dims);
  at::Tensor sum = add_rows(values.reshape({positions.numel(), count_of(copied_sizes)}), positions.reshape({-1}),
                            count_of(scattered_sizes), atomics);
  std::vector<int64_t> shape = scattered_sizes;
  shape.insert(shape.end(), copied_sizes.begin(), copied_sizes.end());
  std::vector<int64_t> order(sizes.size());
  for (size_t k = 0; k < scattered_sizes.size(); ++k) order[scatter.scattered_dims[k]] = static_cast<int64_t>(k);
  for (size_t k = 0; k < copied_sizes.size(); ++k)
    order[scatter.copied_dims[k]] = static_cast<int64_t>(scattered_sizes.size() + k);
  return sum.view(shape).permute(order);
}

}  // namespace

void add_scatter_sums(const BoundCall& call, Results& results) {
  const at::AutoDispatchBelowADInplaceOrView raw;
  for (size_t r = 0; r < call.results.size(); ++r) {
    const BoundCall::Result& result = call.results[r];
    if (!result.is_scatter_sum) continue;
    const Program::Result& program_result = call.program->results[r];
    if (call.atomics && results[program_result.scatters.front().values].is_cuda())
      at::globalContext().alertNotDeterministic(call.program->name + " with atomics=True");
    at::Tensor sum;
    for (const ir::ScatterAdd& scatter : program_result.scatters) {
      const at::Tensor part = scatter_sum(scatter, results, result.sizes, call.atomics);
      sum = sum.defined() ? sum.add_(part) : part;
    }
    if (program_result.addend) sum.add_(results[*program_result.addend]);
    if (sum.scalar_type() != result.dtype || sum.strides() != at::IntArrayRef(result.strides)) {
      const at::Tensor converted = at::empty_strided(result.sizes, result.strides, sum.options().dtype(result.dtype));
      sum = converted.copy_(sum);
    }
    results[r] = std::move(sum);
  }
}

}  // namespace ingot::runtime
