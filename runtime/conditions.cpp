#include <fmt/format.h>

#include "base/error.h"
#include "frontend/frontend.h"
#include "runtime/bound_call.h"

namespace ingot::runtime {

void throw_check(const Program& program, const Program::Check& check, ir::HostValue a, ir::HostValue b) {
  const std::string message = ir::message_of(check.condition, a, b);
  std::string rendered = "error: " + message;
  rendered += check.place.empty() ? fmt::format("\nin `{}`", program.name) : "\n" + check.place;
  throw Error(Fault::Author, message, rendered);
}

void throw_arithmetic(const Program& program, const std::string& words) {
  throw_author(Span{}, fmt::format("{}: {}", program.name, words),
               "the op computes this number from its arguments' sizes and numbers, as Python would");
}

}  // namespace ingot::runtime
