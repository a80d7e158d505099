"""Pointwise ops on contiguous tensors: the examples, and ops that take much of the time of training."""

import pathlib

import torch

from .case import Handwritten, Case, Tensors

# The factors of AdamW's tenth step: of weight decay, of the update (with the first moment's bias correction), and of the
# second moment's bias correction.
KEEP, RATE, CORRECTION = 1 - 1e-3 * 0.01, 1e-3 / (1 - 0.9**10), 1 / (1 - 0.999**10)
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def pair(make: Tensors, dtype: torch.dtype = torch.float32) -> tuple:
    return make.normal(make.n, dtype=dtype), make.normal(make.n, dtype=dtype)


def boxes(make: Tensors, count: int) -> torch.Tensor:
    box = make.uniform(count, 4)
    box[:, 2:] += box[:, :2]
    return box


def pairs_of_boxes(make: Tensors) -> tuple:
    count = make.either(make.n // 16, make.n // 4)
    return boxes(make, count), boxes(make, count), 1e-7


def denoising(make: Tensors) -> tuple:
    """Images (noise, sample, more noise), a schedule of 1000 steps, and the step of each image."""
    shape, steps = (make.n >> 18, 3, 256, 256), 1000
    images = [make.normal(*shape) for _ in range(3)]
    return *images, make.uniform(5, steps), make.integers(shape[0], 1, 1, 1, below=steps)


def adamw_arguments(make: Tensors) -> tuple:
    """Parameter, gradient, both moments, and the scalars of a step."""
    tensors = [make.normal(make.n // 4).abs() for _ in range(4)]
    return *tensors, KEEP, RATE, CORRECTION


def hidden(make: Tensors) -> tuple:
    """Activations of a layer, its bias, and the tensor of its residual connection."""
    rows, columns = make.either((1 << 15, 1 << 13), (1 << 9, 1 << 11))
    return tuple(make.normal(*shape, dtype=torch.bfloat16) for shape in ((rows, columns), (columns,), (rows, columns)))


def gradients(make: Tensors) -> tuple:
    """The gradient of the result, and both inputs."""
    return tuple(make.normal(make.n // 2, dtype=torch.bfloat16) for _ in range(3))


def some_bytes(make: Tensors, count: int) -> torch.Tensor:
    return make.integers(count, below=256, dtype=torch.uint8)


def example(name: str) -> str:
    return (EXAMPLES / f"{name}.py").read_text()


RELU_ADD_JITERATED = "template <typename T> T f(T x, T y) { return (x < T(0) ? T(0) : x) + y + T(0.5); }"
MUL_JITERATED = "template <typename T> T f(T x, T y) { return x * y; }"
INVERT_JITERATED = "template <typename T> T f(T x) { return ~x; }"
SWIGLU_JITERATED = """template <typename T> T f(T x, T y) {
    float v = x;
    return v / (1.0f + ::exp(-v)) * float(y);
}"""
SWIGLU_BACKWARD_JITERATED = """template <typename T> void f(T g, T x, T y, T& dx, T& dy) {
    float v = x, s = 1.0f / (1.0f + ::exp(-v));
    dx = float(g) * float(y) * (s * (1.0f + v * (1.0f - s)));
    dy = float(g) * (v * s);
}"""
BIAS_GELU_JITERATED = """template <typename T> T f(T x, T b, T r) {
    float v = float(x) + float(b);
    return 0.5f * v * (1.0f + ::tanh(0.79788456080286536f * (v + 0.044715f * v * v * v))) + float(r);
}"""
ADAMW_JITERATED = f"""template <typename T> void f(T p, T g, T m, T v, T& new_p, T& new_m, T& new_v) {{
    new_m = m * T(0.9) + g * T(0.1);
    new_v = v * T(0.999) + g * g * T(0.001);
    new_p = p * T({KEEP}) - T({RATE}) * new_m / (::sqrt(new_v * T({CORRECTION})) + T(1e-8));
}}"""

SWIGLU = "F.silu(x) * y"
SWIGLU_BACKWARD = """
def swiglu_backward(g, x, y):
    s = torch.sigmoid(x)
    return g * y * (s * (1 + x * (1 - s))), g * (x * s)
"""
ADAMW = """
def adamw(p, grad, m, v, keep: float, rate: float, correction: float):
    m = m * 0.9 + grad * 0.1
    v = v * 0.999 + grad * grad * 0.001
    return p * keep - rate * m / (torch.sqrt(v * correction) + 1e-8), m, v
"""

FOUR_EXAMPLES = [
    Case("relu_add", example("relu_add"), lambda make: (*pair(make), 0.5), RELU_ADD_JITERATED, Handwritten("relu_add")),
    Case("mul", example("mul"), pair, MUL_JITERATED, Handwritten("mul")),
    Case("giou", example("giou"), pairs_of_boxes, handwritten=Handwritten("giou"), options={"lazy": "never"}),
    Case("denoise", example("denoise"), denoising, handwritten=Handwritten("denoise")),
]

CASES = [
    *FOUR_EXAMPLES,
    Case("swiglu bf16", SWIGLU, lambda make: pair(make, torch.bfloat16), SWIGLU_JITERATED, Handwritten("swiglu")),
    Case("swiglu backward bf16", SWIGLU_BACKWARD, gradients, SWIGLU_BACKWARD_JITERATED, Handwritten("swiglu_backward")),
    Case("gelu(x + b) + r bf16", 'F.gelu(x + b, approximate="tanh") + r', hidden, BIAS_GELU_JITERATED,
         Handwritten("bias_gelu")),
    Case("adamw", ADAMW, adamw_arguments, ADAMW_JITERATED, Handwritten("adamw")),
    Case("u8 * f32", "x * y", lambda make: (some_bytes(make, make.n), make.normal(make.n)), MUL_JITERATED,
         Handwritten("mul_bytes")),
    Case("~u8", "~x", lambda make: (some_bytes(make, 4 * make.n),), INVERT_JITERATED, Handwritten("invert")),
]
