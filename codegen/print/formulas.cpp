#include "codegen/print/formulas.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/shape/derivation.h"
#include "ir/host/host_print.h"

namespace ingot::codegen {
namespace {

/// The names of the results: `out`, or `out0`, `out1` … if the op returns several; a parameter's name if the result is
/// written into it; its own name if it is not returned.
std::vector<std::string> result_names(const ir::Graph& graph) {
  const auto is_returned = [](const ir::Result& r) { return r.use == ir::Use::Returned && !r.mutates; };
  const auto count = std::ranges::count_if(graph.results, is_returned);
  std::vector<std::string> names;
  size_t number = 0;
  for (const ir::Result& result : graph.results) {
    if (result.mutates)
      names.push_back(graph.params[*result.mutates].name);
    else if (is_returned(result))
      names.push_back(count == 1 ? "out" : fmt::format("out{}", number++));
    else
      names.push_back(result.name);
  }
  return names;
}

/// Makes formulas, and collects the equations on which they depend.
struct FormulaArithmetic {
  using Number = ir::HostId;

  ir::HostPool& pool;
  std::span<const ir::HostValue> host;
  std::vector<Equation> equations = {};

  ir::HostId integer(int64_t value) { return pool.integer(value); }
  ir::HostId add(ir::HostId x, ir::HostId y) { return pool.add(x, y); }
  ir::HostId mul(ir::HostId x, ir::HostId y) { return pool.mul(x, y); }
  static ir::HostId value(ir::HostId id) { return id; }
  bool is_one(ir::HostId size) {
    if (host[size.index].as_int() != 1) return false;
    equations.emplace_back(size, integer(1));
    return true;
  }
};

}  // namespace

std::string as_operand(const std::string& text) {
  const bool is_simple = text.find_first_of(" -*") == std::string::npos;
  return is_simple ? text : "(" + text + ")";
}

bool is_scratch(const ir::Graph& graph, const AccessUse& use) {
  if (use.in_workspace) return true;
  return use.kind == AccessUse::Kind::Store ? graph.results[use.tensor].use != ir::Use::Returned
                                            : graph.seed == use.tensor;
}

Formulas::Formulas(const DescribedCall& call) : pool(call.graph.host), call_(call) {
  const ir::Graph& graph = call.graph;
  pool.limit_work(UINT64_MAX);
  // A size that must equal another one is written as that one.
  for (const ir::Condition& condition : graph.conditions)
    if (condition.kind == ir::Condition::Kind::Equal && pool[condition.a].op == ir::HostOp::Size &&
        pool[condition.b].op == ir::HostOp::Size)
      pool.unify(condition.a, condition.b);
  for (const ir::Param& param : graph.params) names_.push_back(param.name);
  for (size_t p = 0; p < graph.params.size(); ++p) {
    const ir::Param& param = graph.params[p];
    params_.push_back(tensor(param.name, param.dtype, param.shape, call.shapes.params[p]));
  }
  const std::vector<std::string> names = result_names(graph);
  for (size_t r = 0; r < graph.results.size(); ++r) {
    const ir::Result& result = graph.results[r];
    results_.push_back(result.mutates ? params_[*result.mutates]
                                      : tensor(names[r], result.dtype, result.shape, call.shapes.results[r]));
  }
  FormulaArithmetic arithmetic{pool, call.host};
  for (const Workspace& workspace : call.outline.workspaces) {
    const std::vector<ir::HostId> sizes = sizes_of(arithmetic, workspace);
    workspaces_.push_back(
        {fmt::format("workspace{}", workspaces_.size()), workspace.dtype, sizes, contiguous_strides(sizes), {}});
  }
}

TensorFormulas Formulas::tensor(std::string name, ir::DType dtype, std::vector<ir::HostId> sizes,
                                const ir::SizesAndStrides& extents) {
  TensorFormulas formulas{std::move(name), dtype, std::move(sizes), {}, {}};
  if (ir::is_contiguous(extents.sizes, extents.strides)) {
    formulas.strides = contiguous_strides(formulas.sizes);
    if (!formulas.sizes.empty()) formulas.stride_requirements.push_back(formulas.name + ".is_contiguous()");
    return formulas;
  }
  for (size_t d = 0; d < formulas.sizes.size(); ++d) {
    const std::string text = fmt::format("{}.stride({})", formulas.name, d);
    const int64_t stride = extents.strides[d];
    if (extents.sizes[d] != 1 && (stride == 0 || stride == 1)) {
      formulas.strides.push_back(pool.integer(stride));
      formulas.stride_requirements.push_back(fmt::format("{} == {}", text, stride));
    } else {
      formulas.strides.push_back(pool.scalar(static_cast<uint32_t>(names_.size()), ir::HostKind::Int));
      names_.push_back(text);
    }
  }
  return formulas;
}

std::vector<ir::HostId> Formulas::contiguous_strides(std::span<const ir::HostId> sizes) {
  std::vector<ir::HostId> strides(sizes.size());
  ir::HostId stride = pool.integer(1);
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride = pool.mul(stride, sizes[d]);
  }
  return strides;
}

KernelFormulas Formulas::kernel(uint32_t k) {
  const KernelOutline& kernel = call_.outline.kernels[k];
  const std::vector<std::vector<uint32_t>>& axes = call_.geometries[k].dims;
  KernelFormulas formulas{{}, pool.product(kernel.domain), {}, {}};
  FormulaArithmetic arithmetic{pool, call_.host};
  for (const std::vector<uint32_t>& dims : axes) formulas.extents.push_back(product(arithmetic, kernel.domain, dims));
  for (const ir::HostId size : kernel.domain) arithmetic.is_one(size);  // dims of size 1 are in no axis
  const std::vector<ir::HostId> positions = {pool.integer(1)};
  for (const AccessUse& use : kernel.accesses) {
    AccessFormulas& access = formulas.accesses.emplace_back(
        access_by_dim(arithmetic, kernel, use, use.has_tensor() ? tensor_of(use).strides : positions));
    for (const std::vector<uint32_t>& dims : axes)
      for (size_t m = 0; m + 1 < dims.size(); ++m)  // dims that are merged
        arithmetic.equations.emplace_back(access.strides[dims[m]],
                                          pool.mul(access.strides[dims[m + 1]], kernel.domain[dims[m + 1]]));
    select_axes(access, axes);
  }
  formulas.equations = std::move(arithmetic.equations);
  return formulas;
}

std::string Formulas::print(ir::HostId id) {
  const std::string text = ir::print_host(pool, id, names_, abbreviated_);
  // In parentheses, because it may become the operand of a comparison.
  return pool[id].op == ir::HostOp::Select ? "(" + text + ")" : text;
}

std::string Formulas::text(ir::HostId id) {
  const auto named = size_names_.find(pool.resolve(id));
  return named == size_names_.end() ? print(id) : named->second;
}

std::string Formulas::address(const std::string& tensor, ir::HostId offset) {
  return pool.is_int(offset, 0) ? tensor : fmt::format("{} + {}", tensor, as_operand(text(offset)));
}

std::vector<std::string> Formulas::take_abbreviated() {
  std::map<ir::HostId, std::string> definitions;  // a node's operands have smaller ids
  while (!abbreviated_.empty()) {
    const ir::HostId id = abbreviated_.back();
    abbreviated_.pop_back();
    if (!definitions.contains(id)) definitions[id] = fmt::format("h{} = {}", id.index, print(id));
  }
  std::vector<std::string> lines;
  for (auto& [id, text] : definitions) lines.push_back(std::move(text));
  return lines;
}

}  // namespace ingot::codegen
