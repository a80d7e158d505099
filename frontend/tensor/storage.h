#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/tensor/builder.h"

// The account of eager's memory, beside that of its strides (layouts.h): which tensors share elements, so that an op in
// place reaches all of them. Nodes are never changed. What is written is the contents of a memory, as a new tensor made
// of the old one and of what is written; every tensor that lies there reads its values again when they are next asked
// for. Inside a native library function there is no such account.

namespace ingot::frontend {

/// How a tensor reads another one, of which it is a view.
struct View {
  enum class Kind : uint8_t { Permute, Unsqueeze, Select, Slice, Expand, Reshape, Bitcast } kind;
  size_t dim = 0;                       ///< Unsqueeze, Select, Slice
  ir::HostId start = {}, length = {};   ///< Select (its index), Slice
  int64_t step = 1;                     ///< Slice
  std::vector<size_t> order = {};       ///< Permute
  Shape shape = {};                     ///< Expand, Reshape
  ir::DType dtype = ir::DType::F32;     ///< Bitcast
  uint32_t depth = 1;                   ///< how many views it is made of
  bool is_of_several = false;           ///< it, or a view that it is of, is one of those that split or unbind returned
  std::shared_ptr<const View> of = {};  ///< the view that is viewed; none: all of the memory
};

/// The contents of a memory as one x.detach() and its views see them: the same values, with gradients only to what
/// these tensors wrote.
struct History {
  std::shared_ptr<const Tensor> contents;  ///< none: nothing was written through it yet, and no gradient flows
};

/// What eager allocates for a tensor that is no view.
struct Storage {
  explicit Storage(const Builder& maker) : builder(maker) {}

  Builder builder;                                    ///< reads again where there is none at hand
  std::optional<uint32_t> param = {};                 ///< whose memory it is
  std::shared_ptr<const Tensor> contents;             ///< none while nothing lies there
  std::vector<std::weak_ptr<History>> detached = {};  ///< those of its detach()es; some may be gone
  uint64_t version = 0;                               ///< how often it was written
  /// Keeps the values in the shape of the last write, if that went through a reshape. Each write would otherwise
  /// reshape them to the memory's shape and back, and so split them into more tiles.
  struct Reshaped {
    std::shared_ptr<const Tensor> seen;
    std::shared_ptr<const View> view;
    std::shared_ptr<History> history;
    uint64_t version = 0;  ///< valid while it is the memory's
  };
  Reshaped reshaped = {};
  /// Memory that may be this one, as the strides of a call will have it, and this one itself. None: no other may.
  std::shared_ptr<std::vector<std::weak_ptr<Storage>>> candidates = {};
  /// The number of the question whether it is the memory of another, in which the tensor of a layout step lies.
  struct Question {
    uint32_t number, step;
  };
  std::optional<Question> question = {};
  /// Whether memory that may be this one was written: then nobody knows what is here.
  bool may_alias_written = false;
  /// Whether a tensor lies here of which several elements may be one: windows that overlap, what was expanded.
  bool overlaps_itself = false;
};

/// Of a tensor in memory of its own.
TensorHandle new_memory(const Builder& builder, uint32_t step);
/// Of a parameter.
TensorHandle parameter_memory(const Builder& builder, uint32_t step, uint32_t param);
/// Of a tensor that is a view of `other` or a copy, which its strides will say.
TensorHandle unclear_memory(const Builder& builder, uint32_t step, const TensorHandle& other);
/// Of a view of `x` or of a copy, as its strides will say: which of the two is asked for once something is written.
TensorHandle shared_or_new_memory(Builder& builder, const Tensor& x, uint32_t step, Shape shape);
/// Whether several elements of a tensor may lie in one place.
bool overlaps_itself(const TensorHandle& handle);
/// Of a view of `x`.
TensorHandle view_memory(const Tensor& x, uint32_t step, View view);
/// The placement of x.detach(): the same elements, a new history of gradients.
TensorHandle detached_memory(const Tensor& x);
/// A view as one of several that a function returned: while autograd records the call, eager refuses to write it, and
/// to read it after another tensor of its memory was written.
Tensor one_of_several(Tensor tensor);

using Views = std::vector<const View*>;
/// The views that lead from a memory to a tensor in it.
Views views_of(const TensorHandle& handle);
/// The contents of a placement's memory with the gradients of its history, seen through views.
Tensor contents_through(Builder& builder, const TensorHandle& handle, std::span<const View* const> views);

/// Makes the values of a tensor with memory of its own those that lie there, unless something lies there already.
void keep_contents(const Tensor& tensor);
bool is_stale(const Tensor& tensor);
void read_again(Tensor& tensor);

/// Puts values where a tensor lies. They are of its dtype and shape.
void write(Builder& builder, const Tensor& to, const Tensor& values);

/// A value that nothing gave, for elements that are to be written.
ir::NodeId unwritten_node(Builder& builder, ir::DType type);
/// Fails where a result of the graph depends on such a value.
void refuse_unwritten(Builder& builder);

/// The parameter whose memory the tensor lies in, if an op in place has written to it.
std::optional<uint32_t> mutated_parameter(const Value& value);

}  // namespace ingot::frontend
