#include "frontend/gradient/scatter.h"

#include <algorithm>
#include <utility>

#include "frontend/gradient/transpose.h"
#include "frontend/gradient/varying_dims.h"
#include "frontend/tensor/reduce.h"
#include "frontend/tensor/reindex.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/tensors.h"

namespace ingot::frontend {
namespace {

/// For each dim of the values, whether an index varies along the dim. `rank`: the number of dims of the values.
std::vector<bool> indexed_dims(const Builder& builder, size_t rank, std::span<const ir::NodeId> indices) {
  VaryingDims varying;
  for (const ir::NodeId index : indices) add_varying(varying, varying_dims_of(builder, index));
  std::vector<bool> indexed(rank);
  for (size_t from_last = 0; from_last < std::min(rank, varying.size()); ++from_last)
    indexed[rank - 1 - from_last] = varying[from_last].has_value();
  return indexed;
}

class ScatterAddBuilder {
 public:
  ScatterAddBuilder(Builder& builder, const IndexedValue& values, const ir::Access& access,
                    std::span<const ir::NodeId> indices, const Shape& source)
      : builder_(builder),
        values_(values),
        access_(access),
        indices_(indices),
        source_(source),
        terms_(terms_of(builder, values.shape, access)),
        indexed_(indexed_dims(builder, values.shape.size(), indices)) {}

  /// Whether the access may read an element twice. True if some dim of the values, of a size other than 1, has no
  /// affine term: elements along this dim differ in position by an index alone, or not at all.
  bool may_read_element_twice() const {
    for (size_t dim = 0; dim < terms_.size(); ++dim)
      if (terms_[dim].empty() && !is_one(builder_, values_.shape[dim])) return true;
    return false;
  }

  TensorScatterAdd run() {
    std::vector<size_t> order, copied;
    for (size_t dim = 0; dim < terms_.size(); ++dim) (covers_source_dim(dim) ? copied : order).push_back(dim);
    TensorScatterAdd result;
    for (const size_t dim : copied) result.copied_dims.push_back(terms_[dim][0].dim);
    for (uint32_t dim = 0; dim < source_.size(); ++dim)
      if (std::ranges::count(result.copied_dims, dim) == 0) result.scattered_dims.push_back(dim);

    result.positions = tensor_of(builder_, {position(order, result.scattered_dims), values_.shape});
    for (size_t k = copied.size(); k-- > 0;)
      result.positions = selected(builder_, result.positions, copied[k], builder_.integer(0));
    order.insert(order.end(), copied.begin(), copied.end());
    result.values = permuted(builder_, tensor_of(builder_, values_), order);
    return result;
  }

 private:
  /// Whether the coordinate along dim `dim` of the values is the coordinate along a whole dim s of the source. No other
  /// dim of the values and no index may change the coordinate along s, and no index may vary along `dim`.
  bool covers_source_dim(size_t dim) const {
    if (terms_[dim].size() != 1 || indexed_[dim]) return false;
    const ir::HostPool& host = builder_.graph.host;
    const ir::Term& term = terms_[dim][0];
    const auto uses_dim = [&](const std::vector<ir::Term>& terms) {
      return std::ranges::count(terms, term.dim, &ir::Term::dim) > 0;
    };
    return host.is_int(term.coef, 1) && host.is_int(access_.offsets[term.dim], 0) &&
           host.same(values_.shape[dim], source_[term.dim]) && std::ranges::count_if(terms_, uses_dim) == 1 &&
           std::ranges::none_of(access_.indirect,
                                [&](const ir::IndirectIndex& indirect) { return uses_dim(indirect.terms); });
  }

  /// The row-major position in the dims `scattered_dims` of the source, computed from the coordinates along the dims
  /// `dims` of the values and from the indices. An index out of range gives a position past the end.
  ir::NodeId position(std::span<const size_t> dims, std::span<const uint32_t> scattered_dims) {
    Shape sizes;
    for (const uint32_t dim : scattered_dims) sizes.push_back(source_[dim]);
    Shape steps(source_.size(), builder_.integer(0));
    ir::HostId first = builder_.integer(0);
    for (size_t k = 0; k < scattered_dims.size(); ++k) {
      steps[scattered_dims[k]] = product(builder_, std::span(sizes).subspan(k + 1));
      first = builder_.add(first, builder_.mul(access_.offsets[scattered_dims[k]], steps[scattered_dims[k]]));
    }
    ir::NodeId position = index_scalar(builder_, first);
    for (const size_t dim : dims)
      add(position, terms_[dim], steps, [&] { return index_position(builder_, values_.shape, dim); });
    std::optional<ir::NodeId> is_any_outside;
    for (size_t k = 0; k < indices_.size(); ++k) {
      const ir::NodeId index = wrapped_index(builder_, indices_[k], access_.indirect[k].extent);
      add(position, access_.indirect[k].terms, steps, [&] { return index; });
      const ir::NodeId is_outside = outside_of(index, access_.indirect[k].extent);
      is_any_outside = is_any_outside
                           ? builder_.graph.add(ir::Op::LogicalOr, ir::DType::Bool, {*is_any_outside, is_outside})
                           : is_outside;
    }
    const ir::NodeId past_end = index_scalar(builder_, product(builder_, sizes));
    return builder_.graph.add(ir::Op::Where, ir::DType::I64, {*is_any_outside, past_end, position});
  }

  /// Adds a coordinate to `position`, times its step. `terms` are the coordinate's terms over the dims of the source,
  /// `steps` the steps of the position along these dims.
  template <typename Coordinate>
  void add(ir::NodeId& position, const std::vector<ir::Term>& terms, const Shape& steps, const Coordinate& coordinate) {
    ir::HostId step = builder_.integer(0);
    for (const ir::Term& term : terms) step = builder_.add(step, builder_.mul(term.coef, steps[term.dim]));
    if (builder_.graph.host.is_int(step, 0)) return;
    position = builder_.graph.add(ir::Op::Add, ir::DType::I64,
                                  {index_binary(builder_, ir::Op::Mul, coordinate(), step), position});
  }

  ir::NodeId outside_of(ir::NodeId index, ir::HostId extent) {
    const auto compare = [&](ir::Op op, ir::HostId with) {
      return builder_.graph.add(op, ir::DType::Bool, {index, index_scalar(builder_, with)});
    };
    return builder_.graph.add(ir::Op::LogicalOr, ir::DType::Bool,
                              {compare(ir::Op::Lt, builder_.integer(0)), compare(ir::Op::Ge, extent)});
  }

  Builder& builder_;
  const IndexedValue& values_;
  const ir::Access& access_;
  std::span<const ir::NodeId> indices_;
  const Shape& source_;
  std::vector<std::vector<ir::Term>> terms_;
  std::vector<bool> indexed_;
};

}  // namespace

IndexedValue sum_unindexed_dims(Builder& builder, const IndexedValue& values, const ir::Access& access,
                                std::span<const ir::NodeId> indices) {
  if (indices.empty()) return values;
  const auto terms = terms_of(builder, values.shape, access);
  const std::vector<bool> indexed = indexed_dims(builder, values.shape.size(), indices);
  std::vector<size_t> unindexed;
  for (size_t dim = 0; dim < terms.size(); ++dim)
    if (terms[dim].empty() && !indexed[dim] && !is_one(builder, values.shape[dim])) unindexed.push_back(dim);
  if (unindexed.empty()) return values;
  return indexed_value_of(
      builder, reduce(builder, ir::ReduceKind::Sum, tensor_of(builder, values), unindexed, true, {}).front());
}

std::optional<TensorScatterAdd> as_scatter_add(Builder& builder, const IndexedValue& values, const ir::Access& access,
                                               std::span<const ir::NodeId> indices, const Shape& source) {
  if (indices.empty()) return std::nullopt;
  ScatterAddBuilder scatter_add(builder, values, access, indices, source);
  if (!scatter_add.may_read_element_twice()) return std::nullopt;
  return scatter_add.run();
}

}  // namespace ingot::frontend
