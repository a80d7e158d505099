"""Random programs of many statements, written line by line while eager PyTorch runs them.

A line stays in a program once eager has run it, so that shapes fit and indices are in range. A line that eager rejects
becomes the last line of another program, which Ingot must reject as well. Tensors have any dtype, rank, layout and
size, 0 and 1 among them. Numbers are literals, run-time arguments or 0-dim tensors.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import random
import re
import warnings

import torch
import torch.nn.functional as F

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
DTYPES = [*FLOATS, *FLOATS, *INTEGERS, torch.bool]
SHAPES = [(), (1,), (5,), (2, 3), (4, 4), (3, 1), (2, 3, 4), (1, 2, 4), (2, 4, 3, 3), (2, 2, 2, 2, 2)]
EMPTY = [(0,), (3, 0), (0, 4)]
SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.5, 1e30, -1e30, 1e-40, 6.0, -88.5]
MAX_ELEMENTS = 3000  # of a tensor: larger tensors would test nothing more

NUMBERS = ["2", "-1", "0", "0.5", "-0.0", "2.5", "0.1999", "1e-3", "3", "True", "s"]
# {0} and {1} are tensors, {n} is a number, {d} and {e} are dims of {0}, {i} is an index into dim d.
UNARY = ["-{0}", "{0}.abs()", "{0}.relu()", "F.silu({0})", "F.mish({0})", "F.gelu({0})", "F.elu({0})", "F.celu({0}, alpha=0.5)",
         "F.hardtanh({0})", "F.softshrink({0})", "F.hardshrink({0})", "F.logsigmoid({0})", "F.softplus({0})", "F.leaky_relu({0}, 0.1)",
         "F.threshold({0}, 0.5, -1)", "F.relu6({0})", "F.hardswish({0})", "{0}.sigmoid()", "{0}.tanh()", "{0}.exp()", "{0}.sqrt()",
         "{0}.log1p()", "{0}.sin()", "{0}.floor()", "{0}.round()", "{0}.sign()", "torch.erfc({0}.clamp(-4, 4))", "{0}.square()",
         "{0}.reciprocal()", "{0}.nan_to_num()", "{0}.isnan()", "~({0} > 0)", "{0}.frac()", "{0}.signbit()", "{0} ** 2",
         "torch.special.xlog1py({0}, 2)", "torch.xlogy({0}, 2.0)", "{0}.logit(1e-3)"]  # fmt: skip
BINARY = ["{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "{0} // {1}", "{0} % {1}", "torch.fmod({0}, {1})", "{0} > {1}", "{0} == {1}",
          "torch.maximum({0}, {1})", "torch.minimum({0}, {1})", "torch.fmax({0}, {1})", "torch.atan2({0}, {1})", "{0} & {1}", "{0} | {1}",
          "torch.div({0}, {1}, rounding_mode='trunc')", "torch.div({0}, {1}, rounding_mode='floor')", "torch.copysign({0}, {1})",
          "torch.where({0} > {1}, {0}, {1})", "torch.where({1} != 0, 0.5, {0})", "{0}.masked_fill({1} > 0, 3)",
          "torch.add({0}, {1}, alpha=2)", "torch.sub({0}, {1}, alpha=0.1999)", "torch.addcmul({0}, {1}, {0}, value=0.5)",
          "torch.addcdiv({0}, {1}, {1}.abs() + 1, value=0.5)", "torch.lerp({0}, {1}, 0.3)", "torch.heaviside({0}, {1})",
          "torch.ldexp({0}, {1})", "torch.xlogy({0}, {1})", "torch.hypot({0}, {1})", "{0}.clamp({1})", "torch.rsub({0}, {1})",
          "F.mse_loss({0}, {1}, reduction='none')", "F.smooth_l1_loss({0}, {1}, reduction='none')",
          "F.huber_loss({0}, {1}, reduction='none')", "F.kl_div({0}, torch.sigmoid({1}), reduction='none')",
          "F.pairwise_distance({0}, {1})", "F.cosine_similarity({0}, {1}, -1)"]  # fmt: skip
NUMBERED = ["{0} + {n}", "{n} - {0}", "{0} * {n}", "{0} / {n}", "{n} / {0}", "{0} // {n}", "{0} % {n}", "{n} % {0}", "{0} >= {n}", "{0} ** {n}",
            "torch.clamp({0}, min={n})", "torch.clamp({0}, max={n})", "torch.full_like({0}, {n})", "torch.tensor({n}) * {0}",
            "{0} + torch.tensor({n}, dtype=torch.float64)", "{0} == torch.tensor({n})", "torch.fmod({0}, {n})"]  # fmt: skip
# {c} is one of the program's dtypes.
CASTS = ["{0}.to({c})", "{0}.to({c})", "{0}.to({1}.dtype)", "{0}.type_as({1})", "{0}.to({c}).to({0}.dtype)", "{0}.long() * 0.5",
         "{0}.to({c}) + {0}.int()"]  # fmt: skip
VIEWS = ["{0}.flip({d})", "{0}.transpose({d}, {e})", "{0}.unsqueeze({d})", "{0}.squeeze()", "{0}.chunk(2, {d})[0]", "{0}.split(2, {d})[-1]",
         "{0}.unbind({d})[{i}]", "{0}.movedim({d}, {e})", "{0}[..., -1]", "{0}[{i}:]", "{0}[::2]", "{0}[None]", "{0}.mT", "{0}.select({d}, {i})",
         "{0}.narrow({d}, {i}, 1)", "{0}.expand(3, *{0}.shape)", "{0}.reshape(-1)", "{0}.view({0}.shape)", "{0}.flatten({d})", "{0}[...]",
         "{0}.diagonal(1, {d}, {e})", "torch.diag_embed({0}, 1)", "{0}.unfold({d}, 2, 1)", "{0}.tril(1)", "{0}.triu()", "{0}.roll(1, {d})",
         "F.pad({0}, (1, 0), value=2)", "F.pad({0}, (-1, 1), value=1.5)", "F.pad({0}, (1, 1), mode='circular')",
         "F.pad({0}, (-1, 1), mode='circular')", "F.pad({0}, (1, 1), mode='reflect')", "F.pad({0}, (0, 1), mode='replicate')",
         "{0}.repeat_interleave(2, {d})", "torch.cat([{0}, {1}], {d})", "torch.stack([{0}, {0} * 2], {d})", "{0}.index_select({d}, {1}.long().flatten() % {0}.shape[{d}])",
         "{0}[{1}.long() % {0}.shape[0]]", "torch.take({0}, {1}.long() % {0}.numel())", "{0}.gather({d}, ({0}.long() % {0}.shape[{d}]).abs())",
         "torch.kron({0}, {1})", "torch.einsum('...i,...j->...ij', {0}, {1})"]  # fmt: skip
REDUCTIONS = ["{0}.sum({d})", "{0}.sum()", "{0}.mean({d}, keepdim=True)", "{0}.amax({d})", "{0}.amin({d}, keepdim=True)", "{0}.amax()",
              "{0}.max({d}).values", "{0}.min({d})[1]", "{0}.argmax({d})", "{0}.argmin()", "{0}.var({d}, correction=0.5)", "{0}.std({d})",
              "torch.std_mean({0}, ({d},), correction=2, keepdim=True)[1]", "{0}.prod({d})", "{0}.any({d})", "{0}.all()",
              "{0}.count_nonzero({d})", "torch.logsumexp({0}, {d})", "{0}.softmax({d})", "{0}.log_softmax({d})", "F.normalize({0}, dim={d})",
              "F.layer_norm({0}, {0}.shape[-1:])", "F.rms_norm({0}, {0}.shape[-1:])", "{0}.norm()", "torch.linalg.vector_norm({0}, 3, {d})",
              "F.mse_loss({0}, {1})", "F.instance_norm({0})", "F.cosine_similarity({0}, {0}.flip(0), {d})", "F.softmin({0}, {d})"]  # fmt: skip
CHANGES = ["{0} += {1}", "{0} *= {n}", "{0} -= {n}", "{0}.mul_({1})", "{0}.clamp_(-2, 2)", "{0}[{i}] = {n}", "{0}[..., -1] *= 2", "{0}[::2] = 1",
           "{0}.copy_({1})", "{0}[{0} > 1] = 0", "{0}.view(-1).add_({n})", "{0}.mT.mul_(2)", "{0}[:, {i}:].div_(2)", "{0}.select({d}, {i}).copy_({1})",
           "F.relu({0}, inplace=True)", "F.leaky_relu({0}, 0.1, inplace=True)", "F.silu({0}, inplace=True)", "F.hardtanh({0}, inplace=True)",
           "{0}.masked_fill_({1} > 0, {n})", "{0}.chunk(2, {d})[0].add_(1)", "{0}.fill_({n})", "{0}.zero_()", "torch.square_({0})"]  # fmt: skip
# Statements of several lines; {t} is the name of the result.
PYTHON = [
    "{t} = {0}\nfor i in range({0}.ndim + 1):\n    {t} = torch.where({t} > i, {t} - i, {t} * 0.5)",
    "{t} = sum([v * (i + 1) for i, v in enumerate({{'a': {0}, 'b': {1}}}.values())])",
    "if {0}.shape[{d}] % 2 == 0 or {0}.ndim > 3:\n    {t} = {0}.chunk(2, {d})[0]\nelse:\n    {t} = {0} * 2",
    "def h(u, v={n}, *, w=1):\n    z = u * v + w\n    return z, z - u\n{t} = h({0}, w=2)[1]",
    "{t} = torch.stack([p * 2 + q for p, q in zip({0}.unbind({d}), {0}.flip({d}).unbind({d}))], {d})",
    "{t} = {0} / {0}.shape[{d}] + {0}.numel() * 2 - {0}.ndim ** 2 // 3 % 4",
    "{t}, {t}b = {0}.chunk(2, {d})\n{t} = {t} + {t}b",
    "{t} = [u for u in ({0}, {1}) if u.ndim > 1] or [{0}]\n{t} = {t}[-1] * 3",
    "{t} = {0} * 2\n{t}.view({t}.shape).add_({t})",
    "{t} = {0}[{0}.long() % {0}.shape[0], {0}.long() % {0}.shape[1]]",
]
# The kinds of statements, with the weights of their random choice.
KINDS = [(UNARY, 3), (BINARY, 6), (NUMBERED, 4), (CASTS, 2), (VIEWS, 4), (REDUCTIONS, 3), (CHANGES, 3), (PYTHON, 2)]
EAGER_ERRORS = (NameError, RuntimeError, IndexError, TypeError, ValueError, ZeroDivisionError, NotImplementedError)


@dataclasses.dataclass
class Argument:
    """A tensor or a number, and the code that makes it."""

    code: str
    requires_grad: bool = False

    def make(self, device: str):
        value = eval(self.code, {"torch": torch, "inf": math.inf, "nan": math.nan})
        if device == "cpu" or not isinstance(value, torch.Tensor):
            return value
        # Moves the whole storage, with the same layout.
        whole = value.as_strided((value.untyped_storage().nbytes() // value.itemsize,), (1,), 0).to(device)
        return whole.as_strided(value.shape, value.stride(), value.storage_offset())


@dataclasses.dataclass
class Program:
    statements: list[str]  # of one or more lines
    results: list[str]
    arguments: dict[str, Argument]
    numerics: str
    is_rejected: bool = False  # by eager, at its last statement

    @property
    def source(self) -> str:
        head = ", ".join(f"{name}: float" if name == "s" else name for name in self.arguments)
        body = [line for statement in self.statements for line in statement.splitlines()]
        body.append(f"return {', '.join(self.results)}" if self.results else "return None")
        return f"def f({head}):\n" + "".join(f"    {line}\n" for line in body)

    def make(self, device: str, gradients: bool = False) -> list:
        values = [argument.make(device) for argument in self.arguments.values()]
        if not gradients:
            return values
        return [v.requires_grad_() if isinstance(v, torch.Tensor) and a.requires_grad else v for v, a in zip(values, self.arguments.values())]

    def snippet(self) -> str:
        """A script that shows the results of the program, to paste into a report."""
        lines = ["import torch, ingot; import torch.nn.functional as F; from math import inf, nan", f"text = '''\n{self.source}'''",
                 f"f = ingot.op(text, numerics={self.numerics!r})", "arguments = lambda: ("]  # fmt: skip
        lines += [f"    {a.code}{'.requires_grad_()' if a.requires_grad else ''},  # {name}" for name, a in self.arguments.items()]
        return "\n".join([*lines, ")", "print(f(*arguments())); print(f.reference(*arguments()))"])


class Writer:
    """Writes a program while eager PyTorch runs it. `rejected` is the most recent variant of the program whose last statement
    eager rejects."""

    def __init__(self, rng: random.Random, dtypes: list[torch.dtype] = DTYPES):
        self.rng, self.dtypes = rng, dtypes
        self.group = rng.choice([dtypes, dtypes, FLOATS if dtypes is DTYPES else dtypes])
        self.arguments = {f"x{k}": self.tensor() for k in range(rng.randint(1, 3))}
        self.names = list(self.arguments)
        if rng.random() < 0.4:
            self.arguments["s"] = Argument(rng.choice(["0.5", "-2.0", "0.1999", "3.0"]))
        self.scope = {name: argument.make("cpu") for name, argument in self.arguments.items()}
        self.statements: list[str] = []
        self.rejected: Program | None = None

    def tensor(self) -> Argument:
        rng = self.rng
        dtype = rng.choice(self.group)
        shape = rng.choice(EMPTY) if rng.random() < 0.04 else rng.choice(SHAPES)
        strides, stride = [0] * len(shape), 1
        for dim in rng.sample(range(len(shape)), len(shape)) if rng.random() < 0.3 else reversed(range(len(shape))):
            strides[dim], stride = stride, stride * max(shape[dim], 1) + rng.choice([0, 0, 0, 3])
        if shape and rng.random() < 0.1:
            strides[rng.randrange(len(shape))] = 0
        offset = rng.choice([0, 0, 0, 1, 2])
        count = offset + 1 + sum(max(n - 1, 0) * s for n, s in zip(shape, strides))
        values = [self.element(dtype) for _ in range(count)]
        code = f"torch.tensor({values}, dtype={dtype}).as_strided({tuple(shape)}, {tuple(strides)}, {offset})"
        return Argument(code, dtype.is_floating_point and rng.random() < 0.7)

    def element(self, dtype: torch.dtype):
        rng = self.rng
        if dtype == torch.bool:
            return rng.random() < 0.5
        if not dtype.is_floating_point:
            return rng.randint(0 if dtype == torch.uint8 else -6, 9)
        return rng.choice(SPECIAL) if rng.random() < 0.04 else rng.randint(-8, 8) / 2

    def statement(self) -> str:
        """A random statement of one or more lines, which eager may reject."""
        rng = self.rng
        (pool,) = rng.choices([pool for pool, _ in KINDS], [weight for _, weight in KINDS])
        first, second = rng.choice(self.names[-4:] if rng.random() < 0.6 else self.names), rng.choice(self.names)
        value = self.scope[first]
        d, e = (rng.randrange(-value.ndim, value.ndim) if value.ndim else 0 for _ in range(2))
        i = rng.randrange(max(value.shape[d], 1)) if value.ndim else 0
        number = rng.choice(NUMBERS if "s" in self.arguments else NUMBERS[:-1])
        name = f"t{len(self.names)}"
        text = rng.choice(pool).format(first, second, n=number, c=rng.choice(self.dtypes), d=d, e=e, i=i, t=name)
        return text if pool in (CHANGES, PYTHON) else f"{name} = {text}"

    def add_statement(self) -> None:
        statement, name = self.statement(), f"t{len(self.names)}"
        after = copy.deepcopy(self.scope)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(statement, {"torch": torch, "F": F}, after)
        except EAGER_ERRORS:
            # The program returns what the statement makes, because an op checks only statements on which a result
            # depends.
            result = name if re.search(rf"^ *{name} =", statement, re.M) else self.names[0]
            self.rejected = Program([*self.statements, statement], [result], self.arguments, "default", True)
            return
        value = after.get(name)
        if value is not None and (not isinstance(value, torch.Tensor) or value.is_complex() or value.numel() > MAX_ELEMENTS):
            return
        self.scope = after
        self.statements.append(statement)
        if value is not None:
            self.names.append(name)

    def program(self, statements: int) -> Program:
        while len(self.statements) < statements:
            self.add_statement()
        computed = [name for name in self.names if name not in self.arguments]
        results = self.rng.sample(computed, min(len(computed), self.rng.choice([1, 1, 2, 3])))
        return Program(self.statements, results, self.arguments, self.rng.choice(["default", "default", "eager"]))


def shrink(program: Program, mismatch) -> Program:
    """Removes the statements that the mismatch does not need. `mismatch` returns its description, or an empty string."""
    for k in reversed(range(len(program.statements))):
        shorter = dataclasses.replace(program, statements=program.statements[:k] + program.statements[k + 1 :])
        if mismatch(shorter):
            program = shorter
    return program
