"""Elementwise kernels in the style of KernelBench: activations (level 1), and the ops that follow a convolution or a matrix
product (level 2). The convolution and the matrix product that the names of the cases begin with are not run."""

from .case import Case, Tensors


def activations(make: Tensors) -> tuple:
    return (make.normal(*make.either((4096, 1 << 15), (32, 1 << 15))),)


def images(make: Tensors) -> tuple:
    return (make.normal(*make.either((128, 64, 128, 128), (4, 64, 64, 64))),)


def images_and_bias(make: Tensors) -> tuple:
    return *images(make), make.normal(64, 1, 1)


def volumes(make: Tensors) -> tuple:
    return (make.normal(*make.either((32, 64, 16, 64, 64), (2, 16, 8, 64, 64))),)


def volumes_and_bias(make: Tensors) -> tuple:
    x, = volumes(make)
    return x, make.normal(x.shape[1], 1, 1, 1)


def features(make: Tensors) -> tuple:
    return (make.normal(*make.either((16384, 8192), (128, 8192))),)


def features_and_bias(make: Tensors) -> tuple:
    return *features(make), make.normal(8192)


RESIDUAL = """
def residual(x, b):
    return ((x + b) + x) * x + x
"""
SWISH_OF_SUM = """
def swish_of_sum(x, b):
    x = (x + b) / 1.5
    return x * torch.sigmoid(x)
"""
FOUR_ACTIVATIONS = """
def four_activations(x, b):
    x = x + b
    x = torch.sigmoid(x) * x
    return F.hardtanh(F.gelu(torch.tanh(x)), -1, 1)
"""
CLAMPED_SWISH = """
def clamped_swish(x):
    x = x * torch.sigmoid(x) / 2.0
    return torch.clamp(torch.tanh(torch.clamp(x, -1.0, 1.0)), -1.0, 1.0)
"""
NEW_GELU = "0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))"

LEVEL_1 = {
    "relu": "torch.relu(x)",
    "leaky_relu": "F.leaky_relu(x, 0.01)",
    "sigmoid": "torch.sigmoid(x)",
    "tanh": "torch.tanh(x)",
    "swish": "x * torch.sigmoid(x)",
    "gelu": "F.gelu(x)",
    "selu": "F.selu(x)",
    "hardsigmoid": "F.hardsigmoid(x)",
    "softplus": "F.softplus(x)",
    "softsign": "x / (1 + torch.abs(x))",
    "elu": "F.elu(x, 1.0)",
    "hardtanh": "F.hardtanh(x, -1.0, 1.0)",
    "new gelu": NEW_GELU,
}
LEVEL_2 = {
    "conv, relu, bias": ("torch.relu(x) + b", images_and_bias),
    "conv, subtract twice, mish": ("F.mish(x - 0.5 - 0.2)", images),
    "conv, mish, mish": ("F.mish(F.mish(x))", images),
    "conv, hardswish, relu": ("torch.relu(F.hardswish(x))", images),
    "conv, x tanh softplus": ("torch.tanh(F.softplus(x)) * x", images),
    "conv transpose, bias, clamps, scale":
        ("torch.clamp(torch.clamp(x + b, 0.0, 1.0) * 2.0, 0.0, 1.0) / 2.0", images_and_bias),
    "conv transpose, subtract, tanh": ("torch.tanh(x - b)", images_and_bias),
    "conv 3d, four activations, bias":
        ("torch.sigmoid(F.gelu(F.leaky_relu(torch.relu(x), 0.01))) + b", volumes_and_bias),
    "conv 3d, leaky_relu, sum, clamp, gelu":
        ("F.gelu(torch.clamp(F.leaky_relu(x, 0.2) + b, -1.0, 1.0))", volumes_and_bias),
    "conv transpose 3d, residuals": (RESIDUAL, volumes_and_bias),
    "gemm, subtract, multiply, relu": ("torch.relu((x - 2.0) * 1.5)", features),
    "gemm, multiply, leaky_relu": ("F.leaky_relu(x * 2.0, 0.1)", features),
    "gemm, sigmoid, scale, residual": ("torch.sigmoid(x) * 2.0 + x", features),
    "gemm, bias, divide, swish": (SWISH_OF_SUM, features_and_bias),
    "gemm, swish, divide, clamps, tanh": (CLAMPED_SWISH, features),
    "gemm, add, swish, tanh, gelu, hardtanh": (FOUR_ACTIVATIONS, features_and_bias),
    "gemm, scale, hardtanh, gelu": ("F.gelu(F.hardtanh(x * 0.5, -2.0, 2.0))", features),
    "gemm, bias, relu": ("torch.relu(x + b)", features_and_bias),
}


def case(level: int, name: str, text: str, make) -> Case:
    return Case(f"kernelbench: {level} {name}", text, make, autotune=False)


CASES = [
    *(case(1, name, text, activations) for name, text in LEVEL_1.items()),
    *(case(2, name, text, make) for name, (text, make) in LEVEL_2.items()),
]
