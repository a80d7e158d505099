#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/syntax/ast.h"
#include "frontend/syntax/lexer.h"
#include "frontend/syntax/parser.h"

namespace ingot::frontend {

/// The recursive-descent parser behind `parse`: modules in parser.cpp, statements in parse_statements.cpp, functions in
/// parse_functions.cpp, expressions in parse_expressions.cpp, errors for unsupported syntax in parse_refusals.cpp.
/// A function that is named after syntax parses it. The `at_…` functions test the next token, `accept_…` take it if it
/// matches, and `expect_…` fail if it does not match.
class Parser {
 public:
  explicit Parser(std::shared_ptr<const Source> source);
  ast::Module run(const IsKnownName& is_known);

 private:
  /// The names that a module, def, lambda or comprehension binds.
  struct Scope {
    std::set<std::string> names;
    int open_loops = 0;  ///< the number of loops around the current statement, for break and continue
    bool is_def = false;
    bool is_comprehension = false;
    bool returns_value = false;  ///< the def contains a `return` with a value
  };
  /// Counts a level of nested syntax during its lifetime; too many levels are an error.
  class LevelGuard {
   public:
    explicit LevelGuard(Parser& parser);
    ~LevelGuard() { --parser_.level_; }
    LevelGuard(const LevelGuard&) = delete;
    LevelGuard& operator=(const LevelGuard&) = delete;

   private:
    Parser& parser_;
  };

  // Tokens
  const Token& peek(size_t ahead = 0);
  Token take();
  bool at_operator(std::string_view symbol) { return peek().is_operator(symbol); }
  bool at_keyword(std::string_view word) { return peek().is_keyword(word); }
  bool accept_operator(std::string_view symbol);
  bool accept_keyword(std::string_view word);
  void expect_operator(std::string_view symbol, std::string_view context);
  void expect_keyword(std::string_view word, std::string_view context, std::string hint = {});
  void expect_close(const Token& open);
  Token expect_name(std::string_view what);
  /// The source from `begin` to the end of the last taken token.
  Span since(uint32_t begin) const { return {source_.get(), begin, std::max(begin, last_end_)}; }
  uint32_t begin() { return peek().span.begin; }

  /// Adds a node that begins at `begin` and ends with the last taken token.
  template <typename Node>
  ast::ExprId expr(uint32_t begin, Node node) {
    module_.exprs.push_back({since(begin), std::move(node)});
    return {static_cast<uint32_t>(module_.exprs.size() - 1)};
  }
  template <typename Node>
  ast::StmtId stmt(uint32_t begin, Node node) {
    module_.stmts.push_back({since(begin), std::move(node)});
    return {static_cast<uint32_t>(module_.stmts.size() - 1)};
  }
  /// The node of an expression; null if it is of another kind.
  template <typename Node>
  const Node* get(ast::ExprId id) const {
    return std::get_if<Node>(&module_[id].node);
  }

  // Statements
  void module_body(const IsKnownName& is_known);
  void check_module_statement(ast::StmtId id);
  void make_expression_function(ast::ExprId value, const IsKnownName& is_known);
  std::vector<ast::Parameter> free_parameters(ast::ExprId value, const IsKnownName& is_known) const;
  void statement(ast::Block& block);
  void simple_statements(ast::Block& block);
  ast::StmtId simple_statement();
  ast::StmtId assignment_or_expression();
  ast::StmtId return_statement();
  ast::StmtId import_statement();
  ast::StmtId from_import_statement();
  std::string dotted_name();
  ast::StmtId assert_statement();
  ast::StmtId raise_statement();
  ast::StmtId loop_jump();
  ast::StmtId if_statement();
  ast::StmtId for_statement();
  ast::StmtId while_statement();
  /// `after` names what precedes the block, for errors: "the condition".
  ast::Block block(std::string_view after);
  ast::Block loop_body(std::string_view after);
  void bind(const std::string& name) { scopes_.back().names.insert(name); }
  void bind_target(ast::ExprId target);
  void bind_around_comprehensions(const std::string& name);

  // Functions
  ast::StmtId def_statement();
  std::vector<ast::ExprId> decorators();
  std::vector<ast::Parameter> parameters(std::string_view close, bool allows_annotations);
  void check_default(const std::vector<ast::Parameter>& earlier, const ast::Parameter& parameter, bool after_star);
  ast::ExprId lambda();
  static std::vector<std::string> sorted(const std::set<std::string>& names);

  // Expressions
  ast::ExprId expression();
  ast::ExprId expression_list();
  ast::ExprId starred_or_expression();
  ast::ExprId named_expression();
  ast::ExprId starred_or_named();
  ast::ExprId disjunction();
  ast::ExprId conjunction();
  ast::ExprId inversion();
  ast::ExprId comparison();
  ast::ExprId binary(int min_precedence);
  ast::ExprId unary();
  ast::ExprId power();
  ast::ExprId postfix();
  ast::ExprId call(uint32_t begin, ast::ExprId function);
  ast::ExprId subscript(uint32_t begin, ast::ExprId value);
  ast::ExprId subscript_item();
  ast::ExprId atom();
  ast::ExprId string();
  ast::ExprId parenthesized();
  ast::ExprId bracketed();
  ast::ExprId braced();
  ast::ExprId comprehension(uint32_t begin, ast::ExprId element, ast::Comprehension::Kind kind);
  ast::ExprId target_list();
  bool at_comprehension() { return at_keyword("for") || at_keyword("async"); }
  bool at_expression_end();

  // Errors
  [[noreturn]] void refuse_statement();
  [[noreturn]] void refuse_atom();
  [[noreturn]] void fail_unexpected_end(ast::ExprId before);
  static std::string describe(const Token& token);

  std::shared_ptr<const Source> source_;
  Lexer lexer_;
  std::deque<Token> lookahead_;
  uint32_t last_end_ = 0;  ///< end of the last taken token
  int level_ = 0;
  bool in_message_ = false;  ///< in a `raise` or the message of an assert: f-strings are allowed, and shown as written
  std::vector<Scope> scopes_;
  ast::Module module_;
};

}  // namespace ingot::frontend
