#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <numeric>
#include <random>

#include "tests/codegen/execution.h"

// Graphs that reduce, and running their kernels on this machine.

namespace ingot::codegen {

using ir::DType;
using ir::Op;
using ir::ReduceKind;

/// A float32 tensor with memory of its own.
struct Floats {
  ir::SizesAndStrides extents;
  std::vector<float> memory;

  float& at(const std::vector<int64_t>& index) {
    return memory[static_cast<size_t>(
        std::inner_product(index.begin(), index.end(), extents.strides.begin(), int64_t{0}))];
  }
};

inline int64_t elements_of(const ir::Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>{});
}

/// Calls `f` with each index in row-major order.
template <typename F>
void for_each_index(const ir::Sizes& sizes, F&& f) {
  std::vector<int64_t> index(sizes.size());
  for (int64_t e = 0; e < elements_of(sizes); ++e) {
    int64_t rest = e;
    for (size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) index[d] = rest % sizes[d];
    f(index);
  }
}

/// A float32 tensor. `order`: the dims in memory order, outermost first. `pad`: the unused elements after each line
/// along the innermost dim. `value`: makes the next element, in row-major order.
inline Floats tensor(const ir::Sizes& sizes, const std::vector<size_t>& order, int64_t pad,
                     const std::function<float()>& value) {
  Floats result{{sizes, ir::Sizes(sizes.size())}, {}};
  int64_t stride = 1;
  for (size_t k = order.size(); k-- > 0;) {
    result.extents.strides[order[k]] = stride;
    stride *= sizes[order[k]] + (k + 1 == order.size() ? pad : 0);
  }
  result.memory.resize(static_cast<size_t>(std::max<int64_t>(stride, 1)));
  for_each_index(sizes, [&](const std::vector<int64_t>& index) { result.at(index) = value(); });
  return result;
}

/// Builds the graph of an op on float32 tensors. Along the dims `reduced`, the op reduces the tensors, or values
/// computed from them and from other reductions.
class ReduceGraphBuilder {
 public:
  ReduceGraphBuilder(size_t rank, ir::DimMarks reduced) : reduced_(std::move(reduced)) {
    x_ = sketch_.tensor("x", DType::F32, static_cast<uint32_t>(rank));
  }

  ir::Graph& graph() { return sketch_.graph; }
  const std::vector<ir::HostId>& shape() { return graph().params[0].shape; }
  ir::NodeId x() const { return x_; }
  /// Another tensor of the same rank.
  ir::NodeId tensor(const std::string& name) {
    return sketch_.tensor(name, DType::F32, static_cast<uint32_t>(reduced_.size()));
  }

  /// A reduction along the reduced dims. `read` loads one of its values: at each element, the value of the element's
  /// row.
  ir::NodeId reduce(ReduceKind kind, ir::NodeId operand) {
    return graph().reduce(graph()[operand].dtype, {kind, shape(), reduced_}, operand);
  }
  ir::NodeId read(ir::NodeId reduction, uint32_t value = 0) {
    const ir::DType dtype = value == 0 ? graph()[reduction].dtype : DType::I64;
    return graph().read(dtype, rows({ir::SourceRef::Kind::Reduce, value}), {reduction});
  }
  /// At each element of x, the first element of the same row.
  ir::NodeId first_of_row() { return graph().load(DType::F32, rows({ir::SourceRef::Kind::Param, 0})); }
  ir::NodeId constant(float value) { return sketch_.constant(DType::F32, value); }
  /// A float32 node.
  ir::NodeId node(Op op, ir::NodeId a) { return graph().add(op, DType::F32, {a}); }
  ir::NodeId node(Op op, ir::NodeId a, ir::NodeId b) { return graph().add(op, DType::F32, {a, b}); }

  /// Adds a result: with one element per row, or with one per element of the domain.
  void result(ir::NodeId node, bool is_per_row) {
    const std::string name = "out" + std::to_string(graph().results.size());
    if (!is_per_row) return sketch_.result(name, graph()[node].dtype, node, shape());
    std::vector<ir::HostId> domain = shape();
    for (size_t d = 0; d < domain.size(); ++d)
      if (reduced_[d]) domain[d] = graph().host.integer(1);
    graph().results.push_back({name, graph()[node].dtype, domain, {{node, domain, rows({})}}, 0});
  }

 private:
  /// The access to a tensor with one element per row.
  ir::Access rows(ir::SourceRef source) {
    const ir::HostId zero = graph().host.integer(0), one = graph().host.integer(1);
    ir::Access access{source, std::vector<ir::HostId>(shape().size(), zero), {}, {}};
    for (uint32_t d = 0; d < shape().size(); ++d)
      access.dims.push_back(reduced_[d] ? ir::AccessDim{one, {}} : ir::AccessDim{shape()[d], {{d, one}}});
    const auto first = std::ranges::find_if(access.dims, [](const auto& dim) { return !dim.terms.empty(); });
    access.dims.erase(access.dims.begin(), first);
    return access;
  }

  Sketch sketch_{"op"};
  ir::DimMarks reduced_;
  ir::NodeId x_;
};

/// An op and its argument, ready to run. If it has several parameters, all are that tensor.
struct ReduceCase {
  std::string name;
  ir::Graph graph;
  Floats x;
  PartitionStrategy strategy = PartitionStrategy::Whole;
  bool use_many_rows_kernels = false;  ///< use the kernels that the schedule's rules choose for many rows

  Tensors tensors() const {
    Tensors tensors;
    tensors.params.assign(graph.params.size(), x.extents);
    tensors.addresses.assign(graph.params.size(), reinterpret_cast<uintptr_t>(x.memory.data()));
    return tensors;
  }
  Prepared prepared() const {
    Prepared prepared = prepare(graph, tensors(), false, strategy);
    if (use_many_rows_kernels)
      for (KernelLayout& layout : prepared.layouts) {
        layout.rows_bits = kMostRowsBits;
        layout.has_many_steps = layout.has_long_rows;
      }
    return prepared;
  }
};

/// An op of several phases: the maximum m, its index, the sum of x - m, and x - m itself.
inline ReduceCase multi_phase_case(std::string name, const Floats& x, const ir::DimMarks& reduced) {
  ReduceGraphBuilder op(x.extents.sizes.size(), reduced);
  const ir::NodeId largest = op.reduce(ReduceKind::ArgMax, op.x());
  const ir::NodeId m = op.read(largest), difference = op.node(Op::Sub, op.x(), m);
  op.result(m, true);
  op.result(op.read(largest, 1), true);
  op.result(op.read(op.reduce(ReduceKind::Sum, difference)), true);
  op.result(difference, false);
  ReduceCase test_case{std::move(name), std::move(op.graph()), x};
  test_case.graph.name = test_case.name;
  return test_case;
}

using Bytes = std::vector<std::byte>;

/// The results of a case, run in a library that has its kernels. `random` chooses the points at which the range of
/// units of a CPU kernel is split into calls.
inline std::vector<Bytes> run(const ReduceCase& test_case, const Target& target, const KernelLibrary& library,
                              std::mt19937& random) {
  const Prepared prepared = test_case.prepared();
  std::vector<Bytes> results, workspaces;
  for (size_t r = 0; r < prepared.results.size(); ++r)
    results.emplace_back(
        static_cast<size_t>(elements_of(prepared.results[r].sizes) * ir::size_of(test_case.graph.results[r].dtype)),
        std::byte{0x7b});
  for (size_t w = 0; w < prepared.workspaces.size(); ++w)
    workspaces.emplace_back(static_cast<size_t>(8 * elements_of(prepared.workspaces[w].sizes)));
  std::map<uint32_t, std::vector<Bytes>> partials;
  for (const Kernel& kernel : kernels(prepared.graph, prepared.outline, prepared.layouts, target, {})) {
    const uint32_t k = kernel.launch.outline_kernel;
    const KernelGeometry& geometry = prepared.geometries[k];
    std::vector<std::byte*> data, partials_data;
    for (const AccessUse& use : prepared.outline.kernels[k].accesses) {
      const bool is_store = use.kind == AccessUse::Kind::Store;
      data.push_back(!use.has_tensor()  ? nullptr
                     : use.in_workspace ? workspaces[use.tensor].data()
                     : is_store         ? results[use.tensor].data()
                                        : reinterpret_cast<std::byte*>(const_cast<float*>(test_case.x.memory.data())));
    }
    const uint32_t writer = kernel.launch.partials_writer;
    if (!partials.contains(writer))
      for (size_t s = 0; s < kernel.launch.partials.size(); ++s)
        partials[writer].emplace_back(static_cast<size_t>(8 * count(kernel.launch.partial_count, geometry.extents)));
    for (Bytes& buffer : partials[writer]) partials_data.push_back(buffer.data());
    int status = 0;
    const Arguments arguments(kernel.launch, prepared.outline.kernels[k], geometry, data, prepared.host, &status,
                              partials_data);
    Entry* const entry = library.find(kernel.launch.entry);
    EXPECT_NE(entry, nullptr) << kernel.launch.entry;
    if (entry == nullptr) return {};
    const int64_t units = kernel.launch.units(geometry.extents);
    for (int64_t begin = 0; begin < units;) {
      const int64_t remaining = units - begin;
      const int64_t end =
          target.cuda() ? units : begin + 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(remaining));
      entry(arguments.addresses(), begin, end);
      begin = end;
    }
  }
  return results;
}

/// A library of the kernels of all cases.
inline KernelLibrary library_of(const std::vector<ReduceCase>& cases, const Target& target) {
  std::vector<Kernel> all;
  for (const ReduceCase& test_case : cases) {
    const Prepared prepared = test_case.prepared();
    std::ranges::move(kernels(prepared.graph, prepared.outline, prepared.layouts, target, {}), std::back_inserter(all));
  }
  std::vector<const Kernel*> pointers;
  for (const Kernel& kernel : all) pointers.push_back(&kernel);
  return {pointers, target};
}

inline std::string name_of_target(const testing::TestParamInfo<Target>& target) {
  return target.param.cuda() ? "cuda" : "cpu";
}

template <typename T>
T element(const Bytes& bytes, int64_t e) {
  T value;
  std::memcpy(&value, bytes.data() + e * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

}  // namespace ingot::codegen
