"""Errors in an op's source or call: the message, the location and the hint, which are the same in every API.

`¦` in a source marks where the caret must point. A source without it has an error of the call, which has no location.
"""

import os
import pickle
import re
import subprocess

import pytest
import torch

import ingot

DTYPES = {"f32": torch.float32, "i64": torch.int64, "bool": torch.bool, "u8": torch.uint8, "f64": torch.float64}
NESTED = "(" * 10_000 + "x" + ")" * 10_000

# source, arguments, pattern of the message and its help (a regular expression)
ROWS = [
    # Syntax outside the language
    ("def f(x):\n    return ¦0 < x < 1", "x=f32:3", "chain"),
    ("def f(x, y):\n    return ¦x > 0 and y > 0", "x=f32:3 y=f32:3", "and.*(&|logical_and)"),
    ("def f(x, y):\n    return ¦x > 0 or y > 0", "x=f32:3 y=f32:3", r"or.*(\||logical_or)"),
    ("def f(x):\n    return ¦not x", "x=f32:3", "not.*~"),
    ("def f(x):\n    if ¦x > 0:\n        return x\n    return -x", "x=f32:3", "where"),
    ("def f(x):\n    return ¦x if x > 0 else -x", "x=f32:3", "where"),
    ("def f(x):\n    while True:\n        x = ¦x + 1\n    return x", "x=f32:3", "nodes.*loops are unrolled"),
    ("def f(x):\n    x[0] = 1\n    return ¦x", "x=f32:3", "`x` is changed in place"),
    ("def f(x):\n    return ¦{'a', x}", "x=f32:3", "sets"),
    ("def f(x):\n    return ¦{'a': x}", "x=f32:3", "dict"),
    ("def f(x):\n    ¦try:\n        return x\n    except ValueError:\n        return x", "x=f32:3", "try"),
    ("def f(x):\n    ¦with torch.no_grad():\n        return x", "x=f32:3", "with"),
    ("¦class A:\n    pass", "x=f32:3", "class"),
    ("def f(x):\n    ¦yield x", "x=f32:3", "yield"),
    ("def f(x):\n    ¦global y\n    return x", "x=f32:3", "global"),
    ("def f(x):\n    ¦del x\n    return 1", "x=f32:3", "del"),
    ("def f(x):\n    return x +¦", "x=f32:3", "expected|expression"),
    ("def f(x):\n    return ¦(x + 1", "x=f32:3", "never closed"),
    ("def f(x):\n¦return x", "x=f32:3", "indent"),
    ("def f(x):\n    return x ¦$ 2", "x=f32:3", r"\$|character"),
    ("def f(x):\n    return ¦x @ x", "x=f32:40x40", "inner dimension above 16.*torch.matmul"),
    ("def f(x):\n    return ¦[x for x in range(3)", "x=f32:3", "never closed"),
    # Names
    ("def f(x):\n    return ¦relux(x)", "x=f32:3", "`relux`.*did you mean `relu`"),
    ("def f(x):\n    return torch.¦reluu(x)", "x=f32:3", "reluu.*`relu`"),
    ("def f(x):\n    return x.¦clampp(0)", "x=f32:3", "clampp.*`clamp`"),
    ("def f(x):\n    return x + ¦scale", "x=f32:3", "`scale`"),
    ("def f(x):\n    return ¦x.relu_()", "x=f32:3", "`x` is changed in place"),
    ("def f(x, i):\n    x.¦scatter_(0, i, 1.0)", "x=f32:3 i=i64:3", r"no `scatter_`[^$]*where\(mask"),
    # Calls inside the source
    ("def f(x):\n    return ¦maximum(x)", "x=f32:3", "maximum.*(other|argument|b)"),
    ("def f(x):\n    return ¦relu(x, x, x)", "x=f32:3", "relu.*argument"),
    ("def f(x):\n    return ¦clamp(x, mni=0)", "x=f32:3", "mni.*min"),
    ("def g(a, b): return a\ndef f(x):\n    return ¦g(x)", "x=f32:3", "`b`"),
    ("def f(x):\n    return ¦relu('a')", "x=f32:3", "relu.*(tensor|str)"),
    # Dtypes that PyTorch rejects
    ("def f(x):\n    return ¦~x", "x=f32:3", "float|f32"),
    ("def f(x, y):\n    return ¦x & y", "x=f32:3 y=i64:3", "float|f32"),
    ("def f(x, y):\n    return ¦x - y", "x=bool:3 y=bool:3", "bool"),
    ("def f(x):\n    return ¦x << 1", "x=f32:3", "float|f32"),
    ("def f(x, y):\n    return ¦where(x, y, 0)", "x=f32:3 y=f32:3", "bool"),
    # Shapes and indices
    ("def f(x, y):\n    return ¦x + y", "x=f32:3 y=f32:4", "3.*4|broadcast"),
    ("def f(x):\n    return ¦x[0, 0]", "x=f32:3", "(too many|2) ind"),
    ("def f(x):\n    return ¦x[7]", "x=f32:3", "(7.*out of|out of.*7)"),
    ("def f(x, k: int):\n    return ¦x[k]", "x=f32:3 k=5", "(5.*out of|out of.*5)"),
    ("def f(x):\n    return ¦x.transpose(0, 2)", "x=f32:3x3", "Dimension out of range"),
    ("def f(x):\n    return ¦x.permute()", "x=f32:3", r"permute.*at least one argument[^$]*permute\(\(\)\)"),
    ("def f(x):\n    return ¦x.view()", "x=f32:3", r"view.*at least one argument[^$]*view\(\(\)\)"),
    ("def f(x):\n    return ¦x.repeat()", "x=f32:3", "repeat.*at least one count"),
    ("def f(x):\n    return ¦glu(x)", "x=f32:3", "Halving dimension must be even"),
    ("def f(x, v):\n    return ¦F.gaussian_nll_loss(x, x, v, reduction='none')", "x=f32:4x3 v=f32:1x1", "incorrect size"),
    ("def f(x, w):\n    return ¦F.binary_cross_entropy(x, x, weight=w, reduction='none')", "x=f32:3 w=f32:2x3", "doesn't match"),
    ("def f(x):\n    return ¦polygamma(1.5, x)", "x=f32:3", "must be an int"),
    ("def f(x):\n    return ¦tril(x, 1.0)", "x=f32:3x3", "must be an int"),
    ("def f(x):\n    return ¦gelu(x, 'tanh')", "x=f32:3", "1 positional argument"),
    ("def f(x):\n    return ¦isclose(x, 1.0)", "x=f32:3", "`other` must be a tensor"),
    ("def f(x):\n    return ¦torch.logaddexp(x, 0.5)", "x=f32:3", "logaddexp: `other` must be a tensor, not a number"),
    ("def f(x):\n    return ¦x.dist(0.5)", "x=f32:3", "`other` must be a tensor"),
    ("def f(x):\n    return ¦F.pairwise_distance(0.5, x)", "x=f32:3x3", "`x1` must be a tensor"),
    ("def f(x):\n    return ¦torch.addcmul(x, x, 2)", "x=f32:3", "`tensor2` must be a tensor"),
    ("def f(x):\n    return ¦torch.xlogy(2, 2) * x", "x=f32:3", "xlogy: a tensor is expected, not a number"),
    ("def f(x):\n    return ¦torch.special.bessel_j0(2) * x", "x=f32:3", "bessel_j0: a tensor is expected, not a number"),
    ("def f(x):\n    return ¦F.mse_loss(x, 0)", "x=f32:3", "`target` must be a tensor"),
    ("def f(x):\n    return ¦F.pad(x, (-3, 0), mode='replicate')", "x=f32:1x1x3", "too small"),
    ("def f(x):\n    return ¦F.pad(x, (-2, -1), mode='reflect')", "x=f32:1x1x3", "too small"),
    ("def f(x, mode='a'):\n    ¦raise ValueError('no ' + mode)", "x=f32:3", "no a"),
    ("def f(x):\n    return x.¦H", "x=f32:3", "only supported on matrices"),
    ("def f(x):\n    return ¦x.view(5)", "x=f32:3x3", "5|view|shape"),
    ("def f(x, t):\n    return ¦x[t]", "x=f32:3 t=f32:2", "int64 or int32, not float32"),
    ("def f(x, t):\n    return ¦x[t]", "x=f32:3 t=bool:3", "bool|mask"),
    ("def f(x):\n    return ¦stack([x, x[:1]])", "x=f32:3", "size|shape"),
    ("def f(x):\n    ¦a, b = x.unbind(0)\n    return a", "x=f32:3", "3|unpack"),
    # Reductions
    ("def f(x):\n    return ¦x.sum(2)", "x=f32:3x3", "Dimension out of range"),
    ("def f(x):\n    return ¦x.sum(True)", "x=f32:3x3", "argument 'dim'|must be an integer, not a bool|arguments"),
    ("def f(x):\n    return ¦x.sum((0, 0))", "x=f32:3x3", "more than once|multiple times"),
    ("def f(x):\n    return ¦x.sum((0, -2))", "x=f32:3x3", "more than once|multiple times"),
    ("def f(x):\n    return ¦x.mean()", "x=i64:3", "could not infer output dtype.*float"),
    ("def f(x):\n    return ¦x.mean(dtype=torch.int64)", "x=f32:3", "Optional dtype must be"),
    ("def f(x):\n    return ¦x.argmax((0, 1))", "x=f32:3x3", "one dim, not several"),
    ("def f(x):\n    return ¦x.max((0, 1))", "x=f32:3x3", "one dim, not several"),
    ("def f(x):\n    return ¦x.prod((0, 1))", "x=f32:3x3", "one dim, not several"),
    ("def f(x):\n    return ¦x.argmax()", "x=bool:3", "does not support bool.*int"),
    ("def f(x):\n    return ¦x.argmax(1)", "x=f32:3x0", "argmax.*dim 1 to have non-zero size"),
    ("def f(x):\n    return ¦x.max()", "x=f32:0", r"max\(\).*numel\(\) == 0"),
    ("def f(x):\n    return ¦x.amax((0, 1))", "x=f32:0x2", r"amax\(\).*numel\(\) == 0"),
    ("def f(x):\n    return ¦x.sum(0, 1)", "x=f32:3x3", r"sum\(\): `keepdim` must be True or False[^$]*several dims as a tuple"),
    ("def f(x):\n    return ¦x.amax(0, 'fro')", "x=f32:3x3", r"amax\(\): `keepdim` must be True or False, not"),
    ("def f(x):\n    return ¦torch.all(x, 0, (1,))", "x=f32:3x3", r"`keepdim` must be True or False, not"),
    ("def f(x, y):\n    return torch.¦kl_div(x, y)", "x=f32:3 y=f32:3", "its `reduction` is an int[^$]*write F.kl_div"),
    ("def f(x):\n    return ¦torch.min(x, x, 1)", "x=f32:3", "neither dim nor keepdim"),
    ("def f(x):\n    return ¦x.logsumexp(())", "x=f32:3", r"at least one dim.*flatten\(\)\.logsumexp\(0\)"),
    ("def f(x):\n    return ¦x.var(correction=x.sum())", "x=f32:3", "`correction` must be a number"),
    ("def f(x):\n    return ¦torch.max(x, 2.5)", "x=f32:3", "takes two tensors, not a tensor and a number"),
    ("def f(x):\n    return ¦F.pad(x, (-2, -2, 1, 0), mode='replicate')", "x=f32:1x2x3x3", "a negative size"),
    ("def f(x):\n    return ¦F.huber_loss(x, x, delta=x.sum())", "x=f32:3", r"huber_loss: a tensor was passed.*not known.*item\(\)"),
    ("def f(x):\n    return ¦x.var()", "x=i64:3", r"floating point.*x\.float\(\)"),
    ("def f(x):\n    return ¦x.var(1, True, correction=1)", "x=f32:3x3", "unbiased.*correction.*not both"),
    ("def f(x):\n    return ¦x.norm('nuc')", "x=f32:3x3", "'fro'.*p=2"),
    ("def f(x):\n    return ¦linalg.vector_norm(x, 'fro')", "x=f32:3x3", "must be a number"),
    ("def f(x):\n    return ¦linalg.vector_norm(x, dtype=torch.float32)", "x=f64:3", "without narrowing"),
    ("def f(x):\n    return ¦x.norm(-1)", "x=f32:0x3", "negative order of an empty tensor"),
    ("def f(x):\n    return ¦linalg.vector_norm(x, -0.5, 1)", "x=f32:3x0", "negative order of an empty tensor"),
    ("def f(x):\n    return ¦linalg.matrix_norm(x, 2)", "x=f32:3x3", "singular value"),
    ("def f(x):\n    return ¦linalg.norm(x, 2)", "x=f32:2x3x3", "must be 1D or 2D"),
    ("def f(x):\n    return linalg.¦svd(x)", "x=f32:3x3", r"`torch\.linalg\.svd` is not in the language"),
    ("def f(x):\n    return ¦softmax(x, 0)", "x=i64:3", "dtype=torch.float32"),
    ("def f(x):\n    return ¦softmax(x, (0, 1))", "x=f32:3x3", "one dim, not several"),
    ("def f(x):\n    return ¦softmax(x, 1)", "x=f32:3", "Dimension out of range"),
    ("def f(x):\n    return ¦x.sum(keepdim=True)", "x=f32:3", "keepdim only together with dim"),
    ("def f(x):\n    return ¦x.mean(keepdim=True)", "x=f32:3", "keepdim only together with dim"),
    ("def f(x):\n    return ¦x.prod(None, True)", "x=f32:3", "keepdim only together with dim"),
    ("def f(x):\n    return ¦x.sum(dtype=torch.float8_e5m2)", "x=f32:3", "not implemented for this dtype.*cast the result"),
    ("def f(x):\n    return ¦x.prod(dtype=torch.uint16)", "x=i64:3", "not implemented for this dtype.*cast the result"),
    ("def f(x):\n    return ¦x.nansum(dtype=torch.int64)", "x=f32:3", "does not add floats as integers"),
    ("def f(x):\n    return ¦x.to(torch.float8_e5m2).norm(1)", "x=f32:3", r"not implemented for float8_e5m2.*x\.float\(\)"),
    ("def f(x):\n    return ¦x.to(torch.uint16).argmin()", "x=i64:1", r"not implemented for uint16.*x\.float\(\)"),
    ("def f(x, y):\n    return ¦torch.tensordot(x, y, (0, 0))", "x=f32:2x3 y=f32:2x4", "must be a number, or two tuples of dims"),
    ("def f(x, y):\n    return ¦torch.tensordot(x, y, 1)", "x=f32:3x4 y=f32:5x3", "contracted dimensions need to match"),
    ("def f(x, y):\n    return ¦torch.addmm(x, y, y)", "x=f32:3x4 y=f32:3x3", "does not match|expanded|size"),
    ("def f(x):\n    return ¦layer_norm(x, (5,))", "x=f32:3x4", "Given normalized_shape"),
    ("def f(x):\n    return ¦layer_norm(x, 4)", "x=f32:3x4", "must be a tuple of ints"),
    ("def f(x):\n    return ¦layer_norm(x, ())", "x=f32:3x4", "at least 1-dimensional"),
    ("def f(x, w):\n    return ¦layer_norm(x, (4,), w)", "x=f32:3x4 w=f32:3", "same shape as normalized_shape|size of tensor a"),
    ("def f(x, w):\n    return ¦layer_norm(x, (4,), w)", "x=f32:3x4 w=f64:4", "have the input's dtype"),
    ("def f(x, w):\n    return ¦rms_norm(x, (4,), w, w)", "x=f32:3x4 w=f32:4", "argument 'eps' must be a number"),
    ("def f(x, w):\n    return ¦layer_norm(x, (4,), w, w, w)", "x=f32:3x4 w=f32:4", "argument 'eps' must be a number"),
    ("def f(x):\n    return ¦group_norm(x, 3)", "x=f32:3x4", "divisible by num_groups"),
    ("def f(x):\n    return ¦batch_norm(x, None, None)", "x=f32:3x4", "running_mean and running_var"),
    ("def f(x, m):\n    return ¦batch_norm(x, m, m)", "x=f32:3x4 m=f32:3", "running_mean should contain|size of tensor a"),
    ("def f(x):\n    return ¦batch_norm(x, None, None, training=True)", "x=f32:1x4", "more than 1 value per channel"),
    ("def f(x):\n    return ¦instance_norm(x)", "x=f32:3x4x1", "more than 1 spatial element"),
    ("def f(x, y):\n    return ¦torch.cdist(x, y, compute_mode='fast')", "x=f32:3x4 y=f32:3x4", "fast is not a valid value for compute_mode"),
    ("def f(x, t):\n    return ¦F.nll_loss(x, t)", "x=f32:10 t=i64:2", "1D target must have size 1"),
    ("def f(x, m, v):\n    return ¦F.batch_norm(x, m, v, eps=0.0)", "x=f32:3x4 m=f32:4 v=f32:4", "eps must be positive"),
    ("def f(x, y):\n    return ¦torch.cdist(x, y)", "x=f32:3x4 y=f32:3x5", "same number of columns"),
    ("def f(x, y):\n    return ¦torch.cdist(x, y)", "x=f32:3x40 y=f32:3x40", "16 coordinates.*torch.cdist"),
    ("def f(x, t):\n    return ¦nll_loss(x, t)", "x=f32:3x4 t=f32:3", r"class indices.*t(arget)?\.long\(\)"),
    ("def f(x, t):\n    return ¦cross_entropy(x, t)", "x=f32:3x4 t=i64:2", "the target to have the input's size"),
    ("def f(x, t):\n    return ¦cross_entropy(x, t)", "x=f32:3x4 t=i64:3x4", "class probabilities"),
    ("def f(x, t, w):\n    return ¦cross_entropy(x, t, w)", "x=f32:3x4 t=i64:3 w=f32:3", "either for all classes or no classes"),
    ("def f(x, t):\n    return ¦cross_entropy(x, t, label_smoothing=1.5)", "x=f32:3x4 t=i64:3", "between 0.0 and 1.0"),
    ("def f(x):\n    return ¦mse_loss(x, x, reduction='sums')", "x=f32:3", "'none', 'mean' or 'sum', not sums"),
    ("def f(x, y):\n    return ¦x @ y", "x=f32:3x4 y=f32:3x4", "shapes cannot be multiplied"),
    ("def f(x, y):\n    return ¦x @ y", "x=f32:3x4 y=f64:4x3", "the same dtype"),
    ("def f(x, y):\n    return ¦x.dot(y)", "x=f32:3 y=f32:4", "expected two vectors of the same size|size of tensor a"),
    ("def f(x, y):\n    return ¦x.mm(y)", "x=f32:3x4 y=f32:4", "two matrices are expected"),
    ("def f(x):\n    return ¦x @ 2", "x=f32:3", "tensor"),
    ("def f(x):\n    return ¦torch.einsum('ij,jk', x, x)", "x=f32:40x40", "inner dimension above 16"),
    ("def f(x):\n    return ¦torch.einsum('ij,jk', x)", "x=f32:3x3", "has 2 operands, but 1 are given"),
    ("def f(x):\n    return ¦torch.einsum('ijk->i', x)", "x=f32:3x3", "number of subscripts in the equation \\(3\\) does not match.*dimensions \\(2\\)"),
    ("def f(x):\n    return ¦torch.einsum('ij->k', x)", "x=f32:3x3", "output subscript k does not appear"),
    ("def f(x):\n    return ¦torch.einsum('i1', x)", "x=f32:3x3", "subscripts are letters"),
    ("def f(x):\n    return ¦torch.einsum(x, [0], x)", "x=f32:3", "must be followed by a list of subscripts"),
    ("def f(x):\n    return ¦torch.einsum(x, [52])", "x=f32:3", "from 0 to 51"),
    ("def f(x):\n    return ¦torch.einsum([], x)", "x=f32:3", "the equation must be a string"),
    ("def f(x):\n    return ¦x.cumsum(0)", "x=f32:3", "`cumsum` is not in the language.*all before it"),
    ("def f(x):\n    return ¦x.median()", "x=f32:3", "`median` is not in the language.*order of all"),
    ("def f(x):\n    return ¦x.topk(2)", "x=f32:3", "`topk` is not in the language"),
    # Returns, recursion and limits
    ("def ¦f(x):\n    y = x", "x=f32:3", "return"),
    ("def f(x):\n    return ¦f(x)", "x=f32:3", "recurs|calls itself"),
    ("def f(x):\n    return x + ¦10**10**10", "x=f32:3", "64 bits|too large|overflow"),
    ("def f(x):\n    return sum(x for _ in ¦range(10**9))", "x=f32:3", "steps.*loops are unrolled"),
    ("def f(x):\n    for _ in range(10**9): x = ¦x + 1\n    return x", "x=f32:3", "nodes.*loops are unrolled"),
    ("def f(x):\n    return x + ¦1 // 0", "x=f32:3", "division.*by zero"),
    # Python's arithmetic, whether or not a result depends on it
    ("def f(x, k: int):\n    y = ¦1 // k\n    return x", "x=f32:3 k=0", "integer division or modulo by zero"),
    ("def f(x, k: int):\n    return x * (¦k * 3 // k)", "x=f32:3 k=0", "integer division or modulo by zero"),
    ("def f(x, k: int):\n    return x * (0 * (¦1 % k))", "x=f32:3 k=0", "integer modulo by zero"),
    ("def f(x, h: float):\n    y = ¦2 / h\n    return x", "x=f32:3 h=0.0", "float division by zero"),
    ("def f(x, h: float):\n    y = ¦math.sqrt(h)\n    return x", "x=f32:3 h=-1.0", "math domain error"),
    ("def f(x):\n    y = ¦math.sqrt(-1.0)\n    return x", "x=f32:3", "math domain error"),
    ("def f(x, h: float):\n    return x * (¦h ** 0.5)", "x=f32:3 h=-1.0", "fractional power"),
    ("def f(x):\n    return x * (¦x.numel() // x.size(0))", "x=f32:0x3", "integer division or modulo by zero"),
    ("def g(a, b): return a // b\ndef f(x, k: int):\n    return x * (k > 5 or ¦3 // k)", "x=f32:3 k=0", "by zero"),
    ("def f(x, k: int):\n    return x * (¦k * k)", "x=f32:3 k=4611686018427387904", "64 bits"),
    ("def f(x):\n    return 'text'", "x=f32:3", "returns|tensor"),
    # The call itself
    ("def f(x, y): return x + y", "x=f32:3", "`y`"),
    ("def f(x, b: float): return x + b", "x=f32:3 b=f32:3", "annotated float"),
    ("def f(x, n: int): return x + n", "x=f32:3 n=0.5", "annotated int"),
    ("def f(x): return x", "y=f32:3", "no parameter `y`"),
    ("", "x=f32:3", "no op|empty|defines"),
]  # fmt: skip


def tensors(arguments: str) -> dict:
    values = {}
    for word in arguments.split():
        name, value = word.split("=")
        if ":" in value:
            dtype, shape = value.split(":")
            values[name] = torch.ones([int(n) for n in shape.split("x")]).to(DTYPES[dtype])
        else:
            values[name] = float(value) if "." in value else int(value)
    return values


def split_mark(text: str):
    """The source without its mark, and the line and column of the mark."""
    if "¦" not in text:
        return text, None
    before = text[: text.index("¦")]
    return text.replace("¦", ""), (before.count("\n") + 1, len(before) - before.rfind("\n"))


def identify(row) -> str:
    return re.sub(r"\W+", "_", row[0].replace("¦", ""))[-40:] or "empty"


def raised(text: str, arguments: str) -> ingot.Error:
    before = ingot.counters()
    with pytest.raises(ingot.Error) as caught:
        ingot.op(text)(**tensors(arguments))
    assert ingot.counters().since(before).compiles == 0, "something was compiled before the error was found"
    return caught.value


@pytest.mark.parametrize("row", ROWS, ids=identify)
def test_errors_have_a_message_and_a_location(row):
    text, position = split_mark(row[0])
    error = raised(text, row[1])
    assert error.fault == "author"
    assert re.search(row[2], str(error), re.DOTALL), str(error)
    if position is not None:
        assert f"<text>:{position[0]}:{position[1]}\n" in str(error), str(error)
        assert "^" in str(error)


def test_division_by_zero_is_an_error_only_if_python_divides():
    x = torch.ones(3)
    f = ingot.op("def f(x, k: int):\n    y = 1 // k\n    return x * 2")
    assert torch.equal(f(x, 1), x * 2)
    with pytest.raises(ingot.Error, match=r"by zero[\s\S]*<text>:2:9"):
        f(x, 0)
    for text in ("x * (1 // k if k else 0)", "x * (k and 1 // k)", "x * (0 < k < 1 // k)", "x * (k != 0 and 1 / k > 0)"):
        assert torch.equal(ingot.op(f"def f(x, k: int):\n    return {text}")(x, 0), x * 0), text
    guarded = ingot.op("def f(x, k: int):\n    assert k != 0, 'no k'\n    return x // (1 // k)")
    with pytest.raises(ingot.Error, match="no k"):
        guarded(x, 0)


@pytest.mark.parametrize("row", ROWS[::4], ids=identify)
def test_the_command_line_prints_the_same_error(row, command_line, tmp_path):
    text, _ = split_mark(row[0])
    (tmp_path / "op.py").write_text(text)
    completed = subprocess.run(
        [command_line, "run", "op.py", *row[1].split(), "--no-check"],
        cwd=tmp_path, capture_output=True, text=True, env={**os.environ},
    )  # fmt: skip
    assert completed.returncode == 2, completed.stdout + completed.stderr
    assert completed.stderr.strip() == str(raised(text, row[1])).strip().replace("<text>", "op.py")


def test_ten_thousand_parentheses_do_not_crash():
    """The source is legal Python up to a limit, so the call returns the result or raises an error with a location."""
    try:
        result = ingot.op(NESTED)(torch.ones(3))
        assert torch.equal(result, torch.ones(3))
    except ingot.Error as error:
        assert error.fault == "author" and "nested" in str(error) and re.search(r"<text>:1:\d+", str(error))


def test_ten_thousand_terms_do_not_crash():
    x = torch.ones(3)
    try:
        assert torch.equal(ingot.op(" + ".join(["x"] * 10_000))(x), x * 10_000)
    except ingot.Error as error:
        assert error.fault == "author"


def test_tensors_on_two_devices_are_an_error():
    if torch.cuda.is_available():
        with pytest.raises(ingot.Error, match="same device"):
            ingot.op("x + y")(torch.ones(3), torch.ones(3, device="cuda"))


def test_a_gathered_index_out_of_range_raises_on_the_cpu():
    f = ingot.op("def f(x, t): return x[t]")
    x = torch.arange(4.0)
    assert torch.equal(f(x, torch.tensor([-4, 3])), x[[-4, 3]])
    for bad in (4, -5):
        with pytest.raises((ingot.Error, IndexError), match="out of"):
            f(x, torch.tensor([0, bad]))


def test_deep_recursion_of_helpers_is_an_error():
    text = "def g(x): return h(x)\ndef h(x): return g(x)\ndef f(x): return g(x)"
    assert re.search("recurs|calls itself|deep", str(raised(text, "x=f32:3")))


@pytest.mark.parametrize("call, message", [
    (lambda op, bad: ingot.op("x", numerics=bad), "numerics contains"), (lambda op, bad: ingot.op("x", lazy=bad), "lazy contains"),
    (lambda op, bad: ingot.op("x", name=bad), "the op's name contains"), (lambda op, bad: op.emit(bad, 1), "the stage contains"),
    (lambda op, bad: op.emit("ir", 1, device=bad), "the device contains"), (lambda op, bad: op(**{bad: 1}), "name contains a lone surrogate|parameter"),
], ids=["numerics", "lazy", "name", "stage", "device", "keyword"])
@pytest.mark.parametrize("bad", ["no\0thing", "\ud800"], ids=["NUL", "surrogate"])
def test_invalid_characters_in_options_are_errors(call, message, bad):
    with pytest.raises(ingot.Error, match=message) as raised:
        call(ingot.op("x * 2"), bad)
    assert raised.value.fault == "author"
    assert "= help: " in str(raised.value)


@pytest.mark.parametrize("text", ["\0", "def", "def f(", "x" * 100_000, "(" * 50, "'", "\\", "x\\", "é + 1", "lambda", "1"])
def test_garbage_never_crashes(text):
    try:
        ingot.op(text)(torch.ones(3))
    except ingot.Error as error:
        assert error.fault == "author", str(error)
    except (TypeError, ValueError):  # raised by the binding itself: an embedded null
        assert "\0" in text


def test_errors_name_the_library_function_once():
    x = torch.zeros(3, 3)
    for text, begins in (("torch.dot(x, x)", "dot: 1D"), ("F.nll_loss(x, x)", "nll_loss: expected"), ("x.mean(7)", "mean: Dimension"),
                         ("torch.linalg.norm(x.long())", "linalg.norm: ")):
        with pytest.raises((ingot.Error, RuntimeError, IndexError, ValueError, TypeError)) as error:
            ingot.op(text)(x)
        assert str(error.value).removeprefix("error: ").startswith(begins), error.value


def test_only_the_reference_runs_the_source_as_python(tmp_path):
    """As SECURITY.md says: a kernel call never runs the source as Python; reading `op.reference` runs it."""
    file = tmp_path / "written"
    op, x = ingot.op(f'K = open("{file}", "w")\ndef f(x):\n    return x + 1\n'), torch.ones(2)
    for call in (op, op.prepare, op.source, lambda x: op(x.clone().requires_grad_())):
        with pytest.raises(ingot.Error, match="`open` is outside the language"):
            call(x)
    pickle.loads(pickle.dumps(op))
    assert op.text and op.emit("ast", x) and not file.exists()
    assert op.reference and file.exists()
