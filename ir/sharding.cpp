#include "ir/sharding.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace ingot::ir {

namespace {

/// Determines which host expressions are equal to the size of a sharded dim, and which depend on such a size. "The
/// sharded dim's size" is a size along any sharded dim; the conditions of an op usually make them all equal.
class ShardedSizes {
 public:
  ShardedSizes(const Graph& graph, std::span<const ShardedDims> shardings)
      : graph_(graph), depends_(graph.host.count()) {
    for (uint32_t i = 0; i < depends_.size(); ++i) equal_.push_back(graph.host.resolve(HostId{i}));
    for (const Condition& condition : graph.conditions)
      if (condition.kind == Condition::Kind::Equal && is_size(condition.a) && is_size(condition.b))
        equal_[representative(condition.a).index] = representative(condition.b);
    for (const ShardedDims& dims : shardings)
      for (size_t p = 0; p < dims.size(); ++p)
        if (dims[p]) sizes_.insert(representative(graph.params[p].shape[*dims[p]]));
    for (uint32_t i = 0; i < depends_.size(); ++i) {
      const HostNode& node = graph.host[HostId{i}];
      depends_[i] =
          is_sharded(HostId{i}) || std::ranges::any_of(node.args, [&](HostId arg) { return depends_[arg.index]; });
    }
  }

  /// Whether lowering used no value of these sizes. A size whose value lowering used is a constant, or is in
  /// Graph::statics or Graph::unspecialized.
  bool are_unused() const {
    for (uint32_t i = 0; i < depends_.size(); ++i)
      if (is_sharded(HostId{i}) && !is_size(HostId{i})) return false;
    const auto is_sharded = [&](HostId id) { return this->is_sharded(id); };
    return std::ranges::none_of(graph_.unspecialized, is_sharded) &&
           std::ranges::none_of(graph_.statics, is_sharded, &Static::symbol);
  }
  bool same(HostId x, HostId y) const { return representative(x) == representative(y); }
  /// Whether the expression is `constant` plus a multiple of the sharded dim's size. False if there are several such
  /// sizes.
  bool is_multiple(HostId id, int64_t constant = 0) const {
    if (sizes_.size() > 1) return false;
    if (is_sharded(id)) return constant == 0;
    const HostNode& node = graph_.host[id];
    const auto is_multiple = [&](HostId arg) { return this->is_multiple(arg); };
    if (node.op == HostOp::Affine)
      return node.value.as_int() == constant && std::ranges::all_of(node.args, is_multiple);
    return node.op == HostOp::Mul && constant == 0 && std::ranges::count_if(node.args, is_multiple) == 1 &&
           std::ranges::count_if(node.args, [&](HostId arg) { return depends(arg); }) == 1;
  }
  /// Whether the expression is equal to the size of a sharded dim, and whether it depends on one.
  bool is_sharded(HostId id) const { return sizes_.contains(representative(id)); }
  bool depends(HostId id) const { return depends_[id.index]; }
  bool depends(const std::vector<Term>& terms) const {
    return std::ranges::any_of(terms, [&](const Term& term) { return depends(term.coef); });
  }

 private:
  HostId representative(HostId id) const {
    while (equal_[id.index] != id) id = equal_[id.index];
    return id;
  }
  bool is_size(HostId id) const { return graph_.host[id].op == HostOp::Size; }

  const Graph& graph_;
  std::vector<HostId> equal_;  ///< links each expression to an equal one; a representative links to itself
  std::set<HostId> sizes_;
  std::vector<bool> depends_;
};

/// The dim of an index space that runs along the sharded dim.
struct Axis {
  size_t from_end;  ///< its position: the number of dims after it
  HostId size;
};

size_t from_end(size_t dim, size_t rank) { return rank - 1 - dim; }

bool adds_to(const std::vector<Term>& terms, uint32_t dim) {
  return std::ranges::any_of(terms, [&](const Term& term) { return term.dim == dim; });
}

/// Traverses the graph from the results to the parameters. Tracks for each node the dim of its index space that runs
/// along the sharded dim.
class ShardingAnalysis {
 public:
  ShardingAnalysis(const Graph& graph, const ShardedDims& sharded_dims)
      : graph_(graph),
        host_(graph.host),
        sizes_(graph, {&sharded_dims, 1}),
        sharding_{sharded_dims, {}},
        is_read_whole_(sharded_dims.size()) {}

  std::optional<Sharding> run() {
    if (!sizes_.are_unused()) return std::nullopt;
    for (const Condition& condition : graph_.conditions)
      if (!holds_for_shards(condition)) return std::nullopt;
    for (const Result& result : graph_.results) {
      const std::optional<uint32_t> dim = sharded_dim_of(result);
      if (!dim || result.mutates || result.blocks.empty()) return std::nullopt;
      for (const OutputBlock& block : result.blocks)
        if (!start_at(block, *dim, result.shape[*dim])) return std::nullopt;
      sharding_.results.push_back(*dim);
    }
    while (!pending_.empty()) {
      const auto [node, axis] = pending_.back();
      pending_.pop_back();
      if (!follow(node, axis)) return std::nullopt;
    }
    for (uint32_t p = 0; p < sharding_.params.size(); ++p)
      if (!shard_by_shape(p)) return std::nullopt;
    return std::move(sharding_);
  }

 private:
  /// Whether the condition holds for every shard if it holds for the whole.
  bool holds_for_shards(const Condition& condition) {
    using Kind = Condition::Kind;
    const bool is_equality = condition.kind == Kind::Equal || condition.kind == Kind::Broadcasts;
    const bool has_two_operands = is_equality || condition.kind == Kind::InRange;
    if (!sizes_.depends(condition.a) && !(has_two_operands && sizes_.depends(condition.b))) return true;
    if (condition.kind == Kind::NonNegative && sizes_.is_multiple(condition.a, -1))
      return sharding_.needs_elements = true;
    if (condition.kind == Kind::True && is_not_zero(condition.a)) return sharding_.needs_elements = true;
    if (condition.kind == Kind::True && allows_empty(condition.a)) return true;
    return is_equality && (sizes_.same(condition.a, condition.b) ||
                           (sizes_.is_multiple(condition.a) && sizes_.is_multiple(condition.b)));
  }

  /// Whether a condition requires that there are elements along the sharded dim, for example because of a division by
  /// their number.
  bool is_not_zero(HostId id) const {
    if (host_[id].op != HostOp::Not) return false;
    const HostNode& equals = host_[host_[id].args[0]];
    return equals.op == HostOp::Eq && sizes_.is_multiple(equals.args[0]) && host_.is_int(equals.args[1], 0);
  }

  /// Whether a condition depends on the sharded dim's size only because it always holds for an empty tensor. Shards of
  /// an empty tensor are empty too.
  bool allows_empty(HostId id) const {
    if (host_[id].op != HostOp::Select) return false;
    const std::vector<HostId>& args = host_[id].args;
    const HostNode& is_empty = host_[args[1]];
    return !sizes_.depends(args[0]) && !sizes_.depends(args[2]) && is_empty.op == HostOp::Eq &&
           host_.is_int(is_empty.args[1], 0);
  }

  /// The only dim of a result whose size is that of the sharded dim; nullopt if another dim's size depends on that
  /// size.
  std::optional<uint32_t> sharded_dim_of(const Result& result) const {
    std::optional<uint32_t> sharded_dim;
    for (uint32_t d = 0; d < result.shape.size(); ++d) {
      if (!sizes_.depends(result.shape[d])) continue;
      if (sharded_dim || !sizes_.is_sharded(result.shape[d])) return std::nullopt;
      sharded_dim = d;
    }
    return sharded_dim;
  }

  /// Starts the traversal at an output block. The block must be stored along the whole sharded dim, in a dim of the
  /// result in which no other index of the block moves.
  bool start_at(const OutputBlock& block, uint32_t dim, HostId size) {
    const Access& store = block.store;
    const auto sharded_dim =
        std::ranges::find_if(store.dims, [&](const AccessDim& d) { return adds_to(d.terms, dim); });
    if (sharded_dim == store.dims.end()) return false;
    const size_t axis_from_end = from_end(static_cast<size_t>(sharded_dim - store.dims.begin()), store.dims.size());
    const Axis axis{axis_from_end, sharded_dim->size};
    return sizes_.same(axis.size, size) && source_dim_along(store, axis) == dim &&
           is_sharded_only_along(block.domain, axis) && moves_only_along(store, axis) && push(block.node, axis);
  }

  /// Adds a node to the traversal. Always returns true, so that conditions can end with a call.
  bool push(NodeId node, std::optional<Axis> axis) {
    const auto key = std::tuple(node, axis ? axis->from_end + 1 : 0, axis ? axis->size : HostId{});
    if (seen_.insert(key).second) pending_.emplace_back(node, axis);
    return true;
  }

  /// Checks a node and pushes the nodes that it depends on. Returns false if the node prevents sharding; so do the
  /// functions below.
  bool follow(NodeId id, std::optional<Axis> axis) {
    const Node& node = graph_[id];
    switch (node.op) {
      case Op::Scalar:
        return !sizes_.depends(graph_.host_of(id));
      case Op::Index:
        return moves_only_along(graph_.access(id), axis) && !(axis && source_dim_along(graph_.access(id), *axis));
      case Op::Load:
      case Op::Gather:
        return read(id, axis);
      default:
        return std::ranges::all_of(node.args, [&](NodeId arg) { return push(arg, axis); });
    }
  }

  /// Handles a Load or Gather. The indices of a Gather are values at the same position along the sharded dim.
  bool read(NodeId id, std::optional<Axis> axis) {
    const Access& access = graph_.access(id);
    if (!moves_only_along(access, axis)) return false;
    const std::optional<uint32_t> along = axis ? source_dim_along(access, *axis) : std::nullopt;
    for (const NodeId index : graph_.indices(id)) push(index, axis);
    if (const std::optional<NodeId> reduction = graph_.reduction_read(id)) return reduce(*reduction, along, axis);
    const uint32_t param = access.source.index;
    return (!along || sizes_.same(graph_.params[param].shape[*along], axis->size)) && record_read(param, along);
  }

  /// The dim of the source in which an access moves along the axis; moves_only_along checks that the access starts at 0
  /// and has step 1.
  std::optional<uint32_t> source_dim_along(const Access& access, const Axis& axis) const {
    if (axis.from_end >= access.dims.size()) return std::nullopt;
    const AccessDim& read = access.dims[from_end(axis.from_end, access.dims.size())];
    return read.terms.size() == 1 ? std::optional(read.terms[0].dim) : std::nullopt;
  }

  /// Whether the access depends on the sharded dim only by moving along the axis, from offset 0 with step 1, in a dim
  /// of the source that no other term uses.
  bool moves_only_along(const Access& access, std::optional<Axis> axis) const {
    const auto depends = [&](HostId id) { return sizes_.depends(id); };
    if (std::ranges::any_of(access.offsets, depends)) return false;
    const bool has_axis = axis && axis->from_end < access.dims.size();
    const size_t axis_dim = has_axis ? from_end(axis->from_end, access.dims.size()) : access.dims.size();
    const std::vector<Term> no_terms;
    const std::vector<Term>& terms = has_axis ? access.dims[axis_dim].terms : no_terms;
    if (!terms.empty()) {
      const Term& term = terms[0];
      if (terms.size() > 1 || !host_.is_int(term.coef, 1) || !sizes_.same(access.dims[axis_dim].size, axis->size))
        return false;
      if (!host_.is_int(access.offsets[term.dim], 0)) return false;
    }
    const auto is_independent = [&](HostId size, const std::vector<Term>& others) {
      return !depends(size) && !sizes_.depends(others) && (terms.empty() || !adds_to(others, terms[0].dim));
    };
    for (size_t j = 0; j < access.dims.size(); ++j)
      if (j != axis_dim && !is_independent(access.dims[j].size, access.dims[j].terms)) return false;
    return std::ranges::all_of(access.indirect, [&](const IndirectIndex& indirect) {
      return is_independent(indirect.extent, indirect.terms);
    });
  }

  /// Whether the domain's size along the axis is that of the axis, and no other size of the domain depends on a sharded
  /// dim.
  bool is_sharded_only_along(std::span<const HostId> domain, std::optional<Axis> axis) const {
    for (size_t d = 0; d < domain.size(); ++d)
      if (axis && axis->from_end == from_end(d, domain.size()) ? !sizes_.same(domain[d], axis->size)
                                                               : sizes_.depends(domain[d]))
        return false;
    return true;
  }

  /// Handles a read of a reduction. The sharded dim must not be one of the reduced dims.
  bool reduce(NodeId id, std::optional<uint32_t> along, std::optional<Axis> axis) {
    const Reduction& reduction = graph_.reduction(id);
    std::optional<Axis> inner;
    if (along) {
      if (reduction.reduced[*along]) return false;
      inner = Axis{from_end(*along, reduction.domain.size()), axis->size};
    }
    return is_sharded_only_along(reduction.domain, inner) && push(graph_[id].args[0], inner);
  }

  /// Records how a parameter is read. Returns false if some of its reads run along the sharded dim and others do not.
  bool record_read(uint32_t param, std::optional<uint32_t> along) {
    std::optional<uint32_t>& sharded_dim = sharding_.params[param];
    if (!along) {
      is_read_whole_[param] = true;
      return !sharded_dim;
    }
    if (!sharded_dim) sharded_dim = along;
    return sharded_dim == along && !is_read_whole_[param];
  }

  /// Shards the parameter's dim that has the sharded dim's size, even if nothing reads along it, because conditions
  /// compare the sizes.
  bool shard_by_shape(uint32_t param) {
    const std::vector<HostId>& shape = graph_.params[param].shape;
    for (uint32_t d = 0; d < shape.size(); ++d)
      if (sizes_.is_sharded(shape[d]) && !record_read(param, d)) return false;
    return true;
  }

  const Graph& graph_;
  const HostPool& host_;
  const ShardedSizes sizes_;
  Sharding sharding_;
  std::vector<bool> is_read_whole_;
  std::set<std::tuple<NodeId, size_t, HostId>> seen_;
  std::vector<std::pair<NodeId, std::optional<Axis>>> pending_;
};

/// Compares a graph with the graph for shards of size 1, node by node and host expression by host expression.
class UnitShardComparison {
 public:
  UnitShardComparison(const Graph& graph, std::span<const ShardedDims> shardings, const Graph& unit_shard)
      : graph_(graph), unit_shard_(unit_shard), sizes_(graph, shardings) {}

  bool run() {
    if (graph_.returns != unit_shard_.returns || graph_.results.size() != unit_shard_.results.size()) return false;
    const std::vector<NodeId> nodes = live_nodes(graph_), others = live_nodes(unit_shard_);
    if (nodes.size() != others.size()) return false;
    counterpart_.resize(graph_.count());
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!same_node(nodes[i], others[i])) return false;
      counterpart_[nodes[i].index] = others[i];
    }
    return std::ranges::equal(graph_.results, unit_shard_.results,
                              [&](const Result& a, const Result& b) { return same_result(a, b); });
  }

 private:
  static std::vector<NodeId> live_nodes(const Graph& graph) {
    const std::vector<bool> live = graph.live();
    std::vector<NodeId> nodes;
    for (uint32_t i = 0; i < live.size(); ++i)
      if (live[i]) nodes.push_back(NodeId{i});
    return nodes;
  }

  bool same_node(NodeId a, NodeId b) const {
    const Node &x = graph_[a], &y = unit_shard_[b];
    const auto same_arg = [&](NodeId m, NodeId n) { return counterpart_[m.index] == n; };
    if (x.op != y.op || x.dtype != y.dtype || !std::ranges::equal(x.args, y.args, same_arg)) return false;
    switch (x.op) {
      case Op::Scalar:
        return same(graph_.host_of(a), unit_shard_.host_of(b));
      case Op::Load:
      case Op::Gather:
      case Op::Index:
        return same_access(graph_.access(a), unit_shard_.access(b));
      case Op::Reduce: {
        const Reduction &r = graph_.reduction(a), &s = unit_shard_.reduction(b);
        return r.kind == s.kind && r.reduced == s.reduced && same_sizes(r.domain, s.domain);
      }
      default:
        return x.attr == y.attr;
    }
  }

  bool same_result(const Result& a, const Result& b) const {
    return a.dtype == b.dtype && same_sizes(a.shape, b.shape) &&
           std::ranges::equal(a.blocks, b.blocks, [&](const OutputBlock& p, const OutputBlock& q) {
             return counterpart_[p.node.index] == q.node && same_sizes(p.domain, q.domain) &&
                    same_access(p.store, q.store);
           });
  }

  static const AccessDim* dim_of(const Access& access, size_t index_from_end) {
    return index_from_end < access.dims.size() ? &access.dims[from_end(index_from_end, access.dims.size())] : nullptr;
  }

  /// Compares a dim of an access with that of the access in the unit shard's graph, where a sharded dim must have
  /// size 1. nullptr is a missing leading dim, which has size 1 too.
  bool same_dim(const AccessDim* x, const AccessDim* y) const {
    const bool is_one = y == nullptr || unit_shard_.host.is_int(y->size, 1);
    if (x == nullptr || graph_.host.is_int(x->size, 1) || sizes_.is_sharded(x->size)) return is_one;
    return y != nullptr && same(x->size, y->size) && same_terms(x->terms, y->terms);
  }

  bool same_access(const Access& a, const Access& b) const {
    if (a.source != b.source ||
        !std::ranges::equal(a.offsets, b.offsets, [&](HostId x, HostId y) { return same(x, y); }))
      return false;
    for (size_t k = 0; k < std::max(a.dims.size(), b.dims.size()); ++k)
      if (!same_dim(dim_of(a, k), dim_of(b, k))) return false;
    return std::ranges::equal(a.indirect, b.indirect, [&](const IndirectIndex& x, const IndirectIndex& y) {
      return same(x.extent, y.extent) && same_terms(x.terms, y.terms);
    });
  }

  bool same_terms(const std::vector<Term>& a, const std::vector<Term>& b) const {
    return std::ranges::equal(a, b,
                              [&](const Term& x, const Term& y) { return x.dim == y.dim && same(x.coef, y.coef); });
  }

  bool same_sizes(const std::vector<HostId>& a, const std::vector<HostId>& b) const {
    return std::ranges::equal(
        a, b, [&](HostId x, HostId y) { return sizes_.is_sharded(x) ? unit_shard_.host.is_int(y, 1) : same(x, y); });
  }

  /// Whether two expressions, one of each pool, are equal, node by node.
  bool same(HostId a, HostId b) const {
    std::vector<std::pair<HostId, HostId>> pending = {{a, b}};
    std::set<std::pair<HostId, HostId>> seen;
    while (!pending.empty()) {
      const auto pair = pending.back();
      pending.pop_back();
      if (!seen.insert(pair).second) continue;
      const HostNode &x = graph_.host[pair.first], &y = unit_shard_.host[pair.second];
      if (x.op != y.op || x.kind != y.kind || x.a != y.a || x.b != y.b || !(x.value == y.value) || x.coefs != y.coefs ||
          x.args.size() != y.args.size())
        return false;
      for (size_t i = 0; i < x.args.size(); ++i) pending.emplace_back(x.args[i], y.args[i]);
    }
    return true;
  }

  const Graph &graph_, &unit_shard_;
  const ShardedSizes sizes_;
  std::vector<NodeId> counterpart_;
};

}  // namespace

std::optional<Sharding> shard(const Graph& graph, const ShardedDims& sharded_dims) {
  if (graph.seed) return std::nullopt;  // the random numbers of an element depend on its index in the whole tensor
  return ShardingAnalysis(graph, sharded_dims).run();
}

bool matches_unit_shard(const Graph& graph, std::span<const ShardedDims> shardings, const Graph& unit_shard) {
  return UnitShardComparison(graph, shardings, unit_shard).run();
}

}  // namespace ingot::ir
