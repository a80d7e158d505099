#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph.h"

// What an expression of the language is worth while an op is lowered. Static Python values are themselves; a number is
// a host expression (a constant, or made of sizes and scalars); a tensor is a node and a shape, or several side by
// side.

namespace ingot::frontend {

class Value;
struct Function;        // a def, a nested def or a lambda with its closure: interpret/interpreter.h
struct Builtin;         // a function on tensors that is written in C++: library/builtins.h
struct PythonFunction;  // one of Python's own: library/builtins.h

using Shape = std::vector<ir::HostId>;
/// How many dims, taken in order, are merged into each dim of something; empty where it is one each.
using Reassociation = std::vector<uint32_t>;

/// A block of a tensor: the values of a node over the index space `shape`, its dims merged into those of the tensor's
/// grid, where it begins at `offsets`.
struct ConcatBlock {
  ir::NodeId node;
  Shape shape;
  Reassociation groups;
  Shape offsets;  ///< one for each dim of the grid
};

struct Storage;  // tensor/memory.h
struct View;
struct History;

/// Which of eager's tensors a value is: how it lies in memory, and what of that memory it shares with others. A copy of
/// a Tensor is the same of eager's tensors; every step in the account of eager's (layouts.h) is another.
struct TensorHandle {
  uint32_t step = 0;                      ///< in Graph::eager_layouts
  std::shared_ptr<Storage> memory;        ///< none inside a native library function
  std::shared_ptr<const View> view;       ///< none: all of the memory
  uint64_t version = 0;                   ///< of the memory, when the tensor's values were read
  std::shared_ptr<History> history = {};  ///< of gradients: that of a detach(), or none, the memory's own

  operator uint32_t() const { return step; }
};

/// A tensor: tiles that cover a grid exactly (nearly always one; cat and stack make more), and the dims of the grid
/// merged into those of the tensor. Merging leaves nodes alone and floats up to the results; it stands in the tile
/// where it can (cat of flattened tensors) and in the tensor where a merge crosses tiles (a flattened stack).
struct Tensor {
  ir::DType dtype = ir::DType::F32;  ///< what PyTorch would say; a node's own may be float32 for a 16-bit float
  std::vector<ConcatBlock> blocks;
  Shape grid;
  Reassociation groups;
  TensorHandle layout = {};
  /// A CPU tensor beside CUDA ones: a CPU scalar, or what was made of CPU scalars and numbers alone.
  bool on_host = false;
  /// The author's last name for it. Its nodes may be those of equal tensors, too, and have the names of all of them.
  std::string name = {};

  size_t rank() const { return groups.empty() ? grid.size() : groups.size(); }
};

struct None {};
struct Ellipsis {};
struct Number {
  ir::HostId id;
};
/// A named tuple's, as torch.return_types has it.
struct TupleType {
  std::string name;
  std::vector<std::string> items;  ///< the names of its items
};
struct Tuple {
  std::shared_ptr<const std::vector<Value>> items;
  std::shared_ptr<const TupleType> type = {};  ///< of a named tuple
};
struct List {
  std::shared_ptr<std::vector<Value>> items;
};  // shared and changed in place, as Python's
/// keys[i] has values[i]; shared and changed in place. Keys differ and are what Python can hash.
struct Dict {
  std::shared_ptr<std::vector<Value>> keys, values;
};
/// dict.keys(), .values() and .items(): as the dict is when it is looked at.
struct DictView {
  enum class Part : uint8_t { Keys, Values, Items } part;
  Dict of;
};
struct Slice {
  std::shared_ptr<const std::array<Value, 3>> bounds;
};  // start, stop, step
struct Range {
  int64_t start, stop, step;
};
/// name_ of a function `name` of tensors: what that gives is written where its first argument lies, which is what a
/// call is worth.
struct InPlace {
  std::shared_ptr<const Value> function;
};
/// A method together with its tensor, list or dict: f is a Builtin, a library Function, one of these in place, or the
/// name of a list's or a dict's method.
struct BoundMethod {
  std::shared_ptr<const Value> function, self;
};
/// torch.contiguous_format and the like.
enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
/// torch, torch.nn.functional, math, …
enum class Namespace : uint8_t { Torch, Functional, Special, Linalg, Nn, Math };
/// torch.finfo(dtype) and torch.iinfo(dtype): its attributes are static numbers.
struct NumberLimits {
  ir::DType type;
};

class Value {
 public:
  using Variant = std::variant<None, Ellipsis, Number, std::string, ir::DType, Tuple, List, Dict, DictView, Slice,
                               Range, std::shared_ptr<const Function>, const Builtin*, const PythonFunction*, InPlace,
                               BoundMethod, Namespace, MemoryFormat, NumberLimits, std::shared_ptr<Tensor>>;
  Value() : variant_(None{}) {}
  template <typename T>
    requires std::constructible_from<Variant, T>
  Value(T value) : variant_(std::move(value)) {}
  Value(Tensor tensor);
  static Value tuple(std::vector<Value> items);
  static Value list(std::vector<Value> items);
  static Value dict();  ///< an empty one

  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(variant_);
  }
  template <typename T>
  const T& as() const {
    return std::get<T>(variant_);
  }
  const Variant& variant() const { return variant_; }

  bool is_none() const { return is<None>(); }
  bool is_number() const { return is<Number>(); }
  ir::HostId number() const { return as<Number>().id; }
  bool is_tensor() const { return is<std::shared_ptr<Tensor>>(); }
  /// What a tensor is worth now: after its memory was written, that is read again.
  const Tensor* tensor() const;
  /// The items of a tuple or a list; null for anything else.
  const std::vector<Value>* items() const;

 private:
  Variant variant_;
};

/// What a value is, as messages call it: "a float32 tensor", "a number", "None", "a tuple", …
std::string describe(const Value& value);

}  // namespace ingot::frontend
