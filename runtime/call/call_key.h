#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "frontend/frontend.h"
#include "runtime/api/argument.h"

// What a call's arguments are, before anything is made of them. First comes the narrow test: a raw launch is silently
// wrong on negative views, on tensors that carry tangents, under vmap, tracing and modes, so all of
// these are refused. Then the facts are written down twice: as words, exact and cheap to hash, for the look-up that
// every call makes, and as a frontend::Signature for lowering, which a new shape asks for.

namespace ingot::runtime {

/// An argument once its parameter's annotation has had its say.
struct BoundArgument {
  frontend::ArgumentSpec::Kind kind = frontend::ArgumentSpec::Kind::Absent;
  const at::Tensor* tensor = nullptr;  ///< of a Tensor and of a CpuScalar
  ir::HostValue number{};              ///< of a Number and of a CpuScalar
};

/// The parameters (bits, the first 64) of which a key says more than what kind of argument they got. An op learns them
/// from its programs.
struct KeyedParams {
  uint64_t values = 0;   ///< numbers that were asked for, or take part in shapes
  uint64_t written = 0;  ///< tensors that the op mutates: which other arguments lie in their memory matters

  bool covers(const KeyedParams& other) const { return !(other.values & ~values) && !(other.written & ~written); }
};

struct CallKey {
  const frontend::Definition* definition = nullptr;  ///< the op's, for messages
  c10::SmallVector<BoundArgument, 8> arguments;      ///< one for each parameter
  std::span<const at::Tensor> outs;                  ///< what `out=` gave; empty where the results are new
  c10::Device device{c10::DeviceType::CPU};
  /// Where a mode lets factories make their tensors. Whoever knows it says so: to ask a mode takes the GIL.
  std::optional<c10::Device> default_device;
  bool thread_known = false;
  std::optional<ir::DType> autocast;  ///< torch.autocast's own dtype, where it is on for the device
  bool recorded = false;              ///< a tensor requires grad, and grad mode is on
  uint64_t gradients = 0;             ///< of a recorded call: the tensors that require grad, as Signature::gradients
  at::Tensor seed;                    ///< what the call draws random numbers from, once it is known that it does
  /// Two calls with equal words are one launch with other pointers and scalars: dtypes, ranks, sizes, strides,
  /// alignment of the pointers up to 16, default dtype, devices, autocast, which gradients are asked, what is watched,
  /// how that which will be written lies to the other arguments.
  c10::SmallVector<uint64_t, 64> words;
};

/// What the facts are wanted for.
enum class Purpose : uint8_t {
  Call,
  Kernel,  ///< the same, by PyTorch's dispatcher: modes, transforms and tangents have had their turn
  Show,    ///< a stage for `emit`: no data will be touched, so meta tensors and those that require grad will do
};

/// Checks the arguments and writes down the facts. Errors: Error(Author) for wrong number or kind of arguments and for
/// everything beyond the narrow test.
void make_call_key(const frontend::Definition& definition, std::span<const Argument> arguments,
                   std::span<const at::Tensor> outs, const KeyedParams& keyed, Purpose purpose, CallKey& key);

/// A parameter, an `out`, as messages call them: "`x`", "`out[1]`".
std::string parameter_name(const CallKey& key, size_t index);
std::string out_name(std::span<const at::Tensor> outs, size_t index);

frontend::Signature signature_of(const CallKey& key, frontend::Numerics numerics);

/// The sizes and numbers behind the symbols of lowering; borrows `facts`.
frontend::SymbolValues symbol_values_of(const CallKey& key);

/// The dtype of the thread's torch.autocast, where it is on for a device.
std::optional<ir::DType> autocast_of(const frontend::Definition& definition, c10::Device device);

/// "relu_add(x, y, bias: float)".
std::string describe(const frontend::Definition& definition);

/// The number in a 0-dim CPU tensor.
ir::HostValue value_of(const at::Tensor& tensor);

}  // namespace ingot::runtime
