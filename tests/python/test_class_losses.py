"""Losses with a score per class: invalid targets, and scores that are NaN."""

import math

import pytest
import torch

import ingot


def test_a_negative_class_other_than_the_end_marker_gives_nan(device):
    """Eager rejects such a class on the CPU. Its CUDA kernel takes any negative number for the end of the list,
    so on CUDA the loss is not checked."""
    for target in ([[0, -2, 2, -1]], [[-5, 0, -1, -1]], [[0, -1, -7, 9]]):
        x, t = torch.randn(1, 4, device=device), torch.tensor(target, device=device)
        loss = ingot.op("F.multilabel_margin_loss(x, t)")(x, t)
        assert loss.isnan() or device == "cuda"


def test_a_class_out_of_range_raises_on_the_cpu():
    m = torch.randn(8, 10)
    for text in ("F.nll_loss(m, t)", "F.cross_entropy(m, t)", "F.multi_margin_loss(m, t)"):
        op = ingot.op(f"def f(m, t): return {text}")
        for bad in (10, -1):
            with pytest.raises((ingot.Error, IndexError), match="out of"):
                op(m, torch.tensor([0, 1, 2, bad, 4, 5, 6, 7]))


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 0), (0,)], ids=str)
def test_probabilities_of_no_classes_equal_eager(shape, device):
    x = torch.zeros(shape, device=device)
    for more in ("", ", label_smoothing=0.1", ", reduction='sum'", ", reduction='none'"):
        op = ingot.op(f"def f(x, y): return F.cross_entropy(x, y{more})")
        torch.testing.assert_close(op(x, x), op.reference(x, x), equal_nan=True)


@pytest.mark.parametrize("lazy", ["auto", "always", "never"])
def test_an_ignored_class_is_not_read(device, lazy):
    """An ignored class may be any number, because neither the scores, the weights nor the gradient are accessed with it."""
    weight = torch.rand(5, device=device)
    for text in ("F.nll_loss(m, t, w)", "F.cross_entropy(m, t, w)", "F.cross_entropy(m, t)", "F.nll_loss(m, t, reduction='sum')",
                 "F.cross_entropy(m, t, w, label_smoothing=0.1)", "F.cross_entropy(m, t, w, ignore_index=7, reduction='none')"):
        op = ingot.op(f"def f(m, t, w): return {text}", lazy=lazy, debug=True)
        ignored = 7 if "=7" in text else -100
        for t in ([1, ignored, 4, ignored], [ignored] * 4, [0, 1, 2, 3]):
            m, t = torch.randn(4, 5, device=device, requires_grad=True), torch.tensor(t, device=device)
            actual, expected = op(m, t, weight), op.reference(m, t, weight)
            torch.testing.assert_close(actual, expected, equal_nan=True, msg=text)
            gradients = (torch.autograd.grad(loss.sum(), m)[0] for loss in (actual, expected))
            torch.testing.assert_close(*gradients, equal_nan=True, msg=text)


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_a_class_out_of_range_gives_nan_on_the_gpu(device):
    """In debug mode such a class is an error that names it. An ignored class is never out of range."""
    m, weight = torch.randn(8, 10, device=device), torch.rand(10, device=device)
    texts = ["F.nll_loss(m, t, reduction=r)", "F.cross_entropy(m, t, reduction=r)", "F.cross_entropy(m, t, w, reduction=r, label_smoothing=0.1)",
             "F.nll_loss(m, t, w, ignore_index=-1, reduction=r)", "F.multi_margin_loss(m, t, weight=w, reduction=r)"]  # fmt: skip
    for text in texts:
        for dtype in (torch.float32, torch.bfloat16):
            for bad in (10, -1, -10, 1 << 40):
                t = torch.tensor([0, 1, 2, bad, 4, 5, 6, 9], device=device)
                is_ignored = "ignore" in text and bad == -1
                for r in ("none", "sum", "mean"):
                    source = f"def f(m, t, w): return {text.replace('=r', f'={r!r}')}"
                    loss = ingot.op(source)(m.to(dtype), t, weight.to(dtype))
                    expected = (torch.arange(8, device=device) == 3) & (not is_ignored) if r == "none" else torch.tensor(not is_ignored, device=device)
                    assert torch.equal(loss.isnan(), expected), (source, bad)
                    if not is_ignored:
                        with pytest.raises((ingot.Error, IndexError), match="out of"):
                            ingot.op(source, debug=True)(m.to(dtype), t, weight.to(dtype))
    op = ingot.op("F.multilabel_margin_loss(m, t, reduction='none')")
    t = torch.tensor([[0, 3, 10, -1] + [0] * 6, [0, 3, 9, -1] + [99] * 6], device=device)
    assert op(m[:2], t).isnan().tolist() == [True, False]


def test_nan_scores_equal_eager(device):
    """Eager adds only the terms above zero, and NaN is not above zero."""
    nan, inf = math.nan, math.inf
    m = torch.tensor([[nan] * 4, [1, 2, 3, nan], [1, inf, 0, 0], [1, 2, 3, 4]], device=device)
    t, class_0 = torch.tensor([1, 2, 1, 0], device=device), torch.zeros(4, 4, dtype=torch.long, device=device)
    for text in ("F.multi_margin_loss(m, t, reduction='none')", "F.multi_margin_loss(m, t, 2, reduction='none')",
                 "F.multilabel_margin_loss(m, class_0, reduction='none')"):
        op = ingot.op(f"def f(m, t, class_0): return {text}")
        torch.testing.assert_close(op(m, t, class_0), op.reference(m, t, class_0), equal_nan=True)
