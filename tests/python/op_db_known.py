"""Where Ingot is known not to be PyTorch on op_db's inputs. These lists only shrink: each entry that is not needed any
more turns test_op_db.py red, but those of WITHIN_ULP, which the reference inputs alone need."""

import torch

# Entries that have no name in the language: torch.ops.aten's alone.
NAMELESS = {"native_dropout_backward"}

# Entry → what a failing call and its message have in them → why.
KNOWN: dict[str, dict[str, str]] = {
    # What would depend on the values of a tensor:
    "narrow": {"not a int64 tensor": "where a slice begins"},
    "nn.functional.one_hot": {"num_classes=-1": "the number of classes"},
    "repeat_interleave": {"repeats=b": "the size of the result"},
    "tensor_split": {"split(a, b": "the sizes of the pieces"},
    "nn.functional.embedding": {"max_norm=1.0": "eager changes the weight"},
    # Singular values:
    **{norm: {"'nuc'": "their sum", "singular value": "the largest and the smallest"}
       for norm in ("linalg.matrix_norm", "linalg.norm", "linalg.norm.subgradients_at_zero")},
    "nn.functional.batch_norm": {"float32[0]": "eager takes a vector without elements", "bfloat16[0]": "the same", "float64[0]": "the same"},
    "gather": {"treats it as a mask": "in eager an index without elements has any dtype"},
    # Where there is a GPU, the CPU's samples are moved to it; the GPU's stay where they are.
    **({"to": {"it cannot create tensors on cuda:0 or move them there": "results of an op are where its tensors are",
               "to be on the same device": "so are its tensors"}} if torch.cuda.is_available() else {}),
}  # fmt: skip

# The same, on CUDA alone.
KNOWN_ON_CUDA: dict[str, dict[str, str]] = {"trace": {"of bool": "eager refuses it on the CPU, and an op means one thing"}}

# Entry → within how many ulps of eager's it is: functions of several steps of 4 ulp, which eager computes as one.
WITHIN_ULP = {"lgamma": 8, "nn.functional.mish": 8, "special.i1": 8, "special.ndtri": 8, "xlogy": 8}

# As KNOWN, of what changes its first argument.
KNOWN_IN_PLACE: dict[str, dict[str, str]] = {
    name: {"in the language": "it would change a tensor's shape, not its elements"}
    for name in ("squeeze", "squeeze.multiple", "t", "transpose", "unsqueeze")
}
