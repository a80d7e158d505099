#include "frontend/tensor/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <tuple>
#include <utility>

#include "frontend/tensor/promotion.h"
#include "frontend/tensor/refused_gradients.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/tensors.h"

namespace ingot::frontend {
namespace {

/// Applies a view to a tensor.
Tensor viewed(Builder& builder, const View& view, const Tensor& base) {
  switch (view.kind) {
    case View::Kind::Permute:
      return permuted(builder, base, view.order);
    case View::Kind::Unsqueeze:
      return unsqueezed(builder, base, view.dim);
    case View::Kind::Select:
      return selected(builder, base, view.dim, view.start);
    case View::Kind::Slice:
      return sliced(builder, base, view.dim, view.start, view.length, view.step);
    case View::Kind::Expand:
      return expanded(builder, base, view.shape);
    case View::Kind::Reshape:
      return reshaped(builder, base, view.shape);
    case View::Kind::Bitcast:
      return bitcast(builder, base, view.dtype);
  }
  throw_internal("a view of unknown kind");
}

/// Replaces the coordinates [start, start + length) of a dim.
Tensor replaced(Builder& builder, const Tensor& base, size_t dim, ir::HostId start, ir::HostId length,
                const Tensor& part) {
  const ir::HostPool& host = builder.graph.host;
  const ir::HostId end = builder.add(start, length), rest = builder.sub(shape_of(builder, base)[dim], end);
  std::vector<Tensor> parts;
  if (!host.is_int(start, 0)) parts.push_back(sliced(builder, base, dim, builder.integer(0), start, 1));
  parts.push_back(part);
  if (!host.is_int(rest, 0)) parts.push_back(sliced(builder, base, dim, end, rest, 1));
  return parts.size() == 1 ? part : concatenated(builder, parts, dim);
}

/// Replaces every step-th coordinate, one by one.
Tensor replaced_in_steps(Builder& builder, Tensor base, const View& slice, const Tensor& part) {
  constexpr int64_t kMaxWrites = 32;
  const int64_t count = builder.static_number(slice.length).as_int();
  if (count > kMaxWrites) {
    builder.fail(fmt::format("an in-place write to a slice with step {} has {} positions", slice.step, count),
                 fmt::format("at most {} are supported: choose with where(mask, a, b)", kMaxWrites));
  }
  const ir::HostId one = builder.integer(1);
  for (int64_t i = 0; i < count; ++i) {
    const ir::HostId position = builder.add(slice.start, builder.integer(i * slice.step));
    base =
        replaced(builder, base, slice.dim, position, one, sliced(builder, part, slice.dim, builder.integer(i), one, 1));
  }
  return base;
}

/// Undoes an expand that only added leading dims of size 1. Fails for any other expand: the elements of `part` would be
/// written to one element of `base`.
Tensor unexpanded(Builder& builder, const View& view, const Tensor& base, const Tensor& part) {
  const Shape shape = shape_of(builder, base);
  Tensor result = part;
  while (result.rank() > shape.size() && is_one(builder, shape_of(builder, result).front())) {
    result = selected(builder, result, 0, builder.integer(0));
  }
  if (same_shape(builder, shape_of(builder, result), shape)) return result;
  builder.fail(
      fmt::format("unsupported operation: more than one element of the written-to tensor refers to a single memory "
                  "location. It was expanded to {}",
                  print_shape(builder, view.shape)),
      "clone() the tensor before performing the operation");
}

/// Returns `base` with the elements that `view` covers replaced by `part`.
Tensor with_part(Builder& builder, const View& view, const Tensor& base, const Tensor& part) {
  switch (view.kind) {
    case View::Kind::Permute: {
      std::vector<size_t> inverse(view.order.size());
      for (size_t i = 0; i < inverse.size(); ++i) inverse[view.order[i]] = i;
      return permuted(builder, part, inverse);
    }
    case View::Kind::Unsqueeze:
      return selected(builder, part, view.dim, builder.integer(0));
    case View::Kind::Select:
      return replaced(builder, base, view.dim, view.start, builder.integer(1), unsqueezed(builder, part, view.dim));
    case View::Kind::Slice:
      if (view.step != 1) return replaced_in_steps(builder, base, view, part);
      return replaced(builder, base, view.dim, view.start, view.length, part);
    case View::Kind::Expand:
      return unexpanded(builder, view, base, part);
    case View::Kind::Reshape:
      return reshaped(builder, part, shape_of(builder, base));
    case View::Kind::Bitcast:
      return bitcast(builder, part, base.dtype);
  }
  throw_internal("a view of unknown kind");
}

/// A load whose source index is at least this reads no parameter. It represents elements that were never given a value.
constexpr uint32_t kFirstUnwritten = 0x8000'0000;

/// The maximum length of a chain of views, which is freed recursively, link by link.
constexpr uint32_t kMaxViews = 2000;

constexpr const char* kMaybeSharedHint =
    "reshape, flatten and contiguous copy or share memory depending on strides, and writes through diagonal, "
    "unfold and x[tensor] are not supported: use .clone() for a copy, .view(…) to share";

/// After a write to `storage`: every other storage that may be identical with it becomes unreadable. Fails if such a
/// storage belongs to a parameter.
void mark_possible_aliases(Builder& builder, Storage& storage) {
  if (!storage.candidates) return;
  for (const std::weak_ptr<Storage>& candidate : *storage.candidates) {
    const std::shared_ptr<Storage> other = candidate.lock();
    if (!other || other.get() == &storage) continue;
    if (other->param) {
      builder.fail(fmt::format("this tensor is changed in place, but may be in the memory of `{}` or be a copy",
                               builder.graph.params[*other->param].name),
                   kMaybeSharedHint);
    }
    other->may_alias_written = true;
    ++other->version;
  }
}

/// Before a write: requests the answer whether the write reaches other tensors, if that depends on strides.
void request_aliases(Builder& builder, const Storage& storage) {
  if (!storage.candidates || !builder.symbol_values.strides) return;
  std::optional<Storage::Query> first;
  bool has_others = false;
  for (const std::weak_ptr<Storage>& candidate : *storage.candidates) {
    const std::shared_ptr<Storage> other = candidate.lock();
    if (!other) continue;
    has_others |= other.get() != &storage;
    if (other->query && (!first || other->query->number < first->number)) first = other->query;
  }
  if (first && (has_others || storage.overlaps_itself)) builder.request_alias(first->number, first->layout_step);
}

/// The contents, with the gradients that the tensors of one detach() see. A null `history` represents the tensors that
/// are not detached.
Tensor contents_of(Builder& builder, const Storage& storage, const std::shared_ptr<History>& history) {
  if (!history) return *storage.contents;
  return history->contents ? *history->contents : detached(builder, *storage.contents);
}

/// Whether a node loads elements that were never given a value.
bool is_unwritten(const ir::Graph& graph, ir::NodeId id) {
  const bool is_load = graph[id].op == ir::Op::Load || graph[id].op == ir::Op::Gather;
  return is_load && graph.access(id).source.index >= kFirstUnwritten;
}

bool same_views(const View* a, const View* b) {
  const auto fields = [](const View& view) {
    return std::tie(view.kind, view.dim, view.start, view.length, view.step, view.order, view.shape, view.dtype);
  };
  for (; a != b; a = a->base.get(), b = b->base.get())
    if (!a || !b || fields(*a) != fields(*b)) return false;
  return true;
}

/// The contents, then the tensor that each of the views covers. The views lead from the storage to a tensor in it.
std::vector<Tensor> viewed_tensors(Builder& builder, const TensorHandle& handle, std::span<const View* const> views) {
  const Storage& storage = *handle.storage;
  const std::shared_ptr<History>& history = handle.history;
  const Storage::Reshaped& cached = storage.reshaped;
  const bool has_no_gradient = history && !history->contents;
  const bool is_cached =
      cached.tensor && cached.version == storage.version && (cached.history == history || has_no_gradient);
  std::vector<Tensor> tensors{contents_of(builder, storage, history)};
  for (const View* view : views) {
    if (!is_cached || !same_views(cached.view.get(), view))
      tensors.push_back(viewed(builder, *view, tensors.back()));
    else
      tensors.push_back(has_no_gradient ? detached(builder, *cached.tensor) : *cached.tensor);
  }
  return tensors;
}

/// The node to which the gradient with respect to a node flows, through casts and custom gradients; nullopt if it flows
/// nowhere.
std::optional<ir::NodeId> gradient_source(const ir::Graph& graph, ir::NodeId id) {
  for (;;) {
    const ir::Node& node = graph[id];
    const std::string_view callee = node.op == ir::Op::Call ? graph.callee(id) : std::string_view();
    const bool is_float = ir::category(node.dtype) == ir::Category::Floating;
    if (!is_float || callee == ir::kDetach || is_unwritten(graph, id)) return std::nullopt;
    if (node.op != ir::Op::Cast && callee != ir::kCustomGradient) return id;
    id = node.args[callee == ir::kCustomGradient ? 1 : 0];
  }
}

/// The values of one tensor with the gradients of another of its shape.
Tensor with_gradients_of(Builder& builder, const Tensor& values, const Tensor& gradients) {
  if (ir::category(values.dtype) != ir::Category::Floating) return values;
  const std::array<Tensor, 2> tensors{detached(builder, values), gradients};
  return combined(builder, tensors, values.dtype, [&](std::span<const ir::NodeId> nodes) {
    const std::optional<ir::NodeId> source = gradient_source(builder.graph, nodes[1]);
    return source ? builder.graph.call(ir::kCustomGradient, nodes[0], {*source}) : nodes[0];
  });
}

/// Stores values that a tensor with this history wrote; tensors with other histories keep their gradients, as in eager.
void put_contents(Builder& builder, Storage& storage, const std::shared_ptr<History>& history, const Tensor& values) {
  const TensorHandle handle = storage.contents->handle;
  const auto put = [&](std::shared_ptr<const Tensor>& contents, bool has_written) {
    if (!has_written && !contents) return;
    Tensor new_contents = has_written ? values : with_gradients_of(builder, values, *contents);
    new_contents.handle = handle;
    contents = std::make_shared<const Tensor>(std::move(new_contents));
  };
  put(storage.contents, !history);
  std::erase_if(storage.detached, [](const auto& entry) { return entry.expired(); });
  for (const std::weak_ptr<History>& detached : storage.detached) {
    const std::shared_ptr<History> other_history = detached.lock();
    put(other_history->contents, other_history == history);
  }
}

/// If `handle` is one of several views that a function returned, rejects the call if `read` requires grad.
void refuse_gradient_of_multi_output(Builder& builder, const TensorHandle& handle, const Tensor& read,
                                     const char* what) {
  if (handle.view && handle.view->is_multi_output) refuse_gradient(builder, read, what);
}

}  // namespace

TensorHandle new_storage(const Builder& builder, uint32_t layout_step) {
  if (builder.native) return {};
  return {layout_step, std::make_shared<Storage>(builder), {}};
}

TensorHandle parameter_storage(const Builder& builder, uint32_t layout_step, uint32_t param) {
  TensorHandle handle = new_storage(builder, layout_step);
  handle.storage->param = param;
  return handle;
}

TensorHandle storage_to_be_queried(const Builder& builder, uint32_t layout_step, const TensorHandle& other) {
  TensorHandle handle = new_storage(builder, layout_step);
  if (!handle.storage || !other.storage) return handle;
  auto& candidates = other.storage->candidates;
  if (!candidates) candidates = std::make_shared<std::vector<std::weak_ptr<Storage>>>(1, other.storage);
  if (std::has_single_bit(candidates->size())) {  // prune at each power of two
    std::erase_if(*candidates, [](const auto& entry) { return entry.expired(); });
  }
  candidates->push_back(handle.storage);
  handle.storage->candidates = candidates;
  return handle;
}

TensorHandle shared_or_new_storage(Builder& builder, const Tensor& x, uint32_t layout_step, Shape shape) {
  if (builder.native || !x.handle.storage) return new_storage(builder, layout_step);
  const uint32_t query = builder.next_alias_query();
  const std::optional<bool> shares = builder.shares_memory(query);
  if (shares == true) return view_storage(x, layout_step, {.kind = View::Kind::Reshape, .shape = std::move(shape)});
  if (shares == false) return new_storage(builder, layout_step);
  TensorHandle handle = storage_to_be_queried(builder, layout_step, x.handle);
  const bool is_reshape = builder.graph.eager_layouts[layout_step].kind == ir::LayoutStep::Kind::Reshape;
  // A copy in a memory format does not overlap itself.
  handle.storage->overlaps_itself = is_reshape && overlaps_itself(x.handle);
  handle.storage->query = {query, layout_step};
  return handle;
}

bool overlaps_itself(const TensorHandle& handle) {
  const auto expands = [](const View* view) { return view->kind == View::Kind::Expand; };
  return handle.storage && (handle.storage->overlaps_itself || std::ranges::any_of(views_of(handle), expands));
}

TensorHandle view_storage(const Tensor& x, uint32_t layout_step, View view) {
  if (!x.handle.storage) return {layout_step, {}, {}};
  set_initial_contents(x);
  view.base = x.handle.view;
  view.depth = view.base ? view.base->depth + 1 : 1;
  view.is_multi_output |= view.base && view.base->is_multi_output;
  if (view.depth > kMaxViews) {
    x.handle.storage->builder.fail(fmt::format("a chain of more than {} views", kMaxViews), "clone() one of them");
  }
  TensorHandle handle = x.handle;
  handle.step = layout_step;
  handle.view = std::make_shared<const View>(std::move(view));
  return handle;
}

TensorHandle detached_storage(const Tensor& x) {
  TensorHandle handle = x.handle;
  if (!handle.storage) return handle;
  set_initial_contents(x);
  handle.history = std::make_shared<History>();
  handle.storage->detached.push_back(handle.history);
  if (handle.view && handle.view->is_multi_output) {  // autograd does not know that the tensor is one of several views
    View view = *handle.view;
    view.is_multi_output = false;
    handle.view = std::make_shared<const View>(std::move(view));
  }
  return handle;
}

Tensor as_multi_output(Tensor tensor) {
  if (!tensor.handle.view) return tensor;
  View view = *tensor.handle.view;
  view.is_multi_output = true;
  tensor.handle.view = std::make_shared<const View>(std::move(view));
  return tensor;
}

Views views_of(const TensorHandle& handle) {
  Views views;
  for (const View* view = handle.view.get(); view; view = view->base.get()) views.push_back(view);
  std::ranges::reverse(views);
  return views;
}

Tensor contents_through(Builder& builder, const TensorHandle& handle, std::span<const View* const> views) {
  return viewed_tensors(builder, handle, views).back();
}

void set_initial_contents(const Tensor& tensor) {
  Storage* storage = tensor.handle.storage.get();
  if (!storage || storage->contents || tensor.handle.view) return;
  auto contents = std::make_shared<Tensor>(tensor);
  contents->handle.storage.reset();
  storage->contents = std::move(contents);
}

bool is_stale(const Tensor& tensor) {
  return tensor.handle.storage && tensor.handle.version != tensor.handle.storage->version;
}

void refresh(Tensor& tensor) {
  const TensorHandle handle = tensor.handle;
  Storage& storage = *handle.storage;
  if (storage.may_alias_written) {
    storage.builder.fail("a tensor was changed in place that may share memory with this one", kMaybeSharedHint);
  }
  refuse_gradient_of_multi_output(storage.builder, handle, contents_of(storage.builder, storage, handle.history),
                                  "a view that split, chunk or unbind returned, after its memory was written in place");
  tensor = contents_through(storage.builder, handle, views_of(handle));
  tensor.handle = handle;
  tensor.handle.version = storage.version;
}

void write(Builder& builder, const Tensor& target, const Tensor& values) {
  const TensorHandle handle = target.handle;
  if (!handle.storage) throw_internal("a tensor without storage is written");
  Storage& storage = *handle.storage;
  request_aliases(builder, storage);
  if (storage.overlaps_itself) {
    builder.fail("more than one element of the written-to tensor may refer to a single memory location",
                 "use .clone() first: expanded tensors and overlapping windows share elements");
  }
  for (const Tensor& read : {contents_of(builder, storage, handle.history), values})
    refuse_gradient_of_multi_output(builder, handle, read,
                                    "the values written into a view that split, chunk or unbind returned");
  const Views views = views_of(handle);
  if (std::ranges::any_of(views, [](const View* view) { return view->kind == View::Kind::Bitcast; }))
    refuse_gradient(builder, values, "the values written through a view of another dtype");
  const std::vector<Tensor> bases = viewed_tensors(builder, handle, views);
  ++storage.version;
  storage.reshaped = {};
  Tensor contents = values;
  contents.handle = {};
  contents.on_host = storage.contents->on_host;  // also for a number that is written
  for (size_t i = views.size(); i-- > 0;) {
    if (views[i]->kind == View::Kind::Reshape && !storage.reshaped.tensor) {
      storage.reshaped = {
          std::make_shared<const Tensor>(contents), {handle.view, views[i]}, handle.history, storage.version};
    }
    contents = with_part(builder, *views[i], bases[i], contents);
  }
  put_contents(builder, storage, handle.history, contents);
  mark_possible_aliases(builder, storage);
}

// An unwritten value is a load of a parameter that does not exist. Each tensor has a load of its own, which views leave
// unchanged.

ir::NodeId unwritten_node(Builder& builder, ir::DType type) {
  ir::Access access;
  access.source.index = kFirstUnwritten + static_cast<uint32_t>(builder.graph.count());
  return builder.with_location(builder.graph.load(type, std::move(access)));
}

void refuse_unwritten(Builder& builder) {
  const ir::Graph& graph = builder.graph;
  const std::vector<bool> live = graph.live();
  for (uint32_t i = 0; i < live.size(); ++i) {
    const ir::NodeId id{i};
    if (!live[i] || !is_unwritten(graph, id)) continue;
    const std::vector<std::string>& names = graph.names(id);
    const Diagnostics::LocationGuard at(builder.diagnostics, graph.span(id));
    builder.fail(fmt::format("elements of {} are read that were never given a value",
                             names.empty() ? "empty_like" : fmt::format("`{}`", names.back())),
                 "use zeros_like to initialise them");
  }
}

std::optional<uint32_t> mutated_parameter(const Value& value) {
  if (!value.is_tensor()) return std::nullopt;
  const std::shared_ptr<Storage>& storage = value.as<std::shared_ptr<Tensor>>()->handle.storage;
  return storage && storage->version > 0 ? storage->param : std::nullopt;
}

}  // namespace ingot::frontend
