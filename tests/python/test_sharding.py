"""The rule for sharding: if an op may be sharded, its source on the shards gives the shards of its result. All in
one process; test_distributed.py runs several processes."""

import random
import re

import movement_table
import pytest
import reductions_table
import torch
from random_ops import make_expression, make_form, make_recipes
from test_movement import inputs as movement_inputs
from torch.utils._pytree import tree_leaves
from full_run import FULL_RUN

import ingot


def shard(op, tensors, sharded_dims, shards=2, recorded=False):
    """The sharded dims of the tensors and of the results, for shards along one dim of a mesh; None if the call falls
    back to eager."""
    sizes = {piece.size(d) for tensor, d in zip(tensors, sharded_dims) if d is not None for piece in pieces(tensor, d, shards)}
    metas = [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta") for t in tensors]
    mesh = [(list(sharded_dims), 1 in sizes, 0 in sizes)]
    sharding = op._shard(torch.device("cpu"), metas, mesh, recorded, *metas)[1]
    return sharding and (sharding[0][0], [dims[0] for *_, dims in sharding[1]])


def pieces(tensor, dim, shards):
    """The shards of a tensor along a dim, the last of which may be empty; the whole tensor for each if `dim` is None."""
    if dim is None:
        return [tensor] * shards
    chunks = list(tensor.chunk(shards, dim))
    return chunks + [tensor.narrow(dim, 0, 0)] * (shards - len(chunks))


def check(op, tensors, name) -> int:
    """Shards each tensor along each of its dims. Returns the number of cases that may be sharded."""
    try:
        expected_results = tree_leaves(op.reference(*tensors))
    except Exception:  # noqa: BLE001 a call that eager rejects is not tested here
        return 0
    count = 0
    for k, tensor in enumerate(tensors):
        for dim in range(tensor.ndim):
            for shards in (2, 3):
                sharded_dims = [None] * k + [dim] + [None] * (len(tensors) - k - 1)
                try:
                    sharding = shard(op, tensors, sharded_dims, shards)
                except ingot.Error:  # not in the language
                    return count
                if sharding is None:
                    continue
                message = f"{name}: {sharded_dims} in {shards}, {[tuple(t.shape) for t in tensors]}"
                assert sharding[0][k] == dim, message
                count += 1
                if tensor.size(dim) < shards:
                    continue  # eager rejects some empty shards
                parts = zip(*(pieces(t, d, shards) for t, d in zip(tensors, sharding[0])))
                parts = [tree_leaves(op.reference(*part)) for part in parts]
                for expected, dim_of_result, *part in zip(expected_results, sharding[1], *parts):
                    torch.testing.assert_close(torch.cat(part, dim_of_result), expected, equal_nan=True, msg=lambda m: f"{message}\n{m}")
    return count


def check_texts(texts, named) -> int:
    count = 0
    for text in texts:
        names = [name for name in named if re.search(rf"\b{name}\b(?!\()", text)]
        op = ingot.op(f"def f({', '.join(names)}): return {text}")
        count += check(op, [named[name] for name in names], text)
    return count


def test_moved_elements():
    texts = [text for table in (movement_table.MOVED, movement_table.FLOATING) for texts in table.values() for text in texts]
    assert check_texts(texts, movement_inputs("matrices", torch.float64, "cpu")) > 200


def test_reductions():
    tables = reductions_table.texts_of(reductions_table.FLOATING) + reductions_table.COMPOSED
    assert check_texts(tables, reductions_table.inputs_of(torch.float64, "cpu")) > 200


@pytest.mark.parametrize("reduces", (False, True))
def test_random_expressions(reduces):
    rng, count = random.Random(5 + reduces), 0
    for _ in range(3000 if FULL_RUN else 150):
        expression = make_expression(rng, reduces)
        expression.dtypes = [torch.float64 if dtype.is_floating_point else dtype for dtype in expression.dtypes]
        tensors = [recipe.make() for recipe in make_recipes(rng, expression, make_form(rng, expression))]
        if max((t.numel() for t in tensors), default=0) < 3000:
            count += check(ingot.op(expression.source), tensors, expression.text)
    assert count > 100


X, SQUARE, BIAS = torch.randn(6, 8, dtype=torch.float64), torch.randn(5, 5), torch.randn(8, dtype=torch.float64)


@pytest.mark.parametrize("text", (
    "F.gelu(x) * 2", "x.softmax(1)", "F.layer_norm(x, (8,))", "x.mean(1)", "x - x.amax(1, keepdim=True)", "x.t() + 1", "x[:, 2:5]",
    "x.flip(1)", "torch.cat([x, x * 2], 1)", "x.flatten(1)", "x.view(x.size(0), 2, 4) * 2", "x.view(x.size(0), -1) * 2", "(x, x.sum(1))",
    "x * x.size(1)", "x + torch.arange(x.size(1))", "x.argmax(1)", "F.one_hot((x > 0).long(), 2)", "torch.zeros_like(x)", "x.unsqueeze(0)",
))  # fmt: skip
def test_ops_that_may_be_sharded_along_the_batch(text):
    assert shard(ingot.op(text), [X], [0], 3) is not None


@pytest.mark.parametrize("text", (
    "x.sum(0)", "x.softmax(0)", "x.sum()", "x - x.mean(0)", "x.flip(0)", "x.roll(1, 0)", "x[1:]", "x[:3]", "x[0]", "torch.cat([x, x])",
    "F.pad(x, (0, 0, 1, 0))", "x.unfold(0, 2, 1)", "x.flatten()", "x.view(2, 3, 8)", "x[:, None] - x", "x.repeat(2, 1)", "x[x.size(0) - 1 - torch.arange(x.size(0))]",
    "x @ x.t()", "(x, x.sum(0))", "(x, x.sum())", "x.unbind(0)", "x + torch.ones(6, 8)", "x + torch.arange(6)[:, None]", "x.tril()",
    # Functions that depend on a position or on a size along the sharded dim.
    "x * x.size(0)", "x / x.shape[0]", "x * len(x)", "x * x.numel()", "x.sum(1) / x.numel()", "x + torch.arange(x.size(0))[:, None]",
    "x * torch.linspace(0, 1, x.size(0))[:, None]", "x if x.size(0) > 4 else -x", "x * max(x.size(0), 4)",
    "def f(x):\n    assert x.size(0) == 6\n    return x * 2", "x[:, x.size(0) - 5]", "F.pad(x, (x.size(0), 0))", "x[:, :x.size(0)]",
    "def f(x):\n    assert x.numel() == 48\n    return x * 2", "x.view(6, 2, 4)", "x + x.new_ones(x.size(0) * 2)[:8]", "x.view(x.size(0) * 2, 4)",
))  # fmt: skip
def test_ops_that_may_not_be_sharded(text):
    assert shard(ingot.op(text), [X], [0]) is None


@pytest.mark.parametrize("text", ("x * 2 if x.size(0) == 1 else x", "x.flip(1) if x.size(0) == 1 else x * 1", "x.squeeze() * 2",
                                  "x.roll(1 if x.size(0) == 1 else 2, 1)", "x * (2.0 if x.size(0) == 1 else 3.0)"))  # fmt: skip
def test_ops_that_branch_on_size_1_are_not_sharded_to_size_1(text):
    op = ingot.op(text)
    assert shard(op, [X], [0], 2) is not None  # shards of three
    assert shard(op, [X], [0], 6) is None
    assert shard(op, [torch.randn(7, 8)], [0], 3) is None  # shards of three, three and one


def test_empty_shards_need_a_known_shape():
    assert shard(ingot.op("x.view(x.size(0), -1) * 2"), [X], [0], 5) is None  # eager cannot infer -1 if there are no elements
    assert shard(ingot.op("x.flatten(1) * 2"), [X], [0], 5) is not None


def test_replicated_tensors_read_along_the_sharded_dim_are_sharded():
    op = ingot.op("(x + b) * g")
    assert shard(op, [X, BIAS, BIAS], [1, None, None]) == ([1, 0, 0], [1])
    assert shard(op, [X, BIAS, BIAS], [None, 0, None]) == ([1, 0, 0], [1])
    assert shard(op, [X, BIAS, BIAS], [0, None, None]) == ([0, None, None], [0])
    assert shard(op, [X, BIAS[None], BIAS[:1]], [0, None, None]) == ([0, None, None], [0])
    assert shard(op, [X, BIAS, BIAS], [0, 0, None]) is None


def test_a_parameter_is_sharded_along_one_dim():
    for text in ("x + x.t()", "x * x[0]", "x - x.mean(0)", "x[:, :1] * x.t()[:1]"):
        assert shard(ingot.op(text), [SQUARE], [0]) is None
    assert shard(ingot.op("x[:, 0] + (x + x.t())[:, 0] * 0"), [SQUARE.long()], [0]) is None  # also if its sizes are equal
    assert shard(ingot.op("x * w + w.sum()"), [BIAS, BIAS], [0, None]) is None
    assert shard(ingot.op("x * w.sum()"), [BIAS, BIAS], [0, None]) == ([0, None], [0])


def test_a_gathered_table_is_replicated():
    table, t = torch.randn(5, 6), torch.randint(5, (4, 3))
    op = ingot.op("table[t] * 2")
    assert shard(op, [table, t], [None, 0]) == ([None, 0], [0])
    assert shard(op, [table, t], [1, None]) == ([1, None], [2])
    assert shard(op, [table, t], [0, None]) is None


def test_in_place_ops_and_recorded_custom_backwards_are_not_sharded():
    assert shard(ingot.op("def f(x, y):\n    x.add_(y)\n    return y * 2"), [X, X], [0, 0]) is None
    custom = ingot.op("def f(x): return x * 2\ndef f_backward(grad, x): return grad * x.size(0)", name="f")
    assert shard(custom, [X], [0]) is not None
    assert shard(custom, [X], [0], recorded=True) is None


def test_cuda_without_a_gpu():
    metas = [torch.empty(6, 8, device="meta"), torch.empty(8, device="meta")]
    mesh = [([0, None], False, False), ([1, None], True, False)]
    sharding = ingot.op("F.gelu(x.t() + b[:, None])")._shard(torch.device("cuda", 0), metas, mesh, True, *metas)[1]
    assert sharding == ([[0, None], [1, 0]], [(torch.float32, [8, 6], [1, 8], [1, 0])])


def test_reports_whether_a_number_was_read():
    metas = [torch.empty(6, 8, device="meta")]
    for text, is_read in (("x * k", False), ("x.roll(k, 1)", True), ("x.sum(k)", True)):
        assert ingot.op(text)._shard(torch.device("cpu"), metas, [([0], False, False)], False, *metas, 1)[0] == is_read
