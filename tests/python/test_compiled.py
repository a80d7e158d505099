"""Ops in torch.compile, torch.export and AOTInductor. The counters show that the ops' kernels ran."""

import functools
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import ingot
from small_ops import gated, moments
from full_run import FULL_RUN


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def assert_close(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


def with_counters(call):
    before = ingot.counters()
    result = call()
    return result, ingot.counters().since(before)


def compiled(function, **options):
    return torch.compile(function, fullgraph=True, **{"backend": "aot_eager", **options})


def count_graphs(call, arguments) -> int:
    torch._dynamo.utils.counters.clear()
    for values in arguments:
        call(*values)
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_call_is_one_op_of_the_graph(device, backend):
    x, y = torch.randn(4, 6, device=device), torch.randn(6, device=device)
    around = lambda f: lambda x, y: f(x + 1, y, 2.0) * 2  # noqa: E731
    call = compiled(around(gated), backend=backend)
    call(x, y)
    result, count = with_counters(lambda: call(x, y))
    assert_close(result, around(gated.reference)(x, y))
    assert (count.launches, count.eager_fallbacks) == (1, 0)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_the_gradient_runs_kernels(device, backend):
    def gradients(f, x, y):
        x, y = x.clone().requires_grad_(), y.clone().requires_grad_()
        f(x, y).square().sum().backward()
        return x.grad, y.grad

    x, y = torch.randn(4, 6, device=device), torch.randn(6, device=device)
    call = compiled(lambda x, y: gated(x * 2, y), backend=backend)
    gradients(call, x, y)
    result, count = with_counters(lambda: gradients(call, x, y))
    assert_close(result, gradients(lambda x, y: gated.reference(x * 2, y), x, y))
    assert count.launches >= 2 and count.eager_fallbacks == 0


def test_ops_are_compiled_separately():
    x, y = torch.randn(4, 6), torch.randn(6)
    for op in (gated, ingot.op("F.silu(x) * y"), ingot.op("x - y"), ingot.op("x - y", traced="text")):
        assert_close(compiled(op)(x, y), op(x, y))  # ops do not share a compiled call


def test_ops_as_attributes_and_in_lists():
    first, second = ingot.op("x * 2"), ingot.op("x * 3")

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.op, self.several = first, [first, second]

        def forward(self, x):
            for op in self.several:
                x = op(x)
            return functools.partial(gated, bias=1.0)(self.op(x), x)

    module, x = Module(), torch.randn(5)
    call = compiled(module)
    assert_close(call(x), module(x))
    module.op = second
    assert_close(call(x), module(x))
    assert_close(compiled(lambda x: checkpoint(gated, x, x, use_reentrant=False).sum())(x.requires_grad_()), gated(x, x).sum())


def test_keywords_and_defaults():
    x, y = torch.randn(4, 6), torch.randn(6)
    assert_close(compiled(lambda: gated(y=y, x=x))(), gated(x, y))
    assert_close(compiled(lambda: gated(x, bias=2, y=y))(), gated(x, y, 2))
    with pytest.raises(Exception, match="annotated float and was given a Tensor"):
        compiled(lambda: gated(x, y, x))()
    with pytest.raises(Exception, match="gated(.|\n)*unexpected keyword|missing"):
        compiled(lambda: gated(x, z=y))()


def test_several_results():
    x = torch.randn(4, 6, requires_grad=True)
    for actual, expected in zip(compiled(lambda x: moments(x))(x), moments(x)):
        assert_close(actual, expected)
    (actual,) = torch.autograd.grad(compiled(lambda x: moments(x)[1].sum())(x), x)
    (expected,) = torch.autograd.grad(moments.reference(x)[1].sum(), x)
    assert_close(actual, expected)


def test_a_tuple_whose_length_depends_on_sizes_comes_from_one_op():
    op, x = ingot.op("def f(x): return (x * 2).split(2)"), torch.randn(6, 3)
    result, count = with_counters(lambda: compiled(lambda x: op(x))(x))
    assert (count.launches, count.eager_fallbacks) == (1, 0)
    assert isinstance(result, tuple)
    assert_close(result, op(x))


def test_sizes_and_numbers_need_at_most_two_graphs():
    def around(x, s):
        return gated(x, x, s) + 1

    call = compiled(around)
    shapes = [(torch.randn(n, 6), 0.5) for n in (4, 5, 6, 7, 8)]
    assert count_graphs(call, shapes) <= 2
    values = [(torch.randn(4, 6), s) for s in (0.25, 1.5, 2.5, -3.5, 0.125)]
    torch._dynamo.reset()
    assert count_graphs(call, values) <= 2
    for x, s in values:
        assert_close(call(x, s), around(x, s))


def test_shapes_may_depend_on_a_number():
    op = ingot.op("def f(x, n: int): return x.repeat(n, 1)")
    call = compiled(lambda x, n: op(x, n) * 2)
    for n in (1, 2, 5):
        assert_close(call(torch.ones(3), n), torch.full((n, 3), 2.0))
    branching = "def f(x, s: float): return x.sum() if s > 0 else x"
    op = ingot.op(branching)
    with pytest.raises(Exception, match='traced="text"'):
        compiled(lambda x, s: op(x, s) * 2)(torch.ones(3), 0.5)
    op = ingot.op(branching, traced="text")
    call = compiled(lambda x, s: op(x, s) * 2)
    assert_close(call(torch.ones(3), 0.5), torch.tensor(6.0))
    assert_close(call(torch.ones(3), -0.5), torch.full((3,), 2.0))


@pytest.mark.parametrize("condition", ["math.log(s) > 0.5", "math.isfinite(s)", "float(s) > 1", "round(s) > 1", "max(s, 1.0) > 1"])
def test_using_the_value_of_an_unknown_number_is_an_error(condition):
    op = ingot.op(f"def f(x, s: float): return x.to(torch.float64) if {condition} else x")
    with pytest.raises(Exception, match='traced="text"'):
        compiled(lambda x, s: op(x, s) * 2)(torch.ones(3), 4.0)


@pytest.mark.parametrize("traced", ["kernel", "text"])
@pytest.mark.parametrize("text, arguments", [
    ("def f(x, n: float = 2): return x * n", ()),
    ("def f(x, n: float): return x * n", (3,)),
    ("def f(x, n: bool): return x * n", (1,)),
    ("def f(x, n: bool = 1): return x * n", ()),
    ("def f(x, n: int = True): return x * n", ()),
    ("def f(x, n: int): return x * n", (True,)),
    ("def f(x, n): return x * n", (2,)),
    ("def f(x, n): return x * n", (2.5,)),
    ("def f(x, n=2): return x * n", ()),
    ("def f(x, *, n: float = 2): return x * n", ()),
])
def test_numbers_have_the_types_of_their_annotations(text, arguments, traced):
    op = ingot.op(text, traced=traced)
    for x in (torch.tensor([3, 5]), torch.tensor([True, False]), torch.tensor([0.5])):
        actual, expected = compiled(lambda x: op(x, *arguments) * 1, backend="inductor")(x), op(x, *arguments) * 1
        assert actual.dtype == expected.dtype == (op.reference(x, *arguments) * 1).dtype
        assert_close(actual, expected)


def test_a_default_device_does_not_apply_to_numbers():
    op = ingot.op("def f(x, s: float): return x * s")
    torch.set_default_device("meta")
    try:
        assert_close(compiled(lambda x: op(x, 2.5))(torch.ones(3, device="cpu")), torch.full((3,), 2.5, device="cpu"))
    finally:
        torch.set_default_device(None)


def test_names_outside_ascii_and_many_parameters_are_compiled():
    x = torch.ones(3)
    op = ingot.op("def größe(x): return x * 2")
    assert_close(compiled(lambda x: op(x))(x), x * 2)
    op = ingot.op("def f(breite): return breite * 2 + ä\nä = 1")
    assert_close(compiled(lambda x: op(x))(x), x * 2 + 1)
    names = [f"x{i}" for i in range(70)]
    op = ingot.op(" + ".join(names))
    assert_close(compiled(lambda x: op(*[x] * 70))(x), x * 70)


def test_the_source_is_inlined_on_request():
    op = ingot.op("def f(x, y, s: float):\n    z = x.mul(y)\n    return torch.relu(z) + s", traced="text")
    seen = []

    def backend(graph, inputs):
        seen.extend(str(node.target) for node in graph.graph.nodes)
        return graph

    x, y = torch.randn(4, 6), torch.randn(6)
    result, count = with_counters(lambda: compiled(lambda x, y: op(x, y, 2), backend=backend)(x, y))
    assert_close(result, op(x, y, 2))
    assert any("relu" in target for target in seen) and count.launches == 0


@pytest.mark.parametrize("text, make", [
    ("def f(x, y):\n    x.mul_(2).add_(y)", lambda: (torch.randn(4, 6), torch.randn(6))),
    ("def f(xs): return torch.stack(xs).sum(0)", lambda: ([torch.randn(3), torch.randn(3)],)),
])
def test_writes_in_place_and_lists_of_tensors_are_inlined(text, make):
    op, arguments = ingot.op(text), make()
    again = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]
    result, count = with_counters(lambda: compiled(lambda *a: op(*a))(*again))
    assert count.launches == 0  # the graph has the functions of the op's source
    assert_close(result, op(*arguments))
    assert_close(again, list(arguments))


def test_out():
    x, y, out = torch.randn(4, 6), torch.randn(6), torch.empty(4, 6)
    assert compiled(lambda x, y, out: gated(x, y, out=out))(x, y, out) is out
    assert_close(out, gated(x, y))


def test_a_rebound_name_is_recompiled():
    scope = {"op": ingot.op("x * 2")}
    exec("def around(x): return op(x) + 1", scope)
    call, x = compiled(scope["around"]), torch.randn(3)
    assert_close(call(x), x * 2 + 1)
    scope["op"] = ingot.op("x * 5")
    assert_close(call(x), x * 5 + 1)


def test_autocast_around_and_inside():
    op = ingot.op("F.mse_loss(x, y)")
    x, y = torch.randn(4, 6).bfloat16(), torch.randn(4, 6).bfloat16()

    def inside(x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return op(x, y)

    assert compiled(inside)(x, y).dtype == inside(x, y).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert compiled(lambda x, y: op(x, y))(x, y).dtype == torch.float32


class Gated(torch.nn.Module):
    def __init__(self, op):
        super().__init__()
        self.op, self.weight = op, torch.nn.Parameter(torch.linspace(-1, 1, 6))

    def forward(self, x):
        return self.op(x, self.weight) * 2


@pytest.mark.parametrize("strict", [False, True])
def test_export(strict):
    module, dynamic = Gated(gated), {"x": {0: torch.export.Dim("n")}}
    program = torch.export.export(module, (torch.randn(4, 6),), dynamic_shapes=dynamic, strict=strict)
    for rows in (2, 7):
        x = torch.randn(rows, 6)
        assert_close(program.module()(x), module(x))


REGISTERED = """
import torch, ingot
gated = ingot.op("def gated(x, y): return F.silu(x) * y")
ingot.register("exported::gated", gated)
"""


def run(text, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(ingot.__file__).parents[1])}
    completed = subprocess.run([sys.executable, "-c", textwrap.dedent(text), *map(str, arguments)], capture_output=True,
                               text=True, env=environment)
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def test_an_exported_program_runs_in_another_process(tmp_path):
    path = tmp_path / "module.pt2"
    scope = {}
    exec(REGISTERED, scope)
    module, x = Gated(scope["gated"]), torch.linspace(-2, 2, 18).view(3, 6)
    program = torch.export.export(module, (x,))
    assert "exported.gated" in str(program.graph)  # the registered name, not the generated one
    torch.export.save(program, path)
    printed = run(REGISTERED + """
import sys
before = ingot.counters()
result = torch.export.load(sys.argv[1]).module()(torch.linspace(-2, 2, 18).view(3, 6))
assert ingot.counters().since(before).launches == 1
print(*result.flatten().tolist())
""", path)
    assert_close(torch.tensor([float(v) for v in printed.split()]).view(3, 6), module(x).detach())


@pytest.mark.skipif(not FULL_RUN, reason="explained: half a minute of compiling, only in a full run")
def test_an_aotinductor_package_runs_without_python(tmp_path):
    programs = pathlib.Path(ingot._ingot.__file__).parents[2]
    (program,) = [p for p in programs.rglob("ingot_exported") if p.is_file()]
    op = ingot.op("def gated(x, y): return F.silu(x) * y")
    ingot.register("mine::gated", op)
    module, x = Gated(op), torch.linspace(-2, 2, 18).view(3, 6)
    package = torch._inductor.aoti_compile_and_package(torch.export.export(module, (x,)), package_path=str(tmp_path / "m.pt2"))
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{pathlib.Path(torch.__file__).parent}/lib"}
    completed = subprocess.run([program, package], capture_output=True, text=True, env=environment)
    numbers, launches = completed.stdout.splitlines()
    assert launches == "launches: 1"
    assert_close(torch.tensor([float(v) for v in numbers.split()]).view(3, 6), module(x).detach())


def test_a_decomposed_program_does_not_need_ingot(tmp_path):
    scope = {}
    exec(REGISTERED.replace("exported::gated", "exported::decomposed"), scope)
    module, x = Gated(scope["gated"]), torch.randn(3, 6)
    table = {torch.ops.exported.decomposed.default: scope["gated"].reference}
    program = torch.export.export(module, (x,)).run_decompositions(table)
    assert "exported" not in str(program.graph)
    assert_close(program.module()(x), module(x))


def test_an_explicit_none_is_not_the_default():
    op = ingot.op("def plus(x, w, k=2.0):\n    return (x if w is None else x * w) + (5 if k is None else k)\n")
    call, x = compiled(op), torch.randn(4)
    for args in ((x, None), (x, None, None), (x, x, None), (x, None, 3)):
        assert torch.equal(call(*args), op(*args))
