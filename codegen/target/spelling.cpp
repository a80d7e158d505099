#include "codegen/target/spelling.h"

#include <algorithm>
#include <array>

namespace ingot::codegen {
namespace {

constexpr std::string_view kOperands = "abc";

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '#' || c == '.';
}

std::vector<std::string_view> tokens_of(std::string_view text) {
  constexpr std::array<std::string_view, 9> kLong = {"<T>", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
  std::vector<std::string_view> tokens;
  while (!text.empty()) {
    size_t length = 1;
    if (text[0] == ' ') {
      while (length < text.size() && text[length] == ' ') ++length;
    } else if (is_word(text[0])) {
      while (length < text.size() && is_word(text[length])) ++length;
    } else {
      for (const std::string_view op : kLong)
        if (text.starts_with(op)) {
          length = op.size();
          break;
        }
    }
    tokens.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return tokens;
}

std::optional<Precedence> binary_operator(std::string_view token) {
  struct Row {
    std::string_view token;
    Precedence precedence;
  };
  static constexpr Row kRows[] = {
      {"?", Precedence::Conditional},    {":", Precedence::Conditional},    {"||", Precedence::LogicalOr},
      {"&&", Precedence::LogicalAnd},    {"|", Precedence::BitOr},          {"^", Precedence::BitXor},
      {"&", Precedence::BitAnd},         {"==", Precedence::Equality},      {"!=", Precedence::Equality},
      {"<", Precedence::Relational},     {"<=", Precedence::Relational},    {">", Precedence::Relational},
      {">=", Precedence::Relational},    {"<<", Precedence::Shift},         {">>", Precedence::Shift},
      {"+", Precedence::Additive},       {"-", Precedence::Additive},       {"*", Precedence::Multiplicative},
      {"/", Precedence::Multiplicative}, {"%", Precedence::Multiplicative},
  };
  for (const Row& row : kRows)
    if (row.token == token) return row.precedence;
  return std::nullopt;
}

bool is_prefix(std::string_view token) { return token == "-" || token == "!" || token == "~"; }

/// Operators whose precedence readers often do not know: parentheses are added around them.
bool is_obscure(Precedence precedence) {
  return precedence == Precedence::Shift || (precedence >= Precedence::BitOr && precedence <= Precedence::BitAnd);
}

}  // namespace

Spelling::Spelling(std::string_view pattern) {
  std::vector<std::string_view> tokens = tokens_of(pattern);
  std::vector<std::string_view> words;  // without the spaces
  for (const std::string_view token : tokens)
    if (token[0] != ' ') words.push_back(token);

  // The precedence of the token at `at` if it is an operator.
  const auto operator_at = [&](size_t at) -> std::optional<Precedence> {
    if (at >= words.size()) return std::nullopt;
    if (words[at] == "[") return Precedence::Primary;
    const bool operand_before = at > 0 && words[at - 1] != "(" && words[at - 1] != "," && words[at - 1] != "[" &&
                                !binary_operator(words[at - 1]) && !is_prefix(words[at - 1]);
    if (is_prefix(words[at]) && !operand_before) return Precedence::Unary;
    return binary_operator(words[at]);
  };

  int depth = 0;
  size_t at = 0;
  pieces_.emplace_back();
  for (const std::string_view token : tokens) {
    if (token[0] == ' ') {
      pieces_.back().text += token;
      continue;
    }
    if (token == ")" || token == "]") --depth;
    const std::optional<Precedence> here = operator_at(at);
    if (depth == 0 && here && token != "[") precedence_ = std::min(precedence_, *here);
    if (token == "(" || token == "[") ++depth;
    const size_t operand = token.size() == 1 ? kOperands.find(token) : std::string_view::npos;
    if (operand == std::string_view::npos) {
      pieces_.back().text += token;
    } else {
      Hole hole{static_cast<uint32_t>(operand), std::nullopt, operator_at(at + 1)};
      if (at > 0) hole.left = operator_at(at - 1);
      if (at > 0 && words[at - 1] == "[") hole.left = std::nullopt;
      hole.between = at > 0 && words[at - 1] == "?";
      pieces_.back().hole = hole;
      pieces_.emplace_back();
    }
    ++at;
  }
}

bool Spelling::needs_parentheses(const Hole& hole, const Text& operand) {
  const Precedence own = operand.precedence;
  const auto clashes = [&](Precedence op, bool on_its_right) {
    if (own >= Precedence::Unary) return own < op;
    if (op == Precedence::Conditional)
      return hole.between ? own == op : !on_its_right && (own == op || is_obscure(own));
    if (own < op || (own == op && on_its_right)) return true;
    if (own == op) return op == Precedence::Equality || op == Precedence::Relational;
    return is_obscure(op) || is_obscure(own) || (op == Precedence::LogicalOr && own == Precedence::LogicalAnd) ||
           (op == Precedence::Equality && own == Precedence::Relational);
  };
  const bool two_signs = hole.left == Precedence::Unary && operand.text.starts_with('-');
  return two_signs || (hole.left && clashes(*hole.left, true)) || (hole.right && clashes(*hole.right, false));
}

Text Spelling::fill(std::span<const Text> operands, std::string_view type, std::string_view suffix) const {
  if (pieces_.size() == 2 && pieces_[0].text.empty() && pieces_[1].text.empty())
    return operands[pieces_[0].hole->operand];
  Text result{{}, precedence_};
  for (const Piece& piece : pieces_) {
    for (const char c : piece.text) {
      if (c == 'T')
        result.text += type;
      else if (c == '#')
        result.text += suffix;
      else
        result.text += c;
    }
    if (!piece.hole) continue;
    const Text& operand = operands[piece.hole->operand];
    if (needs_parentheses(*piece.hole, operand))
      result.text += "(" + operand.text + ")";
    else
      result.text += operand.text;
  }
  return result;
}

}  // namespace ingot::codegen
