"""What an op becomes, stage by stage, and what each line of a stage came from."""

from __future__ import annotations

import dataclasses
import pathlib

import torch

import ingot

from . import listing, look, report
from .contenders.kernels import architecture_of
from .subject import Subject


@dataclasses.dataclass
class Explanation:
    """`found`: all of it as plain data, which `ingot explain --json` prints."""

    found: dict

    def __str__(self) -> str:
        return text(self.found)

    def html(self) -> str:
        """The page: a document that needs nothing beside it."""
        from . import page

        return page.of_explanation(self.found).html()

    def save(self, path: str | pathlib.Path) -> None:
        """Writes the page to a file."""
        pathlib.Path(path).write_text(self.html())

    def _repr_html_(self) -> str:
        from . import page

        return page.of_explanation(self.found).fragment()


def explain(op, *args, backward: bool = False, device: str = "cuda", architecture: int = 0, **kwargs) -> Explanation:
    """What the op becomes for these arguments, whose values are never read; nothing is run, and no GPU is needed.

    backward: the kernels of its gradient instead.  device: cuda or cpu.  architecture: 90 for sm_90; 0 for the
    arguments', or 90.
    Raises `ingot.Error` for arguments that the op does not take, and where CUDA's compiler is not there.
    """
    bound = op.signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return explain_subject(Subject(op, dict(bound.arguments)), backward, device, architecture)


def explain_subject(subject: Subject, backward: bool, device: str, architecture: int) -> Explanation:
    op = subject.op
    subject = dataclasses.replace(subject, is_gradient=backward)
    found = {"ingot": ingot.__version__, "torch": torch.__version__, "op": op.name, "backward": backward, "device": device,
             "numerics": op.numerics, "lazy": op.lazy,
             "arguments": {name: described(value) for name, value in subject.values.items()}}
    if device == "cuda":
        on = next((t.device for t in subject.tensors().values() if t.is_cuda), None)
        architecture = architecture or (architecture_of(on.index) if on else 90)
        kernels, stages = look.of_op(op, subject, architecture, op.name)
        return Explanation(found | {"architecture": architecture, "kernels": kernels, "listing": stages})
    stages = look.explain(op, subject, device, 0)
    stages |= listing.of_source(op.name, f"{op.name}.cpp", stages["source"])
    return Explanation(found | {"architecture": None, "kernels": [], "listing": stages})


def described(value) -> str:
    """As a command line would have it."""
    from .launch import DTYPES

    if not isinstance(value, torch.Tensor):
        return "none" if value is None else str(value)
    short = next((name for name, dtype in DTYPES.items() if dtype == value.dtype), str(value.dtype))
    return f"{short}:{'x'.join(map(str, value.shape))}"


def heading(found: dict) -> str:
    what = f"the gradient of {found['op']}" if found["backward"] else found["op"]
    target = f"sm_{found['architecture']}" if found["architecture"] else "the CPU"
    arguments = ", ".join(f"{name}: {value}" for name, value in found["arguments"].items())
    return f"{what}({arguments}) for {target}"


def accesses(found: dict) -> report.Cells:
    """A row a tensor that a kernel reads or writes."""
    header = ["", "kernel", "dtype", "", "sizes", "strides", "how"]
    rows = [[one_line(a["tensor"]), a["kernel"], a["dtype"], "written" if a["is_written"] else "read", times(a["extents"]),
             "gathered" if a["is_gathered"] else times(a["strides"]), a["how"]] for a in found["listing"]["accesses"]]
    return header, rows


def one_line(text: str) -> str:
    first, *rest = text.strip().splitlines() or [""]
    return first + " …" * bool(rest)


def times(numbers: list[int]) -> str:
    return " × ".join(map(str, numbers)) or "1"


def text(found: dict) -> str:
    stages = found["listing"]
    parts = [heading(found), stages["text"].rstrip(), stages["graph"].rstrip(), stages["schedule"].rstrip(),
             report.table(*accesses(found)), report.without_prelude(stages["source"])]
    header, rows = report.kernels([{"name": found["op"], "kernels": found["kernels"]}])
    if rows:
        parts.append(report.table(header, rows))
    parts.append("--html FILE sets text, graph, schedule, source, PTX and machine code side by side")
    return "\n\n".join(parts)
