"""Layouts on which a simple vectorised kernel is slow: unaligned data, rows of odd widths, and tensors whose dims are
in another order than the result's."""

import dataclasses
import math
import runpy
from typing import Callable, Iterator

import torch

from .case import Handwritten, Case, Tensors
from .elementwise import (BIAS_GELU_JITERATED, EXAMPLES, INVERT_JITERATED, MUL_JITERATED, RELU_ADD_JITERATED, SWIGLU,
                          SWIGLU_JITERATED, example, pairs_of_boxes, some_bytes)

# --- One element off alignment --------------------------------------------------------------------------------------


def one_off(group: str, inputs: int, make_tensor: Callable[[Tensors, int], torch.Tensor], text: str, jiterator: str,
            handwritten: Handwritten, *numbers: float) -> Iterator[Case]:
    """Each input unaligned alone and all together, and the same after a call with aligned tensors. The second argument of
    `make_tensor` is the number of elements that it adds to the tensor."""

    def arguments_at(*offsets: int) -> Callable[[Tensors], tuple]:
        return lambda make: (*(make_tensor(make, offset)[offset:] for offset in offsets), *numbers)

    all_offset = (1,) * inputs
    one_offset = [tuple(int(k == j) for j in range(inputs)) for k in range(inputs)]
    for offsets in dict.fromkeys((*one_offset, all_offset)):
        name = f"{group}: " + " and ".join(name for name, offset in zip("xy", offsets) if offset)
        case = Case(name, text, arguments_at(*offsets), jiterator, handwritten, autotune=offsets == all_offset,
                    on_cpu=offsets == all_offset)
        yield case
        yield dataclasses.replace(case, name=f"{name}, after aligned calls", earlier_arguments=arguments_at(*(0,) * inputs),
                                  jiterator="", handwritten=None, autotune=False, on_cpu=False)


def normal(dtype: torch.dtype) -> Callable[[Tensors, int], torch.Tensor]:
    return lambda make, more: make.normal(make.n + more, dtype=dtype)


ONE_OFF = [
    *one_off("one off f32", 2, normal(torch.float32), example("relu_add"), RELU_ADD_JITERATED,
             Handwritten("relu_add_shifted"), 0.5),
    *one_off("one off bf16", 2, normal(torch.bfloat16), SWIGLU, SWIGLU_JITERATED, Handwritten("swiglu_shifted")),
    *one_off("one off u8", 1, lambda make, more: some_bytes(make, 4 * make.n + more), "~x", INVERT_JITERATED,
             Handwritten("invert_shifted")),
]

# --- Rows -----------------------------------------------------------------------------------------------------------

BIASES = {"row": "b", "column": "c", "both": "b + c"}


def rows(group: str, width: int, stride: int, bias: str, name: str, autotune: bool = False) -> Case:
    def tensors(make: Tensors) -> tuple:
        count = make.n // stride
        x, r = (make.normal(count, stride)[:, :width] for _ in range(2))
        biases = {"b": make.normal(width), "c": make.normal(count, 1)}
        return x, *(biases[b] for b in BIASES[bias].split(" + ")), r

    names = BIASES[bias].split(" + ")  # the kernel takes two biases: a single one is passed as both
    launch = f"grid=ceil(n / 1024), block=256, args=x, {names[0]}, {names[-1]}, r, out, x.size(1), x.stride(0), n"
    options = tuple(f"-DBY_{kind.upper()}" for kind in ("row", "column") if bias in (kind, "both"))
    return Case(f"{group}: {name}", f'F.gelu(x + {BIASES[bias]}, approximate="tanh") + r', tensors,
                BIAS_GELU_JITERATED if bias != "both" else "", Handwritten("rows", launch, options), autotune=autotune)


ROWS = [
    *(rows("rows of 1023", 1023, 1023, bias, bias, bias == "row") for bias in BIASES),
    *(rows("rows of 1 to 33", width, width, "both", str(width), width == 17) for width in (1, 3, 7, 17, 33)),
    *(rows("rows of 1000 in 1024", 1000, 1024, bias, bias, bias == "both") for bias in BIASES),
]


def planes(make: Tensors) -> tuple:
    batch, channels = make.either((32, 64), (1, 4))
    return make.normal(batch, channels, 513, 513), make.normal(channels, 1, 1)


TANH_JITERATED = "template <typename T> T f(T x, T b) { return ::tanh(x - b); }"
PLANES = Case("tanh(x - b)", "torch.tanh(x - b)", planes, TANH_JITERATED,
              Handwritten("tanh_planes"))


# --- Gathered rows --------------------------------------------------------------------------------------------------


def gathered(make: Tensors) -> tuple:
    """A table, a permutation of its rows, so that each row is read once, and a factor for each column."""
    side = 1 << 10
    rows = make.n // side
    return make.normal(rows, side), torch.randperm(rows, device=make.device), make.normal(side)


GATHERED = [
    Case("gathered rows: scaled", "def f(table, i, s): return table[i] * s", gathered, autotune=False),
    Case("gathered rows: masked, all valid",
         "def f(table, i, s): return torch.where((i >= 0)[:, None], table[i] * s, 0.0)", gathered, autotune=False),
]

# --- Transposed and permuted tensors --------------------------------------------------------------------------------


def squares(make: Tensors, count: int = 2, share: int = 1) -> tuple:
    """`count` square matrices of n / `share` elements each."""
    side = math.isqrt(make.n // share)
    return tuple(make.normal(side, side) for _ in range(count))


def permuted(make: Tensors, order: tuple[int, ...]) -> tuple:
    """Two contiguous tensors. If the first one's dims are permuted to `order`, both have the same sizes."""
    sizes = make.either((512, 640, 832), (85, 64, 192))
    return make.normal(*(sizes[order.index(k)] for k in range(3))), make.normal(*sizes)


def images(make: Tensors, *orders: torch.memory_format) -> tuple:
    shape = make.either((64, 256, 128, 128), (4, 64, 64, 64))
    return tuple(make.normal(*shape).contiguous(memory_format=order) for order in orders)


def transpose_kernel(function: str, batch: str, rows: str, columns: str) -> Handwritten:
    """The transpose kernel for two arguments: x has the result's layout, y the transposed one. `rows` and `columns` are the
    numbers of rows and columns of x in memory; `function` is an expression of C++."""
    launch = f"grid={columns} // 64, {rows} // 64, {batch}, block=256, args=y, x, out, {rows}, {columns}"
    return Handwritten("transpose", launch, (f"-DFUNCTION(transposed, row_major)=({function})",))


IMAGE = "x.size(0)", "x.size(1)", "(x.size(2) * x.size(3))"
CHANNELS_LAST_IMAGE = "x.size(0)", "(x.size(2) * x.size(3))", "x.size(1)"


def permutation(*order: int, autotune: bool = False, handwritten: Handwritten | None = None) -> Case:
    return Case(f"transposed: permute{order}", f"x.permute{order} + y", lambda make: permuted(make, order),
                autotune=autotune, handwritten=handwritten)


TRANSPOSED = [
    # The result has the layout of x.t(), the first operand.
    Case("transposed: relu(x.t()) + y", "torch.relu(x.t()) + y", squares,
         handwritten=transpose_kernel("(row_major > 0.0f ? row_major : 0.0f) + transposed", "1", "x.size(0)", "x.size(1)")),
    Case("transposed: four pairs", "a.t() * b + c.t() * d + e.t() * f + g.t() * h",
         lambda make: squares(make, 8, 4), autotune=False),
    permutation(0, 2, 1, handwritten=transpose_kernel("transposed + row_major", "x.size(0)", "x.size(1)", "x.size(2)")),
    permutation(1, 0, 2),
    permutation(1, 2, 0),
    permutation(2, 0, 1),
    permutation(2, 1, 0, autotune=True),
    Case("channels-last: times contiguous", "x * y",
         lambda make: images(make, torch.channels_last, torch.contiguous_format), MUL_JITERATED,
         transpose_kernel("transposed * row_major", *CHANNELS_LAST_IMAGE)),
    Case("channels-last: contiguous times it", "x * y",
         lambda make: images(make, torch.contiguous_format, torch.channels_last), MUL_JITERATED,
         transpose_kernel("transposed * row_major", *IMAGE), autotune=False),
]

# --- Boxes of which some need not be read ---------------------------------------------------------------------------


def padded_boxes(make: Tensors) -> tuple:
    """A detector's batch as examples/detections.py makes it, repeated."""
    boxes = runpy.run_path(str(EXAMPLES / "detections.py"))["detections"](1 << 13)
    pred, target = (boxes[name].float().flatten(0, 1).to(make.device) for name in ("pred", "target"))
    times = (1 << 24) // len(pred)
    return pred.repeat(times, 1), target.repeat(times, 1), 1e-7


LAZY = [
    Case("giou lazy, padded", example("giou"), padded_boxes, handwritten=Handwritten("giou"), autotune=False, on_cpu=False),
    Case("giou lazy, all valid", example("giou"), pairs_of_boxes, handwritten=Handwritten("giou"), autotune=False, on_cpu=False),
]

CASES = [*ONE_OFF, *ROWS, PLANES, *GATHERED, *TRANSPOSED, *LAZY]
