#include "frontend/syntax/literals.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#include "base/error.h"

namespace ingot::frontend {

namespace {

constexpr uint64_t kMaxInteger = uint64_t{1} << 63;  // 2**63, because a minus sign may precede the literal

bool is_digit(char c) { return c >= '0' && c <= '9'; }

[[noreturn]] void fail_malformed(Span span) {
  std::string_view text = span.text();
  bool has_base_prefix =
      text.size() > 1 && text[0] == '0' && std::string_view("xXoObB").find(text[1]) != std::string_view::npos;
  std::string hint = "a name cannot begin with a digit";
  if (has_base_prefix) {
    hint = "hexadecimal digits follow 0x, octal ones 0o, binary ones 0b";
  } else if (text.find('_') != std::string_view::npos) {
    hint = "a `_` in a number must be between two digits";
  } else if (std::count(text.begin(), text.end(), '.') > 1) {
    hint = "a number has one point";
  } else if (text.ends_with('e') || text.ends_with('E')) {
    hint = "an exponent has digits, as in 1e5";
  }
  throw_author(span, "`" + std::string(text) + "` is not a number", std::move(hint));
}

/// Removes underscores from `digits`. Each one must be between two digits of the base.
std::string without_underscores(std::string_view digits, uint32_t base, Span span) {
  std::string plain;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] == '_') {
      bool is_between_digits =
          i > 0 && i + 1 < digits.size() && digit_value(digits[i - 1]) < base && digit_value(digits[i + 1]) < base;
      if (!is_between_digits) fail_malformed(span);
    } else if (digit_value(digits[i]) >= base) {
      fail_malformed(span);
    } else {
      plain += digits[i];
    }
  }
  if (plain.empty()) fail_malformed(span);
  return plain;
}

uint64_t read_integer(std::string_view digits, uint32_t base, Span span) {
  uint64_t value = 0;
  for (char c : without_underscores(digits, base, span)) {
    uint32_t digit = digit_value(c);
    if (value > (kMaxInteger - digit) / base)
      throw_author(span, "the integer does not fit in 64 bits",
                   "integers range from -2**63 to 2**63 - 1; a larger number must be a float, such as 1e20");
    value = value * base + digit;
  }
  return value;
}

/// Whether a literal that is out of range for a double is too large, not too close to zero. Decided by the decimal
/// exponent of its first nonzero digit.
bool is_huge(std::string_view plain) {
  size_t exponent_mark = std::min(plain.find_first_of("eE"), plain.size());
  std::string_view mantissa = plain.substr(0, exponent_mark);
  size_t point = std::min(mantissa.find('.'), mantissa.size());
  size_t first = mantissa.find_first_of("123456789");
  double power = first < point ? static_cast<double>(point - first) : -static_cast<double>(first - point);
  double exponent = 0;
  for (char c : plain.substr(exponent_mark))
    if (is_digit(c)) exponent = exponent * 10 + (c - '0');
  bool is_negative = exponent_mark + 1 < plain.size() && plain[exponent_mark + 1] == '-';
  return power + (is_negative ? -exponent : exponent) > 0;
}

double read_float(std::string_view text, Span span) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
      fail_malformed(span);
    }
  }
  double value = 0;
  auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (end != plain.data() + plain.size()) fail_malformed(span);
  if (error == std::errc::result_out_of_range) return is_huge(plain) ? std::numeric_limits<double>::infinity() : 0.0;
  if (error != std::errc()) fail_malformed(span);
  return value;
}

}  // namespace

uint32_t digit_value(char c) {
  if (is_digit(c)) return static_cast<uint32_t>(c - '0');
  char letter = static_cast<char>(c | 0x20);
  return letter >= 'a' && letter <= 'z' ? static_cast<uint32_t>(letter - 'a' + 10) : 36;
}

NumberLiteral read_number_literal(Span span) {
  std::string_view text = span.text();
  NumberLiteral number;
  if (text.size() > 1 && text[0] == '0') {
    char letter = static_cast<char>(text[1] | 0x20);
    uint32_t base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (base != 0) {
      std::string_view digits = text.substr(2);
      if (digits.starts_with('_')) digits.remove_prefix(1);
      number.integer = read_integer(digits, base, span);
      return number;
    }
  }
  if (text.back() == 'j' || text.back() == 'J')
    throw_author(span, "complex numbers are outside the language", "keep the real and imaginary parts in two values");
  if (text.find_first_of(".eE") != std::string_view::npos) {
    number.is_float = true;
    number.real = read_float(text, span);
    return number;
  }
  if (text.size() > 1 && text[0] == '0' && text.find_first_not_of("0_") != std::string_view::npos &&
      text.find_first_not_of("0123456789_") == std::string_view::npos)
    throw_author(span, "an integer does not begin with 0", "an octal number is written 0o17");
  number.integer = read_integer(text, 10, span);
  return number;
}

}  // namespace ingot::frontend
