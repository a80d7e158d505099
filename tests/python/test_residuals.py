"""The values that a call saves for the gradient where rows are long. They do not change the bits of the call. The
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

# For each op: its source, the arguments' shapes (an int: classes of rows of that length), and the number of saved
# tensors.
OPS = {
    "softmax": ("F.softmax(x, -1)", [(9, 301)], 2),
    "log_softmax": ("F.log_softmax(x, -1)", [(9, 301)], 2),
    "log_softmax of columns": ("F.log_softmax(x, 0)", [(301, 9)], 2),
    "logsumexp": ("x.logsumexp(1)", [(9, 301)], 2),
    "layer_norm": ("F.layer_norm(x, (301,), w, b)", [(9, 301), (301,), (301,)], 3),
    "rms_norm": ("F.rms_norm(x, (301,), w)", [(9, 301), (301,)], 1),
    "group_norm": ("F.group_norm(x, 2, w, b)", [(3, 8, 100), (8,), (8,)], 3),
    "cross_entropy": ("F.cross_entropy(x, t, ignore_index=5)", [(9, 301), 301], 3),
    "masked mean": ("(x * w).sum() / w.sum()", [(9, 301), (9, 301)], 2),
    "normalize": ("F.normalize(x, dim=1)", [(9, 301)], 1),
    "two reductions": ("(x - x.mean(1, keepdim=True)) / x.amax(0)", [(90, 301)], 2),
    "std": ("x.std(1)", [(9, 301)], 3),
    "a product": ("x.mul(w)", [(9, 301), (301,)], 0),
    "a sum": ("x.sum(1)", [(9, 301)], 0),
}


def arguments_of(shapes, device, dtype):
    torch.manual_seed(3)
    made = []
    for shape in shapes:
        if isinstance(shape, int):
            made.append(torch.randint(shape, (made[0].size(0),), device=device))
        else:
            made.append((torch.rand(shape, dtype=torch.float64) + 0.5).to(device, dtype))
    return made


def with_gradients(call, arguments, **options):
    leaves = [a.clone().requires_grad_() if a.is_floating_point() else a for a in arguments]
    saved = []
    with saved_tensors_hooks(lambda x: saved.append(x) or x, lambda x: x):
        result = call(*leaves)
    kept = [x for x in saved if all(x.data_ptr() != leaf.data_ptr() for leaf in leaves)]
    weight = torch.linspace(0.5, 1.5, result.numel(), device=result.device).to(result.dtype).view_as(result)
    gradients = torch.autograd.grad(result, [leaf for leaf in leaves if leaf.requires_grad], weight, **options)
    return result.detach(), gradients, kept


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", OPS)
def test_the_gradient_equals_the_one_without_residuals(name, dtype, device):
    text, shapes, kept = OPS[name]
    op, arguments = ingot.op(text), arguments_of(shapes, device, dtype)
    result, gradients, found = with_gradients(op, arguments)
    assert torch.equal(result, op(*arguments))
    if name == "std" and device == "cpu" and dtype != torch.float64:
        kept -= 1  # its sum in float64 needs no correction
    assert len(found) == kept
    anew = with_gradients(op, arguments, create_graph=True)[1]  # a gradient that will be differentiated itself saves nothing
    for found, wanted, argument in zip(gradients, anew, arguments):
        wanted = wanted.detach()
        tolerance = {torch.float64: 1e-12, torch.float32: 2e-5, torch.bfloat16: 2e-2}[dtype]
        torch.testing.assert_close(found, wanted, rtol=tolerance, atol=tolerance * float(wanted.abs().max()) + 1e-12)
        assert found.stride() == argument.stride()


@pytest.mark.parametrize("device", DEVICES)
def test_short_rows_have_no_residuals(device):
    op = ingot.op("F.softmax(x, -1)")
    for columns, kept in ((16, 0), (31, 0), (32, 2), (33, 2), (16, 0)):
        *_, found = with_gradients(op, arguments_of([(50, columns)], device, torch.float32))
        assert len(found) == kept, columns


def test_a_gradient_of_a_gradient_uses_no_residuals():
    op, (x,) = ingot.op("F.softmax(x, -1)"), arguments_of([(3, 65)], "cpu", torch.float64)
    assert torch.autograd.gradcheck(op, x.requires_grad_())
    assert torch.autograd.gradgradcheck(op, x)


@pytest.mark.parametrize("device", DEVICES)
def test_several_gradients_at_once_fall_back(device):
    op, (x,) = ingot.op("F.softmax(x, -1)"), arguments_of([(3, 65)], device, torch.float64)
    x.requires_grad_()
    result, each = op(x), torch.eye(3 * 65, dtype=x.dtype, device=device).view(-1, 3, 65)
    (all_at_once,) = torch.autograd.grad(result, x, each, is_grads_batched=True, retain_graph=True)
    one_by_one = torch.stack([torch.autograd.grad(result, x, one, retain_graph=True)[0] for one in each])
    torch.testing.assert_close(all_at_once, one_by_one)


@pytest.mark.parametrize("device", DEVICES)
def test_residuals_depend_on_the_requested_gradients(device):
    op, (x, w, b) = ingot.op("F.layer_norm(x, (301,), w, b)"), arguments_of([(9, 301), (301,), (301,)], device, torch.float32)
    kept = []
    for asked in ((x,), (w,), (b,), (x, w, b)):
        leaves = [a.detach().requires_grad_(any(a is one for one in asked)) for a in (x, w, b)]
        saved = []
        with saved_tensors_hooks(lambda one: saved.append(one) or one, lambda one: one):
            result = op(*leaves)
        wanted = torch.autograd.grad(F.layer_norm(leaves[0], (301,), *leaves[1:]).sum(), [a for a in leaves if a.requires_grad])
        for found, expected in zip(torch.autograd.grad(result.sum(), [a for a in leaves if a.requires_grad]), wanted):
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
        kept.append(len([one for one in saved if all(one.data_ptr() != leaf.data_ptr() for leaf in leaves)]))
    assert kept[2] == 0 and kept[0] > 0 and kept[1] > 0, kept


def test_residuals_are_freed_after_use():
    op, (x,) = ingot.op("F.softmax(x, -1)"), arguments_of([(9, 301)], "cpu", torch.float32)
    kept = []
    with saved_tensors_hooks(lambda one: kept.append(weakref.ref(one)) or one, lambda one: one):
        result = op(x.requires_grad_())
    assert len(kept) == 3
    result.sum().backward()
    gc.collect()
    assert [one() is None for one in kept[1:]] == [True, True]
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

    for found, expected in zip(second_order(dtype), second_order(torch.float64)):
        assert float((found.double() - expected).abs().max()) <= 0.03 * float(expected.abs().max())


@pytest.mark.parametrize("device", DEVICES)
def test_hooks_may_return_residuals_in_another_dtype(device):
    op, (x,) = ingot.op("F.softmax(x, -1) * (t / 3).sum(-1, keepdim=True)"), arguments_of([(9, 301)], device, torch.float32)
    t = torch.arange(9 * 301, device=device).view(9, 301)
    with saved_tensors_hooks(lambda one: one.double() if one.is_floating_point() else one, lambda one: one):
        result = op(x.requires_grad_(), t)
    (found,) = torch.autograd.grad(result, x, torch.ones_like(result), retain_graph=True)
    assert found.dtype == torch.float32
    default = torch.get_default_dtype()
    result = op(x, t)
    torch.set_default_dtype(torch.float64)
    try:
        (again,) = torch.autograd.grad(result, x, torch.ones_like(result))
    finally:
        torch.set_default_dtype(default)
    torch.testing.assert_close(found, again, rtol=1e-4, atol=1e-2)
