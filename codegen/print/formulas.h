#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/shape/layout.h"
#include "ir/graph.h"

// The numbers of a launch as formulas over the sizes and strides of the op's tensors. A KernelGeometry has these
// numbers for one call; a formula has them for every call with the same layouts.

namespace ingot::codegen {

/// A call that launch comments describe, and its kernels.
struct DescribedCall {
  const ir::Graph& graph;
  const Outline& outline;
  const std::vector<KernelLayout>& layouts;  ///< one per kernel of the outline
  const Target& target;
  std::span<const ir::HostValue> host;  ///< the value of each expression of the graph's HostPool, by id
  Shapes shapes;
  std::span<const KernelGeometry> geometries;  ///< one per kernel of the outline
  std::string_view compiler_options = {};      ///< the compiler's options for the source
  std::string_view obstacle = {};  ///< the reason why the launches alone do not compute the results; empty if they do
};

/// The formulas of an AccessGeometry.
using AccessFormulas = AccessNumbers<ir::HostId>;

/// Two formulas that must have the same value.
using Equation = std::pair<ir::HostId, ir::HostId>;

/// The formulas of KernelGeometry, and the equations on which they depend.
struct KernelFormulas {
  std::vector<ir::HostId> extents;
  ir::HostId numel;
  std::vector<AccessFormulas> accesses;
  std::vector<Equation> equations;
};

/// A parameter, result or workspace in memory, as a launch comment names it.
struct TensorFormulas {
  std::string name;
  ir::DType dtype;
  std::vector<ir::HostId> sizes, strides;
  std::vector<std::string> stride_requirements;  ///< the conditions on which `strides` hold
};

/// Whether an access is to a buffer that the launches share, rather than to an argument or a returned result.
bool is_scratch(const ir::Graph& graph, const AccessUse& use);

/// The text of an expression as an operand of +, * or %, in parentheses if needed.
std::string as_operand(const std::string& text);

/// Makes and prints formulas. A formula is an expression in a HostPool that is copied from the graph, with the strides
/// of tensors as further symbols. Strides that are 0, 1 or those of a contiguous tensor are not symbols but
/// requirements.
class Formulas {
 public:
  explicit Formulas(const DescribedCall& call);

  TensorsOf<TensorFormulas> tensors() const { return {params_, results_, workspaces_}; }
  const TensorFormulas& tensor_of(const AccessUse& use) const { return tensors()[use]; }
  /// The formulas of the geometry of the `k`-th kernel of the outline.
  KernelFormulas kernel(uint32_t k);

  ir::HostPool pool;

  /// The expression in Python's syntax.
  std::string print(ir::HostId id);
  /// Gives the expression a name for `text`, unless it has one.
  void name(ir::HostId id, const std::string& name) { size_names_.try_emplace(pool.resolve(id), name); }
  void clear_names() { size_names_.clear(); }
  /// The name of the expression, or else the expression.
  std::string text(ir::HostId id);
  /// The address of an element, `offset` elements after a tensor's first one: "x + 3".
  std::string address(const std::string& tensor, ir::HostId offset);
  /// The definitions of expressions that `print` has abbreviated since the last call: "h17 = …".
  std::vector<std::string> take_abbreviated();

 private:
  TensorFormulas tensor(std::string name, ir::DType dtype, std::vector<ir::HostId> sizes,
                        const ir::SizesAndStrides& extents);
  std::vector<ir::HostId> contiguous_strides(std::span<const ir::HostId> sizes);

  const DescribedCall& call_;
  std::vector<std::string> names_;  ///< of the parameters, then of the symbols for strides
  std::map<ir::HostId, std::string> size_names_;
  std::vector<ir::HostId> abbreviated_;  ///< not yet defined
  std::vector<TensorFormulas> params_, results_, workspaces_;
};

}  // namespace ingot::codegen
