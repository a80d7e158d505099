#pragma once

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

// The graph of an op for one signature. Nodes have no shape: a node is a function of an index, and broadcasts
// implicitly; indices are aligned at their last dim. Views leave no node: they have rewritten the accesses. Nodes are
// immutable and hash-consed; ids are in topological order, so a walk is a loop.

namespace ingot::ir {

struct NodeId {
  uint32_t index = 0;
  auto operator<=>(const NodeId&) const = default;
};

/// Where an access reads: a parameter; a value of the reduction that is the node's first argument; or, of an Index,
/// an imaginary tensor of one dim whose elements are their own coordinates. So positions are merged, permuted and
/// broadcast as what is loaded.
struct SourceRef {
  enum class Kind : uint8_t { Param, Reduce, Position } kind = Kind::Param;
  uint32_t index = 0;
  auto operator<=>(const SourceRef&) const = default;
};

/// coef · (the access's index along some dim), added to coordinate `dim` of the source.
struct Term {
  uint32_t dim = 0;
  HostId coef;
  bool operator==(const Term&) const = default;
};

/// One dim of the index of an access. Where `size` is 1 the index is taken to be 0, whatever it broadcasts to.
struct AccessDim {
  HostId size;
  std::vector<Term> terms;
  bool operator==(const AccessDim&) const = default;
};

/// One gathered coordinate: the value of an index node, wrapped once if negative, within `extent`, is added to the
/// source through `terms`.
struct IndirectIndex {
  HostId extent;
  std::vector<Term> terms;
  bool operator==(const IndirectIndex&) const = default;
};

/// How an index leads to an element of a source (or of a result):
///   coordinate[d] = offsets[d] + Σ dims[j].terms(d) · index[j] + Σ indirect[k].terms(d) · value[k]
/// `dims` is aligned at the last index dim and has no leading dims of constant size 1.
struct Access {
  SourceRef source;
  std::vector<HostId> offsets;  ///< one for each dim of the source
  std::vector<AccessDim> dims;
  std::vector<IndirectIndex> indirect;  ///< one for each index of a Gather
  bool operator==(const Access&) const = default;
};

/// The attr of an Add, Sub or Mul in float32 of what the author has as 16-bit floats: a product of these may go into a
/// sum of these unrounded (contract). The same op of the author's float32 is another node.
inline constexpr uint32_t kContractable = 1;
/// The attr of a Where whose arms are both computed, whatever is chosen: what one reads is checked for the other, too.
inline constexpr uint32_t kEagerArms = 2;

struct Node {
  Op op;
  DType dtype;
  uint32_t attr = 0;  ///< Load, Gather, Index: index of an Access; Scalar: HostId; Call: a name;
                      ///< Reduce: index of a Reduction; Add, Sub, Mul: 0 or kContractable; Where: 0 or kEagerArms
  std::vector<NodeId> args = {};
  bool operator==(const Node&) const = default;
};

enum class ParamKind : uint8_t {
  Tensor,
  Number,  ///< a Python number, or a CPU 0-dim tensor beside CUDA tensors: HostOp::Scalar stands for its value
};

struct Param {
  std::string name;
  ParamKind kind = ParamKind::Tensor;
  DType dtype = DType::F32;           ///< of a tensor
  HostKind number = HostKind::Float;  ///< of a number
  std::vector<HostId> shape = {};     ///< of a tensor: constants where the signature or a static value says, else sizes
};

/// A block of a result: the values of `node` over `domain`, stored through `store` (an access of the result, whose
/// `source` is unused; its dims are those of the domain).
struct OutputBlock {
  NodeId node;
  std::vector<HostId> domain;
  Access store;
};

/// What is done with a result.
enum class Use : uint8_t {
  Returned,  ///< or written into a parameter
  Residual,  ///< a gradient will read it, of the op's reductions: it is not returned, and has no gradient itself
  Summed,    ///< it is a part of another result's sum (Result::scatters), and not returned
};

/// Values that are added up where their positions lead. `values` and `positions`, int64, are other results: the first
/// dims of the values are those of the positions. A position counts, in row-major order, through the dims `through` of
/// the sum; what is outside of these leads nowhere. Along its dims `along` go the last dims of the values.
struct Scatter {
  uint32_t values, positions;
  std::vector<uint32_t> through, along;
};

struct Result {
  std::string name;  ///< "out", or the author's name for it
  DType dtype;
  std::vector<HostId> shape;
  /// They tile the result exactly; where it `mutates`, elements may be left out.
  std::vector<OutputBlock> blocks;
  uint32_t layout = 0;  ///< the step of `eager_layouts` that gives its strides
  /// The tensor parameter whose memory takes the result, which is then not returned: of the parameter's dtype and
  /// shape. Every load reads what the parameter held before the call; an element of no part keeps that.
  std::optional<uint32_t> mutates = {};
  /// The tensor parameter that it is, element for element: it has no parts, and the caller gets what it gave.
  std::optional<uint32_t> forwards = {};
  /// The parameters (bits, the last one for the 64th and all behind it) with respect to which it has a gradient.
  uint64_t gradients = 0;
  Use use = Use::Returned;
  /// It has no parts: it is the sum of these and, if it is there, of the result `beside`, which has its shape, in their
  /// dtype; rounded to its own.
  std::vector<Scatter> scatters = {};
  std::optional<uint32_t> beside = {};
};

/// Sizes up to this that a constant index or slice touches are asked to be static.
inline constexpr int64_t kSpecializedSize = 16;

/// A value that lowering asked to be static: the graph is right only where the symbol has this value.
struct Static {
  HostId symbol;  ///< a Size or Scalar node
  HostValue value;
  bool specialized = false;  ///< a size that was asked only because it is at most kSpecializedSize
};

/// One step of the account of eager's strides, kept in the author's order of ops (before any rewrite): what memory
/// layout PyTorch would have given each tensor. See ir/eager_layout.h for the rules.
struct LayoutStep {
  enum class Kind : uint8_t {
    Param,       ///< the strides of parameter `param`
    Pointwise,   ///< TensorIterator's rule over `inputs`; a number that PyTorch wraps is an input of rank 0
    View,        ///< index map `rows` over one input: stride[k] = Σ rows[k].coef(d) · stride_in[d]
    Reshape,     ///< a view where PyTorch can make one, else contiguous
    Preserve,    ///< like empty_like(input): its strides if dense, else its order made dense. Casts, clones and flips;
                 ///< on the CPU also each input of a Pointwise step that is not of the common dtype
    Contiguous,  ///< factories, gather, take, index_select; with an input, its own strides where they are so already
    ChannelsLast,  ///< memory_format=channels_last or, of rank 5, channels_last_3d; an input as for Contiguous
    Unformatted,   ///< of x.to(memory_format=contiguous_format): contiguous if PyTorch suggests channels_last for the
                   ///< input, else its own strides
    Cat,           ///< channels_last if all inputs are like that, else contiguous; of stack, over the unsqueezed inputs
    Pad,     ///< inputs are what F.pad keeps of a tensor, and that tensor: as Preserve of the first where the result
             ///< is no larger than it, else as Cat of the second
    Gather,  ///< x[i, j]: inputs are x, as integers and slices left it, and the index tensors
  } kind;
  uint32_t param = 0;
  std::vector<uint32_t> inputs = {};         ///< earlier steps
  std::vector<HostId> shape = {};            ///< of this step's tensor
  std::vector<std::vector<Term>> rows = {};  ///< View: for each new dim k, terms over the input's dims (dim, coef); a
                                             ///< dim equal to the input's rank stands for the stride 1
  std::vector<uint32_t> dims = {};           ///< Gather: the dim of the first input that each index replaces, ascending
};

/// Whether the tensor of the last step shares the memory of its input, as a Reshape that can be a view does, or a copy
/// in a memory format which its input has. The steps are all that it hangs on.
struct AliasQuestion {
  HostPool host;
  std::vector<LayoutStep> steps;
};

/// What lowering took to be so.
struct AliasFact {
  AliasQuestion question;
  bool shares;
};

/// A Reshape step that must be a view: PyTorch refuses it where its input's strides allow none.
struct RequiredView {
  uint32_t step;
  Span span = {};
};

/// What a caller is given: the one result, or all of them, be it one, in a tuple or a list; or in one of PyTorch's
/// named tuples.
enum class Returns : uint8_t { Tensor, Tuple, List, AMinMax, Frexp, Max, Min };

/// The named tuples, torch.return_types, by their names.
struct NamedTuple {
  Returns returns;
  std::string_view name;
};
inline constexpr NamedTuple kNamedTuples[] = {
    {Returns::AMinMax, "aminmax"}, {Returns::Frexp, "frexp"}, {Returns::Max, "max"}, {Returns::Min, "min"}};

/// What stands beside the nodes of a graph: all that a pass takes over as it is.
struct GraphFrame {
  std::string name;
  std::vector<Param> params;
  std::vector<Result> results;
  Returns returns = Returns::Tensor;
  std::vector<Condition> conditions;
  std::vector<Static> statics;
  /// Where the author computes a number whose arithmetic may fail.
  std::map<HostId, Span> host_places;
  /// Size nodes that lowering would have made static were they not larger than kSpecializedSize
  /// (frontend::specialize_small): the graph holds for all such sizes.
  std::vector<HostId> specialized;
  std::vector<LayoutStep> eager_layouts;
  std::vector<RequiredView> required_views;
  /// The graph is right only where these hold; each is asked once the values of `statics` and those before it are
  /// known.
  std::vector<AliasFact> aliases;
  /// The parameter, behind those of the signature, from which random numbers are drawn: an int64 without dims on the
  /// op's device, which whoever runs the graph fills anew for each call. None where nothing is drawn.
  std::optional<uint32_t> seed;
  HostPool host;
};

/// The op for one signature: parameters, nodes, results, and what it takes to use them.
class Graph : public GraphFrame {
 public:
  Graph() = default;
  /// No nodes yet; those of the results and of `source` are yet to be moved.
  explicit Graph(GraphFrame frame) : GraphFrame(std::move(frame)) {}

  /// Adds a node or finds the one that is already there.
  NodeId add(Node node);
  NodeId add(Op op, DType dtype, std::vector<NodeId> args) { return add({op, dtype, 0, std::move(args)}); }
  NodeId load(DType dtype, Access access);
  /// `args`: the reduction, if the source is one, and the indices; without indices it is a load, or an Index where the
  /// source is positions.
  NodeId read(DType dtype, Access access, std::vector<NodeId> args);
  NodeId gather(DType dtype, Access access, std::vector<NodeId> indices) {
    return read(dtype, std::move(access), std::move(indices));
  }
  NodeId reduce(DType dtype, Reduction reduction, NodeId operand);
  NodeId scalar(DType dtype, HostId value);
  /// Where an element is: Σ terms · index over the dims. Nothing is added to it, nor gathered.
  NodeId index(std::vector<AccessDim> dims);
  NodeId call(std::string_view function, NodeId body, std::vector<NodeId> operands);

  /// The node of another graph, over args of this one: its access or callee is made known here. It is yet to be added.
  /// Host expressions are taken to have the same ids in both.
  Node transfer(const Graph& source, NodeId id, std::vector<NodeId> args);

  const Node& operator[](NodeId id) const { return nodes_[id.index]; }
  size_t count() const { return nodes_.size(); }
  size_t access_count() const { return accesses_.size(); }
  size_t callee_count() const { return callees_.size(); }
  size_t reduction_count() const { return reductions_.size(); }
  const Access& access(NodeId id) const { return accesses_[nodes_[id.index].attr]; }
  HostId host_of(NodeId id) const { return HostId{nodes_[id.index].attr}; }
  const std::string& callee(NodeId id) const { return callees_[nodes_[id.index].attr]; }
  const Reduction& reduction(NodeId id) const { return reductions_[nodes_[id.index].attr]; }
  /// The reduction that a load or gather reads; nothing where it reads a parameter, and of all other nodes.
  std::optional<NodeId> reduction_read(NodeId id) const;
  /// The indices of a gather.
  std::span<const NodeId> indices(NodeId id) const;
  /// Which nodes the results need; one flag a node.
  std::vector<bool> live() const;

  // Names and spans stand beside the nodes: they never make two nodes differ.
  void name_node(NodeId id, const std::string& name);
  void place_node(NodeId id, Span span);
  /// Where else an author's expression comes to it.
  void mention_node(NodeId id, Span span);
  const std::vector<std::string>& names(NodeId id) const;
  bool has_name(NodeId id, const std::string& text) const;
  Span span(NodeId id) const;
  const std::vector<Span>& mentions(NodeId id) const;
  /// Hands the names and the places of `from` on to `to`, as every rewrite must. `source` may be this graph.
  void carry(const Graph& source, NodeId from, NodeId to);

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

/// Readable text of the whole graph, the `ir` stage of `ingot emit`: the same bytes for the same graph. i0, i1, … are
/// the dims of the largest domain, outermost first; "i1?" is taken to be 0 where the operand's size along it is 1.
std::string print(const Graph& graph);

/// Throws Error(Internal) with a dump when an invariant of the IR does not hold: topological order, arities, operand
/// and result types by rule, access ranks, host kinds, parts that fit their result.
void verify(const Graph& graph);

/// The graph rewritten by exact identities, dead nodes dropped: constants folded (by the same arithmetic that the
/// targets use, so only Exact ops), casts of casts that lose nothing, x*1, x+(-0.0) but never x+0.0, where(true, …),
/// double negation, … Operands are never swapped.
Graph simplify(const Graph& graph);

/// The graph with each sum or difference that has kContractable and such a product for an operand, the first one that
/// nothing else uses, as one Fma: the product is not rounded. No node of it has kContractable.
Graph contract(const Graph& graph);

/// The graph with each part of a result that reads a reduction by its rows written over that reduction's domain, where
/// dims that are gone are of size 1: then an index means the same in both.
Graph align_rows(const Graph& graph);

/// The graph with each result that is one of the tensor parameters, element for element, handed on
/// (Result::forwards) instead of computed.
Graph forward_params(Graph graph);

/// The graph without Call nodes: each is replaced by its body.
Graph inline_calls(const Graph& graph);

/// What a Call is named that gradients do not go through.
inline constexpr std::string_view kDetach = "detach";
/// The value of its first argument, with the gradient of its second one.
inline constexpr std::string_view kCustomGradient = "slope_of";
/// Fills in Result::gradients: a floating element has a gradient with respect to what goes into it through floating
/// nodes, but for those that are detached.
void find_gradients(Graph& graph);

}  // namespace ingot::ir

template <>
struct std::hash<ingot::ir::NodeId> {
  size_t operator()(ingot::ir::NodeId id) const noexcept { return id.index; }
};
