#include "frontend/tensor/reindex.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "frontend/tensor/shapes.h"

namespace ingot::frontend {
namespace {

/// `node` and all that it depends on, ascending, which is a topological order.
std::vector<ir::NodeId> reachable(const ir::Graph& graph, ir::NodeId node) {
  std::vector<bool> seen(node.index + 1);
  std::vector<ir::NodeId> pending{node};
  seen[node.index] = true;
  while (!pending.empty()) {
    const ir::NodeId id = pending.back();
    pending.pop_back();
    // Operands of a reduction stay unchanged.
    for (const ir::NodeId arg : graph[id].args) {
      if (graph[arg].op == ir::Op::Reduce) continue;
      if (!seen[arg.index]) pending.push_back(arg);
      seen[arg.index] = true;
    }
  }
  std::vector<ir::NodeId> nodes;
  for (uint32_t index = 0; index < seen.size(); ++index) {
    if (seen[index]) nodes.push_back({index});
  }
  return nodes;
}

class Reindexer {
 public:
  /// `always_checked`: old dims along which the source may have one element, but whose indices must be checked
  /// nevertheless.
  Reindexer(Builder& builder, const IndexMap& map, std::vector<bool> always_checked)
      : builder_(builder),
        graph_(builder.graph),
        host_(builder.graph.host),
        map_(map),
        use_counts_(map.new_shape.size()),
        always_checked_(std::move(always_checked)),
        is_read_(map.exprs.size()) {
    for (const AffineExpr& expr : map.exprs) {
      for (const ir::Term& term : expr.terms) ++use_counts_[term.dim];
    }
  }

  ir::NodeId run(ir::NodeId root) {
    const std::vector<ir::NodeId> nodes = reachable(graph_, root);
    builder_.budget.spend_rewritten_nodes(nodes.size());
    for (const ir::NodeId id : nodes) {
      const ir::NodeId moved = rebuilt(id);
      const ir::Op op = graph_[moved].op;
      // The location of a read is that of the author's index: messages refer to `table[0, t]`, not to the parameter.
      if (moved != id && (op == ir::Op::Load || op == ir::Op::Gather)) builder_.with_location(moved);
      if (moved != id) graph_.copy_names_and_locations(graph_, id, moved);
      moved_[id.index] = moved;
      builder_.check_limits();
    }
    return moved_.at(root.index);
  }

  /// The gathered old dims whose index no access read.
  std::vector<bool> unread_dims() const {
    std::vector<bool> dims(map_.exprs.size());
    for (size_t d = 0; d < dims.size(); ++d) dims[d] = has_access_ && map_.exprs[d].gathered && !is_read_[d];
    return dims;
  }

 private:
  ir::NodeId rebuilt(ir::NodeId id) {
    const ir::Node node = graph_[id];
    switch (node.op) {
      case ir::Op::Scalar:
        return id;
      case ir::Op::Index:
        return position(graph_.access(id));
      case ir::Op::Load:
      case ir::Op::Gather: {
        has_access_ = true;
        std::vector<ir::NodeId> indices = moved(node.args);  // the first one is the reduction, if the node reads one
        ir::Access access = moved(graph_.access(id), indices);
        return graph_.read(node.dtype, std::move(access), std::move(indices));
      }
      default:
        break;
    }
    ir::Node copy = node;
    copy.args = moved(node.args);
    return graph_.add(std::move(copy));
  }

  std::vector<ir::NodeId> moved(const std::vector<ir::NodeId>& args) const {
    std::vector<ir::NodeId> result;
    for (const ir::NodeId arg : args) result.push_back(graph_[arg].op == ir::Op::Reduce ? arg : moved_.at(arg.index));
    return result;
  }

  /// Rewrites a position (an Index node): an Index node for its affine part, plus the gathered parts. A position reads
  /// no element and so detects no index out of range. Therefore it does not count as a read in `is_read_`.
  ir::NodeId position(ir::Access old) {
    const std::vector<bool> read = is_read_;
    std::vector<ir::NodeId> indices;
    const ir::Access access = moved(std::move(old), indices);
    is_read_ = read;
    std::optional<ir::NodeId> sum;
    const auto add = [&](ir::NodeId part) { sum = sum ? graph_.add(ir::Op::Add, ir::DType::I64, {*sum, part}) : part; };
    if (!access.dims.empty()) add(graph_.index(access.dims));
    for (size_t l = 0; l < indices.size(); ++l) {
      const ir::IndirectIndex& indirect = access.indirect[l];
      if (indirect.terms.empty()) continue;
      const ir::NodeId wrapped = wrapped_index(builder_, indices[l], indirect.extent);
      add(index_binary(builder_, ir::Op::Mul, wrapped, indirect.terms[0].coef));
    }
    const ir::HostId offset = access.offsets[0];
    return sum ? index_binary(builder_, ir::Op::Add, *sum, offset) : index_scalar(builder_, offset);
  }

  /// The access in the new index space; appends its indirect indices to `indices`.
  ir::Access moved(ir::Access old, std::vector<ir::NodeId>& indices) {
    ir::Access access{old.source, old.offsets, {}, old.indirect};
    std::vector<ir::HostId> sizes(map_.new_shape.size(), builder_.integer(1));
    std::vector<std::map<uint32_t, ir::HostId>> terms(map_.new_shape.size());

    const size_t skipped = map_.old_shape.size() - old.dims.size();
    for (size_t d = 0; d < skipped; ++d) check_index(map_.exprs[d], d, access, indices);
    for (size_t j = 0; j < old.dims.size(); ++j) {
      const ir::HostId size = host_.resolve(old.dims[j].size);
      if (host_.is_int(size, 1)) {
        check_index(map_.exprs[skipped + j], skipped + j, access, indices);
        continue;
      }
      const ir::HostId full_size = host_.resolve(map_.old_shape[skipped + j]);
      const AffineExpr& expr = map_.exprs[skipped + j];
      // The dim may have size 1 while the value is wider. The factor is then 0, so that a step along the dim reads the
      // same element.
      const bool is_never_broadcast = size == full_size || is_not_one(builder_, size);
      const ir::HostId factor = is_never_broadcast ? builder_.integer(1) : builder_.host(ir::HostOp::IsNotOne, {size});
      if (expr.gathered) {
        ir::IndirectIndex indirect{full_size, {}};
        for (const ir::Term& term : old.dims[j].terms) {
          indirect.terms.push_back({term.dim, builder_.mul(term.coef, factor)});
        }
        access.indirect.push_back(std::move(indirect));
        indices.push_back(*expr.gathered);
        is_read_[skipped + j] = true;
        continue;
      }
      for (const ir::Term& term : old.dims[j].terms) {
        ir::HostId& offset = access.offsets[term.dim];
        offset = builder_.add(offset, builder_.mul(builder_.mul(term.coef, expr.offset), factor));
      }
      for (const ir::Term& part : expr.terms) {
        // If several coordinates move with the dim, its size does not determine which of the coordinates has size 1;
        // the steps do.
        const bool is_shared = use_counts_[part.dim] > 1;
        const bool is_unchanged =
            !is_shared && expr.terms.size() == 1 && host_.same(map_.new_shape[part.dim], full_size);
        sizes[part.dim] =
            is_unchanged ? size
            : is_never_broadcast || is_shared
                ? host_.resolve(map_.new_shape[part.dim])
                : builder_.host(ir::HostOp::Select, {factor, map_.new_shape[part.dim], builder_.integer(1)});
        for (const ir::Term& term : old.dims[j].terms) {
          ir::HostId step = builder_.mul(term.coef, part.coef);
          if (is_shared) step = builder_.mul(step, factor);
          auto [entry, inserted] = terms[part.dim].try_emplace(term.dim, step);
          if (!inserted) entry->second = builder_.add(entry->second, step);
        }
      }
    }
    access.dims = trimmed(sizes, terms);
    return access;
  }

  /// Checks the index along a dim of one element: the index selects nothing, but must be in range.
  void check_index(const AffineExpr& expr, size_t dim, ir::Access& access, std::vector<ir::NodeId>& indices) {
    if (!expr.gathered || !(always_checked_[dim] || is_one(builder_, map_.old_shape[dim]))) return;
    access.indirect.push_back({host_.resolve(map_.old_shape[dim]), {}});
    indices.push_back(*expr.gathered);
    is_read_[dim] = true;
  }

  /// The dims of an access in their canonical form: no terms of coefficient 0, no terms along a dim of size 1, no
  /// leading dims of size 1.
  std::vector<ir::AccessDim> trimmed(const std::vector<ir::HostId>& sizes,
                                     const std::vector<std::map<uint32_t, ir::HostId>>& terms) {
    std::vector<ir::AccessDim> dims;
    for (size_t k = 0; k < sizes.size(); ++k) {
      ir::AccessDim dim{sizes[k], {}};
      for (const auto& [source_dim, coef] : terms[k]) {
        if (!host_.is_int(coef, 0)) dim.terms.push_back({source_dim, coef});
      }
      if (dim.terms.empty() || host_.is_int(dim.size, 1)) dim = {builder_.integer(1), {}};
      if (!dims.empty() || !dim.terms.empty()) dims.push_back(std::move(dim));
    }
    return dims;
  }

  Builder& builder_;
  ir::Graph& graph_;
  ir::HostPool& host_;
  const IndexMap& map_;
  std::vector<int> use_counts_;  ///< for each new dim, the number of old coordinates that depend on it
  std::vector<bool> always_checked_, is_read_;
  bool has_access_ = false;
  std::unordered_map<uint32_t, ir::NodeId> moved_;
};

bool is_identity(const Builder& builder, const IndexMap& map) {
  if (!same_shape(builder, map.old_shape, map.new_shape)) return false;
  for (size_t d = 0; d < map.exprs.size(); ++d) {
    const AffineExpr& expr = map.exprs[d];
    if (expr.gathered || !builder.graph.host.is_int(expr.offset, 0)) return false;
    if (expr.terms.size() != 1 || expr.terms[0].dim != d) return false;
    if (!builder.graph.host.is_int(expr.terms[0].coef, 1)) return false;
  }
  return true;
}

/// The sum of the positions along all dims of a value of this shape, each multiplied by its factor.
template <typename Factor>
ir::NodeId index_position(Builder& builder, std::span<const ir::HostId> shape, const Factor& factor) {
  std::vector<ir::AccessDim> dims;
  for (size_t d = 0; d < shape.size(); ++d) {
    const ir::HostId coef = factor(d), size = builder.graph.host.resolve(shape[d]);
    ir::AccessDim dim{builder.integer(1), {}};
    if (!is_one(builder, size) && !builder.graph.host.is_int(coef, 0)) dim = {size, {{0, coef}}};
    if (!dims.empty() || !dim.terms.empty()) dims.push_back(std::move(dim));
  }
  return dims.empty() ? index_scalar(builder, builder.integer(0)) : builder.graph.index(std::move(dims));
}

}  // namespace

std::vector<AffineExpr> identity_exprs(Builder& builder, size_t rank) {
  std::vector<AffineExpr> exprs;
  for (uint32_t d = 0; d < rank; ++d) {
    exprs.push_back({builder.integer(0), {{d, builder.integer(1)}}, std::nullopt});
  }
  return exprs;
}

ir::NodeId reindex(Builder& builder, ir::NodeId node, const IndexMap& map) {
  if (is_identity(builder, map)) return node;
  Reindexer reindexer(builder, map, std::vector<bool>(map.exprs.size()));
  const ir::NodeId moved = reindexer.run(node);
  // Along an expanded dim no read uses the index, so none would detect that it is out of range.
  std::vector<bool> unread = reindexer.unread_dims();
  if (std::ranges::none_of(unread, std::identity())) return moved;
  return Reindexer(builder, map, std::move(unread)).run(node);
}

ir::NodeId index_position(Builder& builder, std::span<const ir::HostId> shape, size_t dim) {
  return index_position(builder, shape, [&](size_t d) { return builder.integer(d == dim ? 1 : 0); });
}

ir::NodeId index_position(Builder& builder, std::span<const ir::HostId> shape) {
  return index_position(builder, shape, [&](size_t d) { return product(builder, shape.subspan(d + 1)); });
}

std::vector<ir::NodeId> split_position(Builder& builder, ir::NodeId position, std::span<const ir::HostId> sizes) {
  std::vector<ir::NodeId> positions;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const ir::HostId inner = product(builder, sizes.subspan(i + 1));
    const ir::NodeId outer = index_binary(builder, ir::Op::FloorDivide, position, inner);
    positions.push_back(i == 0 ? outer : index_binary(builder, ir::Op::Remainder, outer, sizes[i]));
  }
  return positions;
}

ir::NodeId index_scalar(Builder& builder, ir::HostId value) {
  return builder.graph.scalar(ir::DType::I64, builder.graph.host.resolve(value));
}

ir::NodeId index_binary(Builder& builder, ir::Op op, ir::NodeId a, ir::HostId b) {
  const ir::HostPool& host = builder.graph.host;
  if (op == ir::Op::Add && host.is_int(b, 0)) return a;
  if ((op == ir::Op::Mul || op == ir::Op::FloorDivide) && host.is_int(b, 1)) return a;
  return builder.graph.add(op, ir::DType::I64, {a, index_scalar(builder, b)});
}

ir::NodeId wrapped_index(Builder& builder, ir::NodeId index, ir::HostId extent) {
  ir::Graph& graph = builder.graph;
  if (graph[index].dtype != ir::DType::I64) index = graph.add(ir::Op::Cast, ir::DType::I64, {index});
  const ir::NodeId zero = index_scalar(builder, builder.integer(0));
  const ir::NodeId is_negative = graph.add(ir::Op::Lt, ir::DType::Bool, {index, zero});
  const ir::NodeId from_end = index_binary(builder, ir::Op::Add, index, extent);
  // An index below -extent must not count from the end a second time.
  const ir::NodeId is_outside = graph.add(ir::Op::Lt, ir::DType::Bool, {from_end, zero});
  const ir::NodeId wrapped = graph.add(ir::Op::Where, ir::DType::I64, {is_outside, index_outside(builder), from_end});
  return graph.add(ir::Op::Where, ir::DType::I64, {is_negative, wrapped, index});
}

ir::NodeId index_outside(Builder& builder) {
  return index_scalar(builder, builder.integer(std::numeric_limits<int64_t>::max()));
}

}  // namespace ingot::frontend
