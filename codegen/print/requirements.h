#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "codegen/kernel/launch.h"
#include "codegen/print/formulas.h"

namespace ingot::codegen {

/// A kernel of the outline, as the comments of its launches describe it.
struct DescribedKernel {
  const Target& target;
  const KernelOutline& outline;
  const KernelGeometry& geometry;
  KernelLayout layout;  ///< only what the target's kernels distinguish, and the call's length_bits
  KernelFormulas formulas;
};

/// The conditions on arguments and results under which a launch computes the op: all that its kernel was compiled for.
/// Each is an expression that must be true. They are grouped by subject: the op, each tensor, the sizes.
class Requirements {
 public:
  using Group = std::vector<std::string>;

  Requirements(Formulas& formulas, const ir::Graph& graph, const DescribedKernel& kernel)
      : formulas_(formulas), graph_(graph), kernel_(kernel) {}

  /// The conditions of the graph. `params`: the call's sizes and strides.
  void add_conditions(std::span<const ir::SizesAndStrides> params);
  /// The dtype, strides and alignment of each tensor to which a launch gets a pointer.
  void add_tensors(const std::vector<KernelParameter>& parameters);
  /// The limits of sizes, and the equations between sizes and strides.
  void add_sizes();

  std::vector<Group> groups;

 private:
  void add(std::string requirement);
  void add_equation(ir::HostId a, ir::HostId b);
  void add_condition(const ir::Condition& condition);
  void add_same_views(std::span<const ir::SizesAndStrides> params);
  void add_tensor(const TensorFormulas& tensor, bool is_result);
  void add_strides(uint32_t access);
  void add_length();
  void add_elements();
  void add_limit(ir::HostId elements);
  void add_multiples();
  /// The first element that an access may reach, and the end, in elements from its pointer.
  std::pair<ir::HostId, ir::HostId> reach(uint32_t access);
  bool is_product_of_extents(ir::HostId elements, uint32_t access);

  Formulas& formulas_;
  const ir::Graph& graph_;
  const DescribedKernel& kernel_;
  std::set<std::string> stated_;
};

}  // namespace ingot::codegen
