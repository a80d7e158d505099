"""The gradients of ops with random numbers: the backward pass uses the forward call's numbers again."""

import pytest
import torch
from seeds import seeded
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

import ingot

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("text", ["F.dropout(x, 0.3)", "F.dropout1d(x, 0.3)", "F.rrelu(x, training=True)",
                                  "x * torch.rand_like(x)", "x.sigmoid() * torch.bernoulli((x > 0) / 2 + 0.25)"])
def test_the_gradient_uses_the_forward_calls_numbers(device, dtype, text):
    op = ingot.op(text)
    grad = torch.randn(31, 17, device=device).to(dtype)
    outcomes = []
    for call in (op, op.reference):
        x = torch.randn(31, 17, generator=torch.Generator().manual_seed(1)).to(device, dtype).requires_grad_()
        actual = seeded(call, x)
        torch.rand(5, device=device)  # numbers that are sampled in between do not matter
        outcomes.append((actual.detach(), *torch.autograd.grad(actual, x, grad)))
    (actual, actual_gradient), (expected, expected_gradient) = outcomes
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(actual, expected, rtol=4 * eps, atol=4 * eps)
    torch.testing.assert_close(actual_gradient, expected_gradient, rtol=4 * eps, atol=4 * eps)


def test_dropouts_gradient_uses_its_mask(device):
    x = torch.ones(1000, device=device, requires_grad=True)
    y = ingot.op("F.dropout(x, 0.4)")(x)
    (grad,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(grad, y.detach())


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_sample_numbering_does_not_depend_on_the_probability(device, p):
    """A dropout of p = 0 drops nothing, and still counts as a sample."""
    op = ingot.op("def f(x, p: float): return F.dropout(F.dropout(x, p), 0.5)")
    fixed = ingot.op(f"def f(x): return F.dropout(F.dropout(x, {p}), 0.5)")
    x = torch.rand(500, device=device, requires_grad=True)
    y = seeded(op, x, p)
    assert torch.equal(y, seeded(op.reference, x, p)) and torch.equal(y, seeded(fixed, x))
    (grad,) = torch.autograd.grad(seeded(op, x, p).sum(), x)
    (expected,) = torch.autograd.grad(seeded(op.reference, x, p).sum(), x)
    torch.testing.assert_close(grad, expected)
    torch.testing.assert_close(grad * x.detach(), y.detach())


def test_sample_numbering_restarts_when_lowering_restarts(device):
    """Lowering begins again when it needs the value of the parameter `n`. By then it has numbered a sample."""
    op = ingot.op("""def f(x, n: int):
        y = F.dropout(x, 0.5)
        for _ in range(n):
            y = y + torch.rand_like(x)
        return y""")
    x = torch.rand(100, device=device)
    assert torch.equal(seeded(op, x, 2), seeded(op.reference, x, 2))


def test_dropout_between_reductions_equals_the_reference(device):
    """The kernels of the gradient compute the sample again."""
    op = ingot.op("def f(x, w): return (F.dropout(softmax(x, -1), 0.3) * w).sum(-1)")
    outcomes = []
    for call in (op, op.reference):
        generator = torch.Generator().manual_seed(2)
        x, w = (torch.randn(2, 5, 7, 33, generator=generator).to(device).requires_grad_() for _ in range(2))
        y = seeded(call, x, w)
        outcomes.append((y.detach(), *torch.autograd.grad(y.square().sum(), (x, w))))
    for actual, expected in zip(*outcomes):
        torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-6)


def test_tensors_in_a_list(device):
    op = ingot.op("def f(xs): return sum([F.dropout(x, 0.5) for x in xs])")
    xs = [torch.rand(50, device=device, requires_grad=True) for _ in range(3)]
    assert torch.equal(seeded(op, xs), seeded(op.reference, xs))
    actual, expected = (torch.autograd.grad(seeded(call, xs).sum(), xs) for call in (op, op.reference))
    for a, b in zip(actual, expected):
        assert torch.equal(a, b)


def test_a_branch_on_the_probability(device):
    op = ingot.op("""def f(x, p: float):
        if p > 0:
            x = F.dropout(x, p)
        return F.dropout(x, 0.5) * torch.rand_like(x)""")
    for p in (0.0, 0.3):
        x = torch.rand(500, device=device, requires_grad=True)
        actual, expected = seeded(op, x, p), seeded(op.reference, x, p)
        assert torch.equal(actual, expected)
        torch.testing.assert_close(*(torch.autograd.grad(result.sum(), x)[0] for result in (actual, expected)))


def test_second_order(device):
    op = ingot.op("(F.dropout(x, 0.5) * torch.rand_like(x)) ** 3")
    outcomes = []
    for call in (op, op.reference):
        x = torch.linspace(-1, 1, 200, device=device).requires_grad_()
        (first,) = torch.autograd.grad(seeded(call, x).sum(), x, create_graph=True)
        outcomes.append((first.detach(), *torch.autograd.grad((first**2).sum(), x)))
    for actual, expected in zip(*outcomes):
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpoint(device, use_reentrant):
    op = ingot.op("F.dropout(x * w, 0.5)")
    x = torch.rand(300, device=device, requires_grad=True)
    w = torch.rand(300, device=device, requires_grad=True)
    expected = torch.autograd.grad(seeded(lambda: op(op(x, w), w).sum()), (x, w))
    y = seeded(checkpoint, lambda x: op(op(x, w), w), x, use_reentrant=use_reentrant)
    y.sum().backward()
    assert torch.equal(x.grad, expected[0])
    assert torch.equal(w.grad, expected[1])


def test_saved_tensor_hooks_see_the_seed(device):
    op = ingot.op("F.dropout(x, 0.5)")
    x = torch.rand(300, device=device, requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = op(x)
    (grad,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(grad * x.detach(), y.detach())


def test_backward_twice(device):
    x = torch.rand(300, device=device, requires_grad=True)
    y = ingot.op("F.dropout(x, 0.5)")(x).sum()
    (first,) = torch.autograd.grad(y, x, retain_graph=True)
    assert torch.equal(first, *torch.autograd.grad(y, x))


def test_a_batch_of_gradients():
    """A batch of gradients falls back to eager, which uses the random numbers of the forward call."""
    x = torch.rand(50, requires_grad=True)
    y = ingot.op("F.dropout(x, 0.5)")(x)
    (batch,) = torch.autograd.grad(y, x, torch.eye(50), is_grads_batched=True, retain_graph=True)
    assert torch.equal(batch.sum(0), *torch.autograd.grad(y.sum(), x))


def test_gradients_are_computed_under_a_dispatch_mode(device):
    x = torch.rand(300, device=device, requires_grad=True)
    op = ingot.op("F.dropout(x, 0.5) * x")
    y = op(x)
    with FlopCounterMode(display=False):
        (grad,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(grad * x / 2, y)
    with FlopCounterMode(display=False):
        y = op(x)
        (grad,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(grad.sum(), x)
    torch.testing.assert_close(grad * x / 2, y)
    torch.testing.assert_close(second * x, grad)


@pytest.mark.parametrize("text", ["dropout(x, 0.5)", "alpha_dropout(x, 0.5, training=True)",
                                  "def helper(rand): return rand * 2\ndef f(x): return helper(x) * rand(400)",
                                  "from torch.nn.functional import dropout as d\ndef f(x): return d(x, 0.5)"])
def test_the_reference_detects_random_ops(text):
    op, x = ingot.op(text), torch.ones(400)
    assert op.uses_random
    torch.manual_seed(8)
    result = op(x)
    torch.manual_seed(8)
    torch.testing.assert_close(result, op.reference(x))


def test_a_custom_backward_is_checked_with_one_seed():
    op = ingot.op("""
def noisy_backward(grad, x):
    return grad * 2 * x
def noisy(x):
    return x ** 2 + 100 * torch.rand_like(x)
""", name="noisy", debug=True)
    x = torch.rand(40, requires_grad=True)
    (grad,) = torch.autograd.grad(op(x).sum(), x)  # in debug mode it is checked
    torch.testing.assert_close(grad, 2 * x.detach())
    before = torch.random.get_rng_state()
    ingot.check_gradient(op, x)
    assert torch.equal(before, torch.random.get_rng_state())
