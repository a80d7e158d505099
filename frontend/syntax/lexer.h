#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"

namespace ingot::frontend {

/// A token of the source, by Python's lexical rules.
struct Token {
  enum class Kind : uint8_t {
    End,
    Newline,  ///< the end of a logical line
    Indent,
    Dedent,
    Name,
    Keyword,
    Integer,
    Float,
    String,
    FormatString,  ///< f"…": `string` is the text between the quotes, with the fields as written
    Operator,      ///< operators and delimiters
  };
  Kind kind = Kind::End;
  Span span;
  uint64_t integer = 0;  ///< of an Integer, at most 2**63: a larger one is already an error
  double real = 0;       ///< of a Float
  std::string string;    ///< of a String, with escapes resolved

  std::string_view text() const { return span.text(); }
  bool is(Kind k) const { return kind == k; }
  bool is_operator(std::string_view symbol) const { return kind == Kind::Operator && text() == symbol; }
  bool is_keyword(std::string_view word) const { return kind == Kind::Keyword && text() == word; }
};

/// Splits a source text into tokens. The indentation of the first line is the base of all others, so a text may be
/// indented as a whole. Throws Error(Author) for input that violates Python's lexical rules.
class Lexer {
 public:
  explicit Lexer(const Source& source);
  /// Returns the next token; at the end of the source, returns End on every call.
  Token next();

 private:
  struct Indentation {
    uint32_t columns;      ///< a tab advances to the next multiple of eight
    uint32_t one_per_tab;  ///< the columns if a tab advances by one; both counts must agree on which line is deeper
  };
  struct Bracket {
    char open;
    uint32_t offset;
  };

  bool read_indentation(Token& token);
  void skip_blanks();
  Token read_name_or_string();
  Token read_number();
  Token read_string(std::string_view prefix, uint32_t begin);
  Token read_operator();
  void read_escape(std::string& value);
  void close_bracket(char close);

  char peek(uint32_t ahead = 0) const;
  bool is_line_break(uint32_t offset) const;
  void skip_comment();
  void skip_line_break();
  Span span(uint32_t begin, uint32_t end) const { return {&source_, begin, end}; }
  Token token(Token::Kind kind, uint32_t begin) const;
  [[noreturn]] void fail_unexpected_character() const;

  const Source& source_;
  std::string_view text_;
  uint32_t offset_ = 0;
  bool at_line_start_ = true;
  bool line_has_tokens_ = false;
  uint32_t pending_dedents_ = 0;      ///< the number of Dedents that `next` has yet to return
  std::vector<Indentation> indents_;  ///< of the first line and of the open blocks
  std::vector<Bracket> brackets_;     ///< open ones
};

/// Whether Python reserves the word.
bool is_keyword(std::string_view word);

}  // namespace ingot::frontend
