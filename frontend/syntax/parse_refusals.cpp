#include <array>

#include "base/error.h"
#include "base/text.h"
#include "frontend/syntax/parsing.h"

// Errors for Python syntax outside the language, with a hint what to write instead, and for unexpected tokens.

namespace ingot::frontend {

namespace {

struct Refusal {
  std::string_view keyword, message, hint;
};

constexpr std::array<Refusal, 20> kRefusedStatements = {{
    {"class", "classes are outside the language", "write functions; tuples and lists hold several values"},
    {"with", "`with` is outside the language", "write the body without it: an op has no context managers"},
    {"try", "`try` is outside the language", "an op has no exceptions to catch: write the body without it"},
    {"except", "`except` is outside the language", "an op has no exceptions to catch: remove it"},
    {"finally", "`finally` is outside the language", "an op has no exceptions to catch: remove it"},
    {"global", "`global` is outside the language", "pass the value in and return the new one"},
    {"nonlocal", "`nonlocal` is outside the language", "pass the value in and return the new one"},
    {"del", "`del` is outside the language",
     "it is not needed for a name; for an item write xs.pop(i), d.pop(key) or xs = xs[:i] + xs[i + 1:]"},
    {"async", "`async` is outside the language", "write the function without it"},
    {"await", "`await` is outside the language", "call the function without it"},
    {"yield", "generators are outside the language", "collect the values in a list and return it"},
    {"elif", "this `elif` has no `if` before it", "indent it like its `if`"},
    {"else", "this `else` has no `if` before it", "indent it like its `if`"},
    {"as", "`as` has no meaning here", "it is used in imports only"},
    {"in", "expected a statement, found `in`", "a loop is `for x in values:`"},
    {"is", "expected a statement, found `is`", ""},
    {"and", "expected a statement, found `and`", ""},
    {"or", "expected a statement, found `or`", ""},
    {"match", "`match` is outside the language", "write `if`, `elif` and `else`"},
    {"type", "`type` statements are outside the language", "remove it: the language has no type names"},
}};

}  // namespace

std::string Parser::describe(const Token& token) {
  switch (token.kind) {
    case Token::Kind::End:
      return "the end of the source";
    case Token::Kind::Newline:
      return "the end of the line";
    case Token::Kind::Indent:
      return "a deeper indentation";
    case Token::Kind::Dedent:
      return "the end of the block";
    case Token::Kind::String:
    case Token::Kind::FormatString:
      return "a string";
    default:
      return "`" + std::string(token.text()) + "`";
  }
}

void Parser::refuse_statement() {
  const Token& token = peek();
  for (const Refusal& row : kRefusedStatements)
    if (row.keyword == token.text()) throw_author(token.span, std::string(row.message), std::string(row.hint));
  throw_author(token.span, "expected a statement, found " + describe(token));
}

/// Reports that an expression was expected here.
void Parser::refuse_atom() {
  const Token token = peek();
  std::string_view text = token.text();
  for (const Refusal& row : kRefusedStatements)
    if (row.keyword == text && (text == "yield" || text == "await" || text == "async"))
      throw_author(token.span, std::string(row.message), std::string(row.hint));

  // The preceding characters tell what the author meant.
  std::string_view before = std::string_view(source_->text()).substr(0, last_end_);
  bool is_adjacent = last_end_ == token.span.begin;
  std::string hint;
  if (token.is(Token::Kind::Keyword)) {
    hint = describe(token) + " is a Python keyword, not a value";
  } else if (text == "&" && is_adjacent && before.ends_with('&')) {
    hint = "write `and` between numbers, `&` between tensors";
  } else if (text == "|" && is_adjacent && before.ends_with('|')) {
    hint = "write `or` between numbers, `|` between tensors";
  } else if (text == ">" && is_adjacent && before.ends_with('<')) {
    hint = "write `!=`";
  } else if (text == "=" && before.ends_with('=')) {
    hint = "equality is `==`";
  } else if (text == "=") {
    hint = "operators such as `+=` are written without a space";
  } else if (text == "//" || text == "/") {
    hint = "a comment begins with `#`";
  } else if (text == "*" || text == "**") {
    hint = "`*values` unpacks into a call, a tuple or a list";
  } else if (token.is(Token::Kind::Newline) && (before.ends_with("++") || before.ends_with("--"))) {
    hint = before.ends_with("++") ? "write `x += 1`" : "write `x -= 1`";
  }
  throw_author(token.span, "expected an expression, found " + describe(token), std::move(hint));
}

/// Reports that a statement should have ended here. `before` is the expression that the statement ended with, or none.
void Parser::fail_unexpected_end(ast::ExprId before) {
  const Token& token = peek();
  std::string hint;
  const auto* name = before ? get<ast::Name>(before) : nullptr;
  if (name && (token.is(Token::Kind::Name) || token.is(Token::Kind::Integer) || token.is(Token::Kind::Float) ||
               token.is(Token::Kind::String) || token.is(Token::Kind::Keyword))) {
    for (const Refusal& row : kRefusedStatements)
      if (row.keyword == name->name)
        throw_author(module_[before].span, std::string(row.message), std::string(row.hint));
    if (name->name == "print") throw_author(module_[before].span, "printing is outside the language", "remove it");
    hint = did_you_mean(name->name, {"return", "if", "for", "while", "def", "import", "assert", "raise", "pass"});
  } else if (token.is(Token::Kind::Indent)) {
    hint = "an expression may span several lines inside parentheses";
  } else if (token.is_operator("=")) {
    hint = "equality is `==`";
  } else if (token.is(Token::Kind::Operator) && token.text() == ":") {
    hint = "only a name can be annotated";
  }
  throw_author(token.span, "expected the end of the statement, found " + describe(token), std::move(hint));
}

}  // namespace ingot::frontend
