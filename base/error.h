#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"

namespace ingot {

/// Whose failure it is, which decides what the message owes its reader.
enum class Fault {
  Author,       ///< in the op's text or its arguments: where, what, and what to do instead
  Environment,  ///< no driver, no compiler, a full disk: what was tried, and the log
  Internal,     ///< a broken invariant of Ingot's: a dump good enough to file
};

/// The one family of exceptions that Ingot throws. `what()` is the whole rendered text.
class Error : public std::runtime_error {
 public:
  Error(Fault fault, std::string message, std::string rendered);

  Fault fault() const { return fault_; }
  /// The sentence alone, without place, excerpt and hint.
  const std::string& message() const { return message_; }

 private:
  Fault fault_;
  std::string message_;
};

/// A finding with its place. `hint` says what to do instead; `notes` are further places ("called from here").
struct Diagnostic {
  std::string message;
  Span span;
  std::string hint;
  struct Note {
    std::string message;
    Span span;
  };
  std::vector<Note> notes;

  /// The message, then `name:line:column`, the line, a caret under the span, the hint and the notes.
  std::string render() const;
};

[[noreturn]] void throw_author(Diagnostic diagnostic);
[[noreturn]] void throw_author(Span span, std::string message, std::string hint = {});
/// `log` is quoted below the message: a compiler's output, the numbered source.
[[noreturn]] void throw_environment(std::string message, std::string_view log = {});
[[noreturn]] void throw_internal(std::string message, std::string_view dump = {});

/// The text with its lines numbered from 1, as compilers count them.
std::string numbered(std::string_view text);

}  // namespace ingot
