#include <fmt/format.h>

#include <string>

#include "frontend/library/builtin_tables.h"

// PyTorch functions outside the language. A call fails with the reason and what to write instead.

namespace ingot::frontend {
namespace {

Value call_refused(Builder& builder, const Builtin& self, Args) {
  const size_t split = self.refusal.find("; ");
  const std::string_view reason = self.refusal.substr(0, split);
  const std::string_view replacement = split == std::string_view::npos ? "" : self.refusal.substr(split + 2);
  builder.fail(fmt::format("`{}` is not in the language: {}", self.name, reason), std::string(replacement));
}

struct Refused {
  std::string_view names;    ///< separated by spaces
  std::string_view refusal;  ///< as Builtin::refusal: "reason; what to do instead"
};

constexpr Refused kRefused[] = {
    {"median nanmedian mode quantile nanquantile",
     "its result depends on the order of all elements; call torch's function before or after the op"},
    {"cumsum cumprod cummax cummin logcumsumexp",
     "each element of its result depends on all before it; call torch's function before or after the op"},
    {"addbmm chain_matmul conv1d conv2d conv3d bilinear "
     "scaled_dot_product_attention",
     "an op multiplies matrices by matmul or einsum only, with an inner dimension of at most 16; call torch's function "
     "before or after the op"},
    {"sort topk argsort unique nonzero masked_select bincount histc searchsorted kthvalue",
     "its result depends on all elements; call torch's function before or after the op"},
    {"scatter scatter_add index_add index_put index_copy index_fill masked_scatter",
     "an op writes each element of its result once; choose with where(mask, a, b)"},
    {"normal", "it has a simple formula; write mean + std * torch.randn_like(mean)"},
    {"uniform_", "random numbers are generated in new tensors only; write x.copy_(torch.rand_like(x))"},
    {"normal_", "random numbers are generated in new tensors only; write x.copy_(torch.randn_like(x))"},
    {"bernoulli_", "random numbers are generated in new tensors only; write x.copy_(torch.rand_like(x) < p)"},
    {"random_ exponential_ geometric_ cauchy_ log_normal_",
     "an op generates only uniform and normal random numbers; compute with torch.rand_like(x)"},
    {"randperm multinomial poisson",
     "an op generates only uniform and normal random numbers; call torch's function before the op"},
    {"empty empty_strided new_empty", "its elements are uninitialised; fill empty_like(x), or use zeros"},
    {"logspace", "eager's rounding of it depends on the processor; write start + step * torch.arange(n)"},
    {"new_tensor from_numpy as_tensor", "it takes Python data; pass it as a tensor, or write torch.tensor"},
    {"item tolist numpy", "the values of a tensor are not known when the op is compiled; compute with the tensor"},
    {"backward requires_grad_ retain_grad register_hook grad",
     "an op computes values; gradients are taken outside of the op"},
    {"stride storage_offset data_ptr is_contiguous as_strided untyped_storage set_",
     "an op cannot see the memory layout of a tensor; index it instead"},
    {"device", "a device is written as a string; such as device=\"cuda\", or as x.device"},
    {"cuda cpu pin_memory", "an op runs where its tensors are; move them before the call"},
};

}  // namespace

std::vector<Builtin> refused_builtins() {
  std::vector<Builtin> rows;
  for (const Refused& refused : kRefused) {
    for (size_t begin = 0; begin < refused.names.size();) {
      const size_t end = std::min(refused.names.find(' ', begin), refused.names.size());
      const std::string_view name = refused.names.substr(begin, end - begin);
      // The signature accepts the usual arguments, so that a call fails with the refusal, not with a binding error.
      Builtin row{name,
                  "(*args, dim=None, keepdim=False, dtype=None, correction=1, unbiased=True, axis=None)",
                  !name.ends_with('_'),  // PyTorch has these in-place functions as methods only
                  kMethod,
                  {},
                  call_refused};
      row.refusal = refused.refusal;
      rows.push_back(row);
      begin = end + 1;
    }
  }
  return rows;
}

}  // namespace ingot::frontend
