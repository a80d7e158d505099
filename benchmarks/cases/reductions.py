"""Reductions: common losses and norms, rows of many lengths, columns, and few elements reduced to a scalar.

All summands are positive, so that the results are not small beside their rounding errors when they are compared with
eager's.
"""

import torch

from .case import Handwritten, Case, Tensors
from .elementwise import boxes, example, pairs_of_boxes
from .layouts import padded_boxes

# --- Boxes ----------------------------------------------------------------------------------------------------------


def first_half_valid(make: Tensors) -> tuple:
    """Boxes sorted so that the valid ones come first."""
    pred, target, eps = pairs_of_boxes(make)
    target[len(target) // 2 :] = 0
    return pred, target, eps


def short_boxes(make: Tensors) -> tuple:
    """Predictions in bfloat16, and targets of whole pixels in uint8."""
    count = make.either(1 << 26, 1 << 18)
    corner = make.integers(count, 2, below=200, dtype=torch.uint8)
    target = torch.cat([corner, corner + 1 + make.integers(count, 2, below=55, dtype=torch.uint8)], 1)
    return target.to(torch.bfloat16) + 8 * boxes(make, count).to(torch.bfloat16), target, 1e-7


def giou_loss_handwritten(pred: str = "float", target: str = "float") -> Handwritten:
    return Handwritten("giou_loss", options=(f"-DPRED={pred}", f"-DTARGET={target}"))


def giou_loss(name: str, make, handwritten: Handwritten = giou_loss_handwritten(), on_cpu: bool = True) -> Case:
    return Case(f"giou loss {name}", example("giou_loss"), make, handwritten=handwritten, autotune=False, on_cpu=on_cpu)


BOXES = [
    giou_loss("all valid", pairs_of_boxes),
    giou_loss("padded", padded_boxes, on_cpu=False),
    giou_loss("first half valid", first_half_valid),
    giou_loss("bf16 by u8", short_boxes, giou_loss_handwritten("bfloat16", "unsigned char")),
]

# --- Rows and columns -----------------------------------------------------------------------------------------------


def rows_of(columns: int, dtype: torch.dtype = torch.float32):
    """Rows of so many columns, 1 GiB of them on the GPU."""
    return lambda make: (make.uniform(make.n * 4 // dtype.itemsize // columns, columns).to(dtype),)


def cube(make: Tensors) -> tuple:
    return (make.uniform(*make.either((256, 1024, 1024), (16, 256, 256))),)


def row_sum(columns: int) -> Case:
    return Case(f"sum(-1) of {columns}", "x.sum(-1)", rows_of(columns), autotune=columns == 4096)


def column_sum(name: str, on_gpu: tuple[int, int], on_cpu: tuple[int, int]) -> Case:
    return Case(f"(x * y).sum(0): {name}", "(x * y).sum(0)",
                lambda make: tuple(make.uniform(*make.either(on_gpu, on_cpu)) for _ in range(2)), autotune=False)


SUMS = [
    Case("mse to a number", "F.mse_loss(x, y)", lambda make: (make.uniform(make.n), make.uniform(make.n))),
    column_sum("tall", (1 << 16, 1 << 12), (1 << 12, 1 << 8)),
    column_sum("taller", (1 << 20, 1 << 8), (1 << 14, 1 << 6)),
    column_sum("wide", (1 << 12, 1 << 16), (1 << 8, 1 << 12)),
    *map(row_sum, (32, 1000, 4096, 32768, 262144)),
    Case("amax((0, 2))", "x.amax((0, 2))", cube, autotune=False),
    Case("middle dim", "x.sum(1)", cube, autotune=False),
]

# --- Normalised rows ------------------------------------------------------------------------------------------------


def softmax(group: str, columns: int, dtype: torch.dtype = torch.float32, autotune=False, on_cpu=True) -> Case:
    return Case(f"{group}: {columns}", "x.softmax(-1)", rows_of(columns, dtype), autotune=autotune, on_cpu=on_cpu)


SOFTMAX = [
    *(softmax("softmax f32", columns, autotune=columns == 4096)
      for columns in (32, 128, 1000, 1023, 4096, 16384, 32768)),
    *(softmax("softmax f32, short and odd", columns, on_cpu=False) for columns in (9, 21, 33, 63, 91, 127)),
    softmax("softmax f32, long", 65536),
    *(softmax("softmax f32, longest", columns) for columns in (131072, 262144)),
    *(softmax("softmax bf16", columns, torch.bfloat16) for columns in (128, 4096)),
    softmax("softmax bf16, long", 32768, torch.bfloat16),
]
# Widths that no schedule rule was derived from.
OTHER_WIDTHS = [
    softmax("softmax of other widths", columns, on_cpu=False)
    for columns in (40, 75, 152, 270, 444, 700, 901, 1300, 1801, 2500, 3333, 5504, 7000, 9001, 14000, 22220)
]


def layer(make: Tensors) -> tuple:
    x, = rows_of(4096)(make)
    return x, make.normal(4096), make.normal(4096)


def residual_layer(make: Tensors) -> tuple:
    rows, columns = make.either((1 << 15, 1 << 13), (1 << 9, 1 << 11))
    return tuple(make.normal(*shape, dtype=torch.bfloat16) for shape in ((rows, columns), (rows, columns), (columns,)))


def grouped(make: Tensors) -> tuple:
    shape = make.either((4096, 256, 256), (16, 256, 256))
    return make.normal(*shape), make.normal(256), make.normal(256)


def classes(make: Tensors) -> tuple:
    rows, columns = make.either(1 << 14, 20), 50257
    return make.normal(rows, columns, dtype=torch.bfloat16), make.integers(rows, below=columns)


LAYER_NORM = """
def gelu_of_layer_norm(x, weight, bias):
    return F.gelu(F.layer_norm(x, (x.size(-1),), weight, bias))
"""
RMS_NORM = """
def rms_norm(x, residual, weight):
    h = x + residual
    return h, F.rms_norm(h, (h.size(-1),), weight, 1e-6)
"""
NORMS = [
    Case("gelu(layer_norm(x))", LAYER_NORM, layer),
    Case("rms_norm bf16 with a residual", RMS_NORM, residual_layer, autotune=False),
    Case("mish(group_norm(x, 8))", "def f(x, weight, bias): return F.mish(F.group_norm(x, 8, weight, bias))", grouped,
         autotune=False),
    Case("cross_entropy bf16", "F.cross_entropy(logits, target)", classes, autotune=False),
]

# --- Few elements ---------------------------------------------------------------------------------------------------


def to_a_number(power: int) -> Case:
    return Case(f"to a number: 10^{power} elements", "x.sum()", lambda make: (make.uniform(10**power),), autotune=False)


def few_rows(name: str, text: str, rows: int, columns: int) -> Case:
    return Case(f"{name} of few rows: {rows} of {columns}", text, lambda make: (make.uniform(rows, columns),),
                autotune=False)


CASES = [*BOXES, *SUMS, *SOFTMAX, *OTHER_WIDTHS, *NORMS]
FEW = [
    *map(to_a_number, range(3, 8)),
    *(few_rows(name, text, rows, columns) for name, text in (("sum", "x.sum(-1)"), ("softmax", "torch.softmax(x, -1)"))
      for rows in (1, 30, 1000) for columns in (32, 333, 4096)),
]
