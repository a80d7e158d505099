#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/SafePyObject.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <optional>

#include "base/error.h"
#include "frontend/frontend.h"
#include "ir/host/host.h"

// The narrow test of the fast path (DESIGN §4) and what is said to those who fail it. The test is a few loads and
// compares; why it failed is worked out afterwards.

namespace ingot::runtime {

/// What no kernel of ours takes though PyTorch's own functions may: modes, transforms, subclasses, layouts, dtypes. Who
/// knows of another way (the op's text in eager, a registered overload) goes on there.
class Unsupported : public Error {
 public:
  using Error::Error;
};
[[noreturn]] void throw_unsupported(std::string message, std::string hint);

/// The dispatch keys of tensors whose bytes are what they seem. Conjugate, negative, named, sparse, quantized, batched
/// and wrapped tensors, and subclasses that dispatch in Python, have others. Autocast is for the op's functions to say.
inline constexpr c10::DispatchKeySet kPlainKeys({c10::DispatchKey::CPU, c10::DispatchKey::CUDA,
                                                 c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradCUDA,
                                                 c10::DispatchKey::ADInplaceOrView, c10::DispatchKey::AutocastCPU,
                                                 c10::DispatchKey::AutocastCUDA});

/// Keys that a mode or transform puts into the thread's state: under them a call means more than its tensors.
inline constexpr c10::DispatchKeySet kModeKeys(
    {c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot, c10::DispatchKey::PythonDispatcher,
     c10::DispatchKey::PreDispatch, c10::DispatchKey::Fake, c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
     c10::DispatchKey::FuncTorchDynamicLayerBackMode, c10::DispatchKey::VmapMode, c10::DispatchKey::FuncTorchVmapMode,
     c10::DispatchKey::Functionalize, c10::DispatchKey::Tracer});

/// The device of a torch-function mode that does nothing but choose where factories make their tensors
/// (torch.set_default_device, `with torch.device(…)`); nothing for any other mode.
using DeviceOfMode = std::optional<c10::Device> (*)(const c10::SafePyObject& mode);
/// What a mode is, only the Python door knows: it says so here. Until then no mode is such a one.
void set_device_of_mode(DeviceOfMode function);

/// Whether there is no mode, no transform, no tracing in this thread, other than a default device, which is written
/// down.
bool thread_is_supported(std::optional<c10::Device>& default_device);
/// Whether a transform of torch.func (vmap, grad, jvp, …) is active in this thread.
bool is_transformed();
/// Whether torch.autocast is on in this thread for what runs on the device.
bool autocast_is_on(c10::Device device);
bool has_supported_keys(const at::Tensor& tensor);
/// A plain tensor of which no gradient is asked; `grad_mode` is the thread's.
bool is_supported(const at::Tensor& tensor, bool grad_mode);

// These throw Unsupported, but for what PyTorch's functions refuse too.
[[noreturn]] void refuse_thread(const frontend::Definition& definition);
/// `what` names the tensor: "`x`", "`out`".
[[noreturn]] void refuse_tensor(const frontend::Definition& definition, const std::string& what,
                                const at::Tensor& tensor);
[[noreturn]] void refuse_devices(const frontend::Definition& definition, const std::string& first_name,
                                 const at::Tensor& first, const std::string& second_name, const at::Tensor& second);
/// What the schema of a registered op does not say.
[[noreturn]] void refuse_undeclared_write(const frontend::Definition& definition);
/// Random numbers in a registered op without a seed, whose gradient would have to draw them again.
[[noreturn]] void refuse_draws(const frontend::Definition& definition);
[[noreturn]] void refuse_seed(const frontend::Definition& definition, const at::Tensor& seed, c10::Device device);
[[noreturn]] void refuse_count(const frontend::Definition& definition, size_t given);
/// A name that is none of the op's parameters: a keyword of Python's, `name=` of the command line.
[[noreturn]] void refuse_keyword(const frontend::Definition& definition, std::string_view keyword);
[[noreturn]] void refuse_missing(const frontend::Definition& definition, const frontend::Parameter& parameter);
/// A tensor for a parameter that is annotated as a number.
[[noreturn]] void refuse_tensor_for_number(const frontend::Definition& definition, const frontend::Parameter& parameter,
                                           const at::Tensor& tensor);
[[noreturn]] void refuse_number(const frontend::Definition& definition, const frontend::Parameter& parameter,
                                ir::HostValue number);

}  // namespace ingot::runtime
