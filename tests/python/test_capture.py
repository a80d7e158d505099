"""A Python function as an op's source: the values of the names that it uses, and of its defaults, which Python evaluates at
the def statement."""

import enum
import importlib.util
import itertools
import math

import pytest
import torch
import torch.nn.functional as F

import ingot

NUMBERS = itertools.count()
X = torch.tensor([-2.0, 0.5, 3.0])


@pytest.fixture
def import_source(tmp_path):
    """Returns a function that imports a module with a given source."""
    def make(text: str):
        path = tmp_path / f"captured_{next(NUMBERS)}.py"
        path.write_text("import math, torch, ingot\nimport torch.nn.functional as F\n" + text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        imported = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(imported)
        imported.path = path
        return imported

    return make


# The lines at the top of the helper's module, and those of the module that uses the helper.
HELPERS = {
    "a function of torch": ("act = torch.tanh\n", "act = torch.relu\n"),
    "a function of torch's and of math's": ("from torch import tanh as act\n", "from math import tanh as act\n"),
    "constants": ("act = torch.tanh\nK = 1.0\n", "act = torch.tanh\nK = 2.0\n"),
    "a constant and a module": ("import torch.nn.functional as K\nact = torch.tanh\n", "act = torch.tanh\nK = 2.0\n"),
    "helpers": ("def act(x): return x + 1\n", "def act(x): return x + 2\n"),
    "a helper and torch's": ("def act(x): return x + 1\n", "act = torch.relu\n"),
}


@pytest.mark.parametrize("helper_lines, user_lines", HELPERS.values(), ids=HELPERS)
def test_a_name_with_two_meanings_is_an_error(import_source, helper_lines, user_lines):
    helper = import_source(helper_lines + "def helper(x):\n    return act(x) if K is None else act(x)\n")
    if "K" not in helper_lines:
        helper.K = 1.0
    user = import_source(user_lines + "def f(x):\n    return helper(x) + act(x) * (2 if K is None else 1)\n")
    if "K" not in user_lines:
        user.K = 1.0
    user.helper = helper.helper
    with pytest.raises(ingot.Error, match="is .* where `.*` uses it and .* where|two functions are called"):
        ingot.op(user.f)(X)


def test_a_helper_named_like_a_used_builtin_is_an_error(import_source):
    helper = import_source("def helper(x):\n    return abs(x)\n")
    user = import_source("def abs(x): return x * 100\ndef f(x):\n    return helper(x) + abs(x)\n")
    user.helper = helper.helper
    with pytest.raises(ingot.Error, match="`abs` is"):
        ingot.op(user.f)(X)


def test_a_name_may_have_the_same_meaning_in_two_modules(import_source):
    helper = import_source("from torch import tanh\nact, K = torch.relu, 2.0\ndef helper(x):\n    return act(tanh(x)) * K\n")
    user = import_source("act, K = F.relu, 2\nfrom math import sqrt\nfrom torch import tanh\ndef f(x):\n    return helper(x) + tanh(x) * sqrt(2.0)\n")
    user.helper = helper.helper
    torch.testing.assert_close(ingot.op(user.f)(X), user.f(X))


DEFAULTS = """
K, ACT, EACH = 2.0, torch.relu, [1.0, 2.0]
def helper(x, k=K): return x * k
def f(x, k=K, act=ACT, each=EACH[1], *, t=torch.float64, h=helper, n: float =
      -math.inf, w=(K +
                    1), é="é", z=K):
    return (h(act(x)) * k + each + w * z).to(t).clamp(min=n)
g = lambda x, k=K, *, w=K + 1: helper(x) * k + w
K, ACT, EACH = 3.0, torch.tanh, [5.0, 6.0]
def helper(x, k=K): return x * k * 100
"""


def test_defaults_are_evaluated_at_the_def(import_source):
    imported = import_source(DEFAULTS.replace("def helper(x, k=K): return x * k * 100\n", ""))
    for function in (imported.f, imported.g):
        torch.testing.assert_close(ingot.op(function)(X), function(X))
        torch.testing.assert_close(ingot.op(function).reference(X), function(X))
    assert ingot.op(imported.f).text.count("\n") == ingot.op(imported.f, name="other").text.count("\n")


def test_defaults_bind_the_variable_of_a_loop():
    ops = []
    for k in range(3):
        @ingot.op
        def f(x, k=k):
            return x * k

        ops += [f, ingot.op(lambda x, k=k: x * k)]
    for k in range(3):
        for op in ops[2 * k : 2 * k + 2]:
            assert torch.equal(op(X), X * k) and torch.equal(op(X, 7), X * 7)


LAMBDAS = """
K, TABLE = 3.0, [lambda v: v]
gelu = lambda v: v * K
def other(x): return x + 1
def helper(x, g=other): return g(x)
def named(x, act=gelu): return act(x)
def inline(x, act=lambda v: v * K): return act(x)
def of_a_helper(x): return helper(x)
def of_a_table(x, act=TABLE[0]): return act(x)
"""


def test_defaults_may_be_functions(import_source):
    """Also functions with the name of a supported function, and defaults of a helper's parameters."""
    imported = import_source(LAMBDAS)
    for function in (imported.named, imported.inline, imported.of_a_helper):
        op = ingot.op(function)
        torch.testing.assert_close(op(X), function(X))
        torch.testing.assert_close(op.reference(X), function(X))
    with pytest.raises(ingot.Error, match="`of_a_table` uses `act`, which is a function"):
        ingot.op(imported.of_a_table)(X)


def test_a_default_that_cannot_be_captured_is_named():
    def f(x, w=torch.ones(3)):
        return x * w

    with pytest.raises(ingot.Error, match="`f` uses `w`, which is a torch.Tensor"):
        ingot.op(f)(X)


def test_a_module_is_rejected_with_its_parameters_as_arguments():
    linear = torch.nn.Linear(3, 3)
    with pytest.raises(ingot.Error, match="uses `linear`, which is a torch.nn[^$]*pass its parameters as arguments"):
        ingot.op(lambda x: linear(x))(torch.zeros(3))


def test_a_later_edit_of_the_file_has_no_effect(import_source):
    """An op that exists already is not changed. A new op of the edited function is an error."""
    helper = import_source("def helper(x):\n    return x + 1\n")
    user = import_source("def f(x):\n    return helper(x) * 2\ng = ingot.op(f)\n")
    user.helper = helper.helper
    op = ingot.op(user.f)
    for edited in (helper, user):
        edited.path.write_text("\n\n" + edited.path.read_text().replace("+ 1", "+ 100").replace("* 2", "* 200"))
    torch.testing.assert_close(op(X), user.f(X))
    torch.testing.assert_close(op.reference(X), user.f(X))
    with pytest.raises(ingot.Error, match="changed after it was imported"):
        ingot.op(user.f)


@pytest.mark.parametrize("name", ["d", "e", "f", "de", "x"])
@pytest.mark.parametrize("other", ["g", "def_", "f_1"])
def test_an_op_may_have_another_name_than_its_function(name, other):
    text = f"def {name}(fed):\n    return fed * 2\n"
    function = module_function(text, name)
    op = ingot.op(function, name=other)
    assert op.name == other and f"def {other}(fed):" in op.text
    assert torch.equal(op(X), X * 2)


def module_function(text: str, name: str):
    """A function whose source `inspect` finds."""
    import linecache

    file = f"<captured {next(NUMBERS)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {}
    exec(compile(text, file, "exec"), scope)
    return scope[name]


class Mode(str, enum.Enum):
    SUM, MEAN = "sum", "mean"


class Level(enum.IntEnum):
    LOW = 3


REDUCTION, LEVEL = Mode.MEAN, Level.LOW
ITSELF = [1.0]
ITSELF.append(ITSELF)
NESTED = {"a": {}}
NESTED["a"]["b"] = NESTED


def test_enum_members_are_captured_as_constants():
    @ingot.op
    def f(x, y, reduction=Mode.SUM):
        return F.mse_loss(x, y, reduction=REDUCTION) * LEVEL + F.mse_loss(x, y, reduction=reduction)

    torch.testing.assert_close(f(X, X + 2), torch.tensor(4.0 * 3 + 12.0))


@pytest.mark.parametrize("constant, kind", [(ITSELF, "list"), (NESTED, "dict")])
def test_a_self_referencing_constant_is_an_error(constant, kind):
    @ingot.op
    def f(x):
        return x * constant[0]

    with pytest.raises(ingot.Error, match=f"`constant`, which is a {kind}"):
        f(X)


def test_constants_may_share_parts():
    pair = (1.0, math.pi)
    both = [pair, pair, {"k": pair}]

    @ingot.op
    def f(x):
        return x * both[0][1] + both[2]["k"][0]

    torch.testing.assert_close(f(X), X * math.pi + 1.0)
