"""Reductions of at most 16 elements that another kernel would have to read: they are computed in the kernels of their
readers, without a workspace."""

import pytest
import torch
import torch.nn.functional as F
from full_run import subset

import ingot


def force(p):
    difference = p[None] - p[:, None]
    distance = difference.norm(dim=-1) + 0.1
    return (difference / (distance**2 * distance)[..., None]).sum(1)


def chamfer(x, y):
    distance = (x[:, None] - y).square().sum(-1)
    return distance.amin(1), distance.amin(0)


def triplet_loss(anchor, positive, negative):
    return F.triplet_margin_loss(anchor, positive, negative)


def all_triplets(x, y):
    distance = (x[:, None] - y).norm(dim=-1)
    return (distance[:, :, None] - distance[:, None] + 0.5).relu().mean((1, 2))


def harmonics(v, weight):
    x, y, z = (v / v.norm(dim=-1, keepdim=True)).unbind(-1)
    return (torch.stack([x * y, y * z, 3 * z * z - 1, x * z, x * x - y * y], -1) * weight[:, None]).sum(0)


def smoothness(depth, image):
    edge = (image[..., 1:] - image[..., :-1]).abs().mean(1, keepdim=True)
    return ((depth[..., 1:] - depth[..., :-1]).abs() * torch.exp(-edge)).sum((1, 2, 3))


def nested(x, y):
    """A variance over 4 elements inside a norm over 3."""
    return (x[:, None] * y).var(-1).norm(dim=-1).sum(1)


def nested_softmax(x, y):
    """A softmax over 4 elements, which is not unrolled, inside a norm over 3."""
    return (x[:, None] * y).softmax(-1).norm(dim=-2).sum((1, 2))


# Function → the shapes of its arguments; the launches and allocations of a call, and those of a call with its gradient.
PROGRAMS = {
    force: ([(40, 3)], (1, 1), (3, 3)),
    chamfer: ([(50, 3), (40, 3)], (2, 2), (6, 5)),
    triplet_loss: ([(90, 8)] * 3, (1, 1), (2, 4)),
    all_triplets: ([(20, 3), (25, 3)], (2, 2), (7, 5)),
    harmonics: ([(90, 3), (90,)], (1, 1), (2, 3)),
    smoothness: ([(3, 1, 9, 12), (3, 3, 9, 12)], (1, 1), (6, 4)),
    nested: ([(12, 3, 4), (14, 3, 4)], (1, 1), (4, 4)),
    nested_softmax: ([(12, 3, 4), (14, 3, 4)], (3, 2), (8, 5)),
}


def spent_by(call):
    call()
    before = ingot.counters()
    call()
    spent = ingot.counters().since(before)
    return spent.launches, spent.allocations


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_programs_equal_float64_without_a_workspace(device, function):
    shapes, of_call, of_gradient = PROGRAMS[function]
    op, generator = ingot.op(function), torch.Generator().manual_seed(1)
    leaves = [torch.randn(shape, generator=generator).to(device).requires_grad_() for shape in shapes]
    exact = [leaf.detach().double().requires_grad_() for leaf in leaves]

    def results_of(run, arguments):
        results = run(*arguments)
        results = results if isinstance(results, tuple) else (results,)
        return *results, *torch.autograd.grad(results, arguments, [torch.arange(1, r.numel() + 1).to(r).view_as(r) for r in results])

    for result, expected in zip(results_of(op, leaves), results_of(function, exact)):
        torch.testing.assert_close(result.double(), expected, rtol=1e-4, atol=1e-4 * expected.abs().max().item())
    with torch.no_grad():
        assert spent_by(lambda: op(*leaves)) == of_call
    assert spent_by(lambda: results_of(op, leaves)) == of_gradient


# Reductions, in a kernel of their own and unrolled: the reversed rows are read by another kernel, or in none.
REDUCTIONS = "x.sum(1), x.mean(1), (x * y).sum(1), (x + y).prod(1), x.amax(1), x.amin(1), *x.max(1), *(x * y).min(1), (x > 0).any(1), (x > y).all(1)"


@pytest.mark.parametrize("length, dtype", subset(
    [(length, dtype) for length in range(1, 17) for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64)], 0, step=8
), ids=str)
def test_bits_are_those_of_a_kernel_over_rows(device, length, dtype):
    reduced = REDUCTIONS if dtype.is_floating_point else REDUCTIONS.replace("x.mean(1), ", "")
    stored, unrolled = ingot.op(f"def f(x, y): return ({reduced})"), ingot.op(f"def f(x, y): return tuple([r.flip(0) for r in ({reduced})])")
    x, y = ((torch.randn(200, length) * 4).to(device, dtype) for _ in range(2))
    for result, expected in zip(unrolled(x, y), stored(x, y), strict=True):
        assert torch.equal(result, expected.flip(0))
    assert spent_by(lambda: unrolled(x, y))[0] == 1


def test_other_rows_and_long_lengths_compile_nothing(device):
    """Each length of at most 16 has its own program. Longer lengths share one, which reduces rows."""
    op = ingot.op("def f(x, y): return (x[:, None] - y).square().sum(-1).amin(1)")

    def call(rows, length):
        before = ingot.counters()
        op(torch.randn(rows, length, device=device), torch.randn(300, length, device=device))
        return ingot.counters().since(before)

    for length, longer, launches in ((3, 3, 1), (4, 4, 1), (20, 24, 2)):
        call(300, length)
        spent = call(310, longer)
        assert (spent.lowerings, spent.compiles, spent.launches) == (0, 0, launches)


def test_chains_do_not_multiply_nodes():
    """Each level of a chain of unrolled reductions would repeat the nodes of the levels within it 16 times."""
    op = ingot.op("x" + ".sum(-1).square()" * 4)
    x = torch.randn(2, *[16] * 4)
    assert len(op.emit("ir", x).splitlines()) < 500
    torch.testing.assert_close(op(x), op.reference(x), rtol=1e-4, atol=1e-4)


def test_an_index_is_checked_although_nothing_is_loaded():
    op = ingot.op("def f(i): return torch.arange(3)[None].sum(1)[i[:2]]")
    with pytest.raises(ingot.Error, match="out of range"):
        op(torch.tensor([0, 5]))


def test_sizes_that_cannot_be_unrolled_compile_once():
    texts = ["def f(x, y): return (x[:, None] - y).square().sum((-1, -2)).amin(1)", "x.mean(0).square().sum()", "x.var(0).mean()"]
    for text in texts:
        op = ingot.op(text)
        count = 2 if "y" in text else 1
        for step in range(3):
            before = ingot.counters()
            op(*[torch.randn(6 + step, 12 + step, 13) for _ in range(count)])
            assert step == 0 or ingot.counters().since(before).lowerings == 0, text
