#include "ir/passes/reindex.h"

#include <algorithm>
#include <utility>

#include "ir/passes/rewrite.h"
#include "ir/rows.h"

namespace ingot::ir {
namespace {

class Reindexer {
 public:
  Reindexer(Graph& graph, const AffineMap& map) : graph_(graph), host_(graph.host), map_(map) {}

  NodeId moved(NodeId id, Node node) {
    if (!has_access(node.op)) return graph_.add(std::move(node));
    Access access = composed(graph_.access(id));
    if (node.op == Op::Index) return position(std::move(access));
    access.indirect.insert(access.indirect.end(), map_.checks.begin(), map_.checks.end());
    node.args.insert(node.args.end(), map_.checked.begin(), map_.checked.end());
    return graph_.read(node.dtype, std::move(access), std::move(node.args));
  }

 private:
  /// The position that an access to the implicit iota computes: an Index has no offset.
  NodeId position(Access access) {
    const NodeId offset = graph_.scalar(DType::I64, access.offsets[0]);
    if (access.dims.empty()) return offset;
    const NodeId index = graph_.index(std::move(access.dims));
    return host_.is_int(access.offsets[0], 0) ? index : graph_.add(Op::Add, DType::I64, {index, offset});
  }

  /// The access as a function of the new index.
  Access composed(const Access& old) {
    Access access{old.source, old.offsets, {}, old.indirect};
    std::vector<std::vector<Term>> terms(map_.new_sizes.size());
    const size_t skipped = map_.old_sizes.size() - old.dims.size();
    for (size_t j = 0; j < old.dims.size(); ++j) {
      const AffineCoordinate& coordinate = map_.coordinates[skipped + j];
      const HostId factor = varies(old.dims[j].size, map_.old_sizes[skipped + j]);
      for (const Term& term : old.dims[j].terms) {
        const HostId step = host_.mul(term.coef, factor);
        HostId& offset = access.offsets[term.dim];
        offset = host_.add(offset, host_.mul(step, coordinate.offset));
        for (const Term& part : coordinate.terms) add_term(terms[part.dim], {term.dim, host_.mul(step, part.coef)});
      }
    }
    access.dims = canonical_dims(std::move(terms));
    return access;
  }

  /// 1 if the index along a dim of this size moves; 0 if the dim has size 1 and is broadcast to `full_size`.
  HostId varies(HostId size, HostId full_size) {
    if (host_.is_int(size, 1)) return host_.integer(0);
    const bool is_full = host_.same(size, full_size) || host_.known_not_one(size);
    return is_full ? host_.integer(1) : host_.make(HostOp::IsNotOne, {host_.resolve(size)});
  }

  void add_term(std::vector<Term>& terms, Term term) {
    const auto same_dim = std::ranges::find(terms, term.dim, &Term::dim);
    if (same_dim == terms.end())
      terms.push_back(term);
    else
      same_dim->coef = host_.add(same_dim->coef, term.coef);
  }

  /// The dims of an access, without terms of coefficient 0 and without leading dims that have no terms.
  std::vector<AccessDim> canonical_dims(std::vector<std::vector<Term>> terms) {
    std::vector<AccessDim> dims;
    for (size_t d = 0; d < terms.size(); ++d) {
      std::erase_if(terms[d], [&](const Term& term) { return host_.is_int(term.coef, 0); });
      std::ranges::sort(terms[d], {}, &Term::dim);
      if (terms[d].empty() && dims.empty()) continue;
      const HostId size = terms[d].empty() ? host_.integer(1) : map_.new_sizes[d];
      dims.push_back({size, std::move(terms[d])});
    }
    return dims;
  }

  Graph& graph_;
  HostPool& host_;
  const AffineMap& map_;
};

}  // namespace

std::vector<NodeId> reindex(Graph& graph, const std::vector<NodeId>& roots, const AffineMap& map) {
  Reindexer reindexer(graph, map);
  return rebuild(graph, roots, [&](NodeId id, Node node) { return reindexer.moved(id, std::move(node)); });
}

}  // namespace ingot::ir
