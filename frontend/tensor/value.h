#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph.h"

// The value of an expression while an op is lowered. Static Python values represent themselves. A number is a host
// expression (a constant, or computed from sizes and scalars). A tensor is a node and a shape, or several concatenated
// blocks.

namespace ingot::frontend {

class Value;
struct Function;        // a def, a nested def or a lambda with its closure: interpret/interpreter.h
struct Builtin;         // a function on tensors that is written in C++: library/builtins.h
struct PythonFunction;  // a builtin of Python: library/builtins.h

using Shape = std::vector<ir::HostId>;
/// For each merged dim, the number of consecutive dims that it merges; empty if each merges one. {2, 1} merges dims of
/// sizes 3, 4 and 5 into 12 and 5.
using Reassociation = std::vector<uint32_t>;

/// A block of a tensor: the values of a node over the index space `shape`. The *grid* of a tensor is the index space
/// that all its blocks together cover. `groups` merges the block's dims into those of the grid.
struct ConcatBlock {
  ir::NodeId node;
  Shape shape;           ///< the block's own dims
  Reassociation groups;  ///< one per dim of the grid
  Shape offsets;         ///< the position of the block's first element in the grid: one per dim of the grid
};

struct Storage;  // tensor/storage.h
struct View;
struct History;

/// Identifies a tensor of eager PyTorch: its strides, its storage, and the part of the storage that it covers. A copy
/// of a Tensor represents the same tensor in eager; every layout step (layouts.h) represents a different one.
struct TensorHandle {
  uint32_t step = 0;                 ///< the index of the tensor's layout step in Graph::eager_layouts
  std::shared_ptr<Storage> storage;  ///< null inside a native library function
  std::shared_ptr<const View> view;  ///< the part of the storage; null: the whole storage
  uint64_t version = 0;              ///< of the storage, when the tensor's values were read
  /// Which gradients the tensor has: for x.detach() and its views, those of this history; null for those of the
  /// storage's contents.
  std::shared_ptr<History> history = {};

  operator uint32_t() const { return step; }
};

/// A tensor: blocks that cover a grid exactly (nearly always one block; cat and stack make more). `groups` merges the
/// dims of the grid into those of the tensor. Merged dims change no node; only the stores of the results use them.
/// A merge is recorded in ConcatBlock::groups (cat of flattened tensors), unless the tensor is divided into blocks
/// along an inner one of the merged dims (a stack along the last dim, flattened). Then it is recorded in
/// Tensor::groups.
struct Tensor {
  ir::DType dtype = ir::DType::F32;  ///< PyTorch's dtype; that of a node may be float32 for a 16-bit float
  std::vector<ConcatBlock> blocks;
  Shape grid;            ///< the sizes of the grid
  Reassociation groups;  ///< one per dim of the tensor
  TensorHandle handle = {};
  /// A CPU tensor in an op on CUDA: a CPU scalar, or a tensor computed from CPU scalars and numbers alone.
  bool on_host = false;
  /// The author's last name for the tensor. Equal tensors may share nodes, which then have the names of all of them.
  std::string name = {};

  size_t rank() const { return groups.empty() ? grid.size() : groups.size(); }
};

struct None {};
struct Ellipsis {};
struct Number {
  ir::HostId id;
};
/// The type of a named tuple, as in torch.return_types.
struct TupleType {
  std::string name;
  std::vector<std::string> items;  ///< the names of its items
};
struct Tuple {
  std::shared_ptr<const std::vector<Value>> items;
  std::shared_ptr<const TupleType> type = {};  ///< null unless it is a named tuple
};
struct List {
  std::shared_ptr<std::vector<Value>> items;
};  // shared and mutable, as in Python
/// keys[i] maps to values[i]; shared and mutable. Keys are distinct and hashable in Python.
struct Dict {
  std::shared_ptr<std::vector<Value>> keys, values;
};
/// dict.keys(), .values() and .items(): a live view of the dict.
struct DictView {
  enum class Part : uint8_t { Keys, Values, Items } part;
  Dict dict;
};
struct Slice {
  std::shared_ptr<const std::array<Value, 3>> bounds;
};  // start, stop, step
struct Range {
  int64_t start, stop, step;
};
/// The in-place variant `name_` of a tensor function `name`: writes the function's result to its first argument, which
/// is the value of the call.
struct InPlace {
  std::shared_ptr<const Value> function;
};
/// A method bound to its tensor, list or dict. `function` is a Builtin, a library Function, the in-place variant of
/// one, or the name of a method of a list or a dict.
struct BoundMethod {
  std::shared_ptr<const Value> function, self;
};
/// torch.contiguous_format and similar constants.
enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };
/// torch, torch.nn.functional, math, …
enum class Namespace : uint8_t { Torch, Functional, Special, Linalg, Nn, Math };
/// torch.finfo(dtype) and torch.iinfo(dtype), with static numbers as attributes.
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
  static Value dict();  ///< an empty dict

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
  /// The tensor, read again if its storage has been written since; null for anything else.
  const Tensor* tensor() const;
  /// The items of a tuple or a list; null for anything else.
  const std::vector<Value>* items() const;

 private:
  Variant variant_;
};

/// The kind of a value for messages: "a float32 tensor", "a number", "None", "a tuple", …
std::string describe(const Value& value);

}  // namespace ingot::frontend
