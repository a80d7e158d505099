#pragma once

#include <numeric>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "codegen/generate.h"
#include "codegen/print/print.h"
#include "codegen/schedule/strategy.h"
#include "codegen/shape/layout.h"
#include "codegen/shape/outline.h"
#include "codegen/shape/partition.h"
#include "codegen/target/prelude.h"
#include "ir/eager_layout.h"
#include "ir/graph.h"

// Hand-written graphs, and tensors that are only sizes and strides, for tests of code generation.

namespace ingot::codegen {

/// A graph under construction. All tensors have symbolic sizes.
class Sketch {
 public:
  explicit Sketch(std::string name) { graph.name = std::move(name); }

  ir::Graph graph;

  /// A tensor parameter and the load of all its elements.
  ir::NodeId tensor(const std::string& name, ir::DType dtype, uint32_t rank) {
    const uint32_t param = add_param(name, dtype, rank);
    const ir::NodeId node = graph.load(dtype, identity(param));
    graph.name_node(node, name);
    return node;
  }
  /// Adds a tensor parameter; returns its index.
  uint32_t add_param(const std::string& name, ir::DType dtype, uint32_t rank) {
    const auto param = static_cast<uint32_t>(graph.params.size());
    graph.params.push_back({name, ir::ParamKind::Tensor, dtype, ir::HostKind::Float, {}});
    for (uint32_t d = 0; d < rank; ++d) graph.params[param].shape.push_back(graph.host.size(param, d));
    return param;
  }
  /// The access of a tensor parameter that reads the element at each index.
  ir::Access identity(uint32_t param) {
    const std::vector<ir::HostId>& shape = graph.params[param].shape;
    ir::Access access{{ir::SourceRef::Kind::Param, param}, {}, {}, {}};
    access.offsets.assign(shape.size(), graph.host.integer(0));
    for (uint32_t d = 0; d < shape.size(); ++d) access.dims.push_back({shape[d], {{d, graph.host.integer(1)}}});
    return access;
  }
  /// A number parameter, as a node of `dtype`.
  ir::NodeId number(const std::string& name, ir::HostKind kind, ir::DType dtype) {
    const auto param = static_cast<uint32_t>(graph.params.size());
    graph.params.push_back({name, ir::ParamKind::Number, {}, kind, {}});
    return graph.scalar(dtype, graph.host.scalar(param, kind));
  }
  ir::NodeId constant(ir::DType dtype, double value) { return graph.scalar(dtype, graph.host.real(value)); }
  ir::NodeId constant(ir::DType dtype, int64_t value) { return graph.scalar(dtype, graph.host.integer(value)); }
  /// The element x[..., k] of a tensor's last dim: a load over its other dims.
  ir::NodeId corner(uint32_t param, int64_t k) {
    ir::Access access = identity(param);
    access.dims.pop_back();
    access.offsets.back() = graph.host.integer(k);
    return graph.load(graph.params[param].dtype, access);
  }
  /// A result of this shape, stored as a whole.
  void result(const std::string& name, ir::DType dtype, ir::NodeId node, std::vector<ir::HostId> shape) {
    ir::Access store;
    store.offsets.assign(shape.size(), graph.host.integer(0));
    for (uint32_t d = 0; d < shape.size(); ++d) store.dims.push_back({shape[d], {{d, graph.host.integer(1)}}});
    graph.results.push_back({name, dtype, shape, {{node, shape, store}}, 0});
  }
};

/// Concrete arguments: sizes and strides of each parameter (none for numbers), with `addresses` as their data.
struct Tensors {
  std::vector<ir::SizesAndStrides> params;
  std::vector<uintptr_t> addresses;         ///< one per parameter; 0 if omitted
  std::vector<uintptr_t> result_addresses;  ///< one per result; 0 if omitted
  std::vector<ir::HostValue> numbers;       ///< of number parameters, in order; 1.5 if omitted
};

inline ir::SizesAndStrides contiguous(ir::Sizes sizes) { return {sizes, ir::contiguous_strides(sizes)}; }

/// The state that the runtime derives from an op's arguments before it runs kernels. Results have eager's layout if the
/// graph specifies it.
struct Prepared {
  ir::Graph graph;  ///< from which the kernels are made
  Outline outline;
  std::vector<ir::HostValue> host;
  std::vector<ir::SizesAndStrides> results, workspaces;
  std::vector<KernelGeometry> geometries;
  std::vector<KernelLayout> layouts;
};

/// Prepares a call of the graph. `strategy`: if omitted, the runtime's choice; `on_cuda`: the target of that choice.
inline Prepared prepare(const ir::Graph& graph, Tensors tensors, bool results_alias = false,
                        std::optional<PartitionStrategy> strategy = {}, bool on_cuda = false) {
  Prepared prepared;
  tensors.params.resize(graph.params.size());  // a random seed is a parameter without dims
  prepared.host.resize(graph.host.count());
  ir::evaluate(graph.host,
               {[&](uint32_t param, uint32_t dim) { return tensors.params[param].sizes[dim]; },
                [&](uint32_t param) {
                  size_t number = 0;
                  for (uint32_t p = 0; p < param; ++p) number += graph.params[p].kind == ir::ParamKind::Number;
                  return number < tensors.numbers.size() ? tensors.numbers[number] : ir::HostValue::of(1.5);
                }},
               prepared.host);
  const std::vector<ir::SizesAndStrides> eager = ir::eager_tensors(graph.eager_layouts, prepared.host, tensors.params);
  for (const ir::Result& result : graph.results) {
    ir::Sizes sizes;
    for (const ir::HostId size : result.shape) sizes.push_back(prepared.host[size.index].as_int());
    prepared.results.push_back(contiguous(sizes));
    if (!eager.empty()) prepared.results.back().strides = eager[result.layout].strides;
  }
  const auto geometries_of = [&](const Outline& outline) {
    prepared.workspaces = workspace_extents(outline, prepared.host);
    std::vector<KernelGeometry> geometries;
    for (const KernelOutline& kernel : outline.kernels)
      geometries.push_back(geometry(kernel, prepared.host, {tensors.params, prepared.results, prepared.workspaces}));
    return geometries;
  };
  const Outlines all = outlines(graph);
  const PartitionStrategy chosen =
      strategy ? *strategy : partition_strategy_of(all, prepared.host, on_cuda, geometries_of);
  Partition made = partition(graph, chosen);
  prepared.graph = std::move(made.graph), prepared.outline = std::move(made.outline);
  prepared.geometries = geometries_of(prepared.outline);
  for (size_t k = 0; k < prepared.geometries.size(); ++k) {
    const KernelOutline& kernel = prepared.outline.kernels[k];
    std::vector<uintptr_t> addresses;
    for (const AccessUse& use : kernel.accesses) {
      const auto& addresses_by_tensor =
          use.kind == AccessUse::Kind::Store ? tensors.result_addresses : tensors.addresses;
      addresses.push_back(use.has_tensor() && use.tensor < addresses_by_tensor.size() ? addresses_by_tensor[use.tensor]
                                                                                      : 0);
    }
    prepared.layouts.push_back(classify(kernel, prepared.geometries[k], addresses, results_alias));
  }
  return prepared;
}

inline Source generate_for(const ir::Graph& graph, const Tensors& tensors, Target target, std::string_view text = {},
                           Options options = {}, bool results_alias = false) {
  const Prepared prepared = prepare(graph, tensors, results_alias);
  return generate(prepared.graph, prepared.outline, prepared.layouts, target, options, text);
}

/// The source of a kernel after its prelude, in the form in which `generate` prints the kernels that it builds.
inline std::string text_of(const Kernel& kernel) {
  const std::string function = print_source(kernel).text;
  return prelude_for(kernel.target.kind, function) + function;
}

constexpr Target kCuda{Target::Kind::Cuda, 90};
constexpr Target kCpu{Target::Kind::Cpu, 0};

/// How GoogleTest prints a target that is a test's parameter.
inline void PrintTo(const Target& target, std::ostream* out) {
  *out << (target.cuda() ? "cuda_" + std::to_string(target.architecture) : "cpu");
}

}  // namespace ingot::codegen
