#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "frontend/syntax/parsing.h"

namespace ingot::frontend {

using ast::ExprId;

std::vector<std::string> Parser::sorted(const std::set<std::string>& names) { return {names.begin(), names.end()}; }

/// Parses the `@name(…)` lines before a def. Decorators are stored as expressions and never evaluated.
std::vector<ExprId> Parser::decorators() {
  std::vector<ExprId> result;
  while (at_operator("@")) {
    Span at_sign = take().span;
    ExprId decorator = expression();
    for (ExprId part = decorator;;) {
      if (const auto* decorator_call = get<ast::Call>(part)) {
        part = decorator_call->function;
      } else if (const auto* attribute = get<ast::Attribute>(part)) {
        part = attribute->value;
      } else if (get<ast::Name>(part)) {
        break;
      } else {
        throw_author(module_[decorator].span, "a decorator is a name or a call of one", "remove it");
      }
    }
    if (scopes_.back().is_def)
      throw_author(Span::join(at_sign, module_[decorator].span), "a nested def cannot have decorators",
                   "remove it, or move the def to the top of the file");
    result.push_back(decorator);
    if (!peek().is(Token::Kind::Newline))
      throw_author(peek().span, "a decorator must be on its own line", "begin a new line after it");
    take();
  }
  if (!at_keyword("def")) {
    if (peek().is(Token::Kind::Keyword)) refuse_statement();
    throw_author(peek().span, "expected a `def` after the decorators, found " + describe(peek()));
  }
  return result;
}

ast::StmtId Parser::def_statement() {
  ast::Function function;
  if (at_operator("@")) function.decorators = decorators();
  uint32_t start = begin();
  take();
  Token name = expect_name("the function's name after `def`");
  function.name = name.text();
  function.name_span = name.span;
  bind(function.name);
  if (!at_operator("(")) expect_operator("(", "after the function's name");
  Token open = take();
  function.parameters = parameters(")", true);
  expect_close(open);
  if (accept_operator("->")) expression();
  function.span = since(start);

  Scope scope;
  scope.is_def = true;
  for (const ast::Parameter& parameter : function.parameters) scope.names.insert(parameter.name);
  scopes_.push_back(std::move(scope));
  function.body = block("the function's head");
  function.locals = sorted(scopes_.back().names);
  function.returns_value = scopes_.back().returns_value;
  scopes_.pop_back();

  module_.functions.push_back(std::move(function));
  ast::StmtId id = stmt(start, ast::Def{{static_cast<uint32_t>(module_.functions.size() - 1)}});
  module_.stmts[id.index].span = module_.functions.back().span;
  return id;
}

/// Parses parameters up to, but without, the token `close`.
std::vector<ast::Parameter> Parser::parameters(std::string_view close, bool allows_annotations) {
  std::vector<ast::Parameter> result;
  std::unordered_map<std::string_view, Span> name_spans;
  bool after_star = false;
  Span bare_star;  // a bare `*` that no parameter has followed yet
  while (!at_operator(close)) {
    if (at_operator("/"))
      throw_author(peek().span, "positional-only parameters are outside the language", "remove the `/`");
    if (!result.empty() && result.back().kind == ast::Parameter::Kind::VarKeywords)
      throw_author(peek().span, "a parameter follows the `**` parameter", "put it before `" + result.back().name + "`");
    ast::Parameter parameter;
    if (accept_operator("**")) {
      parameter.kind = ast::Parameter::Kind::VarKeywords;
    } else if (at_operator("*")) {
      Token star = take();
      if (after_star) throw_author(star.span, "a function has one `*` only", "remove this one");
      after_star = true;
      if (at_operator(",") || at_operator(close)) {
        bare_star = star.span;
        if (!accept_operator(",")) break;
        continue;
      }
      parameter.kind = ast::Parameter::Kind::VarArgs;
    } else if (after_star) {
      parameter.kind = ast::Parameter::Kind::KeywordOnly;
      bare_star = {};
    }
    Token name = expect_name("a parameter's name");
    parameter.name = name.text();
    parameter.span = name.span;
    if (allows_annotations && accept_operator(":")) parameter.annotation = expression();
    if (at_operator("=")) {
      if (parameter.kind == ast::Parameter::Kind::VarArgs)
        throw_author(peek().span, "a `*` parameter cannot have a default",
                     "it is an empty tuple when nothing is given");
      if (parameter.kind == ast::Parameter::Kind::VarKeywords)
        throw_author(peek().span, "a `**` parameter cannot have a default",
                     "it is an empty dict when nothing is given");
      take();
      parameter.default_value = expression();
    }
    if (const auto [first, is_new] = name_spans.emplace(parameter.span.text(), parameter.span); !is_new) {
      Diagnostic diagnostic{
          "two parameters are named `" + parameter.name + "`", parameter.span, "rename one of them", {}};
      diagnostic.notes.push_back({"the first one is here", first->second});
      throw_author(std::move(diagnostic));
    }
    check_default(result, parameter, after_star);
    result.push_back(std::move(parameter));
    if (!accept_operator(",")) break;
  }
  if (bare_star)
    throw_author(bare_star, "a `*` alone must be followed by a parameter",
                 "it makes the parameters after it keyword-only: remove it");
  return result;
}

void Parser::check_default(const std::vector<ast::Parameter>& earlier, const ast::Parameter& parameter,
                           bool after_star) {
  const bool follows_default = !earlier.empty() && earlier.back().default_value;
  if (!after_star && parameter.kind == ast::Parameter::Kind::Positional && !parameter.default_value && follows_default)
    throw_author(parameter.span, "`" + parameter.name + "` has no default, but the parameter before it has",
                 "give it one, or move it before `" + earlier.back().name + "`");
}

ExprId Parser::lambda() {
  uint32_t start = begin();
  take();
  ast::Function function;
  function.name = "<lambda>";
  function.parameters = parameters(":", false);
  expect_operator(":", "after the parameters of a lambda");
  scopes_.emplace_back();
  for (const ast::Parameter& parameter : function.parameters) bind(parameter.name);
  function.value = expression();
  function.locals = sorted(scopes_.back().names);
  scopes_.pop_back();
  function.returns_value = true;
  function.span = function.name_span = since(start);
  module_.functions.push_back(std::move(function));
  return expr(start, ast::Lambda{{static_cast<uint32_t>(module_.functions.size() - 1)}});
}

}  // namespace ingot::frontend
