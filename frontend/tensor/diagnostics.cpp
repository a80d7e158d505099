#include "frontend/tensor/diagnostics.h"

#include <fmt/format.h>

namespace ingot::frontend {
namespace {

constexpr size_t kMaxNotes = 8;

/// Prefixes a library function's message with the name that authors use, unless the message has it already.
std::string with_function_name(std::string name, const std::string& message) {
  constexpr std::string_view kModule = "_linalg_";
  if (name.starts_with(kModule)) name.replace(0, kModule.size(), "linalg.");
  return message.starts_with(name + ":") || message.starts_with(name + "()") ? message : name + ": " + message;
}

bool is_library_span(const Span& span) { return span && span.source->name().starts_with(kLibraryPrefix); }

}  // namespace

bool Diagnostics::in_library() const { return is_library_span(here); }

Span Diagnostics::location() const { return authors_location().span; }

Diagnostics::Location Diagnostics::authors_location() const {
  Location location{here, call_stack.size()};
  while (location.depth > 0 && (!location.span || is_library_span(location.span))) {
    location.span = call_stack[--location.depth].span;
  }
  return location;
}

void Diagnostics::fail(std::string message, std::string hint) const {
  const Location location = authors_location();
  if (in_library() && location.depth < call_stack.size()) {
    message = with_function_name(std::string(call_stack[location.depth].callee), message);
  }
  Diagnostic diagnostic{.message = std::move(message), .span = location.span, .hint = std::move(hint), .notes = {}};
  for (size_t calls = location.depth; calls > 0 && diagnostic.notes.size() < kMaxNotes; --calls) {
    const CallSite& site = call_stack[calls - 1];
    diagnostic.notes.push_back({fmt::format("in `{}`, called here", site.callee), site.span});
  }
  throw_author(std::move(diagnostic));
}

}  // namespace ingot::frontend
