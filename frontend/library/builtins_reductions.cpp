#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "frontend/library/builtin_tables.h"
#include "frontend/tensor/reduce.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/views.h"

// The reductions that are primitives (ir/reductions.def). library/reductions.py builds PyTorch's reductions from them.

namespace ingot::frontend {
namespace {

/// Resolves the dims of a reduction: a number, several numbers, or all dims for None or an empty tuple.
std::vector<size_t> reduced_dims(Builder& builder, const Value& dims, size_t rank) {
  const bool reduces_all = dims.is_none() || (dims.items() && dims.items()->empty());
  if (!reduces_all && rank > 0) return resolve_dims(builder, dims, rank);
  if (!reduces_all)  // a 0-dim tensor accepts dims 0 and -1
    for (const Value& dim : dims.items() ? *dims.items() : std::vector<Value>{dims}) resolve_dim(builder, dim, 1);
  std::vector<size_t> result(rank);
  std::iota(result.begin(), result.end(), size_t{0});
  return result;
}

Value call_reduce(Builder& builder, const Builtin&, Args args) {
  const std::string function = args[4].is_none() ? std::string() : args[4].as<std::string>();
  const Tensor& x = require_tensor(builder, args[1], fmt::format("{}: `input`", function));
  const auto kind = ir::reduction_named(args[0].as<std::string>());
  const std::vector<size_t> dims = reduced_dims(builder, args[2], x.rank());
  if (!args[3].is_number() || builder.graph.host.kind(args[3].number()) != ir::HostKind::Bool)
    builder.fail(fmt::format("{}(): `keepdim` must be True or False, not {}", function, describe(args[3])),
                 "give several dims as a tuple: x.sum((0, 1))");
  const bool keepdim = builder.static_bool(args[3], fmt::format("{}: `keepdim`", function));
  std::vector<Value> values;
  for (Tensor& value : reduce(builder, *kind, x, dims, keepdim, function)) values.emplace_back(std::move(value));
  return values.size() == 1 ? values[0] : Value::tuple(std::move(values));
}

/// The dims that a reduction over `dim` reduces, as an ascending tuple.
Value call_reduced_dims(Builder& builder, const Builtin&, Args args) {
  const Tensor& x = require_tensor(builder, args[0], "`input`");
  std::vector<size_t> dims = reduced_dims(builder, args[1], x.rank());
  std::ranges::sort(dims);
  std::vector<Value> values;
  for (const size_t dim : dims) values.emplace_back(Number{builder.integer(static_cast<int64_t>(dim))});
  return Value::tuple(std::move(values));
}

/// One element of each row, with the reduced dims of size 1: at index size * sixths / 6, rounded down, of each reduced
/// dim. Checks no bounds: the sample of a row without elements has no meaning, and kernels read it within the tensor
/// (codegen/shape/geometry.cpp).
Value call_row_sample(Builder& builder, const Builtin& self, Args args) {
  Tensor sample = require_tensor(builder, args[0], "`input`");
  const ir::HostId sixths = integer_argument(builder, args[2], fmt::format("{}: `sixths`", self.name));
  for (const size_t dim : reduced_dims(builder, args[1], sample.rank())) {
    const ir::HostId scaled = builder.mul(shape_of(builder, sample)[dim], sixths);
    const ir::HostId index = builder.host(ir::HostOp::FloorDiv, {scaled, builder.integer(6)});
    sample = narrow(builder, sample, dim, index, builder.integer(1));
  }
  return sample;
}

/// The size of a dim. Specialises sizes up to 16, as indexing with a constant does.
Value call_specialized_size(Builder& builder, const Builtin&, Args args) {
  const Tensor& x = require_tensor(builder, args[0], "`input`");
  const ir::HostId size = shape_of(builder, x)[resolve_dim(builder, args[1], x.rank())];
  specialize_small(builder, size);
  return Number{builder.graph.host.resolve(size)};
}

/// The smallest label of the dims that `...` covers in an einsum term: the last of these dims has it, and each earlier
/// dim has the next larger one. Dims with a letter are labelled with its character code, which is smaller.
constexpr int64_t kSmallestEllipsisLabel = 256;

/// The subscripts of one operand or of the result.
struct EinsumTerm {
  std::string before, after;  ///< the letters before and after `...`
  bool has_ellipsis = false;

  size_t letter_count() const { return before.size() + after.size(); }
  std::vector<int64_t> labels(size_t ellipsis_rank) const {
    std::vector<int64_t> result(before.begin(), before.end());
    for (size_t k = ellipsis_rank; has_ellipsis && k > 0; --k)
      result.push_back(kSmallestEllipsisLabel + static_cast<int64_t>(k) - 1);
    result.insert(result.end(), after.begin(), after.end());
    return result;
  }
};

EinsumTerm parse_einsum_term(const Builder& builder, std::string_view text) {
  EinsumTerm term;
  for (; !text.empty(); text.remove_prefix(1)) {
    if (text.starts_with("...") && !term.has_ellipsis) {
      term.has_ellipsis = true;
      text.remove_prefix(2);
    } else if (std::isalpha(static_cast<unsigned char>(text.front()))) {
      (term.has_ellipsis ? term.after : term.before).push_back(text.front());
    } else {
      builder.fail(fmt::format("einsum(): subscripts are letters and one `...` per tensor, not `{}`", text.front()));
    }
  }
  return term;
}

Value tuple_of(Builder& builder, std::span<const int64_t> numbers) {
  std::vector<Value> values;
  for (const int64_t number : numbers) values.emplace_back(Number{builder.integer(number)});
  return Value::tuple(std::move(values));
}

/// Converts a list of subscripts to a term of an equation: 0 to 25 become A to Z, 26 to 51 a to z.
std::string subscripts_of(Builder& builder, const Value& sublist) {
  if (!sublist.items()) {
    builder.fail(
        fmt::format("einsum(): each tensor must be followed by a list of subscripts, not by {}", describe(sublist)),
        "such as einsum(x, [0, 1], y, [1, 2], [0, 2])");
  }
  std::string term;
  for (const Value& subscript : *sublist.items()) {
    if (subscript.is<Ellipsis>()) {
      term += "...";
      continue;
    }
    const int64_t number = builder.static_int(subscript, "einsum(): a subscript");
    if (number < 0 || number >= 52) builder.fail("einsum(): a subscript in a list is `...` or a number from 0 to 51");
    term += static_cast<char>(number < 26 ? 'A' + number : 'a' + number - 26);
  }
  return term;
}

/// Returns the equation as a string. `equation` is a string, or a pair: the operands' lists of subscripts, and the
/// result's list or None.
std::string equation_of(Builder& builder, const Value& equation) {
  if (equation.is<std::string>()) return equation.as<std::string>();
  const std::vector<Value>& pair = *equation.items();
  std::vector<std::string> terms;
  for (const Value& sublist : *pair[0].items()) terms.push_back(subscripts_of(builder, sublist));
  const std::string inputs = fmt::format("{}", fmt::join(terms, ","));
  return pair[1].is_none() ? inputs : inputs + "->" + subscripts_of(builder, pair[1]);
}

/// Labels the dims of einsum's operands, one tuple per operand, and of its result.
Value call_einsum_labels(Builder& builder, const Builtin&, Args args) {
  std::string equation = equation_of(builder, args[0]);
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  const std::string_view inputs = std::string_view(equation).substr(0, arrow);
  const std::vector<Value>& operands = *args[1].items();
  if (static_cast<size_t>(std::ranges::count(inputs, ',')) + 1 != operands.size())
    builder.fail(fmt::format("einsum(): the equation has {} operands, but {} are given",
                             std::ranges::count(inputs, ',') + 1, operands.size()));
  std::vector<Value> terms;
  std::vector<int64_t> input_labels;
  size_t ellipsis_rank = 0, begin = 0;
  for (size_t k = 0; k < operands.size(); ++k) {
    const size_t end = std::min(inputs.find(',', begin), inputs.size());
    const EinsumTerm term = parse_einsum_term(builder, inputs.substr(begin, end - begin));
    const size_t rank = require_tensor(builder, operands[k], "einsum(): an operand").rank();
    if (term.letter_count() > rank || (term.letter_count() < rank && !term.has_ellipsis))
      builder.fail(
          fmt::format("einsum(): the number of subscripts in the equation ({}) does not match the number of "
                      "dimensions ({}) for operand {}{}",
                      term.letter_count(), rank, k, term.has_ellipsis ? "" : " and no ellipsis was given"));
    if (term.has_ellipsis) ellipsis_rank = std::max(ellipsis_rank, rank - term.letter_count());
    const std::vector<int64_t> labels = term.labels(rank - term.letter_count());
    input_labels.insert(input_labels.end(), labels.begin(), labels.end());
    terms.push_back(tuple_of(builder, labels));
    begin = end + 1;
  }
  std::vector<int64_t> output;
  if (arrow == std::string::npos) {  // the dims of `...`, then the letters that occur once, sorted
    output = EinsumTerm{{}, {}, true}.labels(ellipsis_rank);
    std::ranges::sort(input_labels);
    for (const int64_t label : input_labels)
      if (label < kSmallestEllipsisLabel && std::ranges::count(input_labels, label) == 1) output.push_back(label);
  } else {
    output = parse_einsum_term(builder, std::string_view(equation).substr(arrow + 2)).labels(ellipsis_rank);
    for (const int64_t label : output) {
      if (std::ranges::count(output, label) > 1)
        builder.fail(fmt::format("einsum(): output subscript {} appears more than once", static_cast<char>(label)));
      if (std::ranges::count(input_labels, label) == 0)
        builder.fail(fmt::format("einsum(): output subscript {} does not appear in the equation for any input operand",
                                 static_cast<char>(label)));
    }
  }
  return Value::tuple({Value::tuple(std::move(terms)), tuple_of(builder, output)});
}

}  // namespace

std::vector<Builtin> reduction_builtins() {
  return {
      {"_reduce", "(kind, input, dim, keepdim, function)", kFunction, kNoMethod, {}, call_reduce},
      {"_reduced_dims", "(input, dim)", kFunction, kNoMethod, {}, call_reduced_dims},
      {"_row_sample", "(input, dim, sixths)", kFunction, kNoMethod, {}, call_row_sample},
      {"_einsum_labels", "(equation, operands)", kFunction, kNoMethod, {}, call_einsum_labels},
      {"_specialized_size", "(input, dim)", kFunction, kNoMethod, {}, call_specialized_size},
  };
}

}  // namespace ingot::frontend
