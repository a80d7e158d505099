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

Span Diagnostics::place() const { return authors_place().span; }

Diagnostics::Place Diagnostics::authors_place() const {
  Place place{here, call_stack.size()};
  while (place.depth > 0 && (!place.span || is_library_span(place.span))) {
    place.span = call_stack[--place.depth].span;
  }
  return place;
}

void Diagnostics::fail(std::string message, std::string hint) const {
  const Place place = authors_place();
  if (in_library() && place.depth < call_stack.size()) {
    message = with_function_name(std::string(call_stack[place.depth].callee), message);
  }
  Diagnostic diagnostic{.message = std::move(message), .span = place.span, .hint = std::move(hint), .notes = {}};
  for (size_t calls = place.depth; calls > 0 && diagnostic.notes.size() < kMaxNotes; --calls) {
    const CallSite& site = call_stack[calls - 1];
    diagnostic.notes.push_back({fmt::format("in `{}`, called here", site.callee), site.span});
  }
  throw_author(std::move(diagnostic));
}

}  // namespace ingot::frontend
