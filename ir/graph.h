#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/source.h"
#include "ir/host/condition.h"
#include "ir/host/host.h"
#include "ir/op.h"
#include "ir/reduction.h"
#include "ir/types/dtype.h"

// The graph of an op for one signature. Nodes have no shape: a node is a function of an index (one integer for each dim
// of an index space) and broadcasts implicitly; indices are aligned at their last dim. Views create no nodes: they
// rewrite accesses. Nodes are immutable and hash-consed. Their ids are in topological order, so a traversal is a loop
// over ids.

namespace ingot::ir {

struct NodeId {
  uint32_t index = 0;
  auto operator<=>(const NodeId&) const = default;
};

/// The source of an access: a parameter; a value of the reduction that is the node's first argument (`index` selects
/// the value); or, for an Index node, an iota (a virtual tensor 0, 1, 2, … of one dim), so that views merge, permute
/// and broadcast positions in the same way as loaded values.
struct SourceRef {
  enum class Kind : uint8_t { Param, Reduce, Position } kind = Kind::Param;
  uint32_t index = 0;
  auto operator<=>(const SourceRef&) const = default;
};

/// Adds coef · i to coordinate `dim` of the source. i is the index along the AccessDim, or the value of the
/// IndirectIndex, to which the term belongs.
struct Term {
  uint32_t dim = 0;
  HostId coef;
  bool operator==(const Term&) const = default;
};

/// One dim of an access's index. If `size` is 1, the index along this dim is 0, whatever size it broadcasts to.
struct AccessDim {
  HostId size;
  std::vector<Term> terms;
  bool operator==(const AccessDim&) const = default;
};

/// An index of a Gather that a node computes. If the value is negative, `extent` is added to it once; it must then be
/// from 0 to extent - 1. `terms` add it to the source's coordinates.
struct IndirectIndex {
  HostId extent;
  std::vector<Term> terms;
  bool operator==(const IndirectIndex&) const = default;
};

/// Maps an index to an element of a source (or of a result):
///   coordinate[d] = offsets[d] + Σ dims[j].terms(d) · index[j] + Σ indirect[k].terms(d) · value[k]
/// `dims` is aligned at the last dim of the index and has no leading dims of constant size 1.
struct Access {
  SourceRef source;
  std::vector<HostId> offsets;  ///< one for each dim of the source
  std::vector<AccessDim> dims;
  std::vector<IndirectIndex> indirect;  ///< one for each index of a Gather
  bool operator==(const Access&) const = default;
};

/// Attribute of an Add, Sub or Mul in float32 that computes an op on the author's 16-bit floats. `contract` may fuse
/// such a product into such a sum without rounding it. The same op on float32 values of the author has attr 0 and is a
/// different node.
inline constexpr uint32_t kContractable = 1;
/// Attribute of a Where that computes both arms for every element. So the indices of a gather in one arm are checked
/// also for elements that select the other arm.
inline constexpr uint32_t kEagerArms = 2;

struct Node {
  Op op;
  DType dtype;
  uint32_t attr = 0;  ///< Load, Gather, Index: index of an Access; Scalar: HostId; Call: index of a function name;
                      ///< Reduce: index of a Reduction; Add, Sub, Mul: 0 or kContractable; Where: 0 or kEagerArms
  std::vector<NodeId> args = {};
  bool operator==(const Node&) const = default;
};

enum class ParamKind : uint8_t {
  Tensor,
  Number,  ///< a Python number, or a CPU 0-dim tensor next to CUDA tensors; HostOp::Scalar is its value
};

struct Param {
  std::string name;
  ParamKind kind = ParamKind::Tensor;
  DType dtype = DType::F32;           ///< of a tensor
  HostKind number = HostKind::Float;  ///< of a number
  /// The shape of a tensor: a constant for each size that the signature or a static value fixes, else a Size node.
  std::vector<HostId> shape = {};
};

/// A block of a result: the values of `node` over `domain`. `store` is the access of the result through which they are
/// stored; its `source` is unused, and its dims are those of the domain.
struct OutputBlock {
  NodeId node;
  std::vector<HostId> domain;
  Access store;
};

/// The use of a result.
enum class Use : uint8_t {
  Returned,  ///< returned to the caller, or written into a parameter
  Residual,  ///< a residual of the op's reductions, saved for backward; not returned, and without a gradient of its own
  Summed,    ///< a summand of another result (Result::scatters), not returned itself
};

/// A scatter-add into a result, here called the sum. `values` and `positions` (int64) are the indices of two other
/// results. The leading dims of `values` are the dims of `positions`. A position is a row-major offset over the dims
/// `scattered_dims` of the sum; a value at a position out of range is not added. The trailing dims of `values` map to
/// the dims `copied_dims` of the sum.
struct ScatterAdd {
  uint32_t values, positions;
  std::vector<uint32_t> scattered_dims, copied_dims;
};

/// The bit of a parameter in a mask of the parameters that have a gradient. Parameter 63 and all later ones share a
/// bit.
constexpr uint64_t gradient_bit(size_t param) { return uint64_t{1} << std::min<size_t>(param, 63); }

struct Result {
  std::string name;  ///< the variable of the op's source that has the result, else "out", "out1", "row_max" …
  DType dtype;
  std::vector<HostId> shape;
  /// The blocks cover each element of the result once. If the result `mutates` a parameter, they may leave out
  /// elements.
  std::vector<OutputBlock> blocks;
  uint32_t layout = 0;  ///< the step of GraphFrame::eager_layouts that gives its strides
  /// The tensor parameter whose storage receives the result. The result has the parameter's dtype and shape and is not
  /// returned. Every load reads the values that the parameter has before the call. Elements outside all blocks keep
  /// these values.
  std::optional<uint32_t> mutates = {};
  /// The tensor parameter to which the result is equal, element for element. The result then has no blocks, and the
  /// caller gets the argument itself.
  std::optional<uint32_t> forwards = {};
  /// Bit mask (gradient_bit) of the parameters with respect to which the result has a gradient.
  uint64_t gradients = 0;
  Use use = Use::Returned;
  /// If not empty, the result has no blocks. The result is the sum of these scatter-adds and, if given, of the result
  /// `addend`, which has the same shape. The sum is computed in the dtype of the summands and rounded to `dtype`.
  std::vector<ScatterAdd> scatters = {};
  std::optional<uint32_t> addend = {};
};

/// Lowering specialises a size because of a constant index or slice of its dim, or to unroll a reduction along the dim,
/// only if the size is at most this.
inline constexpr int64_t kSpecializedSize = 16;

/// A symbol that lowering specialised, and its value. The graph is valid only for calls in which the symbol has this
/// value.
struct Static {
  HostId symbol;  ///< a Size or Scalar node
  HostValue value;
  /// Whether lowering used the value only because it is special: a size of at most kSpecializedSize, or a scalar that
  /// is 0. (GraphFrame::unspecialized has the symbols whose values turned out not to be special.)
  bool only_if_special = false;
};

/// One step of the computation of eager's strides: the strides that PyTorch gives one tensor. The steps are in the
/// order in which the op's source computes the tensors, before any rewrite. ir/eager_layout.h has the rules.
struct LayoutStep {
  enum class Kind : uint8_t {
    Param,       ///< the strides of parameter `param`
    Pointwise,   ///< TensorIterator's rule over `inputs`; a number that PyTorch wraps is an input of rank 0
    View,        ///< a view of one input: stride[k] = Σ coef · (the input's stride along dim), over stride_map[k]
    Reshape,     ///< a view if PyTorch can make one, else contiguous
    Preserve,    ///< like empty_like(input): its strides if dense, else dense strides in the same order. For casts,
                 ///< clones and flips; on the CPU also for each input of a Pointwise step that does not have the common
                 ///< dtype
    Contiguous,  ///< for factories, gather, take, index_select; with an input, its own strides if they are contiguous
    ChannelsLast,  ///< memory_format=channels_last or, for rank 5, channels_last_3d; an input is handled as for
                   ///< Contiguous
    Unformatted,   ///< for x.to(memory_format=contiguous_format): contiguous if PyTorch suggests channels_last for the
                   ///< input, else the input's own strides
    Cat,           ///< channels_last if all inputs are, else contiguous; for stack, over the unsqueezed inputs
    Pad,  ///< for F.pad; inputs are the part of a tensor that negative padding leaves, and that tensor. Preserve of the
          ///< first if the result has its sizes, else Cat of the second
    Gather,  ///< x[i, j]; inputs are x, after its integer indices and slices are applied, and the index tensors
  } kind;
  uint32_t param = 0;
  std::vector<uint32_t> inputs = {};               ///< earlier steps
  std::vector<HostId> shape = {};                  ///< of this step's tensor
  std::vector<std::vector<Term>> stride_map = {};  ///< View: for each new dim k, terms over the input's dims (dim,
                                                   ///< coef); a dim equal to the input's rank has stride 1
  std::vector<uint32_t> dims = {};  ///< Gather: the dims of the first input that the indices replace, ascending
};

/// A question about a call's strides: does the tensor of the last step share the storage of the step's input? It does
/// if the step is a Reshape that can be a view, or a conversion to a memory format that the input already has. The
/// answer depends only on these steps (see shares_memory in ir/eager_layout.h).
struct AliasQuery {
  HostPool host;
  std::vector<LayoutStep> steps;
};

/// The answer to an alias query that lowering assumed.
struct AliasFact {
  AliasQuery query;
  bool shares;
};

/// A Reshape step that must be a view: PyTorch raises an error if its input's strides allow none.
struct RequiredView {
  uint32_t step;
  Span span = {};
};

/// The type of the value that a call returns: the one result; all results, even a single one, in a tuple or a list; or
/// one of PyTorch's named tuples.
enum class Returns : uint8_t { Tensor, Tuple, List, AMinMax, Frexp, Max, Min };

/// The named tuples of torch.return_types and their names.
struct NamedTuple {
  Returns returns;
  std::string_view name;
};
inline constexpr NamedTuple kNamedTuples[] = {
    {Returns::AMinMax, "aminmax"}, {Returns::Frexp, "frexp"}, {Returns::Max, "max"}, {Returns::Min, "min"}};

/// Everything in a graph except its nodes. ir::rewrite copies it, and replaces only the node ids in `results`.
struct GraphFrame {
  std::string name;
  std::vector<Param> params;
  std::vector<Result> results;
  Returns returns = Returns::Tensor;
  std::vector<Condition> conditions;
  std::vector<Static> statics;
  /// The location of each number whose arithmetic may fail in Python.
  std::map<HostId, Span> host_locations;
  /// Symbols that lowering did not specialise, because their values are not special: sizes above kSpecializedSize
  /// (frontend::specialize_small), and scalars that are not 0 (the library's `_is_zero`). The graph is valid for all
  /// such sizes and scalars, but not for the special values.
  std::vector<HostId> unspecialized;
  std::vector<LayoutStep> eager_layouts;  ///< the computation of the strides of the results; see Result::layout
  std::vector<RequiredView> required_views;
  /// The graph is valid only for calls for which these answers are correct. Each query is evaluated when the values of
  /// `statics` and the answers to the earlier queries are known.
  std::vector<AliasFact> aliases;
  /// The seed of the random numbers: a parameter after those of the signature, an int64 tensor without dims on the op's
  /// device. The runtime fills it for each call. None if the op uses no random numbers.
  std::optional<uint32_t> seed;
  HostPool host;
};

/// The op for one signature: parameters, nodes, results, and the conditions for their use.
class Graph : public GraphFrame {
 public:
  Graph() = default;
  /// Creates a graph without nodes. The caller still has to move the nodes that `results` refers to.
  explicit Graph(GraphFrame frame) : GraphFrame(std::move(frame)) {}

  /// Adds a node, or finds an equal one.
  NodeId add(Node node);
  NodeId add(Op op, DType dtype, std::vector<NodeId> args) { return add({op, dtype, 0, std::move(args)}); }
  NodeId load(DType dtype, Access access);
  /// Adds a Load; a Gather if the access has indirect indices; an Index if the kind of its source is Position. `args`:
  /// the reduction, if the source is one, then the indices.
  NodeId read(DType dtype, Access access, std::vector<NodeId> args);
  NodeId gather(DType dtype, Access access, std::vector<NodeId> indices) {
    return read(dtype, std::move(access), std::move(indices));
  }
  NodeId reduce(DType dtype, Reduction reduction, NodeId operand);
  NodeId scalar(DType dtype, HostId value);
  /// Adds the position of an element: Σ terms · index over the dims, without offsets or indirect indices.
  NodeId index(std::vector<AccessDim> dims);
  NodeId call(std::string_view function, NodeId body, std::vector<NodeId> operands);

  /// Returns a node of another graph with `args` of this graph. Interns its access, reduction or callee here, but does
  /// not add the node. Host expressions must have the same ids in both graphs.
  Node transfer(const Graph& source, NodeId id, std::vector<NodeId> args);

  const Node& operator[](NodeId id) const { return nodes_[id.index]; }
  size_t count() const { return nodes_.size(); }
  size_t access_count() const { return accesses_.size(); }
  size_t callee_count() const { return callees_.size(); }
  size_t reduction_count() const { return reductions_.size(); }
  // The attr of a node. The node's op must have this kind of attr (see Node::attr).
  const Access& access(NodeId id) const { return accesses_[nodes_[id.index].attr]; }
  HostId host_of(NodeId id) const { return HostId{nodes_[id.index].attr}; }
  const std::string& callee(NodeId id) const { return callees_[nodes_[id.index].attr]; }
  const Reduction& reduction(NodeId id) const { return reductions_[nodes_[id.index].attr]; }
  /// The reduction that a Load or Gather reads; none if the node reads a parameter or is of another op.
  std::optional<NodeId> reduction_read(NodeId id) const;
  /// The index arguments of a Gather.
  std::span<const NodeId> indices(NodeId id) const;
  /// One flag for each node: whether the results need it.
  std::vector<bool> live() const;

  // Names and spans are kept outside the nodes, so they never make two nodes differ.
  void name_node(NodeId id, const std::string& name);
  void set_location(NodeId id, Span span);
  /// Adds another location of the author's source that computes this node.
  void add_mention(NodeId id, Span span);
  const std::vector<std::string>& names(NodeId id) const;
  bool has_name(NodeId id, const std::string& text) const;
  Span span(NodeId id) const;
  const std::vector<Span>& mention_spans(NodeId id) const;
  /// Copies the names and locations of `from` to `to`, as every rewrite must do. `source` may be this graph.
  void copy_names_and_locations(const Graph& source, NodeId from, NodeId to);

 private:
  uint32_t intern(Access access);
  uint32_t intern(std::string_view callee);
  uint32_t intern(Reduction reduction);

  std::vector<Node> nodes_;
  std::vector<Access> accesses_;
  std::vector<std::string> callees_;
  std::vector<Reduction> reductions_;
  std::unordered_map<size_t, std::vector<NodeId>> node_table_;
  std::unordered_map<size_t, std::vector<uint32_t>> access_table_;
  /// Items in the order in which they were first added, each once.
  template <typename T>
  struct Distinct {
    std::vector<T> items;
    std::unordered_set<T> known;
    void add(const T& item) {
      if (known.insert(item).second) items.push_back(item);
    }
  };
  std::map<NodeId, Distinct<std::string>> names_;
  std::map<NodeId, Span> spans_;
  std::map<NodeId, Distinct<Span>> mentions_;
};

/// Returns readable text of the whole graph, the `ir` stage of `ingot emit`. Equal graphs give equal text. i0, i1, …
/// are the indices along the dims of the largest domain, outermost first. "i1?" is i1, or 0 if the size of the loaded
/// tensor along that dim is 1.
std::string print(const Graph& graph);

/// Throws Error(Internal) with a dump if an invariant of the IR is violated: topological order, arities, operand and
/// result types by rule, ranks of accesses, kinds of host expressions, blocks that fit their result.
void verify(const Graph& graph);

/// Returns the graph after exact rewrites, without dead nodes: constants folded (with the targets' arithmetic, so only
/// Exact ops), casts of casts that lose nothing, x*1, x+(-0.0) but never x+0.0, where(true, …), double negation, …
/// Operands are never swapped.
Graph simplify(const Graph& graph);

/// Returns the graph with products fused into sums. Applies to a sum or difference with kContractable if one operand is
/// a product with kContractable that has no other use, and the other operand is loaded, gathered or a number. Both
/// become one Fma, which does not round the product. No node of the returned graph has kContractable.
Graph contract(const Graph& graph);

/// Returns the graph with each output block that reads a reduction row by row rewritten over that reduction's domain.
/// The block's dims along the reduced dims then have size 1, so that an index has the same meaning for the block and
/// for the reduction.
Graph align_rows(const Graph& graph);

/// Returns the graph in which each result that equals a tensor parameter, element for element, forwards that parameter
/// (Result::forwards) instead of computing it.
Graph forward_params(Graph graph);

/// Returns the graph without Call nodes: each is replaced by its body.
Graph inline_calls(const Graph& graph);

/// Callee name of a Call through which no gradient flows.
inline constexpr std::string_view kDetach = "detach";
/// Callee name of a Call with the value of its first argument and the gradient of its second argument.
inline constexpr std::string_view kCustomGradient = "custom_gradient";
/// Fills in Result::gradients. A floating-point element has a gradient with respect to the parameters that it reads
/// through floating-point nodes, except through detached ones.
void find_gradients(Graph& graph);

}  // namespace ingot::ir

template <>
struct std::hash<ingot::ir::NodeId> {
  size_t operator()(ingot::ir::NodeId id) const noexcept { return id.index; }
};
