"""Whatever computes the op of a case, as a call without arguments, and the check that it does.

autotune is torch.compile's max-autotune without its CUDA graphs, which would copy the arguments. jiterator is PyTorch's
own fused kernel of one formula (torch.cuda.jiterator).
"""

import inspect
import linecache
import math
import sys
import types
from typing import Callable

import torch

import ingot
from cases.case import Case, Program, Tensors
from handwritten import Handwritten, blocks_of

PEERS = ("eager", "compile", "autotune", "jiterator", "handwritten")
BARE_NAMES = {name: getattr(torch, name) for name in ("relu", "clamp", "maximum", "minimum", "where")}
Call = Callable[[], object]


def makers(case: Case, args: tuple) -> dict[str, Callable[[], Call]]:
    """Ingot and the peers that can express the case; each is made when it is asked for."""
    eager = eager_function(case)

    def bound(function) -> Call:
        if case.first:
            function(*case.first(Tensors(args[0].device.type)))
        return lambda: function(*args)

    made = {"ingot": lambda: bound(ingot_op(case)), "eager": lambda: bound(eager),
            "compile": lambda: bound(compiled(case))}
    if args[0].is_cuda:
        if case.autotune:
            made["autotune"] = lambda: bound(compiled(case, "max-autotune-no-cudagraphs"))
        if case.jiterator:
            made["jiterator"] = lambda: bound(jiterated(case.jiterator))
        if case.by_hand:
            made["handwritten"] = lambda: by_hand(case, args, results_of(eager(*args)))
    return made


def ingot_op(case: Case) -> "ingot.Op":
    accepted = inspect.signature(ingot.op).parameters
    return ingot.op(case.text, **{name: value for name, value in case.options.items() if name in accepted})


def compiled(case: Case, mode: str | None = None):
    """A function that torch.compile has not seen: one that it saw with other shapes it compiles for shapes in general.
    With `fullgraph`, what it would leave to eager fails."""
    return torch.compile(eager_function(case), mode=mode, fullgraph=True)


def eager_function(case: Case):
    """The same text in a module and, as far as `inspect` can tell, a file of its own: torch.compile asks for both, and
    what has none it compiles as one function with all others."""
    op = ingot.op(case.text)
    is_expression = "def " not in case.text
    text = f"def {op.name}({', '.join(op.signature.parameters)}): return {case.text}" if is_expression else case.text
    module = types.ModuleType(f"eager_{len(sys.modules)}_{op.name}")
    module.__dict__.update(torch=torch, F=torch.nn.functional, math=math, **BARE_NAMES)
    sys.modules[module.__name__] = module
    file = f"{module.__name__}.py"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), module.__dict__)
    return getattr(module, op.name)


def jiterated(text: str):
    """Of the tensors alone: numbers stand in the text."""
    results = text.count("T&")
    function = (torch.cuda.jiterator._create_multi_output_jit_fn(text, results) if results else
                torch.cuda.jiterator._create_jit_fn(text))
    return lambda *args: function(*(a for a in args if isinstance(a, torch.Tensor)))


def by_hand(case: Case, args: tuple, like: tuple) -> Call:
    """The kernel writes into results that are there already."""
    kernel = Handwritten(case.by_hand.name, case.by_hand.options)
    results = tuple(torch.empty_like(t) for t in like)
    passed = case.by_hand.arguments(args, results)
    blocks = (case.by_hand.blocks(args) if case.by_hand.blocks else blocks_of(results[0].numel(), case.by_hand.lanes))

    def call():
        kernel(blocks, *passed)
        return results

    return call


def checked(case: Case, args: tuple, asked: tuple[str, ...], errors: dict[str, str]) -> dict[str, Call]:
    """Ingot and those peers that were asked for, each once it has given what eager PyTorch does. What went wrong with
    the others is put among the errors."""
    wanted, calls = expected(case, args), {}
    for who, make in makers(case, args).items():
        if who not in ("ingot", *asked):
            continue
        try:
            call = make()
            if who != "eager":
                check(call(), wanted)
            calls[who] = call
        except Exception as error:
            errors[who] = first_line(error)
    return calls


def gradients(case: Case, args: tuple, asked: tuple[str, ...], kept: bool, errors: dict[str, str]) -> dict[str, Call]:
    """What gives the gradients with respect to the arguments that require grad: of a call that was made before, where it
    is kept, or of one that is made for them. Each once it has given about what eager does."""
    leaves = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
    eager = eager_function(case)(*args)
    given = torch.randn_like(eager)
    wanted = torch.autograd.grad(eager, leaves, given)
    made = {"ingot": lambda: ingot_op(case), "eager": lambda: eager_function(case), "compile": lambda: compiled(case)}
    calls: dict[str, Call] = {}
    for who in ("ingot", *(peer for peer in made if peer in asked)):
        try:
            function = made[who]()
            result = function(*args)
            call = (lambda r=result: torch.autograd.grad(r, leaves, given, retain_graph=True)) if kept else (
                lambda f=function: torch.autograd.grad(f(*args), leaves, given))
            check_gradients(call(), wanted, case.draws)
            calls[who] = call
        except Exception as error:
            errors[who] = first_line(error)
    return calls


def check_gradients(found: tuple, wanted: tuple, draws: bool = False) -> None:
    """Each is about eager's; where everybody draws his own random numbers, its norm is."""
    for mine, theirs in zip(found, wanted, strict=True):
        mine, theirs = mine.float(), theirs.float()
        if draws:
            apart = (mine.norm() - theirs.norm()).abs() / theirs.norm()
        else:
            apart = (mine - theirs).abs().max() / theirs.abs().max()
        if not apart <= 0.05:
            raise AssertionError(f"the {'norm' if draws else 'gradient'} is {apart:.2g} of the largest apart from eager's")


def values_and_gradients(case: Case, args: tuple, asked: tuple[str, ...], errors: dict[str, str]) -> dict[str, Call]:
    """What gives the value of a loss and its gradient with respect to the first argument: `ingot.value_and_grad`, and of
    the peers their call and autograd's. Each once it has given about what eager does."""
    leaf, rest = args[0].detach().requires_grad_(), args[1:]

    def by_autograd(function) -> Call:
        def call():
            value = function(leaf, *rest)
            return value.detach(), *torch.autograd.grad(value, leaf)

        return call

    def at_once(function) -> Call:
        return lambda: function(*args)

    made = {"ingot": lambda: at_once(ingot.value_and_grad(ingot_op(case))),
            "eager": lambda: by_autograd(eager_function(case)), "compile": lambda: by_autograd(compiled(case))}
    wanted, calls = made["eager"]()(), {}
    for who in ("ingot", *(peer for peer in made if peer in asked)):
        try:
            call = made[who]()
            value, gradient = call()
            check(value, wanted[:1])
            check_gradients((gradient,), wanted[1:])
            calls[who] = call
        except Exception as error:
            errors[who] = first_line(error)
    return calls


def programs(program: Program, tensors: Tensors, asked: tuple[str, ...], errors: dict[str, str]) -> dict[str, Call]:
    """Ingot's and those of the peers that were asked for, each once it has given three times about what eager does: what
    a step of training changes shows in the next."""
    made, answers, calls = program.makers(tensors), {}, {}
    for who in dict.fromkeys(("eager", "ingot", *asked)):
        if who not in made:
            continue
        try:
            calls[who] = made[who]()
            answers[who] = [tuple(t.clone() for t in results_of(calls[who]())) for _ in range(3)]
            torch.testing.assert_close(answers[who], answers.get("eager", answers[who]), rtol=1e-2, atol=1e-3)
        except Exception as error:
            calls.pop(who, None)
            errors[who] = first_line(error)
    return {who: call for who, call in calls.items() if who in ("ingot", *asked)}


def first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def results_of(answer) -> tuple:
    return tuple(answer) if isinstance(answer, (tuple, list)) else (answer,)


def expected(case: Case, args: tuple) -> tuple:
    """Eager's results. Of 16-bit tensors those that it computes in float32: it alone rounds after each op."""
    is_short = lambda a: isinstance(a, torch.Tensor) and a.dtype in (torch.float16, torch.bfloat16)
    return results_of(eager_function(case)(*(a.float() if is_short(a) else a for a in args)))


def check(answer, wanted: tuple) -> None:
    """A kernel that does something else is no peer. Contraction and other spellings may cost it some ulps, of the small
    numbers of a long row's softmax too."""
    answer = results_of(answer)
    assert len(answer) == len(wanted), f"{len(answer)} results instead of {len(wanted)}"
    for got, want in zip(answer, wanted):
        rtol, atol = (1e-2, 1e-3) if got.dtype in (torch.float16, torch.bfloat16) else (1e-4, 1e-5)
        largest = min(want.abs().max().item(), 1.0)
        torch.testing.assert_close(got.to(want.dtype), want, rtol=rtol, atol=atol * largest)
