#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "frontend/signature.h"
#include "frontend/tensor/value.h"
#include "ir/graph.h"

// Lowering evaluates an op for one signature: what is static is computed, what is a tensor becomes nodes. This is the
// state that evaluation passes along, and the door through which every room of the front end makes nodes, asks for
// static values, states conditions and fails.

namespace ingot::frontend {

namespace ast {
struct Function;
}

/// Thrown when evaluation needs the value of these symbols; `lower` catches it and starts again with them known.
struct NeedStatic {
  std::vector<ir::HostId> symbols;  ///< Size and Scalar nodes of the pool that asked
  bool touched = false;             ///< asked by `touch`: only because the sizes are small (ir::Static::touched)
};

class Lowering {
 public:
  Lowering(const Signature& signature, const Actuals& actuals);

  ir::Graph graph;
  const Signature& signature;
  const Actuals& actuals;

  // Places. The interpreter moves `here` as it evaluates and pushes a call site a call.
  Span here;
  struct CallSite {
    std::string_view callee;
    Span span;
  };
  std::vector<CallSite> call_stack;
  /// The functions whose evaluation has begun and not ended: none of them is called again.
  std::vector<const ast::Function*> active;
  /// Expressions and statements that are being evaluated inside one another.
  int depth = 0;
  /// What values refer to for as long as this lives: the scopes that functions close over.
  std::vector<std::shared_ptr<const void>> kept;
  /// Moves `here` for as long as it lives.
  class At {
   public:
    At(Lowering& lowering, Span span) : lowering_(lowering), saved_(lowering.here) { lowering_.here = span; }
    ~At() { lowering_.here = saved_; }
    At(const At&) = delete;
    At& operator=(const At&) = delete;

   private:
    Lowering& lowering_;
    Span saved_;
  };

  /// `here`, or the author's own call that led there while evaluation is inside library.py.
  Span place() const;
  /// An author's error at `place()`, with a note for every call on the stack.
  [[noreturn]] void fail(std::string message, std::string hint = {}) const;

  // Host expressions.
  ir::HostId host(ir::HostOp op, std::vector<ir::HostId> args, uint32_t b = 0);  ///< Python's errors placed here
  ir::HostId integer(int64_t value) { return graph.host.integer(value); }
  /// The value of a number; where it is made of symbols, asks for them (throws NeedStatic). `what` names the need in
  /// the error for a tensor: "the bound of a range".
  ir::HostValue static_number(const Value& value, std::string_view what);
  ir::HostValue static_number(ir::HostId id);
  int64_t static_int(const Value& value, std::string_view what);
  bool static_bool(const Value& value, std::string_view what);

  /// States what must hold of the arguments; where both are constants it is decided here. `message` may hold {0} and
  /// {1}, the values of a and b.
  void require(ir::Condition::Kind kind, ir::HostId a, ir::HostId b, std::string message = {});

  /// How deep evaluation is in native library functions, those that PyTorch has as one kernel: inside, `/` is IEEE
  /// division, numbers stay unrounded, and numerics = eager rounds at the boundary alone.
  int native_depth = 0;
  /// Every evaluation step, of statements and expressions; past the limit it is an error that names loops.
  void step();
  /// Records an author's name for a tensor's node; no effect on other values.
  void name(const Value& value, std::string_view name);
  /// Places a new node in the author's text, and checks the graph's limits.
  ir::NodeId placed(ir::NodeId node);
  /// Past 5,000 nodes all sizes are asked to be static; past 50,000 it is an error.
  void check_limits();

 private:
  /// A span outside library.py, and how many calls of the stack lead to it.
  struct Place {
    Span span;
    size_t depth;
  };
  Place authors_place() const;

  size_t steps_ = 0;
  std::set<std::tuple<ir::Condition::Kind, ir::HostId, ir::HostId>> required_;
};

/// The sentence of a condition that does not hold of the values a and b.
std::string condition_message(const ir::Condition& condition, int64_t a, int64_t b);

// The tensor half, as the interpreter calls it.

/// A Python operator with at least one tensor among the operands (Neg, Pos, Invert: one operand).
Value tensor_operator(Lowering& lowering, Operator op, std::span<const Value> operands);
/// value[index]; `index` as Python gives it: a number, Slice, None, Ellipsis, tensor, or a tuple of these.
Value tensor_getitem(Lowering& lowering, const Value& value, const Value& index);
/// shape, ndim, dtype, T, mT, …: the attributes that are not methods.
std::optional<Value> tensor_attribute(Lowering& lowering, const Value& value, std::string_view name);
/// Iteration over a tensor: its parts along dim 0 (the size is asked to be static).
std::vector<Value> tensor_iterate(Lowering& lowering, const Value& value);
/// Marks `body`'s results as those of the native library function `name` on `operands` (Call nodes).
Value native_result(Lowering& lowering, std::string_view name, const Value& body, std::span<const Value> operands);

// Definitions and the pass itself.

/// A parameter as its author wrote it.
struct Parameter {
  enum class Annotation : uint8_t { None, Float, Int, Bool, Tensor } annotation = Annotation::None;
  std::string name;
  bool has_default = false;
  Span span;
};

/// An op as its author wrote it, whichever door it came through.
class Definition {
 public:
  virtual ~Definition() = default;
  virtual const std::string& name() const = 0;
  virtual std::span<const Parameter> parameters() const = 0;
  /// The author's text, for the header of generated source and for cache keys; a C++ function has none.
  virtual std::string_view text() const = 0;
  /// The text as a syntax tree, for people to read; a C++ function has none.
  virtual std::string tree() const { return {}; }
  /// Evaluates the op on one value a parameter; an omitted argument is nullopt and takes its default.
  virtual Value evaluate(Lowering& lowering, std::span<const std::optional<Value>> arguments) const = 0;
};

/// Reads an op from text: a file of defs (the op is `name`, or the last def) or a bare expression. Module constants
/// travel as assignments of the text; a Source with origins places messages in the files that its parts came from.
/// Errors: Error(Author).
std::shared_ptr<const Definition> define(std::shared_ptr<const Source> source, std::string_view name = {});
inline std::shared_ptr<const Definition> define(std::string text, std::string source_name = "<text>",
                                                std::string_view name = {}) {
  return define(std::make_shared<const Source>(std::move(source_name), std::move(text)), name);
}

/// The graph of an op for a signature. Restarts with static values as evaluation asks for them; past 5,000 nodes, with
/// all sizes static; past 50,000 it is an error. The graph is as the author wrote it: no pass has run.
ir::Graph lower(const Definition& definition, const Signature& signature, const Actuals& actuals);

}  // namespace ingot::frontend
