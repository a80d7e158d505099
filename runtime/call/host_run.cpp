#include "runtime/call/host_run.h"

#include <stdexcept>

#include "ir/host/checked.h"
#include "runtime/call/inline_buffer.h"

namespace ingot::runtime {

namespace {

/// Converts a number to the kind of its node, which is the same or a wider one.
ir::HostValue widen(ir::HostValue value, ir::HostKind kind) {
  if (value.kind == kind) return value;
  switch (kind) {
    case ir::HostKind::Float:
      return ir::HostValue::of(value.as_double());
    case ir::HostKind::Int:
      return ir::HostValue::of(value.as_int());
    case ir::HostKind::Bool:
      return value;
  }
  return value;
}

ir::HostValue compute(const ir::HostNode& node, const CallKey& key, std::span<const ir::HostValue> host_values) {
  switch (node.op) {
    case ir::HostOp::Constant:
      return node.value;
    case ir::HostOp::Size:
      return ir::HostValue::of(key.arguments[node.a].tensor->size(node.b));
    case ir::HostOp::Scalar:
      return widen(key.arguments[node.a].number, node.kind);
    case ir::HostOp::Affine: {
      int64_t sum = node.value.as_int();
      for (size_t i = 0; i < node.args.size(); ++i)
        sum = ir::checked_add(sum, ir::checked_mul(node.coefs[i], host_values[node.args[i].index].as_int()));
      return ir::HostValue::of(sum);
    }
    default: {
      InlineBuffer<ir::HostValue, 4> operands(
          node.args.size());  // nested sums, products or minima are one node with many operands
      for (size_t i = 0; i < node.args.size(); ++i) operands[i] = host_values[node.args[i].index];
      return widen(ir::apply(node.op, operands, node.b), node.kind);
    }
  }
}

}  // namespace

size_t run_host(const ir::HostPool& pool, const CallKey& key, std::span<ir::HostValue> host_values,
                std::string& failure) {
  uint32_t i = 0;
  try {
    for (; i < pool.count(); ++i) host_values[i] = compute(pool[{i}], key, host_values);
  } catch (const std::domain_error& error) {
    failure = error.what();
  }
  return i;
}

}  // namespace ingot::runtime
