#include "frontend/tensor/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "frontend/tensor/layouts.h"
#include "frontend/tensor/promotion.h"
#include "frontend/tensor/tensors.h"

// Makes results from tensors: each concat block becomes an output block. The access that stores the output block
// follows from the merged dims of the concat block and its offsets in the grid.

namespace ingot::frontend {
namespace {

/// Adjacent blocks whose last dim is at most this long are split into single elements. The blocks then have the same
/// domain, so that a kernel can write adjacent elements as one vector.
constexpr int64_t kShortDim = 4;

/// The maximum number of results: a C++ compiler takes too long for more (docs/performance.md: compile-limits). On
/// CUDA, an op with more than some hundreds of results fails when its kernel is built, because of the size of the
/// arguments.
constexpr size_t kMaxResults = 4096;

std::optional<int64_t> last_size(Builder& builder, const ConcatBlock& block) {
  if (block.shape.empty() || dims_of(block.groups, block.offsets.size() - 1).count != 1) return std::nullopt;
  const ir::HostId size = builder.graph.host.resolve(block.shape.back());
  if (!builder.graph.host.is_constant(size)) return std::nullopt;
  return builder.graph.host.value(size).as_int();
}

/// Splits adjacent blocks that are all short along the last dim into one block per element: [n, 2] next to [n, 2]
/// becomes four times [n, 1].
void split_short_blocks(Builder& builder, Tensor& tensor) {
  if (tensor.blocks.size() < 2 || tensor.grid.empty()) return;
  const size_t dim = tensor.grid.size() - 1;
  const auto is_short_part = [&](const ConcatBlock& block) {
    const auto size = last_size(builder, block);
    return size && *size <= kShortDim &&
           !builder.graph.host.is_int(builder.graph.host.resolve(tensor.grid[dim]), *size);
  };
  if (!std::ranges::all_of(tensor.blocks, is_short_part)) return;
  std::vector<ConcatBlock> elements;
  for (const ConcatBlock& block : tensor.blocks) {
    for (int64_t i = 0; i < *last_size(builder, block); ++i) {
      const ir::HostId position = builder.integer(i);
      elements.push_back(slice_block(builder, block, dim, position, builder.integer(1), 1));
      elements.back().offsets[dim] = builder.add(block.offsets[dim], position);
    }
  }
  tensor.blocks = std::move(elements);
}

/// For each of the dims that `groups` merges, a term: the dim that it is merged into, and its step along that dim.
std::vector<ir::Term> merge_terms(Builder& builder, std::span<const ir::HostId> sizes, const Reassociation& groups) {
  std::vector<ir::Term> terms;
  const size_t count = groups.empty() ? sizes.size() : groups.size();
  for (uint32_t dim = 0; dim < count; ++dim) {
    const auto [begin, merged_count] = dims_of(groups, dim);
    for (size_t d = begin; d < begin + merged_count; ++d) {
      terms.push_back({dim, product(builder, sizes.subspan(d + 1, begin + merged_count - d - 1))});
    }
  }
  return terms;
}

ir::OutputBlock make_output_block(Builder& builder, const Tensor& tensor, const ConcatBlock& block) {
  ir::HostPool& host = builder.graph.host;
  const std::vector<ir::Term> grid_terms = merge_terms(builder, tensor.grid, tensor.groups);
  const std::vector<ir::Term> block_terms = merge_terms(builder, block.shape, block.groups);
  ir::OutputBlock output{rounded_to_dtype(builder, block.node, tensor.dtype), {}, {}};
  output.store.offsets.assign(tensor.rank(), builder.integer(0));
  for (size_t d = 0; d < block.offsets.size(); ++d) {
    ir::HostId& offset = output.store.offsets[grid_terms[d].dim];
    offset = builder.add(offset, builder.mul(block.offsets[d], grid_terms[d].coef));
  }
  for (size_t j = 0; j < block.shape.size(); ++j) {
    const ir::HostId size = host.resolve(block.shape[j]);
    const auto& [result_dim, grid_step] = grid_terms[block_terms[j].dim];
    ir::AccessDim dim{size, {{result_dim, builder.mul(block_terms[j].coef, grid_step)}}};
    if (host.is_int(size, 1)) dim.terms.clear();
    output.domain.push_back(size);
    output.store.dims.push_back(std::move(dim));
  }
  builder.graph.copy_names_and_locations(builder.graph, block.node, output.node);
  return output;
}

/// The author's name for a tensor, chosen among the names that all of its blocks and no parameter have: the tensor's
/// own name if it is one of these, else the last one.
std::string authors_name(const Builder& builder, const Tensor& tensor) {
  std::string chosen;
  for (const std::string& name : builder.graph.names(tensor.blocks.front().node)) {
    const bool is_shared = std::ranges::all_of(
        tensor.blocks, [&](const ConcatBlock& block) { return builder.graph.has_name(block.node, name); });
    if (!is_shared || std::ranges::count(builder.graph.params, name, &ir::Param::name) != 0) continue;
    if (name == tensor.name) return name;
    chosen = name;
  }
  return chosen;
}

ir::Result result_of(Builder& builder, Tensor tensor) {
  ir::Result result;
  result.dtype = tensor.dtype;
  result.shape = shape_of(builder, tensor);
  split_short_blocks(builder, tensor);
  for (const ConcatBlock& block : tensor.blocks) result.blocks.push_back(make_output_block(builder, tensor, block));
  return result;
}

/// Whether two accesses map each index to the same element. One of them may have additional leading dims of size 1.
bool same_elements(const ir::HostPool& host, const ir::Access& a, const ir::Access& b) {
  const auto same = [&](ir::HostId x, ir::HostId y) { return host.same(x, y); };
  const auto same_term = [&](const ir::Term& x, const ir::Term& y) { return x.dim == y.dim && same(x.coef, y.coef); };
  const auto is_one = [&](const ir::AccessDim& dim) { return host.is_int(host.resolve(dim.size), 1); };
  const auto same_dim = [&](const ir::AccessDim& x, const ir::AccessDim& y) {
    return same(x.size, y.size) && (is_one(x) || std::ranges::equal(x.terms, y.terms, same_term));
  };
  return std::ranges::equal(a.offsets, b.offsets, same) &&
         std::ranges::equal(std::views::drop_while(a.dims, is_one), std::views::drop_while(b.dims, is_one), same_dim);
}

/// Whether an output block stores the values that a parameter already has at the same position.
bool is_untouched(const Builder& builder, const ir::OutputBlock& output, uint32_t param) {
  const ir::Graph& graph = builder.graph;
  if (graph[output.node].op != ir::Op::Load) return false;
  const ir::Access& load = graph.access(output.node);
  return load.source == ir::SourceRef{ir::SourceRef::Kind::Param, param} &&
         same_elements(graph.host, load, output.store);
}

void make_mutation(Builder& builder, const Value& value, uint32_t param) {
  const ir::Param& written = builder.graph.params[param];
  if (written.kind == ir::ParamKind::Number) {
    builder.fail(fmt::format("`{}` is changed in place, but it is a CPU tensor in an op on CUDA", written.name),
                 "an op writes on one device: change it before or after the call");
  }
  const Tensor& tensor = *value.tensor();
  ir::Result result = result_of(builder, tensor);
  result.name = written.name;
  result.mutates = param;
  const auto untouched = [&](const ir::OutputBlock& output) { return is_untouched(builder, output, param); };
  if (!std::ranges::all_of(result.blocks, untouched)) std::erase_if(result.blocks, untouched);
  result.layout = record_preserve(builder, tensor.handle, result.shape);
  builder.graph.results.push_back(std::move(result));
}

void make_result(Builder& builder, const Value& value, const std::string& default_name) {
  if (!value.is_tensor()) {
    builder.fail(fmt::format("an op returns tensors, not {}", describe(value)),
                 value.is_number() ? "a number alone needs no kernel: give it the shape of a tensor with full_like"
                 : value.is_none() ? "does every path through the op end with `return`?"
                 : value.items()   ? "return one flat tuple of tensors"
                                   : "");
  }
  if (const auto param = mutated_parameter(value)) {
    const std::string& name = builder.graph.params[*param].name;
    builder.fail(
        fmt::format("`{}` is changed in place, but it or a view of it is returned", name),
        fmt::format("a result must be a new tensor: the caller has `{}` already, so do not return it, or return "
                    "a .clone()",
                    name));
  }
  const Tensor tensor = *value.tensor();
  if (tensor.on_host) {
    builder.fail("the op returns a CPU tensor: it is computed from CPU scalars and numbers alone",
                 "compute it outside of the op, or move it: s.to(x.device)");
  }
  ir::Result result = result_of(builder, tensor);
  result.name = authors_name(builder, tensor);
  const bool is_taken = std::ranges::count(builder.graph.results, result.name, &ir::Result::name) > 0;
  if (result.name.empty() || is_taken) result.name = default_name;

  // A result never aliases an argument: a view becomes a copy.
  using Kind = ir::LayoutStep::Kind;
  const Kind kind = builder.graph.eager_layouts[tensor.handle].kind;
  const bool is_view = kind == Kind::Param || kind == Kind::View || kind == Kind::Reshape || kind == Kind::Unformatted;
  result.layout = is_view ? record_preserve(builder, tensor.handle, result.shape) : tensor.handle;
  builder.graph.results.push_back(std::move(result));
}

}  // namespace

bool make_mutations(Builder& builder, std::span<const std::optional<Value>> arguments) {
  bool has_mutations = false;
  for (uint32_t param = 0; param < arguments.size(); ++param) {
    if (!arguments[param] || mutated_parameter(*arguments[param]) != param) continue;
    make_mutation(builder, *arguments[param], param);
    has_mutations = true;
  }
  return has_mutations;
}

namespace {

/// Turns a result, which holds zeros so far, into a sum. The terms of the sum become additional results after the
/// existing ones.
void make_sum(Builder& builder, size_t result, const ScatteredSum& sum) {
  std::vector<ir::Result>& results = builder.graph.results;
  const auto add_summand = [&](const Tensor& tensor, std::string_view what) {
    return make_inner_result(builder, tensor, ir::Use::Summed, fmt::format("{}_{}", results[result].name, what));
  };
  std::vector<ir::ScatterAdd> scatters;
  for (const TensorScatterAdd& scatter_add : sum.scatter_adds)
    scatters.push_back({add_summand(scatter_add.values, "values"), add_summand(scatter_add.positions, "positions"),
                        scatter_add.scattered_dims, scatter_add.copied_dims});
  if (sum.addend) results[result].addend = add_summand(*sum.addend, "addend");
  results[result].scatters = std::move(scatters);
  results[result].blocks.clear();
}

ir::Returns returns_of(const Value& items) {
  if (items.is<List>()) return ir::Returns::List;
  const TupleType* type = items.is<Tuple>() ? items.as<Tuple>().type.get() : nullptr;
  for (const ir::NamedTuple& named : ir::kNamedTuples)
    if (type != nullptr && type->name == named.name) return named.returns;
  return ir::Returns::Tuple;
}

void make_returned(Builder& builder, const Value& returned) {
  const std::vector<Value>* items = returned.items();
  if (!items) return make_result(builder, returned, "out");
  if (items->empty()) builder.fail("the op returns nothing", "return a tensor, or a tuple of tensors");
  if (items->size() > kMaxResults) {
    builder.fail(fmt::format("the op returns {} tensors, more than {}", items->size(), kMaxResults),
                 "stack tensors of one shape, or split the op into several");
  }
  builder.graph.returns = returns_of(returned);
  for (size_t i = 0; i < items->size(); ++i) {
    make_result(builder, (*items)[i], items->size() == 1 ? "out" : fmt::format("out{}", i));
  }
}

}  // namespace

void make_results(Builder& builder, const Value& returned) {
  const size_t first = builder.graph.results.size();
  make_returned(builder, returned);
  for (const auto& [position, sum] : builder.scattered_sums) make_sum(builder, first + position, sum);
}

uint32_t make_inner_result(Builder& builder, const Tensor& tensor, ir::Use use, std::string name) {
  ir::Result result = result_of(builder, tensor);
  const auto is_taken = [&](const std::string& candidate) {
    return std::ranges::count(builder.graph.results, candidate, &ir::Result::name) > 0 ||
           std::ranges::count(builder.graph.params, candidate, &ir::Param::name) > 0;
  };
  while (is_taken(name)) name += "_";
  result.name = std::move(name);
  result.layout = record_contiguous(builder, result.shape);
  result.use = use;
  builder.graph.results.push_back(std::move(result));
  return static_cast<uint32_t>(builder.graph.results.size() - 1);
}

}  // namespace ingot::frontend
