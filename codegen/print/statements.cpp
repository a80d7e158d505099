#include "codegen/print/statements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/target/prelude.h"

namespace ingot::codegen {
namespace {

using Naming = Value::Naming;

constexpr size_t kColumns = 100;
constexpr size_t kIndent = 12;  // an estimate of the indentation of the innermost statements

std::string variable_type(const Symbol& variable, uint32_t threads) {
  if (variable.register_elements > 0)
    return fmt::format("Resident<{}, {}, {}>", type_text(variable.type), variable.register_elements, threads);
  const std::string aligned = variable.alignment > 0 ? fmt::format("__align__({}) ", variable.alignment) : "";
  return (variable.is_shared ? "__shared__ " : "") + aligned + type_text(variable.type);
}

/// "x4", or "x4[4]" for an array.
std::string declarator(const Symbol& variable) {
  std::string text = variable.name;
  if (variable.register_elements > 0) return text;
  for (const uint32_t extent : variable.extents) text += fmt::format("[{}]", extent);
  return text;
}

/// For a pointer, its symbol, even if it is advanced; for an element or vector of memory, the symbol of its pointer.
SymbolId pointer_of(const Kernel& kernel, ValueId value) {
  while (!kernel[value].symbol) value = kernel[value].operands[0];
  return kernel[value].symbol;
}

ComputedNodes nodes_of(ir::NodeId node) { return node == kNoNode ? ComputedNodes{} : ComputedNodes{node}; }

/// The nodes for which a value is computed. Variables and parts of addresses have none, since many nodes share them. A
/// vector belongs to all nodes that read or store its elements, and is loaded ahead of the computation.
ComputedNodes nodes_of_value(const Kernel& kernel, ValueId id) {
  const Value& value = kernel[id];
  switch (value.kind) {
    case Value::Kind::Vector:
    case Value::Kind::Shifted:
    case Value::Kind::VectorEnd:
    case Value::Kind::ShiftedInRow:
      return kernel[pointer_of(kernel, id)].nodes;
    case Value::Kind::Load:
      return value.node == kNoNode ? kernel[pointer_of(kernel, id)].nodes : nodes_of(value.node);
    case Value::Kind::HoldsForAnyRow:
    case Value::Kind::Quotient:
    case Value::Kind::Reciprocal:
    case Value::Kind::ExpOfNonPositive:
    case Value::Kind::Wrap:
    case Value::Kind::Check:
    case Value::Kind::Primitive:
    case Value::Kind::Cast:
    case Value::Kind::Bitcast:
      return nodes_of(value.node);
    default:
      return {};
  }
}

/// Whether the value is an element of memory rather than of a variable.
bool is_memory_element(const Kernel& kernel, ValueId id) {
  return kernel[id].kind == Value::Kind::Load || kernel[id].kind == Value::Kind::Pointee;
}

void add_all(ComputedNodes& nodes, const ComputedNodes& additions) {
  for (const ir::NodeId node : additions)
    if (std::ranges::count(nodes, node) == 0) nodes.push_back(node);
}

}  // namespace

Statements::Statements(const Kernel& kernel)
    : kernel_(kernel), usage_(kernel), names_(reserved_text(kernel.target.kind)), expressions_(kernel) {
  names_.claim(kernel.launch.entry);
  for (const Symbol& symbol : kernel.symbols) names_.claim(symbol.name);
  for (uint32_t v = 0; v < kernel.values.size(); ++v) {
    const Value& value = kernel.values[v];
    if (value.naming == Naming::Author || value.naming == Naming::Exact) names_.claim(value.name);
    if (value.naming == Naming::Exact) expressions_.set_name({v}, value.name);
  }
}

void Statements::line(std::string_view text, ComputedNodes nodes) {
  printed_.text += text;
  printed_.text += '\n';
  printed_.lines.push_back(std::move(nodes));
}

void Statements::statement(const std::string& text, ComputedNodes nodes) {
  line(std::string(static_cast<size_t>(indent_), ' ') + text, std::move(nodes));
}

ComputedNodes Statements::nodes_of_expression(ValueId value) const {
  if (!value) return {};
  if (expressions_.has_name(value)) return nodes_of_value(kernel_, value);
  ComputedNodes nodes;
  add_nodes(value, nodes);
  return nodes;
}

void Statements::add_nodes(ValueId id, ComputedNodes& nodes) const {
  add_all(nodes, nodes_of_value(kernel_, id));
  for (const ValueId operand : kernel_[id].operands)
    if (!expressions_.has_name(operand)) add_nodes(operand, nodes);
}

void Statements::print(const Body& statements, int indent) {
  indent_ = indent;
  for (size_t s = 0; s < statements.size(); ++s) {
    const auto* declare = std::get_if<Declare>(&statements[s].node);
    if (declare == nullptr || declare->value) {
      std::visit([&](const auto& node) { print_one(node); }, statements[s].node);
      continue;
    }
    // Variables of one type share a line.
    const std::string type = variable_type(kernel_[declare->variable], kernel_.launch.block_threads);
    std::string text = type + " " + declarator(kernel_[declare->variable]);
    for (; s + 1 < statements.size(); ++s) {
      const auto* next = std::get_if<Declare>(&statements[s + 1].node);
      if (next == nullptr || next->value ||
          variable_type(kernel_[next->variable], kernel_.launch.block_threads) != type)
        break;
      text += ", " + declarator(kernel_[next->variable]);
    }
    statement(text + ";");
  }
}

void Statements::print_block(const Body& inner) {
  const int outer_indent = indent_;
  print(inner, outer_indent + 4);
  indent_ = outer_indent;
}

void Statements::print_loop(const std::string& begin, const Body& body, const std::string& end) {
  statement(begin);
  print_block(body);
  statement(end);
}

// Values

bool Statements::is_named_by_store(ValueId id) const {
  const Usage::ValueUsage& uses = usage_[id];
  return uses.count == 1 && !uses.stored_to.empty() && kernel_[id].name.starts_with(uses.stored_to);
}

/// Whether a load needs a statement of its own before the `? :` that selects it (CPU). GCC 12 turns a load in an arm
/// into a masked load and mixes up the elements if the loop body stores several: it reads p[0], p[1], p[0], p[1] for
/// p[0], p[1], p[2], p[3]. A load with a condition of its own (operand 2) keeps it: without the condition it may read
/// outside of the tensor.
bool Statements::must_load_unconditionally(ValueId id) const {
  const bool is_plain_load = kernel_[id].kind == Value::Kind::Load && kernel_[id].operands.size() == 2;
  return is_plain_load && !kernel_.target.cuda() && usage_[id].is_in_arm;
}

bool Statements::needs_name(ValueId id) const {
  const Value& value = kernel_[id];
  if (must_load_unconditionally(id)) return true;
  if (value.naming == Naming::Placed || usage_[id].count > 1 || usage_[id].is_used_in_other_block) return true;
  return value.naming == Naming::Author && !is_named_by_store(id);
}

std::vector<ValueId> Statements::computed_parts(ValueId id) const {
  if (usage_.is_computed[id.index]) return {id};
  return computed_operands(kernel_, usage_, id);
}

template <typename Make>
void Statements::fit(std::vector<ValueId> parts, size_t prefix, Make make) {
  while (kIndent + prefix + make().size() > kColumns) {
    const auto width = [&](ValueId id) { return expressions_.has_name(id) ? 0 : text(id).size(); };
    const auto widest = std::ranges::max_element(parts, std::less{}, width);
    if (widest == parts.end() || width(*widest) == 0) return;
    print_named(*widest);
  }
}

void Statements::print_named(ValueId id) {
  const Value& value = kernel_[id];
  std::string name = value.name;
  if (value.naming != Naming::Author && value.naming != Naming::Exact)
    name = names_.claim(name.empty() ? fmt::format("v{}", ++generated_names_) : name);
  const std::string type = value.type.is_pointer ? "auto" : type_text(value.type);
  ComputedNodes nodes;
  add_nodes(id, nodes);
  statement(fmt::format("const {} {} = {};", type, name, expressions_.formula(id).text), std::move(nodes));
  expressions_.set_name(id, name);
}

void Statements::print_one(const Let& let) {
  const Value& value = kernel_[let.value];
  if (value.naming == Naming::Exact) {
    if (!usage_.unused_lets.contains(&let)) print_named(let.value);
    return;
  }
  const bool shows_author_name = value.naming == Naming::Author && !is_named_by_store(let.value);
  const size_t prefix =
      std::string_view("const double ").size() + std::max<size_t>(shows_author_name ? value.name.size() : 0, 5) + 4;
  fit(computed_operands(kernel_, usage_, let.value), prefix, [&] { return expressions_.formula(let.value).text; });
  if (needs_name(let.value)) print_named(let.value);
}

// Statements

void Statements::print_one(const Declare& declare) {
  const Symbol& variable = kernel_[declare.variable];
  fit(computed_parts(declare.value), type_text(variable.type).size() + variable.name.size() + 5,
      [&] { return text(declare.value); });
  const std::string value = text(declare.value);
  const bool is_vector = variable.type.lanes > 1;
  statement(fmt::format("{} {} = {};", is_vector ? "const auto" : type_text(variable.type), variable.name, value),
            nodes_of_expression(declare.value));
}

void Statements::print_one(const Assign& assign) {
  const std::string target = expressions_.formula(assign.target).text;
  fit(computed_parts(assign.value), target.size() + 4, [&] { return text(assign.value); });
  ComputedNodes nodes = nodes_of_expression(assign.value);
  if (is_memory_element(kernel_, assign.target)) add_all(nodes, kernel_[pointer_of(kernel_, assign.target)].nodes);
  statement(fmt::format("{} = {};", target, text(assign.value)), std::move(nodes));
}

void Statements::print_one(const Advance& advance) {
  const std::string variable = name(advance.variable), by = text(advance.by);
  statement(by == "1" ? fmt::format("++{};", variable) : fmt::format("{} += {};", variable, by));
}

void Statements::print_one(const StoreVector& store) {
  const auto call = [&] {
    if (!store.end) return fmt::format("store({}, {}, {})", text(store.pointer), text(store.index), text(store.vector));
    if (store.begin)
      return fmt::format("store_within({}, {}, {}, {}, {})", text(store.pointer), text(store.index), text(store.begin),
                         text(store.end), text(store.vector));
    return fmt::format("store_until({}, {}, {}, {})", text(store.pointer), text(store.index), text(store.end),
                       text(store.vector));
  };
  fit(computed_parts(store.vector), 1, call);
  ComputedNodes nodes = kernel_[pointer_of(kernel_, store.pointer)].nodes;
  add_all(nodes, nodes_of_expression(store.vector));
  statement(call() + ";", std::move(nodes));
}

void Statements::print_one(const If& branch) {
  statement(fmt::format("if ({}) {{", text(branch.condition)), nodes_of_expression(branch.condition));
  print_block(branch.then);
  if (!branch.otherwise.empty()) {
    statement("} else {");
    print_block(branch.otherwise);
  }
  statement("}");
}

void Statements::print_one(const Loop& loop) {
  const Symbol& variable = kernel_[loop.variable];
  if (loop.kind == Loop::Kind::SimdWhole)
    return print_loop(fmt::format("over({}, [&](int64 {}, bool {}) __attribute__((always_inline)) {{", text(loop.end),
                                  variable.name, name(loop.valid)),
                      loop.body, "});");
  if (loop.kind == Loop::Kind::Steps)
    return print_loop(fmt::format("in_steps<{}, {}, {}>({}, {}, [&]({} {}, bool{}) {{", loop.lanes,
                                  kernel_.launch.block_threads, loop.step, text(loop.begin), text(loop.end),
                                  type_text(variable.type), variable.name, loop.valid ? " " + name(loop.valid) : ""),
                      loop.body, "});");
  if (loop.kind == Loop::Kind::Unrolled) line("#pragma unroll");
  if (loop.unroll > 0) line(fmt::format("#pragma unroll {}", loop.unroll));
  if (loop.kind == Loop::Kind::Simd)
    line(fmt::format("#pragma omp simd{}{}", loop.lanes == 0 ? "" : fmt::format(" simdlen({})", loop.lanes),
                     loop.max_variable ? fmt::format(" reduction(max : {})", name(loop.max_variable)) : ""));
  const std::string step = loop.kind == Loop::Kind::BodyAdvances ? ""
                           : loop.step == 1                      ? " ++" + variable.name
                                                                 : fmt::format(" {} += {}", variable.name, loop.step);
  print_loop(fmt::format("for ({0} {1} = {2}; {1} < {3};{4}) {{", type_text(variable.type), variable.name,
                         text(loop.begin), text(loop.end), step),
             loop.body, "}");
}

void Statements::print_one(const Barrier& barrier) {
  static constexpr std::string_view kKinds[] = {"__syncthreads();", "__syncwarp();", "cluster_arrives();",
                                                "cluster_waits();"};
  statement(std::string(kKinds[static_cast<size_t>(barrier.kind)]));
}

void Statements::print_one(const Call& call) {
  std::vector<std::string> operands;
  for (const ValueId operand : call.operands) operands.push_back(text(operand));
  statement(fmt::format("{}({});", name_of(call.function), fmt::join(operands, ", ")), nodes_of(call.node));
}

void Statements::print_one(const PieceLoop& loop) {
  print_loop(fmt::format("{}<{}>({}, {}, [&](int64 {}, auto {}) __attribute__((always_inline)) {{",
                         loop.is_aligned ? "in_aligned_pieces" : "in_pieces", loop.size, text(loop.begin),
                         text(loop.end), name(loop.first), name(loop.count)),
             loop.body, "});");
}

void Statements::print_one(const Combine& combine) {
  const Symbol &value = kernel_[combine.into[0]], &accumulators = kernel_[combine.accumulators[0]];
  const std::string_view kind = name_of(combine.kind);
  const bool has_index = combine.accumulators.size() > 1;
  if (!value.extents.empty()) return print_rows(combine);
  std::string call = has_index ? "combined_found" : "combined", pattern(kind), operand = accumulators.name;
  if (combine.spacing > 1) {
    call += "_across";
    pattern += fmt::format(", {}, {}, {}", combine.threads, combine.spacing, combine.slot);
    if (combine.is_merged)
      operand += fmt::format("[{}]", accumulators.extents[0] - 1);
    else if (!has_index)
      operand = fmt::format("tree<{}, {}>({})", kind, accumulators.extents[0], accumulators.name);
  } else if (kernel_.target.cuda()) {
    const bool in_cluster = combine.blocks > 1;
    if (in_cluster) call += "_in_cluster";
    if (accumulators.is_shared) call += "_of_runs";
    pattern += fmt::format(", {}, {}{}, {}", combine.lanes, combine.threads,
                           in_cluster ? fmt::format(", {}", combine.blocks) : "", combine.slot);
  } else if (combine.kind == ir::ReduceKind::Max || combine.kind == ir::ReduceKind::Min) {
    // Unlike a branch between two scalars, this variant is never mispredicted (docs/performance.md:
    // cpu-vector-maximum).
    call += "_choice";
  }
  if (!has_index)
    return statement(fmt::format("{}{} {} = {}<{}>({});", combine.may_change ? "" : "const ", type_text(value.type),
                                 value.name, call, pattern, operand),
                     nodes_of(combine.node));
  statement(fmt::format("const auto [{}, {}] = {}<{}>({}, {});", value.name, name(combine.into[1]), call, pattern,
                        operand, name(combine.accumulators[1])),
            nodes_of(combine.node));
}

void Statements::print_rows(const Combine& combine) {
  std::vector<std::string> operands;
  for (const std::vector<SymbolId>& symbols : {combine.accumulators, combine.into})
    for (const SymbolId symbol : symbols) operands.push_back(name(symbol));
  for (const SymbolId symbol : combine.into)
    statement(fmt::format("{} {};", type_text(kernel_[symbol].type), declarator(kernel_[symbol])));
  statement(fmt::format("{}<{}>({});", combine.into.size() > 1 ? "combine_found_rows" : "combine_rows",
                        name_of(combine.kind), fmt::join(operands, ", ")),
            nodes_of(combine.node));
}

void Statements::print_one(const MergeAccumulators& merge) {
  const Symbol& accumulators = kernel_[merge.accumulators];
  const std::string_view kind = name_of(merge.kind);
  statement(fmt::format("carry<{}>({}, {}, tree<{}, {}>({}));", kind, name(merge.levels), text(merge.group), kind,
                        accumulators.extents[0], accumulators.name),
            nodes_of(merge.node));
}

void Statements::print_one(const CombineRun& combine) {
  const Symbol& accumulators = kernel_[combine.accumulators];
  statement(fmt::format("{} = tree<{}, {}>({});", text(combine.into), name_of(combine.kind), accumulators.extents[0],
                        accumulators.name),
            nodes_of(combine.node));
}

void Statements::print_one(const Return& leave) {
  statement(fmt::format("if ({} >= {}) return;", text(leave.unless_below), text(leave.end)));
}

}  // namespace ingot::codegen
