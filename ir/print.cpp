#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ir/graph.h"
#include "ir/host/gradient_condition.h"
#include "ir/host/host_print.h"

namespace ingot::ir {
namespace {

class GraphPrinter {
 public:
  explicit GraphPrinter(const Graph& graph) : graph_(graph) {
    for (const Param& param : graph.params) names_.push_back(param.name);
    for (const Result& result : graph.results) {
      for (const OutputBlock& block : result.blocks) rank_ = std::max(rank_, block.domain.size());
    }
    for (uint32_t i = 0; i < graph.count(); ++i) {
      const Op op = graph[{i}].op;
      if (has_access(op)) rank_ = std::max(rank_, graph.access({i}).dims.size());
    }
  }

  std::string print() const {
    std::string text = fmt::format("{}({})\n", graph_.name, parameters());
    for (uint32_t i = 0; i < graph_.count(); ++i) text += "  " + line({i}) + "\n";
    for (const Result& result : graph_.results) text += "  " + print(result) + "\n";
    for (const Condition& condition : graph_.conditions) {
      text += fmt::format("  require {}\n", print(condition));
    }
    for (const Static& fact : graph_.statics) {
      text += fmt::format("  static {} == {}\n", host(fact.symbol), print(fact.value));
    }
    return text + large_expressions();
  }

 private:
  std::string host(HostId id) const { return print_host(graph_.host, id, names_, abbreviated_); }

  /// Prints the subexpressions that large expressions abbreviate, each once. The printed graph is a key of programs, so
  /// it must be complete.
  std::string large_expressions() const {
    std::string text;
    std::set<HostId> known;
    while (!abbreviated_.empty()) {
      const HostId id = abbreviated_.back();
      abbreviated_.pop_back();
      if (known.insert(id).second) text += fmt::format("  h{} = {}\n", id.index, host(id));
    }
    return text;
  }

  std::string shape(const std::vector<HostId>& sizes) const {
    std::vector<std::string> texts;
    for (const HostId size : sizes) texts.push_back(host(size));
    return fmt::format("[{}]", fmt::join(texts, ", "));
  }

  std::string parameters() const {
    std::vector<std::string> texts;
    for (const Param& param : graph_.params) {
      static constexpr std::string_view kKinds[] = {"bool", "int", "float"};
      texts.push_back(param.kind == ParamKind::Number
                          ? fmt::format("{}: {}", param.name, kKinds[static_cast<int>(param.number)])
                          : fmt::format("{}: {}{}", param.name, short_name(param.dtype), shape(param.shape)));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  std::string line(NodeId id) const {
    const Node& node = graph_[id];
    std::string text = fmt::format("%{} = {} {}{}", id.index, operation(node.op), short_name(node.dtype), operands(id));
    if (!graph_.names(id).empty()) text += fmt::format("   ; {}", fmt::join(graph_.names(id), ", "));
    return text;
  }

  static std::string operation(Op op) {
    if (is_primitive(op)) {
      const std::string_view name = info(op).name;
      return std::string(name.substr(name.front() == '_'));
    }
    std::string name(id_of(op));
    std::ranges::transform(name, name.begin(), [](char c) { return c | ('a' - 'A'); });
    return name;
  }

  std::string operands(NodeId id) const {
    const Node& node = graph_[id];
    switch (node.op) {
      case Op::Load:
      case Op::Gather: {
        const Access& access = graph_.access(id);
        return fmt::format(" {}{}", source(id), coordinates(access, graph_.indices(id), false));
      }
      case Op::Reduce: {
        const Reduction& reduction = graph_.reduction(id);
        std::vector<size_t> dims;
        for (size_t d = 0; d < reduction.reduced.size(); ++d)
          if (reduction.reduced[d]) dims.push_back(d);
        return fmt::format(" {} of {} over {} along {}", info(reduction.kind).name, value(node.args[0]),
                           shape(reduction.domain), dims.empty() ? "none" : fmt::format("{}", fmt::join(dims, ", ")));
      }
      case Op::Scalar:
        return " " + host(graph_.host_of(id));
      case Op::Index:
        return " " + sums(graph_.access(id), {}, false)[0];
      case Op::Call:
        return fmt::format(" {} {} of{}", graph_.callee(id), value(node.args[0]),
                           values(std::span(node.args).subspan(1)));
      default:
        return values(node.args) + (node.attr == 0 ? "" : node.op == Op::Where ? ", both arms" : ", contractable");
    }
  }

  /// The source that a Load or Gather reads.
  std::string source(NodeId id) const {
    const SourceRef& source = graph_.access(id).source;
    if (source.kind == SourceRef::Kind::Param) return names_[source.index];
    return value(graph_[id].args[0]) + (source.index == 0 ? "" : ".index");
  }

  static std::string value(NodeId id) { return fmt::format("%{}", id.index); }

  static std::string values(std::span<const NodeId> ids) {
    std::string text;
    for (const NodeId id : ids) text += (text.empty() ? " " : ", ") + value(id);
    return text;
  }

  /// The variable of the dim that is `from_end` dims before the last one.
  std::string variable(size_t from_end) const { return fmt::format("i{}", rank_ - 1 - from_end); }

  /// Prints coordinates: "[i0*4 + 2, %5]". For a load, an index is 0 if the operand's size along the dim is 1. A store
  /// uses the indices of its domain unchanged.
  std::string coordinates(const Access& access, std::span<const NodeId> indices, bool is_store) const {
    return fmt::format("[{}]", fmt::join(sums(access, indices, is_store), ", "));
  }

  /// Prints each coordinate of an access: a sum of indices times coefficients and the offset.
  std::vector<std::string> sums(const Access& access, std::span<const NodeId> indices, bool is_store) const {
    std::vector<std::string> sums(access.offsets.size());
    const auto add_terms = [&](const std::vector<Term>& terms, const std::string& factor) {
      for (const Term& term : terms) add(sums[term.dim], product(factor, term.coef));
    };
    for (size_t k = 0; k < access.indirect.size(); ++k) {
      add_terms(access.indirect[k].terms, value(indices[k]));
    }
    for (size_t j = 0; j < access.dims.size(); ++j) {
      const AccessDim& dim = access.dims[j];
      if (graph_.host.is_int(dim.size, 1)) continue;
      const bool is_certain = is_store || graph_.host.known_not_one(dim.size);
      add_terms(dim.terms, variable(access.dims.size() - 1 - j) + (is_certain ? "" : "?"));
    }
    for (size_t d = 0; d < sums.size(); ++d) {
      std::string offset = host(access.offsets[d]);
      if (!sums[d].empty() && offset == "0") continue;
      if (sums[d].starts_with('-')) std::swap(sums[d], offset);
      add(sums[d], offset);
    }
    return sums;
  }

  static void add(std::string& sum, const std::string& summand) {
    const bool is_negative = summand.starts_with('-');
    if (!sum.empty()) sum += is_negative ? " - " : " + ";
    sum += summand.substr(is_negative && !sum.empty());
  }

  /// Prints factor · coef.
  std::string product(const std::string& factor, HostId coef) const {
    const HostNode& node = graph_.host[coef];
    if (graph_.host.is_int(coef, 1)) return factor;
    if (graph_.host.is_int(coef, -1)) return "-" + factor;
    if (node.op == HostOp::Constant && node.value.integer < 0) {
      return fmt::format("-{}*{}", factor, host(coef).substr(1));
    }
    const bool is_simple = node.args.empty() || node.op == HostOp::IsNotOne || node.op == HostOp::Mul;
    return factor + (is_simple ? "*" + host(coef) : "*(" + host(coef) + ")");
  }

  /// Whether the result consists of one block that is stored element for element. Its domain and store are then not
  /// printed.
  bool is_whole(const Result& result) const {
    if (result.blocks.size() != 1) return false;
    const OutputBlock& block = result.blocks[0];
    if (block.domain != result.shape || block.store.dims.size() > block.domain.size()) return false;
    for (const HostId offset : block.store.offsets) {
      if (!graph_.host.is_int(offset, 0)) return false;
    }
    const size_t missing = block.domain.size() - block.store.dims.size();
    for (size_t j = 0; j < block.store.dims.size(); ++j) {
      const std::vector<Term>& terms = block.store.dims[j].terms;
      const bool is_broadcast = terms.empty() && graph_.host.is_int(block.domain[missing + j], 1);
      const bool is_same = terms.size() == 1 && terms[0].dim == missing + j && graph_.host.is_int(terms[0].coef, 1);
      if (!is_broadcast && !is_same) return false;
    }
    return true;
  }

  std::string print(const Result& result) const {
    std::string text = fmt::format("{}: {}{}", result.name, short_name(result.dtype), shape(result.shape));
    if (result.mutates) text += fmt::format(" into {}", names_[*result.mutates]);
    text += " =";
    if (result.forwards) return text + " " + graph_.params[*result.forwards].name;
    if (!result.scatters.empty()) return text + print_sum(result);
    if (is_whole(result)) return text + " " + value(result.blocks[0].node);
    for (const OutputBlock& block : result.blocks) {
      text += fmt::format("\n    {} over {} at {}", value(block.node), shape(block.domain),
                          coordinates(block.store, {}, true));
    }
    return text;
  }

  std::string print_sum(const Result& result) const {
    std::string text;
    for (const ScatterAdd& scatter : result.scatters)
      text += fmt::format("{} {} at {} through dim {}", text.empty() ? "" : " +", graph_.results[scatter.values].name,
                          graph_.results[scatter.positions].name, fmt::join(scatter.scattered_dims, ", "));
    return result.addend ? fmt::format("{} + {}", text, graph_.results[*result.addend].name) : text;
  }

  std::string print(const Condition& condition) const {
    const std::string a = host(condition.a);
    const auto b = [&] { return host(condition.b); };
    switch (condition.kind) {
      case Condition::Kind::Equal:
        return fmt::format("{} == {}", a, b());
      case Condition::Kind::Broadcasts:
        return fmt::format("{} == {}, or either is 1", a, b());
      case Condition::Kind::InRange:
        return fmt::format("0 <= {} < {}", a, b());
      case Condition::Kind::NonNegative:
        return fmt::format("{} >= 0", a);
      case Condition::Kind::Affordable:
        return fmt::format("{} >= 0, else another strategy", a);
      case Condition::Kind::GradientsExist:
        return fmt::format("{}, else eager   ; {}", refuses_gradients(condition, graph_.host) ? "false" : "true",
                           condition.message);
      case Condition::Kind::NonEmpty:
        return graph_.host.is_constant(condition.b) ? fmt::format("{} > 0", a)
                                                    : fmt::format("{} > 0, or {} == 0", a, b());
      case Condition::Kind::RaisesNothing:
        return fmt::format("{} has a value", a);
      case Condition::Kind::True:
        break;
    }
    return a;
  }

  static std::string print(const HostValue& value) {
    HostPool pool;
    return pool.print(pool.constant(value), {});
  }

  const Graph& graph_;
  std::vector<std::string> names_;
  size_t rank_ = 0;
  mutable std::vector<HostId>
      abbreviated_;  ///< host expressions that are printed as numbers; large_expressions prints them at the end
};

}  // namespace

std::string print(const Graph& graph) { return GraphPrinter(graph).print(); }

}  // namespace ingot::ir
