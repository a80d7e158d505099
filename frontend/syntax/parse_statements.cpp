#include <array>

#include "base/error.h"
#include "base/text.h"
#include "frontend/syntax/parsing.h"

namespace ingot::frontend {

namespace {

using ast::Block;
using ast::ExprId;
using ast::StmtId;

struct AugmentedOperator {
  std::string_view symbol;
  Operator op;
};
constexpr std::array<AugmentedOperator, 12> kAugmentedOperators = {{{"+=", Operator::Add},
                                                                    {"-=", Operator::Sub},
                                                                    {"*=", Operator::Mult},
                                                                    {"/=", Operator::Div},
                                                                    {"//=", Operator::FloorDiv},
                                                                    {"%=", Operator::Mod},
                                                                    {"**=", Operator::Pow},
                                                                    {"&=", Operator::BitAnd},
                                                                    {"|=", Operator::BitOr},
                                                                    {"^=", Operator::BitXor},
                                                                    {"<<=", Operator::LShift},
                                                                    {">>=", Operator::RShift}}};

}  // namespace

void Parser::statement(Block& block) {
  const Token& token = peek();
  if (token.is(Token::Kind::Indent))
    throw_author(token.span, "this line is indented deeper than the one before it",
                 "align it; only the lines after a `:` are indented");
  if (at_operator("@") || at_keyword("def")) return block.push_back(def_statement());
  if (at_keyword("if")) return block.push_back(if_statement());
  if (at_keyword("for")) return block.push_back(for_statement());
  if (at_keyword("while")) return block.push_back(while_statement());
  simple_statements(block);
}

/// Parses one line of statements, separated by `;`.
void Parser::simple_statements(Block& block) {
  do {
    block.push_back(simple_statement());
  } while (accept_operator(";") && !peek().is(Token::Kind::Newline));
  if (!peek().is(Token::Kind::Newline)) fail_unexpected_end({});
  take();
}

StmtId Parser::simple_statement() {
  uint32_t start = begin();
  if (!peek().is(Token::Kind::Keyword)) return assignment_or_expression();
  if (at_keyword("return")) return return_statement();
  if (at_keyword("import")) return import_statement();
  if (at_keyword("from")) return from_import_statement();
  if (at_keyword("assert")) return assert_statement();
  if (at_keyword("raise")) return raise_statement();
  if (at_keyword("break") || at_keyword("continue")) return loop_jump();
  if (accept_keyword("pass")) return stmt(start, ast::Pass{});
  for (std::string_view word : {"None", "True", "False", "not", "lambda"})
    if (at_keyword(word)) return assignment_or_expression();
  refuse_statement();
}

StmtId Parser::assignment_or_expression() {
  uint32_t start = begin();
  ExprId first = expression_list();
  if (at_operator(":") && get<ast::Name>(first)) {
    take();
    bind_target(first);
    ExprId annotation = expression(), value;
    if (accept_operator("=")) value = expression_list();
    return stmt(start, ast::AnnAssign{first, annotation, value});
  }
  for (const AugmentedOperator& row : kAugmentedOperators) {
    if (!at_operator(row.symbol)) continue;
    if (!get<ast::Name>(first) && !get<ast::Subscript>(first))
      throw_author(module_[first].span, "`" + std::string(row.symbol) + "` assigns to a name or an item",
                   "give the value a name first");
    take();
    bind_target(first);
    ExprId value = expression_list();
    return stmt(start, ast::AugAssign{first, row.op, value});
  }
  if (at_operator("@=")) throw_author(peek().span, "`@=` is outside the language", "write `x = x @ y`");
  if (!at_operator("=")) {
    if (!peek().is(Token::Kind::Newline) && !at_operator(";")) fail_unexpected_end(first);
    return stmt(start, ast::ExprStmt{first});
  }
  ast::Assign assign;
  ExprId value = first;
  while (accept_operator("=")) {
    bind_target(value);
    assign.targets.push_back(value);
    value = expression_list();
  }
  assign.value = value;
  return stmt(start, std::move(assign));
}

/// Binds the name of a `:=` in the enclosing function.
void Parser::bind_around_comprehensions(const std::string& name) {
  auto scope = scopes_.rbegin();
  while (scope->is_comprehension) ++scope;
  scope->names.insert(name);
}

/// Checks that an expression can be assigned to, and binds its names.
void Parser::bind_target(ExprId target) {
  LevelGuard level(*this);
  Span span = module_[target].span;
  if (const auto* name = get<ast::Name>(target)) return bind(name->name);
  if (get<ast::Subscript>(target)) return;
  // Binding adds no expressions, so these pointers stay valid.
  const auto* tuple = get<ast::Tuple>(target);
  const auto* list = get<ast::List>(target);
  if (tuple || list) {
    for (ExprId item : tuple ? tuple->items : list->items) bind_target(item);
    return;
  }
  if (get<ast::Starred>(target))
    throw_author(span, "a `*` among names to assign is outside the language",
                 "take the parts by index: `first, rest = xs[0], xs[1:]`");
  if (get<ast::Attribute>(target))
    throw_author(span, "attributes cannot be assigned", "give the new value a name of its own");
  if (get<ast::Compare>(target)) throw_author(span, "a comparison cannot be assigned to", "assignment is a single `=`");
  if (get<ast::Call>(target)) throw_author(span, "a call cannot be assigned to", "equality is `==`");
  if (get<ast::Constant>(target)) throw_author(span, "a constant cannot be assigned to", "equality is `==`");
  throw_author(span, "this expression cannot be assigned to", "equality is `==`; the left side of `=` is a name");
}

StmtId Parser::return_statement() {
  uint32_t start = begin();
  Token keyword = take();
  if (!scopes_.back().is_def)
    throw_author(keyword.span, "`return` outside a function", "indent it as the body of its `def`");
  ExprId value;
  if (!peek().is(Token::Kind::Newline) && !at_operator(";")) {
    value = expression_list();
    scopes_.back().returns_value = true;
  }
  return stmt(start, ast::Return{value});
}

std::string Parser::dotted_name() {
  std::string name(expect_name("a module's name").text());
  while (accept_operator(".")) name += "." + std::string(expect_name("a module's name").text());
  return name;
}

StmtId Parser::import_statement() {
  uint32_t start = begin();
  take();
  ast::Import node;
  do {
    ast::Import::Binding binding{dotted_name(), {}, {}};
    if (accept_keyword("as")) {
      binding.alias = expect_name("a name after `as`").text();
    } else {
      binding.module = binding.alias = binding.module.substr(0, binding.module.find('.'));
    }
    bind(binding.alias);
    node.bindings.push_back(std::move(binding));
  } while (accept_operator(","));
  return stmt(start, std::move(node));
}

StmtId Parser::from_import_statement() {
  uint32_t start = begin();
  take();
  std::string module;
  while (at_operator(".") || at_operator("...")) module += take().text();
  if (module.empty() || !at_keyword("import")) module += dotted_name();
  expect_keyword("import", "after the module's name");
  ast::Import node;
  if (accept_operator("*")) {
    node.bindings.push_back({std::move(module), "*", {}});
    return stmt(start, std::move(node));
  }
  bool has_parentheses = at_operator("(");
  Token open = has_parentheses ? take() : peek();
  do {
    if (has_parentheses && at_operator(")")) break;
    std::string name(expect_name("a name to import").text());
    std::string alias = name;
    if (accept_keyword("as")) alias = expect_name("a name after `as`").text();
    bind(alias);
    node.bindings.push_back({module, std::move(name), std::move(alias)});
  } while (accept_operator(","));
  if (has_parentheses) expect_close(open);
  return stmt(start, std::move(node));
}

StmtId Parser::assert_statement() {
  uint32_t start = begin();
  take();
  ExprId test = expression(), message;
  if (accept_operator(",")) {
    in_message_ = true;
    message = expression();
    in_message_ = false;
  }
  return stmt(start, ast::Assert{test, message});
}

StmtId Parser::raise_statement() {
  uint32_t start = begin();
  take();
  if (peek().is(Token::Kind::Newline) || at_operator(";"))
    throw_author(since(start), "`raise` alone has nothing to raise again",
                 "say what is wrong: `raise ValueError(\"…\")`");
  in_message_ = true;
  ExprId raised = expression();
  in_message_ = false;
  if (at_keyword("from")) throw_author(peek().span, "`raise … from …` is outside the language", "remove the `from`");
  ast::Raise node;
  ExprId function = raised;
  if (const auto* exception_call = get<ast::Call>(raised)) {
    function = exception_call->function;
    node.arguments = exception_call->arguments;
  }
  const auto* name = get<ast::Name>(function);
  const auto* attribute = get<ast::Attribute>(function);
  if (!name && !attribute)
    throw_author(module_[raised].span, "only an exception can be raised", "write `raise ValueError(\"…\")`");
  node.exception = name ? name->name : attribute->name;
  return stmt(start, std::move(node));
}

StmtId Parser::loop_jump() {
  uint32_t start = begin();
  Token keyword = take();
  if (scopes_.back().open_loops == 0)
    throw_author(keyword.span, "`" + std::string(keyword.text()) + "` outside a loop",
                 "move it into the body of a `for` or `while`");
  if (keyword.text() == "break") return stmt(start, ast::Break{});
  return stmt(start, ast::Continue{});
}

StmtId Parser::if_statement() {
  uint32_t start = begin();
  ast::If node;
  Span head;
  do {
    take();
    ExprId test = named_expression();
    if (!head) head = since(start);
    node.branches.push_back({test, block("the condition")});
  } while (at_keyword("elif"));
  if (accept_keyword("else")) node.otherwise = block("`else`");
  StmtId id = stmt(start, std::move(node));
  module_.stmts[id.index].span = head;
  return id;
}

StmtId Parser::for_statement() {
  uint32_t start = begin();
  take();
  ast::For node;
  node.target = target_list();
  bind_target(node.target);
  expect_keyword("in", "after the names of a `for`");
  node.iterable = expression_list();
  Span head = since(start);
  node.body = loop_body("the iterable of a `for`");
  StmtId id = stmt(start, std::move(node));
  module_.stmts[id.index].span = head;
  return id;
}

StmtId Parser::while_statement() {
  uint32_t start = begin();
  take();
  ast::While node;
  node.test = named_expression();
  Span head = since(start);
  node.body = loop_body("the condition");
  StmtId id = stmt(start, std::move(node));
  module_.stmts[id.index].span = head;
  return id;
}

Block Parser::loop_body(std::string_view after) {
  ++scopes_.back().open_loops;
  Block body = block(after);
  --scopes_.back().open_loops;
  if (at_keyword("else"))
    throw_author(peek().span, "`else` after a loop is outside the language",
                 "move its body after the loop, under an `if`");
  return body;
}

/// Parses `:` and the statements of a block: indented below, or on the same line.
Block Parser::block(std::string_view after) {
  LevelGuard level(*this);
  expect_operator(":", "after " + std::string(after));
  Block body;
  if (!peek().is(Token::Kind::Newline)) {
    for (std::string_view word : {"if", "for", "while", "def"})
      if (at_keyword(word))
        throw_author(peek().span, "`" + std::string(word) + "` cannot follow a `:` on the same line",
                     "put it on an indented line of its own");
    simple_statements(body);
    return body;
  }
  take();
  if (!peek().is(Token::Kind::Indent))
    throw_author(peek().span, "expected an indented block after " + std::string(after),
                 "indent its lines; an empty block is `pass`");
  take();
  while (!peek().is(Token::Kind::Dedent)) statement(body);
  take();
  return body;
}

}  // namespace ingot::frontend
