#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "frontend/frontend.h"
#include "runtime/api/argument.h"

// The key of a call, computed from its arguments. First comes the fast-path check: a raw launch would give wrong
// results for negative views, for tensors with tangents, and under vmap, tracing and modes, so the check rejects all of
// these. The properties of the arguments are then stored twice: as 64-bit words, exact and cheap to hash, for the
// look-up of every call, and as a frontend::Signature for lowering, which a new shape needs.

namespace ingot::runtime {

/// An argument after conversion by its parameter's annotation.
struct BoundArgument {
  frontend::ArgumentSpec::Kind kind = frontend::ArgumentSpec::Kind::Absent;
  const at::Tensor* tensor = nullptr;  ///< if `kind` is Tensor or CpuScalar
  ir::HostValue number{};              ///< if `kind` is Number or CpuScalar
};

/// The parameters (bits, the first 64) for which a key also holds a number's value, or a tensor's overlap with other
/// tensors. An op learns them from its programs.
struct KeyedParams {
  uint64_t values = 0;   ///< numbers that lowering requests, or from which shapes, offsets or strides are computed
  uint64_t written = 0;  ///< tensors that the op mutates: their overlap with other arguments matters

  bool covers(const KeyedParams& other) const { return !(other.values & ~values) && !(other.written & ~written); }
};

struct CallKey {
  const frontend::Definition* definition = nullptr;  ///< the op's, for messages
  c10::SmallVector<BoundArgument, 8> arguments;      ///< one for each parameter
  std::span<const at::Tensor> outs;                  ///< the tensors of `out=`; empty if the results are new
  c10::Device device{c10::DeviceType::CPU};
  /// The device on which a mode makes factories create their tensors. The caller passes it in if it is known, because
  /// reading a mode takes the GIL.
  std::optional<c10::Device> default_device;
  bool is_thread_checked = false;     ///< the state of the thread was checked, or need not be
  std::optional<ir::DType> autocast;  ///< torch.autocast's dtype, if autocast is on for the device
  bool is_recorded = false;           ///< by autograd: a tensor requires grad, and grad mode is on
  uint64_t gradients = 0;  ///< of a recorded call: the tensors that require grad; bits as in Signature::gradients
  at::Tensor seed;         ///< the seed of the random numbers, once the call is known to sample random numbers
  /// Two calls with equal words run the same launches, with other pointers and scalars. The words hold dtypes, ranks,
  /// sizes, strides, alignment of the pointers up to 16, default dtype, devices, autocast, the requested gradients, the
  /// values of keyed parameters, and the overlaps of written tensors with other arguments.
  c10::SmallVector<uint64_t, 64> words;
};

/// The purpose of a key, which decides the checks.
enum class Purpose : uint8_t {
  Call,             ///< a call that must first be checked for modes, transforms and tangents
  BelowDispatcher,  ///< a call from PyTorch's dispatcher, which has already applied modes, transforms and tangents
  Show,  ///< a stage for `emit`: no data is touched, so meta tensors and tensors that require grad are allowed
};

/// Checks the arguments and computes the key. Errors: Error(Author) for a wrong number or kind of arguments and for
/// everything that the fast path does not support.
void make_call_key(const frontend::Definition& definition, std::span<const Argument> arguments,
                   std::span<const at::Tensor> outs, const KeyedParams& keyed, Purpose purpose, CallKey& key);

/// The name of a parameter, or of an `out`, in messages: "`x`", "`out[1]`".
std::string parameter_name(const CallKey& key, size_t index);
std::string out_name(std::span<const at::Tensor> outs, size_t index);

frontend::Signature signature_of(const CallKey& key, frontend::Numerics numerics);

/// The values of lowering's symbols, sizes and numbers; borrows `key`.
frontend::SymbolValues symbol_values_of(const CallKey& key);

/// The dtype of the thread's torch.autocast, if autocast is on for the device. Throws Unsupported for other dtypes
/// than Ingot's.
std::optional<ir::DType> autocast_of(const frontend::Definition& definition, c10::Device device);

/// "relu_add(x, y, bias: float)".
std::string describe(const frontend::Definition& definition);

/// The number in a 0-dim CPU tensor.
ir::HostValue value_of(const at::Tensor& tensor);

}  // namespace ingot::runtime
