"""Writes promotion.txt, the dtypes to which PyTorch promotes two operands. Run with PyTorch's Python: `python
make_promotion.py`."""

import pathlib

import torch

TYPES = {
    "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
}
SHORT = {dtype: name for name, dtype in TYPES.items()}

operands = [(f"{name}:2", torch.ones(2, dtype=dtype)) for name, dtype in TYPES.items()]
operands += [(f"{name}:", torch.ones((), dtype=dtype)) for name, dtype in TYPES.items()]
operands += [("bool=1", True), ("int=1", 1), ("float=1", 1.0)]

lines = ["# PyTorch's type promotion: `a b dtype of a * b`. A dtype with :2 is a tensor of one dim, with : of none; the rest are numbers."]
for a, x in operands:
    for b, y in operands:
        if isinstance(x, torch.Tensor) or isinstance(y, torch.Tensor):
            lines.append(f"{a} {b} {SHORT[(x * y).dtype]}")
(pathlib.Path(__file__).parent / "promotion.txt").write_text("\n".join(lines) + "\n")
