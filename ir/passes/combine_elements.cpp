#include "ir/passes/combine_elements.h"

#include <bit>
#include <optional>
#include <utility>

namespace ingot::ir {
namespace {

/// Combines two nodes, of which the first has the elements that come first. If they are equal extremes, which may be
/// zeros of different sign, the first is the result, as in kernels: `maximum` and `minimum` return their second
/// operand.
NodeId combined(Graph& graph, const ReducedValue& value, NodeId first, NodeId second) {
  switch (value.kind) {
    case ReduceKind::Sum:
      return graph.add(Op::Add, value.dtype, {first, second});
    case ReduceKind::Prod:
      return graph.add(Op::Mul, value.dtype, {first, second});
    case ReduceKind::Any:
      return graph.add(Op::LogicalOr, value.dtype, {first, second});
    case ReduceKind::All:
      return graph.add(Op::LogicalAnd, value.dtype, {first, second});
    case ReduceKind::Min:
    case ReduceKind::ArgMin:
      return graph.add(Op::Minimum, value.dtype, {second, first});
    case ReduceKind::Max:
    case ReduceKind::ArgMax:
      return graph.add(Op::Maximum, value.dtype, {second, first});
  }
  return {};
}

/// Adds an element to an accumulator, if there is one already.
NodeId accumulated(Graph& graph, const ReducedValue& value, std::optional<NodeId> accumulator, const Element& element) {
  if (element.size() == 1) return accumulator ? combined(graph, value, *accumulator, element[0]) : element[0];
  if (accumulator) return graph.add(Op::Fma, value.dtype, {element[0], element[1], *accumulator});
  return graph.add(Op::Mul, value.dtype, element);
}

/// The accumulators that have elements. The first one of a sum starts from 0, as all do in kernels, so that no sum is
/// -0.0; the others need not.
std::vector<NodeId> accumulators_of(Graph& graph, const ReducedValue& value, const std::vector<Element>& elements,
                                    size_t count) {
  std::vector<std::optional<NodeId>> accumulators(std::min(count, elements.size()));
  if (value.kind == ReduceKind::Sum && is_floating(value.dtype))
    accumulators[0] = graph.scalar(value.dtype, graph.host.real(0.0));
  for (size_t i = 0; i < elements.size(); ++i) {
    std::optional<NodeId>& accumulator = accumulators[i % count];
    accumulator = accumulated(graph, value, accumulator, elements[i]);
  }
  std::vector<NodeId> nodes;
  for (const std::optional<NodeId>& accumulator : accumulators) nodes.push_back(*accumulator);
  return nodes;
}

/// Combines accumulators, the number of which is `count` including those without elements.
NodeId tree_of(Graph& graph, const ReducedValue& value, std::vector<NodeId> accumulators, size_t count,
               bool adjacent_first) {
  for (size_t size = count; size > 1; size /= 2) {
    const size_t distance = adjacent_first ? count / size : size / 2;
    const size_t spacing = adjacent_first ? 2 * distance : 1;
    for (size_t pair = 0; pair < size / 2; ++pair) {
      const size_t first = pair * spacing;
      if (first + distance < accumulators.size())
        accumulators[first] = combined(graph, value, accumulators[first], accumulators[first + distance]);
    }
    if (!adjacent_first) accumulators.resize(std::min(accumulators.size(), distance));
  }
  return accumulators[0];
}

/// Whether an element replaces the best one before it: it is better, or the first NaN.
NodeId replaces(Graph& graph, const ReducedValue& value, NodeId element, NodeId best) {
  const Op is_better = value.kind == ReduceKind::ArgMax ? Op::Gt : Op::Lt;
  const NodeId better = graph.add(is_better, DType::Bool, {element, best});
  if (!is_floating(value.dtype)) return better;
  const NodeId best_is_number = graph.add(Op::Eq, DType::Bool, {best, best});
  const NodeId is_nan = graph.add(Op::Isnan, DType::Bool, {element});
  const NodeId is_first_nan = graph.add(Op::LogicalAnd, DType::Bool, {is_nan, best_is_number});
  return graph.add(Op::LogicalOr, DType::Bool, {better, is_first_nan});
}

/// The best element, or its index. The first of equal elements is found in any order, so the elements are compared one
/// after the other.
NodeId found(Graph& graph, const ReducedValue& value, const std::vector<Element>& elements) {
  NodeId best = elements[0][0], index = graph.scalar(DType::I64, graph.host.integer(0));
  for (size_t i = 1; i < elements.size(); ++i) {
    const NodeId element = elements[i][0], condition = replaces(graph, value, element, best);
    const NodeId element_index = graph.scalar(DType::I64, graph.host.integer(static_cast<int64_t>(i)));
    best = graph.add(Op::Where, value.dtype, {condition, element, best});
    index = graph.add(Op::Where, DType::I64, {condition, element_index, index});
  }
  return value.index == 0 ? best : index;
}

}  // namespace

NodeId combine_elements(Graph& graph, const ReducedValue& value, const std::vector<Element>& elements,
                        const ReductionOrder& order) {
  if (info(value.kind).value_count > 1) return found(graph, value, elements);
  const size_t count = order.accumulators(static_cast<uint32_t>(std::bit_width(elements.size() - 1)));
  return tree_of(graph, value, accumulators_of(graph, value, elements, count), count, order.adjacent_first);
}

}  // namespace ingot::ir
