#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SafePyObject.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <optional>

#include "base/error.h"
#include "frontend/frontend.h"
#include "ir/host/host.h"

// The fast-path check and the errors for calls that fail it. The check is a few loads and compares; the reason for a
// failure is computed afterwards.

namespace ingot::runtime {

/// An argument or state that no kernel supports though PyTorch's own functions may: modes, transforms, subclasses,
/// layouts, dtypes. A caller with an alternative (the eager fallback, a registered overload) uses the alternative.
class Unsupported : public Error {
 public:
  using Error::Error;
};
[[noreturn]] void throw_unsupported(std::string message, std::string hint);

/// The dispatch keys of tensors whose bytes are their values. Conjugate, negative, named, sparse, quantized, batched
/// and wrapped tensors, and subclasses that dispatch in Python, have other keys. Autocast keys are supported, because
/// lowering applies autocast (frontend/interpret/autocast.h).
inline constexpr c10::DispatchKeySet kSupportedKeys({c10::DispatchKey::CPU, c10::DispatchKey::CUDA,
                                                     c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradCUDA,
                                                     c10::DispatchKey::ADInplaceOrView, c10::DispatchKey::AutocastCPU,
                                                     c10::DispatchKey::AutocastCUDA});

/// Keys that a mode or transform adds to the thread's state: under them a call depends on more than its tensors.
inline constexpr c10::DispatchKeySet kModeKeys(
    {c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot, c10::DispatchKey::PythonDispatcher,
     c10::DispatchKey::PreDispatch, c10::DispatchKey::Fake, c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
     c10::DispatchKey::FuncTorchDynamicLayerBackMode, c10::DispatchKey::VmapMode, c10::DispatchKey::FuncTorchVmapMode,
     c10::DispatchKey::Functionalize, c10::DispatchKey::Tracer});

/// Returns the device of a torch-function mode that only chooses the device on which factories create their tensors
/// (torch.set_default_device, `with torch.device(…)`); empty for any other mode.
using DeviceOfMode = std::optional<c10::Device> (*)(const c10::SafePyObject& mode);
/// Sets the function that inspects modes. Only the Python module can do that; until it sets one, no mode counts as a
/// device mode.
void set_device_of_mode(DeviceOfMode function);

/// Whether this thread has no mode, transform or tracing, other than a default device, which is stored in
/// `default_device`.
bool thread_is_supported(std::optional<c10::Device>& default_device);
/// Whether a transform of torch.func (vmap, grad, jvp, …) is active in this thread.
bool is_transformed();
/// Whether torch.autocast is on in this thread for the device.
bool autocast_is_on(c10::Device device);
bool has_supported_keys(const at::Tensor& tensor);
/// Whether the tensor is a plain one without a tangent, whose gradient is not requested. `grad_mode` is the thread's.
bool is_supported(const at::Tensor& tensor, bool grad_mode);

// refuse_thread throws Unsupported. So does refuse_tensor, unless the tensor is undefined, or is an `out` that requires
// grad. The other functions throw Error(Author).
[[noreturn]] void refuse_thread(const frontend::Definition& definition);
/// `name`: of the tensor, "`x`" or "`out`".
[[noreturn]] void refuse_tensor(const frontend::Definition& definition, const std::string& name,
                                const at::Tensor& tensor);
[[noreturn]] void refuse_devices(const frontend::Definition& definition, const std::string& first_name,
                                 const at::Tensor& first, const std::string& second_name, const at::Tensor& second);
/// The op writes a parameter that its schema does not mark.
[[noreturn]] void refuse_undeclared_write(const frontend::Definition& definition);
/// A registered op without a seed samples random numbers; its gradient could not sample the same.
[[noreturn]] void refuse_random_numbers(const frontend::Definition& definition);
/// The seed is on another device than the op.
[[noreturn]] void refuse_seed(const frontend::Definition& definition, const at::Tensor& seed, c10::Device device);
[[noreturn]] void refuse_count(const frontend::Definition& definition, size_t argument_count);
/// A name that is not a parameter of the op: a keyword in Python, `name=` on the command line.
[[noreturn]] void refuse_keyword(const frontend::Definition& definition, std::string_view keyword);
[[noreturn]] void refuse_missing(const frontend::Definition& definition, const frontend::Parameter& parameter);
/// A tensor for a parameter annotated as a number.
[[noreturn]] void refuse_tensor_for_number(const frontend::Definition& definition, const frontend::Parameter& parameter,
                                           const at::Tensor& tensor);
[[noreturn]] void refuse_number(const frontend::Definition& definition, const frontend::Parameter& parameter,
                                ir::HostValue number);

}  // namespace ingot::runtime
