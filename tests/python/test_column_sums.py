"""Sums of columns that a kernel over rows computes on the GPU in the same pass, compared with eager in float64."""

import pytest
import torch

import ingot

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

# Number of columns → number of chunks that the rows are distributed over. With eight times as many rows, the kernel
# over rows also sums the columns.
CHUNKS = {129: 4096, 256: 4096, 1000: 1024, 1024: 1024, 1026: 512, 4096: 256, 8192: 128}

TEXTS = {
    "layer_norm": "def f(x, w, b): return F.layer_norm(x, (x.shape[-1],), w, b)",
    "rms_norm": "def f(x, w, b): return F.rms_norm(x, (x.shape[-1],), w, 1e-5) + b",
    "softmax": "def f(x, w, b): return F.softmax(x * w + b, -1) * x",
}


def launches() -> int:
    return ingot.counters().launches


def assert_close(actual: torch.Tensor, expected: torch.Tensor, terms: int) -> None:
    """Allows the error of a float32 sum of `terms` terms, and of rounding the result once more."""
    eps = torch.finfo(actual.dtype).eps
    sum_error = min(eps, torch.finfo(torch.float32).eps) * max(4, terms / 64)
    largest = expected.abs().max().item()
    torch.testing.assert_close(actual.double(), expected, rtol=2 * eps, atol=sum_error * largest)


@cuda
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("columns", CHUNKS)
@pytest.mark.parametrize("name", TEXTS)
def test_weight_gradients_need_two_launches(name, columns, dtype):
    op = ingot.op(TEXTS[name])
    torch.manual_seed(columns)
    x = torch.randn(8 * CHUNKS[columns] + 3, columns, device="cuda", dtype=dtype).requires_grad_()
    w, b = (torch.randn(columns, device="cuda", dtype=dtype).requires_grad_() for _ in range(2))
    grad = torch.randn_like(x)
    result = op(x, w, b)
    before = launches()
    gradients = torch.autograd.grad(result, (x, w, b), grad, retain_graph=True)
    assert launches() - before == 2, "one kernel over the rows, and one that adds up its partial sums"
    wide = [t.detach().double().requires_grad_() for t in (x, w, b)]
    references = torch.autograd.grad(op.reference(*wide), wide, grad.double())
    for actual, expected in zip(gradients, references, strict=True):
        assert_close(actual, expected, len(x))
    again = torch.autograd.grad(op(x, w, b), (x, w, b), grad)
    assert all(torch.equal(a, b) for a, b in zip(gradients, again, strict=True))


@cuda
def test_unfused_column_sums_equal_eager():
    """Fewer rows, transposed rows and long rows: the columns have separate kernels, with the same results."""
    op = ingot.op("(x.softmax(-1), x.sum(0))")
    for x in (torch.randn(2047, 4096, device="cuda"), torch.randn(4096, 2051, device="cuda").t(),
              torch.randn(1100, 8193, device="cuda"), torch.randn(4096, 4096, device="cuda")[:, ::2]):
        before = launches()
        rows, columns = op(x)
        assert launches() - before >= 2
        torch.testing.assert_close(rows, x.softmax(-1))
        torch.testing.assert_close(columns, x.sum(0), rtol=1e-4, atol=1e-3)


@cuda
@pytest.mark.parametrize("shape", [(2051, 4096), (8, 300, 4096), (300, 8, 4096), (1, 2051, 1, 4096)], ids=str)
def test_rows_may_have_several_dims(shape):
    """A column's sum has the same bits for any order of the row dims in memory. The upstream gradient may be an expanded
    number, as that of a sum is."""
    op = ingot.op("(x.softmax(-1), (x * x.mean(-1, keepdim=True)).sum(tuple(range(x.dim() - 1))))")
    x = torch.randn(shape, device="cuda")
    rows, columns = op(x)
    torch.testing.assert_close(rows, x.softmax(-1))
    wide = x.double()
    dims = tuple(range(x.dim() - 1))
    torch.testing.assert_close(columns.double(), (wide * wide.mean(-1, keepdim=True)).sum(dims), rtol=1e-4, atol=1e-4)
    transposed = x.transpose(0, -2).contiguous().transpose(0, -2)
    assert torch.equal(op(transposed)[1], columns)
    norm = ingot.op(TEXTS["layer_norm"])
    leaves = [x.requires_grad_(), torch.randn(shape[-1], device="cuda", requires_grad=True),
              torch.randn(shape[-1], device="cuda", requires_grad=True)]
    gradients = torch.autograd.grad(norm(*leaves).sum(), leaves)
    references = torch.autograd.grad(norm.reference(*leaves).sum(), leaves)
    for actual, expected in zip(gradients, references, strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-3)


@cuda
def test_a_result_may_overwrite_its_operand():
    """A result may overwrite the operand that its rows are computed from."""
    op = ingot.op("def f(x):\n    total = x.sum(0)\n    x.sub_(x.logsumexp(-1, keepdim=True))\n    return total")
    x = torch.randn(2051, 4096, device="cuda")
    expected = x - x.logsumexp(-1, keepdim=True), x.sum(0)
    total = op(x)
    torch.testing.assert_close(x, expected[0])
    torch.testing.assert_close(total, expected[1], rtol=1e-4, atol=1e-3)
