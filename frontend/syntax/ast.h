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

// An op's text as a tree. A module owns all expressions, statements and functions in flat tables and everyone else
// holds ids, so that a tree of any depth is built, copied and destroyed without recursion. What Python has and the
// language has not never gets here: the parser refuses it.

namespace ingot::frontend::ast {

/// An index into one of a module's tables, or nothing.
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
  ExprId left, right;  ///< left spines may be thousands deep: walk them in a loop
};
struct Unary {
  Operator op;
  ExprId operand;
};
/// left ops[0] rights[0] ops[1] rights[1] …: chained where there is more than one.
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
/// A list or dict comprehension or a generator expression; the element of a dict's is a Tuple of key and value.
struct Comprehension {
  enum class Kind : uint8_t { List, Dict, Generator };
  struct Clause {
    ExprId target, iterable;
    std::vector<ExprId> conditions;
  };
  ExprId element;
  std::vector<Clause> clauses;
  std::vector<std::string> locals;  ///< what the targets bind, sorted: they live in a scope of their own
  Kind kind;
};
/// (name := value): binds in the function around, not in a comprehension.
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
    Span span;         ///< of the name
    ExprId value;
  };
  ExprId function;
  std::vector<ExprId> arguments;  ///< some may be Starred
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
  ExprId value;  ///< none: `return` alone
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
/// if, then each elif; `otherwise` is empty where there is no else.
struct If {
  struct Branch {
    ExprId test;
    Block body;
  };
  std::vector<Branch> branches;
  Block otherwise;
};
/// `import a.b as c` has module "a.b", name "" and alias "c"; `from a import b as c` has "a", "b", "c"; alias is what
/// becomes bound, also where the text has no `as`. `from a import *` binds nothing and has name "*".
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
  Span span;
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
  ExprId annotation, fallback;  ///< either may be missing
};

/// A def or a lambda.
struct Function {
  std::string name;  ///< "<lambda>" for a lambda
  Span span;         ///< from `def` to its colon, or the whole lambda
  Span name_span;
  std::vector<Parameter> parameters;
  Block body;    ///< of a def
  ExprId value;  ///< of a lambda
  std::vector<ExprId> decorators;
  std::vector<std::string> locals;  ///< the names that it binds, parameters among them, sorted
  bool returns = false;             ///< a `return` with a value stands somewhere in it; always of a lambda
};

/// A parsed text.
struct Module {
  std::shared_ptr<const Source> source;
  std::vector<Expr> exprs;
  std::vector<Stmt> stmts;
  std::vector<Function> functions;
  Block body;  ///< Def, Import, Assign, AnnAssign and ExprStmt (docstrings) only
  /// The text was an expression alone: the one function is made around it.
  bool is_expression = false;

  const Expr& operator[](ExprId id) const { return exprs[id.index]; }
  const Stmt& operator[](StmtId id) const { return stmts[id.index]; }
  const Function& operator[](FunctionId id) const { return functions[id.index]; }
};

}  // namespace ingot::frontend::ast
