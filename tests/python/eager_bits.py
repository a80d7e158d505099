"""Says which results on the GPU must equal eager's bit for bit: all of float32 and float64, except for a short list."""

import re

import torch

WIDE = (torch.float32, torch.float64)
_BOTH = frozenset(WIDE)

# Pattern in an op's source → dtypes → the reason why results are compared by ulps.
COMPARED_BY_ULPS = {
    r"\b(erfcx|digamma|psi|ndtr|ndtri|log_ndtr|polygamma|zeta|airy_ai|gammaincc?|igammac?|mvlgamma|multigammaln|\w*bessel_\w+)_?\(": (_BOTH, "eager's kernel is PyTorch's own source, not a function of CUDA's library"),
    r"approximate='tanh'": (_BOTH, "eager contracts some steps, which are known for the cube only"),
    r"\bpow\(|\*\*|float_power": ({torch.float64}, "nvcc inlines the library's function and contracts its steps"),
}


def must_have_eagers_bits(text: str, tensors, result: torch.Tensor) -> bool:
    """Whether the result of an op's source on these tensors must equal eager's bit for bit."""
    dtypes = {t.dtype for t in (*tensors, result) if t.dtype.is_floating_point}
    if not result.is_cuda or not dtypes <= _BOTH:
        return False
    return not any(re.search(pattern, text) and dtypes & by_ulps for pattern, (by_ulps, _) in COMPARED_BY_ULPS.items())


# Functions that are sums whose terms cancel near their zeros. There neither eager nor Ingot is within ulps of the exact
# result.
_CANCELLING = re.compile(r"\b(mvlgamma|multigammaln|polygamma|i?gamma(inc)?c?|\w*bessel_\w+|airy_ai|zeta|digamma|psi)_?\(")


def agree_where_terms_cancel(text: str, result: torch.Tensor, expected) -> bool:
    """Whether the source has one of the functions of _CANCELLING, and the result differs from eager's by at most a few hundred
    eps of a term of size 1, plus the rounding of the dtype."""
    if not _CANCELLING.search(text) or not result.dtype.is_floating_point:
        return False
    rounding = 0.0 if result.dtype in WIDE else torch.finfo(result.dtype).eps
    eps = torch.finfo(result.dtype if result.dtype in WIDE else torch.float32).eps
    expected = torch.as_tensor(expected).to(result)
    return torch.allclose(result, expected, rtol=64 * eps + rounding, atol=256 * eps, equal_nan=True)
