#include "frontend/syntax/parser.h"

#include <algorithm>

#include "base/error.h"
#include "frontend/syntax/parsing.h"

namespace ingot::frontend {

namespace {

using ast::ExprId;
using ast::StmtId;

/// The limit for nested expressions and blocks, far below what a thread's stack allows.
constexpr int kMaxLevels = 300;

}  // namespace

ast::Module parse(std::shared_ptr<const Source> source, const IsKnownName& is_known) {
  return Parser(std::move(source)).run(is_known);
}

Parser::Parser(std::shared_ptr<const Source> source) : source_(std::move(source)), lexer_(*source_) {}

Parser::LevelGuard::LevelGuard(Parser& parser) : parser_(parser) {
  if (++parser_.level_ <= kMaxLevels) return;
  --parser_.level_;  // the destructor of a partly constructed guard does not run
  throw_author(parser_.peek().span, "the expressions are nested too deeply",
               "give the inner ones names of their own, on lines before this one");
}

// Tokens

const Token& Parser::peek(size_t ahead) {
  while (lookahead_.size() <= ahead) lookahead_.push_back(lexer_.next());
  return lookahead_[ahead];
}

Token Parser::take() {
  peek();
  Token token = std::move(lookahead_.front());
  lookahead_.pop_front();
  last_end_ = token.span.end;
  return token;
}

bool Parser::accept_operator(std::string_view symbol) {
  if (!at_operator(symbol)) return false;
  take();
  return true;
}

bool Parser::accept_keyword(std::string_view word) {
  if (!at_keyword(word)) return false;
  take();
  return true;
}

void Parser::expect_operator(std::string_view symbol, std::string_view context) {
  if (accept_operator(symbol)) return;
  std::string hint;
  if (symbol == ":" && at_operator("=")) hint = "equality is `==`";
  if (symbol == ":" && at_keyword("if")) hint = "write `elif`";
  if (symbol == ":" && at_operator("{")) hint = "a block is indented below its `:`";
  throw_author(peek().span,
               "expected `" + std::string(symbol) + "` " + std::string(context) + ", found " + describe(peek()),
               std::move(hint));
}

void Parser::expect_keyword(std::string_view word, std::string_view context, std::string hint) {
  if (accept_keyword(word)) return;
  throw_author(peek().span,
               "expected `" + std::string(word) + "` " + std::string(context) + ", found " + describe(peek()),
               std::move(hint));
}

void Parser::expect_close(const Token& open) {
  std::string_view close = open.is_operator("(") ? ")" : open.is_operator("[") ? "]" : "}";
  if (accept_operator(close)) return;
  Diagnostic diagnostic{"expected `,` or `" + std::string(close) + "`, found " + describe(peek()), peek().span, {}, {}};
  if (at_operator("=")) diagnostic.hint = "equality is `==`";
  diagnostic.notes.push_back({"`" + std::string(open.text()) + "` was opened here", open.span});
  throw_author(std::move(diagnostic));
}

Token Parser::expect_name(std::string_view what) {
  if (peek().is(Token::Kind::Name)) return take();
  std::string hint;
  if (peek().is(Token::Kind::Keyword)) hint = describe(peek()) + " is a Python keyword: choose another name";
  throw_author(peek().span, "expected " + std::string(what) + ", found " + describe(peek()), std::move(hint));
}

// Modules

ast::Module Parser::run(const IsKnownName& is_known) {
  module_.source = source_;
  scopes_.emplace_back();
  module_body(is_known);
  return std::move(module_);
}

void Parser::module_body(const IsKnownName& is_known) {
  while (!peek().is(Token::Kind::End)) {
    size_t first = module_.body.size();
    statement(module_.body);
    for (size_t i = first; i < module_.body.size(); ++i) check_module_statement(module_.body[i]);
  }
  bool has_def = std::any_of(module_.body.begin(), module_.body.end(),
                             [&](StmtId id) { return std::holds_alternative<ast::Def>(module_[id].node); });
  for (size_t i = 0; i < module_.body.size(); ++i) {
    const ast::Stmt& statement = module_[module_.body[i]];
    const auto* bare = std::get_if<ast::ExprStmt>(&statement.node);
    if (!bare || get<ast::Constant>(bare->value)) continue;
    if (has_def || i + 1 != module_.body.size())
      throw_author(statement.span, "a bare expression is among the statements of a file",
                   "move it into a `def`, or make it the last line of a source without defs");
    ExprId value = bare->value;
    module_.body.pop_back();
    return make_expression_function(value, is_known);
  }
  if (has_def) return;
  // A constant alone, such as `1.5`, is an op; a string alone is a docstring.
  if (module_.body.size() == 1) {
    const auto* bare = std::get_if<ast::ExprStmt>(&module_[module_.body[0]].node);
    if (bare && !std::holds_alternative<std::string>(get<ast::Constant>(bare->value)->value)) {
      ExprId value = bare->value;
      module_.body.clear();
      return make_expression_function(value, is_known);
    }
  }
  throw_author(peek().span, "the source defines no op", "write `def name(x, y): return x + y`, or an expression alone");
}

void Parser::check_module_statement(StmtId id) {
  const ast::Stmt& statement = module_[id];
  bool is_allowed =
      std::holds_alternative<ast::Def>(statement.node) || std::holds_alternative<ast::Import>(statement.node) ||
      std::holds_alternative<ast::Assign>(statement.node) || std::holds_alternative<ast::AnnAssign>(statement.node) ||
      std::holds_alternative<ast::ExprStmt>(statement.node);
  if (!is_allowed)
    throw_author(statement.span, "only defs, imports and assignments are allowed at the top level of a file",
                 "write this inside a `def`");
}

void Parser::make_expression_function(ExprId value, const IsKnownName& is_known) {
  ast::Function function;
  function.name = "expression";
  function.span = function.name_span = module_[value].span;
  function.parameters = free_parameters(value, is_known);
  std::set<std::string> names;
  for (const ast::Parameter& parameter : function.parameters) names.insert(parameter.name);
  function.locals = sorted(names);
  function.returns_value = true;
  module_.stmts.push_back({function.span, ast::Return{value}});
  function.body.push_back({static_cast<uint32_t>(module_.stmts.size() - 1)});
  module_.functions.push_back(std::move(function));
  module_.stmts.push_back({module_[value].span, ast::Def{{static_cast<uint32_t>(module_.functions.size() - 1)}}});
  module_.body.push_back({static_cast<uint32_t>(module_.stmts.size() - 1)});
  module_.is_expression = true;
}

/// Collects the names in `value` that nothing in the source binds, in order of first use, as parameters. The table of
/// expressions has the Names in source order, so this iterates over the table instead of the tree.
std::vector<ast::Parameter> Parser::free_parameters(ExprId value, const IsKnownName& is_known) const {
  /// A comprehension or lambda.
  struct Binder {
    std::vector<std::string> names;  ///< the names that it binds
    /// The source in which they are bound, except within `excluded`: a comprehension's first iterable.
    Span scope, excluded;
  };
  std::vector<Binder> binders;
  std::set<uint32_t> callees, owners;  // indices of expressions that are called, or whose attribute is taken
  for (const ast::Expr& expression : module_.exprs) {
    if (const auto* node = std::get_if<ast::Call>(&expression.node)) callees.insert(node->function.index);
    if (const auto* node = std::get_if<ast::Attribute>(&expression.node)) owners.insert(node->value.index);
    if (const auto* comprehension = std::get_if<ast::Comprehension>(&expression.node)) {
      binders.push_back({comprehension->locals, expression.span, module_[comprehension->clauses[0].iterable].span});
    } else if (const auto* lambda = std::get_if<ast::Lambda>(&expression.node)) {
      const ast::Function& function = module_[lambda->function];
      binders.push_back({function.locals, module_[function.value].span, {}});
    }
  }
  // Binders are nested or disjoint, so a stack holds those enclosing a name.
  std::ranges::sort(binders, [](const Binder& a, const Binder& b) {
    return a.scope.begin != b.scope.begin ? a.scope.begin < b.scope.begin : a.scope.end > b.scope.end;
  });
  std::vector<const Binder*> enclosing;
  auto next = binders.begin();
  auto is_within = [](Span inner, Span outer) { return outer && inner.begin >= outer.begin && inner.end <= outer.end; };
  std::vector<ast::Parameter> result;
  std::set<std::string> seen = scopes_.front().names;
  for (uint32_t index = 0; index < module_.exprs.size(); ++index) {
    const ast::Expr& expression = module_.exprs[index];
    const auto* use = std::get_if<ast::Name>(&expression.node);
    if (!use || callees.contains(index) || seen.contains(use->name) || !is_within(expression.span, module_[value].span))
      continue;
    for (; next != binders.end() && next->scope.begin <= expression.span.begin; ++next) enclosing.push_back(&*next);
    while (!enclosing.empty() && enclosing.back()->scope.end <= expression.span.begin) enclosing.pop_back();
    bool is_bound = std::ranges::any_of(enclosing, [&](const Binder* binder) {
      return is_within(expression.span, binder->scope) && !is_within(expression.span, binder->excluded) &&
             std::ranges::binary_search(binder->names, use->name);
    });
    if (is_bound || (is_known && is_known(use->name, owners.contains(index)))) continue;
    seen.insert(use->name);
    result.push_back({use->name, expression.span, ast::Parameter::Kind::Positional, {}, {}});
  }
  return result;
}

}  // namespace ingot::frontend
