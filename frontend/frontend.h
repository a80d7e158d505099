#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"
#include "ir/graph.h"
#include "ir/host/host.h"
#include "ir/types/dtype.h"

// The public interface of the front end: defines an op from its source (or from a C++ function, cpp_api.h) and lowers
// it to a graph for a signature.

namespace ingot::frontend {

class Value;       // tensor/value.h
class Evaluation;  // interpret/evaluation.h

enum class Device : uint8_t { Cpu, Cuda };

/// How 16-bit floats round, and which approximations are allowed.
enum class Numerics : uint8_t {
  Default,  ///< intermediates of 16-bit floats stay in float32
  Eager,    ///< rounded after each op, as eager PyTorch does
  Fast,     ///< fast-math allowed
};

/// The device of functions that create tensors (zeros, arange, …) without a `device=` (torch.set_default_device).
enum class FactoryDevice : uint8_t {
  Unset,      ///< no default device: 0-dim tensors are CPU scalars, others are assumed to be on the op's device
  Cpu,        ///< the CPU, while the op runs on CUDA
  Same,       ///< the op's device
  Elsewhere,  ///< a device unknown to the op: creating such a tensor is an error
};

/// Describes one argument, as far as lowering may know it.
struct ArgumentSpec {
  enum class Kind : uint8_t {
    Tensor,
    CpuScalar,  ///< a 0-dim CPU tensor in an op on CUDA: a value that promotes as a 0-dim tensor does
    Number,     ///< a Python number
    None,
    Absent,  ///< omitted: the parameter's default applies
  } kind = Kind::Tensor;
  ir::DType dtype = ir::DType::F32;           ///< of a Tensor or a CpuScalar
  ir::HostKind number = ir::HostKind::Float;  ///< of a Number
  uint8_t rank = 0;                           ///< of a Tensor
  uint64_t ones = 0;                          ///< of a Tensor: bit d is set if size(d) is 1
  bool operator==(const ArgumentSpec&) const = default;
};

/// Everything that the lowered graph may depend on, apart from the values that lowering specialises.
struct Signature {
  static constexpr size_t kMaxDims = 16;  ///< the maximum rank of a tensor

  Device device = Device::Cpu;
  uint8_t device_index = 0;  ///< the index of the CUDA device
  Numerics numerics = Numerics::Default;
  ir::DType default_dtype = ir::DType::F32;
  FactoryDevice factories = FactoryDevice::Unset;
  std::optional<ir::DType> autocast = {};  ///< torch.autocast's dtype, if it is enabled for the device
  std::vector<ArgumentSpec> arguments;     ///< one per parameter
  /// The parameters with respect to which gradients will be requested, one bit each; the last bit represents the 64th
  /// parameter and all later ones. The residuals that these gradients read become additional results, after those that
  /// the op returns (ir::Use::Residual).
  uint64_t gradients = 0;
  /// Whether the caller may have to compute gradients of gathers itself, as sums of scattered values
  /// (ir::Result::scatters). The caller sets this flag if a kernel would compare too many indices with too many
  /// positions.
  bool may_scatter = false;
  bool operator==(const Signature&) const = default;

  /// One line that is the same for two signatures only if they are equal: "cuda f32 | f32[?, 1] | float".
  std::string text() const;
};

/// The values of symbols (sizes and numbers). Lowering reads only those that must be static.
struct SymbolValues : ir::HostInputs {
  /// The strides of a tensor parameter. Lowering requests them only if they decide whether an in-place op reaches
  /// another tensor. If the function is empty, such an op is an error.
  std::function<std::vector<int64_t>(uint32_t param)> strides = {};
};

/// A parameter as its author declared it.
struct Parameter {
  enum class Annotation : uint8_t { None, Float, Int, Bool, Tensor } annotation = Annotation::None;
  std::string name;
  bool has_default = false;
  Span span;
  bool is_keyword_only = false;
};

/// An op as its author wrote it, in Python or in C++.
class Definition {
 public:
  virtual ~Definition() = default;
  virtual const std::string& name() const = 0;
  virtual std::span<const Parameter> parameters() const = 0;
  /// The op's source, for the header of generated code; empty for a C++ function.
  virtual std::string_view source_text() const = 0;
  /// Distinguishes the op from every other op of its name in cache keys; empty if the op cannot be distinguished.
  virtual std::string identity() const { return std::string(source_text()); }
  /// The source as a readable syntax tree; empty for a C++ function.
  virtual std::string tree() const { return {}; }
  /// Whether in-place ops on the op's parameters modify the caller's arguments.
  virtual bool writes_arguments() const { return true; }
  /// Whether a result that equals an argument, element for element, may be that argument itself.
  virtual bool may_return_arguments() const { return false; }
  /// The custom backward that the author wrote, `def f_backward(grad, …)`; null if there is none. The custom backward
  /// takes the gradients with respect to the results, then the op's own arguments. It returns one gradient per
  /// parameter; None for no gradient.
  virtual std::shared_ptr<const Definition> derivative() const { return nullptr; }
  /// Evaluates the op on one value per parameter; an omitted argument is nullopt and takes its default.
  virtual Value evaluate(Evaluation& evaluation, std::span<const std::optional<Value>> arguments) const = 0;
};

/// Parses an op from its source: a file of defs, or a bare expression. In a file, the op is the def called `name`.
/// Without a `name`, it is the last def that is not the custom backward of another def (`f_backward` of `f`). Module
/// constants are part of the source, as assignments. A Source with origins maps messages to the files that its parts
/// came from.
/// Errors: Error(Author).
std::shared_ptr<const Definition> define(std::shared_ptr<const Source> source, std::string_view name = {});
inline std::shared_ptr<const Definition> define(std::string text, std::string source_name = "<text>",
                                                std::string_view name = {}) {
  return define(std::make_shared<const Source>(std::move(source_name), std::move(text)), name);
}

/// The residuals that a recorded call of an op saved for its gradient.
struct Residuals {
  uint64_t gradients = 0;          ///< Signature::gradients of the recorded call
  std::vector<std::string> names;  ///< the names of the residuals; empty if nothing was saved
  bool operator==(const Residuals&) const = default;
};

/// Returns the op that computes the gradients with respect to the parameters marked in `is_requested`, as a tuple of
/// floating-point tensors. Its parameters are those of `forward`, then one gradient for each of the `result_count`
/// results of `forward`: a tensor of the result's shape, or None. The returned op writes nothing in place. `autocast`
/// is that of the forward call's signature; the returned op evaluates `forward` with it, although autograd computes
/// gradients with autocast off. With `returns_arguments`, the returned op may return an incoming gradient itself, as
/// autograd's own nodes do. The `residuals` are its last parameters; an op with residuals has no gradient itself.
std::shared_ptr<const Definition> backward(std::shared_ptr<const Definition> forward, std::vector<bool> is_requested,
                                           size_t result_count, std::optional<ir::DType> autocast = {},
                                           bool returns_arguments = false, Residuals residuals = {});

/// Returns the op that computes the results of `op`, followed by the gradients of the first result with respect to the
/// arguments marked in `is_requested`. Each of these arguments is a tensor of floats, or a list, tuple or dict of such
/// tensors. The first result is one float. With `has_aux` there are more results, which have no influence on the
/// gradients.
std::shared_ptr<const Definition> value_and_grad(std::shared_ptr<const Definition> op, std::vector<bool> is_requested,
                                                 bool has_aux);

/// Lowers an op to a graph for a signature. Restarts with static values when evaluation requests them. Above 5,000
/// nodes all sizes become static; above 50,000 lowering fails. No optimisation pass has run on the graph.
ir::Graph lower(const Definition& definition, const Signature& signature, const SymbolValues& symbol_values);

/// A supported function. A Primitive is an op of ir/ops.def, a Builtin is written in C++, and a Library function is
/// written in the language.
struct NameInfo {
  enum class Kind { Primitive, Builtin, Library } kind;
  std::string_view name;
  std::vector<std::string_view> aliases;
  bool is_function = true;    ///< torch.name(x) and name(x)
  bool is_method = true;      ///< x.name()
  std::string_view summary;   ///< one line that describes the result
  std::string signature;      ///< "(input, min=None, max=None)"
  std::string_view source;    ///< the file of PyTorch whose formula the function follows; empty if there is none
  bool is_composite = false;  ///< whether a call is a sequence of calls of other functions
};

/// Lists every supported function, with its aliases under its main name: `ingot ops`.
std::vector<NameInfo> language_names();

}  // namespace ingot::frontend
