#include "frontend/gradient/transpose.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "frontend/tensor/promotion.h"
#include "frontend/tensor/reduce.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/tensors.h"

// The dims of the values are brought, step by step, to those of the source: what leads nowhere is summed, dims that go
// along one dim of the source together are merged into it, and what is left is a block of the source, beside which
// there are zeros. The steps are those of any tensor (tensors.h), so that blocks stay tiles and cost nothing.

namespace ingot::frontend {
namespace {

class Transposition {
 public:
  Transposition(Builder& builder, const Field& values, const ir::Access& access, const Shape& source)
      : builder_(builder), access_(access), source_(source), values_(tensor_of(builder, values)) {
    const size_t skipped = values.shape.size() - access.dims.size();
    for (size_t dim = 0; dim < values.shape.size(); ++dim) {
      const bool moves = dim >= skipped && goes_along(access.dims[dim - skipped].size, values.shape[dim]);
      terms_.push_back(moves ? access.dims[dim - skipped].terms : std::vector<ir::Term>());
    }
  }

  /// Which dim of the values goes along a dim of the source in steps that do not fit those of another: windows overlap,
  /// or lie apart.
  std::optional<size_t> loose_dim() {
    turn_round();
    bring_together();
    for (Along& along : along_)
      if (!along.dims.empty() && !put_in_order(along)) return fewest(along.dims);
    return std::nullopt;
  }

  Tensor run(std::span<const ir::NodeId> indices, const Shape& space) {
    turn_round();
    for (size_t k = 0; k < access_.leads.size(); ++k) place(access_.leads[k], {indices[k], space});
    sum_what_leads_nowhere();
    bring_together();
    for (Along& along : along_)
      if (!along.dims.empty() && !put_in_order(along)) throw_internal("overlapping windows are transposed");
    merge_and_order();
    for (size_t dim = 0; dim < source_.size(); ++dim)
      if (!along_[dim].guarded_by) pad(dim);
    for (size_t dim = 0; dim < source_.size(); ++dim)
      if (along_[dim].guarded_by) keep_diagonal(dim);
    return std::move(values_);
  }

 private:
  /// What goes along a dim of the source.
  struct Along {
    std::vector<size_t> dims;  ///< of the values, outer ones first; none where the coordinate is the offset alone
    ir::HostId step;
    std::optional<size_t> guarded_by = {};  ///< a dim of the source that has the same index: a diagonal
  };

  [[noreturn]] void refuse(const std::string& what) const {
    builder_.fail("the gradient " + what + " is not known", "f.reference runs the same text in eager PyTorch");
  }

  size_t rank() const { return terms_.size(); }

  /// Whether an access of this size goes along a dim, or is broadcast.
  bool goes_along(ir::HostId size, ir::HostId dim) {
    if (is_one(builder_, size)) return false;
    return builder_.graph.host.same(size, dim) || builder_.static_number(size).as_int() != 1;
  }

  /// A dim that goes backwards, forwards.
  void turn_round() {
    ir::HostPool& host = builder_.graph.host;
    for (size_t dim = 0; dim < rank(); ++dim) {
      const auto is_backwards = [&](const ir::Term& term) {
        return host.least(builder_.sub(builder_.integer(-1), term.coef)) >= 0;
      };
      if (terms_[dim].empty() || !std::ranges::all_of(terms_[dim], is_backwards)) continue;
      const ir::HostId last = builder_.sub(shape_of(builder_, values_)[dim], builder_.integer(1));
      values_ = flipped(builder_, values_, dim);
      for (ir::Term& term : terms_[dim]) {
        ir::HostId& offset = access_.offsets[term.dim];
        offset = builder_.add(offset, builder_.mul(last, term.coef));
        term.coef = builder_.sub(builder_.integer(0), term.coef);
      }
    }
  }

  /// A gathered coordinate as a dim of the values, which are 0 but at the one index of it that was read.
  void place(const ir::Lead& lead, const Field& index) {
    if (lead.terms.empty()) return;
    if (lead.terms.size() != 1) refuse("of a gather along several dims at once");
    const size_t last = rank();
    const auto widened = [&](const Tensor& tensor) {
      Tensor wide = tensor;
      for (size_t dim = tensor.rank(); dim <= last; ++dim) wide = unsqueezed(builder_, wide, dim);
      return wide;
    };
    Tensor values = widened(values_), chosen = widened(tensor_of(builder_, index));
    Shape shape = shape_of(builder_, values);
    shape[last] = lead.extent;
    bound_steps(shape);
    values = expanded(builder_, values, shape), chosen = expanded(builder_, chosen, shape);
    const std::array both{values, chosen};
    values_ = combined(builder_, both, values.dtype, [&](std::span<const ir::NodeId> nodes) {
      const ir::NodeId at = wrapped_index(builder_, nodes[1], lead.extent);
      const ir::NodeId here = index_position(builder_, shape, last);
      return value_where(builder_, builder_.graph.add(ir::Op::Eq, ir::DType::Bool, {here, at}), nodes[0]);
    });
    terms_.push_back(lead.terms);
  }

  /// Where elements may be read several times, each element of the source looks at all reads.
  void bound_steps(const Shape& shape) {
    bool repeats = false;
    for (size_t dim = 0; dim < rank(); ++dim) repeats |= terms_[dim].empty() && !is_one(builder_, shape[dim]);
    if (!repeats) return;
    constexpr int64_t kMostSteps = int64_t{1} << 36;
    const ir::HostId steps = product(builder_, shape);
    builder_.require(ir::Condition::Kind::NonNegative, builder_.sub(builder_.integer(kMostSteps), steps), steps,
                     "the gradient of this gather compares every index with every place, {1} times, which is too slow: "
                     "gather outside of the op");
  }

  void sum_what_leads_nowhere() {
    std::vector<size_t> nowhere;
    std::vector<std::vector<ir::Term>> kept;
    for (size_t dim = 0; dim < rank(); ++dim) {
      if (terms_[dim].empty())
        nowhere.push_back(dim);
      else
        kept.push_back(terms_[dim]);
    }
    const Shape shape = shape_of(builder_, values_);
    std::vector<size_t> summed;
    for (const size_t dim : nowhere)
      if (!is_one(builder_, shape[dim])) summed.push_back(dim);
    if (!summed.empty()) values_ = reduce(builder_, ir::ReduceKind::Sum, values_, summed, true, {}).front();
    for (size_t k = nowhere.size(); k-- > 0;) values_ = selected(builder_, values_, nowhere[k], builder_.integer(0));
    terms_ = std::move(kept);
  }

  void bring_together() {
    along_.assign(source_.size(), {{}, builder_.integer(1)});
    for (size_t dim = 0; dim < rank(); ++dim) {
      if (terms_[dim].empty()) continue;
      along_[terms_[dim].front().dim].dims.push_back(dim);
      for (const ir::Term& other : std::span(terms_[dim]).subspan(1)) {
        if (along_[other.dim].guarded_by || !builder_.graph.host.is_int(terms_[dim].front().coef, 1))
          refuse("through a diagonal of this kind");
        along_[other.dim].guarded_by = terms_[dim].front().dim;
        along_[other.dim].step = other.coef;
      }
    }
    for (Along& along : along_) {
      if (along.guarded_by && !along.dims.empty()) refuse("through a diagonal of this kind");
    }
  }

  /// Outer dims first: each takes as large a step as all of the next one.
  bool put_in_order(Along& along) {
    const Shape shape = shape_of(builder_, values_);
    const auto step = [&](size_t dim) { return terms_[dim].front().coef; };
    std::ranges::sort(along.dims);
    do {
      bool nested = true;
      for (size_t k = 0; k + 1 < along.dims.size(); ++k) {
        const size_t inner = along.dims[k + 1];
        nested &= builder_.graph.host.same(step(along.dims[k]), builder_.mul(step(inner), shape[inner]));
      }
      if (!nested) continue;
      along.step = step(along.dims.back());
      return true;
    } while (std::ranges::next_permutation(along.dims).found);
    return false;
  }

  size_t fewest(const std::vector<size_t>& dims) {
    const Shape shape = shape_of(builder_, values_);
    return *std::ranges::min_element(dims, {}, [&](size_t dim) { return builder_.static_number(shape[dim]).as_int(); });
  }

  void merge_and_order() {
    std::vector<size_t> order;
    for (const Along& along : along_) order.insert(order.end(), along.dims.begin(), along.dims.end());
    values_ = permuted(builder_, values_, order);
    for (size_t dim = 0; dim < source_.size(); ++dim) {
      const size_t count = along_[dim].dims.size();
      if (count == 0) values_ = unsqueezed(builder_, values_, dim);
      if (count > 1) values_ = flattened(builder_, values_, dim, count);
    }
  }

  Tensor zeros(size_t dim, ir::HostId size) {
    Shape shape = shape_of(builder_, values_);
    shape[dim] = size;
    return filled(builder_, std::move(shape), builder_.graph.host.real(0.0), values_.dtype);
  }

  /// The block as the dim of the source that it is a part of.
  void pad(size_t dim) {
    ir::HostPool& host = builder_.graph.host;
    const ir::HostId before = access_.offsets[dim];
    ir::HostId length = shape_of(builder_, values_)[dim];
    const int64_t distance = builder_.static_number(along_[dim].step).as_int();
    if (distance > 1) {  // each element with as many zeros behind it as are stepped over
      values_ = unsqueezed(builder_, values_, dim + 1);
      const std::array both{values_, zeros(dim + 1, builder_.integer(distance - 1))};
      values_ = flattened(builder_, concatenated(builder_, both, dim + 1), dim, 2);
      const ir::HostId reach = builder_.add(
          builder_.mul(builder_.sub(length, builder_.integer(1)), builder_.integer(distance)), builder_.integer(1));
      const ir::HostId all = builder_.mul(length, builder_.integer(distance));
      const ir::HostId room = builder_.sub(source_[dim], before);
      if (host.same(room, all)) {
        length = all;
      } else {
        values_ = sliced(builder_, values_, dim, builder_.integer(0), reach, 1);
        length = reach;
      }
    }
    const ir::HostId after = builder_.sub(builder_.sub(source_[dim], before), length);
    std::vector<Tensor> parts;
    if (!host.is_int(before, 0)) parts.push_back(zeros(dim, before));
    parts.push_back(values_);
    if (!host.is_int(after, 0)) parts.push_back(zeros(dim, after));
    if (parts.size() > 1) values_ = concatenated(builder_, parts, dim);
  }

  /// The values where two coordinates have the same index.
  void keep_diagonal(size_t dim) {
    const size_t other = *along_[dim].guarded_by;
    Shape shape = shape_of(builder_, values_);
    shape[dim] = source_[dim];
    const Field wide = field_of(builder_, expanded(builder_, values_, shape));
    const ir::HostId shift = builder_.sub(access_.offsets[dim], builder_.mul(along_[dim].step, access_.offsets[other]));
    ir::NodeId expected = index_position(builder_, shape, other);
    expected = index_binary(builder_, ir::Op::Mul, expected, along_[dim].step);
    expected = index_binary(builder_, ir::Op::Add, expected, shift);
    const ir::NodeId here = index_position(builder_, shape, dim);
    const ir::NodeId same = builder_.graph.add(ir::Op::Eq, ir::DType::Bool, {here, expected});
    values_ = tensor_of(builder_, {value_where(builder_, same, wide.node), shape});
  }

  Builder& builder_;
  ir::Access access_;
  const Shape& source_;
  Tensor values_;
  std::vector<std::vector<ir::Term>> terms_;  ///< where each dim of the values leads
  std::vector<Along> along_;                  ///< one a dim of the source
};

}  // namespace

Tensor transposed(Builder& builder, const Field& values, const ir::Access& access, std::span<const ir::NodeId> indices,
                  const Shape& source) {
  const auto loose = Transposition(builder, values, access, source).loose_dim();
  if (!loose) return Transposition(builder, values, access, source).run(indices, values.shape);
  // A window at a time: the same place of each.
  std::optional<Tensor> sum;
  const int64_t count = builder.static_number(values.shape[*loose]).as_int();
  for (int64_t place = 0; place < count; ++place) {
    const auto at_place = [&](ir::NodeId node) {
      return field_of(builder,
                      selected(builder, tensor_of(builder, {node, values.shape}), *loose, builder.integer(place)));
    };
    ir::Access rest = access;
    const size_t dim = *loose - (values.shape.size() - access.dims.size());
    for (const ir::Term& term : access.dims[dim].terms) {
      ir::HostId& offset = rest.offsets[term.dim];
      offset = builder.add(offset, builder.mul(builder.integer(place), term.coef));
    }
    rest.dims.erase(rest.dims.begin() + static_cast<ptrdiff_t>(dim));
    std::vector<ir::NodeId> moved;
    for (const ir::NodeId index : indices) moved.push_back(at_place(index).node);
    Tensor one = transposed(builder, at_place(values.node), rest, moved, source);
    sum = sum ? added(builder, *sum, one) : std::move(one);
  }
  return sum ? *sum : filled(builder, source, builder.graph.host.real(0.0), builder.graph[values.node].dtype);
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
