#include "runtime/call/thread_dependence.h"

#include <cstdint>
#include <string_view>

// Autocast works function by function: what is on its lists gets its tensors in another type. A call under it is right
// where none of the op's functions is on a list, or where the casts change nothing. The lists are ATen/autocast_mode's,
// as far as the language has the names; a test asks PyTorch's dispatcher which those are.

namespace ingot::runtime {

namespace {

enum class Cast : uint8_t {
  None,
  Float32,  ///< 16-bit floats become float32
  Half,     ///< floats become autocast's own type
  Widest,   ///< all become the widest of them; 16-bit floats other than autocast's own are refused
};

struct Row {
  std::string_view function;
  Cast cuda, cpu;
};

constexpr Row kRows[] = {
    {"acos", Cast::Float32, Cast::None},
    {"asin", Cast::Float32, Cast::None},
    {"cosh", Cast::Float32, Cast::None},
    {"erfinv", Cast::Float32, Cast::None},
    {"exp", Cast::Float32, Cast::None},
    {"expm1", Cast::Float32, Cast::None},
    {"log", Cast::Float32, Cast::None},
    {"log10", Cast::Float32, Cast::None},
    {"log1p", Cast::Float32, Cast::None},
    {"log2", Cast::Float32, Cast::None},
    {"mvlgamma", Cast::Float32, Cast::None},  // by its sum
    {"pow", Cast::Float32, Cast::None},
    {"reciprocal", Cast::Float32, Cast::None},
    {"rsqrt", Cast::Float32, Cast::None},
    {"sinh", Cast::Float32, Cast::None},
    {"softplus", Cast::Float32, Cast::None},
    {"tan", Cast::Float32, Cast::None},
    {"binary_cross_entropy", Cast::Float32, Cast::Float32},
    {"binary_cross_entropy_with_logits", Cast::Float32, Cast::Float32},
    {"hinge_embedding_loss", Cast::Float32, Cast::Float32},
    {"huber_loss", Cast::Float32, Cast::Float32},
    {"kl_div", Cast::Float32, Cast::Float32},
    {"l1_loss", Cast::Float32, Cast::Float32},
    {"mse_loss", Cast::Float32, Cast::Float32},
    {"poisson_nll_loss", Cast::Float32, Cast::Float32},
    {"smooth_l1_loss", Cast::Float32, Cast::Float32},
    {"margin_ranking_loss", Cast::Float32, Cast::Float32},
    {"soft_margin_loss", Cast::Float32, Cast::Float32},
    {"cdist", Cast::Float32, Cast::Float32},
    {"cosine_embedding_loss", Cast::Float32, Cast::Float32},
    {"cosine_similarity", Cast::Float32, Cast::None},
    {"dist", Cast::Float32, Cast::None},
    {"group_norm", Cast::Float32, Cast::None},
    {"layer_norm", Cast::Float32, Cast::None},
    {"log_softmax", Cast::Float32, Cast::None},
    {"logsumexp", Cast::Float32, Cast::None},
    {"multi_margin_loss", Cast::Float32, Cast::Float32},
    {"multilabel_margin_loss", Cast::Float32, Cast::Float32},
    {"nll_loss", Cast::Float32, Cast::Float32},
    {"norm", Cast::Float32, Cast::None},
    {"prod", Cast::Float32, Cast::Float32},
    {"softmax", Cast::Float32, Cast::None},
    {"sum", Cast::Float32, Cast::None},
    {"trace", Cast::None, Cast::Float32},
    {"triplet_margin_loss", Cast::Float32, Cast::Float32},
    {"cross_entropy", Cast::Float32, Cast::Float32},   // by its nll_loss
    {"normalize", Cast::Float32, Cast::None},          // by its norm
    {"pairwise_distance", Cast::Float32, Cast::None},  // by its norm
    {"vector_norm", Cast::Float32, Cast::None},        // linalg_vector_norm
    {"prelu", Cast::Half, Cast::Half},
    {"addmm", Cast::Half, Cast::Half},
    {"addmv", Cast::Half, Cast::None},
    {"baddbmm", Cast::Half, Cast::Half},
    {"bmm", Cast::Half, Cast::Half},
    {"einsum", Cast::Half, Cast::Half},  // by its bmm
    {"linear", Cast::Half, Cast::Half},
    {"matmul", Cast::Half, Cast::Half},
    {"mm", Cast::Half, Cast::Half},
    {"mv", Cast::Half, Cast::None},
    {"addcdiv", Cast::Widest, Cast::None},
    {"addcmul", Cast::Widest, Cast::None},
    {"atan2", Cast::Widest, Cast::None},
    {"cross", Cast::Widest, Cast::None},
    {"dot", Cast::Widest, Cast::None},
    {"tensordot", Cast::Widest, Cast::Half},  // on the CPU by its mm
    {"vdot", Cast::Widest, Cast::None},
    {"cat", Cast::None, Cast::Widest},
    {"stack", Cast::None, Cast::Widest},
};

/// Whether a 16-bit float is among an op's tensors. Between two functions such a value may be one of 32 bits here, so
/// that what is made of it does not tell.
bool has_halves(const ir::Graph& graph) {
  const auto is_half = [](ir::DType dtype) { return dtype == ir::DType::F16 || dtype == ir::DType::BF16; };
  bool found = false;
  for (const ir::Param& param : graph.params) found |= param.kind == ir::ParamKind::Tensor && is_half(param.dtype);
  for (const ir::Result& result : graph.results) found |= is_half(result.dtype);
  for (uint32_t i = 0; i < graph.count(); ++i) found |= is_half(graph[{i}].dtype);
  return found;
}

bool changes(Cast cast, bool halves) { return cast == Cast::Half || (cast != Cast::None && halves); }

}  // namespace

ThreadDependence thread_dependence_of(const ir::Graph& lowered, frontend::Device device) {
  ThreadDependence found;
  const bool halves = has_halves(lowered);
  for (const Row& row : kRows)
    if (found.autocast.empty() && lowered.functions.contains(row.function) &&
        changes(device == frontend::Device::Cuda ? row.cuda : row.cpu, halves))
      found.autocast = row.function;
  return found;
}

}  // namespace ingot::runtime
