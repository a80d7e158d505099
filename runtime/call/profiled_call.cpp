#include "runtime/call/profiled_call.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/ivalue.h>

#include <vector>

namespace ingot::runtime {

namespace {

c10::IValue value_of(const BoundArgument& argument) {
  using Kind = frontend::ArgumentSpec::Kind;
  if (argument.tensor != nullptr) return *argument.tensor;
  if (argument.kind != Kind::Number) return {};
  switch (argument.number.kind) {
    case ir::HostKind::Bool:
      return argument.number.truthy();
    case ir::HostKind::Int:
      return argument.number.as_int();
    case ir::HostKind::Float:
      return argument.number.as_double();
  }
  return {};
}

}  // namespace

void ProfiledCall::begin(at::StepCallbacks callbacks, const CallKey& key) {
  at::RecordFunction& record = record_.emplace(std::move(callbacks));
  const std::string& name = key.definition->name();
  // A profile connects this call with the gradient's node by the sequence number that the autograd node is about to
  // get.
  const int64_t sequence = key.is_recorded ? static_cast<int64_t>(at::sequence_number::peek()) : -1;
  if (!record.needsInputs()) return record.before(name, sequence);
  std::vector<c10::IValue> inputs;
  for (const BoundArgument& argument : key.arguments) inputs.push_back(value_of(argument));
  record.before(name, c10::ArrayRef<const c10::IValue>(inputs.data(), inputs.size()), sequence);
}

}  // namespace ingot::runtime
