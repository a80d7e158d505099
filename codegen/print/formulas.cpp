#include "codegen/print/formulas.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/error.h"
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

/// Whether the strides are those of a contiguous tensor. The strides of dims of size 1 do not matter.
bool is_contiguous(const ir::SizesAndStrides& extents) {
  const ir::Sizes contiguous = ir::contiguous_strides(extents.sizes);
  for (size_t d = 0; d < extents.sizes.size(); ++d)
    if (extents.sizes[d] != 1 && extents.strides[d] != contiguous[d]) return false;
  return true;
}

}  // namespace

std::string as_operand(const std::string& text) {
  const bool is_simple = text.find_first_of(" -*") == std::string::npos;
  return is_simple ? text : "(" + text + ")";
}

Formulas::Formulas(const ir::Graph& graph, const Outline& outline, const DescribedCall& call)
    : pool(graph.host), graph_(graph), outline_(outline), call_(call) {
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
}

TensorFormulas Formulas::tensor(std::string name, ir::DType dtype, std::vector<ir::HostId> sizes,
                                const ir::SizesAndStrides& extents) {
  TensorFormulas formulas{std::move(name), dtype, std::move(sizes), {}, {}};
  if (is_contiguous(extents)) {
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
      stride_values_.push_back(stride);
    }
  }
  return formulas;
}

Formulas::Strides Formulas::contiguous_strides(std::span<const ir::HostId> sizes) {
  Strides strides(sizes.size());
  ir::HostId stride = pool.integer(1);
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride = pool.mul(stride, sizes[d]);
  }
  return strides;
}

std::vector<ir::HostId> Formulas::workspace_sizes(uint32_t workspace) {
  const Workspace& tensor = outline_.workspaces[workspace];
  std::vector<ir::HostId> sizes = tensor.domain;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (tensor.reduced[d]) sizes[d] = pool.integer(1);
  return sizes;
}

ir::HostId Formulas::workspace_elements(uint32_t workspace) { return pool.product(workspace_sizes(workspace)); }

Formulas::Strides Formulas::strides_of_use(const AccessUse& use) {
  if (use.kind == AccessUse::Kind::Index) return {pool.integer(1)};
  if (use.in_workspace) return contiguous_strides(workspace_sizes(use.tensor));
  return use.kind == AccessUse::Kind::Store ? results_[use.tensor].strides : params_[use.tensor].strides;
}

ir::HostId Formulas::sum_of_terms(const std::vector<ir::Term>& terms, const Strides& strides) {
  ir::HostId sum = pool.integer(0);
  for (const ir::Term& term : terms) sum = pool.add(sum, pool.mul(term.coef, strides[term.dim]));
  return sum;
}

AccessFormulas Formulas::read(const AccessUse& use, const KernelOutline& kernel, std::vector<Equation>& equations) {
  const size_t rank = kernel.domain.size();
  AccessFormulas formulas{pool.integer(0), Strides(rank, pool.integer(0)), {}, {}};
  const Strides strides = strides_of_use(use);
  if (use.in_workspace && use.kind == AccessUse::Kind::Store) {  // one element per row
    for (size_t d = 0; d < rank; ++d)
      if (!kernel.reduced[d]) formulas.strides[d] = strides[d];
    return formulas;
  }
  for (size_t d = 0; d < use.access.offsets.size(); ++d)
    formulas.offset = pool.add(formulas.offset, pool.mul(use.access.offsets[d], strides[d]));
  const size_t shift = rank - use.access.dims.size();
  for (size_t j = 0; j < use.access.dims.size(); ++j) {
    const ir::AccessDim& dim = use.access.dims[j];
    if (call_.host[dim.size.index].as_int() == 1)
      equations.emplace_back(dim.size, pool.integer(1));
    else
      formulas.strides[shift + j] = sum_of_terms(dim.terms, strides);
  }
  for (const ir::IndirectIndex& index : use.access.indirect) {
    formulas.gather_strides.push_back(sum_of_terms(index.terms, strides));
    formulas.gather_extents.push_back(index.extent);
  }
  return formulas;
}

KernelFormulas Formulas::kernel(uint32_t k) {
  const KernelOutline& kernel = outline_.kernels[k];
  const std::vector<std::vector<uint32_t>>& axes = call_.geometries[k].dims;
  KernelFormulas formulas{{}, pool.product(kernel.domain), {}, {}};
  std::vector<bool> is_dropped(kernel.domain.size(), true);
  for (const std::vector<uint32_t>& dims : axes) {
    std::vector<ir::HostId> sizes;
    for (const uint32_t d : dims) {
      sizes.push_back(kernel.domain[d]);
      is_dropped[d] = false;
    }
    formulas.extents.push_back(pool.product(sizes));
  }
  for (size_t d = 0; d < is_dropped.size(); ++d)
    if (is_dropped[d]) formulas.equations.emplace_back(kernel.domain[d], pool.integer(1));

  for (const AccessUse& use : kernel.accesses) {
    AccessFormulas access = read(use, kernel, formulas.equations);
    const Strides by_dim = std::move(access.strides);
    access.strides.clear();
    for (const std::vector<uint32_t>& dims : axes) {
      access.strides.push_back(by_dim[dims.back()]);
      for (size_t m = 0; m + 1 < dims.size(); ++m)  // dims that are merged
        formulas.equations.emplace_back(by_dim[dims[m]], pool.mul(by_dim[dims[m + 1]], kernel.domain[dims[m + 1]]));
    }
    formulas.accesses.push_back(std::move(access));
  }
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

void Formulas::verify(std::span<const std::pair<ir::HostId, int64_t>> values) const {
  std::map<uint32_t, ir::HostValue> numbers;
  for (uint32_t i = 0; i < graph_.host.count(); ++i)
    if (const ir::HostNode& node = graph_.host[{i}]; node.op == ir::HostOp::Scalar) numbers[node.a] = call_.host[i];
  const auto number_of = [&](uint32_t param) {
    const size_t symbol = param - graph_.params.size();
    return param < graph_.params.size() ? numbers[param] : ir::HostValue::of(stride_values_[symbol]);
  };
  std::vector<ir::HostValue> slots(pool.count());
  try {
    ir::evaluate(pool, {[&](uint32_t p, uint32_t dim) { return call_.shapes.params[p].sizes[dim]; }, number_of}, slots);
  } catch (const std::domain_error&) {
    return;  // of an expression that the call does not need
  }
  for (const auto& [id, value] : values)
    if (slots[id.index].as_int() != value)
      throw_internal(fmt::format("the formula `{}` of a launch is {} instead of {}", pool.print(id, names_),
                                 slots[id.index].as_int(), value));
}

}  // namespace ingot::codegen
