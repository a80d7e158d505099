#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Expressions of generated source, for all targets. An expression is its text and its precedence: when it is inserted
// into another expression, only the necessary parentheses are added.

namespace ingot::codegen {

/// The precedence of a C++ expression, lowest first.
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

/// An expression in source, with the precedence of its outermost operator.
struct Text {
  std::string text;
  Precedence precedence = Precedence::Primary;
};

/// An expression with placeholders, parsed once from the pattern of a spelling. The letters a, b, c are the operands, T
/// is the name of the type, and # is the suffix of float32 functions and literals ("f"; empty for float64).
class Spelling {
 public:
  explicit Spelling(std::string_view pattern);

  /// The expression with these operands, each in parentheses if they are necessary.
  Text fill(std::span<const Text> operands, std::string_view type = {}, std::string_view suffix = {}) const;

 private:
  struct Placeholder {
    uint32_t operand = 0;
    std::optional<Precedence> left, right;  ///< precedence of the operators on either side
    bool is_middle = false;                 ///< the middle operand of a conditional
  };
  /// Text, followed by a placeholder except at the end.
  struct Segment {
    std::string text;  ///< the text before the placeholder, which may contain T and #
    std::optional<Placeholder> placeholder;
  };
  static bool needs_parentheses(const Placeholder& placeholder, const Text& operand);

  std::vector<Segment> segments_;
  Precedence precedence_ = Precedence::Primary;
};

}  // namespace ingot::codegen
