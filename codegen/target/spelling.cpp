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

/// Whether the token can be a unary operator in front of its operand.
bool is_prefix(std::string_view token) { return token == "-" || token == "!" || token == "~"; }

/// Whether readers of the generated source might not know an operator's precedence: parentheses are added around it.
bool is_obscure(Precedence precedence) {
  return precedence == Precedence::Shift || (precedence >= Precedence::BitOr && precedence <= Precedence::BitAnd);
}

}  // namespace

Spelling::Spelling(std::string_view pattern) {
  std::vector<std::string_view> tokens = tokens_of(pattern);
  std::vector<std::string_view> words;  // without the spaces
  for (const std::string_view token : tokens)
    if (token[0] != ' ') words.push_back(token);

  // The precedence of a token if it is an operator.
  const auto operator_at = [&](size_t w) -> std::optional<Precedence> {
    if (w >= words.size()) return std::nullopt;
    if (words[w] == "[") return Precedence::Primary;
    const bool follows_operand = w > 0 && words[w - 1] != "(" && words[w - 1] != "," && words[w - 1] != "[" &&
                                 !binary_operator(words[w - 1]) && !is_prefix(words[w - 1]);
    if (is_prefix(words[w]) && !follows_operand) return Precedence::Unary;
    return binary_operator(words[w]);
  };

  int depth = 0;
  size_t w = 0;  // number of the token among the words
  segments_.emplace_back();
  for (const std::string_view token : tokens) {
    if (token[0] == ' ') {
      segments_.back().text += token;
      continue;
    }
    if (token == ")" || token == "]") --depth;
    const std::optional<Precedence> precedence = operator_at(w);
    if (depth == 0 && precedence && token != "[") precedence_ = std::min(precedence_, *precedence);
    if (token == "(" || token == "[") ++depth;
    const size_t operand = token.size() == 1 ? kOperands.find(token) : std::string_view::npos;
    if (operand == std::string_view::npos) {
      segments_.back().text += token;
    } else {
      Placeholder placeholder{static_cast<uint32_t>(operand), std::nullopt, operator_at(w + 1)};
      if (w > 0) placeholder.left = operator_at(w - 1);
      if (w > 0 && words[w - 1] == "[") placeholder.left = std::nullopt;
      placeholder.is_middle = w > 0 && words[w - 1] == "?";
      segments_.back().placeholder = placeholder;
      segments_.emplace_back();
    }
    ++w;
  }
}

bool Spelling::needs_parentheses(const Placeholder& placeholder, const Text& operand) {
  const Precedence inner = operand.precedence;
  // Whether the operand needs parentheses next to this operator.
  const auto needs_them = [&](Precedence op, bool is_on_its_right) {
    if (inner >= Precedence::Unary) return inner < op;
    if (op == Precedence::Conditional)
      return placeholder.is_middle ? inner == op : !is_on_its_right && (inner == op || is_obscure(inner));
    if (inner < op || (inner == op && is_on_its_right)) return true;
    if (inner == op) return op == Precedence::Equality || op == Precedence::Relational;
    return is_obscure(op) || is_obscure(inner) || (op == Precedence::LogicalOr && inner == Precedence::LogicalAnd) ||
           (op == Precedence::Equality && inner == Precedence::Relational);
  };
  const bool has_two_signs = placeholder.left == Precedence::Unary && operand.text.starts_with('-');
  return has_two_signs || (placeholder.left && needs_them(*placeholder.left, true)) ||
         (placeholder.right && needs_them(*placeholder.right, false));
}

Text Spelling::fill(std::span<const Text> operands, std::string_view type, std::string_view suffix) const {
  if (segments_.size() == 2 && segments_[0].text.empty() && segments_[1].text.empty())
    return operands[segments_[0].placeholder->operand];
  Text result{{}, precedence_};
  for (const Segment& segment : segments_) {
    for (const char c : segment.text) {
      if (c == 'T')
        result.text += type;
      else if (c == '#')
        result.text += suffix;
      else
        result.text += c;
    }
    if (!segment.placeholder) continue;
    const Text& operand = operands[segment.placeholder->operand];
    if (needs_parentheses(*segment.placeholder, operand))
      result.text += "(" + operand.text + ")";
    else
      result.text += operand.text;
  }
  return result;
}

}  // namespace ingot::codegen
