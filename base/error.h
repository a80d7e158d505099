#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"

namespace ingot {

/// The cause of a failure. The cause decides what the message contains.
enum class Fault {
  Author,       ///< the op's source or its arguments: the message says what is wrong, where, and what to do instead
  Environment,  ///< a missing driver or compiler, a full disk: the message says what was tried and quotes the log
  Internal,     ///< a broken invariant of Ingot: the message contains a dump for a bug report
};

/// Base class of all errors that users see. `what()` is the complete rendered message.
class Error : public std::runtime_error {
 public:
  Error(Fault fault, std::string message, std::string rendered);

  Fault fault() const { return fault_; }
  /// The message alone, without location, excerpt and hint.
  const std::string& message() const { return message_; }

 private:
  Fault fault_;
  std::string message_;
};

/// An error with its location. `hint` says what to do instead; `notes` are related locations ("called from here").
struct Diagnostic {
  std::string message;
  Span span;
  std::string hint;
  struct Note {
    std::string message;
    Span span;
  };
  std::vector<Note> notes;

  /// Renders the message, then `name:line:column`, the source line, carets below the span, the hint and the notes.
  std::string render() const;
};

[[noreturn]] void throw_author(Diagnostic diagnostic);
[[noreturn]] void throw_author(Span span, std::string message, std::string hint = {});
/// Quotes `log` (a compiler's output, the numbered source) below the message.
[[noreturn]] void throw_environment(std::string message, std::string_view log = {});
[[noreturn]] void throw_internal(std::string message, std::string_view dump = {});

/// Returns the text with a line number before each line, counted from 1 as in compilers' messages.
std::string numbered(std::string_view text);

}  // namespace ingot
