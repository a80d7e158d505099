#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "frontend/frontend.h"
#include "runtime/call/bound_call.h"
#include "runtime/call/host_run.h"
#include "runtime/call/refusals.h"

namespace ingot::runtime {

namespace {

std::string render(const Program& program, const std::string& location, const std::string& message) {
  return fmt::format("error: {}\n{}", message, location.empty() ? fmt::format("in `{}`", program.name) : location);
}

[[noreturn]] void throw_at(const Program& program, const std::string& location, const std::string& message) {
  throw Error(Fault::Author, message, render(program, location, message));
}

}  // namespace

bool is_affordable(const Program& program, const CallKey& key) {
  const auto may_be_unaffordable = [](const Program::Check& check) {
    return check.condition.kind == ir::Condition::Kind::Affordable ||
           check.condition.kind == ir::Condition::Kind::GradientsExist;
  };
  if (std::ranges::none_of(program.checks, may_be_unaffordable)) return true;
  std::vector<ir::HostValue> host_values(program.host.count());
  std::string failure;
  const size_t computed_count = run_host(program.host, key, host_values, failure);
  return std::ranges::all_of(program.checks, [&](const Program::Check& check) {
    const uint32_t operand = check.condition.a.index;
    const bool is_unknown =
        operand >= computed_count;  // the host arithmetic fails before it, and `resolve` reports that
    return !may_be_unaffordable(check) || is_unknown || ir::holds(check.condition.kind, host_values[operand], {});
  });
}

void throw_check(const Program& program, const Program::Check& check, ir::HostValue a, ir::HostValue b) {
  const std::string message = ir::message_of(check.condition, a, b);
  // The eager fallback may support the call.
  if (check.condition.kind == ir::Condition::Kind::Affordable ||
      check.condition.kind == ir::Condition::Kind::GradientsExist)
    throw Unsupported(Fault::Author, message, render(program, check.location, message));
  throw_at(program, check.location, message);
}

void throw_no_view(const Program& program, const Program::RequiredView& view) {
  throw_at(program, view.location,
           "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
           "contiguous subspaces): use reshape(...)");
}

void throw_arithmetic(const Program& program, const CallKey& key) {
  std::vector<ir::HostValue> host_values(program.host.count());
  std::string failure;
  const size_t failed_index = run_host(program.host, key, host_values, failure);
  const auto is_failed = [&](const Program::HostLocation& entry) { return entry.id.index == failed_index; };
  const auto entry = std::ranges::find_if(program.host_locations, is_failed);
  if (entry != program.host_locations.end()) throw_at(program, entry->location, failure);
  throw_author(Span{}, fmt::format("{}: {}", program.name, failure),
               "the op computes this number from its arguments' sizes and numbers, as Python would");
}

}  // namespace ingot::runtime
