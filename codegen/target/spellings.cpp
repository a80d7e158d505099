#include "codegen/target/spellings.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"

namespace ingot::codegen {
namespace {

using ir::DType;
using ir::Op;

constexpr std::string_view kNone;

/// A row of a table of spellings: an op, and its pattern for each column (Column).
struct Row {
  Op op = Op::Load;
  std::string_view floating, wide, narrow, boolean;
};

constexpr int kFirstPrimitive = static_cast<int>(ir::kLastStructural) + 1;
constexpr int kPrimitiveCount = 0
#define INGOT_OP(id, name, arity, rule, accepts, accuracy, cost, numbers, summary) +1
#include "ir/ops.def"
#undef INGOT_OP
    ;
using Table = std::array<Row, kPrimitiveCount>;

constexpr Table table_of(std::initializer_list<Row> rows) {
  Table table;
  for (const Row& row : rows) table[static_cast<size_t>(static_cast<int>(row.op) - kFirstPrimitive)] = row;
  return table;
}

#define INGOT_SPELL(id, floating, wide, narrow, boolean) {Op::id, floating, wide, narrow, boolean},
constexpr Table kCuda = table_of({
#include "codegen/target/spellings_cuda.def"
});
constexpr Table kCpu = table_of({
#include "codegen/target/spellings_cpu.def"
});
#undef INGOT_SPELL

/// Whether the table has every pattern that the type rule and the accepted dtypes of the ops in ir/ops.def require.
constexpr bool has_all_columns(const Table& table) {
  using namespace ir::accepted;
  struct Requirement {
    Op op;
    ir::Rule rule;
    ir::Accepts accepts;
  };
  constexpr Requirement requirements[] = {
#define INGOT_OP(id, name, arity, rule, accepts, accuracy, cost, numbers, summary) {Op::id, ir::Rule::rule, accepts},
#include "ir/ops.def"
#undef INGOT_OP
  };
  for (const Requirement& required : requirements) {
    const Row& row = table[static_cast<size_t>(static_cast<int>(required.op) - kFirstPrimitive)];
    const bool cast_to_float = required.rule == ir::Rule::Float, cast_to_bool = required.rule == ir::Rule::Logical;
    if (row.op != required.op) return false;
    if (required.accepts.floating && !cast_to_bool && row.floating.empty()) return false;
    if (required.accepts.integral && !cast_to_float && !cast_to_bool && (row.wide.empty() || row.narrow.empty()))
      return false;
    if (required.accepts.boolean && !cast_to_float && row.boolean.empty()) return false;
  }
  return true;
}
static_assert(has_all_columns(kCuda), "codegen/target/spellings_cuda.def lacks a row, or a column of one");
static_assert(has_all_columns(kCpu), "codegen/target/spellings_cpu.def lacks a row, or a column of one");

/// The columns of the tables: sets of types that share a pattern. Wide types are 32- and 64-bit integers. Narrow types
/// are 8- and 16-bit integers, which are computed in int, or in uint32 for products of uint16.
enum class Column : uint8_t { Floating, Wide, Narrow, Boolean };
constexpr int kColumns = 4;

Column column_of(DType compute_dtype) {
  switch (compute_dtype) {
    case DType::Bool:
      return Column::Boolean;
    case DType::U8:
    case DType::I8:
    case DType::I16:
    case DType::U16:
      return Column::Narrow;
    case DType::I32:
    case DType::I64:
    case DType::U32:
    case DType::U64:
      return Column::Wide;
    default:
      return Column::Floating;
  }
}

std::string_view pattern_of(const Row& row, Column column) {
  return std::array{row.floating, row.wide, row.narrow, row.boolean}[static_cast<size_t>(column)];
}

using Spellings = std::vector<std::array<Spelling, kColumns>>;

Spellings parse(const Table& table) {
  Spellings parsed;
  for (const Row& row : table)
    parsed.push_back({Spelling(row.floating), Spelling(row.wide), Spelling(row.narrow), Spelling(row.boolean)});
  return parsed;
}

Text fill(const Spelling& spelling, DType compute_dtype, std::span<const Text> operands) {
  return spelling.fill(operands, type_name(compute_dtype), compute_dtype == DType::F64 ? "" : "f");
}

}  // namespace

std::string_view type_name(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return "bool";
    case DType::U8:
      return "uint8";
    case DType::I8:
      return "int8";
    case DType::I16:
      return "int16";
    case DType::I32:
      return "int";
    case DType::I64:
      return "int64";
    case DType::U16:
      return "uint16";
    case DType::U32:
      return "uint32";
    case DType::U64:
      return "uint64";
    case DType::F8E4M3FN:
      return "float8_e4m3fn";
    case DType::F8E5M2:
      return "float8_e5m2";
    case DType::F8E4M3FNUZ:
      return "float8_e4m3fnuz";
    case DType::F8E5M2FNUZ:
      return "float8_e5m2fnuz";
    case DType::F16:
      return "float16";
    case DType::BF16:
      return "bfloat16";
    case DType::F32:
      return "float";
    case DType::F64:
      return "double";
  }
  throw_internal("a dtype without a name in generated source");
}

Text spell(Target::Kind target, Op op, DType compute_dtype, std::span<const Text> operands) {
  static const std::array<Spellings, 2> tables = {parse(kCuda), parse(kCpu)};
  const Spellings& table = tables[target == Target::Kind::Cuda ? 0 : 1];
  const auto index = static_cast<size_t>(static_cast<int>(op) - kFirstPrimitive);
  const Column column = column_of(compute_dtype);
  // Unsigned products wrap as C++ defines. But 16-bit operands would be promoted to int, whose products can overflow.
  static const Spelling unsigned_product("T(uint32(a) * b)"), wide_product("a * b");
  if (op == Op::Mul && ir::is_extended_unsigned(compute_dtype)) {
    return fill(compute_dtype == DType::U16 ? unsigned_product : wide_product, compute_dtype, operands);
  }
  if (!ir::is_primitive(op) || pattern_of((target == Target::Kind::Cuda ? kCuda : kCpu)[index], column).empty())
    throw_internal("no spelling of " + std::string(ir::id_of(op)) + " for " + std::string(ir::name_of(compute_dtype)));
  return fill(table[index][static_cast<size_t>(column)], compute_dtype, operands);
}

namespace {

/// The prelude's reproducible functions for float32: they give the same bits in scalar and vector code. Generated
/// source calls them instead of the C library's functions (docs/performance.md: cpu-own-functions).
const std::map<Op, Spelling>& reproducible_functions() {
  static const std::map<Op, Spelling> functions = {{Op::Exp, Spelling("exp_of(a)")}, {Op::Log, Spelling("log_of(a)")}};
  return functions;
}

}  // namespace

std::optional<Text> spell_reproducible(Op op, DType compute_dtype, std::span<const Text> operands) {
  if (!is_spelled_reproducibly(op, compute_dtype)) return std::nullopt;
  return fill(reproducible_functions().at(op), compute_dtype, operands);
}

bool is_spelled_reproducibly(Op op, DType compute_dtype) {
  return compute_dtype == DType::F32 && reproducible_functions().contains(op);
}

bool needs_operands(Target::Kind target, Op op, DType compute_dtype) {
  const std::array<Text, 3> markers = {Text{"$"}, Text{"$"}, Text{"$"}};
  return spell(target, op, compute_dtype, markers).text.find('$') != std::string::npos;
}

namespace {

/// The cast of a float to an integer on the CPU. C++ leaves the result undefined for a float out of range. For uint8
/// the result is c10's. For other dtypes it is the result of eager's kernels, which convert to an integer type for
/// which the processor has an instruction.
std::string_view float_to_integer(DType to) {
  switch (to) {
    case DType::I8:
    case DType::I16:
    case DType::U16:
      return "T(to_int(a))";
    case DType::I32:
      return "to_int(a)";
    case DType::I64:
      return "to_int64(a)";
    case DType::U64:
      return "to_uint64(a)";
    default:
      return "T(to_int64(a))";
  }
}

}  // namespace

Text spell_cast(Target::Kind target, DType from, DType to, const Text& value) {
  static const Spelling as_bool("a != 0"), plain("T(a)"), wrapped("T(int64(a))");
  const std::array operand = {value};
  if (to == DType::Bool) return as_bool.fill(operand);
  if (!ir::is_floating(from) || ir::is_floating(to)) return plain.fill(operand, type_name(to));
  if (target == Target::Kind::Cpu) return Spelling(float_to_integer(to)).fill(operand, type_name(to));
  return (to == DType::U8 ? wrapped : plain).fill(operand, type_name(to));  // negative floats wrap, as in c10
}

std::string spelling_text(Target::Kind target) {
  std::string text;
  const auto append = [&](const Row& row) {
    for (const std::string_view pattern : {row.floating, row.wide, row.narrow, row.boolean}) {
      if (pattern.empty()) continue;
      for (const std::string_view suffix : {"f", ""}) {
        const std::array<Text, 3> empty_operands;
        text += Spelling(pattern).fill(empty_operands, "", suffix).text + "\n";
      }
    }
  };
  std::ranges::for_each(target == Target::Kind::Cuda ? kCuda : kCpu, append);
  if (target == Target::Kind::Cpu)
    for (const auto& [op, spelling] : reproducible_functions())
      text += spelling.fill(std::array<Text, 1>{}).text + "\n";
  return text;
}

}  // namespace ingot::codegen
