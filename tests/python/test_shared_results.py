"""Results that share memory with arguments, as in eager PyTorch: the argument itself, or a view of it."""

import re

import pytest
import torch
from in_place_errors import EXPANDED, STRIDE_DEPENDENT
from names_table import BINARY, CASTS, MORE_VIEWS, TERNARY, UNARY, VIEWS

import ingot

pytestmark = pytest.mark.filterwarnings("ignore:.*on expanded tensors is deprecated")


# More expressions, most of which compute nothing. Eager returns a copy, the tensor itself or a view of it.
COPIES_OR_VIEWS = [
    "+x", "x ** 1", "x * 1", "x.pow(1)", "x.nan_to_num()", "torch.where(x == x, x, x)", "x.to(x.device)", "x.to(x)",
    "x.to(torch.float32)", "x.to(torch.float32, copy=True)", "x.to(x.dtype, memory_format=torch.preserve_format)",
    "x.type(torch.float32)", "x.float()", "x[:]", "x[...]", "x.expand(4, 6)", "x.expand_as(x)", "x.narrow(0, 0, 4)",
    "x.squeeze()", "x.view(4, 6)", "x.view(torch.float32)", "x.unflatten(0, (4,))", "x.permute(0, 1)", "x.transpose(0, 0)",
    "x.movedim(0, 0)", "torch.broadcast_to(x, (4, 6))", "torch.broadcast_tensors(x, x)[0]", "torch.atleast_1d(x)",
    "torch.atleast_2d(x)", "torch.atleast_3d(x)", "x.chunk(1)[0]", "x.split(4)[0]", "x.tensor_split(1)[0]",
    "x.reshape(4, 6)", "x[0].flatten()", "x[0].ravel()", "x[0].contiguous()", "x.contiguous()", "x.clone()",
    "torch.cat([x])", "torch.cat([x], 1)", "torch.cartesian_prod(x[0])", "torch.hstack([x])",
    "torch.vstack([x])", "x.roll(0, 0)", "x.repeat(1, 1)",
    "x.tile((1, 1))", "x.repeat_interleave(1, 1)", "x.rot90(0)", "x.rot90(4)", "x.flip(0).flip(0)", "x.tril(9)", "x.triu(-9)",
    "F.pad(x, (0, 0))", "F.pad(x, (0, -1))", "F.pad(x, (0, 0), mode='replicate')", "F.interpolate(cube, scale_factor=1)",
    "F.pixel_shuffle(cube, 1)", "F.dropout(x, 0.5, training=False)", "F.alpha_dropout(x, 0.5, training=False)", "x.diff(n=0)",
    "F.dropout(x, 0.0)", "F.dropout1d(x, 0.0)", "F.dropout2d(x, 0.0)", "F.dropout3d(cube, 0.0)", "F.dropout(x, 0.0, True, True)",
    "torch.dropout(x, 0.0, True)", "torch.feature_dropout(x, 0.0, True)", "F.alpha_dropout(x, 0.0, True)", "F.dropout(i, 0.0)",
    "F.feature_alpha_dropout(x, 0.0, True)", "torch.feature_alpha_dropout(cube, 0.0, True)", "F.dropout(x[1], 0.0)[2:]",
    "F.rrelu(x.abs(), training=False)", "F.pad(x, ())", "x.nan_to_num(0.0)", "x.long().round()", "i.round()", "i.floor()", "i.ceil()", "i.trunc()",
    "i.long()", "i.type_as(i)", "torch.positive(x)", "x.ravel()[:3]", "x.sum(())", "x.swapaxes(0, 0)", "x.T.T",
    "x.amax(())", "torch.squeeze(x, 0)", "cube.squeeze((0, 1))", "x.moveaxis(0, 0)", "x.expand(-1, -1)", "x.unbind(0)[1]",
    "torch.column_stack([x])", "torch.dstack([cube])", "F.normalize(x, dim=1)", "x.detach()",
    "torch.flip(x, [])", "x.flip(())", "torch.tile(x, ())", "x.permute(1, 0).permute(1, 0)", "x.mT.mT", "x.view_as(x)", "x.hsplit(1)[0]",
    "torch.meshgrid(x[0], indexing='ij')[0]", "torch.real(x)", "x.conj()", "x.resolve_neg()", "x.conj_physical()",
]  # fmt: skip


def sharing_rows() -> dict[str, list[torch.Tensor]]:
    """Parameters and source of every row of names_table.py, and the tensors to call it with."""
    matrix, cube = torch.arange(24.0).view(4, 6) - 3, torch.arange(24.0).view(2, 3, 4)
    rows = {}
    for row in UNARY + CASTS + BINARY + TERNARY:
        dtype = torch.float32 if "f" in row.kinds else torch.int64
        rows[f"({row.inputs}): {row.text}"] = [matrix.to(dtype) + k for k in range(row.arity)]
    for text in [*VIEWS.values(), *MORE_VIEWS, *COPIES_OR_VIEWS]:
        rows[f"(x, cube, i): {text}"] = [matrix.clone(), cube, torch.tensor([3, 0, 2, 2, 1])]
    return rows


def test_results_share_memory_as_in_eager():
    """For every supported function: a write to its result changes its argument exactly if it does in eager, and `op.writes`
    misses no such argument."""
    mismatches, missed = [], []
    for row, tensors in sharing_rows().items():
        parameters, text = row.split(": ", 1)
        source = f"def f{parameters}:\n    result = {text}\n    result.zero_()\n    return {parameters[1]} * 1\n"
        op = ingot.op(source)
        try:
            op.reference(*(inputs := [t.clone() for t in tensors]))
        except (RuntimeError, TypeError):
            continue  # with these dtypes it returns no tensor that can be written
        expected = [not torch.equal(a, b) for a, b in zip(tensors, inputs)]
        names = parameters.strip("()").split(", ")
        written = {name for name, is_changed in zip(names, expected) if is_changed}
        if op.writes is not None and not written <= op.writes:
            missed.append(f"{text}: op.writes is {set(op.writes)}, not {written}")
        try:
            ir = op.emit("ir", *tensors)
            actual = [f" into {name} " in ir for name in names]
        except ingot.Error as error:
            actual = error.message
        depends = any(name in text for name in ("reshape", "flatten", "ravel", "contiguous", "expand", "broadcast", "meshgrid", "unfold", "diagonal"))
        if actual != expected and not (depends and re.search(f"{STRIDE_DEPENDENT}|{EXPANDED}", str(actual))):
            mismatches.append(f"{text}: reaches {actual}, not {expected}")
    assert not mismatches + missed, "\n".join(mismatches + missed)


@pytest.mark.parametrize("text", ["F.dropout(x, p)", "F.dropout2d(x, p)", "F.alpha_dropout(x, p, True)", "torch.feature_dropout(x, p, True)"])
def test_dropout_with_a_probability_that_may_be_0(text):
    """With p = 0, which the kernel is specialised for, the result is the argument. All other probabilities share a
    kernel."""
    op = ingot.op(f"def f(x, p: float):\n    y = {text}\n    y += 1\n    return y * 2")
    for p, lowers in ((0.5, True), (0.0, True), (0.25, False), (-0.0, True), (1.0, False)):
        x, expected = torch.arange(24.0).view(4, 6), torch.arange(24.0).view(4, 6)
        before = ingot.counters().lowerings
        torch.manual_seed(1)
        result = op(x, p)
        assert (ingot.counters().lowerings > before) <= lowers, p  # a program may come from the disk
        torch.manual_seed(1)
        torch.testing.assert_close(result, op.reference(expected, p))
        assert torch.equal(x, expected) and (x[0, 0] == 1) == (p == 0), p
