#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/source.h"
#include "frontend/syntax/operator.h"

// The syntax tree of an op's source. A module owns all expressions, statements and functions in flat tables; nodes
// refer to each other by ids. A tree of any depth is thus built, copied and destroyed without recursion. There are no
// nodes for Python syntax outside the language, because the parser rejects it.

namespace ingot::frontend::ast {

/// An index into one of a module's tables, or none.
template <typename Tag>
struct Id {
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  uint32_t index = kNone;
  explicit operator bool() const { return index != kNone; }
  bool operator==(const Id&) const = default;
};
using ExprId = Id<struct ExprTag>;
using StmtId = Id<struct StmtTag>;
using FunctionId = Id<struct FunctionTag>;
using Block = std::vector<StmtId>;

// Expressions

struct NoneLiteral {};
struct EllipsisLiteral {};
struct Constant {
  std::variant<NoneLiteral, EllipsisLiteral, bool, int64_t, double, std::string> value;
};
struct Name {
  std::string name;
};
struct Binary {
  Operator op;
  ExprId left, right;  ///< left-nested chains may be thousands deep: iterate, do not recurse
};
struct Unary {
  Operator op;
  ExprId operand;
};
/// left ops[0] rights[0] ops[1] rights[1] …: a chained comparison if there is more than one operator.
struct Compare {
  ExprId left;
  std::vector<Operator> ops;
  std::vector<ExprId> rights;
};
struct BoolOp {
  bool is_and;
  std::vector<ExprId> operands;
};
struct IfExp {
  ExprId test, then, otherwise;
};
struct Tuple {
  std::vector<ExprId> items;
};
struct List {
  std::vector<ExprId> items;
};
/// {key: value, …}; an item without a key is `**value`.
struct Dict {
  struct Item {
    ExprId key, value;
  };
  std::vector<Item> items;
};
/// A list or dict comprehension or a generator expression. The element of a dict comprehension is a Tuple of key and
/// value.
struct Comprehension {
  enum class Kind : uint8_t { List, Dict, Generator };
  struct Clause {
    ExprId target, iterable;
    std::vector<ExprId> conditions;
  };
  ExprId element;
  std::vector<Clause> clauses;
  std::vector<std::string> locals;  ///< the names that the targets bind in the comprehension's own scope, sorted
  Kind kind;
};
/// (name := value): binds the name in the enclosing function, also if the expression is inside a comprehension.
struct NamedExpr {
  std::string name;
  ExprId value;
};
struct Lambda {
  FunctionId function;
};
/// lower:upper:step; only as (an item of) a Subscript's index.
struct Slice {
  ExprId lower, upper, step;
};
struct Subscript {
  ExprId value, index;
};
struct Attribute {
  ExprId value;
  std::string name;
  Span name_span;
};
struct Call {
  struct Keyword {
    std::string name;  ///< empty: `**value`
    Span span;         ///< of the name, or of the `**`
    ExprId value;
  };
  ExprId function;
  std::vector<ExprId> arguments;  ///< may include Starred
  std::vector<Keyword> keywords;
};
/// *value, as an argument or an item of a tuple or list.
struct Starred {
  ExprId value;
};

struct Expr {
  Span span;
  std::variant<Constant, Name, Binary, Unary, Compare, BoolOp, IfExp, Tuple, List, Dict, Comprehension, NamedExpr,
               Lambda, Slice, Subscript, Attribute, Call, Starred>
      node;
};

// Statements

struct Return {
  ExprId value;  ///< none: `return` without a value
};
/// targets[0] = targets[1] = … = value. A target is a Name, a Subscript, or a Tuple or List of targets.
struct Assign {
  std::vector<ExprId> targets;
  ExprId value;
};
/// target op= value; the target is a Name or a Subscript.
struct AugAssign {
  ExprId target;
  Operator op;
  ExprId value;
};
/// target: annotation = value; the target is a Name, the value may be missing.
struct AnnAssign {
  ExprId target, annotation, value;
};
struct ExprStmt {
  ExprId value;
};
struct Def {
  FunctionId function;
};
struct For {
  ExprId target, iterable;
  Block body;
};
struct While {
  ExprId test;
  Block body;
};
/// if, then each elif; `otherwise` is empty if there is no else.
struct If {
  struct Branch {
    ExprId test;
    Block body;
  };
  std::vector<Branch> branches;
  Block otherwise;
};
/// `import a.b as c` has module "a.b", name "" and alias "c"; `from a import b as c` has "a", "b", "c". `alias` is the
/// bound name, even if the source has no `as`: `import a.b` binds a, so its module and alias are "a". `from a import *`
/// binds nothing and has name "*".
struct Import {
  struct Binding {
    std::string module, name, alias;
  };
  std::vector<Binding> bindings;
};
struct Assert {
  ExprId test, message;  ///< the message may be missing
};
/// raise exception(message, …).
struct Raise {
  std::string exception;
  std::vector<ExprId> arguments;
};
struct Pass {};
struct Break {};
struct Continue {};

struct Stmt {
  Span span;  ///< of a statement with a block: its head, without the colon
  std::variant<Return, Assign, AugAssign, AnnAssign, ExprStmt, Def, For, While, If, Import, Assert, Raise, Pass, Break,
               Continue>
      node;
};

// Functions

struct Parameter {
  enum class Kind : uint8_t { Positional, VarArgs, KeywordOnly, VarKeywords };
  std::string name;
  Span span;  ///< of the name
  Kind kind = Kind::Positional;
  ExprId annotation, default_value;  ///< either may be missing
};

/// A def or a lambda.
struct Function {
  std::string name;  ///< "<lambda>" for a lambda
  Span span;         ///< from `def` up to its colon (not included), or the whole lambda
  Span name_span;
  std::vector<Parameter> parameters;
  Block body;    ///< of a def
  ExprId value;  ///< of a lambda
  std::vector<ExprId> decorators;
  std::vector<std::string> locals;  ///< the names that the function binds, including parameters, sorted
  bool returns_value = false;       ///< the body contains a `return` with a value; always true for a lambda
};

/// A parsed source text.
struct Module {
  std::shared_ptr<const Source> source;
  std::vector<Expr> exprs;
  std::vector<Stmt> stmts;
  std::vector<Function> functions;
  Block body;  ///< Def, Import, Assign, AnnAssign, and ExprStmt of constants (docstrings) only
  /// The source ends with an expression instead of containing a def. The expression was made into a def, the last of
  /// `functions`.
  bool is_expression = false;

  const Expr& operator[](ExprId id) const { return exprs[id.index]; }
  const Stmt& operator[](StmtId id) const { return stmts[id.index]; }
  const Function& operator[](FunctionId id) const { return functions[id.index]; }
};

}  // namespace ingot::frontend::ast
