"""The values that a call saves for the gradient if rows are long. They do not change the bits of the call. The
gradient equals the one that computes all values again. The saved tensors belong to autograd, as saved arguments do."""

import gc
import os
import subprocess
import sys
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch.autograd.graph import saved_tensors_hooks

import ingot

DEVICES = ["cpu"] + ["cuda"] * torch.cuda.is_available()

# For each op: its source, its arguments' shapes, and the number of residuals that a call saves. A shape that is an int
# represents a class index below it for each row.
OPS = {
    "softmax": ("F.softmax(x, -1)", [(9, 301)], 2),
    "log_softmax": ("F.log_softmax(x, -1)", [(9, 301)], 2),
    "log_softmax of columns": ("F.log_softmax(x, 0)", [(301, 9)], 2),
    "logsumexp": ("x.logsumexp(1)", [(9, 301)], 2),
    "layer_norm": ("F.layer_norm(x, (301,), w, b)", [(9, 301), (301,), (301,)], 2),
    "rms_norm": ("F.rms_norm(x, (301,), w)", [(9, 301), (301,)], 1),
    "group_norm": ("F.group_norm(x, 2, w, b)", [(3, 8, 100), (8,), (8,)], 2),
    "cross_entropy": ("F.cross_entropy(x, t, ignore_index=5)", [(9, 301), 301], 3),
    "masked mean": ("(x * w).sum() / w.sum()", [(9, 301), (9, 301)], 2),
    "normalize": ("F.normalize(x, dim=1)", [(9, 301)], 1),
    "two reductions": ("(x - x.mean(1, keepdim=True)) / x.amax(0)", [(90, 301)], 2),
    "std": ("x.std(1)", [(9, 301)], 2),
    "a product": ("x.mul(w)", [(9, 301), (301,)], 0),
    "a sum": ("x.sum(1)", [(9, 301)], 0),
}


def arguments_of(shapes, device, dtype):
    torch.manual_seed(3)
    arguments = []
    for shape in shapes:
        if isinstance(shape, int):
            arguments.append(torch.randint(shape, (arguments[0].size(0),), device=device))
        else:
            arguments.append((torch.rand(shape, dtype=torch.float64) + 0.5).to(device, dtype))
    return arguments


def with_gradients(call, arguments, **options):
    leaves = [a.clone().requires_grad_() if a.is_floating_point() else a for a in arguments]
    saved = []
    with saved_tensors_hooks(lambda x: saved.append(x) or x, lambda x: x):
        result = call(*leaves)
    residuals = [x for x in saved if all(x.data_ptr() != leaf.data_ptr() for leaf in leaves)]
    weight = torch.linspace(0.5, 1.5, result.numel(), device=result.device).to(result.dtype).view_as(result)
    gradients = torch.autograd.grad(result, [leaf for leaf in leaves if leaf.requires_grad], weight, **options)
    return result.detach(), gradients, residuals


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", OPS)
def test_gradients_with_and_without_residuals_are_equal(name, dtype, device):
    text, shapes, residual_count = OPS[name]
    op, arguments = ingot.op(text), arguments_of(shapes, device, dtype)
    result, gradients, residuals = with_gradients(op, arguments)
    assert torch.equal(result, op(*arguments))
    assert len(residuals) == residual_count
    expected_gradients = with_gradients(op, arguments, create_graph=True)[1]  # a gradient that will be differentiated itself saves nothing
    for gradient, expected, argument in zip(gradients, expected_gradients, arguments):
        expected = expected.detach()
        tolerance = {torch.float64: 1e-12, torch.float32: 2e-5, torch.bfloat16: 2e-2}[dtype]
        torch.testing.assert_close(gradient, expected, rtol=tolerance, atol=tolerance * float(expected.abs().max()) + 1e-12)
        assert gradient.stride() == argument.stride()


@pytest.mark.parametrize("device", DEVICES)
def test_short_rows_have_no_residuals(device):
    op = ingot.op("F.softmax(x, -1)")
    for columns, count in ((16, 0), (31, 0), (32, 2), (33, 2), (16, 0)):
        *_, residuals = with_gradients(op, arguments_of([(50, columns)], device, torch.float32))
        assert len(residuals) == count, columns


def test_a_gradient_of_a_gradient_uses_no_residuals():
    op, (x,) = ingot.op("F.softmax(x, -1)"), arguments_of([(3, 65)], "cpu", torch.float64)
    assert torch.autograd.gradcheck(op, x.requires_grad_())
    assert torch.autograd.gradgradcheck(op, x)


@pytest.mark.parametrize("device", DEVICES)
def test_a_batch_of_gradients_equals_single_gradients(device):
    op, (x,) = ingot.op("F.softmax(x, -1)"), arguments_of([(3, 65)], device, torch.float64)
    x.requires_grad_()
    result, cotangents = op(x), torch.eye(3 * 65, dtype=x.dtype, device=device).view(-1, 3, 65)
    (all_at_once,) = torch.autograd.grad(result, x, cotangents, is_grads_batched=True, retain_graph=True)
    one_by_one = torch.stack([torch.autograd.grad(result, x, cotangent, retain_graph=True)[0] for cotangent in cotangents])
    torch.testing.assert_close(all_at_once, one_by_one)


@pytest.mark.parametrize("device", DEVICES)
def test_residuals_depend_on_the_requested_gradients(device):
    op, (x, w, b) = ingot.op("F.layer_norm(x, (301,), w, b)"), arguments_of([(9, 301), (301,), (301,)], device, torch.float32)
    counts = []
    for requested in ((x,), (w,), (b,), (x, w, b)):
        leaves = [a.detach().requires_grad_(any(a is tensor for tensor in requested)) for a in (x, w, b)]
        saved = []
        with saved_tensors_hooks(lambda tensor: saved.append(tensor) or tensor, lambda tensor: tensor):
            result = op(*leaves)
        expected_gradients = torch.autograd.grad(F.layer_norm(leaves[0], (301,), *leaves[1:]).sum(), [a for a in leaves if a.requires_grad])
        for actual, expected in zip(torch.autograd.grad(result.sum(), [a for a in leaves if a.requires_grad]), expected_gradients):
            torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)
        counts.append(len([tensor for tensor in saved if all(tensor.data_ptr() != leaf.data_ptr() for leaf in leaves)]))
    assert counts[2] == 0 and counts[0] > 0 and counts[1] > 0, counts


def test_residuals_are_freed_after_use():
    op, (x,) = ingot.op("F.softmax(x, -1)"), arguments_of([(9, 301)], "cpu", torch.float32)
    saved = []
    with saved_tensors_hooks(lambda tensor: saved.append(weakref.ref(tensor)) or tensor, lambda tensor: tensor):
        result = op(x.requires_grad_())
    assert len(saved) == 3
    result.sum().backward()
    gc.collect()
    assert [tensor() is None for tensor in saved[1:]] == [True, True]
    with pytest.raises(RuntimeError, match="second time"):
        result.sum().backward()


@pytest.mark.parametrize("device", DEVICES)
def test_a_program_from_disk_has_the_same_residuals(device, tmp_path):
    """A process that finds programs and kernels in the store lowers nothing, and its gradients are the same."""
    code = f"""
import torch, ingot
torch.manual_seed(0)
x = torch.randn(9, 301, device={device!r}, requires_grad=True)
(ingot.op("F.softmax(x, -1)")(x) * x.detach()).sum().backward()
print(ingot.counters().lowerings, ingot.counters().compiles, x.grad.double().sum().item(), x.grad.view(-1)[7].item())
"""
    environment = {**os.environ, "INGOT_CACHE_DIR": str(tmp_path)}
    run = lambda: subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    first, second = (run().stdout.split() for _ in range(2))
    assert int(first[0]) > 0 and second[:2] == ["0", "0"] and first[2:] == second[2:]


SECOND_ORDERS = ["F.softmax(x, -1)", "F.log_softmax(x, -1)", "x.logsumexp(-1, keepdim=True) * x", "-F.cross_entropy(x, t) * x"]


@pytest.mark.skipif("cuda" not in DEVICES, reason="explained: no GPU")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("text", SECOND_ORDERS)
def test_a_gradient_of_a_gradient_of_one_pass_sums(text, dtype):
    """On CUDA, sums of exponentials of 16-bit floats do not wait for the maximum; those of float64 do."""
    torch.manual_seed(1)
    x, g, v = (torch.randn(6, 10, device="cuda").to(dtype) for _ in range(3))
    targets = [torch.randint(10, (6,), device="cuda")] if ", t" in text else []

    def second_order(dtype):
        leaf, weight = x.to(dtype).requires_grad_(), g.to(dtype).requires_grad_()
        (first,) = torch.autograd.grad(ingot.op(text)(leaf, *targets), leaf, weight, create_graph=True)
        return (first.detach(), *torch.autograd.grad(first, (leaf, weight), v.to(dtype)))

    for actual, expected in zip(second_order(dtype), second_order(torch.float64)):
        assert float((actual.double() - expected).abs().max()) <= 0.03 * float(expected.abs().max())


@pytest.mark.parametrize("device", DEVICES)
def test_hooks_may_return_residuals_in_another_dtype(device):
    op, (x,) = ingot.op("F.softmax(x, -1) * (t / 3).sum(-1, keepdim=True)"), arguments_of([(9, 301)], device, torch.float32)
    t = torch.arange(9 * 301, device=device).view(9, 301)
    with saved_tensors_hooks(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor, lambda tensor: tensor):
        result = op(x.requires_grad_(), t)
    (gradient,) = torch.autograd.grad(result, x, torch.ones_like(result), retain_graph=True)
    assert gradient.dtype == torch.float32
    default = torch.get_default_dtype()
    result = op(x, t)
    torch.set_default_dtype(torch.float64)
    try:
        (gradient_with_float64_default,) = torch.autograd.grad(result, x, torch.ones_like(result))
    finally:
        torch.set_default_dtype(default)
    torch.testing.assert_close(gradient, gradient_with_float64_default, rtol=1e-4, atol=1e-2)
