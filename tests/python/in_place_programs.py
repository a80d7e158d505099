"""Random programs of in-place ops, written line by line while eager PyTorch runs them.

A line enters a program once eager has run it, so that shapes fit and the storage of each tensor is known. A line that
eager rejects becomes the last line of another program. Every operation is exact in every dtype, so each result has
a single correct value.
"""

from __future__ import annotations

import copy
import dataclasses
import random

import torch
import torch.nn.functional as F

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.uint8,
          torch.bool]  # fmt: skip
SHAPES = [(4, 4), (3, 5), (2, 3, 4), (6,), (1, 4), ()]

MAKE = ["{0}.clone()", "{0} * 2", "{0} + {1}", "torch.zeros_like({0})", "{0}.flip(0)", "torch.where({0} > 1, {0}, {1})",
        "torch.stack([{0}, {0}])", "torch.cat([{0}, {1}])", "{0}.to(torch.float64)", "{0}.long()", "-{0}", "{0} > {1}"]  # fmt: skip
CHANGE = ["{0} += {1}", "{0} -= {1} * 2", "{0} *= 3", "{0} += 0.5", "{0} //= 2", "{0} &= {1}", "{0} ^= 1", "{0} /= 2",
          "{0}.neg_()", "{0}.abs_().add_(1)", "{0}.sub_({1}, alpha=2)", "{0}.clamp_(-2, 2)", "{0}.clamp_(max=3).mul_({1})",
          "{0}.copy_({1})", "{0}.fill_(2)", "{0}.zero_()", "{0}.eq_({1})", "{0}.logical_not_()", "{0}.relu_()",
          "{0}.masked_fill_({1} > 0, 1)", "torch.square_({0})", "F.relu({0}, inplace=True)", "F.threshold_({0}, 1, 0)",
          "{0}[...] = {1}", "{0}[{0} > 1] = 0", "{0}[{1} > 0] += 1", "{0}[0] = 7", "{0}[..., -1] *= 2", "{0}[::2] = 1",
          "{0}[1:] = {0}[:1]", "{0}[{1} > 0] = {0}.clone()[(0,) * {0}.ndim]", "{0}.t().mul_(2)", "{0}.fill_({1})"]  # fmt: skip
# Calls that return a view or a copy, depending on the strides. Ingot may reject a program whose result depends on that.
STRIDE_DEPENDENT = ["{0}.reshape(-1)", "{0}.flatten()", "{0}.contiguous()"]


@dataclasses.dataclass
class Program:
    source: str
    inputs: list[torch.Tensor]  # some may share memory
    is_rejected: bool = False  # by eager, at the last line


class Writer:
    """Writes a program while eager PyTorch runs it."""

    def __init__(self, rng: random.Random, may_depend_on_strides: bool = False):
        self.rng, self.may_depend_on_strides = rng, may_depend_on_strides
        self.inputs = [self.tensor() for _ in range(rng.randint(1, 3))]
        self.names = ["x", "y", "z"][: len(self.inputs)]
        self.head = f"def f({', '.join(self.names)}):\n"
        self.scope = {n: t.clone() for n, t in zip(self.names, self.inputs)}
        self.params = list(self.names)
        self.lines: list[str] = []
        self.rejected: list[Program] = []

    def tensor(self) -> torch.Tensor:
        rng = self.rng
        dtype, shape = rng.choice(DTYPES), rng.choice(SHAPES)
        tensor = torch.tensor([rng.randint(-3, 5) for _ in range(torch.Size(shape).numel())])
        tensor = (tensor > 0 if dtype == torch.bool else tensor.abs() if dtype == torch.uint8 else tensor).to(dtype)
        tensor = tensor.view(shape)
        return tensor.clone().transpose(0, -1) if shape and rng.random() < 0.3 else tensor

    def view(self, name: str) -> str:
        """The source of a random view or cast of a named tensor."""
        rng, shape = self.rng, self.scope[name].shape
        rank = len(shape)
        views = [f"{name}.unsqueeze({rng.randint(0, rank)})", f"{name}.detach()", f"{name}[None]", f"{name}.squeeze()",
                 f"{name}.to({name}.dtype)", f"{name}.expand(2, *{name}.shape)", f"{name}[...]", f"{name}.view(-1)",
                 f"{name}.float()"]  # fmt: skip
        if self.scope[name].itemsize == 4:
            views.append(f"{name}.view(torch.int32)")
        if not rank:
            return rng.choice(views)
        d = rng.randrange(rank)
        size = shape[d]
        start, order = rng.randrange(max(size, 1)), rng.sample(range(rank), rank)
        before = ":, " * d
        return rng.choice(
            [*views, f"{name}[{before}{start}]", f"{name}[{before}{start}:]", f"{name}[{before}:{start + 1}]",
             f"{name}[{before}::2]", f"{name}[{before}1::2]", f"{name}[{before}{start}::3]", f"{name}[..., {rng.choice([0, -1])}]",
             f"{name}.permute({', '.join(map(str, order))})", f"{name}.transpose({d}, -1)", f"{name}.select({d}, {start})",
             f"{name}.narrow({d}, {start}, {rng.randint(0, size - start)})", f"{name}.chunk(2, {d})[0]",
             f"{name}.unbind({d})[{start}]", f"{name}.split(2, {d})[-1]", f"{name}.mT", f"{name}.view(2, -1)",
             f"{name}.unflatten({d}, (-1, {rng.choice([1, 2, size])}))", f"{name}.swapaxes(0, {d})"])  # fmt: skip

    def random_line(self) -> str:
        """A line that eager may reject."""
        rng, pick = self.rng, lambda: self.rng.choice(self.names)
        kind = rng.random()
        if kind < 0.5:
            return rng.choice(CHANGE).format(pick(), pick())
        if kind > 0.97 and self.may_depend_on_strides:
            return f"t{len(self.names)} = {rng.choice(STRIDE_DEPENDENT).format(pick())}"
        value = self.view(pick()) if kind < 0.85 else rng.choice(MAKE).format(pick(), pick())
        return f"t{len(self.names)} = {value}"

    def add_line(self) -> None:
        line = self.random_line()
        after = copy.deepcopy(self.scope)  # a line that fails half way leaves no trace
        try:
            exec(line, {"torch": torch, "F": F}, after)
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            if "view size is not compatible" in str(error):
                return  # depends on the strides, which Ingot checks when the op is called
            self.rejected.append(Program(self.head + "".join(f"    {each}\n" for each in [*self.lines, line]),
                                         [t.clone() for t in self.inputs], is_rejected=True))  # fmt: skip
            return
        self.scope = after
        self.lines.append(line)
        if line.startswith(f"t{len(self.names)} ="):
            self.names.append(f"t{len(self.names)}")

    def program(self, lines: int) -> Program:
        while len(self.lines) < lines:
            self.add_line()
        body = [*self.lines, f"return {', '.join(map(self.returned, self.names))}"]
        return Program(self.head + "".join(f"    {line}\n" for line in body), self.inputs)

    def returned(self, name: str) -> str:
        """The name, cloned if it shares memory with a parameter: a result must have its own storage."""
        storages = {self.scope[param].untyped_storage().data_ptr() for param in self.params}
        return f"{name}.clone()" if self.scope[name].untyped_storage().data_ptr() in storages else name
