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

// The front end, as the rest of the house sees it: an op is defined from text (or a C++ function, cpp_api.h), and
// lowered for a signature to a graph.

namespace ingot::frontend {

class Value;       // tensor/value.h
class Evaluation;  // interpret/evaluation.h

enum class Device : uint8_t { Cpu, Cuda };

/// How 16-bit floats round and what may be approximate (DESIGN §3).
enum class Numerics : uint8_t {
  Default,  ///< intermediates of 16-bit floats stay in float32
  Eager,    ///< rounded after each op, as eager PyTorch does
  Fast,     ///< fast-math allowed
};

/// Where functions that make tensors from nothing put them without a `device=` (torch.set_default_device).
enum class FactoryDevice : uint8_t {
  Unset,      ///< where PyTorch does, on the CPU; but of what has dims it is taken that the op's device is meant
  Cpu,        ///< on the CPU, and the op runs on CUDA
  Same,       ///< where the op runs
  Elsewhere,  ///< on a device that the op knows nothing of
};

/// What lowering may know of one argument.
struct ArgumentSpec {
  enum class Kind : uint8_t {
    Tensor,
    CpuScalar,  ///< a 0-dim CPU tensor beside CUDA tensors: a value, that promotes as a 0-dim tensor does
    Number,     ///< a Python number
    None,
    Absent,  ///< left out: the parameter's default
  } kind = Kind::Tensor;
  ir::DType dtype = ir::DType::F32;           ///< of a tensor
  ir::HostKind number = ir::HostKind::Float;  ///< of a Number
  uint8_t rank = 0;
  uint64_t ones = 0;  ///< bit d is set where size(d) is 1
  bool operator==(const ArgumentSpec&) const = default;
};

/// All that the lowered graph may depend on, beside the values that it asks to be static.
struct Signature {
  static constexpr size_t kMostDims = 16;  ///< of a tensor

  Device device = Device::Cpu;
  uint8_t device_index = 0;  ///< which of the CUDA devices
  Numerics numerics = Numerics::Default;
  ir::DType default_dtype = ir::DType::F32;
  FactoryDevice factories = FactoryDevice::Unset;
  std::optional<ir::DType> autocast = {};  ///< torch.autocast's own dtype, where it is on for the device
  std::vector<ArgumentSpec> arguments;     ///< one for each parameter
  /// The parameters (bits, the last one for the 64th and all behind it) of which gradients will be asked. What these
  /// read of the op's reductions are results then, behind those that it returns (ir::Use::Residual).
  uint64_t gradients = 0;
  /// Whether gradients of gathers may be sums that the caller takes (ir::Result::scatters), where a kernel would
  /// compare too many indices with too many places.
  bool scatters = false;
  bool operator==(const Signature&) const = default;

  /// One line that two signatures share only when they are equal, "cuda f32 | x: f32[?, 1] | bias: float".
  std::string text() const;
};

/// The values behind the symbols, asked only for what must be static.
struct SymbolValues : ir::HostInputs {
  /// Of a tensor parameter, asked only where it decides whether an op in place reaches another tensor. None: such an op
  /// is refused.
  std::function<std::vector<int64_t>(uint32_t param)> strides = {};
};

/// A parameter as its author wrote it.
struct Parameter {
  enum class Annotation : uint8_t { None, Float, Int, Bool, Tensor } annotation = Annotation::None;
  std::string name;
  bool has_default = false;
  Span span;
  bool keyword_only = false;
};

/// An op as its author wrote it, whichever door it came through.
class Definition {
 public:
  virtual ~Definition() = default;
  virtual const std::string& name() const = 0;
  virtual std::span<const Parameter> parameters() const = 0;
  /// The author's text, for the header of generated source; a C++ function has none.
  virtual std::string_view text() const = 0;
  /// What tells it apart from every other op of its name, for cache keys; empty where nothing does.
  virtual std::string identity() const { return std::string(text()); }
  /// The text as a syntax tree, for people to read; a C++ function has none.
  virtual std::string tree() const { return {}; }
  /// Whether what the op does in place is done to its arguments.
  virtual bool writes_arguments() const { return true; }
  /// Whether a result that is one of the arguments, element for element, may be that argument.
  virtual bool may_return_arguments() const { return false; }
  /// The gradient that its author wrote, `def f_backward(grad, …)`: it takes the gradients with respect to the results,
  /// then what the op takes, and returns one value a parameter, None where there is no gradient. Null: there is none.
  virtual std::shared_ptr<const Definition> derivative() const { return nullptr; }
  /// Evaluates the op on one value a parameter; an omitted argument is nullopt and takes its default.
  virtual Value evaluate(Evaluation& evaluation, std::span<const std::optional<Value>> arguments) const = 0;
};

/// Reads an op from text: a file of defs (the op is `name`, or the last def that is not the gradient of another,
/// `f_backward` beside `f`) or a bare expression. Module constants
/// travel as assignments of the text; a Source with origins places messages in the files that its parts came from.
/// Errors: Error(Author).
std::shared_ptr<const Definition> define(std::shared_ptr<const Source> source, std::string_view name = {});
inline std::shared_ptr<const Definition> define(std::string text, std::string source_name = "<text>",
                                                std::string_view name = {}) {
  return define(std::make_shared<const Source>(std::move(source_name), std::move(text)), name);
}

/// What a call of an op kept for its gradient.
struct Residuals {
  uint64_t gradients = 0;          ///< its signature's
  std::vector<std::string> names;  ///< of the results that were kept; none: nothing was
  bool operator==(const Residuals&) const = default;
};

/// The op that gives the gradients with respect to the wanted parameters, each a tensor of a floating dtype, in a
/// tuple. Its parameters are those of `forward` and, for each of so many results, the gradient with respect to it: a
/// tensor of its shape, or None where there is none. It writes nothing in place. `autocast` is what the signature of
/// the forward call had; autograd calls for gradients where it is off. With `returns_arguments`, as autograd's own
/// nodes, it may return a gradient that it was given. What is `kept` are its last parameters; it has no gradient then.
std::shared_ptr<const Definition> backward(std::shared_ptr<const Definition> forward, std::vector<bool> wanted,
                                           size_t results, std::optional<ir::DType> autocast = {},
                                           bool returns_arguments = false, Residuals residuals = {});

/// The op that gives what `op` returns and, behind it, the gradients of the first of that with respect to the wanted
/// arguments, tensors of floats each or made up of such. The first is one float; the rest, where `has_aux` says that
/// there is any, has no part in the gradients.
std::shared_ptr<const Definition> value_and_grad(std::shared_ptr<const Definition> op, std::vector<bool> wanted,
                                                 bool has_aux);

/// The graph of an op for a signature. Restarts with static values as evaluation asks for them; past 5,000 nodes, with
/// all sizes static; past 50,000 it is an error. The graph is as the author wrote it: no pass has run.
ir::Graph lower(const Definition& definition, const Signature& signature, const SymbolValues& symbol_values);

struct NameInfo {
  enum class Kind { Primitive, Builtin, Library } kind;
  std::string_view name;
  std::vector<std::string_view> aliases;
  bool is_function = true;   ///< torch.name(x) and name(x)
  bool is_method = true;     ///< x.name()
  std::string_view summary;  ///< one line of what it gives
  std::string signature;     ///< "(input, min=None, max=None)"
  std::string_view source;   ///< the file of PyTorch whose formula it has; empty where its own ops are the formula
};

/// Every name of the language, aliases under the name that they stand for: `ingot ops`.
std::vector<NameInfo> language_names();

}  // namespace ingot::frontend
