"""Tuples, lists and dicts of tensors and numbers as arguments of an op."""

import threading

import pytest
import torch

import ingot


def weighted(xs, weights, bias=0.0):
    total = bias
    for x, w in zip(xs, weights):
        total = total + x * w
    return total


def test_lists_of_tensors_and_numbers():
    op = ingot.op(weighted)
    xs = [torch.randn(5) for _ in range(4)]
    for count in (1, 2, 4):
        weights = [0.5 * (i + 1) for i in range(count)]
        assert torch.equal(op(xs[:count], weights), weighted(xs, weights))
        assert torch.equal(op(tuple(xs[:count]), weights, bias=2.0), weighted(xs, weights, 2.0))
    assert op([], [], 3.0 * xs[0]).equal(3.0 * xs[0])


def test_another_length_is_another_kernel_and_another_number_is_not():
    op = ingot.op(weighted)
    xs = [torch.randn(7) for _ in range(3)]
    op(xs[:2], [1.0, 2.0])
    before = ingot.counters()
    assert torch.equal(op(xs[1:], [3.0, 4.0]), weighted(xs[1:], [3.0, 4.0]))
    assert torch.equal(op([xs[0][:4], xs[1][:4]], [3.0, 4.0]), weighted([xs[0][:4], xs[1][:4]], [3.0, 4.0]))
    assert ingot.counters().lowerings == before.lowerings
    op(xs, [1.0, 2.0, 3.0])
    spent = ingot.counters().since(before)
    assert spent.lowerings == 1 or spent.disk_hits > 0  # an earlier run may have stored it


def test_nested_groups_and_dicts():
    def f(batch, scale):
        (a, b), extra = batch["pair"], batch.get("extra", [])
        return a * scale - b, sum(extra, a)

    op = ingot.op(f)
    a, b, c = torch.randn(3), torch.randn(2, 1), torch.randn(3)
    for batch in ({"pair": (a, b)}, {"pair": [a, b], "extra": [c, 2.5]}, {"extra": (), "pair": (b, a)}):
        for actual, expected in zip(op(batch, 2.0), f(batch, 2.0)):
            assert torch.equal(actual, expected)
            assert actual.stride() == expected.stride()


def test_every_api_accepts_lists():
    op = ingot.op("torch.cat(xs) * 2")
    xs = [torch.randn(3), torch.randn(2)]
    op.prepare(xs)
    ingot.prepare_all([(op, (xs,))])
    out = torch.empty(5)
    assert op(xs=xs, out=out) is out
    assert torch.equal(out, torch.cat(xs) * 2)
    assert torch.equal(op.reference(xs), out)
    assert "xs_0" in op.source(xs) and "xs_1" in op.source(xs)


def test_lists_of_other_structures_are_other_programs():
    """Lists with the same leaves at other places are other programs."""
    op = ingot.op("def f(xs, ys):\n    return sum(xs) - 2 * sum(ys)\n")
    a, b, c = (torch.randn(3) for _ in range(3))
    assert torch.equal(op([a, b], [c]), a + b - 2 * c)
    assert torch.equal(op([a], [b, c]), a - 2 * (b + c))
    named = ingot.op("def f(d):\n    return d['a'] - d['b']\n")
    assert torch.equal(named({"a": a, "b": b}), a - b)
    assert torch.equal(named({"b": a, "a": b}), b - a)


def test_another_thread_may_change_a_list():
    op = ingot.op("sum(xs)")
    xs, is_done = [torch.ones(1000) for _ in range(3)], threading.Event()

    def change():
        while not is_done.is_set():
            xs[1] = torch.ones(1000)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(2000):
            assert op(xs)[0] == 3
    finally:
        is_done.set()
        thread.join()


def deep(levels):
    nested = torch.ones(1)
    for _ in range(levels):
        nested = [nested]
    return nested


@pytest.mark.parametrize("text, arguments, message", [
    ("sum(xs) + y", ([torch.ones(2), "a"], torch.ones(2)), "`xs` is a str"),
    ("sum(xs) + y", ([torch.ones(2), None], torch.ones(2)), "tensors and numbers, not None"),
    ("sum(xs) + y", ([torch.ones(2), torch.ones(3)], torch.ones(2)), "must match"),
    ("sum(xs) + y", ([torch.ones(2)], [torch.ones(2)]), "does not take|takes tensors and numbers"),
    ("sum(xs) + y", ({1: torch.ones(2)}, torch.ones(2)), "a key that is not a string"),
    ("sum(xs) + y", (deep(30), torch.ones(2)), "nested too deeply"),
    ("sum(xs) + y", ([torch.ones(2)], torch.ones(2), 3), "takes"),
    ("def f(x: torch.Tensor):\n    return x", ([torch.ones(2)],), "`x` must be a tensor, not a list"),
    ("def f(x, k: float):\n    return x * k", (torch.ones(2), [1.0]), "`k` must be a float, not a list"),
])
def test_invalid_structures_are_errors(text, arguments, message):
    with pytest.raises(ingot.Error, match=message):
        ingot.op(text)(*arguments)


def test_tensors_of_a_list_are_changed_in_place():
    for text in ("for t in xs: t += 1", "xs[0].add_(1)", "xs[1][:] = xs[0]"):
        op = ingot.op(f"def f(xs):\n    {text}\n")
        xs, expected = ([torch.zeros(3), torch.ones(3)] for _ in range(2))
        op(xs)
        exec(text, {"xs": expected})
        assert all(map(torch.equal, xs, expected)), text


@pytest.mark.parametrize("text", ["xs[0] = xs[1]", "xs.append(xs[0])", "xs += [xs[0]]", "xs.pop()"])
def test_changing_an_arguments_list_is_an_error(text):
    with pytest.raises(ingot.Error, match=r"the caller would not see|in the language"):
        ingot.op(f"def f(xs):\n    {text}\n    return xs[0] + 1\n")([torch.zeros(3), torch.ones(3)])
    copied = ingot.op("def f(xs):\n    xs = list(xs)\n    xs[0] = xs[1]\n    return xs[0] + 1\n")
    assert torch.equal(copied([torch.zeros(3), torch.ones(3)]), torch.full((3,), 2.0))


def test_changing_an_arguments_dict_is_an_error():
    with pytest.raises(ingot.Error, match="the caller would not see"):
        ingot.op("def f(xs):\n    xs['b'] = xs['a'] * 2\n    return xs['b']\n")({"a": torch.ones(3)})
    for text in ("inner = d['l']; d['l'] = list(inner); inner.append(3)", "d['l'] = tuple(d['l'])", "d['l'] *= 2"):
        with pytest.raises(ingot.Error, match="the caller would not see"):
            ingot.op("def f(d):\n    " + text.replace("; ", "\n    ") + "\n    return torch.zeros(2)\n")({"l": [torch.ones(3)]})
    same = ingot.op("def f(xs):\n    xs[0] = xs[0].float()\n    return xs[0] + 1\n")
    assert torch.equal(same([torch.zeros(3)]), torch.ones(3))
    with pytest.raises(ingot.Error, match="NaN cannot be the key"):
        ingot.op("def f(x):\n    d = {float('nan'): 1}\n    return x\n")(torch.ones(3))


@pytest.mark.parametrize("text, kind", [
    ("def f(x):\n    return x * 2,", tuple),
    ("def f(x):\n    return x.chunk(1)", tuple),
    ("def f(x):\n    return [v * 2 for v in [x]]", list),
    ("def f(x):\n    return [x * 2, x]", list),
    ("def f(x):\n    return x * 2", torch.Tensor),
])
def test_results_have_the_returned_type(text, kind):
    x = torch.arange(3.0)
    op = ingot.op(text)
    assert type(op(x)) is kind is type(op.reference(x))
    assert all(torch.equal(actual, expected) for actual, expected in zip(op(x), op.reference(x), strict=True))


def test_keyword_only_parameters():
    op = ingot.op("def f(x, *, k=2.0):\n    return x * k")
    assert torch.equal(op(torch.ones(2), k=3.0), torch.full((2,), 3.0))
    with pytest.raises(ingot.Error, match="`k` as a keyword only[^$]*write k="):
        op(torch.ones(2), 3.0)


def test_len_of_a_string_counts_characters():
    assert ingot.op("def f(x):\n    return x * len('é→𝄞')")(torch.ones(1)).item() == 3
