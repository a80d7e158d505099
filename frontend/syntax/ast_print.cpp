#include "frontend/syntax/ast_print.h"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "base/text.h"

namespace ingot::frontend {

namespace {

using ast::Block;
using ast::ExprId;

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += "\\x";
      result += "0123456789abcdef"[c >> 4];
      result += "0123456789abcdef"[c & 15];
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string constant(const ast::Constant& node) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, ast::NoneLiteral>) return "None";
        if constexpr (std::is_same_v<T, ast::EllipsisLiteral>) return "...";
        if constexpr (std::is_same_v<T, bool>) return value ? "True" : "False";
        if constexpr (std::is_same_v<T, int64_t>) return std::to_string(value);
        if constexpr (std::is_same_v<T, double>) return round_trip(value);
        if constexpr (std::is_same_v<T, std::string>) return quoted(value);
      },
      node.value);
}

/// Prints expressions with an explicit stack, because a sum of thousands of terms is nested thousands of levels deep.
class Printer {
 public:
  explicit Printer(const ast::Module& module) : module_(module) {}

  std::string module() {
    block(module_.body, 0);
    return std::move(text_);
  }

 private:
  /// A pending part of the output: a word, or an expression.
  using Fragment = std::variant<std::string, ExprId>;
  using Fragments = std::vector<Fragment>;

  /// An expression as a prefix term.
  std::string term(ExprId id) const {
    if (!id) return "None";
    std::string text;
    Fragments stack = {id};
    while (!stack.empty()) {
      Fragment fragment = std::move(stack.back());
      stack.pop_back();
      if (const auto* word = std::get_if<std::string>(&fragment)) {
        text += *word;
        continue;
      }
      Fragments parts = fragments(std::get<ExprId>(fragment));
      stack.insert(stack.end(), std::make_move_iterator(parts.rbegin()), std::make_move_iterator(parts.rend()));
    }
    return text;
  }

  /// Appends a blank and an expression; `_` for a missing part.
  static void append(Fragments& fragments, ExprId id) {
    fragments.emplace_back(" ");
    if (id)
      fragments.emplace_back(id);
    else
      fragments.emplace_back("_");
  }

  static Fragments list(std::string head, const std::vector<ExprId>& items) {
    Fragments result = {"(" + std::move(head)};
    for (ExprId item : items) append(result, item);
    result.emplace_back(")");
    return result;
  }

  Fragments fragments(ExprId id) const {
    return std::visit([&](const auto& node) { return fragments(node); }, module_[id].node);
  }
  Fragments fragments(const ast::Constant& node) const { return {constant(node)}; }
  Fragments fragments(const ast::Name& node) const { return {node.name}; }
  Fragments fragments(const ast::Binary& node) const {
    return list(std::string(operator_text(node.op)), {node.left, node.right});
  }
  Fragments fragments(const ast::Unary& node) const {
    return list(std::string(operator_text(node.op)), {node.operand});
  }
  Fragments fragments(const ast::Compare& node) const {
    Fragments result = {"(compare"};
    append(result, node.left);
    for (size_t i = 0; i < node.ops.size(); ++i) {
      result.emplace_back(" " + std::string(operator_text(node.ops[i])));
      append(result, node.rights[i]);
    }
    result.emplace_back(")");
    return result;
  }
  Fragments fragments(const ast::BoolOp& node) const { return list(node.is_and ? "and" : "or", node.operands); }
  Fragments fragments(const ast::IfExp& node) const { return list("if", {node.test, node.then, node.otherwise}); }
  Fragments fragments(const ast::Tuple& node) const { return list("tuple", node.items); }
  Fragments fragments(const ast::List& node) const { return list("list", node.items); }
  Fragments fragments(const ast::Dict& node) const {
    Fragments result = {"(dict"};
    for (const ast::Dict::Item& item : node.items) {
      if (item.key) append(result, item.key);
      result.emplace_back(item.key ? ": " : " **");
      result.emplace_back(item.value);
    }
    result.emplace_back(")");
    return result;
  }
  Fragments fragments(const ast::NamedExpr& node) const { return list(":= " + node.name, {node.value}); }
  Fragments fragments(const ast::Comprehension& node) const {
    using Kind = ast::Comprehension::Kind;
    Fragments result = {node.kind == Kind::Generator ? "(generator"
                        : node.kind == Kind::Dict    ? "(dict-of"
                                                     : "(comprehension"};
    append(result, node.element);
    for (const auto& clause : node.clauses) {
      result.emplace_back(" (for");
      append(result, clause.target);
      append(result, clause.iterable);
      for (ExprId condition : clause.conditions) {
        result.emplace_back(" if");
        append(result, condition);
      }
      result.emplace_back(")");
    }
    result.emplace_back(")");
    return result;
  }
  Fragments fragments(const ast::Lambda& node) const {
    const ast::Function& function = module_[node.function];
    Fragments result = {"(lambda (" + parameters(function) + ")"};
    append(result, function.value);
    result.emplace_back(")");
    return result;
  }
  Fragments fragments(const ast::Slice& node) const { return list("slice", {node.lower, node.upper, node.step}); }
  Fragments fragments(const ast::Subscript& node) const { return list("[]", {node.value, node.index}); }
  Fragments fragments(const ast::Attribute& node) const { return {"(. ", node.value, " " + node.name + ")"}; }
  Fragments fragments(const ast::Call& node) const {
    Fragments result = list("call", {node.function});
    result.pop_back();
    for (ExprId argument : node.arguments) append(result, argument);
    for (const auto& keyword : node.keywords) {
      result.emplace_back(keyword.name.empty() ? " **" : " " + keyword.name + "=");
      result.emplace_back(keyword.value);
    }
    result.emplace_back(")");
    return result;
  }
  Fragments fragments(const ast::Starred& node) const { return {"*", node.value}; }

  std::string parameters(const ast::Function& function) const {
    std::string text;
    bool has_star = false;
    for (const ast::Parameter& parameter : function.parameters) {
      if (!text.empty()) text += ", ";
      if (parameter.kind == ast::Parameter::Kind::VarArgs) {
        text += "*";
        has_star = true;
      } else if (parameter.kind == ast::Parameter::Kind::VarKeywords) {
        text += "**";
      } else if (parameter.kind == ast::Parameter::Kind::KeywordOnly && !has_star) {
        text += "*, ";
        has_star = true;
      }
      text += parameter.name;
      if (parameter.annotation) text += ": " + term(parameter.annotation);
      if (parameter.default_value) text += "=" + term(parameter.default_value);
    }
    return text;
  }

  void line(size_t depth, const std::string& text, Span span = {}) {
    std::string padded = std::string(2 * depth, ' ') + text;
    if (span) {
      constexpr size_t kLocationColumn = 60;
      Source::Position position = span.source->position(span.begin);
      padded.resize(std::max(padded.size() + 2, kLocationColumn), ' ');
      padded += "# " + std::to_string(position.line) + ":" + std::to_string(position.column);
    }
    text_ += padded + "\n";
  }

  void block(const Block& body, size_t depth) {
    for (ast::StmtId id : body)
      std::visit([&](const auto& node) { statement(node, module_[id].span, depth); }, module_[id].node);
  }
  void statement(const ast::Return& node, Span span, size_t depth) {
    line(depth, node.value ? "return " + term(node.value) : "return", span);
  }
  void statement(const ast::Assign& node, Span span, size_t depth) {
    std::string text;
    for (ExprId target : node.targets) text += term(target) + " = ";
    line(depth, text + term(node.value), span);
  }
  void statement(const ast::AugAssign& node, Span span, size_t depth) {
    line(depth, term(node.target) + " " + std::string(operator_text(node.op)) + "= " + term(node.value), span);
  }
  void statement(const ast::AnnAssign& node, Span span, size_t depth) {
    std::string value = node.value ? " = " + term(node.value) : "";
    line(depth, term(node.target) + ": " + term(node.annotation) + value, span);
  }
  void statement(const ast::ExprStmt& node, Span span, size_t depth) { line(depth, term(node.value), span); }
  void statement(const ast::Def& node, Span span, size_t depth) {
    const ast::Function& function = module_[node.function];
    for (ExprId decorator : function.decorators) line(depth, "@" + term(decorator));
    line(depth, "def " + function.name + "(" + parameters(function) + ")", span);
    block(function.body, depth + 1);
  }
  void statement(const ast::For& node, Span span, size_t depth) {
    line(depth, "for " + term(node.target) + " in " + term(node.iterable), span);
    block(node.body, depth + 1);
  }
  void statement(const ast::While& node, Span span, size_t depth) {
    line(depth, "while " + term(node.test), span);
    block(node.body, depth + 1);
  }
  void statement(const ast::If& node, Span span, size_t depth) {
    for (size_t i = 0; i < node.branches.size(); ++i) {
      const ast::If::Branch& branch = node.branches[i];
      line(depth, (i == 0 ? "if " : "elif ") + term(branch.test), i == 0 ? span : module_[branch.test].span);
      block(branch.body, depth + 1);
    }
    if (node.otherwise.empty()) return;
    line(depth, "else");
    block(node.otherwise, depth + 1);
  }
  void statement(const ast::Import& node, Span span, size_t depth) {
    for (const auto& binding : node.bindings) {
      std::string what = binding.name.empty() ? binding.module : binding.module + "." + binding.name;
      line(depth, "import " + what + (binding.alias.empty() ? "" : " as " + binding.alias), span);
    }
  }
  void statement(const ast::Assert& node, Span span, size_t depth) {
    line(depth, "assert " + term(node.test) + (node.message ? ", " + term(node.message) : ""), span);
  }
  void statement(const ast::Raise& node, Span span, size_t depth) {
    std::string text = "raise " + node.exception;
    for (ExprId argument : node.arguments) text += " " + term(argument);
    line(depth, text, span);
  }
  void statement(const ast::Pass&, Span span, size_t depth) { line(depth, "pass", span); }
  void statement(const ast::Break&, Span span, size_t depth) { line(depth, "break", span); }
  void statement(const ast::Continue&, Span span, size_t depth) { line(depth, "continue", span); }

  const ast::Module& module_;
  std::string text_;
};

}  // namespace

std::string print(const ast::Module& module) { return Printer(module).module(); }

std::string signature_text(const ast::Module& module, const ast::Function& function) {
  std::string text;
  bool has_star = false;
  for (const ast::Parameter& parameter : function.parameters) {
    if (!text.empty()) text += ", ";
    if (parameter.kind == ast::Parameter::Kind::KeywordOnly && !has_star) text += "*, ";
    if (parameter.kind == ast::Parameter::Kind::VarArgs) text += "*";
    if (parameter.kind == ast::Parameter::Kind::VarKeywords) text += "**";
    has_star = has_star || parameter.kind != ast::Parameter::Kind::Positional;
    text += parameter.name;
    if (parameter.default_value) text += "=" + std::string(module[parameter.default_value].span.text());
  }
  return fmt::format("{}({})", function.name, text);
}

}  // namespace ingot::frontend
