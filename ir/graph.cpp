#include "ir/graph.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"

namespace ingot::ir {
namespace {

void hash_terms(size_t& seed, const std::vector<Term>& terms) {
  hash_combine(seed, terms.size());
  for (const Term& term : terms) {
    hash_combine(seed, term.dim);
    hash_combine(seed, term.coef);
  }
}

size_t hash_of(const Access& access) {
  size_t seed = 0;
  hash_combine(seed, static_cast<int>(access.source.kind));
  hash_combine(seed, access.source.index);
  hash_range(seed, access.offsets);
  for (const AccessDim& dim : access.dims) {
    hash_combine(seed, dim.size);
    hash_terms(seed, dim.terms);
  }
  for (const IndirectIndex& indirect : access.indirect) {
    hash_combine(seed, indirect.extent);
    hash_terms(seed, indirect.terms);
  }
  return seed;
}

size_t hash_of(const Node& node) {
  size_t seed = 0;
  hash_combine(seed, static_cast<int>(node.op));
  hash_combine(seed, static_cast<int>(node.dtype));
  hash_combine(seed, node.attr);
  hash_range(seed, node.args);
  return seed;
}

}  // namespace

NodeId Graph::add(Node node) {
  std::vector<NodeId>& candidates = node_table_[hash_of(node)];
  for (const NodeId id : candidates) {
    if (nodes_[id.index] == node) return id;
  }
  const NodeId id{static_cast<uint32_t>(nodes_.size())};
  candidates.push_back(id);
  nodes_.push_back(std::move(node));
  return id;
}

uint32_t Graph::intern(Access access) {
  std::vector<uint32_t>& candidates = access_table_[hash_of(access)];
  for (const uint32_t index : candidates) {
    if (accesses_[index] == access) return index;
  }
  const auto index = static_cast<uint32_t>(accesses_.size());
  candidates.push_back(index);
  accesses_.push_back(std::move(access));
  return index;
}

uint32_t Graph::intern(std::string_view callee) {
  const auto match = std::ranges::find(callees_, callee);
  const auto index = static_cast<uint32_t>(match - callees_.begin());
  if (match == callees_.end()) callees_.emplace_back(callee);
  return index;
}

uint32_t Graph::intern(Reduction reduction) {
  const auto match = std::ranges::find(reductions_, reduction);
  const auto index = static_cast<uint32_t>(match - reductions_.begin());
  if (match == reductions_.end()) reductions_.push_back(std::move(reduction));
  return index;
}

NodeId Graph::load(DType dtype, Access access) { return add({Op::Load, dtype, intern(std::move(access)), {}}); }

NodeId Graph::read(DType dtype, Access access, std::vector<NodeId> args) {
  const bool is_position = access.source.kind == SourceRef::Kind::Position;
  const Op op = is_position ? Op::Index : access.indirect.empty() ? Op::Load : Op::Gather;
  return add({op, dtype, intern(std::move(access)), std::move(args)});
}

NodeId Graph::reduce(DType dtype, Reduction reduction, NodeId operand) {
  return add({Op::Reduce, dtype, intern(std::move(reduction)), {operand}});
}

std::optional<NodeId> Graph::reduction_read(NodeId id) const {
  const Node& node = nodes_[id.index];
  const bool reads = node.op == Op::Load || node.op == Op::Gather;
  if (!reads || access(id).source.kind != SourceRef::Kind::Reduce) return std::nullopt;
  return node.args[0];
}

std::span<const NodeId> Graph::indices(NodeId id) const {
  return std::span(nodes_[id.index].args).subspan(reduction_read(id) ? 1 : 0);
}

NodeId Graph::scalar(DType dtype, HostId value) { return add({Op::Scalar, dtype, value.index, {}}); }

NodeId Graph::index(std::vector<AccessDim> dims) {
  return read(DType::I64, {{SourceRef::Kind::Position, 0}, {host.integer(0)}, std::move(dims), {}}, {});
}

NodeId Graph::call(std::string_view function, NodeId body, std::vector<NodeId> operands) {
  operands.insert(operands.begin(), body);
  return add({Op::Call, nodes_[body.index].dtype, intern(function), std::move(operands)});
}

Node Graph::transfer(const Graph& source, NodeId id, std::vector<NodeId> args) {
  Node node = source[id];
  node.args = std::move(args);
  if (has_access(node.op)) node.attr = intern(source.access(id));
  if (node.op == Op::Call) node.attr = intern(source.callee(id));
  if (node.op == Op::Reduce) node.attr = intern(source.reduction(id));
  return node;
}

std::vector<bool> Graph::live() const {
  std::vector<bool> needed(nodes_.size());
  for (const Result& result : results) {
    for (const OutputBlock& block : result.blocks) needed[block.node.index] = true;
  }
  for (size_t i = nodes_.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const NodeId arg : nodes_[i].args) needed[arg.index] = true;
  }
  return needed;
}

void Graph::name_node(NodeId id, const std::string& text) { names_[id].add(text); }

void Graph::set_location(NodeId id, Span span) {
  if (span) spans_.try_emplace(id, span);
}

void Graph::add_mention(NodeId id, Span span) {
  // The maximum number of locations of a node: more than a page of `ingot explain` shows. Rewrites copy locations from
  // node to node, which would take quadratic time without a limit.
  constexpr size_t kMaxMentions = 32;
  Distinct<Span>& mentions = mentions_[id];
  if (mentions.items.size() < kMaxMentions) mentions.add(span);
}

const std::vector<std::string>& Graph::names(NodeId id) const {
  static const std::vector<std::string> kNone;
  const auto match = names_.find(id);
  return match == names_.end() ? kNone : match->second.items;
}

bool Graph::has_name(NodeId id, const std::string& text) const {
  const auto match = names_.find(id);
  return match != names_.end() && match->second.known.contains(text);
}

Span Graph::span(NodeId id) const {
  const auto match = spans_.find(id);
  return match == spans_.end() ? Span{} : match->second;
}

const std::vector<Span>& Graph::mention_spans(NodeId id) const {
  static const std::vector<Span> kNone;
  const auto match = mentions_.find(id);
  return match == mentions_.end() ? kNone : match->second.items;
}

void Graph::copy_names_and_locations(const Graph& source, NodeId from, NodeId to) {
  if (this == &source && from == to) return;
  const std::vector<std::string> names = source.names(from);
  for (const std::string& text : names) name_node(to, text);
  set_location(to, source.span(from));
  const std::vector<Span> mentions = source.mention_spans(from);
  for (const Span& span : mentions) add_mention(to, span);
}

}  // namespace ingot::ir
