"""Whatever a plain vector kernel is slow on: data that begin between two vectors, rows of odd widths, tensors that lie
in another order than the result."""

import dataclasses
import math
import runpy
from typing import Callable, Iterator

import torch

from .case import ByHand, Case, Tensors
from .elementwise import (BIAS_GELU_JITERATED, EXAMPLES, INVERT_JITERATED, MUL_JITERATED, RELU_ADD_JITERATED, SWIGLU,
                          SWIGLU_JITERATED, example, pairs_of_boxes, some_bytes)

# --- One element off ------------------------------------------------------------------------------------------------


def one_off(group: str, inputs: int, new: Callable[[Tensors, int], torch.Tensor], text: str, jiterator: str,
            by_hand: ByHand, *numbers: float) -> Iterator[Case]:
    """Each input alone and all together, and the same after a call with aligned tensors. `new` makes a tensor that has
    so many elements more than it takes."""

    def beginning_at(*offsets: int) -> Callable[[Tensors], tuple]:
        return lambda make: (*(new(make, offset)[offset:] for offset in offsets), *numbers)

    together = (1,) * inputs
    alone = [tuple(int(k == j) for j in range(inputs)) for k in range(inputs)]
    for offsets in dict.fromkeys((*alone, together)):
        name = f"{group}: " + " and ".join(name for name, offset in zip("xy", offsets) if offset)
        case = Case(name, text, beginning_at(*offsets), jiterator, by_hand, autotune=offsets == together,
                    on_cpu=offsets == together)
        yield case
        yield dataclasses.replace(case, name=f"{name}, after aligned calls", first=beginning_at(*(0,) * inputs),
                                  jiterator="", by_hand=None, autotune=False, on_cpu=False)


def without_number(args: tuple, results: tuple) -> tuple:
    return *args[:-1], *results, results[0].numel()


def normal(dtype: torch.dtype) -> Callable[[Tensors, int], torch.Tensor]:
    return lambda make, more: make.normal(make.n + more, dtype=dtype)


ONE_OFF = [
    *one_off("one off f32", 2, normal(torch.float32), example("relu_add"), RELU_ADD_JITERATED,
             ByHand("relu_add_shifted", 4, arguments=without_number), 0.5),
    *one_off("one off bf16", 2, normal(torch.bfloat16), SWIGLU, SWIGLU_JITERATED, ByHand("swiglu_shifted", 8)),
    *one_off("one off u8", 1, lambda make, more: some_bytes(make, 4 * make.n + more), "~x", INVERT_JITERATED,
             ByHand("invert_shifted", 16)),
]

# --- Rows -----------------------------------------------------------------------------------------------------------

BIASES = {"row": "b", "column": "c", "both": "b + c"}


def rows(group: str, width: int, stride: int, bias: str, name: str, autotune: bool = False) -> Case:
    def tensors(make: Tensors) -> tuple:
        count = make.n // stride
        x, r = (make.normal(count, stride)[:, :width] for _ in range(2))
        biases = {"b": make.normal(width), "c": make.normal(count, 1)}
        return x, *(biases[b] for b in BIASES[bias].split(" + ")), r

    def arguments(args: tuple, results: tuple) -> tuple:
        x, *biases, r = args  # the kernel has a place for either, and leaves alone what it is not compiled for
        return x, biases[0], biases[-1], r, *results, width, stride, results[0].numel()

    options = tuple(f"-DBY_{kind.upper()}" for kind in ("row", "column") if bias in (kind, "both"))
    return Case(f"{group}: {name}", f'F.gelu(x + {BIASES[bias]}, approximate="tanh") + r', tensors,
                BIAS_GELU_JITERATED if bias != "both" else "", ByHand("rows", 4, options, arguments), autotune=autotune)


ROWS = [
    *(rows("rows of 1023", 1023, 1023, bias, bias, bias == "row") for bias in BIASES),
    *(rows("rows of 1 to 33", width, width, "both", str(width), width == 17) for width in (1, 3, 7, 17, 33)),
    *(rows("rows of 1000 in 1024", 1000, 1024, bias, bias, bias == "both") for bias in BIASES),
]


def planes(make: Tensors) -> tuple:
    batch, channels = make.either((32, 64), (1, 4))
    return make.normal(batch, channels, 513, 513), make.normal(channels, 1, 1)


def planes_by_hand(args: tuple, results: tuple) -> tuple:
    return *args, *results, 513 * 513, args[1].numel(), results[0].numel()


TANH_JITERATED = "template <typename T> T f(T x, T b) { return ::tanh(x - b); }"
PLANES = Case("tanh(x - b)", "torch.tanh(x - b)", planes, TANH_JITERATED,
              ByHand("tanh_planes", 4, arguments=planes_by_hand))


# --- Rows by their numbers ------------------------------------------------------------------------------------------


def gathered(make: Tensors) -> tuple:
    """A table of which every row is read once."""
    side = 1 << 10
    rows = make.n // side
    return make.normal(rows, side), torch.randperm(rows, device=make.device), make.normal(side)


GATHERED = [
    Case("gathered rows: scaled", "def f(table, i, s): return table[i] * s", gathered, autotune=False),
    Case("gathered rows: masked, all valid",
         "def f(table, i, s): return torch.where((i >= 0)[:, None], table[i] * s, 0.0)", gathered, autotune=False),
]

# --- Other orders ---------------------------------------------------------------------------------------------------


def squares(make: Tensors, count: int = 2, share: int = 1) -> tuple:
    side = math.isqrt(make.n // share)
    return tuple(make.normal(side, side) for _ in range(count))


def permuted(make: Tensors, order: tuple[int, ...]) -> tuple:
    """A tensor that lies in order once its dims are permuted, and one that does."""
    sizes = make.either((512, 640, 832), (85, 64, 192))
    return make.normal(*(sizes[order.index(k)] for k in range(3))), make.normal(*sizes)


def images(make: Tensors, *orders: torch.memory_format) -> tuple:
    shape = make.either((64, 256, 128, 128), (4, 64, 64, 64))
    return tuple(make.normal(*shape).contiguous(memory_format=order) for order in orders)


def turning(function: str, sizes: Callable[[torch.Tensor], tuple[int, int, int]]) -> ByHand:
    """Of two arguments, of which the first lies as the result does, and the second across. `sizes` gives the first
    one's batch, rows and columns as they lie."""

    def arguments(args: tuple, results: tuple) -> tuple:
        straight, crossed = args
        return crossed, straight, *results, *sizes(straight)[1:]

    def blocks(args: tuple) -> tuple[int, int, int]:
        batch, rows, columns = sizes(args[0])
        return columns // 64, rows // 64, batch

    options = (f"-DFUNCTION(crossed, straight)=({function})",)
    return ByHand("transpose", options=options, arguments=arguments, blocks=blocks)


def image_sizes(x: torch.Tensor) -> tuple[int, int, int]:
    batch, channels, height, width = x.shape
    return (batch, channels, height * width) if x.is_contiguous() else (batch, height * width, channels)


def permutation(*order: int, autotune: bool = False, by_hand: ByHand | None = None) -> Case:
    return Case(f"transposed: permute{order}", f"x.permute{order} + y", lambda make: permuted(make, order),
                autotune=autotune, by_hand=by_hand)


TRANSPOSED = [
    # The result lies as x.t() does, which comes first.
    Case("transposed: relu(x.t()) + y", "torch.relu(x.t()) + y", squares,
         by_hand=turning("(straight > 0.0f ? straight : 0.0f) + crossed", lambda x: (1, *x.shape))),
    Case("transposed: four pairs", "a.t() * b + c.t() * d + e.t() * f + g.t() * h",
         lambda make: squares(make, 8, 4), autotune=False),
    permutation(0, 2, 1, by_hand=turning("crossed + straight", lambda x: x.shape)),
    permutation(1, 0, 2),
    permutation(1, 2, 0),
    permutation(2, 0, 1),
    permutation(2, 1, 0, autotune=True),
    Case("channels-last: times contiguous", "x * y",
         lambda make: images(make, torch.channels_last, torch.contiguous_format), MUL_JITERATED,
         turning("crossed * straight", image_sizes)),
    Case("channels-last: contiguous times it", "x * y",
         lambda make: images(make, torch.contiguous_format, torch.channels_last), MUL_JITERATED,
         turning("crossed * straight", image_sizes), autotune=False),
]

# --- Boxes that need not be read ------------------------------------------------------------------------------------


def padded_boxes(make: Tensors) -> tuple:
    """A detector's batch as examples/detections.py makes it, repeated."""
    found = runpy.run_path(str(EXAMPLES / "detections.py"))["detections"](1 << 13)
    pred, target = (found[name].float().flatten(0, 1).to(make.device) for name in ("pred", "target"))
    times = (1 << 24) // len(pred)
    return pred.repeat(times, 1), target.repeat(times, 1), 1e-7


LAZY = [
    Case("giou lazy, padded", example("giou"), padded_boxes, by_hand=ByHand("giou"), autotune=False, on_cpu=False),
    Case("giou lazy, all valid", example("giou"), pairs_of_boxes, by_hand=ByHand("giou"), autotune=False, on_cpu=False),
]

CASES = [*ONE_OFF, *ROWS, PLANES, *GATHERED, *TRANSPOSED, *LAZY]
