#include "frontend/syntax/lexer.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "frontend/syntax/literals.h"
#include "frontend/syntax/normal_form.h"

namespace ingot::frontend {

namespace {

constexpr size_t kMaxBrackets = 200;  // as CPython's
constexpr size_t kMaxIndents = 100;   // as CPython's

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

/// Whether a non-ASCII character is allowed in a name. Unicode blocks of punctuation, symbols and blanks are excluded.
/// Within the Unicode blocks of letters this accepts more than Python's tables do.
bool is_name_character(char32_t code) {
  struct Range {
    char32_t first, last;
  };
  static constexpr Range kSymbols[] = {
      {0x80, 0xA9},     {0xAB, 0xB4},     {0xB6, 0xB6},     {0xB8, 0xB9},     {0xBB, 0xBF},       {0xD7, 0xD7},
      {0xF7, 0xF7},     {0x1680, 0x1680}, {0x2000, 0x203E}, {0x2041, 0x2053}, {0x2055, 0x2070},   {0x2072, 0x207E},
      {0x2080, 0x208F}, {0x20A0, 0x20CF}, {0x2190, 0x2BFF}, {0x2E00, 0x2E7F}, {0x3000, 0x3004},   {0x3008, 0x3020},
      {0x3030, 0x3030}, {0xE000, 0xF8FF}, {0xFE50, 0xFE6F}, {0xFEFF, 0xFEFF}, {0xFF00, 0xFF0F},   {0xFF1A, 0xFF20},
      {0xFF3B, 0xFF3E}, {0xFF40, 0xFF40}, {0xFF5B, 0xFF65}, {0xFFE0, 0xFFFF}, {0x1F000, 0x1FBEF}, {0xE0000, 0x10FFFF}};
  if (code < 0x80) return false;
  return std::none_of(std::begin(kSymbols), std::end(kSymbols),
                      [&](Range range) { return range.first <= code && code <= range.last; });
}

/// The ASCII text that a character looks like: `"` for a typographic quote. Pasted text often has such characters.
/// Empty for all other characters.
std::string_view ascii_lookalike(char32_t code) {
  switch (code) {
    case 0x2212:
    case 0x2013:
    case 0x2014:
      return "-";
    case 0xD7:
    case 0x22C5:
    case 0xB7:
      return "*";
    case 0xF7:
      return "/";
    case 0x2018:
    case 0x2019:
      return "'";
    case 0x201C:
    case 0x201D:
      return "\"";
    case 0x2264:
      return "<=";
    case 0x2265:
      return ">=";
    case 0x2260:
      return "!=";
    case 0xFF08:
      return "(";
    case 0xFF09:
      return ")";
    case 0xFF0C:
      return ",";
    case 0xFF1A:
      return ":";
    case 0xA0:
    case 0x3000:
    case 0x202F:
    case 0x200B:
    case 0xFEFF:
      return " ";
    default:
      return {};
  }
}

// Longest first, so that the first match is the longest token.
constexpr std::array<std::string_view, 47> kOperators = {
    "**=", "//=", ">>=", "<<=", "...", "->", ":=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=",
    "==",  "!=",  "<=",  ">=",  "**",  "//", "<<", ">>", "+",  "-",  "*",  "/",  "%",  "@",  "&",  "|",
    "^",   "~",   "<",   ">",   "(",   ")",  "[",  "]",  "{",  "}",  ",",  ":",  ".",  ";",  "="};

constexpr std::array<std::string_view, 35> kKeywords = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

}  // namespace

bool is_keyword(std::string_view word) {
  return std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end();
}

Lexer::Lexer(const Source& source) : source_(source), text_(source.text()) {
  for (uint32_t i = 0; i < text_.size();) {
    Character character = decode_utf8(text_, i);
    if (!character.is_valid) throw_author(span(i, i + 1), "the source is not UTF-8", "save the file as UTF-8");
    if (character.code == 0) throw_author(span(i, i + 1), "the source has a NUL byte", "an op is read from plain text");
    i += character.bytes;
  }
  if (text_.starts_with("\xEF\xBB\xBF")) offset_ = 3;
}

Token Lexer::next() {
  Token token;
  if (pending_dedents_ > 0) {
    --pending_dedents_;
    return this->token(Token::Kind::Dedent, offset_);
  }
  if (at_line_start_ && brackets_.empty() && read_indentation(token)) return token;
  skip_blanks();
  if (offset_ == text_.size()) {
    if (!brackets_.empty()) {
      Bracket bracket = brackets_.back();
      throw_author(span(bracket.offset, bracket.offset + 1), std::string("`") + bracket.open + "` is never closed",
                   std::string("close it with `") +
                       (bracket.open == '('   ? ')'
                        : bracket.open == '[' ? ']'
                                              : '}') +
                       "`");
    }
    if (line_has_tokens_) {
      line_has_tokens_ = false;
      at_line_start_ = true;
      return this->token(Token::Kind::Newline, offset_);
    }
    if (indents_.size() > 1) {
      indents_.pop_back();
      return this->token(Token::Kind::Dedent, offset_);
    }
    return this->token(Token::Kind::End, offset_);
  }
  if (is_line_break(offset_)) {  // outside brackets: skip_blanks skips line breaks inside them
    uint32_t begin = offset_;
    skip_line_break();
    at_line_start_ = true;
    line_has_tokens_ = false;
    token.kind = Token::Kind::Newline;
    token.span = span(begin, begin);
    return token;
  }
  line_has_tokens_ = true;
  char c = peek();
  if (is_digit(c) || (c == '.' && is_digit(peek(1)))) return read_number();
  if (c == '"' || c == '\'') return read_string({}, offset_);
  if (is_letter(c) || !is_ascii(c)) return read_name_or_string();
  return read_operator();
}

/// Skips blank lines and measures the indentation of the next line with tokens. If the indentation differs from the
/// current one, sets `token` to an Indent or the first Dedent, and returns true.
bool Lexer::read_indentation(Token& token) {
  uint32_t begin = offset_;
  Indentation indent{0, 0};
  for (bool is_blank = true; is_blank;) {
    char c = peek();
    if (c == ' ') {
      ++offset_, ++indent.columns, ++indent.one_per_tab;
    } else if (c == '\t') {
      ++offset_, indent.columns = (indent.columns / 8 + 1) * 8, ++indent.one_per_tab;
    } else if (c == '\f') {
      ++offset_, indent = {0, 0};
    } else if (c == '#') {
      skip_comment();
    } else if (is_line_break(offset_)) {
      skip_line_break();
      begin = offset_, indent = {0, 0};
    } else {
      is_blank = false;
    }
  }
  if (offset_ == text_.size()) return false;  // `next` emits the remaining tokens
  at_line_start_ = false;
  if (indents_.empty()) {
    indents_.push_back(indent);
    return false;
  }
  Indentation& current = indents_.back();
  auto require_consistent = [&](bool is_consistent) {
    if (!is_consistent)
      throw_author(span(begin, offset_), "tabs and spaces are mixed so that the indentation depends on the tab's width",
                   "indent with spaces only");
  };
  if (indent.columns == current.columns) {
    require_consistent(indent.one_per_tab == current.one_per_tab);
    return false;
  }
  if (indent.columns > current.columns) {
    require_consistent(indent.one_per_tab > current.one_per_tab);
    if (indents_.size() > kMaxIndents)
      throw_author(span(begin, offset_), "the blocks are nested too deeply", "move the inner ones into a function");
    indents_.push_back(indent);
    token = this->token(Token::Kind::Indent, begin);
    return true;
  }
  uint32_t closed_count = 0;
  while (indents_.size() > 1 && indents_.back().columns > indent.columns) {
    indents_.pop_back();
    ++closed_count;
  }
  if (indents_.back().columns != indent.columns)
    throw_author(span(begin, offset_), "this line's indentation matches no open block",
                 "align it with the block that it belongs to");
  require_consistent(indents_.back().one_per_tab == indent.one_per_tab);
  pending_dedents_ = closed_count - 1;
  token = this->token(Token::Kind::Dedent, offset_);
  return true;
}

/// Skips blanks, comments, and line breaks that do not end the logical line (in brackets, or after a backslash).
void Lexer::skip_blanks() {
  while (offset_ < text_.size()) {
    char c = peek();
    if (c == ' ' || c == '\t' || c == '\f') {
      ++offset_;
    } else if (c == '#') {
      skip_comment();
    } else if (is_line_break(offset_) && !brackets_.empty()) {
      skip_line_break();
    } else if (c == '\\') {
      if (!is_line_break(offset_ + 1))
        throw_author(span(offset_, offset_ + 1), "something follows the `\\`",
                     "a backslash joins two lines only as the last character of the first");
      ++offset_;
      skip_line_break();
      if (offset_ == text_.size())
        throw_author(span(offset_, offset_), "the source ends after a `\\` that continues the line",
                     "remove the backslash");
    } else {
      return;
    }
  }
}

Token Lexer::read_name_or_string() {
  uint32_t begin = offset_;
  while (offset_ < text_.size()) {
    char c = peek();
    if (is_letter(c) || is_digit(c)) {
      ++offset_;
      continue;
    }
    if (is_ascii(c)) break;
    Character character = decode_utf8(text_, offset_);
    if (!is_name_character(character.code)) break;
    if (has_another_normal_form(character.code)) {
      throw_author(span(offset_, offset_ + character.bytes), "Python replaces this character of a name by another one",
                   "write the name in plain letters");
    }
    offset_ += character.bytes;
  }
  if (offset_ == begin) fail_unexpected_character();
  std::string_view word = text_.substr(begin, offset_ - begin);
  if ((peek() == '"' || peek() == '\'') && word.size() <= 2) {
    std::string prefix;
    for (char c : word) prefix += static_cast<char>(c | 0x20);
    for (std::string_view string_prefix : {"r", "u", "b", "f", "rb", "br", "rf", "fr"})
      if (prefix == string_prefix) return read_string(word, begin);
  }
  return token(is_keyword(word) ? Token::Kind::Keyword : Token::Kind::Name, begin);
}

Token Lexer::read_number() {
  uint32_t begin = offset_;
  // Read letters, digits and dots; a sign belongs to the number only after a decimal exponent's `e`.
  bool is_hexadecimal = peek() == '0' && (peek(1) | 0x20) == 'x';
  while (is_letter(peek()) || is_digit(peek()) || peek() == '.' ||
         ((peek() == '+' || peek() == '-') && !is_hexadecimal && offset_ > begin &&
          (text_[offset_ - 1] | 0x20) == 'e' && is_digit(peek(1))))
    ++offset_;
  Token result = token(Token::Kind::Integer, begin);
  NumberLiteral number = read_number_literal(result.span);
  if (number.is_float) result.kind = Token::Kind::Float;
  result.integer = number.integer;
  result.real = number.real;
  return result;
}

Token Lexer::read_string(std::string_view prefix, uint32_t begin) {
  auto has = [&](char letter) {
    return std::any_of(prefix.begin(), prefix.end(), [&](char c) { return (c | 0x20) == letter; });
  };
  bool is_raw = has('r');
  char quote = peek();
  bool is_triple = peek(1) == quote && peek(2) == quote;
  uint32_t quotes = is_triple ? 3 : 1;
  offset_ += quotes;
  if (has('b'))
    throw_author(span(begin, offset_), "bytes are outside the language", "write the string without the `b`");
  std::string value;
  for (;;) {
    if (offset_ == text_.size() || (!is_triple && is_line_break(offset_)))
      throw_author(span(begin, begin + static_cast<uint32_t>(prefix.size()) + quotes), "this string is never closed",
                   std::string("end it with ") + std::string(quotes, quote));
    if (peek() == quote && (!is_triple || (peek(1) == quote && peek(2) == quote))) break;
    if (is_line_break(offset_)) {
      skip_line_break();
      value += '\n';
    } else if (peek() == '\\' && offset_ + 1 < text_.size()) {
      if (!is_raw) {
        read_escape(value);
        continue;
      }
      value += '\\';
      ++offset_;
      if (is_line_break(offset_)) {
        skip_line_break();
        value += '\n';
      } else {
        value += text_[offset_++];
      }
    } else {
      value += text_[offset_++];
    }
  }
  offset_ += quotes;
  Token result = token(has('f') ? Token::Kind::FormatString : Token::Kind::String, begin);
  result.string = std::move(value);
  return result;
}

void Lexer::read_escape(std::string& value) {
  uint32_t begin = offset_++;
  if (is_line_break(offset_)) return skip_line_break();
  char c = text_[offset_++];
  auto digits = [&](uint32_t base, uint32_t at_most) {
    char32_t code = 0;
    uint32_t count = 0;
    for (; count < at_most; ++count, ++offset_) {
      uint32_t digit = digit_value(peek());
      if (digit >= base) break;
      code = code * base + digit;
    }
    if (base == 16 && count < at_most)
      throw_author(span(begin, offset_), std::string("`\\") + c + "` needs " + std::to_string(at_most) + " hex digits");
    return code;
  };
  auto append = [&](char32_t code) {
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
      throw_author(span(begin, offset_), "there is no such character");
    append_utf8(value, code);
  };
  switch (c) {
    case '\\':
    case '\'':
    case '"':
      value += c;
      return;
    case 'a':
      value += '\a';
      return;
    case 'b':
      value += '\b';
      return;
    case 'f':
      value += '\f';
      return;
    case 'n':
      value += '\n';
      return;
    case 'r':
      value += '\r';
      return;
    case 't':
      value += '\t';
      return;
    case 'v':
      value += '\v';
      return;
    case 'x':
      return append(digits(16, 2));
    case 'u':
      return append(digits(16, 4));
    case 'U':
      return append(digits(16, 8));
    case 'N':
      throw_author(span(begin, offset_), "characters by name are outside the language",
                   "write the character itself, or \\uXXXX");
    default:
      if (c >= '0' && c <= '7') {
        --offset_;
        return append(digits(8, 3));
      }
      value += '\\';  // as in Python, an unknown escape keeps its backslash
      --offset_;
  }
}

Token Lexer::read_operator() {
  uint32_t begin = offset_;
  for (std::string_view symbol : kOperators) {
    if (!text_.substr(offset_).starts_with(symbol)) continue;
    offset_ += static_cast<uint32_t>(symbol.size());
    char c = symbol[0];
    if (c == '(' || c == '[' || c == '{') {
      if (brackets_.size() == kMaxBrackets)
        throw_author(span(begin, offset_), "the brackets are nested more than 200 deep",
                     "give the inner expressions names of their own");
      brackets_.push_back({c, begin});
    }
    if (c == ')' || c == ']' || c == '}') close_bracket(c);
    return token(Token::Kind::Operator, begin);
  }
  fail_unexpected_character();
}

void Lexer::close_bracket(char close) {
  Span here = span(offset_ - 1, offset_);
  if (brackets_.empty())
    throw_author(here, std::string("`") + close + "` closes nothing", "remove it, or open it before");
  Bracket bracket = brackets_.back();
  char open = close == ')' ? '(' : close == ']' ? '[' : '{';
  if (bracket.open != open) {
    Diagnostic diagnostic{std::string("`") + close + "` does not close `" + bracket.open + "`", here, {}, {}};
    diagnostic.hint = std::string("close `") + bracket.open + "` before it";
    diagnostic.notes.push_back({"opened here", span(bracket.offset, bracket.offset + 1)});
    throw_author(std::move(diagnostic));
  }
  brackets_.pop_back();
}

char Lexer::peek(uint32_t ahead) const { return offset_ + ahead < text_.size() ? text_[offset_ + ahead] : '\0'; }

bool Lexer::is_line_break(uint32_t offset) const {
  return offset < text_.size() && (text_[offset] == '\n' || text_[offset] == '\r');
}

void Lexer::skip_comment() {
  while (offset_ < text_.size() && !is_line_break(offset_)) ++offset_;
}

void Lexer::skip_line_break() { offset_ += peek() == '\r' && peek(1) == '\n' ? 2 : 1; }

Token Lexer::token(Token::Kind kind, uint32_t begin) const {
  Token result;
  result.kind = kind;
  result.span = span(begin, offset_);
  return result;
}

void Lexer::fail_unexpected_character() const {
  Character character = decode_utf8(text_, offset_);
  std::string character_text(text_.substr(offset_, character.bytes));
  std::string hint;
  std::string_view lookalike = ascii_lookalike(character.code);
  if (lookalike == " ")
    hint = "it looks like a blank: type a plain space";
  else if (!lookalike.empty())
    hint = "type a plain `" + std::string(lookalike) + "`";
  else if (character_text == "!")
    hint = "write `not` before a number, `~` before a tensor";
  else if (character_text == "?")
    hint = "write `a if condition else b`, or on tensors `where(condition, a, b)`";
  if (character.code < 0x20 || character.code == 0x7F)
    character_text =
        "\\x" + std::string{"0123456789abcdef"[character.code >> 4], "0123456789abcdef"[character.code & 15]};
  throw_author(span(offset_, offset_ + character.bytes), "`" + character_text + "` has no meaning here",
               std::move(hint));
}

}  // namespace ingot::frontend
