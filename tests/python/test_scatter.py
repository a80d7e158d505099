"""The gradient of a gather that may read an element several times. A small one compares every index with every
position. A larger one sums the values by position, with the same result on every run."""

import pickle
import re

import pytest
import torch
import torch.nn.functional as F

import ingot

DEVICES = ["cpu"] + ["cuda"] * torch.cuda.is_available()
# The number n of indices and of table rows: too many for a kernel that compares each index with each position.
MANY = {"cpu": 3000, "cuda": 9000}


def randint(high, *shape, device):
    return torch.randint(high, shape, generator=torch.Generator().manual_seed(high + len(shape))).to(device)


def random(*shape, device, dtype=torch.float32):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator).to(device, dtype).requires_grad_()


# Source → the shapes of t and x: one character of SIZES, or n, per dim. k, l, c and j are vectors of n indices: c of
# columns, the others of rows; j is partly out of range.
GATHERS = {
    "t[k]": "nm",
    "t[k] * x": "nm,nm",
    "t[k].sum(1) * t[k - n].mean(1)": "nm",
    "t[k] * t[l] + t": "nm",
    "t[k, c]": "nm",
    "t[:, k] * 2": "mn",
    "t.t()[k].exp()": "mn",
    "t[k, :, c]": "n3m",
    "t[:, k]": "3nm",
    "t[1, k, 1:] * 3": "3nm",
    "t[:, :, k]": "23n",
    "t.flip(0)[k][:, ::2]": "nm",
    "t.take(k * m + c)": "nm",
    "t.gather(0, k[:, None].expand(n, m))": "nm",
    "t.gather(0, (k[:, None] + torch.arange(t.shape[1], device=t.device)) % n)": "nm",
    "t.index_select(0, k).reshape(-1, 1, m) * x": "nm,nm",
    "torch.where(k % 3 > 0, t[k, 0], 1.0)": "nm",
    "where((j >= 0) & (j < n), t[j, 1], 0.0)": "nm",
    "F.softmax(t[k], -1) + F.relu(t[l])": "nm",
    "t[k].view(-1, 2, m // 2)[:, 0] * t[0, 0]": "nm",
    "t[k.reshape(-1, 2)]": "nm",
    "F.layer_norm(t[k], (m,))": "nm",
    "t[k] + t[k].detach()": "nm",
}
SIZES = {"m": 4, "2": 2, "3": 3}


def make_case(text, device, dtype):
    n = MANY[device]
    sizes = SIZES | {"n": n}
    tensors = {name: random(*(sizes[s] for s in shape), device=device, dtype=dtype)
               for name, shape in zip("tx", GATHERS[text].split(","))}
    indices = {"k": randint(n, n, device=device), "l": randint(7, n, device=device), "c": randint(4, n, device=device),
               "j": randint(2 * n, n, device=device) - n // 2}
    indices["j"][:2] = torch.tensor([1 << 40, -1 << 40])  # far out of range
    if "k - n" in text:
        indices["n"] = n
    body = text
    for name in ("n", "m"):
        if name not in indices:
            body = re.sub(rf"\b{name}\b", str(sizes[name]), body)
    used = {name: value for name, value in (tensors | indices).items() if re.search(rf"\b{name}\b", body)}
    parameters = ", ".join(name + (": int" if name == "n" else "") for name in used)
    return f"def f({parameters}): return {body}", used


def weight_of(shape):
    """Random numbers that every tested dtype represents."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(1)).bfloat16()


def leaves_of(arguments):
    return [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]


def gradients(call, arguments, **options):
    result = call(*arguments)
    return torch.autograd.grad(result, leaves_of(arguments), weight_of(result.shape).to(result), **options)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("text", GATHERS)
def test_gradients_are_close_to_float64(text, dtype, device):
    op_text, arguments = make_case(text, device, dtype)
    op = ingot.op(op_text)
    before = ingot.counters()
    actual_gradients = gradients(op, arguments.values())
    spent = ingot.counters().since(before)
    assert spent.eager_fallbacks == 0
    leaves = leaves_of(arguments.values())
    doubles = [a.detach().double().requires_grad_() if leaves_of([a]) else a for a in arguments.values()]
    if text.startswith("where("):  # eager reads both arms
        doubles[list(arguments).index("j")] = arguments["j"].clamp(0, MANY[device] - 1)
        is_inside = (arguments["j"] >= 0) & (arguments["j"] < MANY[device])
        exact_gradients = gradients(lambda t, j: torch.where(is_inside, t[j, 1], 0.0), doubles)
    else:
        exact_gradients = gradients(op.reference, doubles)
    tolerance = {torch.float64: 1e-12, torch.float32: 2e-5, torch.bfloat16: 1e-2}[dtype]
    for gradient, exact, argument in zip(actual_gradients, exact_gradients, leaves):
        assert gradient.dtype == dtype and gradient.stride() == argument.stride()
        torch.testing.assert_close(gradient.double(), exact, rtol=tolerance, atol=tolerance * exact.abs().max().item())
    for repeated in (gradients(op, arguments.values()) for _ in range(2)):
        assert all(torch.equal(a, b) for a, b in zip(actual_gradients, repeated))


@pytest.mark.parametrize("device", DEVICES)
def test_the_gradient_is_rounded_once(device):
    n = MANY[device]
    table = torch.zeros(n, 2, device=device, dtype=torch.bfloat16, requires_grad=True)
    x = torch.full((n, 2), 1 / 256, device=device, dtype=torch.bfloat16)
    (gradient,) = gradients(ingot.op("t[k] * x + t * 0 + 1"), [table, torch.zeros(n, dtype=torch.int64, device=device), x])
    assert torch.equal(gradient[0].cpu(), (weight_of((n, 2)).double().sum(0) / 256).bfloat16())
    assert not gradient[1:].any()


@pytest.mark.parametrize("device", DEVICES)
def test_the_gradient_has_the_arguments_strides(device):
    n = MANY[device]
    index = randint(n, n, device=device)
    for table in (random(4, n, device=device).detach().t(), random(n, 8, device=device).detach()[:, ::2]):
        leaf = table.clone(memory_format=torch.preserve_format).requires_grad_()
        (actual,) = gradients(ingot.op("t[k] ** 2"), [leaf, index])
        (expected,) = gradients(lambda t, k: t[k] ** 2, [leaf, index])
        assert actual.stride() == leaf.stride()
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("device", DEVICES)
def test_small_tables_are_one_kernel(device):
    table, index = random(50, 3, device=device), randint(50, 64, device=device)
    op = ingot.op("t[k] * 2")
    gradients(op, [table, index])
    before = ingot.counters()
    gradients(op, [table, index])
    assert ingot.counters().since(before).launches == 2  # the call's, and the gradient's


@pytest.mark.parametrize("device", DEVICES)
def test_dims_without_an_index_are_summed_first(device):
    """A table of coefficients that are used for whole images: the gradient is first summed over an image."""
    table, step = random(1000, device=device), randint(1000, 8, 1, 1, 1, device=device)
    image = random(8, 3, 32, 32, device=device)
    op = ingot.op("image * table[step]")
    before = ingot.counters()
    actual = gradients(op, [image, table, step])
    assert ingot.counters().since(before).eager_fallbacks == 0
    for a, b in zip(actual, gradients(lambda image, table, step: image * table[step], [image, table, step])):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-4)
    assert "positions" not in op.emit("backward-source", image, table, step), "only eight sums remain, so their kernel compares all indices"


@pytest.mark.parametrize("device", DEVICES)
def test_one_program_covers_all_large_sizes(device):
    op, n = ingot.op("t[k] * 2"), MANY[device]
    gradients(op, [random(n, 4, device=device), randint(n, n, device=device)])
    before = ingot.counters()
    for more in (1, 77, n):
        table, index = random(n + more, 4, device=device), randint(n, n + more // 2, device=device)
        (actual,) = gradients(op, [table, index])
        torch.testing.assert_close(actual, gradients(lambda t, k: t[k] * 2, [table, index])[0], rtol=1e-5, atol=1e-5)
    spent = ingot.counters().since(before)
    assert (spent.compiles, spent.eager_fallbacks) == (0, 0)


@pytest.mark.parametrize("device", DEVICES)
def test_empty_tensors(device):
    n = MANY[device]
    op = ingot.op("t[k].sum()")
    for rows, columns, count in ((n, 0, n), (n, 4, 0), (n, 4, n)):
        table = random(rows, columns, device=device)
        (gradient,) = gradients(op, [table, randint(n, count, device=device)])
        assert gradient.shape == table.shape and (gradient.any() or count == 0 or columns == 0)


@pytest.mark.parametrize("device", DEVICES)
def test_a_loss_and_its_gradient(device):
    n = MANY[device]
    table, index, target = random(n, 4, device=device), randint(n, n, device=device), random(n, 4, device=device).detach()
    loss_and_gradient = ingot.value_and_grad(ingot.op("F.mse_loss(t[k], y)"), argnums=0)
    before = ingot.counters()
    loss, grad = loss_and_gradient(table.detach(), index, target)
    assert ingot.counters().since(before).eager_fallbacks == 0
    expected = F.mse_loss(table[index], target)
    torch.testing.assert_close(loss, expected.detach())
    torch.testing.assert_close(grad, torch.autograd.grad(expected, table)[0], rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("text", ["t[k].sin()", "t[k].sin() * t.cos()"])
def test_second_derivatives(text, device):
    n = MANY[device]
    table, index = random(n, 2, device=device, dtype=torch.float64), randint(n, n, device=device)

    def second(call):
        (first,) = gradients(call, [table, index], create_graph=True)
        assert first.requires_grad
        return torch.autograd.grad(first.square().sum(), table)[0]

    op = ingot.op(f"def f(t, k): return {text}")
    torch.testing.assert_close(second(op), second(op.reference))


@pytest.mark.parametrize("device", DEVICES)
def test_indices_out_of_range_are_errors_or_ignored(device):
    """On the CPU, an index out of range is an error of the call; on a GPU, nothing is written for it."""
    n = MANY[device]
    table, index = random(n, 2, device=device), randint(n, n, device=device)
    index[5] = n + 3
    op = ingot.op("t[k] * 2")
    if device == "cpu":
        with pytest.raises(ingot.Error, match="out of range"):
            op(table, index)
        return
    (actual,) = gradients(op, [table, index])
    index[5], weight = 0, weight_of((n, 2)).to(table)
    weight[5] = 0
    (expected,) = torch.autograd.grad(table[index] * 2, table, weight)
    torch.testing.assert_close(actual, expected)


def test_the_cpu_uses_no_atomics():
    table, index = random(MANY["cpu"], 4, device="cpu"), randint(3000, 3000, device="cpu")
    plain, atomic = ingot.op("t[k] * 2"), ingot.op("t[k] * 2", atomics=True)
    assert pickle.loads(pickle.dumps(atomic)).atomics
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.equal(*gradients(plain, [table, index]), *gradients(atomic, [table, index]))
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_atomics():
    table, index = random(9000, 4, device="cuda"), randint(9000, 9000, device="cuda")
    op = ingot.op("t[k] * 2", atomics=True)
    (actual,) = gradients(op, [table, index])
    torch.testing.assert_close(actual, *gradients(op.reference, [table, index]), rtol=1e-5, atol=1e-5)
    torch.use_deterministic_algorithms(True)
    try:
        with pytest.raises(RuntimeError, match="deterministic"):
            gradients(op, [table, index])
        gradients(ingot.op("t[k] * 2"), [table, index])
        gradients(op, [table[:50].detach().requires_grad_(), index[:50] % 50])  # a comparing kernel computes this one
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("atomics", [False, True])
def test_captured(atomics):
    table, index = random(9000, 4, device="cuda"), randint(9000, 9000, device="cuda")
    op = ingot.op("t[k] * t[k - 1]", atomics=atomics)
    weight = torch.ones(9000, 4, device="cuda")
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(2):
            torch.autograd.grad(op(table, index), table, weight)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        (actual,) = torch.autograd.grad(op(table, index), table, weight)
    for seed in (1, 2):
        index.copy_(torch.randint(9000, (9000,), generator=torch.Generator().manual_seed(seed)))
        graph.replay()
        (expected,) = torch.autograd.grad(table[index] * table[index - 1], table, weight)
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_compiled_and_registered(device):
    n = MANY[device]
    table, index = random(n, 4, device=device), randint(n, n, device=device)
    op = ingot.op("def looked_up(t, k): return F.gelu(t[k])")
    expected = gradients(op.reference, [table, index])
    for call in (torch.compile(lambda t, k: op(t, k), fullgraph=True),
                 ingot.register(f"scatter_test::looked_up_{device}", op)):
        before = ingot.counters()
        torch.testing.assert_close(gradients(call, [table, index]), expected, rtol=1e-4, atol=1e-5)
        assert ingot.counters().since(before).eager_fallbacks == 0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n", [60, 9000])
def test_an_index_in_an_unselected_arm_is_not_read(n, device):
    """The index is read only if the arm is selected, also for the gradient."""
    table, k, j = random(n, device=device), randint(n, n, device=device), randint(3 * n, n, device=device) - n
    is_inside = (j >= 0) & (j < n)
    op = ingot.op("def f(t, k, j): return torch.where((j >= 0) & (j < t.shape[0]), t[k[j]], 0.0)", debug=True)
    actual = gradients(op, [table, k, j])
    expected = gradients(lambda t, k, j: torch.where(is_inside, t[k[j.clamp(0, n - 1)]], 0.0), [table, k, j])
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)
