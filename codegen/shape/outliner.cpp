#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "base/error.h"
#include "codegen/shape/list_accesses.h"
#include "codegen/shape/outline.h"
#include "codegen/target/names.h"

// Divides a graph into kernels: decides which kernels there are, and which nodes each computes.

namespace ingot::codegen {
namespace {

using ir::Op;

/// A node that must be placed in a kernel: an output block, or the operand of a reduction.
struct Reader {
  const std::vector<ir::HostId>& domain;
  const ir::DimMarks* reduced;           ///< null for an output block
  const std::vector<ir::NodeId>& reads;  ///< the loads of reductions that it depends on
  /// `reads` by the kernels that compute these reductions, so that the check of one kernel looks at few of them.
  std::map<size_t, std::vector<ir::NodeId>> reads_of_kernel;
};

/// Whether a reduction, or a kernel that reduces, has a single row.
bool has_lone_row(const ir::HostPool& host, const auto& rows) {
  for (size_t d = 0; d < rows.domain.size(); ++d)
    if (!rows.reduced[d] && !host.is_int(rows.domain[d], 1)) return false;
  return true;
}

/// Places the reductions and output blocks of a graph in kernels.
class Outliner {
 public:
  Outliner(const ir::Graph& graph, PartitionStrategy strategy)
      : graph_(graph), host_(graph.host), strategy_(strategy), reads_any_(graph.count()) {
    for (uint32_t i = 0; i < graph.count(); ++i)
      reads_any_[i] = graph.reduction_read({i}) || std::ranges::any_of(graph[{i}].args, [&](ir::NodeId arg) {
                        return graph[arg].op != Op::Reduce && reads_any_[arg.index];
                      });
  }

  Outline run() {
    reductions_ = reductions();
    for (const ir::NodeId id : reductions_) place_reduction(id, 0);
    const size_t first_late_kernel = outline_.kernels.size();
    for (const ir::NodeId id : late_) place_reduction(id, first_late_kernel);
    first_plain_kernel_ = outline_.kernels.size();
    for (uint32_t r = 0; r < graph_.results.size(); ++r)
      for (uint32_t p = 0; p < graph_.results[r].blocks.size(); ++p) place_output_block(r, p);
    const std::string name = entry_name(graph_.name);
    for (size_t k = 0; k < outline_.kernels.size(); ++k) {
      outline_.kernels[k].name = k == 0 ? name : name + "_" + std::to_string(k);
      if (outline_.kernels[k].reduces()) outline_.kernels[k].row_order = load_that_orders_rows(outline_.kernels[k]);
      list_accesses(graph_, outline_.workspaces, workspace_of_, outline_.kernels[k]);
    }
    return std::move(outline_);
  }

 private:
  /// The reductions in the order of placement, without the late reductions (is_late), which are collected in `late_`.
  /// The order is the graph's. But if fused column partials are allowed, some reductions along the innermost dim come
  /// first, because the kernels that may compute the partials must exist already: all that depend on no other
  /// reductions than those that come first.
  std::vector<ir::NodeId> reductions() {
    const std::vector<bool> live = graph_.live();
    std::vector<ir::NodeId> all, along, others;
    for (uint32_t i = 0; i < graph_.count(); ++i)
      if (live[i] && graph_[{i}].op == Op::Reduce) all.push_back({i});
    for (const ir::NodeId id : all)
      for (const ir::NodeId load : reads_of(graph_[id].args[0])) reduction_inputs_.insert(*graph_.reduction_read(load));
    std::ranges::copy_if(all, std::back_inserter(late_), [&](ir::NodeId id) { return is_late(id); });
    std::set<ir::NodeId> ahead;
    for (const ir::NodeId id : all) {
      if (std::ranges::binary_search(late_, id)) continue;
      const ir::Reduction& reduction = graph_.reduction(id);
      const bool goes_ahead =
          strategy_ == PartitionStrategy::FusedColumns && is_along(reduction.domain, reduction.reduced) &&
          std::ranges::all_of(reads_of(graph_[id].args[0]),
                              [&](ir::NodeId load) { return ahead.contains(*graph_.reduction_read(load)); });
      if (goes_ahead) ahead.insert(id);
      (goes_ahead ? along : others).push_back(id);
    }
    along.insert(along.end(), others.begin(), others.end());
    return along;
  }

  /// Whether a reduction to one number should be placed with output blocks that wait for other reductions of the same
  /// elements: these output blocks read the reduction's operands, and the reductions for which they wait do not. For
  /// example, the mean of a loss over boxes is computed together with the boxes' gradients. Both wait until the boxes
  /// are counted, and the count reads fewer operands.
  bool is_late(ir::NodeId id) const {
    const ir::Reduction& reduction = graph_.reduction(id);
    if (!has_kernel_per_phase(reduction) || !has_lone_row(host_, reduction) || reduction_inputs_.contains(id))
      return false;
    std::set<ir::NodeId> awaited, waiting;  // operands of the awaited reductions, and of the output blocks that wait
    for (const ir::Result& result : graph_.results)
      for (const ir::OutputBlock& part : result.blocks) {
        if (!host_.same(part.domain, reduction.domain)) continue;
        for (const ir::NodeId other : reductions_read_by(part.node)) {
          if (other == id) return false;
          if (!host_.same(graph_.reduction(other).domain, reduction.domain)) continue;
          awaited.merge(tensors_read(graph_[other].args[0]));
          waiting.merge(tensors_read(part.node));
        }
      }
    const std::set<ir::NodeId> operands = tensors_read(graph_[id].args[0]);
    return std::ranges::includes(waiting, operands) && !std::ranges::includes(awaited, operands);
  }

  /// The loads and gathers of tensors that a node depends on.
  std::set<ir::NodeId> tensors_read(ir::NodeId root) const {
    std::set<ir::NodeId> reads;
    for (const ir::NodeId id : nodes_of(graph_, {root}))
      if ((graph_[id].op == Op::Load || graph_[id].op == Op::Gather) && !graph_.reduction_read(id)) reads.insert(id);
    return reads;
  }

  /// Whether the innermost dim is reduced.
  bool is_along(const std::vector<ir::HostId>& domain, const ir::DimMarks& reduced) const {
    for (size_t d = domain.size(); d-- > 0;)
      if (!host_.is_int(domain[d], 1)) return reduced[d];
    return false;
  }

  /// The loads of reductions that a node depends on.
  const std::vector<ir::NodeId>& reads_of(ir::NodeId root) const {
    const auto [entry, is_new] = reads_of_.try_emplace(root);
    std::vector<ir::NodeId>& reads = entry->second;
    if (!is_new || !reads_any_[root.index]) return reads;
    reads = nodes_of(graph_, {root});
    std::erase_if(reads, [&](ir::NodeId id) { return !graph_.reduction_read(id); });
    return reads;
  }

  /// The reductions that a node reads; in place of a row value, those that the row value reads.
  std::set<ir::NodeId> reductions_read_by(ir::NodeId root) const {
    std::set<ir::NodeId> reductions;
    for (const ir::NodeId load : reads_of(root)) {
      const ir::NodeId reduction = *graph_.reduction_read(load);
      if (graph_.reduction(reduction).is_row_value)
        reductions.merge(reductions_read_by(graph_[reduction].args[0]));
      else
        reductions.insert(reduction);
    }
    return reductions;
  }

  size_t kernel_of(ir::NodeId load) const { return kernel_of_.at(*graph_.reduction_read(load)); }

  Reader reader_of(const std::vector<ir::HostId>& domain, const ir::DimMarks* reduced, ir::NodeId root) const {
    Reader reader{domain, reduced, reads_of(root), {}};
    for (const ir::NodeId load : reader.reads) reader.reads_of_kernel[kernel_of(load)].push_back(load);
    return reader;
  }

  /// The reader's loads of reductions of kernel k.
  std::span<const ir::NodeId> reads_in(size_t k, const Reader& reader) const {
    const auto entry = reader.reads_of_kernel.find(k);
    return entry == reader.reads_of_kernel.end() ? std::span<const ir::NodeId>() : entry->second;
  }

  /// Whether the reader reads a reduction of a kernel after k.
  bool reads_later(size_t k, const Reader& reader) const {
    return !reader.reads_of_kernel.empty() && reader.reads_of_kernel.rbegin()->first > k;
  }

  /// The phase of kernel k that follows all of its phases whose reductions the reader reads.
  uint32_t phase_after(size_t k, const Reader& reader) const {
    uint32_t phase = 0;
    for (const ir::NodeId load : reads_in(k, reader))
      phase = std::max(phase, phase_of_.at(*graph_.reduction_read(load)) + 1);
    return phase;
  }

  /// Whether each phase has its own kernel, for the rows of a kernel or of a reduction.
  bool has_kernel_per_phase(const auto& rows) const {
    return strategy_ == PartitionStrategy::PerPhase ||
           (strategy_ == PartitionStrategy::FusedColumns && has_lone_row(host_, rows));
  }

  /// Whether the domain has one element per row of the kernel.
  bool has_element_per_row(const KernelOutline& kernel, const std::vector<ir::HostId>& domain) const {
    if (domain.size() != kernel.domain.size()) return false;
    for (size_t d = 0; d < domain.size(); ++d)
      if (!(kernel.reduced[d] ? host_.is_int(domain[d], 1) : host_.same(domain[d], kernel.domain[d]))) return false;
    return true;
  }

  /// The reason why a reader cannot be in kernel k, which reduces; nothing if it can. The reader may read reductions of
  /// kernel k row by row only, and reductions of earlier kernels in any way.
  std::optional<SplitReason> split_reason(size_t k, const Reader& reader) const {
    const KernelOutline& kernel = outline_.kernels[k];
    const std::span<const ir::NodeId> reads = reads_in(k, reader);
    const auto is_gather = [&](ir::NodeId load) { return graph_[load].op == Op::Gather; };
    const auto by_other_rows = [&](ir::NodeId load) { return !ir::reads_rows(graph_, load); };
    const bool of_row = !reader.reduced && has_element_per_row(kernel, reader.domain);
    const bool is_same_domain = of_row || host_.same(kernel.domain, reader.domain);
    if (std::ranges::any_of(reads, is_gather)) return SplitReason::Gathered;
    if (reader.reduced && (!is_same_domain || kernel.reduced != *reader.reduced)) return SplitReason::OtherReduction;
    if (!is_same_domain || std::ranges::any_of(reads, by_other_rows)) return SplitReason::OtherRows;
    if (reads_later(k, reader)) return SplitReason::LaterReads;
    // A kernel that combines fused column partials does not read elements: it only has the values of its rows.
    if (kernel.partials_writer && !reader.reduced && !of_row) return SplitReason::OtherRows;
    if (kernel.partials_writer && reader.reduced && !can_compute_columns_of(*kernel.partials_writer, reader))
      return SplitReason::OtherReduction;
    if (of_row || phase_after(k, reader) == 0) return std::nullopt;
    if (has_kernel_per_phase(kernel)) return SplitReason::PerPhase;
    if (strategy_ == PartitionStrategy::StoresApart && !reader.reduced) return SplitReason::StoredApart;
    return std::nullopt;
  }

  /// Whether the reader is reduced along the columns of the kernel's rows: each dim of size above 1 is reduced either
  /// by the kernel or by the reader, but not by both.
  bool are_across(const KernelOutline& kernel, const Reader& reader) const {
    if (!reader.reduced || !host_.same(kernel.domain, reader.domain)) return false;
    for (size_t d = 0; d < kernel.domain.size(); ++d)
      if (kernel.reduced[d] == (*reader.reduced)[d] && !host_.is_int(kernel.domain[d], 1)) return false;
    return true;
  }

  /// Whether, while kernel k traverses its rows, every operand of the reader, a reduction along its columns, is
  /// available.
  bool can_compute_columns_of(size_t k, const Reader& reader) const {
    return !reads_later(k, reader) && std::ranges::all_of(reads_in(k, reader), [&](ir::NodeId load) {
      return graph_[load].op == Op::Load && ir::reads_rows(graph_, load);
    });
  }

  /// Whether a thread has registers for the column accumulators of all reductions that are over the same columns as
  /// `like`. If not, these reductions should all be in a kernel of their own.
  bool column_accumulators_fit(const ir::Reduction& like) const {
    constexpr int kBytes = 20;
    int bytes = 0;
    for (const ir::NodeId id : reductions_) {
      const ir::Reduction& reduction = graph_.reduction(id);
      if (reduction.reduced != like.reduced || !host_.same(reduction.domain, like.domain)) continue;
      if (ir::info(reduction.kind).value_count > 1) return false;
      bytes += ir::size_of(graph_[id].dtype);
    }
    return bytes <= kBytes;
  }

  /// The kernel that can compute fused column partials of a reduction, if there is one.
  std::optional<uint32_t> row_kernel_for_columns(ir::NodeId id, const Reader& reader) const {
    if (strategy_ != PartitionStrategy::FusedColumns || !column_accumulators_fit(graph_.reduction(id)))
      return std::nullopt;
    for (uint32_t k = 0; k < outline_.kernels.size(); ++k) {
      const KernelOutline& kernel = outline_.kernels[k];
      if (kernel.partials_writer || !kernel.column_reductions.empty() || has_lone_row(host_, kernel)) continue;
      if (!is_along(kernel.domain, kernel.reduced)) continue;
      if (are_across(kernel, reader) && can_compute_columns_of(k, reader) && shares_reads(kernel, graph_[id].args[0]))
        return k;
    }
    return std::nullopt;
  }

  /// Whether some output block is over the domain of reduction `id`, a reduction along columns, shares an operand with
  /// it, and reads only reductions that are placed already.
  bool has_matching_output_block(ir::NodeId id, const Reader& reader) const {
    const ir::Reduction& reduction = graph_.reduction(id);
    if (strategy_ != PartitionStrategy::FusedColumns || !column_accumulators_fit(reduction) ||
        is_along(reduction.domain, reduction.reduced))
      return false;
    const auto is_known = [&](ir::NodeId load) { return kernel_of_.contains(*graph_.reduction_read(load)); };
    if (!std::ranges::all_of(reader.reads, is_known)) return false;
    const std::vector<ir::NodeId> reads = nodes_of(graph_, {graph_[id].args[0]});
    const auto is_shared = [&](ir::NodeId node) {
      return ir::has_access(graph_[node].op) && std::ranges::binary_search(reads, node);
    };
    for (const ir::Result& result : graph_.results)
      for (const ir::OutputBlock& part : result.blocks)
        if (host_.same(part.domain, reduction.domain) && std::ranges::all_of(reads_of(part.node), is_known) &&
            std::ranges::any_of(nodes_of(graph_, {part.node}), is_shared))
          return true;
    return false;
  }

  /// Adds a kernel that reduces nothing itself: it traverses the rows whose columns `reduction` reduces, to compute
  /// fused column partials, and output blocks over the same domain.
  uint32_t add_kernel_over_rows(const ir::Reduction& reduction) {
    const auto k = static_cast<uint32_t>(outline_.kernels.size());
    KernelOutline& kernel = outline_.kernels.emplace_back();
    kernel.domain = reduction.domain;
    for (size_t d = 0; d < reduction.domain.size(); ++d)
      kernel.reduced.push_back(!reduction.reduced[d] && !host_.is_int(reduction.domain[d], 1));
    return k;
  }

  /// Adds a kernel for a reduction, and another one for its fused column partials if needed.
  size_t kernel_for(ir::NodeId id, const Reader& reader) {
    const ir::Reduction& reduction = graph_.reduction(id);
    std::optional<uint32_t> row_kernel = row_kernel_for_columns(id, reader);
    if (!row_kernel && has_matching_output_block(id, reader)) row_kernel = add_kernel_over_rows(reduction);
    KernelOutline& kernel = outline_.kernels.emplace_back();
    kernel.domain = reduction.domain;
    kernel.reduced = reduction.reduced;
    kernel.partials_writer = row_kernel;
    return outline_.kernels.size() - 1;
  }

  /// Places a reduction in the last suitable kernel from `first` on, or in a new one.
  void place_reduction(ir::NodeId id, size_t first) {
    const ir::Reduction& reduction = graph_.reduction(id);
    const Reader reader = reader_of(reduction.domain, &reduction.reduced, graph_[id].args[0]);
    if (reduction.is_row_value) return place_row_value(id, reader);
    std::optional<size_t> suitable;
    for (size_t k = outline_.kernels.size(); k-- > first && !suitable;)
      if (!split_reason(k, reader)) suitable = k;
    const size_t k = suitable ? *suitable : kernel_for(id, reader);
    kernel_of_[id] = k;
    phase_of_[id] = phase_after(k, reader);
    outline_.kernels[k].reductions.push_back({id, phase_of_[id]});
    const std::optional<uint32_t> row_kernel = outline_.kernels[k].partials_writer;
    if (row_kernel) outline_.kernels[*row_kernel].column_reductions.push_back({id, phase_after(*row_kernel, reader)});
    add_workspaces(row_kernel.value_or(k), reader);
  }

  /// Places the reduction of a row value in the last kernel whose reductions the row value reads.
  void place_row_value(ir::NodeId id, const Reader& reader) {
    const size_t k = reader.reads_of_kernel.rbegin()->first;
    kernel_of_[id] = k;
    phase_of_[id] = phase_after(k, reader) - 1;  // so that its readers follow the same phases as before
    outline_.kernels[k].row_values.push_back(id);
    add_workspaces(k, reader);
  }

  /// Adds a workspace for each value of another kernel's reduction that the reader, which is in kernel k, reads.
  void add_workspaces(size_t k, const Reader& reader) {
    for (const ir::NodeId load : reader.reads) {
      const size_t producer = kernel_of(load);
      if (producer == k && graph_.reduction(*graph_.reduction_read(load)).is_row_value)
        throw_internal("a row value is loaded in its own kernel", print(graph_));
      if (producer == k) continue;
      const ReducedValue value{*graph_.reduction_read(load), graph_.access(load).source.index};
      const auto workspace = static_cast<uint32_t>(outline_.workspaces.size());
      if (!workspace_of_.emplace(value, workspace).second) continue;
      const ir::Reduction& reduction = graph_.reduction(value.first);
      outline_.workspaces.push_back({graph_[load].dtype, reduction.domain, reduction.reduced});
      outline_.kernels[producer].workspace_stores.push_back(
          {.node = value.first,
           .value = value.second,
           .workspace = workspace,
           .split_reason = split_reason(producer, reader).value_or(SplitReason::LaterReads)});
    }
  }

  /// Whether a node shares an operand with the kernel.
  bool shares_reads(const KernelOutline& kernel, ir::NodeId node) const {
    const std::vector<ir::NodeId> kernel_nodes = nodes_of(graph_, kernel);  // ascending
    return std::ranges::any_of(nodes_of(graph_, {node}), [&](ir::NodeId id) {
      return is_access(graph_, kernel, id) && std::ranges::binary_search(kernel_nodes, id);
    });
  }

  /// Places block p of result r in a kernel.
  void place_output_block(uint32_t r, uint32_t p) {
    const ir::OutputBlock& part = graph_.results[r].blocks[p];
    const Reader reader = reader_of(part.domain, nullptr, part.node);
    // An output block joins the last kernel whose reductions it reads. If it reads none, it joins the first kernel with
    // which it shares an operand.
    std::optional<size_t> joined;
    for (size_t k = first_plain_kernel_; k-- > 0;) {
      if (split_reason(k, reader)) continue;
      const KernelOutline& kernel = outline_.kernels[k];
      const uint32_t phase = phase_after(k, reader);
      if (phase == 0 && (has_element_per_row(kernel, part.domain) || !shares_reads(kernel, part.node))) continue;
      joined = k;
      if (phase > 0) break;
    }
    if (joined) {
      KernelOutline& kernel = outline_.kernels[*joined];
      kernel.output_blocks.push_back({r, p, has_element_per_row(kernel, part.domain), phase_after(*joined, reader)});
      return add_workspaces(*joined, reader);
    }
    const auto plain = outline_.kernels.begin() + static_cast<ptrdiff_t>(first_plain_kernel_);
    auto kernel = std::find_if(plain, outline_.kernels.end(),
                               [&](const KernelOutline& k) { return host_.same(k.domain, part.domain); });
    if (kernel == outline_.kernels.end()) {
      outline_.kernels.emplace_back().domain = part.domain;
      kernel = outline_.kernels.end() - 1;
    }
    kernel->output_blocks.push_back({r, p});
    add_workspaces(static_cast<size_t>(kernel - outline_.kernels.begin()), reader);
  }

  /// The load that orders the reduced dims of a kernel's rows: of all loads over the same domain, in any kernel, the
  /// first of those that vary along most reduced dims (docs/performance.md: order-of-memory). None, so that the
  /// domain's order applies, if no load varies along two of them, or if a reduction of these rows finds an index
  /// (ArgMax, ArgMin), which counts in that order.
  std::optional<AccessUse> load_that_orders_rows(const KernelOutline& kernel) const {
    if (std::ranges::count(kernel.reduced, true) < 2) return std::nullopt;
    std::set<ir::NodeId> roots;
    for (const auto& [id, k] : kernel_of_) {
      const ir::Reduction& reduction = graph_.reduction(id);
      if (!host_.same(reduction.domain, kernel.domain)) continue;
      if (reduction.reduced == kernel.reduced && ir::info(reduction.kind).value_count > 1) return std::nullopt;
      roots.insert(graph_[id].args[0]);
    }
    for (const ir::Result& result : graph_.results)
      for (const ir::OutputBlock& part : result.blocks)
        if (host_.same(part.domain, kernel.domain)) roots.insert(part.node);
    std::optional<ir::NodeId> best;
    size_t most = 0;
    for (const ir::NodeId id : nodes_of(graph_, {roots.begin(), roots.end()})) {
      if (graph_[id].op != Op::Load || graph_.reduction_read(id)) continue;
      if (const size_t dims = varying_dims(id, kernel.reduced); dims > most) best = id, most = dims;
    }
    if (most < 2) return std::nullopt;
    const ir::Access& access = graph_.access(*best);
    return AccessUse{.tensor = access.source.index, .dtype = graph_[*best].dtype, .access = access, .text = {}};
  }

  /// The number of reduced dims along which a load varies.
  size_t varying_dims(ir::NodeId load, const ir::DimMarks& reduced) const {
    const std::vector<ir::AccessDim>& dims = graph_.access(load).dims;
    const size_t shift = reduced.size() - dims.size();
    size_t count = 0;
    for (size_t j = 0; j < dims.size(); ++j) count += reduced[shift + j] && !dims[j].terms.empty();
    return count;
  }

  const ir::Graph& graph_;
  const ir::HostPool& host_;
  const PartitionStrategy strategy_;
  std::vector<ir::NodeId> reductions_;  ///< in the order of placement, without the late ones
  std::vector<ir::NodeId> late_;
  std::vector<bool> reads_any_;  ///< for each node, whether it depends on a load of a reduction
  Outline outline_;
  size_t first_plain_kernel_ = 0;          ///< kernels from here on reduce nothing
  std::set<ir::NodeId> reduction_inputs_;  ///< the reductions that other reductions depend on
  mutable std::unordered_map<ir::NodeId, std::vector<ir::NodeId>> reads_of_;
  std::unordered_map<ir::NodeId, size_t> kernel_of_;
  std::unordered_map<ir::NodeId, uint32_t> phase_of_;
  std::map<ReducedValue, uint32_t> workspace_of_;
};

}  // namespace

Outline outline(const ir::Graph& graph, PartitionStrategy strategy) { return Outliner(graph, strategy).run(); }

}  // namespace ingot::codegen
