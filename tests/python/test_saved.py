"""The arguments that a recorded call saves: only those that its gradient reads, and no more than eager PyTorch
saves."""

import gc
import inspect
import weakref

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks

import ingot

# source → a parameter, or nothing. With a parameter, eager saves the result; Ingot saves the parameter and computes the
# result again.
TEXTS = {
    "x + 1": "", "x * 2": "", "x / 2": "", "-x": "", "x - y": "", "x.double()": "", "x.t().reshape(-1)": "", "torch.cat([x, y])": "",
    "x.sum()": "", "x.mean(0)": "", "torch.where(c, x, y)": "", "x.masked_fill(c, 2.0)": "", "torch.lerp(x, y, 0.25)": "",
    "x.detach() * 2 + y": "", "x[:0] + y[1:1]": "", "x + x.floor()": "", "x * y": "", "x / y": "", "torch.maximum(x, y)": "",
    "torch.addcmul(x, y, y)": "", "torch.atan2(x, y)": "", "x.pow(3)": "", "x.sin()": "", "x.abs()": "", "x.log()": "",
    "F.gelu(x)": "", "F.mse_loss(x, y)": "", "x.var(1)": "", "F.layer_norm(x, (4,), w, b)": "", "x[i] + 1": "",
    "x.exp()": "x", "x.sigmoid()": "x", "x.tanh()": "x", "x.sqrt()": "x", "F.relu(x)": "x", "1 / x": "x", "x.softmax(1)": "x",
}  # fmt: skip


def rejects(action):
    """Whether autograd rejects the action; any other error fails the test."""
    try:
        action()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error) or "second time" in str(error), error
        return True
    return False


def arguments_of(rows, differentiated):
    arguments = {"x": torch.rand(rows, 4), "y": torch.rand(rows, 4), "w": torch.rand(4), "b": torch.rand(4)}
    for name, tensor in arguments.items():
        tensor.requires_grad_(name in differentiated)
    return {**arguments, "c": torch.rand(rows, 4) > 0.5, "i": torch.zeros(rows, dtype=torch.int64)}


def backward_after_change(call, names, differentiated, changed):
    leaves = arguments_of(0, differentiated)
    result = call(*(leaves[name] for name in names))
    with torch.no_grad():
        leaves[changed].zero_()
    return rejects(result.sum().backward)


def backward_twice(call, names, differentiated):
    result = call(*(arguments_of(0, differentiated)[name] for name in names))
    total = result.sum()
    total.backward()
    return rejects(total.backward)


@pytest.mark.parametrize("text", TEXTS)
def test_changed_arguments_are_errors_only_if_they_are_in_eager(text):
    """On empty tensors, which need no kernels."""
    op = ingot.op(text)
    names = list(inspect.signature(op).parameters)
    for differentiated in {"x", "xy", "y", "xwb", "b"}:
        if not set(names) >= set(differentiated):
            continue
        for changed in names:
            actual, expected = (backward_after_change(call, names, differentiated, changed) for call in (op, op.reference))
            assert actual == (expected or changed == TEXTS[text]), f"{differentiated}: {changed} was changed"
        actual, expected = (backward_twice(call, names, differentiated) for call in (op, op.reference))
        assert actual <= expected, differentiated


def test_saved_arguments_use_saved_tensor_hooks():
    x, y = torch.rand(0, 4, requires_grad=True), torch.rand(0, 1)
    for text, saved in (("x + y", []), ("x * y", [y]), ("x.sin() + y", [x])):
        packed = []
        with saved_tensors_hooks(lambda tensor: packed.append(tensor) or tensor, lambda tensor: tensor):
            result = ingot.op(text)(x, y)
        assert [tensor.shape for tensor in packed] == [tensor.shape for tensor in saved], text
        result.sum().backward()


def test_unread_arguments_are_freed():
    inner = torch.rand(3, 4, requires_grad=True)
    x = inner * 1
    y = torch.rand(3, 4, requires_grad=True)
    memory = weakref.ref(x.untyped_storage())
    result = ingot.op("torch.where(c, x * 2, x.detach() - y).sum(0)")(torch.ones(3, 4, dtype=torch.bool), x, y)
    del x
    gc.collect()
    assert memory() is None
    result.sum().backward()
    assert inner.grad.tolist() == [[2.0] * 4] * 3 and y.grad.tolist() == [[0.0] * 4] * 3


def test_one_of_several_gradients_reads_less():
    """A changed or freed argument is an error only in the gradients that read it."""
    x, y = (torch.rand(3, 4, requires_grad=True) for _ in range(2))
    op = ingot.op("x * 3, x * y.sin()")
    scaled, product = op(x, y)
    with torch.no_grad():
        y.add_(1)
    (gradient,) = torch.autograd.grad(scaled.sum(), x, retain_graph=True)
    assert gradient.tolist() == [[3.0] * 4] * 3
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    scaled, product = op(x, y)
    with torch.no_grad():
        x.add_(1)  # only the gradient with respect to y reads it
    (gradient,) = torch.autograd.grad(product.sum(), x, retain_graph=True)
    torch.testing.assert_close(gradient, y.detach().sin())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_gradients_of_gradients_read_saved_arguments():
    x, y, g = (torch.rand(3, 4, dtype=torch.float64).transpose(0, 1).requires_grad_() for _ in range(3))
    op = ingot.op("(x * 3 - y).sum(0) + y.var(0) * x[0]")
    actual = torch.autograd.grad(op(x, y), (x, y), g[0], create_graph=True)
    assert [tensor.stride() for tensor in actual] == [(1, 4)] * 2
    expected = torch.autograd.grad(op.reference(x, y), (x, y), g[0], create_graph=True)
    for a, b in zip(actual, expected):
        torch.testing.assert_close(a, b)
    second = [torch.autograd.grad((a * a).sum() + (b * b).sum(), (x, y, g)) for a, b in (actual, expected)]
    for a, b in zip(*second):
        torch.testing.assert_close(a, b)
    result = op(x, y)
    with torch.no_grad():
        x.add_(1)
    (first,) = torch.autograd.grad(result, x, g[0], create_graph=True)
    torch.testing.assert_close(first, torch.autograd.grad(op.reference(x, y), x, g[0])[0])


def test_several_gradients_at_once_without_unsaved_arguments():
    """A batch of gradients falls back to eager, with zeros in place of the arguments that were not saved."""
    x, y = (torch.rand(3, requires_grad=True) for _ in range(2))
    result = ingot.op("x * 2 + y.sin()")(x, y)
    with torch.no_grad():
        x.add_(1)
    gradients = torch.autograd.grad(result, (x, y), torch.eye(3), is_grads_batched=True)
    torch.testing.assert_close(gradients, (torch.eye(3) * 2, torch.eye(3) * y.detach().cos()))


def test_recording_is_decided_per_call():
    x = torch.rand(0, 4)
    op = ingot.op("x * 2 + y")
    for differentiated in ("", "x", "y", "xy", "", "x"):
        leaves = [x.clone().requires_grad_(name in differentiated) for name in "xy"]
        assert op(*leaves).requires_grad == bool(differentiated)
        if differentiated:
            op(*leaves).sum().backward()


def test_a_gradient_that_cannot_be_lowered_is_lowered_once():
    """Each backward pass falls back to eager."""
    op = ingot.op("torch.special.airy_ai(x) * 2 + y")
    x, y = torch.rand(0, 4, requires_grad=True), torch.rand(0, 4)
    spent = []
    for _ in range(2):
        before, result = ingot.counters(), op(x, y)
        with pytest.warns(UserWarning, match="no kernel computes its gradient"):
            result.sum().backward()
        spent.append(ingot.counters().since(before))
    assert spent[0].lowerings > 0 and spent[1].lowerings == 0 and spent[1].eager_fallbacks == 1


def test_reading_freed_memory_is_an_error():
    """Eager would read address 0."""
    op = ingot.op("def f(x, y): return x * y + 1")
    x, y = torch.rand(4, requires_grad=True), torch.rand(4)
    result = op(x, y)
    y.untyped_storage().resize_(0)
    with pytest.raises(ingot.Error, match="^error: f: `y` has no memory: its storage was freed"):
        op(x, y)
    with pytest.raises(RuntimeError, match="`y` has no memory: its storage was freed"):
        result.sum().backward()
    with pytest.raises(ingot.Error, match="`out` has no memory"):
        op(x.detach(), x.detach(), out=y)
    y.untyped_storage().resize_(16)
    y.copy_(torch.arange(4))
    result = op(x, y)
    (gradient,) = torch.autograd.grad(result.sum(), x)
    torch.testing.assert_close(gradient, torch.arange(4.0))
