"""Where Ingot is known not to be PyTorch on op_db's inputs. These lists only shrink: each entry that is not needed any
more turns test_op_db.py red."""

import torch

# Names that the language does not spell yet.
NAMES_TO_COME = set(
    """
    angle digamma erfinv fill frexp gcd i0 igamma igammac isreal lcm masked_fill mvlgamma.mvlgamma_p_1
    mvlgamma.mvlgamma_p_3 mvlgamma.mvlgamma_p_5 native_dropout_backward nn.functional.prelu
    polygamma.polygamma_n_0 polygamma.polygamma_n_1 polygamma.polygamma_n_2 polygamma.polygamma_n_3
    polygamma.polygamma_n_4 special.airy_ai special.bessel_j0 special.bessel_j1 special.bessel_y0
    special.bessel_y1 special.chebyshev_polynomial_t special.chebyshev_polynomial_u special.chebyshev_polynomial_v
    special.chebyshev_polynomial_w special.entr special.erfcx special.hermite_polynomial_h
    special.hermite_polynomial_he special.i0e special.i1 special.i1e special.laguerre_polynomial_l
    special.legendre_polynomial_p special.log_ndtr special.modified_bessel_i0 special.modified_bessel_i1
    special.modified_bessel_k0 special.modified_bessel_k1 special.ndtr special.ndtri
    special.polygamma.special_polygamma_n_0 special.scaled_modified_bessel_k0 special.scaled_modified_bessel_k1
    special.shifted_chebyshev_polynomial_t special.shifted_chebyshev_polynomial_u
    special.shifted_chebyshev_polynomial_v special.shifted_chebyshev_polynomial_w special.spherical_bessel_j0
    special.xlog1py special.zeta
    """.split()
)

DTYPES_TO_COME = {torch.uint16, torch.uint32, torch.uint64}

# Entry → what a failing call and its message have in them → why.
KNOWN: dict[str, dict[str, str]] = {
    **{cast: {"memory_format=": "casts take no memory_format"}
       for cast in "bfloat16 bool byte char double float half int long short to".split()},
    **{f"round.decimals_{n}": {"decimals=": "round takes no decimals"} for n in ("0", "3", "neg_3")},
}  # fmt: skip

# Entry → what a call has in it that Ingot takes and PyTorch refuses → why.
ACCEPTED: dict[str, dict[str, str]] = {
    "heaviside": {"heaviside(a, 2)": "a number for the second tensor"},
    "isclose": {"tol=-0.4": "a negative tolerance"},
    "ldexp": {"ldexp(a, 2)": "a number for the second tensor", "ldexp(2, a)": "a number for the first tensor"},
    "nn.functional.hardtanh": {"min_val=0.5, max_val=-0.5": "the limits are the wrong way round"},
    "nn.functional.softshrink": {"lambd=-0.5": "a negative threshold"},
    "rsub": {"rsub(2, a)": "a number for the first tensor"},
}
