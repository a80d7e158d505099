#include "frontend/gradient/transpose.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "frontend/tensor/promotion.h"
#include "frontend/tensor/reduce.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/tensors.h"

// Transforms the dims of the values step by step into those of the source. Dims that belong to no dim of the source are
// summed. Dims that move along one dim of the source are merged into it. The remaining block is padded with zeros to
// the size of the source. All steps are functions of tensors.h, so the parts of a tensor remain concat blocks and cost
// nothing.

namespace ingot::frontend {
namespace {

/// Whether an access moves along a dim of the values of size `dim_size`, instead of broadcasting it. `size` is the size
/// of the dim in the access, and may be specialised.
bool varies_along(Builder& builder, ir::HostId size, ir::HostId dim_size) {
  if (is_one(builder, size)) return false;
  return builder.graph.host.same(size, dim_size) || builder.static_number(size).as_int() != 1;
}

class Transposition {
 public:
  Transposition(Builder& builder, const IndexedValue& values, const ir::Access& access,
                std::span<const ir::NodeId> indices, const Shape& source)
      : builder_(builder),
        source_(source),
        offsets_(access.offsets),
        values_(tensor_of(builder, values)),
        terms_(terms_of(builder, values.shape, access)),
        original_rank_(rank()) {
    for (size_t k = 0; k < access.indirect.size(); ++k) expand_gathered(access.indirect[k], {indices[k], values.shape});
    split_diagonals();
    make_strides_positive();
  }

  Tensor run() {
    if (const auto overlapping = overlapping_dim()) return run_by_slices(*overlapping);
    sum_unmapped_dims();
    group_by_source_dim();
    for (std::vector<size_t>& dims : dims_by_source_dim_)
      if (!sort_nested(dims)) throw_internal("overlapping windows are transposed");
    merge_and_order();
    for (size_t dim = 0; dim < source_.size(); ++dim) pad(dim);
    return std::move(values_);
  }

 private:
  size_t rank() const { return terms_.size(); }
  Shape shape() { return shape_of(builder_, values_); }

  /// Adds a last dim of this size to the values. The values are at position `position` along the new dim, a function of
  /// the index so far; at all other positions they are 0.
  void spread(ir::HostId size, const IndexedValue& position) {
    const size_t new_dim = rank();
    const auto widened = [&](Tensor tensor) {
      for (size_t dim = tensor.rank(); dim <= new_dim; ++dim) tensor = unsqueezed(builder_, tensor, dim);
      return tensor;
    };
    const Tensor values = widened(values_), positions = widened(tensor_of(builder_, position));
    Shape shape = shape_of(builder_, values);
    shape[new_dim] = size;
    const std::array both{expanded(builder_, values, shape), expanded(builder_, positions, shape)};
    values_ = combined(builder_, both, values.dtype, [&](std::span<const ir::NodeId> nodes) {
      const ir::NodeId coordinate = index_position(builder_, shape, new_dim);
      return value_where(builder_, builder_.graph.add(ir::Op::Eq, ir::DType::Bool, {coordinate, nodes[1]}), nodes[0]);
    });
  }

  /// Turns a gathered coordinate into a dim of the values.
  void expand_gathered(const ir::IndirectIndex& indirect, const IndexedValue& index) {
    if (indirect.terms.empty()) return;
    spread(indirect.extent, {wrapped_index(builder_, index.node, indirect.extent), index.shape});
    terms_.push_back(indirect.terms);
    limit_comparisons();
  }

  /// Limits the work if elements may be read several times: each element of the source then compares all reads.
  void limit_comparisons() {
    const Shape shape = this->shape();
    bool may_read_twice = false;
    for (size_t dim = 0; dim < rank(); ++dim) may_read_twice |= terms_[dim].empty() && !is_one(builder_, shape[dim]);
    if (!may_read_twice) return;
    // Up to `few_comparisons` comparisons, no other method (sorting, or adding row by row) is faster
    // (docs/performance.md: gather-gradient-limit).
    const int64_t few_comparisons = int64_t{1} << (builder_.on_cuda() ? 26 : 18), max_comparisons = int64_t{1} << 36;
    const ir::HostId limit = builder_.integer(builder_.signature.may_scatter ? max_comparisons : few_comparisons);
    const ir::HostId comparisons = product(builder_, shape);
    builder_.require(ir::Condition::Kind::Affordable, builder_.sub(limit, comparisons), comparisons,
                     "the gradient of this gather compares every index with every position, {1} times, which is too "
                     "slow: gather outside of the op");
  }

  /// Splits each dim of the values that moves along several dims of the source. The dim then moves along the first one,
  /// and a new dim of the values along each of the others.
  void split_diagonals() {
    for (size_t dim = 0; dim < rank(); ++dim) {
      while (terms_[dim].size() > 1) {
        const ir::Term term = terms_[dim].back();
        const auto uses_dim = [&](const std::vector<ir::Term>& terms) {
          return std::ranges::count(terms, term.dim, &ir::Term::dim) > 0;
        };
        if (std::ranges::count_if(terms_, uses_dim) > 1)
          fail_unsupported("through a diagonal of a dim that windows also move along");
        terms_[dim].pop_back();
        const Shape shape = this->shape();
        ir::NodeId position = index_position(builder_, shape, dim);
        position = index_binary(builder_, ir::Op::Mul, position, term.coef);
        position = index_binary(builder_, ir::Op::Add, position, offsets_[term.dim]);
        spread(source_[term.dim], {position, shape});
        terms_.push_back({{term.dim, builder_.integer(1)}});
        offsets_[term.dim] = builder_.integer(0);
      }
    }
  }

  /// Flips each dim that has a negative stride.
  void make_strides_positive() {
    const ir::HostPool& host = builder_.graph.host;
    for (size_t dim = 0; dim < rank(); ++dim) {
      if (terms_[dim].empty()) continue;
      ir::Term& term = terms_[dim].front();
      if (host.known_nonnegative(term.coef)) continue;
      const bool is_backwards = host.lower_bound(builder_.sub(builder_.integer(-1), term.coef)) >= 0 ||
                                builder_.static_number(term.coef).as_int() < 0;
      if (!is_backwards) continue;
      const ir::HostId last = builder_.sub(shape()[dim], builder_.integer(1));
      values_ = flipped(builder_, values_, dim);
      offsets_[term.dim] = builder_.add(offsets_[term.dim], builder_.mul(last, term.coef));
      term.coef = builder_.sub(builder_.integer(0), term.coef);
    }
  }

  /// A dim of the values whose steps do not nest with those of other dims along the same dim of the source, because
  /// windows overlap or leave gaps.
  std::optional<size_t> overlapping_dim() {
    group_by_source_dim();
    for (std::vector<size_t>& dims : dims_by_source_dim_)
      if (!sort_nested(dims)) return smallest_dim(dims);
    return std::nullopt;
  }

  /// The dim with the fewest elements; a dim that expand_gathered or split_diagonals added only if there is no other.
  size_t smallest_dim(std::vector<size_t> dims) {
    if (std::ranges::any_of(dims, [&](size_t dim) { return dim < original_rank_; }))
      std::erase_if(dims, [&](size_t dim) { return dim >= original_rank_; });
    const Shape shape = this->shape();
    return *std::ranges::min_element(dims, {}, [&](size_t dim) { return builder_.static_number(shape[dim]).as_int(); });
  }

  /// Transposes the slices along the overlapping dim one by one, and adds them up.
  Tensor run_by_slices(size_t overlapping) {
    std::optional<Tensor> sum;
    const int64_t count = builder_.static_number(shape()[overlapping]).as_int();
    for (int64_t k = 0; k < count; ++k) {
      Transposition slice = *this;
      slice.select_position(overlapping, builder_.integer(k));
      Tensor transposed_slice = slice.run();
      sum = sum ? added(builder_, *sum, transposed_slice) : std::move(transposed_slice);
    }
    return sum ? *sum : filled(builder_, source_, Number{builder_.graph.host.real(0.0)}, values_.dtype);
  }

  void select_position(size_t dim, ir::HostId position) {
    const ir::Term term = terms_[dim].front();
    offsets_[term.dim] = builder_.add(offsets_[term.dim], builder_.mul(position, term.coef));
    values_ = selected(builder_, values_, dim, position);
    terms_.erase(terms_.begin() + static_cast<ptrdiff_t>(dim));
    if (dim < original_rank_) --original_rank_;
  }

  void sum_unmapped_dims() {
    std::vector<size_t> unmapped;
    std::vector<std::vector<ir::Term>> mapped_terms;
    for (size_t dim = 0; dim < rank(); ++dim) {
      if (terms_[dim].empty())
        unmapped.push_back(dim);
      else
        mapped_terms.push_back(terms_[dim]);
    }
    const Shape shape = this->shape();
    std::vector<size_t> summed;
    for (const size_t dim : unmapped)
      if (!is_one(builder_, shape[dim])) summed.push_back(dim);
    if (!summed.empty()) values_ = reduce(builder_, ir::ReduceKind::Sum, values_, summed, true, {}).front();
    for (size_t k = unmapped.size(); k-- > 0;) values_ = selected(builder_, values_, unmapped[k], builder_.integer(0));
    terms_ = std::move(mapped_terms);
  }

  void group_by_source_dim() {
    dims_by_source_dim_.assign(source_.size(), {});
    for (size_t dim = 0; dim < rank(); ++dim)
      if (!terms_[dim].empty()) dims_by_source_dim_[terms_[dim].front().dim].push_back(dim);
  }

  ir::HostId step(size_t dim) const { return terms_[dim].front().coef; }

  /// Sorts dims from outer to inner: one step along a dim is as long as all steps along the next dim together. Returns
  /// whether that is possible.
  bool sort_nested(std::vector<size_t>& dims) {
    if (dims.size() < 2) return true;
    const Shape shape = this->shape();
    std::ranges::sort(dims);
    do {
      bool are_nested = true;
      for (size_t k = 0; k + 1 < dims.size(); ++k) {
        const size_t inner = dims[k + 1];
        are_nested &= builder_.graph.host.same(step(dims[k]), builder_.mul(step(inner), shape[inner]));
      }
      if (are_nested) return true;
    } while (std::ranges::next_permutation(dims).found);
    return false;
  }

  void merge_and_order() {
    std::vector<size_t> order;
    for (const std::vector<size_t>& dims : dims_by_source_dim_) {
      order.insert(order.end(), dims.begin(), dims.end());
      steps_.push_back(dims.empty() ? builder_.integer(1) : step(dims.back()));
    }
    values_ = permuted(builder_, values_, order);
    for (size_t dim = 0; dim < source_.size(); ++dim) {
      const size_t count = dims_by_source_dim_[dim].size();
      if (count == 0) values_ = unsqueezed(builder_, values_, dim);
      if (count > 1) values_ = flattened(builder_, values_, dim, count);
    }
  }

  Tensor zeros(size_t dim, ir::HostId size) {
    Shape shape = this->shape();
    shape[dim] = size;
    return filled(builder_, std::move(shape), Number{builder_.graph.host.real(0.0)}, values_.dtype);
  }

  /// Pads the block with zeros to the size of the source's dim.
  void pad(size_t dim) {
    const ir::HostPool& host = builder_.graph.host;
    const ir::HostId before = offsets_[dim], one = builder_.integer(1);
    ir::HostId length = shape()[dim];
    const int64_t distance = builder_.static_number(steps_[dim]).as_int();
    if (distance < 1) throw_internal("a block whose step is not positive");
    if (distance > 1) {  // insert as many zeros after each element as are stepped over
      values_ = unsqueezed(builder_, values_, dim + 1);
      const std::array both{values_, zeros(dim + 1, builder_.integer(distance - 1))};
      values_ = flattened(builder_, concatenated(builder_, both, dim + 1), dim, 2);
      const ir::HostId all = builder_.mul(length, builder_.integer(distance));
      if (host.same(builder_.sub(source_[dim], before), all)) {
        length = all;
      } else {
        length = builder_.add(builder_.mul(builder_.sub(length, one), builder_.integer(distance)), one);
        values_ = sliced(builder_, values_, dim, builder_.integer(0), length, 1);
      }
    }
    const ir::HostId after = builder_.sub(builder_.sub(source_[dim], before), length);
    std::vector<Tensor> parts;
    for (const ir::HostId size : {before, after})
      if (host.is_constant(size) && host.value(size).as_int() < 0) throw_internal("a block outside of its source");
    if (!host.is_int(before, 0)) parts.push_back(zeros(dim, before));
    parts.push_back(values_);
    if (!host.is_int(after, 0)) parts.push_back(zeros(dim, after));
    if (parts.size() > 1) values_ = concatenated(builder_, parts, dim);
  }

  [[noreturn]] void fail_unsupported(const std::string& what) const {
    builder_.fail("the gradient " + what + " is not supported", "f.reference runs the op's source in eager PyTorch");
  }

  Builder& builder_;
  const Shape& source_;
  Shape offsets_;  ///< the coordinates in the source of the first element of the values
  Tensor values_;
  std::vector<std::vector<ir::Term>> terms_;  ///< for each dim of the values, its terms in the source's coordinates
  size_t original_rank_;  ///< the number of dims that were not added for gathers and diagonals; these dims come first
  std::vector<std::vector<size_t>>
      dims_by_source_dim_;  ///< for each source dim, the dims that move along it, outer ones first
  Shape steps_;             ///< the step of the values along each dim of the source
};

}  // namespace

std::vector<std::vector<ir::Term>> terms_of(Builder& builder, const Shape& shape, const ir::Access& access) {
  std::vector<std::vector<ir::Term>> terms(shape.size());
  const size_t skipped = shape.size() - access.dims.size();
  for (size_t j = 0; j < access.dims.size(); ++j)
    if (varies_along(builder, access.dims[j].size, shape[skipped + j])) terms[skipped + j] = access.dims[j].terms;
  return terms;
}

Tensor transposed(Builder& builder, const IndexedValue& values, const ir::Access& access,
                  std::span<const ir::NodeId> indices, const Shape& source) {
  const bool is_empty =
      std::ranges::any_of(values.shape, [&](ir::HostId size) { return builder.graph.host.is_int(size, 0); });
  if (is_empty) {  // the access of an empty block may start outside of the source
    const ir::DType dtype = builder.graph[values.node].dtype;
    return filled(builder, source, Number{builder.graph.host.real(0.0)}, dtype);
  }
  return Transposition(builder, values, access, indices, source).run();
}

Tensor added(Builder& builder, const Tensor& a, const Tensor& b) {
  const auto is_zero = [&](ir::NodeId node) {
    const ir::HostPool& host = builder.graph.host;
    if (builder.graph[node].op != ir::Op::Scalar || !host.is_constant(builder.graph.host_of(node))) return false;
    return host.value(builder.graph.host_of(node)) == ir::HostValue::of(0.0);
  };
  const std::array both{a, b};
  return combined(builder, both, a.dtype, [&](std::span<const ir::NodeId> nodes) {
    if (is_zero(nodes[0])) return nodes[1];
    return is_zero(nodes[1]) ? nodes[0] : builder.graph.add(ir::Op::Add, a.dtype, {nodes[0], nodes[1]});
  });
}

}  // namespace ingot::frontend
