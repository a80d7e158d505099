#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/kernel/plan_body.h"
#include "codegen/print/body_printer.h"
#include "codegen/schedule/plan_policy.h"
#include "codegen/target/names.h"

// The memory side of a kernel's plan: how elements map to threads and lanes, which accesses are made together, what the
// arguments are called, and where in memory an access goes.

namespace ingot::codegen {

/// What the rooms of planning share about one kernel.
struct KernelContext {
  const ir::Graph& graph;
  const KernelOutline& outline;
  const KernelLayout& layout;
  Target target;
  Options options;

  bool cuda() const { return target.kind == Target::Kind::Cuda; }
};

/// How one access is made.
struct AccessPlan {
  std::string pointer;  ///< the argument
  std::string row;      ///< what is indexed: the pointer, or on the CPU the pointer to the row; empty for an Index
  uint32_t shift = 0;   ///< elements from `pointer`, for the neighbours of a group
  bool vector = false;  ///< `lanes` elements along the innermost axis at once
  uint32_t group = 0;   ///< the leader's number; the access's own if it is alone
  bool moves_inside = false;         ///< along the innermost axis
  bool linear = false;               ///< indexed by the linear index of the domain, of more than one axis
  std::vector<std::string> strides;  ///< one an axis: "", "1" or the argument
  std::vector<std::string> lead_strides, lead_extents;
};

class Accesses {
 public:
  /// Claims the names of tensors; once the author's other names are claimed too, `name_the_rest` claims those of axes,
  /// sizes, strides and vectors, and nothing may be asked before.
  Accesses(const KernelContext& context, uint32_t lanes, Names& names);
  void name_the_rest(Names& names);

  const AccessPlan& operator[](uint32_t access) const { return plans_[access]; }
  size_t count() const { return plans_.size(); }
  ir::DType index_dtype() const;
  /// The first access that has the same strides by construction, and so shares its arguments.
  uint32_t stride_owner(uint32_t access) const { return stride_owner_[access]; }
  /// The chunks of a group that has more than one member (CUDA); empty for all others.
  const std::vector<Chunk>& chunks(uint32_t leader) const { return chunks_[leader]; }
  /// The chunk that an access is part of; of width 1 if it is made by itself.
  Chunk chunk_of(uint32_t access) const;
  /// The local with a vector of elements: "x4"; with a chunk of a group: "pred4", or "pred_01" where there are several.
  const std::string& vector_name(uint32_t access) const { return vectors_.at({access, 0}); }
  const std::string& chunk_name(uint32_t leader, Chunk chunk) const { return vectors_.at({leader, chunk.first}); }

  /// Fills in axes, index_type, linear, numel, row.
  void describe_domain(KernelPlan& plan) const;
  /// Fills in launch.arguments, types and comments; `scalars`: the names of the kernel's. What the body has no use for
  /// is left out, so the body must be there.
  void describe_arguments(KernelPlan& plan, const std::vector<std::string>& scalars) const;

  /// The sum of coordinate · stride over the axes (on the CPU the innermost alone, the rest being in the row's
  /// pointer), plus the shift; "0" where nothing moves. `lane`: of the lane's own element, else of the vector's first.
  std::string offset(uint32_t access, bool lane) const;
  /// The pointers to rows that the inner loop needs (CPU, more than one axis), of these groups.
  Block row_pointers(const std::vector<bool>& used) const;
  /// The coordinate that an Index access stands for; none where the kernel has no such axis, so that it is always 0.
  std::optional<Text> coordinate(uint32_t access) const;

  const std::string& lane_name() const { return lane_; }
  /// Whether a thread's lanes may reach past the end of the domain: its one axis is no multiple of them. Such a lane is
  /// the last element once more, so that whatever it reads is there and whatever it checks is checked anyway.
  bool is_tile() const { return lanes_ > 1 && context_.layout.rank == 1; }
  /// const index element = the lane's own, or the last one; only what a lane reads by itself needs it.
  Let element() const;
  const std::string& inner_name() const { return axes_.back().index; }
  std::string status;  ///< the argument; empty where nothing is checked

 private:
  void name_axes(Names& names);
  void name_strides(Names& names);
  void find_chunks();
  void name_vectors(Names& names);
  void name_tensors(Names& names);
  std::string lane_text(const std::string& index, bool lane) const;
  std::string shape_comment(uint32_t access) const;

  const KernelContext& context_;
  uint32_t lanes_;
  std::vector<AccessPlan> plans_;
  std::vector<std::vector<Chunk>> chunks_;
  std::map<std::pair<uint32_t, uint32_t>, std::string> vectors_;
  std::vector<uint32_t> stride_owner_;
  std::vector<Axis> axes_;  ///< with one that is only counted where the domain has none
  std::string lane_, linear_, numel_, row_;
  std::string element_;  ///< of a tile, the index of the lane's element
};

/// Elements a thread takes.
uint32_t choose_lanes(const KernelContext& context, uint32_t cost);

}  // namespace ingot::codegen
