#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Expressions of generated source, the same for all targets. An expression is its text and how tightly it binds, so
// that putting it into another one adds the parentheses that it needs and no more.

namespace ingot::codegen {

/// How tightly an expression of C++ binds, loosest first.
enum class Precedence : uint8_t {
  Conditional,
  LogicalOr,
  LogicalAnd,
  BitOr,
  BitXor,
  BitAnd,
  Equality,
  Relational,
  Shift,
  Additive,
  Multiplicative,
  Unary,
  Primary,
};

struct Text {
  std::string text;
  Precedence precedence = Precedence::Primary;
};

/// An expression with holes, read once from the text of a spelling: the letters a, b, c stand for the operands, T for
/// the name of the type, and # for the suffix of a float32's functions and literals ("f", or nothing for float64).
class Spelling {
 public:
  explicit Spelling(std::string_view pattern);

  Text fill(std::span<const Text> operands, std::string_view type = {}, std::string_view suffix = {}) const;

 private:
  struct Hole {
    uint32_t operand = 0;
    std::optional<Precedence> left, right;  ///< of the operators beside it
    bool between = false;                   ///< the middle of a conditional
  };
  struct Piece {
    std::string text;  ///< what stands before the hole, with T and # in it
    std::optional<Hole> hole;
  };
  static bool needs_parentheses(const Hole& hole, const Text& operand);

  std::vector<Piece> pieces_;
  Precedence precedence_ = Precedence::Primary;
};

}  // namespace ingot::codegen
