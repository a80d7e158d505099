#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "base/error.h"
#include "frontend/syntax/parsing.h"

namespace ingot::frontend {

namespace {

using ast::ExprId;

struct BinaryOperator {
  std::string_view symbol;
  Operator op;
  int precedence;
};
constexpr std::array<BinaryOperator, 12> kBinaryOperators = {{{"|", Operator::BitOr, 1},
                                                              {"^", Operator::BitXor, 2},
                                                              {"&", Operator::BitAnd, 3},
                                                              {"<<", Operator::LShift, 4},
                                                              {">>", Operator::RShift, 4},
                                                              {"+", Operator::Add, 5},
                                                              {"-", Operator::Sub, 5},
                                                              {"*", Operator::Mult, 6},
                                                              {"/", Operator::Div, 6},
                                                              {"//", Operator::FloorDiv, 6},
                                                              {"%", Operator::Mod, 6},
                                                              {"@", Operator::MatMul, 6}}};

const BinaryOperator* binary_operator(const Token& token) {
  if (!token.is(Token::Kind::Operator)) return nullptr;
  for (const BinaryOperator& row : kBinaryOperators)
    if (row.symbol == token.text()) return &row;
  return nullptr;
}

std::optional<Operator> comparison_operator(const Token& token) {
  if (!token.is(Token::Kind::Operator)) return std::nullopt;
  std::string_view text = token.text();
  if (text == "<") return Operator::Lt;
  if (text == "<=") return Operator::LtE;
  if (text == ">") return Operator::Gt;
  if (text == ">=") return Operator::GtE;
  if (text == "==") return Operator::Eq;
  if (text == "!=") return Operator::NotEq;
  return std::nullopt;
}

}  // namespace

/// Parses a lambda, or a disjunction with an optional `if … else …`.
ExprId Parser::expression() {
  LevelGuard level(*this);
  if (at_keyword("lambda")) return lambda();
  uint32_t start = begin();
  ExprId then = disjunction();
  if (at_operator(":="))
    throw_author(peek().span, get<ast::Name>(then) ? "`:=` needs parentheses here" : "`:=` assigns to a name only",
                 "write `(name := value)`, or assign on a line of its own");
  if (!accept_keyword("if")) return then;
  ExprId test = disjunction();
  expect_keyword("else", "after `a if condition`", "a conditional expression needs both values");
  ExprId otherwise = expression();
  return expr(start, ast::IfExp{test, then, otherwise});
}

/// Parses one expression, or several separated by commas, which form a tuple.
ExprId Parser::expression_list() {
  uint32_t start = begin();
  ExprId first = starred_or_expression();
  if (!at_operator(",")) {
    if (get<ast::Starred>(first))
      throw_author(module_[first].span, "a `*` unpacks only into a call, a tuple or a list",
                   "write `(*values,)` for a tuple of them");
    return first;
  }
  std::vector<ExprId> items = {first};
  while (accept_operator(",") && !at_expression_end()) items.push_back(starred_or_expression());
  return expr(start, ast::Tuple{std::move(items)});
}

/// Whether the next token can follow the trailing comma of an expression list.
bool Parser::at_expression_end() {
  const Token& token = peek();
  if (token.is(Token::Kind::Newline) || token.is(Token::Kind::End)) return true;
  if (!token.is(Token::Kind::Operator)) return token.is_keyword("in");
  std::string_view text = token.text();
  return text == ")" || text == "]" || text == "}" || text == ":" || text == ";" || text.ends_with("=");
}

ExprId Parser::starred_or_expression() {
  uint32_t start = begin();
  if (!accept_operator("*")) return expression();
  ExprId value = binary(0);
  return expr(start, ast::Starred{value});
}

/// Parses an expression, or `name := value` in a position in which Python requires no parentheses around it.
ExprId Parser::named_expression() {
  if (!peek().is(Token::Kind::Name) || !peek(1).is_operator(":=")) return expression();
  uint32_t start = begin();
  std::string name(take().text());
  take();
  ExprId value = expression();
  bind_around_comprehensions(name);
  return expr(start, ast::NamedExpr{std::move(name), value});
}

ExprId Parser::starred_or_named() { return at_operator("*") ? starred_or_expression() : named_expression(); }

ExprId Parser::disjunction() {
  uint32_t start = begin();
  ExprId first = conjunction();
  if (!at_keyword("or")) return first;
  std::vector<ExprId> operands = {first};
  while (accept_keyword("or")) operands.push_back(conjunction());
  return expr(start, ast::BoolOp{false, std::move(operands)});
}

ExprId Parser::conjunction() {
  uint32_t start = begin();
  ExprId first = inversion();
  if (!at_keyword("and")) return first;
  std::vector<ExprId> operands = {first};
  while (accept_keyword("and")) operands.push_back(inversion());
  return expr(start, ast::BoolOp{true, std::move(operands)});
}

ExprId Parser::inversion() {
  uint32_t start = begin();
  if (!accept_keyword("not")) return comparison();
  LevelGuard level(*this);
  ExprId operand = inversion();
  return expr(start, ast::Unary{Operator::Not, operand});
}

ExprId Parser::comparison() {
  uint32_t start = begin();
  ExprId left = binary(0);
  std::vector<Operator> ops;
  std::vector<ExprId> rights;
  for (;;) {
    if (auto op = comparison_operator(peek())) {
      take();
      ops.push_back(*op);
    } else if (accept_keyword("in")) {
      ops.push_back(Operator::In);
    } else if (at_keyword("not") && peek(1).is_keyword("in")) {
      take(), take();
      ops.push_back(Operator::NotIn);
    } else if (accept_keyword("is")) {
      ops.push_back(accept_keyword("not") ? Operator::IsNot : Operator::Is);
    } else {
      break;
    }
    rights.push_back(binary(0));
  }
  if (ops.empty()) return left;
  return expr(start, ast::Compare{left, std::move(ops), std::move(rights)});
}

/// Parses binary operators of at least this precedence: a loop for the same precedence, recursion for tighter ones.
ExprId Parser::binary(int min_precedence) {
  uint32_t start = begin();
  ExprId left = unary();
  for (;;) {
    const BinaryOperator* row = binary_operator(peek());
    if (!row || row->precedence < min_precedence) return left;
    take();
    ExprId right = binary(row->precedence + 1);
    left = expr(start, ast::Binary{row->op, left, right});
  }
}

ExprId Parser::unary() {
  uint32_t start = begin();
  bool is_minus = at_operator("-");
  if (!is_minus && !at_operator("+") && !at_operator("~")) return power();
  LevelGuard level(*this);
  Operator op = is_minus ? Operator::Neg : at_operator("+") ? Operator::Pos : Operator::Invert;
  take();
  bool is_int64_min =
      is_minus && peek().is(Token::Kind::Integer) && peek().integer == uint64_t{1} << 63 && !peek(1).is_operator("**");
  if (is_int64_min) {
    take();
    return expr(start, ast::Constant{std::numeric_limits<int64_t>::min()});
  }
  ExprId operand = unary();
  return expr(start, ast::Unary{op, operand});
}

ExprId Parser::power() {
  uint32_t start = begin();
  ExprId base = postfix();
  if (!accept_operator("**")) return base;
  LevelGuard level(*this);
  ExprId exponent = unary();
  return expr(start, ast::Binary{Operator::Pow, base, exponent});
}

ExprId Parser::postfix() {
  uint32_t start = begin();
  ExprId value = atom();
  for (;;) {
    if (accept_operator(".")) {
      Token name = expect_name("the name of an attribute after `.`");
      value = expr(start, ast::Attribute{value, std::string(name.text()), name.span});
    } else if (at_operator("(")) {
      value = call(start, value);
    } else if (at_operator("[")) {
      value = subscript(start, value);
    } else {
      return value;
    }
  }
}

ExprId Parser::call(uint32_t start, ExprId function) {
  Token open = take();
  std::vector<ExprId> arguments;
  std::vector<ast::Call::Keyword> keywords;
  std::unordered_set<std::string_view> keyword_names;
  bool has_double_star = false;
  while (!at_operator(")")) {
    if (at_operator("**")) {
      Span stars = take().span;
      has_double_star = true;
      keywords.push_back({{}, stars, expression()});
    } else if (peek().is(Token::Kind::Name) && peek(1).is_operator("=")) {
      Token name = take();
      take();
      if (!keyword_names.insert(name.text()).second)
        throw_author(name.span, "`" + std::string(name.text()) + "` is given twice", "keep one of them");
      ExprId value = expression();
      keywords.push_back({std::string(name.text()), name.span, value});
    } else {
      uint32_t argument_start = begin();
      ExprId argument = starred_or_named();
      if (at_comprehension()) {
        argument = comprehension(argument_start, argument, ast::Comprehension::Kind::Generator);
        if (!arguments.empty() || !keywords.empty() || !at_operator(")"))
          throw_author(module_[argument].span, "a generator among other arguments needs parentheses",
                       "write `f(a, (x for x in xs))`");
      }
      if (!keywords.empty() && (has_double_star || !get<ast::Starred>(argument)))
        throw_author(
            module_[argument].span, "a positional argument follows a keyword argument",
            "name it too, or put it before the `" + (has_double_star ? "**" : keywords.back().name + "=") + "`");
      arguments.push_back(argument);
    }
    if (!accept_operator(",")) break;
  }
  expect_close(open);
  return expr(start, ast::Call{function, std::move(arguments), std::move(keywords)});
}

ExprId Parser::subscript(uint32_t start, ExprId value) {
  Token open = take();
  if (at_operator("]")) throw_author(since(open.span.begin), "an index is missing", "write `x[0]` or `x[:]`");
  uint32_t index_start = begin();
  ExprId index = subscript_item();
  if (at_operator(",")) {
    std::vector<ExprId> items = {index};
    while (accept_operator(",") && !at_operator("]")) items.push_back(subscript_item());
    index = expr(index_start, ast::Tuple{std::move(items)});
  }
  expect_close(open);
  return expr(start, ast::Subscript{value, index});
}

/// Parses an index, or lower:upper:step with optional parts.
ExprId Parser::subscript_item() {
  uint32_t start = begin();
  if (at_operator("*")) throw_author(peek().span, "`*` in an index is outside the language", "write the indices out");
  ExprId lower, upper, step;
  if (!at_operator(":")) lower = named_expression();
  if (!accept_operator(":")) return lower;
  auto part = [&] { return at_operator(":") || at_operator(",") || at_operator("]") ? ExprId{} : expression(); };
  upper = part();
  if (accept_operator(":")) step = part();
  return expr(start, ast::Slice{lower, upper, step});
}

ExprId Parser::atom() {
  uint32_t start = begin();
  const Token& token = peek();
  switch (token.kind) {
    case Token::Kind::Name: {
      std::string name(take().text());
      return expr(start, ast::Name{std::move(name)});
    }
    case Token::Kind::Integer: {
      Token number = take();
      if (number.integer == uint64_t{1} << 63)
        throw_author(number.span, "the integer does not fit in 64 bits",
                     "integers range from -2**63 to 2**63 - 1; a larger number must be a float, such as 1e20");
      return expr(start, ast::Constant{static_cast<int64_t>(number.integer)});
    }
    case Token::Kind::Float: {
      double value = take().real;
      return expr(start, ast::Constant{value});
    }
    case Token::Kind::String:
    case Token::Kind::FormatString:
      return string();
    default:
      break;
  }
  if (at_operator("(")) return parenthesized();
  if (at_operator("[")) return bracketed();
  if (at_operator("{")) return braced();
  if (accept_operator("...")) return expr(start, ast::Constant{ast::EllipsisLiteral{}});
  if (accept_keyword("None")) return expr(start, ast::Constant{ast::NoneLiteral{}});
  if (accept_keyword("True")) return expr(start, ast::Constant{true});
  if (accept_keyword("False")) return expr(start, ast::Constant{false});
  refuse_atom();
}

/// Parses a string, or several adjacent strings, which are concatenated.
ExprId Parser::string() {
  uint32_t start = begin();
  std::string value;
  while (peek().is(Token::Kind::String) || peek().is(Token::Kind::FormatString)) {
    Token token = take();
    if (token.is(Token::Kind::FormatString) && !in_message_)
      throw_author(token.span, "f-strings are outside the language",
                   "strings are for names and error messages: write this one without the `f`");
    value += token.string;
  }
  return expr(start, ast::Constant{std::move(value)});
}

ExprId Parser::parenthesized() {
  uint32_t start = begin();
  Token open = take();
  if (accept_operator(")")) return expr(start, ast::Tuple{});
  uint32_t inner = begin();
  ExprId first = starred_or_named();
  if (at_comprehension()) {
    first = comprehension(inner, first, ast::Comprehension::Kind::Generator);
    expect_close(open);
    return first;
  }
  if (!at_operator(",")) {
    if (get<ast::Starred>(first))
      throw_author(module_[first].span, "a `*` unpacks only into a call, a tuple or a list",
                   "write `(*values,)` for a tuple of them");
    expect_close(open);
    return first;
  }
  std::vector<ExprId> items = {first};
  while (accept_operator(",") && !at_operator(")")) items.push_back(starred_or_named());
  expect_close(open);
  return expr(start, ast::Tuple{std::move(items)});
}

ExprId Parser::bracketed() {
  uint32_t start = begin();
  Token open = take();
  std::vector<ExprId> items;
  while (!at_operator("]")) {
    items.push_back(starred_or_named());
    if (items.size() == 1 && at_comprehension()) {
      ExprId result = comprehension(start, items[0], ast::Comprehension::Kind::List);
      expect_close(open);
      module_.exprs[result.index].span = since(start);
      return result;
    }
    if (!accept_operator(",")) break;
  }
  expect_close(open);
  return expr(start, ast::List{std::move(items)});
}

/// Parses a dict display or a dict comprehension.
ExprId Parser::braced() {
  uint32_t start = begin();
  Token open = take();
  ast::Dict node;
  while (!at_operator("}")) {
    if (accept_operator("**")) {
      node.items.push_back({{}, binary(0)});
    } else {
      uint32_t item = begin();
      ExprId key = starred_or_named();
      if (get<ast::Starred>(key) || at_operator(",") || at_operator("}") || at_comprehension())
        throw_author(open.span, "sets are outside the language", "use a tuple or a list");
      expect_operator(":", "after the key of a dict");
      ExprId value = expression();
      if (node.items.empty() && at_comprehension()) {
        ExprId pair = expr(item, ast::Tuple{{key, value}});
        ExprId result = comprehension(start, pair, ast::Comprehension::Kind::Dict);
        expect_close(open);
        module_.exprs[result.index].span = since(start);
        return result;
      }
      node.items.push_back({key, value});
    }
    if (!accept_operator(",")) break;
  }
  expect_close(open);
  return expr(start, std::move(node));
}

/// Parses the clauses after the element: for … in … if …, once or more.
ExprId Parser::comprehension(uint32_t start, ExprId element, ast::Comprehension::Kind kind) {
  if (get<ast::Starred>(element))
    throw_author(module_[element].span, "a comprehension's element cannot be unpacked", "add a `for` over its items");
  ast::Comprehension node{element, {}, {}, kind};
  scopes_.emplace_back().is_comprehension = true;
  while (at_comprehension()) {
    if (at_keyword("async")) refuse_atom();
    take();
    ast::Comprehension::Clause clause;
    clause.target = target_list();
    bind_target(clause.target);
    expect_keyword("in", "after the names of a `for`");
    clause.iterable = disjunction();
    while (accept_keyword("if")) clause.conditions.push_back(disjunction());
    node.clauses.push_back(std::move(clause));
  }
  node.locals = sorted(scopes_.back().names);
  scopes_.pop_back();
  return expr(start, std::move(node));
}

/// Parses the targets between `for` and `in`.
ExprId Parser::target_list() {
  uint32_t start = begin();
  auto target = [&] {
    uint32_t star = begin();
    if (!accept_operator("*")) return postfix();
    ExprId value = postfix();
    return expr(star, ast::Starred{value});
  };
  ExprId first = target();
  if (!at_operator(",")) return first;
  std::vector<ExprId> items = {first};
  while (accept_operator(",") && !at_keyword("in")) items.push_back(target());
  return expr(start, ast::Tuple{std::move(items)});
}

}  // namespace ingot::frontend
