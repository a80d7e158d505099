#include "runtime/call/profiled_call.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/ivalue.h>

#include <vector>

namespace ingot::runtime {

namespace {

c10::IValue value_of(const Actual& actual) {
  using Kind = frontend::ArgumentFact::Kind;
  if (actual.tensor != nullptr) return *actual.tensor;
  if (actual.kind != Kind::Number) return {};
  switch (actual.number.kind) {
    case ir::HostKind::Bool:
      return actual.number.truthy();
    case ir::HostKind::Int:
      return actual.number.as_int();
    case ir::HostKind::Float:
      return actual.number.as_double();
  }
  return {};
}

}  // namespace

void ProfiledCall::begin(at::StepCallbacks callbacks, const Facts& facts) {
  at::RecordFunction& record = record_.emplace(std::move(callbacks));
  const std::string& name = facts.definition->name();
  // The number that the node of the gradient is about to get is how a profile leads from one to the other.
  const int64_t sequence = facts.recorded ? static_cast<int64_t>(at::sequence_number::peek()) : -1;
  if (!record.needsInputs()) return record.before(name, sequence);
  std::vector<c10::IValue> inputs;
  for (const Actual& actual : facts.actuals) inputs.push_back(value_of(actual));
  record.before(name, c10::ArrayRef<const c10::IValue>(inputs.data(), inputs.size()), sequence);
}

}  // namespace ingot::runtime
