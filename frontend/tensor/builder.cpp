#include "frontend/tensor/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "frontend/tensor/unknown_value.h"
#include "ir/eager_layout.h"

namespace ingot::frontend {
namespace {

constexpr size_t kStaticAboveNodes = 5'000;
constexpr size_t kMaxNodes = 50'000;
constexpr size_t kMaxAliasQueries = 32;  // each query restarts lowering

}  // namespace

Builder::Builder(Lowered& lowered, const Signature& op_signature, const SymbolValues& values)
    : graph(lowered.graph),
      signature(op_signature),
      symbol_values(values),
      diagnostics(lowered.diagnostics),
      budget(lowered.budget),
      tape(lowered.tape),
      residual_bindings(lowered.residual_bindings),
      scattered_sums(lowered.scattered_sums),
      gradients(op_signature.gradients),
      lowered_(lowered) {}

ir::HostId Builder::host(ir::HostOp op, std::vector<ir::HostId> args, uint32_t b) {
  try {
    return graph.host.make(op, std::move(args), b);
  } catch (const ir::WorkLimitExceeded&) {
    budget.fail_host_work();
  } catch (const std::domain_error& error) {
    fail(error.what());
  }
}

void refuse_unknown_value(Builder& builder, std::string message, std::string hint) {
  if (builder.diagnostics.in_library())
    builder.fail("a tensor was passed for an argument that decides what is computed, but its value is not known then",
                 "pass a number: s.item() where the op is called, or a parameter annotated `float` or `int`");
  builder.fail(std::move(message), std::move(hint));
}

ir::HostValue Builder::static_number(ir::HostId id) {
  id = graph.host.resolve(id);
  if (graph.host.is_constant(id)) return graph.host.value(id);
  throw SpecializationRequest{graph.host.symbols(id)};
}

ir::HostValue Builder::static_number(const Value& value, std::string_view what) {
  if (value.is_number()) return static_number(value.number());
  if (value.is_tensor()) {
    fail(fmt::format("{} must be a number known when the op is compiled, but the values of a tensor are not", what),
         "pass it as a parameter annotated `int` or `float`");
  }
  fail(fmt::format("{} must be a number, not {}", what, describe(value)));
}

int64_t Builder::static_int(const Value& value, std::string_view what) {
  const ir::HostValue number = static_number(value, what);
  if (number.kind == ir::HostKind::Float) fail(fmt::format("{} must be an integer, not a float", what));
  return number.as_int();
}

bool Builder::static_bool(const Value& value, std::string_view what) {
  if (value.is_none()) return false;
  if (value.is_tensor()) {
    refuse_unknown_value(
        *this, fmt::format("{} depends on the values of a tensor, which are not known when the op is compiled", what),
        "choose element by element with where(condition, a, b)");
  }
  if (const auto* items = value.items()) return !items->empty();
  if (value.is<std::string>()) return !value.as<std::string>().empty();
  return static_number(value, what).truthy();
}

void Builder::require(ir::Condition::Kind kind, ir::HostId a, ir::HostId b, std::string message) {
  a = graph.host.resolve(a);
  b = graph.host.resolve(b);
  if (kind == ir::Condition::Kind::Equal && a == b) return;
  if (kind == ir::Condition::Kind::NonNegative && graph.host.known_nonnegative(a)) return;
  ir::Condition condition{.kind = kind, .a = a, .b = b, .span = diagnostics.location(), .message = std::move(message)};
  if (graph.host.is_constant(a) && graph.host.is_constant(b)) {
    const ir::HostValue x = graph.host.value(a), y = graph.host.value(b);
    if (holds(kind, x, y)) return;
    if (kind != ir::Condition::Kind::Affordable) fail(message_of(condition, x, y));
  }
  if (lowered_.required.insert({kind, a, b}).second) graph.conditions.push_back(std::move(condition));
}

std::optional<bool> Builder::shares_memory(uint32_t query) const {
  const auto known = lowered_.aliases.find(query);
  return known == lowered_.aliases.end() ? std::nullopt : std::optional(known->second.shares);
}

void Builder::request_alias(uint32_t query, uint32_t layout_step) {
  if (lowered_.aliases.size() >= kMaxAliasQueries) return;
  ir::AliasFact answer{ir::alias_query(graph, layout_step), false};
  std::vector<ir::HostValue> host_values(answer.query.host.count());
  try {
    ir::evaluate(answer.query.host, symbol_values, host_values);
  } catch (const std::domain_error& error) {
    fail(error.what());
  }
  std::vector<ir::SizesAndStrides> arguments;
  for (uint32_t p = 0; p < graph.params.size(); ++p) {
    const ir::Param& param = graph.params[p];
    ir::SizesAndStrides& argument = arguments.emplace_back();
    if (param.shape.empty()) continue;
    for (uint32_t d = 0; d < param.shape.size(); ++d) argument.sizes.push_back(symbol_values.size(p, d));
    argument.strides = symbol_values.strides(p);
  }
  answer.shares = ir::shares_memory(answer.query, host_values, arguments);
  throw AliasRequest{query, std::move(answer)};
}

ir::NodeId Builder::seed() {
  if (!graph.seed) {
    std::string name = "seed";
    while (std::ranges::count(graph.params, name, &ir::Param::name) > 0) name += "_";
    graph.seed = static_cast<uint32_t>(graph.params.size());
    graph.params.push_back({.name = std::move(name), .dtype = ir::DType::I64, .shape = {}});
  }
  return graph.load(ir::DType::I64, {{ir::SourceRef::Kind::Param, *graph.seed}, {}, {}, {}});
}

void Builder::name(const Value& value, std::string_view name) {
  const Tensor* tensor = value.tensor();
  if (!tensor || diagnostics.in_library()) return;
  value.as<std::shared_ptr<Tensor>>()->name = name;
  for (const ConcatBlock& block : tensor->blocks) graph.name_node(block.node, std::string(name));
}

void Builder::record_expression(const Value& value) {
  const Tensor* tensor = value.tensor();
  if (!tensor || !diagnostics.here || diagnostics.in_library()) return;
  for (const ConcatBlock& block : tensor->blocks)
    if (graph.span(block.node) != diagnostics.here) graph.add_mention(block.node, diagnostics.here);
}

ir::NodeId Builder::with_location(ir::NodeId node) {
  graph.set_location(node, diagnostics.location());
  check_limits();
  return node;
}

Builder::Trial::Trial(const Builder& builder)
    : lowered_(builder.lowered_),
      graph_(lowered_.graph),
      required_(lowered_.required),
      tape_(lowered_.tape),
      random_count_(lowered_.random_count) {}

Builder::Trial::~Trial() {
  lowered_.graph = std::move(graph_);
  lowered_.required = std::move(required_);
  lowered_.tape = std::move(tape_);
  lowered_.random_count = random_count_;
}

void Builder::check_limits() {
  if (graph.count() <= kStaticAboveNodes) return;
  if (graph.count() > kMaxNodes) {
    fail(fmt::format("the op is larger than {} nodes", kMaxNodes),
         "loops are unrolled when the op is compiled: make them shorter, or split the op in two");
  }
  std::vector<ir::HostId> sizes;
  for (const ir::Param& param : graph.params) {
    for (const ir::HostId size : param.shape) {
      if (!graph.host.is_constant(size)) sizes.push_back(size);
    }
  }
  if (!sizes.empty()) throw SpecializationRequest{std::move(sizes)};
}

}  // namespace ingot::frontend
