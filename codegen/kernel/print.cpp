#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/kernel/kernel.h"
#include "codegen/kernel/walk.h"
#include "codegen/target/literals.h"
#include "codegen/target/spellings.h"

// A readable form of a kernel for tools and tests: one line per value, whether or not it gets a name in the source.

namespace ingot::codegen {
namespace {

std::string_view name_of(Level level) {
  static constexpr std::string_view kNames[] = {"kernel", "row", "thread", "fetch", "element"};
  return kNames[static_cast<size_t>(level)];
}

std::string_view name_of(IndexOp op) {
  static constexpr std::string_view kNames[] = {"+",   "-", "*", "/",  "/",  "/",  "%",   "%",
                                                "min", "|", "<", "<=", "==", "!=", "and", "or"};
  return kNames[static_cast<size_t>(op)];
}

std::string name_of(const Type& type) {
  std::string text(type_name(type.dtype));
  if (type.lanes > 1) text += fmt::format(" x {}", type.lanes);
  return type.is_pointer ? text + "*" : text;
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel) : kernel_(kernel) {}

  std::string print() {
    text_ = kernel_.launch.entry + (kernel_.target.cuda()
                                        ? fmt::format(": blocks of {} threads", kernel_.launch.block_threads)
                                        : fmt::format(": weight {}", kernel_.launch.weight));
    for (const GridFactor& factor : kernel_.launch.grid)
      text_ += fmt::format(", a {} for {} elements of axes {} to {}", kernel_.target.cuda() ? "block" : "unit",
                           factor.step, factor.first, factor.first + factor.axes - 1);
    text_ += "\n";
    for (const SymbolId id : kernel_.parameters)
      text_ += fmt::format("  parameter {}: {}\n", kernel_[id].name, name_of(kernel_[id].type));
    for_each_block(kernel_, [&](const Body& block) { print(block, 1); });
    return std::move(text_);
  }

 private:
  /// The formula of an inline value; "%n" for a value that is computed by a Let.
  std::string operand_text(ValueId id) {
    const Value& value = kernel_[id];
    return value.naming == Value::Naming::Inline ? formula(id) : fmt::format("%{}", id.index);
  }

  std::string formula(ValueId id) {
    const Value& value = kernel_[id];
    std::vector<std::string> operands;
    for (const ValueId operand : value.operands) operands.push_back(operand_text(operand));
    const std::string all = fmt::format("{}", fmt::join(operands, ", "));
    switch (value.kind) {
      case Value::Kind::Literal:
        return literal(value.number, value.type.dtype);
      case Value::Kind::Symbol:
        return kernel_[value.symbol].name;
      case Value::Kind::Block:
        return "block";
      case Value::Kind::Thread:
        return "thread";
      case Value::Kind::Index:
        return fmt::format("({} {} {})", operands[0], name_of(value.index), operands[1]);
      case Value::Kind::Load:
      case Value::Kind::Element:
        return fmt::format("{}[{}]{}", operands[0], operands[1],
                           operands.size() > 2 ? fmt::format(" if {}", operands[2]) : "");
      case Value::Kind::Pointee:
        return fmt::format("*{}", operands[0]);
      case Value::Kind::Vector:
        return fmt::format("load {}({}, {}){}", value.type.lanes, operands[0], operands[1],
                           operands.size() > 2 ? fmt::format(" if {}", operands[2]) : "");
      case Value::Kind::Shifted:
        return fmt::format("load shifted {}({})", value.type.lanes, all);
      case Value::Kind::VectorEnd:
        return fmt::format("load up to {}({})", value.type.lanes, all);
      case Value::Kind::ShiftedInRow:
        return fmt::format("load in row {}({})", value.type.lanes, all);
      case Value::Kind::HoldsForAnyRow:
        return fmt::format("any row({})", all);
      case Value::Kind::Quotient:
        return fmt::format("quotient({})", all);
      case Value::Kind::Reciprocal:
        return fmt::format("reciprocal({})", all);
      case Value::Kind::ExpOfNonPositive:
        return fmt::format("decay({})", all);
      case Value::Kind::Pack:
        return fmt::format("{{{}}}", all);
      case Value::Kind::Wrap:
        return fmt::format("wrap({})", all);
      case Value::Kind::Check:
        return fmt::format("check({})", all);
      case Value::Kind::Primitive:
        return fmt::format("{}({})", ir::id_of(value.op), all);
      case Value::Kind::Cast:
      case Value::Kind::Bitcast:
        return fmt::format("{}({})", value.kind == Value::Kind::Cast ? "cast" : "bitcast", all);
    }
    return {};
  }

  void line(int depth, const std::string& text) {
    text_ += std::string(static_cast<size_t>(2 * depth), ' ') + text + "\n";
  }

  void print(const Body& block, int depth) {
    for (const Statement& statement : block) {
      std::visit([&](const auto& node) { line(depth, head(node)); }, statement.node);
      if (const If* branch = std::get_if<If>(&statement.node)) {
        print(branch->then, depth + 1);
        if (!branch->otherwise.empty()) line(depth, "else");
        print(branch->otherwise, depth + 1);
      } else {
        for_each_block(statement, [&](const Body& inner) { print(inner, depth + 1); });
      }
    }
  }

  std::string head(const Let& let) {
    const Value& value = kernel_[let.value];
    return fmt::format("%{}: {}, {} = {}{}", let.value.index, name_of(value.type), name_of(value.level),
                       formula(let.value), value.name.empty() ? "" : "  ; " + value.name);
  }
  std::string head(const Declare& declare) {
    const Symbol& variable = kernel_[declare.variable];
    return fmt::format("variable {}: {}{}", variable.name, name_of(variable.type),
                       declare.value ? " = " + operand_text(declare.value) : "");
  }
  std::string head(const Assign& assign) {
    return fmt::format("{} = {}", formula(assign.target), operand_text(assign.value));
  }
  std::string head(const Advance& advance) {
    return fmt::format("{} += {}", kernel_[advance.variable].name, operand_text(advance.by));
  }
  std::string head(const StoreVector& store) {
    return fmt::format("store {} at {}[{}]{}{}", operand_text(store.vector), operand_text(store.pointer),
                       operand_text(store.index), store.begin ? " from " + operand_text(store.begin) : "",
                       store.end ? " up to " + operand_text(store.end) : "");
  }
  std::string head(const If& branch) { return "if " + operand_text(branch.condition); }
  std::string head(const Loop& loop) {
    static constexpr std::string_view kKinds[] = {"unrolled", "simd", "over", "serial", "rows", "strided", "steps"};
    if (loop.kind == Loop::Kind::Steps)
      return fmt::format("{} steps of {} {},{} from {} to {}", loop.step, loop.lanes, kernel_[loop.variable].name,
                         loop.valid ? " " + kernel_[loop.valid].name + "," : "", operand_text(loop.begin),
                         operand_text(loop.end));
    return fmt::format("{}{} {} from {} to {}", kKinds[static_cast<size_t>(loop.kind)],
                       loop.lanes == 0 ? "" : fmt::format(" of {}", loop.lanes), kernel_[loop.variable].name,
                       operand_text(loop.begin), operand_text(loop.end));
  }
  std::string head(const Barrier& barrier) {
    static constexpr std::string_view kKinds[] = {"barrier", "barrier of a warp", "cluster arrives", "cluster waits"};
    return std::string(kKinds[static_cast<size_t>(barrier.kind)]);
  }
  std::string head(const Call& call) {
    std::vector<std::string> operands;
    for (const ValueId operand : call.operands) operands.push_back(operand_text(operand));
    return fmt::format("{}({})", name_of(call.function), fmt::join(operands, ", "));
  }
  std::string head(const PieceLoop& loop) {
    return fmt::format("pieces of {} from {} to {}", loop.size, operand_text(loop.begin), operand_text(loop.end));
  }
  std::string head(const Combine& combine) {
    std::vector<std::string> accumulators, into;
    for (const SymbolId symbol : combine.accumulators) accumulators.push_back(kernel_[symbol].name);
    for (const SymbolId symbol : combine.into) into.push_back(kernel_[symbol].name);
    return fmt::format("{} = {} of accumulators {}, {}, {} threads{}", fmt::join(into, ", "),
                       ir::info(combine.kind).name, fmt::join(accumulators, ", "),
                       combine.spacing > 1 ? "adjacent" : fmt::format("runs of {}", combine.lanes), combine.threads,
                       combine.blocks > 1 ? fmt::format(" of {} blocks", combine.blocks) : "");
  }
  std::string head(const MergeAccumulators& merge) {
    return fmt::format("{} merges group {}: {} of accumulators {}", kernel_[merge.levels].name,
                       operand_text(merge.group), ir::info(merge.kind).name, kernel_[merge.accumulators].name);
  }
  std::string head(const CombineRun& combine) {
    return fmt::format("{} = {} of accumulators {}", formula(combine.into), ir::info(combine.kind).name,
                       kernel_[combine.accumulators].name);
  }
  std::string head(const Return& leave) {
    return fmt::format("return unless {} < {}", operand_text(leave.unless_below), operand_text(leave.end));
  }

  const Kernel& kernel_;
  std::string text_;
};

}  // namespace

std::string_view name_of(Call::Function function) {
  static constexpr std::string_view kNames[] = {"transpose",   "spread",       "repeat",    "to_floats",  "from_floats",
                                                "take_larger", "take_smaller", "take_rows", "leave_rows", "will_write"};
  return kNames[static_cast<size_t>(function)];
}

std::string_view name_of(ir::ReduceKind kind) {
  static constexpr std::string_view kNames[] = {"Sum",     "Product",  "AnyOf",        "AllOf",
                                                "Largest", "Smallest", "FirstLargest", "FirstSmallest"};
  return kNames[static_cast<size_t>(kind)];
}

std::string print(const Kernel& kernel) { return Printer(kernel).print(); }

}  // namespace ingot::codegen
