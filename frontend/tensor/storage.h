#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/tensor/builder.h"

// Models the storages of eager's tensors (layouts.h models their strides). Tensors in one storage share elements, so an
// in-place op on one of them must change the others. Nodes never change: a write replaces the contents of the storage
// by a new tensor, made from the old contents and the written values. Every tensor in the storage reads its values
// again at its next use. Inside a native library function, storages are not modelled.

namespace ingot::frontend {

/// How a view reads its base tensor.
struct View {
  enum class Kind : uint8_t { Permute, Unsqueeze, Select, Slice, Expand, Reshape, Bitcast } kind;
  size_t dim = 0;                         ///< Unsqueeze, Select, Slice
  ir::HostId start = {}, length = {};     ///< Select (its index), Slice
  int64_t step = 1;                       ///< Slice
  std::vector<size_t> order = {};         ///< Permute
  Shape shape = {};                       ///< Expand, Reshape
  ir::DType dtype = ir::DType::F32;       ///< Bitcast
  uint32_t depth = 1;                     ///< the number of views in the chain down to the storage
  bool is_multi_output = false;           ///< whether split, chunk or unbind returned it or one of its bases
  std::shared_ptr<const View> base = {};  ///< the view that this is a view of; null: the whole storage
};

/// One x.detach() of a tensor in a storage. The detached tensor and its views have the storage's values, but gradients
/// flow only to the values that were written through them.
struct History {
  std::shared_ptr<const Tensor> contents;  ///< null if nothing was written through it yet; then no gradient flows
};

/// The memory that eager allocates for a tensor that is not a view.
struct Storage {
  explicit Storage(const Builder& copied_builder) : builder(copied_builder) {}

  Builder builder;                                    ///< reads values again if the caller has no builder
  std::optional<uint32_t> param = {};                 ///< the parameter whose storage this is
  std::shared_ptr<const Tensor> contents;             ///< null until set_initial_contents
  std::vector<std::weak_ptr<History>> detached = {};  ///< the histories of its detach() calls; some may have expired
  uint64_t version = 0;                               ///< how many times it was written
  /// The contents in the shape of the last write, if that write went through a reshape; the next use of that shape
  /// reads them here. Without this copy, each write would reshape the contents to the storage's shape and back, and so
  /// split them into more blocks.
  struct Reshaped {
    std::shared_ptr<const Tensor> tensor;
    std::shared_ptr<const View> view;
    std::shared_ptr<History> history;
    uint64_t version = 0;  ///< valid while it equals the storage's version
  };
  Reshaped reshaped = {};
  /// The storages that may be identical with this one, depending on the strides of a call; this one is included. Null
  /// if no other storage may be.
  std::shared_ptr<std::vector<std::weak_ptr<Storage>>> candidates = {};
  /// The alias query that decides whether the reshape (or contiguous, or the like) for which this storage was made
  /// shares the storage of its operand.
  struct Query {
    uint32_t number;       ///< the index of the ir::AliasQuery in Graph::alias_queries
    uint32_t layout_step;  ///< of the tensor for which this storage was made
  };
  std::optional<Query> query = {};
  /// Whether a storage that may be identical with this one was written; then the contents are unknown.
  bool may_alias_written = false;
  /// Whether a tensor in this storage may have several elements at one address: overlapping windows, an expanded
  /// tensor.
  bool overlaps_itself = false;
};

/// A tensor with its own storage.
TensorHandle new_storage(const Builder& builder, uint32_t layout_step);
/// The storage of a parameter.
TensorHandle parameter_storage(const Builder& builder, uint32_t layout_step, uint32_t param);
/// A new storage that the call may later find to be that of `other`, depending on strides. It is marked as a candidate.
TensorHandle storage_to_be_queried(const Builder& builder, uint32_t layout_step, const TensorHandle& other);
/// A view of `x` if a query has been answered so; a new storage if it has been answered otherwise. Without an answer: a
/// candidate (storage_to_be_queried) and its query. Lowering requests the answer only when something is written.
TensorHandle shared_or_new_storage(Builder& builder, const Tensor& x, uint32_t layout_step, Shape shape);
/// Whether several elements of a tensor may be at one address.
bool overlaps_itself(const TensorHandle& handle);
/// A view of `x`.
TensorHandle view_storage(const Tensor& x, uint32_t layout_step, View view);
/// x.detach(): the same elements, a new history of gradients.
TensorHandle detached_storage(const Tensor& x);
/// Marks a view as one of several that a function returned. While autograd records the call, eager raises an error for
/// a write to such a view, and for a read of it after a write to another tensor of its storage.
Tensor as_multi_output(Tensor tensor);

using Views = std::vector<const View*>;
/// The views that lead from a storage to a tensor in it.
Views views_of(const TensorHandle& handle);
/// The tensor that the views select from the contents of a handle's storage, with the gradients of the handle's
/// history.
Tensor contents_through(Builder& builder, const TensorHandle& handle, std::span<const View* const> views);

/// Makes a tensor the first contents of its storage; in-place ops will replace them. Has no effect if the tensor is a
/// view, or if the storage has contents.
void set_initial_contents(const Tensor& tensor);
/// Whether the tensor's storage was written in place since the tensor's values were read.
bool is_stale(const Tensor& tensor);
/// Reads the values of a stale tensor again from its storage.
void refresh(Tensor& tensor);

/// Writes values, of the tensor's dtype and shape, to the elements of a tensor.
void write(Builder& builder, const Tensor& target, const Tensor& values);

/// A placeholder for elements that are still to be written.
ir::NodeId unwritten_node(Builder& builder, ir::DType type);
/// Fails if a result of the graph depends on such a placeholder.
void refuse_unwritten(Builder& builder);

/// The parameter whose storage the tensor is in, if an in-place op has written to it.
std::optional<uint32_t> mutated_parameter(const Value& value);

}  // namespace ingot::frontend
