"""The factors that the bits of a reduction depend on, and the resources of its kernels: launches, memory, registers and
threads."""

import pytest
import torch
from full_run import subset

import ingot


def test_new_sizes_and_numbers_compile_nothing(device):
    """Sizes of one range of lengths, an eps, a correction and an ignored class are arguments of the kernel."""
    text = "def f(x, t, eps, k): return F.layer_norm(x, x.shape[1:], eps=eps), x.var(1, correction=k), F.cross_entropy(x, t, ignore_index=k)"
    op = ingot.op(text)
    before = None
    for rows, columns in ((5, 33), (5, 39), (7, 34), (7, 37)):
        x, t = torch.randn(rows, columns, device=device), torch.randint(0, 17, (rows,), device=device)
        for eps, k in ((1e-5, 2), (1e-3, 0)):
            torch.testing.assert_close(op(x, t, eps, k), op.reference(x, t, eps, k), rtol=1e-5, atol=1e-5)
            before = before or ingot.counters()
    spent = ingot.counters().since(before)
    assert (spent.lowerings, spent.compiles, spent.loads) == (0, 0, 0)


# Source → the shape of x, and the launches and allocations of a call.
LAUNCHES_AND_ALLOCATIONS = {
    "torch.softmax(x, 1)": ((300, 1000), 1, 1),
    "(x.sum(1), x.amax(1))": ((300, 1000), 1, 2),
    "x.sum()": ((1 << 22,), 2, 2),
    "x - x.mean(0)": ((300, 40), 1, 1),
    "(x - x.sum(1, keepdim=True)).sum(0)": ((40, 300), 2, 2),
    "x - x.std()": ((1 << 20,), 3, 2),
}


@pytest.mark.parametrize("text", LAUNCHES_AND_ALLOCATIONS)
def test_allocates_its_results_and_one_workspace(device, text):
    shape, launches, allocations = LAUNCHES_AND_ALLOCATIONS[text]
    op, x = ingot.op(text), torch.randn(shape, device=device)
    op(x)
    before = ingot.counters()
    op(x)
    spent = ingot.counters().since(before)
    assert (spent.launches, spent.allocations) == (launches, allocations)


# Sums of products and of functions that have the same bits in every kernel.
ROW_OPS = ["x.sum(1)", "x.mean(1)", "x.prod(1)", "x.var(1)", "x.norm(dim=1)", "F.layer_norm(x, x.shape[1:])", "F.rms_norm(x, x.shape[1:])", "x.exp().sum(1)", "x.logsumexp(1)", "x.softmax(1)", "x.log_softmax(1)"]


def contiguous_copies(x, row: int) -> dict:
    """Tensors in which the elements of a row of x are contiguous, each with the row's index there."""
    many = {"of 4200": (torch.cat([x, x]), row)} if x.is_cuda and x.shape[1] < 128 else {}
    return many | {"alone": (x[row : row + 1].clone(), 0), "off alignment": (torch.cat([x[row, :1], x[row]])[1:][None], 0),
            "of 300": (x[row - 200 : row + 100].clone(), 200), "of 1100": (x[row - 1000 : row + 100].clone(), 1000)}  # fmt: skip


def strided_copies(x, row: int) -> dict:
    """Tensors in which the elements of the row are not contiguous."""
    few = x[row - 3 : row + 37]
    return {"strided": (few.repeat_interleave(2, 1)[:, ::2], 3), "transposed": (few.t().contiguous().t(), 3), "last of a few": (few[:4].t().contiguous().t(), 3)}


@pytest.mark.parametrize("columns, dtype", subset(
    [(columns, dtype) for dtype in (torch.float32, torch.bfloat16) for columns in (7, 33, 75, 333, 1000, 1023, 2001, 4097, 20000)], 0, step=4
), ids=str)
def test_a_rows_bits_do_not_depend_on_other_rows(device, columns, dtype):
    x, row = torch.randn(2100, columns, generator=torch.Generator().manual_seed(columns)).to(device, dtype), 1234
    copies, different = contiguous_copies(x, row) | strided_copies(x, row), []
    ops = {text: ingot.op(text) for text in ROW_OPS}
    ingot.prepare_all((op, (tensor,)) for op in ops.values() for tensor in (x, *(copy for copy, _ in copies.values())))
    for text, op in ops.items():
        expected = op(x)[row]
        different += [f"{text}: {layout}" for layout, (copy, index) in copies.items() if not torch.equal(op(copy)[index], expected)]
    assert not different, different


LONG_ROWS = ["torch.softmax(x, 1)", "F.layer_norm(x, (x.shape[1],))", "x / x.norm(dim=1, keepdim=True)", "(x - x.amax(1, keepdim=True)).exp().sum(1)"]
LAYOUTS_OF_ROWS = {"contiguous": lambda x: x, "transposed": lambda x: x.t().contiguous().t(), "padded": lambda x: torch.nn.functional.pad(x, (1, 4))[:, 1:-4],
           "stepped": lambda x: x.repeat_interleave(2, 1)[:, ::2]}


@pytest.mark.parametrize("layout", LAYOUTS_OF_ROWS)
@pytest.mark.parametrize("text", LONG_ROWS)
def test_few_long_rows_have_the_bits_of_many(device, text, layout):
    """On the CPU two rows of this length have a kernel for each phase, and twenty rows one kernel for all phases."""
    op, x = ingot.op(text), LAYOUTS_OF_ROWS[layout](torch.randn(20, 70001, device=device))
    before = ingot.counters()
    few = op(x[:2])
    launches_of_few = ingot.counters().since(before).launches
    many = op(x)
    if device == "cpu":
        assert ingot.counters().since(before).launches - launches_of_few < launches_of_few
    assert torch.equal(few, many[:2])
    torch.testing.assert_close(few.double(), op.reference(x[:2].double()), rtol=2e-5, atol=2e-5)


ROWS_OF_TWO_DIMS = ["x.sum((1, 2))", "x.var((1, 2))", "F.layer_norm(x, x.shape[1:])", "(x * y).sum((1, 2)) + (y * y).mean((1, 2))"]


@pytest.mark.parametrize("text", ROWS_OF_TWO_DIMS)
def test_rows_of_several_dims_have_the_order_of_memory(device, text):
    """Also if rows are so few that each phase has a kernel, which need not read the operand that gives the order."""
    op, x = ingot.op(f"def f(x, y): return {text}"), torch.randn(20, 301, 233, device=device)
    y = torch.randn(20, 233, 301, device=device).transpose(1, 2)
    transposed = op(x.transpose(1, 2), y.transpose(1, 2))
    if "norm" in text:
        transposed = transposed.transpose(1, 2)
    few, many = op(x[:2], y[:2]), op(x, y)
    assert torch.equal(transposed, many) and torch.equal(few, many[:2])
    torch.testing.assert_close(many.double(), op.reference(x.double(), y.double()), rtol=2e-5, atol=2e-5)


def test_the_index_of_an_extreme_does_not_follow_the_order_of_memory(device):
    x = torch.randn(3, 40, 50, device=device).round()
    for layout in (x, x.transpose(0, 2), x.permute(1, 2, 0)):
        assert torch.equal(ingot.op("x.argmax()")(layout), layout.reshape(-1).argmax())


# Over rows, columns and all elements, with and without functions.
DETERMINISTIC_OPS = ["x.sum()", "x.mean()", "x.sum(1)", "x.sum(0)", "x.var()", "x.exp().sum()", "x.softmax(1)", "x.softmax(0)", "x - x.std(0)", "F.layer_norm(x, x.shape[1:])"]
SHAPES_OF_MANY_THREADS = [(3, 70000), (1000, 300), (70000, 3)]


@pytest.mark.parametrize("shape", SHAPES_OF_MANY_THREADS, ids=str)
def test_bits_do_not_depend_on_the_number_of_threads(shape):
    x, ops, default_threads = torch.randn(shape), [ingot.op(text) for text in DETERMINISTIC_OPS], torch.get_num_threads()
    expected = [op(x) for op in ops]
    try:
        for threads in (1, 2, 3, 8):
            torch.set_num_threads(threads)
            different = [text for text, op, result in zip(DETERMINISTIC_OPS, ops, expected) if not torch.equal(op(x), result)]
            assert not different, (threads, different)
    finally:
        torch.set_num_threads(default_threads)


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
@pytest.mark.parametrize("shape", SHAPES_OF_MANY_THREADS, ids=str)
def test_bits_do_not_depend_on_the_run_or_the_stream(device, shape):
    x, streams = torch.randn(shape, device=device), [torch.cuda.Stream() for _ in range(4)]
    torch.cuda.synchronize()
    for text in DETERMINISTIC_OPS:
        op, results = ingot.op(text), []
        for run in range(100):
            with torch.cuda.stream(streams[run % len(streams)]):
                results.append(op(x))
        torch.cuda.synchronize()
        assert all(torch.equal(result, results[0]) for result in results), text


@pytest.mark.parametrize("length", [16400, 20000, 32767, 32768, 40001, 65535, 65536, 70000])
def test_rows_of_about_a_block_equal_eager(device, length):
    """Elements have 2 or 4 bytes, and rows are aligned or unaligned."""
    for dtype in (torch.float32, torch.bfloat16):
        x = torch.randn(3, length, device=device).to(dtype)
        for text in ["x.softmax(1)", "x.logsumexp(1)", "x - x.mean(1, keepdim=True)", "F.layer_norm(x, (x.shape[1],))"]:
            op = ingot.op(text)
            tolerance = {"atol": 1e-6, "rtol": 1e-5} if dtype == torch.float32 else {"atol": 1e-2, "rtol": 2e-2}
            torch.testing.assert_close(op(x), op.reference(x), **tolerance)


CACHED = {"cached with its input": "e = exp(x - x.amax(1, keepdim=True)); return e / e.sum(1, keepdim=True) + x",
          "one after the other": "s = exp(x).mean(1, keepdim=True); t = (exp(x) * s + sin(x)).mean(1, keepdim=True); return sin(x) * t + exp(x)",
          "cached in place of an operand that is read again": "e = exp(x); m = e.amax(1, keepdim=True); return e * where(m < 30, x * 2, x - m).mean(1, keepdim=True)",
          "cached for rows that are read again": "m = x.amax(1, keepdim=True); e = exp(x - m); s = where(m < 3.5, x, e).mean(1, keepdim=True); t = (e * s).mean(1, keepdim=True); return e * t",
          "two at once": "s = (exp(x) + tanh(x)).mean(1, keepdim=True); return exp(x) * s - tanh(x)"}  # fmt: skip


@pytest.mark.parametrize("text", CACHED.values(), ids=CACHED)
def test_cached_values_equal_recomputed_ones(device, text):
    """A value that one phase computes per element is cached for the next one, with the input or in its place."""
    op = ingot.op(f"def f(x): {text}")
    for columns in (20, 1023, 4096, 20000, 32768, 33001, 65536):
        for dtype in (torch.float32, torch.bfloat16):
            x = torch.randn(3, columns, device=device).to(dtype)
            tolerance = {"atol": 1e-5, "rtol": 1e-5} if dtype == torch.float32 else {"atol": 5e-2, "rtol": 5e-2}
            torch.testing.assert_close(op(x), op.reference(x), **tolerance)


SHORT = {"normalised": "x.softmax(1)", "several results": "return x - x.mean(1, keepdim=True), x.amax(1), x * x.sum(1, keepdim=True)",
         "result of bytes": "return x > x.amax(1, keepdim=True) / 2", "one phase": "return x * 2, (x * 2).sum(1)",
         "operands of a later phase, transposed": "return (x - x.mean(1, keepdim=True)) * y + z"}  # fmt: skip


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
@pytest.mark.parametrize("text", SHORT.values(), ids=SHORT)
def test_many_short_rows(device, text):
    """A warp handles many rows at once; the first of them may be unaligned."""
    op = ingot.op(f"def f(x, y, z): {text if 'return' in text else 'return ' + text}")
    for columns in (1, 3, 9, 28, 33, 75, 127):
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            for rows, skipped in ((4096, 0), (4099, 0), (4100, 1)):
                x, y = (torch.randn(rows * columns + 1, device=device).to(dtype)[skipped:][: rows * columns].view(rows, columns) for _ in range(2))
                z = torch.randn(columns, rows, device=device).to(dtype).t()
                tolerance = {"atol": 2e-5, "rtol": 1e-5} if dtype != torch.bfloat16 else {"atol": 5e-2, "rtol": 5e-2}
                torch.testing.assert_close(op(x, y, z), op.reference(x, y, z), **tolerance)


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_many_short_rows_in_place(device):
    for columns in (9, 33, 75):
        x, op = torch.randn(5000, columns, device=device), ingot.op("torch.softmax(x, 1)")
        expected = op(x)
        assert torch.equal(op(x, out=x), expected)
        assert torch.equal(x, expected)


def test_rows_that_end_within_a_vector_do_not_check_indices_past_it(device):
    op = ingot.op("(x * t[torch.arange(x.shape[1])]).sum(1)", debug=True)
    x, t = torch.randn(2, 1023, device=device), torch.randn(1023, device=device)
    torch.testing.assert_close(op(x, t), op.reference(x, t), atol=1e-4, rtol=1e-4)


def test_many_columns_with_large_accumulators(device):
    """The partial results of the threads fit the shared memory of a block."""
    for dtype in (torch.uint8, torch.float16, torch.bfloat16, torch.float64):
        x = torch.randint(0, 3, (200, 272), device=device).to(dtype)
        for text in ["x.float().softmax(0)", "x.double().var(0)", "(x.sum(0), x.float().square().sum(0), x.amax(0), x.argmin(0))",
                     "(x * x.amax(0, keepdim=True)).sum(0)", "(x.double() - x.double().mean(0, keepdim=True)).square().mean(0)"]:  # fmt: skip
            op = ingot.op(text)
            torch.testing.assert_close(op(x), op.reference(x), atol=1e-3, rtol=1e-3)


# Full reductions, and results that use them for each element.
NUMBERS_AND_PARTS = [
    "(x * y).sum(), x * y / y.sum()",
    "(x * y).sum() / y.sum() * s, x * y / y.sum() + s",
    "(x * y).amax(), x.sum(), x * y / y.amax()",
    "(x * y).mean(), (x - y).argmax(), x * y - y.mean()",
    "where(y > 0, x, 0).sum() / (y > 0).sum().clamp(min=1), where(y > 0, x * s, 0) / (y > 0).sum().clamp(min=1)",
]


@pytest.mark.parametrize("text", NUMBERS_AND_PARTS)
@pytest.mark.parametrize("shape", [(40000,), (300, 201), (1, 40001), (40001, 1), (3, 1, 20000), (1,), (0,)], ids=str)
def test_full_reductions_and_their_users_equal_eager(text, shape, device):
    if 0 in shape and "max" in text:
        pytest.skip("explained: there is no largest of nothing")
    op = ingot.op(f"def f(x, y, s: float): return {text}")
    generator = torch.Generator().manual_seed(3)
    x, y = (torch.randint(-3, 4, shape, generator=generator).double().to(device) for _ in range(2))
    transposed = x.transpose(0, -1).contiguous().transpose(0, -1)
    for first in (x, transposed):
        for s in (1.5, -2.0):  # a run-time number
            torch.testing.assert_close(op(first, y, s), op.reference(first, y, s), equal_nan=True)


ROWS_OF_ONE_ELEMENT = ["F.layer_norm(x, x.shape[-1:])", "x.softmax(-1)", "F.normalize(x, dim=-1)", "F.rms_norm(x, x.shape[-1:])",
                       "x * x.logsumexp(-1, keepdim=True)", "x - x.mean(-1, keepdim=True) * 2"]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("text", ROWS_OF_ONE_ELEMENT)
def test_rows_of_one_element(device, text, dtype):
    op, x = ingot.op(text), torch.randn(8, 1, device=device).to(dtype)
    # Eager's layer_norm of a single 16-bit element is up to 3e-5 on the CPU, not 0.
    torch.testing.assert_close(op(x), op.reference(x), rtol=2 * torch.finfo(dtype).eps, atol=4e-5)


# A maximum of equal values that the author wrote, beside the row values that kernels pass to later ones.
MAXIMA_OF_EQUAL_VALUES = [
    "x - (x.sum(1, keepdim=True) * 2).expand(x.shape).amax(1, keepdim=True), (x.sum(1, keepdim=True) * 2).expand(x.shape).amax(1)",
    "(x - (x.sum(1, keepdim=True) * 2).expand(x.shape).amax(1, keepdim=True)).exp().sum(1, keepdim=True) * x",
    "(x.sum(1, keepdim=True) > 0).expand(x.shape).any(1)",
    "(x.sum(1, keepdim=True) * 2).expand(x.shape).softmax(1)",
]


@pytest.mark.parametrize("shape", [(50, 40), (4, 1 << 18)], ids=str)  # the second one has a kernel for each phase
@pytest.mark.parametrize("text", MAXIMA_OF_EQUAL_VALUES)
def test_maxima_of_equal_values(device, text, shape):
    op, x = ingot.op(f"def f(x): return {text}"), torch.randn(shape, device=device) * shape[1] ** -0.5 * 0.1
    torch.testing.assert_close(op(x), op.reference(x))


@pytest.mark.parametrize(
    ("text", "computes"),
    [
        ("(x + y).sum(-1)", True),
        ("torch.where(y > 0, x * y, x).amax(-1)", True),
        ("(x // y).sum(-1)", False),  # the zeros of elements that do not exist would divide by zero
        ("(100 % y + x).amax(-1)", False),
        ("(x // 7).sum(-1)", True),
        ("(x + y[y[:, 0, 0], 0, 0, None, None]).amax(2)", True),  # all elements of a row share the index
        ("(x + torch.arange(3000, device=x.device)).argmax(-1)", True),
        ("(x[0, 0, :7][y] + x).sum(-1)", False),  # the indices of elements that do not exist may be out of range
    ],
)
def test_elements_past_the_end_of_a_row_compute_nothing_undefined(text, computes):
    x = torch.empty(8, 128, 3000, dtype=torch.int32, device="meta")
    schedule = ingot.op(f"def f(x, y): return {text}").emit("schedule", x, x.clone(), device="cuda", architecture=90)
    assert ("computed past the row's end" in schedule) == computes
