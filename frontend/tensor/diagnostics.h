#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/source.h"

namespace ingot::frontend {

/// The prefix of the names of the library's Sources. Errors inside them are shown at the author's own call.
inline constexpr std::string_view kLibraryPrefix = "<library>/";

/// The current location of evaluation, and how evaluation fails. Errors are of kind Author, located in the op's source,
/// with a note for every enclosing call.
class Diagnostics {
 public:
  /// The expression or statement that is being evaluated.
  Span here;

  struct CallSite {
    std::string_view callee;
    Span span;
  };
  std::vector<CallSite> call_stack;

  /// Sets `here` for its lifetime.
  class LocationGuard {
   public:
    LocationGuard(Diagnostics& diagnostics, Span span) : diagnostics_(diagnostics), saved_(diagnostics.here) {
      diagnostics_.here = span;
    }
    ~LocationGuard() { diagnostics_.here = saved_; }
    LocationGuard(const LocationGuard&) = delete;
    LocationGuard& operator=(const LocationGuard&) = delete;

   private:
    Diagnostics& diagnostics_;
    Span saved_;
  };

  bool in_library() const;
  /// `here`, or the author's own call that led into the library.
  Span location() const;
  /// Throws Error(Author) at `location()`.
  [[noreturn]] void fail(std::string message, std::string hint = {}) const;

 private:
  /// A span outside the library, and how many calls of the stack lead to it.
  struct Location {
    Span span;
    size_t depth;
  };
  Location authors_location() const;
};

}  // namespace ingot::frontend
