#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/source.h"

namespace ingot::frontend {

/// How the names of the library's Sources begin; errors inside them are shown at the author's own call.
inline constexpr std::string_view kLibraryPrefix = "<library>/";

/// Where evaluation is, and how it fails: errors are the author's, placed in the author's text, with a note for every
/// call that leads there.
class Diagnostics {
 public:
  /// What is being evaluated.
  Span here;

  struct CallSite {
    std::string_view callee;
    Span span;
  };
  std::vector<CallSite> call_stack;

  /// Moves `here` for as long as it lives.
  class At {
   public:
    At(Diagnostics& diagnostics, Span span) : diagnostics_(diagnostics), saved_(diagnostics.here) {
      diagnostics_.here = span;
    }
    ~At() { diagnostics_.here = saved_; }
    At(const At&) = delete;
    At& operator=(const At&) = delete;

   private:
    Diagnostics& diagnostics_;
    Span saved_;
  };

  bool in_library() const;
  /// `here`, or the author's own call that led there while evaluation is inside library.py.
  Span place() const;
  /// Error(Author) at `place()`.
  [[noreturn]] void fail(std::string message, std::string hint = {}) const;

 private:
  /// A span outside library.py, and how many calls of the stack lead to it.
  struct Place {
    Span span;
    size_t depth;
  };
  Place authors_place() const;
};

}  // namespace ingot::frontend
