#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace ingot::ir {

/// Builds graphs for tests. A parameter is a tensor of one dim [n] unless a rank is given.
struct GraphWriter {
  Graph graph;

  /// An integer constant.
  HostId c(int64_t value) { return graph.host.integer(value); }
  HostId size(uint32_t param, uint32_t dim) { return graph.host.size(param, dim); }

  uint32_t param(const std::string& name, DType type, uint32_t rank = 1) {
    const auto index = static_cast<uint32_t>(graph.params.size());
    Param param{.name = name, .dtype = type};
    for (uint32_t d = 0; d < rank; ++d) param.shape.push_back(size(index, d));
    graph.params.push_back(std::move(param));
    return index;
  }

  uint32_t number(const std::string& name, HostKind kind) {
    graph.params.push_back({.name = name, .kind = ParamKind::Number, .number = kind});
    return static_cast<uint32_t>(graph.params.size() - 1);
  }

  /// The access that reads (or stores) a tensor of this shape element by element.
  Access whole(const std::vector<HostId>& shape, uint32_t param = 0) {
    Access access{{SourceRef::Kind::Param, param}, {}, {}, {}};
    for (uint32_t d = 0; d < shape.size(); ++d) {
      access.offsets.push_back(c(0));
      access.dims.push_back({shape[d], {{d, c(1)}}});
    }
    return access;
  }

  NodeId load(uint32_t param) { return graph.load(graph.params[param].dtype, whole(graph.params[param].shape, param)); }
  NodeId load(const std::string& name, DType type) { return load(param(name, type)); }

  /// The position along a dim of this size that is followed by `trailing` more dims.
  NodeId index(HostId size, uint32_t trailing = 0) {
    std::vector<AccessDim> dims(1 + trailing, {c(1), {}});
    dims[0] = {size, {{0, c(1)}}};
    return graph.index(std::move(dims));
  }

  NodeId real(DType type, double value) { return graph.scalar(type, graph.host.real(value)); }
  NodeId integer(DType type, int64_t value) { return graph.scalar(type, c(value)); }
  NodeId boolean(bool value) { return graph.scalar(DType::Bool, graph.host.boolean(value)); }

  /// Adds an op on values of one type. The result has that type or is bool.
  NodeId op(Op op, std::vector<NodeId> args) {
    const Rule rule = info(op).rule;
    const DType type = rule == Rule::Compare || rule == Rule::Logical ? DType::Bool : graph[args.back()].dtype;
    return graph.add(op, type, std::move(args));
  }
  NodeId cast(DType type, NodeId x) { return graph.add(Op::Cast, type, {x}); }

  /// Adds a result of the given shape, or of the shape [n] of parameter 0.
  void result(NodeId node, std::vector<HostId> shape) {
    Result result{.name = graph.results.empty() ? "out" : "out" + std::to_string(graph.results.size()),
                  .dtype = graph[node].dtype,
                  .shape = shape,
                  .blocks = {}};
    result.blocks.push_back({node, shape, whole(shape)});
    graph.results.push_back(std::move(result));
  }
  void result(NodeId node) { result(node, {size(0, 0)}); }
};

}  // namespace ingot::ir
