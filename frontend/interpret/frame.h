#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/interpret/interpreter.h"

namespace ingot::frontend {

/// The names of a module, of one call of a function, or of a comprehension.
struct Scope {
  const ast::Module& module;
  Scope* enclosing = nullptr;
  /// The names that the source binds in this scope, sorted. These names are looked up only here, even while they are
  /// unbound. Null for a module.
  const std::vector<std::string>* locals = nullptr;
  std::unordered_map<std::string_view, Value> values;
  std::vector<std::pair<std::string_view, std::string_view>> unsupported_imports;  ///< name, module
  bool is_captured = false;                                                        ///< a function closes over it
  bool is_comprehension = false;
};

/// Evaluates the statements and expressions of one scope.
class Frame {
 public:
  /// How a statement ended; Next: the statement after it is executed.
  enum class Flow { Next, Break, Continue, Return };

  Frame(Evaluation& evaluation, Scope& scope) : evaluation_(evaluation), module_(scope.module), scope_(scope) {}

  Value evaluate(ast::ExprId id);
  /// Flow::Return leaves the value in `return_value`, and its location in `return_span`.
  Flow run(const ast::Block& block);
  Value return_value;
  Span return_span;

 private:
  // Statements
  Flow execute(const ast::Return& node);
  Flow execute(const ast::Assign& node);
  Flow execute(const ast::AugAssign& node);
  Flow execute(const ast::AnnAssign& node);
  Flow execute(const ast::ExprStmt& node);
  Flow execute(const ast::Def& node);
  Flow execute(const ast::For& node);
  Flow execute(const ast::While& node);
  Flow execute(const ast::If& node);
  Flow execute(const ast::Import& node);
  Flow execute(const ast::Assert& node);
  Flow execute(const ast::Raise& node);
  Flow execute(const ast::Pass&) { return Flow::Next; }
  Flow execute(const ast::Break&) { return Flow::Break; }
  Flow execute(const ast::Continue&) { return Flow::Continue; }
  /// Binds the names of a target. `names_value`: the target becomes the name of the value in the graph; false
  /// for loop variables and aliases.
  void assign(ast::ExprId target, const Value& value, bool names_value);
  void update_elements(const Value& tensor, const Value& index, const ast::AugAssign& node);
  void check(ast::ExprId test, const std::string& message);
  std::string message_text(ast::ExprId id);

  // Expressions
  Value value_of(const ast::Constant& node, const ast::Expr&);
  Value value_of(const ast::Name& node, const ast::Expr&);
  Value value_of(const ast::Binary& node, const ast::Expr&);
  Value value_of(const ast::Unary& node, const ast::Expr&);
  Value value_of(const ast::Compare& node, const ast::Expr&);
  Value value_of(const ast::BoolOp& node, const ast::Expr&);
  Value value_of(const ast::IfExp& node, const ast::Expr&);
  Value value_of(const ast::Tuple& node, const ast::Expr&);
  Value value_of(const ast::List& node, const ast::Expr&);
  Value value_of(const ast::Dict& node, const ast::Expr&);
  Value value_of(const ast::Comprehension& node, const ast::Expr&);
  Value value_of(const ast::NamedExpr& node, const ast::Expr&);
  Value value_of(const ast::Lambda& node, const ast::Expr&);
  Value value_of(const ast::Slice& node, const ast::Expr&);
  Value value_of(const ast::Subscript& node, const ast::Expr&);
  Value value_of(const ast::Attribute& node, const ast::Expr&);
  Value value_of(const ast::Call& node, const ast::Expr&);
  Value value_of(const ast::Starred& node, const ast::Expr&);
  std::vector<Value> values_of(const std::vector<ast::ExprId>& items);
  Value call_value(const ast::Call& node, const ast::Expr& expr, bool needs_result);
  /// Runs the clauses of a comprehension from `clause` on, and appends the elements to `items`.
  void run_clauses(const ast::Comprehension& node, size_t clause, const Value& iterable, std::vector<Value>& items);
  Value make_function(ast::FunctionId id);
  [[noreturn]] void fail_unknown_name(const std::string& name);
  [[noreturn]] void fail_unbound_name(const std::string& name);
  /// Fails if an import from a module outside the language binds the name.
  void refuse_unsupported_import(std::string_view name);

  Evaluation& evaluation_;
  const ast::Module& module_;
  Scope& scope_;
};

/// Counts a level of evaluation during its lifetime. Too many levels are an error, long before a thread's stack is
/// full.
class DepthGuard {
 public:
  explicit DepthGuard(Evaluation& evaluation);
  ~DepthGuard() { --evaluation_.call_stack.depth; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  Evaluation& evaluation_;
};

/// torch.name, math.name, …; nullopt if there is no such attribute.
std::optional<Value> namespace_attribute(Evaluation& evaluation, Namespace space, std::string_view name);
/// Calls a function with bound values, one per parameter; nullopt selects the default. `return_span` is set to the
/// location of the executed `return`.
Value call_bound(Evaluation& evaluation, const Function& function, std::vector<std::optional<Value>> values,
                 Span* return_span = nullptr);
/// Binds arguments to parameters; nullopt if the default applies. Errors name the callee and show its signature.
std::vector<std::optional<Value>> bind(Evaluation& evaluation, const ast::Module& module, const ast::Function& callee,
                                       Arguments arguments);

}  // namespace ingot::frontend
