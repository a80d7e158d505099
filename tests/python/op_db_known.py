"""The known differences between Ingot and PyTorch on op_db's inputs. These lists only shrink: test_op_db.py fails if an
entry is no longer needed. WITHIN_ULP is an exception: only the reference inputs need its entries."""

import torch

# Entries without a name in the language: they belong to torch.ops.aten only.
OUTSIDE_THE_LANGUAGE = {"native_dropout_backward"}

# Entry → a substring of a failing call or of its error message → the reason.
KNOWN: dict[str, dict[str, str]] = {
    # Results that depend on the values of a tensor:
    "narrow": {"not a int64 tensor": "the start of the slice depends on values"},
    "nn.functional.one_hot": {"num_classes=-1": "the number of classes depends on values"},
    "repeat_interleave": {"repeats=b": "the size of the result depends on values"},
    "tensor_split": {"split(a, b": "the sizes of the parts depend on values"},
    "nn.functional.embedding": {"max_norm=1.0": "eager changes the weight"},
    # Singular values:
    **{norm: {"'nuc'": "their sum", "singular value": "the largest and the smallest"}
       for norm in ("linalg.matrix_norm", "linalg.norm", "linalg.norm.subgradients_at_zero")},
    "nn.functional.batch_norm": {"float32[0]": "eager takes a vector without elements", "bfloat16[0]": "the same", "float64[0]": "the same"},
    "gather": {"treats it as a mask": "in eager an index without elements has any dtype"},
    # With a GPU, op_db's samples for the CPU move tensors to the GPU; its samples for the GPU do not move them.
    **({"to": {"it cannot create tensors on cuda:0 or move them there": "an op's results are on the device of its tensors",
               "to be on the same device": "an op's tensors are on one device"}} if torch.cuda.is_available() else {}),
}  # fmt: skip

# The same, on CUDA only.
KNOWN_ON_CUDA: dict[str, dict[str, str]] = {"trace": {"of bool": "eager rejects it on the CPU, and an op accepts the same dtypes on every device"}}

# Entry → largest error in ulps of eager's result: functions of several steps of 4 ulp each, which eager computes in one
# step.
WITHIN_ULP = {"lgamma": 8, "nn.functional.mish": 8, "special.i1": 8, "special.ndtri": 8, "xlogy": 8}

# As KNOWN, for calls that change their first argument.
KNOWN_IN_PLACE: dict[str, dict[str, str]] = {
    name: {"in the language": "it would change a tensor's shape, not its elements"}
    for name in ("squeeze", "squeeze.multiple", "t", "transpose", "unsqueeze")
}
