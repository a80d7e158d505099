#include "ir/host/host_print.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "ir/host/host.h"

namespace ingot::ir {
namespace {

/// The precedence of Python's operators, ascending.
enum Precedence { kConditional, kNot, kComparison, kSum, kProduct, kUnary, kPower, kAtom };

struct Infix {
  std::string_view text;
  Precedence precedence;
};

Infix infix_of(HostOp op) {
  switch (op) {
    case HostOp::Add:
      return {" + ", kSum};
    case HostOp::Sub:
      return {" - ", kSum};
    case HostOp::Mul:
      return {"*", kProduct};
    case HostOp::TrueDiv:
      return {" / ", kProduct};
    case HostOp::FloorDiv:
      return {" // ", kProduct};
    case HostOp::Mod:
      return {" % ", kProduct};
    case HostOp::Pow:
      return {" ** ", kPower};
    case HostOp::Lt:
      return {" < ", kComparison};
    case HostOp::Le:
      return {" <= ", kComparison};
    case HostOp::Gt:
      return {" > ", kComparison};
    case HostOp::Ge:
      return {" >= ", kComparison};
    case HostOp::Eq:
      return {" == ", kComparison};
    case HostOp::Ne:
      return {" != ", kComparison};
    default:
      return {"", kAtom};
  }
}

std::string_view function_of(HostOp op) {
  switch (op) {
    case HostOp::Abs:
      return "abs";
    case HostOp::Min:
      return "min";
    case HostOp::Max:
      return "max";
    case HostOp::Int:
      return "int";
    case HostOp::Float:
      return "float";
    case HostOp::Bool:
      return "bool";
    case HostOp::Broadcast:
      return "broadcast";
    case HostOp::Sqrt:
      return "sqrt";
    case HostOp::Exp:
      return "exp";
    case HostOp::Exp2:
      return "exp2";
    case HostOp::Expm1:
      return "expm1";
    case HostOp::Log:
      return "log";
    case HostOp::Log2:
      return "log2";
    case HostOp::Log10:
      return "log10";
    case HostOp::Log1p:
      return "log1p";
    case HostOp::Sin:
      return "sin";
    case HostOp::Cos:
      return "cos";
    case HostOp::Tan:
      return "tan";
    case HostOp::Asin:
      return "asin";
    case HostOp::Acos:
      return "acos";
    case HostOp::Atan:
      return "atan";
    case HostOp::Atan2:
      return "atan2";
    case HostOp::Sinh:
      return "sinh";
    case HostOp::Cosh:
      return "cosh";
    case HostOp::Tanh:
      return "tanh";
    case HostOp::Asinh:
      return "asinh";
    case HostOp::Acosh:
      return "acosh";
    case HostOp::Atanh:
      return "atanh";
    case HostOp::Floor:
      return "floor";
    case HostOp::Ceil:
      return "ceil";
    case HostOp::Trunc:
      return "trunc";
    case HostOp::Round:
      return "round";
    case HostOp::Erf:
      return "erf";
    case HostOp::Erfc:
      return "erfc";
    case HostOp::Gamma:
      return "gamma";
    case HostOp::Lgamma:
      return "lgamma";
    case HostOp::Hypot:
      return "hypot";
    case HostOp::Copysign:
      return "copysign";
    case HostOp::Fmod:
      return "fmod";
    default:
      throw_internal("a host op without a Python function");
  }
}

class Printer {
 public:
  Printer(const HostPool& pool, std::span<const std::string> names, std::vector<HostId>& abbreviated)
      : pool_(pool), names_(names), abbreviated_(abbreviated) {}

  /// Prints an operand of an operator with precedence `context`, in parentheses if needed.
  std::string print(HostId id, Precedence context = kConditional) {
    const HostNode& node = pool_[id];
    if (!node.args.empty() && budget_-- <= 0) {
      abbreviated_.push_back(id);
      return fmt::format("h{}", id.index);
    }
    const auto [text, precedence] = print(node);
    return precedence < context ? "(" + text + ")" : text;
  }

 private:
  struct Text {
    std::string text;
    Precedence precedence = kAtom;
  };

  std::string name(uint32_t param) const { return param < names_.size() ? names_[param] : fmt::format("p{}", param); }

  std::string list(std::span<const HostId> args) {
    std::string text;
    for (const HostId arg : args) text += (text.empty() ? "" : ", ") + print(arg);
    return text;
  }

  Text constant(const HostValue& value) const {
    if (value.kind == HostKind::Bool) return {value.integer ? "True" : "False"};
    const std::string text = value.kind == HostKind::Int ? fmt::to_string(value.integer) : round_trip(value.real);
    return {text, text.front() == '-' ? kUnary : kAtom};
  }

  /// Prints positive summands first: "x.size(0)*4 + 1", "1 - x.size(0)".
  Text affine(const HostNode& node) {
    std::string text, negative;
    for (size_t i = 0; i < node.args.size(); ++i) {
      const int64_t coef = node.coefs[i];
      // -INT64_MIN does not fit in an int64; unsigned arithmetic gives the right magnitude.
      const uint64_t magnitude = coef < 0 ? 0 - static_cast<uint64_t>(coef) : static_cast<uint64_t>(coef);
      std::string term = print(node.args[i], kProduct);
      if (magnitude != 1) term += fmt::format("*{}", magnitude);
      if (coef < 0) {
        negative += " - " + term;
      } else {
        text += (text.empty() ? "" : " + ") + term;
      }
    }
    const int64_t constant = node.value.integer;
    if (constant > 0 || (constant == 0 && text.empty() && negative.empty())) {
      text += fmt::format("{}{}", text.empty() ? "" : " + ", constant);
    }
    if (constant < 0) negative += fmt::format(" - {}", 0 - static_cast<uint64_t>(constant));
    if (text.empty()) return {"-" + negative.substr(3), kSum};
    const bool is_single_term = node.args.size() == 1 && constant == 0;
    return {text + negative, is_single_term ? kProduct : kSum};
  }

  Text print(const HostNode& node) {
    switch (node.op) {
      case HostOp::Constant:
        return constant(node.value);
      case HostOp::Size:
        return {fmt::format("{}.size({})", name(node.a), node.b)};
      case HostOp::Scalar:
        return {name(node.a)};
      case HostOp::Affine:
        return affine(node);
      case HostOp::Neg:
        return {"-" + print(node.args[0], kUnary), kUnary};
      case HostOp::Not:
        return {"not " + print(node.args[0], kNot), kNot};
      case HostOp::Select:
        return {
            fmt::format("{} if {} else {}", print(node.args[1], kNot), print(node.args[0], kNot), print(node.args[2])),
            kConditional};
      case HostOp::IsNotOne:
        return {fmt::format("int({} != 1)", print(node.args[0], kSum))};
      case HostOp::RoundTo:
        return {fmt::format("{}({})", name_of(static_cast<DType>(node.b)), print(node.args[0]))};
      case HostOp::ReciprocalIn:
        return {fmt::format("{}(1 / {})", name_of(static_cast<DType>(node.b)), print(node.args[0], kUnary))};
      default:
        break;
    }
    const auto [operation, precedence] = infix_of(node.op);
    if (operation.empty()) {
      return {fmt::format("{}({})", function_of(node.op), list(node.args))};
    }
    // ** is right-associative, the other operators are left-associative, and comparisons do not chain.
    const auto tighter = static_cast<Precedence>(precedence + 1);
    const bool is_right_associative = node.op == HostOp::Pow, is_comparison = precedence == kComparison;
    std::string text = print(node.args[0], is_right_associative || is_comparison ? tighter : precedence);
    for (const HostId arg : std::span(node.args).subspan(1)) {
      text += operation;
      text += print(arg, is_right_associative ? kUnary : tighter);
    }
    return {text, precedence};
  }

  const HostPool& pool_;
  std::span<const std::string> names_;
  std::vector<HostId>& abbreviated_;
  int budget_ = 64;  ///< limits the number of printed nodes: nodes share operands, so the text of a small pool can be
                     ///< exponentially long
};

}  // namespace

std::string print_host(const HostPool& pool, HostId id, std::span<const std::string> names,
                       std::vector<HostId>& abbreviated) {
  return Printer(pool, names, abbreviated).print(id);
}

std::string HostPool::print(HostId id, std::span<const std::string> names) const {
  std::vector<HostId> abbreviated;
  return print_host(*this, id, names, abbreviated);
}

}  // namespace ingot::ir
