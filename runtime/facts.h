#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <span>
#include <string>

#include "frontend/tensor/lowering.h"
#include "runtime/argument.h"

// What a call's arguments are, before anything is made of them. First comes the narrow test: a raw launch is silently
// wrong on negative views, on tensors that require grad or carry tangents, under vmap, tracing and modes, so all of
// these are refused. Then the facts are written down twice: as words, exact and cheap to hash, for the look-up that
// every call makes, and as a frontend::Signature for lowering, which a new shape asks for.

namespace ingot::runtime {

/// An argument once its parameter's annotation has had its say.
struct Actual {
  frontend::ArgumentFact::Kind kind = frontend::ArgumentFact::Kind::None;
  const at::Tensor* tensor = nullptr;  ///< of a Tensor and of a CpuScalar
  ir::HostValue number{};              ///< of a Number and of a CpuScalar
};

struct Facts {
  c10::SmallVector<Actual, 8> actuals;  ///< one for each parameter
  std::span<const at::Tensor> outs;     ///< what `out=` gave; empty where the results are new
  c10::Device device{c10::DeviceType::CPU};
  /// Two calls with equal words are one launch with other pointers and scalars: dtypes, ranks, sizes, strides,
  /// alignment of the pointers up to 16, default dtype, device, which of `outs` are which of the inputs.
  c10::SmallVector<uint64_t, 64> words;
};

/// What the facts are wanted for.
enum class Purpose : uint8_t {
  Call,
  Show,  ///< a stage for `emit`: no data will be touched, so meta tensors and those that require grad will do
};

/// Checks the arguments and writes down the facts. `value_mask`: parameters (up to 64) whose numbers belong to the key.
/// Errors: Error(Author) for wrong number or kind of arguments and for everything beyond the narrow test.
void gather(const frontend::Definition& definition, std::span<const Argument> arguments,
            std::span<const at::Tensor> outs, uint64_t value_mask, Purpose purpose, Facts& facts);

frontend::Signature signature_of(const Facts& facts, frontend::Numerics numerics);

/// The sizes and numbers behind the symbols of lowering; borrows `facts`.
frontend::Actuals actuals_of(const Facts& facts);

/// "relu_add(x, y, bias: float)".
std::string describe(const frontend::Definition& definition);

/// The number in a 0-dim CPU tensor.
ir::HostValue value_of(const at::Tensor& tensor);

}  // namespace ingot::runtime
